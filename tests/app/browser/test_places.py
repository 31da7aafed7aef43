"""What the reader was doing goes on while pages change: place, focus, clicks, text."""

from importlib import import_module

driver = import_module("bench._app")


def accepted(page):
    """Accept the proposed roles."""
    driver.act(page, lambda: page.click("#accept-all"))


def focused(page):
    return page.evaluate("document.activeElement.id")


def test_a_chosen_column_is_shown_and_ways_keep_the_place(app, page):
    accepted(page)
    driver.visit(page, app, "recode")
    page.locator("main nav a[id^=column-]").last.click()
    page.wait_for_url(lambda url: "column=" in url)
    driver.settle(page)
    assert focused(page) == "chosen"
    assert page.evaluate("scrollY") > 0
    page.click("#way-text")
    page.wait_for_url(lambda url: "way=text" in url)
    driver.settle(page)
    assert focused(page) == "way-text"
    assert page.evaluate("scrollY") > 0


def test_a_result_comes_while_a_field_has_the_focus(app, page):
    accepted(page)
    driver.visit(page, app, "protect")
    page.fill("#value-k", "4")
    driver.act(page, lambda: page.press("#value-k", "Enter"))
    assert focused(page) == "value-k"
    assert page.locator("main .tiles").count() == 1


def test_a_click_that_has_begun_is_not_lost(app, page):
    accepted(page)
    driver.visit(page, app, "protect")
    page.fill("#value-k", "4")
    page.click("#experts summary")
    page.locator("#suppression-argus").scroll_into_view_if_needed()
    box = page.locator("#suppression-argus").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()  # leaves the field, which is sent
    page.wait_for_timeout(400)
    page.mouse.up()
    taken = "() => document.querySelector('#suppression-argus[checked]')"
    page.wait_for_function(taken)
    driver.settle(page)
    assert page.input_value("#value-k") == "4"


def test_a_button_that_is_off_now_leaves_the_focus_in_the_page(page):
    page.focus("#accept-all")
    with page.expect_response(lambda one: one.request.method == "POST"):
        page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('accept-all').disabled")
    driver.settle(page)
    assert focused(page) == "main"
