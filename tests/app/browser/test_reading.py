"""A file that is opened by a click, and read in another way where it has to be."""

from functools import partial
from importlib import import_module

import openpyxl

driver = import_module("bench._app")


def test_a_sheet_without_records_leads_to_the_sheet_with_them(
    start, survey, open_page, tmp_path
):
    book = openpyxl.Workbook()
    book.active.append(["About this file"])
    sheet = book.create_sheet("Daten")
    for row in survey.read_text().splitlines():
        sheet.append(row.split(","))
    folder = tmp_path / "folder"
    folder.mkdir()
    book.save(folder / "survey.xlsx")
    app, page = start(folder), open_page()
    driver.enter(page, app)
    driver.act(page, page.get_by_role("button", name="survey.xlsx").click)
    assert "no records" in page.inner_text("#refusal")
    page.select_option("#reading-sheet", "Daten")
    driver.act(page, partial(page.click, "#read-again"))
    assert page.locator("table.rows tbody tr").count() == 20
    assert not page.locator("#refusal").count()
