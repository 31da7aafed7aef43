"""Roles of many columns: the filter while one types, and the ticks."""

from functools import partial
from importlib import import_module

driver = import_module("bench._app")


def test_columns_are_filtered_while_one_types_and_ticked_together(app, page, survey):
    names = survey.read_text().partition("\n")[0].split(",")

    def listed():
        rows = page.locator("#roles-table tbody tr")
        return [at for at in range(rows.count()) if rows.nth(at).is_visible()]

    def role(name):
        return page.input_value(f"#role-{names.index(name)}")

    driver.visit(page, app, "columns")
    assert listed() == [*range(len(names))]
    page.fill("#find", "h")
    wanted = [at for at, name in enumerate(names) if "h" in name.lower()]
    assert listed() == wanted
    page.select_option("#find-shown", "undecided")
    assert listed() == wanted
    page.click("#tick-all")
    assert page.input_value("#give-role") == ""
    page.click("#give-now")  # without a role nothing is sent
    assert role("HHSIZE") == ""
    page.select_option("#give-role", "harmless")
    driver.act(page, partial(page.click, "#give-now"))
    assert {role(names[at]) for at in wanted} == {"harmless"}
    assert role("AGE") == ""
