"""Rules as a line of the shell, which makes the same files."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from riskcore import Release, simulate
from riskcore.data.files import formats
from riskcore.report.release_files import check_release_files, write_release

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Rules by what they show; the file of data is added, roles for all other columns, and
# that all leaks are accepted.
RULES = {
    "nothing secret": """
[safe]
k = 3
[recodings]
AGE = "from:15,30,45,65"
[output]
file = "safe.csv"
drop = ["HOUSEHOLD"]
""",
    "households": """
[columns]
weight = "WEIGHT"
household = "HOUSEHOLD"
[safe]
rate = "0.5%"
household_rate = "2%"
[recodings]
REGION = "truncate:2"
AGE = "age.grc"
[suppress]
household_keys = ["REGION"]
[output]
file = "safe.parquet"
record = "kept by the owner.json"
""",
    "units are households": """
[columns]
keys = ["REGION", "HHSIZE"]
household = "HOUSEHOLD"
[safe]
level = "household"
k = 3
[output]
file = "safe.csv"
shuffle = true
renumber = ["PERSON", "HOUSEHOLD"]
public_record = "public.json"
""",
    "treatments by a secret": """
[columns]
weight = "WEIGHT"
[safe]
k = 2
[treat]
INCOME = ["noise:10%", "round:10"]
EDUCATION = "pram:0.9"
"HHSIZE+CITIZENSHIP" = "microaggregate:5"
WEIGHT = "rake:totals.csv"
[suppress]
ties = "secret"
[output]
file = "safe.xlsx"
shuffle = true
report = "report.html"
report_public = "public.html"
drop = ["HOUSEHOLD"]
""",
    "another layout": """
[safe]
k = 3
[output]
file = "safe.csv"
shuffle = true
renumber = []
guard_formulas = true
""",
    "several sets of keys": """
[columns]
keys = [["REGION", "SEX", "AGE"], ["SEX", "AGE", "MARSTAT"]]
weight = "WEIGHT"
[safe]
k = [3, 2]
threshold = 0.02
[recodings]
AGE = "upto:20,40,60"
REGION = "hierarchy:regions.csv:1"
[output]
file = "safe.sav"
shuffle = true
report = "report.html"
""",
    "combinations of keys": """
[safe]
k = 5
subsets = 2
strata = ["MARSTAT"]
[output]
file = "safe.dta"
""",
    "costs": """
[safe]
k = 3
missing = "argus"
[suppress]
cost = {REGION = "never", SEX = {1 = 7, 2 = "never"}, AGE = 0.5}
related = {SEX = ["MARSTAT"]}
[roles]
PERSON = "identifier"
INCOME = "numeric"
[output]
file = "safe.csv"
allow_unsafe = true
""",
}
FORMATS = {"treatments by a secret": ".xlsx", "several sets of keys": ".sav",
           "combinations of keys": ".dta", "households": ".parquet"}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work beside a folder of rules, at a fixed time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    data = simulate.microdata(300, np.random.default_rng(4))
    data["REGION"] = data["REGION"].astype(str)
    for ending in (".csv", ".parquet", ".xlsx", ".sav", ".dta"):
        formats.write(f"survey{ending}", data)
    Path("the rules").mkdir()
    groups = [f"{low // 20}:{low}-{low + 19}\n" for low in range(0, 120, 20)]
    Path("the rules/age.grc").write_text("".join(groups))
    regions = dict.fromkeys(data["REGION"].tolist())
    tree = [f"{region};{region[0]};all\n" for region in regions]
    Path("the rules/regions.csv").write_text("".join(tree))
    sexes = [f"SEX,{sex},{1000 * sex}\n" for sex in sorted(set(data["SEX"].tolist()))]
    Path("the rules/totals.csv").write_text("column,category,total\n" + "".join(sexes))
    return tmp_path


def release_of(name):
    """Return rules that were written to a file."""
    text = RULES[name]
    if "\nkeys =" not in text:
        keys = 'keys = ["REGION", "SEX", "AGE"]\n'
        has = "[columns]\n" in text
        text = text.replace("[columns]\n", f"[columns]\n{keys}") if has else (
            f"[columns]\n{keys}{text}"
        )  # fmt: skip
    data = f'[data]\nfile = "../survey{FORMATS.get(name, ".csv")}"\n'
    others = '"*" = "harmless:a test"\n'
    has = "[roles]\n" in text
    roles = text.replace("[roles]\n", f"[roles]\n{others}")
    text = roles if has else f"{text}[roles]\n{others}"
    leaks = '[accept]\n"*" = "a test"\n'
    path = Path("the rules/release.toml")
    path.write_text(f"format = 1\n{data}{text}{leaks}")
    return Release.read(path)


def files_made():
    """Return the bytes of the files beside the rules, by name, and remove them."""
    given = {"release.toml", "age.grc", "regions.csv", "totals.csv"}
    made = {one.name: one for one in Path("the rules").iterdir()}
    found = {name: made[name].read_bytes() for name in made.keys() - given}
    for name in found:
        made[name].unlink()
    return found


def without_command(files):
    """Return the files, whose reports lack the command that a program has not."""
    found = dict(files)
    for name in found:
        if name.startswith("report"):
            before, _, after = found[name].partition(b"<h3>To make this report again")
            found[name] = before + after.partition(b"</div>\n")[2]
    return found


def first_run(release):
    """Write the files of rules; return them, and the record if its secret is needed."""
    source = release.source()
    wanted = release.output()
    check_release_files(source, release.settings(source), wanted)
    made = write_release(release.protect(source), wanted)
    files = files_made()
    if made.record_with_secret is None:
        return files, None
    return files, (made.record_with_secret.name, files[made.record_with_secret.name])


@pytest.mark.parametrize("name", RULES)
def test_rules_and_line_make_the_same_files(name, run):
    release = release_of(name)
    first, record = first_run(release)
    path = None
    if record is not None:
        path = Path("the rules") / record[0]
        path.write_bytes(record[1])
    line = release.shell_line(secret=path, overwrite=True)
    status, out, err = run(*shlex.split(line)[1:])
    assert status == ("allow_unsafe" in release.output()), err
    assert ("byte for byte the file of the record" in out) == (record is not None)
    again = files_made()
    assert without_command(again) == without_command(first)
    assert (again == first) == ("report" not in release.output())
    secret = {"shuffle = true", 'household = "', "ties = "}
    assert (record is not None) == any(one in RULES[name] for one in secret)
    assert len(first) > 1


def test_a_line_is_quoted_for_a_shell():
    rules = Release.parse("format = 1", "-it's mine.toml")
    assert rules.shell_line() == """riskcore run './-it'"'"'s mine.toml'"""
    line = rules.shell_line(secret=Path("-a b"), overwrite=True)
    assert shlex.split(line)[3:] == ["--secret", "./-a b", "--overwrite"]
    assert Release.parse("format = 1").shell_line() == "riskcore run release.toml"
