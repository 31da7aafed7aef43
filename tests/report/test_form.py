"""The form to sign: its figures are those of the result, and it prints on a page."""

import hashlib
import re
import stat
import subprocess
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

from riskcore import protect, simulate
from riskcore.assessment.reported_figures import text_of
from riskcore.cli import main
from riskcore.data.files import formats
from riskcore.report.page import form_page
from tests import needs
from tests.accepted import ANY_LEAK

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
RULES = """\
format = 1
data.file = "survey.csv"
columns.keys = ["REGION", "SEX", "AGE", "MARSTAT"]
columns.weight = "WEIGHT"
safe.k = 3
safe.l = 2
roles.EDUCATION = "sensitive"
roles.HOUSEHOLD = "identifier"
roles."*" = "harmless:nobody <b>knows</b> them"
recodings.AGE = "from:15,30,45,65"
recodings.REGION = "truncate:2"
accept."*" = "the register & its copies are <i>closed</i>"
output = {file = "safe.csv", form = "form.html", shuffle = true}
"""
PAPERS = "A4", "letter"
LONG = "the register is held by another office, which lets nobody link it; " * 4


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    formats.write("survey.csv", simulate.microdata(600, np.random.default_rng(4)))
    return tmp_path


def protected(**settings):
    """Return a protection of the survey."""
    settings = {"keys": KEYS, "weight": "WEIGHT", "k": 3, **settings}
    coarse = {"recodings": {"AGE": "from:15,30,45,65", "REGION": "truncate:2"}}
    return protect("survey.csv", **{**coarse, **settings})


def words(page):
    """Return the text of a page as it is read, with single blanks."""
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(text).split())


def sha256(name):
    """Return the digest of a file."""
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def run(*line):
    """Run a command; return its exit status."""
    return main([str(word) for word in line])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_figures_are_those_of_the_result():
    result = protected(threshold=0.05, household="HOUSEHOLD", household_threshold=0.2)
    text = words(form_page(result))
    (key_set,) = result.sets
    before, after = (key_set.comparison()[x] for x in ("original", "protected"))
    shown = [
        f"{text_of(name, before, 'page')} → {text_of(name, after, 'page')}"
        for name in (
            "unsafe_records", "unsafe_households", "expected_reidentifications",
            "max_risk", "k_anonymity",
        )
    ]  # fmt: skip
    assert "Before → after " + " ".join(shown) in text
    blanks = [f"{name} {n}" for name, n in result.suppressed.items() if n]
    assert blanks
    assert f"Blanks by key {', '.join(blanks)} " in text
    assert f"{result.n:,} records and 11 columns in the original" in text
    population = text_of("population", key_set.original.counts, "page")
    assert f"counted {population}" in text
    for fact in ("K-anonymity 3", "Risk threshold 0.05", "without the last 2"):
        assert fact in text
    assert "Household risk threshold 0.2" in text


def test_what_was_written_is_named_with_its_digest():
    Path("release.toml").write_text(RULES)
    assert run("run", "release.toml", "--quiet") == 0
    page = Path("form.html").read_text()
    text = words(page)
    for what, name in {
        "Original": "survey.csv", "Rules": "release.toml", "Safe file": "safe.csv",
        "Private record": "safe.csv.private.json",
    }.items():  # fmt: skip
        assert f"{what} {name} {sha256(name)}" in text
    assert f"On the safe file {sha256('safe.csv')[:12]}" in text
    assert "2001-09-09 01:46 UTC" in text
    assert "Command riskcore run release.toml --quiet" in text
    assert "Least l-diversity 2" in text
    assert "Columns left out HOUSEHOLD" in text
    assert "10 columns in the safe file" in text
    assert "Order of the records random" in text
    title = "Release of survey.csv: for internal use, to sign"
    assert page.count(title) == 2  # of the window, and above the page
    assert stat.S_IMODE(Path("form.html").stat().st_mode) == 0o600 or not needs.ON_POSIX


def test_accepted_leaks_stand_with_their_reasons_escaped():
    Path("release.toml").write_text(RULES)
    assert run("run", "release.toml", "--quiet") == 0
    page = Path("form.html").read_text()
    reasons = [
        "the register & its copies are <i>closed</i>",
        "nobody <b>knows</b> them",
    ]
    for reason in reasons:
        assert page.count(f"<bdi>{escape(reason)}</bdi>") == 1
        assert reason not in page
    leaks = protected(
        l=2, weight="WEIGHT",
        roles={
            "EDUCATION": "sensitive", "HOUSEHOLD": "identifier",
            "*": f"harmless:{reasons[1]}",
        },
        accept={"*": reasons[0]},
    ).preview(shuffle=True).leaks  # fmt: skip
    assert len(leaks) > 2
    for leak in leaks:
        assert leak.accepted in reasons
        assert page.count(f"<div>{escape(leak.text)}".replace("&#x27;", "&#39;")) == 1
    # A place for who accepted them, once for each reason.
    assert page.count('<td class="hand"></td>') == len(reasons)
    assert words(page).count("Safe except for") == 1


