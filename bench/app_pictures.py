"""Pictures of the pages of the app: the clicks of notes/tutorials/in_the_browser.md.

    python -m bench.app_pictures

It simulates the survey of the tutorial, opens it on the start page, makes it safe by
clicks and writes notes/figures/app-*.png, as they are after each step. It needs
Chromium.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench._app import App, act, launch, settle, visit
from riskcore.cli import main as riskcore

FIGURES = Path(__file__).resolve().parents[1] / "notes" / "figures"
COLUMNS = (
    "HOUSEHOLD", "PERSON", "REGION", "HHSIZE", "SEX", "AGE", "MARSTAT", "EDUCATION",
    "CITIZENSHIP", "INCOME", "WEIGHT",
)  # fmt: skip
AT = {name: position for position, name in enumerate(COLUMNS)}
LEFT_OUT = ("PERSON", "HHSIZE", "EDUCATION", "CITIZENSHIP")


class Walk:
    """A person who goes through the pages and takes pictures."""

    def __init__(self, page, app):
        self.page, self.app = page, app
        self.clicks = 0

    def visit(self, name):
        """Go to a page."""
        visit(self.page, self.app, name)
        self.clicks += 1

    def take(self, name, *, height=860):
        """Take a picture of the page as it stands."""
        settle(self.page)
        self.page.set_viewport_size({"width": 1100, "height": height})
        self.page.evaluate("scrollTo(0, 0)")
        self.page.screenshot(path=FIGURES / f"app-{name}.png")

    def click(self, where):
        """Click a button that sends a form."""
        act(self.page, lambda: self.page.click(where))
        self.clicks += 1

    def choose(self, where, value):
        """Choose from a list whose form is sent at once."""
        act(self.page, lambda: self.page.select_option(where, value))
        self.clicks += 1

    def type(self, where, text):
        """Fill in a field."""
        self.page.fill(where, text)
        self.clicks += 1

    def check(self, where):
        """Tick a box of a form that a button sends."""
        self.page.check(where)
        self.clicks += 1


def release(walk):
    """Make the survey safe by clicks, with a picture of each page."""
    page = walk.page
    page.goto(walk.app.address)
    walk.take("start", height=600)
    page.click("button.take")
    page.wait_for_url(walk.app.url("data"))
    walk.take("data", height=700)
    walk.visit("columns")
    walk.take("columns")
    walk.click("#accept-all")
    walk.choose(f"#role-{AT['INCOME']}", "key")
    for name in LEFT_OUT:
        walk.choose(f"#role-{AT[name]}", "identifier")
    walk.visit("risk")
    walk.take("risk")
    _recode(walk)
    _treat(walk)
    walk.visit("protect")
    page.fill("#value-threshold", "0.5%")
    act(page, lambda: page.check("#on-threshold"))
    act(page, lambda: page.uncheck("#on-k"))
    walk.take("protect", height=1200)
    walk.visit("leaks")
    leak = page.locator("ul.leaks > li", has_text="HOUSEHOLD").first
    leak.locator("[id^=mend-leak]").click()
    page.wait_for_selector("#mending")
    walk.take("leaks")
    mend = page.locator("#mending tbody tr").filter(has_text="Leave out HOUSEHOLD")
    act(page, mend.first.get_by_role("button").click)
    walk.visit("compare")
    page.select_option("#first", label="SEX")
    page.select_option("#second", label="INCOME")
    act(page, lambda: page.click("#add-table button"))
    walk.take("compare", height=1200)
    walk.visit("history")
    walk.take("history")
    walk.visit("export")
    act(page, lambda: page.click("#write"))
    walk.take("export")


def _recode(walk):
    """Recode regions, ages and incomes."""
    walk.visit(f"recode?column={AT['REGION']}&way=truncate")
    walk.type("#drop", "2")
    walk.click("#apply")
    _cut(walk, "AGE", ("15", "30", "45", "65"))
    walk.take("recode", height=1200)
    walk.click("#apply")
    _cut(walk, "INCOME", ("1", "15000", "30000"))
    walk.click("#apply")


def _cut(walk, name, breaks):
    """Type the breaks of a variable."""
    walk.visit(f"recode?column={AT[name]}&way=cut")
    for at, value in enumerate(breaks, 1):
        if not walk.page.locator(f"#break-{at}").count():
            walk.page.click("#add-break")
        walk.type(f"#break-{at}", value)


def _treat(walk):
    """Make each weight the mean of its region."""
    walk.visit(f"treat?column={AT['WEIGHT']}")
    walk.page.click("#kind-share-weights summary")
    walk.type("#share-weights-classes", "1")
    walk.page.check(f"#share-weights-within-{AT['REGION']}")
    walk.click("#add-share-weights")
    walk.take("treat", height=1200)


def main():
    """Walk through the tutorial."""
    # Pages and pictures name the folder.
    folder = Path(tempfile.gettempdir()) / "surveys"
    settings = folder.with_name("settings of surveys")
    folder.mkdir()
    survey = folder / "survey.csv"
    words = f"simulate microdata --records 20000 --output {survey} --quiet"
    riskcore(words.split())
    with sync_playwright() as playwright:
        app = App(folder, settings)
        browser = launch(playwright, shutil.which("chromium"))
        page = browser.new_page(locale="en-US")
        try:
            release(Walk(page, app))
        finally:
            browser.close()
            print(app.end())
            shutil.rmtree(folder)
            shutil.rmtree(settings)


if __name__ == "__main__":
    main()
