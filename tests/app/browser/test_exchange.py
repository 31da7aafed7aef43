"""What a person does is done once, and nothing that was typed or said is lost."""

import time
from importlib import import_module

import pytest

driver = import_module("bench._app")
INCOME = 9  # its position in the survey
SLOW = 0.8


def slow(page, address):
    """Let the answers of an address take a while."""

    def answer(route):
        time.sleep(SLOW)
        route.continue_()

    page.route(f"**/{address}", answer)


@pytest.fixture
def treat(app, page):
    """Return the page of the treatments of a column, with one that can be added."""
    driver.act(page, lambda: page.click("#accept-all"))
    driver.visit(page, app, f"treat?column={INCOME}")
    page.click("#kind-round > summary")
    return page


def count_rules(page):
    return page.locator(".rules li").count()


@pytest.mark.parametrize("clicks", ["double", "while it is sent"])
def test_two_clicks_add_one_rule(treat, clicks):
    treat.fill("#round-base", "500")
    if clicks == "double":
        driver.act(treat, lambda: treat.dblclick("#add-round"))
    else:
        slow(treat, "treat/add")
        press = "document.getElementById('add-round').click()"
        driver.act(treat, lambda: treat.evaluate(f"{press}; {press}"))
    treat.wait_for_timeout(300)
    driver.settle(treat)
    assert count_rules(treat) == 1


def test_a_button_is_off_and_busy_while_its_form_is_sent(treat):
    look = """async () => {
      const button = document.getElementById("add-round"), states = [];
      const look = () => states.push([button.getAttribute("aria-disabled"),
        getComputedStyle(button, "::after").opacity]);
      button.click();
      look();
      await new Promise((resolve) => setTimeout(resolve, 600));
      look();
      return states;
    }"""
    slow(treat, "treat/add")
    assert treat.evaluate(look) == [["true", "0"], ["true", "1"]]
    driver.settle(treat)
    assert treat.get_attribute("#add-round", "aria-disabled") is None


def test_an_answer_to_a_form_that_has_left_the_page_is_shown_once(treat):
    slow(treat, "treat/add")
    press = """() => {
      document.querySelector(".bar nav a[href='/columns']").click();
      document.getElementById("add-round").click();
    }"""
    driver.act(treat, lambda: treat.evaluate(press))
    treat.wait_for_url("**/treat?*")
    driver.settle(treat)
    assert count_rules(treat) == 1
    assert treat.locator("#page").count() == 1


def test_switches_that_are_pressed_quickly_are_all_taken(app, page):
    driver.act(page, lambda: page.click("#accept-all"))
    driver.visit(page, app, "risk")
    slow(page, "risk/switch")
    switches = page.locator("#switch-0 [role=switch]:checked")
    names = switches.evaluate_all("all => all.map((one) => one.id)")[:2]
    driver.act(page, lambda: [page.uncheck(f"#{name}") for name in names])
    driver.settle(page)
    driver.visit(page, app, "risk")
    assert [page.is_checked(f"#{name}") for name in names] == [False, False]


def test_what_is_typed_outlives_other_pages_until_it_is_sent(app, treat):
    def away_and_back(how):
        treat.click("nav a[href='/risk']")
        treat.wait_for_url(app.url("risk"))
        driver.settle(treat)
        how()
        treat.wait_for_url(app.url(f"treat?column={INCOME}*"))
        driver.settle(treat)

    def choose_again():
        treat.click("nav a[href='/treat']")
        treat.click(f"#column-{INCOME}")

    usual = treat.input_value("#round-base")
    for how in (choose_again, treat.go_back):
        treat.fill("#round-base", "47110815")
        away_and_back(how)
        assert treat.input_value("#round-base") == "47110815"
    kept = treat.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "4711" not in kept + treat.url
    driver.act(treat, lambda: treat.click("#add-round"))
    assert count_rules(treat) == 1
    away_and_back(treat.go_back)
    assert treat.input_value("#round-base") == usual


def test_what_is_refused_is_said_and_stays(treat):
    treat.fill("#round-base", "many")
    with treat.watch.refusals():
        driver.act(treat, lambda: treat.click("#add-round"))
    assert "many" in treat.inner_text("#error")
    assert treat.input_value("#round-base") == "many"
    treat.fill("#round-base", "100")
    driver.act(treat, lambda: treat.click("#add-round"))
    assert treat.inner_text("#error") == ""


def test_a_part_that_is_refused_says_why_and_no_more(app, page):
    driver.act(page, lambda: page.click("#accept-all"))
    driver.visit(page, app, "protect")
    name = page.locator("form:has(#slide-k) [name=name]")
    name.evaluate("(one) => { one.value = 'none'; }")
    with page.watch.refusals():
        page.press("#slide-k", "ArrowRight")
        page.wait_for_selector("#live-k [data-refused]")
        driver.settle(page)
    assert "'none'" in page.inner_text("#live-k")
    assert page.locator("#page").count() == page.locator("main").count() == 1


def test_a_part_that_waits_comes_while_a_field_is_edited(app, page):
    driver.act(page, lambda: page.click("#accept-all"))
    if page.input_value("#role-5") != "key":
        driver.act(page, lambda: page.select_option("#role-5", "key"))
    driver.visit(page, app, "recode?column=5&way=cut")
    waits = "<p data-waits></p>"
    page.route("**/recode/preview*", lambda x: x.fulfill(body=waits), times=1)
    page.fill("#break-1", "40")
    page.wait_for_selector("#preview [data-waits]", state="attached")
    page.evaluate("document.dispatchEvent(new Event('ended'))")
    page.wait_for_selector("#preview table")
    assert page.evaluate("document.activeElement.id") == "break-1"
    assert page.input_value("#break-1") == "40"


def test_an_error_goes_when_the_app_answers_again(page):
    page.context.set_offline(True)
    page.wait_for_selector("#lost:visible")
    page.context.set_offline(False)
    page.wait_for_selector("#lost", state="hidden")
    page.watch.faults.clear()  # they were wanted: nothing was reached


def test_a_result_comes_into_the_panel_by_itself(app, page):
    driver.act(page, lambda: page.click("#accept-all"))
    assert "without a role" in page.inner_text("#verdict")
    while page.locator("select.undecided").count():
        left = page.locator("select.undecided").first
        driver.act(page, lambda at=left: at.select_option("harmless"))
    driver.visit(page, app, "protect")
    driver.visit(page, app, "columns")
    assert "0 after" in page.inner_text("#panel .headline")
    page.click("#following")
    page.wait_for_url(app.url("leaks"))
    driver.settle(page)
    assert "leaks are open" in page.inner_text("#verdict")
