"""Whole releases by clicks, from the survey file to the files that go out."""

from importlib import import_module

import pytest

clicks = import_module("bench.app_clicks")


def released(browser, folder, names, households):
    """Release files one after the other; return what each took and made."""
    rules = [clicks.CASES / f"{name}.toml" for name in names]
    return [*clicks.release_all(browser, rules, folder, households)]


def check(done):
    """Compare the safe file with that of the command; the release is safe."""
    assert [one.rules for one in done if not one.same] == []
    for one in done:
        assert one.verdict.startswith("Safe")
        assert one.clicks > 20


def test_a_first_pass_is_released_by_clicks(browser, tmp_path):
    check(released(browser, tmp_path, ["suf_homes"], 2000))


@pytest.mark.slow
def test_the_case_studies_are_released_by_clicks(browser, tmp_path):
    done = released(browser, tmp_path, clicks.PASSES, 2000)
    check(done)
    assert len(done) == 6
    for name, report in (("suf", "about.json"), ("puf", "puf_about.json")):
        public = (tmp_path / name / report).read_text()
        assert '"suppressed"' in public
