"""What an export wrote, opened and fetched in a browser."""

from functools import partial
from importlib import import_module
from pathlib import Path

driver = import_module("bench._app")
RULES = Path(__file__).with_name("pages.toml")
FILES = {
    "file": "safe.csv", "public_record": "public.json", "report": "office.html",
    "report_public": "public.html", "form": "form.html",
}  # fmt: skip


def test_reports_open_in_a_sandbox_and_files_are_fetched(
    start, survey, open_page, tmp_path
):
    rules = survey.with_name("release.toml")
    rules.write_text(f'{RULES.read_text()}\n[accept]\n"*" = "a test"\n')
    app, page = start(rules), open_page()
    driver.enter(page, app)
    driver.visit(page, app, "export")
    for name, value in FILES.items():
        page.fill(f"#{name}", value)
    page.check("#overwrite")
    driver.act(page, partial(page.click, "#write"))
    page.wait_for_selector("#files a", timeout=60_000)
    reports = page.locator("a[id^=open-]")
    assert reports.count() == 3
    for at in range(3):
        with page.context.expect_page() as opened:
            reports.nth(at).click()
        report = opened.value
        report.wait_for_load_state()
        if report.locator("script").count():  # the form has none
            before = report.evaluate("document.documentElement.dataset.theme")
            report.click("#theme")  # shown by its own script
            assert report.evaluate("document.documentElement.dataset.theme") != before
        assert report.evaluate("self.origin") == "null"
        report.close()
    links = page.locator("a[id^=fetch-]")
    fetched = set()
    for at in range(links.count()):
        with page.expect_download() as begun:
            links.nth(at).click()
        place = tmp_path / "fetched"
        begun.value.save_as(place)
        name = begun.value.suggested_filename
        assert place.read_bytes() == survey.with_name(name).read_bytes()
        fetched.add(name)
    assert fetched == {*FILES.values(), "release.toml", "safe.csv.private.json"}
