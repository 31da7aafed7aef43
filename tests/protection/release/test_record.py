"""The records of a protection: what they reveal, and what is refused in them."""

import contextlib
import hashlib
import hmac
import itertools
import json
import operator
import os
import stat
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import riskcore
from riskcore import Recoding, cli, protect
from riskcore.data.files import arrow, formats
from riskcore.data.files.argus.metadata import read_metadata
from riskcore.protection.release.record import coarse, method_of, read_record
from riskcore.report.public_page import public_protection_page
from tests import needs, thin
from tests.accepted import ANY_LEAK

# The households of the survey are numbered in order, which undoes a shuffle.
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)

KEYS = ["sex", "age"]
AGES = range(121)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own, with a key of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(tmp_path / "config"))


def survey(age="93", n=120):
    """Make a file in which one age is rare."""
    random = np.random.default_rng(12)
    ages = random.integers(20, 24, n).astype(str).tolist()
    ages[7] = age
    return {
        "sex": random.choice(["1", "2"], n).tolist(),
        "age": ages,
        "job": random.choice(["a", "b", "c"], n).tolist(),
        "w": [f"{value:.1f}" for value in random.uniform(20, 60, n)],
        "hh": [str(300 + i // 3) for i in range(n)],
    }


def protected(age="93", **thresholds):
    data = survey(age)
    path = formats.write(f"survey-{age}.csv", data, overwrite=True)
    goals = thresholds or {"threshold": 0.02}
    return protect(path, KEYS, "w", **ANY_LEAK, **goals)


def all_strings(plain):
    """Yield every text in a record, also parts of it and as bytes of digits."""
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield name
            yield from all_strings(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from all_strings(value)
    elif isinstance(plain, str):
        yield plain


def as_keys(plain):
    for text in all_strings(plain):
        yield text.encode()
        with contextlib.suppress(ValueError):
            yield bytes.fromhex(text)


def digests(content, keys):
    """Yield what somebody could compute of a guess at the input."""
    for name in ("sha256", "sha1", "md5", "sha512"):
        yield hashlib.new(name, content).hexdigest()
    for key in keys:
        yield hmac.digest(key, content, "sha256").hex()
        yield hashlib.sha256(key + content).hexdigest()


def test_no_digest_checks_a_guess():
    result = protected()
    assert result.suppressed["age"] == 1
    result.write("safe.csv", public_record="public.json", shuffle=True)
    original = Path("survey-93.csv").read_bytes()
    texts = [Path(n).read_text() for n in ("public.json", "safe.csv.private.json")]
    text = "".join(texts)
    keys = [b"", *(key for each in texts for key in as_keys(json.loads(each)))]
    for age in AGES:
        guess = original.replace(b",93,", b",%d," % age)
        assert (guess == original) == (age == 93)
        assert not any(digest in text for digest in digests(guess, keys))
    assert "bytes" not in text


def plain_figures(result):
    """Return both records without what is random or names a file."""
    result.write("x.csv", overwrite=True, allow_unsafe=True, public_record="p.json")
    both = [json.loads(Path(n).read_text()) for n in ("x.csv.private.json", "p.json")]
    for record in both:
        record.pop("input", None)
        record.pop("output", None)
    return both


THRESHOLDS = [
    {"threshold": 0.02}, {"rate": 0.0022}, {"rate": 0.0022, "missing": "argus"},
]  # fmt: skip


# With all of the guesses it is slow. An age of 111 may be a code.
@pytest.mark.filterwarnings("ignore:key 'age'")
@pytest.mark.parametrize(
    ("thresholds", "step"),
    thin.cases(product(THRESHOLDS, [3, 9]), lambda _, step: step == 9),
)
def test_no_figure_checks_a_guess(thresholds, step):
    truth = protected(**thresholds)
    assert truth.suppressed["age"] > 0
    released = arrow.table_of(truth.data, plain=True).to_pydict()
    known = plain_figures(truth)
    without, left, told = [], [], []
    for age in range(3 % step, 121, step):
        guess = protected(str(age), **thresholds)
        if arrow.table_of(guess.data, plain=True).to_pydict() != released:
            continue
        without.append(age)
        if plain_figures(guess) == known:
            left.append(age)
        if guess.to_dict() == truth.to_dict():
            told.append(age)
    assert 93 in left
    assert len(without) > 10
    assert left == without
    assert 93 in told


def test_figures_of_the_original_would_check_a_guess():
    # So they are in neither record: here the number of cells shows that the age is
    # one that occurs, or one that does not.
    figures = {
        age: protected(age).sets[0].comparison()["original"] for age in ("93", "21")
    }
    assert figures["93"] != figures["21"]


def test_figures_of_the_original_are_in_no_record():
    result = protected(rate=0.0022)
    record = result.write("safe.csv", public_record="p.json")
    before = result.to_dict()["sets"][0]
    exact = result.sets[0].aim.threshold
    shown = [json.dumps(record), Path("p.json").read_text()]
    shown.append(Path("safe.csv.private.json").read_text())
    for text in shown:
        for stage in ("original", "recoded"):
            for name, figure in before["risk"].get(stage, {}).items():
                # With the threshold of a rate the capped rate is the rate asked for.
                if isinstance(figure, float) and name != "capped_rate":
                    assert repr(figure) not in text
                    assert f"{figure:.5g}" not in text
        assert f"{exact:.2g}" not in text
        assert (
            "the threshold for a re-identification rate of 0.22 %"
            in json.loads(text)["verdict"]
        )
    assert f"{exact:.8g}" in result.verdict


def test_the_public_record():
    data = {**survey(), "job": ["x", "y"] + ["z"] * 118}
    rare = Recoding.mapping({"x": "secret-code", "z": "z2"})
    result = protect(
        data | {"w": np.array(data["w"], float)}, [*KEYS, "job"], "w", threshold=0.02,
        recodings={"age": Recoding.top_bottom(top=90), "job": rare}, **ANY_LEAK,
    )  # fmt: skip
    result.write("safe.csv", public_record="p.json", shuffle=True)
    text = Path("p.json").read_text()
    public = json.loads(text)
    assert public["recodings"] == {
        "age": {"kind": "top and bottom", "intervals": ["[90, inf)"]},
        "job": {"kind": "mapping"},
    }
    assert "secret-code" not in text
    assert any(0 < count < 10 for count in result.suppressed.values())
    for name, count in result.suppressed.items():
        said = "fewer than 10" if 0 < count < 10 else coarse(count)
        assert public["suppressed"][name] == said
    assert (public["records"], public["goals_met"]) == (120, True)
    assert (public["shuffled"], public["renumbered"]) == (True, [])
    words = ["hmac", "digest", "seed", "secret", "bytes", "path", 'file"']
    assert not [word for word in words if word in text]
    # It belongs to the safe file, which has no other digest in it.
    safe = hashlib.sha256(Path("safe.csv").read_bytes()).hexdigest()
    assert public["sha256"] == safe
    long = [one for one in all_strings(public) if len(one) > 30 and " " not in one]
    assert long == [safe]


def test_the_public_record_has_what_satre_asks_of_a_released_output():
    # 3.3.09 of version 2: thresholds, rules of suppression and perturbation, the model,
    # the risk accepted, versions, and the output that all that belongs to.
    data = survey() | {"pay": [str(i) for i in range(1000, 1120)]}
    result = protect(
        formats.write("s.csv", data), KEYS, "w", rate=0.05, k=3, subsets=1,
        population="weights", treat={"pay": "noise:10%"}, **ANY_LEAK,
    )  # fmt: skip
    result.write("safe.csv", public_record="p.json", shuffle=True)
    public = json.loads(Path("p.json").read_text())
    asked = {name: public[name] for name in ("rate", "k", "sets", "population")}
    assert asked == {
        "rate": 0.05, "k": [3, 3], "sets": [["sex"], ["age"]], "population": "weights",
    }  # fmt: skip
    assert "noise of 10 %" in public["treated"]["pay"][0]
    assert {"suppression", "ties", "cost", "missing"} <= set(public)
    assert public["versions"]["riskcore"] == riskcore.__version__
    assert public["format"] == 1


def test_published_texts_do_not_name_categories_with_a_cost():
    # A category that is cheap to blank is blanked everywhere: nobody may read of it.
    data = survey()
    data["job"][7] = "astronaut"
    result = protect(
        formats.write("s.csv", data), [*KEYS, "job"], "w", k=3,
        cost={"job": {"astronaut": 1}, "age": 9, "sex": float("inf")}, **ANY_LEAK,
    )  # fmt: skip
    result.write("safe.csv", public_record="p.json")
    public = json.loads(Path("p.json").read_text())
    assert public["cost"] == {"job": "by category", "age": 9.0, "sex": "never"}
    page = public_protection_page(result)
    assert "job by category, age 9, sex never" in page
    texts = [Path("p.json").read_text(), page, Path("safe.csv").read_text()]
    assert not any("astronaut" in text for text in texts)


def test_published_texts_do_not_name_columns_left_out():
    data = {"zjob" if name == "job" else name: one for name, one in survey().items()}
    debts = [i * 10 % 77 for i in range(120)]
    data |= {"zcode": data["zjob"], "zdebts": debts, "zpay": debts}
    path = formats.write("s.csv", data)
    result = protect(
        path, KEYS, threshold=1.0,
        **ANY_LEAK | {"roles": ANY_LEAK["roles"] | {"zpay": "numeric"}},
        treat={"zdebts": "noise:10%", "zpay+w": "microaggregate:3:decimals"},
        recodings={"zjob": Recoding.mapping({"a": "b"})}, related={"age": ["zcode"]},
    )  # fmt: skip

    def published(drop):
        record = result.write(
            "safe.csv", public_record="p.json", drop=drop, overwrite=True
        )
        page = public_protection_page(result, drop=drop)
        return [record["verdict"], Path("p.json").read_text(), page]

    for name in ("zdebts", "zjob", "zcode", "zpay"):
        assert all(name in text for text in published([])[1:])
        texts = published([name])
        assert not any(name in text for text in texts)
    assert "zpay + w" in json.loads(published([])[1])["treated"]
    assert "w" in json.loads(texts[1])["treated"]
    # Keys are named by the goals.
    assert "age" in json.loads(published(["age"])[1])["sets"][0]


def test_limits_that_are_quantiles_are_published_as_quantiles():
    data = survey() | {"pay": [str(i) for i in range(1000, 1120)]}
    top = Recoding.top_bottom(top="95%", top_label="more")
    result = protect(data, KEYS, threshold=1.0, **ANY_LEAK, recodings={"pay": top})
    result.write("safe.csv", public_record="p.json")
    assert json.loads(Path("p.json").read_text())["recodings"] == {
        "pay": {"kind": "top and bottom", "quantiles": "top:95%=more"}
    }


def test_kinds_of_recodings():
    assert method_of(Recoding.truncation(2)) == {"kind": "truncation", "characters": 2}
    assert method_of(Recoding.mapping({"1": "2"})) == {"kind": "mapping"}
    classes = Recoding.intervals([15, 65], closed="left")
    assert method_of(classes) == {
        "kind": "intervals", "intervals": ["(-inf, 15)", "[15, 65)", "[65, inf)"],
    }  # fmt: skip


@needs.posix
def test_only_the_owner_reads_the_private_record():
    os.umask(0o022)
    protected().write("safe.csv", public_record="p.json")
    modes = {
        name: stat.S_IMODE(Path(name).stat().st_mode)
        for name in ("safe.csv", "safe.csv.private.json", "p.json")
    }
    assert modes == {"safe.csv": 0o644, "safe.csv.private.json": 0o600, "p.json": 0o644}
    text = Path("safe.csv.private.json").read_text()
    first = text.split("\n")[1].strip()
    assert first.startswith('"private": "Do not publish this record.')


def test_what_is_printed_as_json_is_no_secret(capsys):
    protected()
    arguments = [
        "protect", "survey-93.csv", "--keys", *KEYS, "--weight", "w", "--threshold",
        "0.02", "--household", "hh", "--output", "safe.csv", "--shuffle", "--json",
        "--record-public", "p.json", "--role", "*=harmless:a test",
        "--accept", "*=a test",
    ]  # fmt: skip
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    printed = json.loads(text)
    record = read_record("safe.csv.private.json")
    assert record.secret not in text
    assert printed["output"] == {
        "file": "safe.csv", "record": "safe.csv.private.json",
        "public_record": "p.json", "dropped": [],
        "shuffled": True, "renumbered": ["hh"], "formulas_guarded": False,
    }  # fmt: skip
    assert printed["sets"][0]["risk"]["original"]["max_risk"] > 0


def households(path, name="hh", **how):
    """Return the sets of records that share an id, and the ids."""
    columns = arrow.table_of(formats.read(path, **how), plain=False).to_pydict()
    groups = {}
    triples = zip(columns["job"], columns["w"], columns[name], strict=True)
    for job, weight, id in triples:
        groups.setdefault(id, []).append((job, weight))
    return sorted(map(sorted, groups.values())), set(groups)


@pytest.mark.parametrize("target", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_new_ids(target, shuffle):
    path = formats.write("s.csv", survey())
    result = protect(path, KEYS, "w", "hh", threshold=0.02, **ANY_LEAK)
    record = result.write(target, shuffle=shuffle)
    assert record["output"]["renumbered"] == ["hh"]
    members, ids = households(target)
    assert members == households("s.csv")[0]
    assert ids == {str(i) for i in range(1, 41)}
    old, new = survey()["hh"], result.data["hh"].to_pylist()
    by_appearance = {id: str(i + 1) for i, id in enumerate(dict.fromkeys(old))}
    assert new == [by_appearance[id] for id in old]
    kept = result.write(f"kept-{target}", renumber=())
    assert kept["output"]["renumbered"] == []
    assert households(f"kept-{target}")[1] == set(survey()["hh"])
    left = result.write(f"left-{target}", drop=["hh"])
    assert left["output"]["renumbered"] == []
    many = result.write(f"many-{target}", renumber=["hh", "job"])
    assert many["output"]["renumbered"] == ["hh", "job"]
    assert set(formats.read(f"many-{target}")["job"].to_pylist()) == {"1", "2", "3"}


def test_integers_stay_integers_in_parquet():
    data = survey()
    n = len(data["hh"])
    frame = pd.DataFrame(data)
    frame["w"] = frame["w"].astype(float)
    frame["hh"] = frame["hh"].astype("int16")
    frame["person"] = np.arange(n).astype("int8")
    frame["part"] = pd.array([None if i % 7 == 0 else i % 5 for i in range(n)], "Int64")
    frame["mixed"] = [None if i % 7 == 0 else f"p{i % 5}" for i in range(n)]
    frame["many"] = np.arange(n).astype("uint8")
    frame.loc[0, "many"] = 255
    result = protect(frame, KEYS, "w", "hh", threshold=0.02, **ANY_LEAK)
    names = ["hh", "person", "part", "mixed"]
    result.write("t.parquet", renumber=names)
    table = formats.read("t.parquet")
    assert [str(table[name].type) for name in names] == [
        "int16", "int8", "int64", table["mixed"].type.__str__(),
    ]  # fmt: skip
    assert sorted(set(table["hh"].to_pylist())) == list(range(1, 41))
    assert sorted(table["person"].to_pylist()) == list(range(1, n + 1))
    assert [v is None for v in table["part"].to_pylist()] == [
        i % 7 == 0 for i in range(n)
    ]
    assert set(table["mixed"].to_pylist()) == {None, "1", "2", "3", "4", "5"}
    result.write("t.csv", renumber=names)
    assert set(formats.read("t.csv")["part"].to_pylist()) == {None, *"12345"}


@pytest.mark.parametrize(
    ("renumber", "message"),
    [
        (["age"], "'age' is a key or related"),
        (["job"], "'job' is a key or related"),
        (["w"], "'w' is the weight"),
        (["code"], "'code' is recoded"),
        (["hh"], "'hh' is left out"),
        (["nil"], "nil"),
        ("hh", r"write \['hh'\]"),
    ],
)
def test_what_has_no_new_ids(renumber, message):
    data = {**survey(), "code": ["ab"] * 120}
    data["w"] = np.array(data["w"], float)
    result = protect(
        data, KEYS, "w", "hh", threshold=0.02, related={"age": ["job"]},
        recodings={"code": Recoding.truncation(1)},
    )  # fmt: skip
    with pytest.raises((KeyError, TypeError, ValueError), match=message):
        result.write("t.csv", renumber=renumber, drop=["hh"])
    assert not Path("t.csv").exists()


@pytest.mark.parametrize("free", [False, True])
def test_new_ids_of_mu_argus(free):
    # Ids of one place, left-aligned and with a missing code that a new one would be.
    header = '<SEPARATOR> ";"\n' if free else ""
    place = (lambda start, width: f"{width}") if free else "{} {}".format
    Path("s.rda").write_text(
        f"{header}HH {place(1, 3)} 9\n  <HOUSE_ID>\nA {place(4, 1)}\n  <RECODABLE>\n"
        f"W {place(5, 4)}\n  <WEIGHT>\n"
    )
    ids = [chr(ord("A") + i) if i % 2 else str(i + 1) for i in range(16)]
    ids = [id for id in ids if id != "9"]
    mark = ";" if free else ""
    rows = [f"{id:<3}{mark}{i % 2}{mark}30.5" for i, id in enumerate(ids * 8)]
    Path("s.asc").write_text("\n".join(rows) + "\n")
    # They are new whether or not the declared household has a part in the risk.
    results = [
        protect("s.asc", ["A"], household=given, threshold=0.5)
        for given in (None, "HH")
    ]
    for result, shuffle in itertools.product(results, (False, True)):
        record = result.write("t.saf", shuffle=shuffle, overwrite=True)
        assert record["output"]["renumbered"] == ["HH"]
        read = formats.read("t.saf")
        new = set(read["HH"].tolist())
        assert new == {str(i) for i in range(1, 17) if i != 9}
        # An id that is the same by chance looks like the others.
        first = [line.split(mark)[0] if free else line[:2]
                 for line in Path("t.saf").read_text().splitlines()]  # fmt: skip
        assert {(id if free else id.rjust(2)) for id in first} == set(first)
        assert not any(id.endswith(" ") for id in first)
    width = read_metadata("t.rds").variables[0].width
    assert width == 2
    kept = results[1].write("t.saf", renumber=(), allow_unsafe=True, overwrite=True)
    assert kept["output"]["renumbered"] == []
    # What is blanked, recoded or left out has no new ids.
    for keys, given, how in (
        (["HH"], {}, {}), (["A"], {}, {"drop": ["HH"]}),
        (["A"], {"related": {"A": ["HH"]}}, {}),
        (["A"], {"recodings": {"HH": Recoding.mapping({"1": "3"})}}, {}),
    ):  # fmt: skip
        result = protect("s.asc", keys, threshold=0.99, **given)
        record = result.write("t.saf", overwrite=True, allow_unsafe=True, **how)
        assert record["output"]["renumbered"] == []


def test_recode_files_are_not_written_over():
    rules = Path("age.grc")
    rules.write_text("1: 20 - 22\n2: 23 - \n")
    path = formats.write("s.csv", survey())
    for given in (rules, "age.grc"):
        result = protect(path, KEYS, "w", threshold=0.02, recodings={"age": given})
        for role in ("record", "public_record"):
            with pytest.raises(ValueError, match=r"age\.grc: an input file"):
                result.write("t.csv", overwrite=True, **{role: rules})
    assert rules.read_text().startswith("1: 20")


@pytest.mark.parametrize("moment", ["before", "while writing"])
def test_the_digest_is_that_of_the_file_that_was_read(monkeypatch, moment):
    # The record would name another file than the one that was protected.
    result = protected()

    def other():
        Path("survey-93.csv").write_text("sex,age,job,w,hh\n1,2,3,4,5\n")

    if moment == "before":
        other()
    else:
        write = formats.write
        monkeypatch.setattr(
            formats, "write", lambda *a, **k: (other(), write(*a, **k))[1]
        )
    with pytest.raises(ValueError, match=r"survey-93\.csv: has changed since"):
        result.write("safe.csv")
    assert not Path("safe.csv").exists()


def test_an_order_is_new_each_time_or_that_of_a_secret():
    result = protected()
    for name, secret in {"1": None, "2": None, "a": "a" * 64, "b": "a" * 64}.items():
        result.write(f"{name}.csv", shuffle=True, secret=secret)
    texts = [Path(f"{name}.csv").read_text() for name in "12ab"]
    assert len({*texts}) == 3
    assert texts[2] == texts[3]
    for seed in (7, 1.5, None):
        with pytest.raises(TypeError, match="need True or False"):
            result.write("no.csv", shuffle=seed)


def members(plain, path=()):
    """Yield the place of every member of a record."""
    yield path
    items = plain.items() if isinstance(plain, dict) else ()
    if isinstance(plain, list):
        items = enumerate(plain)
    for name, value in items:
        yield from members(value, (*path, name))


@pytest.fixture
def record():
    formats.write("survey-93.csv", {**survey(), "born": ["1933"] * 120})
    result = protect(
        "survey-93.csv", KEYS, "w", "hh", threshold=0.02, cost={"age": 3},
        recodings={"age": Recoding.intervals([22, 60])}, related={"age": ["job"]},
        household_keys=["sex"],
        **ANY_LEAK | {"roles": ANY_LEAK["roles"] | {"born": "sensitive"}},
    )  # fmt: skip
    return result.write("safe.csv", shuffle=True)


# Deliberately odd: none may end in a traceback.
ODD = [None, True, 0, -1, 2.5, 1e300, "", "x", [], ["x"], [None], {}, {"x": 1}, [[]]]


def compared(text, capsys):
    """Compare by a record of this text; return the status and the error."""
    Path("odd.json").write_text(text)
    files = ["survey-93.csv", "safe.csv"]
    status = cli.main(["compare", *files, "--record", "odd.json", "--quiet"])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return status, err


def changed(record, path, change):
    """Return a copy of a record with one member changed."""
    copy = json.loads(json.dumps(record))
    at = copy
    for name in path[:-1]:
        at = at[name]
    change(at, path[-1])
    return copy


def put(value, *path):
    """Return a function that gives the text of a record with another value."""
    return lambda record: json.dumps(
        changed(record, path, lambda at, name: operator.setitem(at, name, value))
    )


def of_the_protection(record):
    needed = ("settings", "input", "output", "format")
    return [path for path in members(record) if path and path[0] in needed]


def is_read(text):
    """Return whether a record is read; if not, one clear error says why."""
    Path("odd.json").write_text(text)
    said = ""
    try:
        read_record("odd.json")
    except ValueError as error:
        said = str(error)
    assert said == "" or said.startswith("odd.json: not a record of a protection: ")
    assert "\n" not in said
    return not said


def test_members_of_any_kind(record, capsys):
    places = of_the_protection(record)
    assert len(places) > 60
    number = 0
    for path in places:
        for value in ODD:
            text = put(value, *path)(record)
            read, number = is_read(text), number + 1
            # Of those that can be read, some are compared by: the file may not fit.
            if (read and number % 7 == 0) or "reading" in path:
                status, err = compared(text, capsys)
                assert status in (0, 1, 2)
                errors = [one for one in err.splitlines() if "error:" in one]
                assert len(errors) == (status == 2)


def test_members_that_lack(record):
    lacking = [path for path in of_the_protection(record) if isinstance(path[-1], str)]
    read = [
        path
        for path in lacking
        if is_read(json.dumps(changed(record, path, lambda at, name: at.pop(name))))
    ]
    # What is not needed: of recodings what has a default, of files their names, and
    # single roles and reasons.
    assert {path[-1] for path in read} <= {
        "versions", "file", "columns", "age", "metadata", "encoding", "rest",
        "delimiter", "decimal", "sheet", "", "rules", "others", "missing", "drop",
        "padded", "missing_codes", "codelist", "source", "bounds", "line",
        "user_missing", "household_file", "household_id", "born", "*", "words", "base",
        "tails", "weight_scale", "dates", "order",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: "[" * 100_000, "nested"),
        (lambda r: '{"a": ' * 100_000, "nested"),
        (lambda r: "[" * 100_000 + "]" * 100_000, "nested"),
        (lambda r: "", "not JSON"),
        (lambda r: "null", "not a JSON object"),
        (lambda r: "[]", "not a JSON object"),
        (lambda r: "{}", "format: missing"),
        (lambda r: json.dumps(r).replace("0.02", "NaN"), "'NaN' is not a number"),
        (lambda r: json.dumps(r).replace("0.02", "-Infinity"), "is not a number"),
        (lambda r: json.dumps(r).replace("0.02", "1e999"), "'1e999' is not a number"),
        (lambda r: json.dumps(r).replace("0.02", "9" * 5000), "is not a number"),
        (lambda r: json.dumps(r).replace("0.02", "9" * 18), "need a risk in"),
        (lambda r: json.dumps(r)[:-1] + ', "format": 3}', "'format' appears twice"),
        (put(1, "format"), "format: 1, but this version reads 4"),
        (put(True, "format"), "format: True is not of type int"),
        (lambda r: json.dumps({"public": "x"}), "it is the public record"),
        (
            put(None, "settings", "keys"),
            "settings.keys: need a list of lists of names, not None",
        ),
        (put("0", "output", "secret"), "secret: 64 hexadecimal"),
        (put(None, "output", "secret"), "output.secret: missing"),
        (put(["w", 3], "output", "dropped"), "output.dropped: 3 is not a name"),
        (put([None], "output", "renumbered"), "output.renumbered: None is not a name"),
        (
            put({"age": {"drop": []}}, "settings", "recodings"),
            "settings.recodings.age.drop: need a whole number, not a list",
        ),
    ],
)
def test_what_is_no_record(record, capsys, change, message):
    status, err = compared(change(record), capsys)
    assert status == 2
    assert err.count("\n") == 1
    assert "odd.json: not a record of a protection" in err
    assert message in err


def test_files_that_are_no_record(capsys):
    formats.write("survey-93.csv", survey())
    Path("odd.json").mkdir()
    files = ["survey-93.csv", "survey-93.csv"]
    arguments = ["compare", *files, "--record", "odd.json"]
    assert cli.main(arguments) == 2
    assert "odd.json: a directory" in capsys.readouterr().err
    Path("odd.json").rmdir()
    Path("odd.json").write_bytes(bytes(range(256)))
    assert cli.main(arguments) == 2
    assert "odd.json: not a record of a protection: not text" in capsys.readouterr().err


def test_a_record_opens_no_files(record, capsys):
    Path("other.txt").write_text("what nobody should see\n")
    record["input"]["reading"] = {"metadata": "other.txt"}
    status, err = compared(json.dumps(record), capsys)
    assert status == 2
    assert "give it with --metadata" in err
    assert "nobody" not in err


def test_metadata_of_its_own():
    Path("meta.rda").write_text("A 1 1\n  <RECODABLE>\nB 2 1\n  <RECODABLE>\n")
    Path("s.txt").write_text("".join(f"{i % 3}{i % 2}\n" for i in range(60)))
    first = ["--metadata", "meta.rda", "--keys", "A", "B", "--threshold", "0.2"]
    assert cli.main(["protect", "s.txt", *first, "--output", "t.saf"]) == 0
    compare = ["compare", "s.txt", "t.saf", "--record", "t.saf.private.json"]
    assert cli.main(compare) == 2
    assert cli.main([*compare, "--metadata", "meta.rda"]) == 0


def test_what_safety_has_cost():
    data = survey()
    data["w"] = np.array(data["w"], float)
    data["job"] = [f"j{i}" for i in range(110)] + ["z"] * 10
    cost = {"sex": 9, "age": 9, "job": 1}
    result = protect(data, [*KEYS, "job"], "w", threshold=0.02, cost=cost, **ANY_LEAK)
    assert result.goals_met
    count = result.suppressed["job"]
    assert count > 60
    share = f"{100 * count / 120:.3g} %"
    assert f"; but job is blanked in {share} of the records" in result.verdict
    assert result.to_dict()["blanked_share"]["job"] == count / 120
    record = result.write("safe.csv", public_record="p.json")
    public = json.loads(Path("p.json").read_text())
    for one in (record, public):
        assert "; but job is blanked in more than half of the records" in one["verdict"]
    assert "but job is blanked" in result._repr_html_()
    # Those that had no value before do not count.
    data["job"] = ["z"] * 57 + [None] * 60 + ["a", "b", "c"]
    few = protect(data, ["job"], "w", threshold=0.02, missing="category")
    assert few.suppressed["job"] == 3
    assert "job is blanked" not in few.verdict
    assert "; but 3 records have lost all keys" in few.verdict
    assert few.to_dict()["sets"][0]["records_without_keys"] == 3
