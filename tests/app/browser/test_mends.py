"""A leak is mended by clicks: the ways are tried, and one is applied."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

driver = import_module("bench._app")
RULES = Path(__file__).with_name("pages.toml")


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
def test_a_leak_is_mended_by_two_clicks(start, survey, open_page, scripted):
    rules = survey.with_name("release.toml")
    rules.write_text(RULES.read_text())
    app, page = start(rules), open_page(java_script_enabled=scripted)
    page.goto(app.address)
    page.wait_for_url(f"{app.url()}data")

    def look():
        """Wait for the work as somebody does: by looking again without a script."""
        for _ in range(600):
            if not page.locator("main [data-waits]").count():
                return
            page.wait_for_timeout(100)
            if not scripted:
                page.reload()
        raise TimeoutError("the page waits")

    page.goto(app.url("leaks"))
    look()
    before = page.locator("ul.leaks > li").count()
    page.locator("li", has_text="INCOME").locator("a[id^=mend-leak]").first.click()
    page.wait_for_selector("#mending")
    look()
    row = page.locator("#mending tbody tr").first
    assert "closed" in row.inner_text()
    assert "→" in row.inner_text()
    if scripted:
        driver.act(page, partial(row.get_by_role("button").click))
    else:
        row.get_by_role("button").click()
    assert page.inner_text("#said").startswith("Mended.")
    look()
    page.goto(app.url("leaks"))
    look()
    assert page.locator("ul.leaks > li").count() < before
