"""A whole release by clicks, from the survey file to the files that go out."""

import shlex
import subprocess
import sys
from importlib import import_module

driver = import_module("bench._app")
ACCEPTED = "stays in the office"


def test_a_release_by_clicks_is_the_file_of_the_command(app, page, survey):
    def press(where):
        driver.act(page, page.locator(where).first.click)

    def choose(where, value):
        driver.act(page, lambda: page.select_option(where, value))

    names = survey.read_text().partition("\n")[0].split(",")
    press("#accept-all")
    for name, role in {"AGE": "key", "INCOME": "numeric", "PERSON": "harmless"}.items():
        where = f"#role-{names.index(name)}"
        if page.input_value(where) != role:
            choose(where, role)
    driver.visit(page, app, "recode")
    page.locator(f"#column-{names.index('AGE')}").click()
    driver.settle(page)
    page.locator("#way-cut").click()
    driver.settle(page)
    with page.watch.refusals():  # previews of a form that is half filled
        page.locator("input[name=break]").first.fill("40")
        press("#apply")
    driver.visit(page, app, "leaks")
    press("#switch-shuffle")
    accept = page.locator("form[action='/leaks/accept']")
    while accept.count():
        accept.first.locator("[name=reason]").fill(ACCEPTED)
        driver.act(page, accept.first.locator("button").last.click)
    driver.visit(page, app, "export")
    page.fill("#file", "safe.csv")
    press("#write")
    assert page.inner_text("#verdict").startswith("Safe")
    safe = survey.with_name("safe.csv")
    written = safe.read_bytes()
    safe.unlink()
    words = shlex.split(page.inner_text("#shell"))[1:]
    subprocess.run(
        [sys.executable, "-m", "riskcore", *words],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert safe.read_bytes() == written
