"""The best recodings by clicks: a ladder is typed, searched by, and taken over."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from tests.app.browser.test_pages import violations

driver = import_module("bench._app")
RULES = Path(__file__).with_name("pages.toml")


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
def test_the_best_recodings_are_searched_and_taken_over(
    start, survey, open_page, scripted
):
    rules = survey.with_name("release.toml")
    rules.write_text(RULES.read_text().replace('AGE = "from', 'MARSTAT = "from'))
    app = start(rules)
    page = open_page(java_script_enabled=scripted, bypass_csp=True)
    page.goto(app.address)
    page.wait_for_url(f"{app.url()}data")
    age = page.locator("#ladder-5")

    def look():
        """Wait for the work as somebody does: by looking again without a script."""
        for _ in range(600):
            if not page.locator("main [data-waits]").count():
                return
            page.wait_for_timeout(100)
            if not scripted:
                page.reload()
        raise TimeoutError("the page waits")

    def click(name):
        button = page.locator(name)
        if scripted:
            driver.act(page, partial(button.click))
        else:
            button.click()

    page.goto(app.url("protect"))
    look()
    page.locator("#to-best").click()
    page.wait_for_url(app.url("best"))
    if scripted:
        driver.settle(page)
        assert "groups" in page.inner_text("#rungs-5")
    # A ladder that separates is refused, where it stands if there is a script.
    age.fill("from:30,65\nfrom:15,30")
    with page.watch.refusals():
        if scripted:
            page.wait_for_selector("#rungs-5 [data-refused]")
            page.locator("#start").click()
            page.wait_for_selector("#error:not(:empty)")
            assert age.input_value() == "from:30,65\nfrom:15,30"
        else:
            page.locator("#start").click()
        place = "#error" if scripted else "main"
        assert "separates values" in page.inner_text(place)
    if not scripted:
        page.go_back()
    age.fill("from:15,30,65\nfrom:30\nmap:*=all")
    if scripted:
        page.wait_for_selector("#rungs-5 li:nth-child(4)")
    page.locator("#loss-entropy").check()
    click("#start")
    look()
    assert page.locator("main", has_text="below it").count()
    assert page.locator("#by-key tbody tr").count() == 4
    if scripted:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == []
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert page.url == app.url("best")  # nothing typed stands in an address
    click("#take")
    assert page.url == app.url("protect")
    assert page.inner_text("#said") == "The best recodings are in the rules."
    look()
    page.locator("#undo").click()
    page.goto(app.url("best"))
    assert page.locator("#take").count() == 1
