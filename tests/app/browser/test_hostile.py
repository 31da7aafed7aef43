"""Names and values that want to be more than text."""

from functools import partial
from importlib import import_module

import pytest

from riskcore.app.pages import PAGES
from riskcore.common.words import printable

driver = import_module("bench._app")

NAMES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{7*7}}${7*7}#{7*7}",
    "\u202egnirts\u202c\u2066x",
    "n" * 10_000,
    "two\nlines\r\nof a name",
    "</script></style></title><svg onload=alert(3)>",
    "javascript:alert(4)",
]


def hostile_rows():
    """Return a table whose columns and values are hostile."""
    values = [name if name != NAMES[4] else "v" * 10_000 for name in NAMES]
    rows = [
        [*(values[(i * j) % len(values)] for j in range(1, len(NAMES) + 1)), 10 + i % 7]
        for i in range(120)
    ]
    return [[*NAMES, "weight"], *rows]


@pytest.fixture
def hostile(tmp_path):
    """Return a survey file with hostile names and values."""
    import csv

    path = tmp_path / "<b>&'hostile{{7*7}}.csv"
    with path.open("w", newline="", encoding="utf-8") as to:
        csv.writer(to).writerows(hostile_rows())
    return path


def choose(page):
    """Make the first five columns keys, and the last one the weight."""
    roles = ["key"] * 5 + ["sensitive", "harmless", "identifier", "weight"]
    for at, role in enumerate(roles):
        choice = partial(page.select_option, f"#role-{at}", role)
        driver.act(page, choice)


def test_names_and_values_are_text_on_every_page(start, hostile, open_page):
    app = start(hostile)
    page = open_page()
    driver.enter(page, app)
    choose(page)
    text = page.inner_text("#roles")
    for name in NAMES[:3]:
        assert name in text
    assert printable(NAMES[3]) in text
    assert "\u202e" not in text
    for one in PAGES:
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            driver.visit(page, app, one.name)
            driver.unfold(page)
            content = page.content()
            assert not page.locator("main img, main script, svg[onload]").count()
            assert not page.locator("a[href^='javascript:']").count()
            assert "\u202e" not in content
            assert "49" not in page.title()
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            assert wide <= width, one.name


def test_hostile_names_pass_through_actions(start, hostile, open_page):
    app = start(hostile)
    page = open_page()
    driver.enter(page, app)
    choose(page)
    assert not page.locator("select.undecided").count()
    for position in range(5):
        assert page.input_value(f"#role-{position}") == "key"
    driver.act(page, lambda: page.click("#undo"))
    driver.act(page, lambda: page.click("#redo"))
    assert page.input_value("#role-8") == "weight"


def test_the_mends_of_a_long_name_fit_into_a_narrow_window(start, tmp_path, open_page):
    path = tmp_path / "survey.csv"
    rows = "".join(f"{i % 2},{100 + i * i}\n" for i in range(60))
    path.write_text(f"sex,{'n' * 300}\n{rows}")
    app, page = start(path), open_page()
    driver.enter(page, app)
    for at, role in enumerate(("key", "numeric")):
        driver.act(page, partial(page.select_option, f"#role-{at}", role))
    page.set_viewport_size({"width": 390, "height": 900})
    driver.visit(page, app, "leaks")
    page.wait_for_selector(".mends .button, .mends button")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
