"""A task of the bench, from the start page to a safe file that is fetched."""

import tomllib
from importlib import import_module

tasks = import_module("bench.app_tasks")


def test_a_workbook_is_made_safe_by_clicks_alone(browser, tmp_path):
    folder = tmp_path / "surveys"
    folder.mkdir()
    tasks.make_excel(folder / "umfrage.xlsx")
    task = tomllib.loads((tasks.CASES / "excel.toml").read_text())
    context, said = browser.new_context(), []
    done = tasks.do_task(context, folder, tmp_path / "settings", task, said.append)
    assert done.verdict.startswith("Safe")
    assert done.same
    assert done.clicks < 50
    # The first sheet has no records, and another one is chosen there.
    assert done.dead_ends == 1
    assert (folder / "umfrage-safe.xlsx").is_file()
    assert "fetch the safe file" in said
