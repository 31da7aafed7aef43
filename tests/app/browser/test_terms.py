"""A term opens by the keyboard, by a touch, and closes again."""

from importlib import import_module

driver = import_module("bench._app")


def test_a_term_is_explained_by_keyboard_and_touch(app, open_page):
    page = open_page(has_touch=True)
    driver.enter(page, app)
    driver.visit(page, app, "columns")
    driver.act(page, lambda: page.click("#accept-all"))
    driver.visit(page, app, "risk")
    about = page.locator("#term-unique")
    assert not about.is_visible()
    page.focus("button[popovertarget=term-unique]")
    page.keyboard.press("Enter")
    assert about.is_visible()
    assert "alone in its cell" in about.inner_text()
    page.keyboard.press("Escape")
    assert not about.is_visible()
    page.tap("button[popovertarget=term-f]")
    assert page.locator("#term-f").is_visible()
    place, box = (
        page.locator("button[popovertarget=term-f]").bounding_box(),
        page.locator("#term-f").bounding_box(),
    )
    assert abs(box["y"] - place["y"]) < 150
