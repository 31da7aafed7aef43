"""Who comes in, and how: token, cookie, viewers, keys, numbers, themes, no script."""

import re
from importlib import import_module

driver = import_module("bench._app")


def roles(page):
    chosen = page.locator("#roles select")
    return chosen.evaluate_all("all => all.map((one) => one.value)")


def test_the_token_leaves_the_address(app, page):
    assert page.url == app.url("columns")
    assert app.token not in page.content()
    assert app.token not in page.evaluate("document.referrer + document.cookie")
    page.go_back()
    assert app.token not in page.url
    page.go_forward()


def test_a_browser_without_the_token_is_refused(app, browser):
    context = browser.new_context()
    stranger = context.new_page()
    for address in ("", "columns", "status", "static/app.js", "?token=guessed"):
        assert stranger.goto(app.url(address)).status == 403
    assert "survey" not in stranger.content()
    context.close()


def test_the_browsers_that_are_open_are_counted(app, page, open_page):
    assert page.inner_text("#viewers") == ""
    other = open_page()
    driver.enter(other, app)
    page.wait_for_function("() => document.getElementById('viewers').textContent")
    assert "2" in page.inner_text("#viewers")
    other.goto("about:blank")
    page.wait_for_function("() => !document.getElementById('viewers').textContent")


def test_undo_and_redo_by_keyboard(page):
    none = roles(page)
    assert set(none) == {""}
    page.focus("#accept-all")
    driver.act(page, lambda: page.keyboard.press("Enter"))
    accepted = roles(page)
    assert {"key", "weight"} < set(accepted)
    for button, expected in (("#undo", none), ("#redo", accepted), ("#undo", none)):
        page.focus(button)
        driver.act(page, lambda: page.keyboard.press("Enter"))
        assert roles(page) == expected


def test_numbers_are_read_and_written_as_the_reader_chose(app, page):
    driver.act(page, lambda: page.click("#accept-all"))
    driver.act(page, lambda: page.select_option("#numbers", "de"))
    driver.visit(page, app, "protect")
    driver.act(page, lambda: page.check("#on-threshold"))
    page.fill("#value-threshold", "12,5 %")
    driver.act(page, lambda: page.press("#value-threshold", "Enter"))
    assert re.match("12,5|0,125", page.input_value("#value-threshold"))
    driver.visit(page, app, "export")
    assert "threshold = 0.125" in page.text_content("#rules-part pre")
    driver.visit(page, app, "protect")
    driver.act(page, lambda: page.select_option("#numbers", "en"))
    assert re.match("12.5|0.125", page.input_value("#value-threshold"))


def test_a_number_in_another_format_is_refused(app, page):
    driver.act(page, lambda: page.click("#accept-all"))
    driver.act(page, lambda: page.select_option("#numbers", "de"))
    driver.visit(page, app, "protect")
    page.fill("#value-k", "1.5")
    with page.watch.refusals():
        driver.act(page, lambda: page.press("#value-k", "Enter"))
        page.wait_for_function("() => document.getElementById('error').textContent")
    assert "1.5" in page.inner_text("#error")


def test_the_theme_is_kept(app, page):
    def paper():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = paper()
    page.click("#theme")
    dark = paper()
    assert dark != light
    driver.visit(page, app, "export")
    assert paper() == dark
    page.click("#theme")
    assert paper() == light


def test_the_theme_of_the_system_is_used(app, page, open_page):
    other = open_page(color_scheme="dark")
    driver.enter(other, app)
    of = "getComputedStyle(document.body).backgroundColor"
    assert other.evaluate(of) != page.evaluate(of)


def test_all_can_be_done_without_scripts(app, open_page):
    page = open_page(java_script_enabled=False)
    page.goto(app.address)
    assert page.url == app.url("data")
    page.click("nav a[href='/columns']")
    while not page.locator("#roles").count():  # columns are being looked at
        page.reload()
    page.select_option("#role-0", "key")
    page.select_option("#role-1", "harmless")
    page.locator("#roles").get_by_role("button").click()
    assert page.input_value("#role-0") == "key"
    assert page.input_value("#role-1") == "harmless"
    page.click("#undo")
    assert page.input_value("#role-0") == ""
    page.click("#redo")
    assert page.input_value("#role-0") == "key"
    page.click("#accept-all")
    assert not page.locator("select.undecided").count()
    assert page.input_value("#role-1") == "harmless"