def test_a_release_that_is_not_safe_says_so_in_large_words():
    open_leaks = re.sub('accept.*|roles."\\*".*', "", RULES)
    unmet = open_leaks.replace("safe.k = 3", "safe.threshold = 1e-9")
    allowed = open_leaks.replace("shuffle = true", "allow_unsafe = true")
    for rules, state in [
        (unmet, "the goals are not met."), (open_leaks, "leaks are open."),
        (allowed, "leaks are open."),
    ]:  # fmt: skip
        Path("release.toml").write_text(rules)
        assert run("run", "release.toml", "--quiet", "--overwrite") == 1
        page = Path("form.html").read_text()
        assert '<p class="verdict"><strong>NOT SAFE:</strong>' in page
        text = words(page)
        assert re.search(f"NOT SAFE: [a-z0-9, ]*{state}", text)
        written = Path("safe.csv").exists()
        assert written == (rules == allowed)
        assert ("No safe file was written" in text) != written
        assert ("release on the conditions in 6" in text) == written
    assert f"Safe file safe.csv {sha256('safe.csv')}" in text
    assert "4. Leaks Open '" in text


def test_neither_the_secret_nor_a_value_of_a_record_is_shown():
    data = simulate.microdata(600, np.random.default_rng(4))
    data["AGE"] = data["AGE"].astype(object)
    data["AGE"][7], data["EDUCATION"] = "age-of-one", np.arange(601) + 7_777_000
    result = protect(data, KEYS, "WEIGHT", k=2, **ANY_LEAK)
    record = result.write("safe.csv", form="form.html", shuffle=True)
    page = Path("form.html").read_text()
    assert record["output"]["secret"] not in page
    assert "age-of-one" not in page
    assert "7777" not in page
    assert "777,7" not in page
    assert f"Safe file safe.csv {sha256('safe.csv')}" in words(page)
    assert "Original" not in words(page)  # there is no file


def test_it_has_no_script_and_loads_nothing():
    page = form_page(protected(**ANY_LEAK))
    assert "<script" not in page
    assert "script-src 'none'" in page
    assert not re.findall(r"(?:src|href)=|url\(|@import|\son\w+=", page)


def test_many_sets_of_keys_are_counted():
    result = protected(subsets=2, keys=[*KEYS, "EDUCATION", "CITIZENSHIP"], **ANY_LEAK)
    text = words(form_page(result))
    assert len(result.sets) == 15
    assert "one of the 15 sets of keys in part 2" in text
    assert text.count(" x ") == 10
    assert "5 more sets of keys: see the report" in text


def test_the_method_writes_the_form_and_replaces_only_if_allowed():
    result = protected(**ANY_LEAK)
    result.form("form.html")
    assert Path("form.html").read_text() == form_page(result)
    with pytest.raises(FileExistsError):
        result.form("form.html")
    with pytest.raises(FileExistsError):
        result.write("safe.csv", form="form.html")
    assert not Path("safe.csv").exists()
    with pytest.raises(ValueError, match="an input file"):
        result.form("survey.csv", overwrite=True)
    with pytest.raises(ValueError, match="a page of HTML"):
        result.form("form.pdf")
    result.form("form.html", overwrite=True)


def test_rules_that_recode_by_files_are_digested():
    Path("age.grc").write_text("1:0-40\n2:41-120\n")
    result = protected(recodings={"AGE": "age.grc"}, **ANY_LEAK)
    text = words(form_page(result))
    assert f"File of rules age.grc {sha256('age.grc')}" in text


def pages(page, paper):
    """Return the number of pages that Chromium prints a page on."""
    page = re.sub(r"<meta http-equiv[^>]*>", "", page)  # it allows no other style
    page = page.replace("</style>", f"@page {{ size: {paper}; }}</style>")
    Path("printed.html").write_text(page)
    line = [
        needs.CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
        f"--user-data-dir={Path('profile').resolve()}", "--no-pdf-header-footer",
        "--print-to-pdf=printed.pdf", Path("printed.html").resolve().as_uri(),
    ]  # fmt: skip
    subprocess.run(line, capture_output=True, timeout=600, check=True)
    return len(re.findall(rb"/Type\s*/Page\b", Path("printed.pdf").read_bytes()))


@needs.chromium
def test_it_prints_on_one_page():
    Path("release.toml").write_text(RULES)
    assert run("run", "release.toml", "--quiet") == 0
    page = Path("form.html").read_text()
    assert [pages(page, paper) for paper in PAPERS] == [1, 1]


@needs.chromium
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_many_keys_and_long_reasons_print_on_two_pages():
    data = simulate.microdata(600, np.random.default_rng(4))
    more = {f"A_LONG_NAME_OF_A_KEY_{i}": np.arange(601) % 2 for i in range(12)}
    reasons = {"WEIGHT": LONG, "HOUSEHOLD": f"{LONG}, too", "INCOME": f"{LONG}, also"}
    sets = [[*KEYS, *more], ["SEX", "HHSIZE"], *([*KEYS, name] for name in more)]
    result = protect(
        {**data, **more}, sets, "WEIGHT", k=3,
        accept={**reasons, "*": LONG[:200]}, roles={"*": f"harmless:{LONG}"},
        recodings={"AGE": "map:" + ",".join(f"{age}={age // 5}" for age in range(90))},
    )  # fmt: skip
    page = form_page(result)
    assert all(reason in words(page) for reason in reasons.values())
    assert "; and 82 more" in words(page)
    assert [pages(page, paper) for paper in PAPERS] == [2, 2]


def test_it_says_which_goals_unsafe_records_break():
    said = "unsafe by k and risk alone"
    assert said not in words(form_page(protected(**ANY_LEAK))).lower()
    people = protected(min_population=50, **ANY_LEAK)
    assert said in words(form_page(people)).lower()
