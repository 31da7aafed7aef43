"""Files are opened, sent and read in a browser."""

from importlib import import_module

import pytest

driver = import_module("bench._app")


@pytest.fixture
def app(start, survey):
    """Return the app without a file, in a folder with a survey and one in cp1252."""
    latin = survey.with_name("latin.csv")
    latin.write_bytes("Größe;Ort\n1;Köln\n2;Fürth\n".encode("cp1252"))
    return start(survey.parent)


def test_a_file_is_opened_by_its_name(page, survey):
    page.get_by_role("button", name=survey.name).click()
    page.wait_for_url("**/data")
    driver.settle(page)
    head = survey.read_text().partition("\n")[0].split(",")
    assert page.locator("table.rows th").all_inner_texts() == head
    assert page.locator("table.rows tbody tr").count() == 20


def test_a_file_that_is_refused_is_read_in_another_way(page):
    page.get_by_role("button", name="latin.csv").click()
    page.wait_for_selector("#refusal")
    assert "cp1252" in page.inner_text("#refusal")
    page.fill("#reading-encoding", "cp1252")
    page.click("#open-again")
    page.wait_for_url("**/data")
    driver.settle(page)
    assert page.locator("table.rows th").all_inner_texts() == ["Größe", "Ort"]


def test_a_file_is_sent_and_removed(page, app, survey):
    page.set_input_files("#send-file", survey)
    page.wait_for_url("**/data")
    driver.settle(page)
    driver.visit(page, app, "start")
    page.get_by_role("button", name="Remove").click()
    page.wait_for_selector("text=The file was removed")
    assert page.locator("button", has_text="Remove").count() == 0


def test_a_file_that_is_dropped_is_sent(page, survey):
    text = survey.read_text()
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "dropped.csv"));
          const drop = document.getElementById("drop");
          const how = {dataTransfer: data, bubbles: true, cancelable: true};
          drop.dispatchEvent(new DragEvent("dragover", how));
          drop.dispatchEvent(new DragEvent("drop", how));
        }""",
        text,
    )
    page.wait_for_url("**/data")
    driver.settle(page)
    assert "dropped.csv" in page.inner_text(".file")


def test_a_name_that_is_no_survey_file_is_refused(page, tmp_path):
    odd = tmp_path / "tool.exe"
    odd.write_bytes(b"MZ")
    with page.watch.refusals():
        page.set_input_files("#send-file", odd)
        page.locator("#error", has_text="survey").wait_for()
    assert "send a survey file under its own name" in page.inner_text("#error")


def test_files_are_opened_without_script(open_page, app, survey):
    page = open_page(java_script_enabled=False)
    page.goto(app.address)
    page.get_by_role("button", name=survey.name).click()
    page.wait_for_url("**/data")
    assert survey.name in page.inner_text(".file")


def test_the_page_of_another_file_says_so(page, app, survey, open_page):
    page.get_by_role("button", name=survey.name).click()
    page.wait_for_url("**/data")
    driver.settle(page)
    other = open_page()
    driver.enter(other, app)
    driver.visit(other, app, "start")
    other.click("#open-demo")
    other.wait_for_url("**/data")
    page.wait_for_selector("#stale:not([hidden])")
