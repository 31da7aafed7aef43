"""The best recodings by clicks: a ladder is typed, searched by, and taken over."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from tests.app.browser.test_pages import violations

driver = import_module("bench._app")
RULES = Path(__file__).with_name("pages.toml")


class Hand:
    """Somebody at a page, with a script or without one."""

    def __init__(self, page, app, scripted):
        self.page, self.app, self.scripted = page, app, scripted
        page.goto(app.address)
        page.wait_for_url(f"{app.url()}data")

    def look(self, name=""):
        """Go to a page and wait for its work: by looking again without a script."""
        if name:
            self.page.goto(self.app.url(name))
        for _ in range(600):
            if not self.page.locator("main [data-waits]").count():
                return
            self.page.wait_for_timeout(100)
            if not self.scripted:
                self.page.reload()
        raise TimeoutError("the page waits")

    def click(self, name):
        button = self.page.locator(name)
        if self.scripted:
            driver.act(self.page, partial(button.click))
        else:
            button.click()

    def type_ladder(self, text, shown):
        """Type the ladder of AGE; with a script, its part shows what comes of it."""
        self.page.locator("#ladder-5").fill(text)
        if self.scripted:
            self.page.wait_for_selector(f"#rungs-5 {shown}")


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def hand(request, start, survey, open_page):
    rules = survey.with_name("release.toml")
    rules.write_text(RULES.read_text().replace('AGE = "from', 'MARSTAT = "from'))
    page = open_page(java_script_enabled=request.param, bypass_csp=True)
    return Hand(page, start(rules), request.param)


def test_the_best_recodings_are_searched_and_taken_over(hand):
    page = hand.page
    hand.look("protect")
    page.locator("#to-best").click()
    page.wait_for_url(hand.app.url("best"))
    hand.type_ladder("from:15,30,65\nfrom:30\nmap:*=all", "li:nth-child(4)")
    page.locator("#loss-entropy").check()
    hand.click("#start")
    hand.look()
    assert page.locator("main", has_text="below it").count()
    assert page.locator("#by-key tbody tr").count() == 4
    if hand.scripted:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == []
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert page.url == hand.app.url("best")  # nothing typed stands in an address
    hand.click("#take")
    assert page.url == hand.app.url("protect")
    assert page.inner_text("#said") == "The best recodings are in the rules."
    hand.look()
    hand.click("#undo")
    hand.look("best")
    assert page.locator("#take").count() == 1


def test_a_ladder_that_separates_is_refused_where_it_stands(hand):
    page, wrong = hand.page, "from:30,65\nfrom:15,30"
    hand.look("best")
    if hand.scripted:
        driver.settle(page)
    with page.watch.refusals():
        hand.type_ladder(wrong, "[data-refused]")
        page.locator("#start").click()
        if hand.scripted:
            page.wait_for_selector("#error:not(:empty)")
            assert page.locator("#ladder-5").input_value() == wrong
        place = "#error" if hand.scripted else "main"
        assert "'AGE': from:15,30 separates values" in page.inner_text(place)
