"""Every page for everybody: two widths, light and dark, by keyboard, read aloud."""

from importlib import import_module
from pathlib import Path

import pytest

from riskcore.app.pages import PAGES

driver = import_module("bench._app")

WIDTHS = (1280, 390)
NAMES = [page.name for page in PAGES]
# What Tab stops at, in the order of the page; null after the last one.
STOP = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const all = [...document.querySelectorAll("*")];
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  return {
    at: all.indexOf(one),
    html: one.outerHTML.slice(0, 120),
    seen: box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0
      && box.left < innerWidth && box.top < innerHeight,
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
  };
}"""
# What a hand can use; of a group of radio buttons Tab stops at one.
USABLE = """() => {
  const found = new Map(), all = [...document.querySelectorAll("*")];
  const chosenOf = (one) => {
    const group = all.filter((other) => other.type === "radio"
      && other.form === one.form && other.name === one.name);
    return group.find((other) => other.checked) || group[0];
  };
  const named = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  for (const one of document.querySelectorAll(named)) {
    if (one.disabled || !one.getClientRects().length) continue;
    if (!one.checkVisibility({visibilityProperty: true})) continue;
    const at = one.type === "radio" ? chosenOf(one) : one;
    if (!found.has(at)) found.set(at, [all.indexOf(at), at.outerHTML.slice(0, 120)]);
  }
  return [...found.values()];
}"""


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Return an app whose survey is released up to the export."""
    import numpy as np
    import pandas as pd

    from riskcore.simulate import microdata

    folder = tmp_path_factory.mktemp("pages")
    data = pd.DataFrame(microdata(400, rng=np.random.default_rng(7)))
    data.to_csv(folder / "survey.csv", index=False)
    rules = Path(__file__).with_name("pages.toml").read_text()
    (folder / "release.toml").write_text(rules)
    app = driver.App(folder / "release.toml", folder / "settings")
    yield app
    assert app.end() == ""


@pytest.fixture(scope="module")
def reader(browser, ready):
    """Return a page of the app for all tests; axe is a script from outside."""
    context = browser.new_context(bypass_csp=True)
    watch = driver.Watch(context)
    page = context.new_page()
    page.watch = watch
    driver.enter(page, ready)
    yield page
    context.close()


@pytest.fixture
def show(reader, ready):
    """Return what shows a page; it must have no fault."""

    def begin(name, width=1280, scheme="light"):
        reader.set_viewport_size({"width": width, "height": 900})
        reader.emulate_media(color_scheme=scheme)
        driver.visit(reader, ready, name)
        return reader

    yield begin
    faults, reader.watch.faults = reader.watch.faults, []
    assert faults == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_no_wider_than_its_window(show, name, width):
    page = show(name, width)
    driver.unfold(page)
    wide = page.evaluate("document.scrollingElement.scrollWidth")
    beyond = page.evaluate(
        "[...document.querySelectorAll('*')].filter((one) =>"
        " one.getBoundingClientRect().right > innerWidth + 1"
        " && !one.closest('.scroll, pre, svg'))"
        ".map((one) => one.outerHTML.slice(0, 100))"
    )
    assert wide <= width, beyond


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_can_be_read_aloud(show, name, scheme):
    page = show(name, scheme=scheme)
    driver.unfold(page)
    assert violations(page) == []


def violations(page):
    """Return what axe has against a page."""
    import axe_core_python

    script = Path(axe_core_python.__file__).with_name("axe.min.js")
    page.evaluate(script.read_text())
    found = page.evaluate("axe.run().then((one) => one.violations)")
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_all_of_a_page_is_reached_by_the_keyboard(show, name, width):
    page = show(name, width)
    usable = dict(page.evaluate(USABLE))
    page.evaluate("() => document.activeElement.blur()")
    stops, unseen = [], []
    for _ in range(len(usable) + 50):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None or stop["at"] in stops:
            break
        stops.append(stop["at"])
        if not (stop["seen"] and stop["ring"]):
            unseen.append(stop["html"])
    assert unseen == []
    assert [html for at, html in usable.items() if at not in stops] == []
