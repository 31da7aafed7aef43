"""Whether a replay has the input and the rules of a record."""

from pathlib import Path

import numpy as np
import pytest

from riskcore import Release, simulate
from riskcore.data.files import formats
from riskcore.protection.release.record import is_input_of, read_record
from riskcore.protection.release.replay import differing_rules
from riskcore.report.release_files import write_release

RULES = """\
format = 1
[data]
file = "survey.csv"
missing_codes = {AGE = ["99"]}
[columns]
keys = ["REGION", "SEX", "AGE"]
household = "HOUSEHOLD"
[safe]
k = 3
[recodings]
AGE = "age.grc"
REGION = "truncate:2"
[treat]
INCOME = "noise:10%"
[roles]
"*" = "harmless:known to nobody"
[accept]
"*" = "a test"
[output]
file = "safe.csv"
shuffle = true
drop = ["CITIZENSHIP"]
"""
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def record(tmp_path, monkeypatch):
    """Work in a folder with a survey and the record of its protection."""
    monkeypatch.chdir(tmp_path)
    formats.write("survey.csv", simulate.microdata(300, np.random.default_rng(4)))
    groups = [f"{low // 20}:{low}-{low + 19}\n" for low in range(0, 120, 20)]
    Path("age.grc").write_text("".join(groups))
    return record_of(RULES)


def record_of(text):
    """Return the record that rules make."""
    release = Release.parse(text, "release.toml")
    made = write_release(release.protect(), release.output(), overwrite=True)
    return read_record(made.private_record)


def differing(text, record, path="release.toml"):
    """Return the rules of a text that differ from a record."""
    release = Release.parse(text, path)
    source = release._source()
    return differing_rules(release, source, release._settings(source), record)


def test_the_same_rules_do_not_differ(record, monkeypatch, tmp_path):
    assert differing(RULES, record) == []
    assert differing(f"# a comment\n{RULES}report = 'r.html'", record) == []
    # Nor from another folder.
    monkeypatch.chdir("/")
    assert differing(RULES, record, tmp_path / "release.toml") == []


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("k = 3", "k = 4", ["safe.k"]),
        ("k = 3", "threshold = 0.1", ["safe.k", "safe.threshold"]),
        (', "AGE"]', "]", ["columns.keys"]),
        ('household = "HOUSEHOLD"\n', "", ["columns.household", "output.renumber"]),
        ("truncate:2", "truncate:1", ["recodings.REGION"]),
        ('REGION = "truncate:2"', 'MARSTAT = "map:1=2"', None),
        ("noise:10%", "noise:20%", ["treat.INCOME"]),
        ("a test", "another reason", ["accept.*"]),
        ("[roles]", "[roles]\nEDUCATION = 'harmless'", ["roles.EDUCATION"]),
        ("[treat]", "[suppress]\nties = 'secret'\n[treat]", ["suppress.ties"]),
        ('["99"]', '["98"]', ["data.missing_codes"]),
        ("shuffle = true", "shuffle = false", ["output.shuffle"]),
        ('drop = ["CITIZENSHIP"]', "drop = []", ["output.drop"]),
        ("shuffle = true", "shuffle = true\nrenumber = []", ["output.renumber"]),
        (
            "shuffle = true",
            "shuffle = true\nguard_formulas = true",
            ["output.guard_formulas"],
        ),
    ],
)
def test_rules_that_differ_are_named(record, old, new, names):
    assert old in RULES
    if names is None:
        names = ["recodings.MARSTAT", "recodings.REGION"]
    assert differing(RULES.replace(old, new), record) == names


def test_a_recode_file_that_changed_is_named(record):
    Path("age.grc").write_text(Path("age.grc").read_text().replace("0:", "9:", 1))
    assert differing(RULES, record) == ["recodings.AGE"]


def test_another_seed_is_another_order():
    text = RULES.replace('INCOME = "noise:10%"', "")
    seeded = text.replace("shuffle = true", "shuffle = 7")
    record = record_of(seeded)
    assert differing(seeded, record) == []
    assert differing(text, record) == []
    other = text.replace("shuffle = true", "shuffle = 8")
    assert differing(other, record) == ["output.shuffle"]


def test_the_input_is_known_by_its_digest(record, monkeypatch, tmp_path):
    release = Release.parse(RULES)
    assert is_input_of(record, release._source()) is True
    with Path("survey.csv").open("a") as file:
        file.write("\n")
    assert is_input_of(record, release._source()) is False
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert is_input_of(record, release._source()) is None
