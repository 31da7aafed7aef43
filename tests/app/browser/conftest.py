"""A browser for a file of tests, and the app as a process whose errors count."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests import needs

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))
driver = import_module("bench._app")


def pytest_collection_modifyitems(items):
    """Mark all tests of this folder with what they need."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(needs.chromium)


# Not for the session: while Playwright runs, asyncio cannot be used by other tests.
@pytest.fixture(scope="module")
def browser():
    """Return the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = driver.launch(playwright, needs.CHROMIUM)
        yield found
        found.close()


@pytest.fixture
def start(tmp_path):
    """Return what starts the app with a file; it must end without a word of errors."""
    apps = []

    def begin(given, *options):
        apps.append(driver.App(given, tmp_path / "settings", *options))
        return apps[-1]

    yield begin
    errors = [app.end() for app in apps]
    assert errors == [""] * len(apps)


@pytest.fixture
def open_page(browser):
    """Return what opens a page in a context of its own; it must have no fault."""
    opened = []

    def begin(**options):
        options = {"viewport": {"width": 1280, "height": 900}} | options
        context = browser.new_context(**options)
        watch = driver.Watch(context)
        opened.append((context, watch))
        page = context.new_page()
        page.watch = watch
        return page

    yield begin
    for context, _ in opened:
        context.close()
    assert [watch.faults for _, watch in opened] == [[] for _ in opened]


@pytest.fixture
def app(start, survey):
    return start(survey)


@pytest.fixture
def page(app, open_page):
    """Return a page of the app, entered."""
    found = open_page()
    driver.enter(found, app)
    return found
