"""Nothing is lost by a crash, and no value of the data is kept."""

import stat
from importlib import import_module

driver = import_module("bench._app")

MARK = "Zyxomma"


def rules_of(page, app):
    driver.visit(page, app, "export")
    return page.text_content("#rules-part pre")


def test_a_killed_app_loses_nothing(app, start, survey, open_page):
    page = open_page()
    driver.enter(page, app)
    driver.act(page, lambda: page.click("#accept-all"))
    driver.act(page, lambda: page.select_option("#role-1", "harmless"))
    driver.act(page, lambda: page.select_option("#role-9", "sensitive"))
    rules = rules_of(page, app)
    assert "harmless" in rules
    app.kill()
    page.wait_for_selector("#lost:visible")
    assert "does not answer" in page.inner_text("#lost")
    again = start(survey)
    driver.enter(page, again)
    page.watch.faults.clear()  # they were wanted: the app was gone
    assert rules_of(page, again) == rules
    assert not page.is_visible("#lost")
    driver.visit(page, again, "columns")
    driver.act(page, lambda: page.click("#undo"))
    driver.act(page, lambda: page.click("#undo"))
    assert page.input_value("#role-1") != "harmless"
    driver.act(page, lambda: page.click("#undo"))
    assert page.input_value("#role-1") == ""
    assert page.is_disabled("#undo")
    for _ in range(3):
        driver.act(page, lambda: page.click("#redo"))
    assert page.is_disabled("#redo")
    assert rules_of(page, again) == rules


def test_the_session_is_private_and_holds_no_value(start, survey, open_page, tmp_path):
    lines = survey.read_text().splitlines()
    marked = [
        lines[0] + ",NAME",
        *(f"{one},{MARK}{i}" for i, one in enumerate(lines[1:])),
    ]
    survey.write_text("\n".join(marked))
    app = start(survey)
    page = open_page()
    driver.enter(page, app)
    assert MARK in page.inner_text("main")
    driver.act(page, lambda: page.click("#accept-all"))
    driver.act(page, lambda: page.select_option("#role-11", "key"))
    rules_of(page, app)
    kept = [one for one in (tmp_path / "settings").rglob("*") if one.is_file()]
    assert kept
    for one in kept:
        assert stat.S_IMODE(one.stat().st_mode) == 0o600
        assert MARK not in one.read_text()
    assert "NAME" in "".join(one.read_text() for one in kept)
