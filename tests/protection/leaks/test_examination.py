"""Every column of a protected file is looked at: each leak opens, and can be closed."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore import Recoding, protect
from riskcore.data.files import formats
from riskcore.disclosure.verdict import Verdict, no_role_text, tiles
from riskcore.protection.result import SuppressedValueShows, UnsafeError

N = 300


def survey(**more):
    """Return persons in no order, by which nothing leaks."""
    rng = np.random.default_rng(7)
    order = rng.permutation(N)
    data = {
        "sex": rng.choice(["f", "m"], N).tolist(),
        "age": rng.choice(["young", "old"], N).tolist(),
        "job": rng.choice(["a", "b", "c"], N).tolist(),
        **{name: np.asarray(column)[order].tolist() for name, column in more.items()},
    }
    data["sex"][5] = "x"  # blanked
    return data


# Of a sample: nobody knows all people of the file.
GOAL = {"k": 3, "sampling_fraction": 0.1}


def protected(data, **options):
    if isinstance(given := options.get("roles", {}), dict):
        options["roles"] = {"job": "harmless"} | given
    return protect(data, ["sex", "age"], **GOAL | options)


def leaks(result):
    return [(one.column, one.kind) for one in result.examination.open]


UNIQUE = [i * i * 17 % 4001 for i in range(N)]
# A column, the kind of its leak, what its text says, and what its advice.
COLUMNS = {
    "name": ([f"Ann {i} Smith" for i in range(N)], "identifier", "its name, and",
             "--role name=identifier; or leave it out: --drop name"),
    "number": (list(range(N)), "identifier", "a running number", "--renumber number"),
    "income": (UNIQUE, "unique", "", "--treat income=round:1000; or leave it out"),
    "code": (["c", "d"] * (N // 2 - 2) + ["p", "q", "r", "s"], "unique", "",
             "make it a key: --keys sex age code; or leave it out"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_singles_out_records_is_a_leak(tmp_path, name):
    column, kind, reason, advice = COLUMNS[name]
    data = survey(**{name: column})
    result = protected(data)
    assert result.goals_met
    assert not result.safe
    assert result.state == "goals met, 1 leak open"
    assert result.state in repr(result)
    (leak,) = result.examination.open
    assert (leak.column, leak.kind, leak.accepted, leak.shown) == (
        name, kind, None, None
    )  # fmt: skip
    own = sum(column.count(value) == 1 for value in column)
    assert f"{own} of {N} records have a value that no other record has" in leak.text
    assert reason in leak.text
    assert advice in leak.advice
    assert result.verdict.startswith(
        "NOT SAFE: the goals are met, but 1 leak is open. With the keys "
    )
    # Nothing is written.
    with pytest.raises(UnsafeError, match="Nothing is written") as error:
        result.write(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []
    assert leak.text in str(error.value)
    figures = result.to_dict()
    for member in ("goals_met", "safe", "verdict", "leaks", "not_examined"):
        assert error.value.figures[member] == figures[member]
    assert json.loads(json.dumps(figures["leaks"])) == [leak.to_dict()]
    # It can be dropped, renumbered, given a role, or accepted.
    assert result.write(tmp_path / "dropped.csv", drop=[name])["safe"]
    assert result.write(tmp_path / "new.csv", renumber=[name])["safe"]
    for role in ("identifier", "sensitive", "harmless"):
        mended = protected(data, roles={name: role})
        assert mended.safe, role
        assert name not in mended.examination.not_examined
    accepted = protected(data, accept={name: "nobody has it"})
    assert accepted.safe
    assert accepted.state == "safe except for 1 accepted leak"
    assert accepted.verdict.startswith("Safe except for 1 accepted leak. With ")
    (one,) = accepted.examination.leaks
    assert (one.column, one.accepted) == (name, "nobody has it")
    record = accepted.write(tmp_path / "safe.csv")
    assert record["settings"]["accept"] == {name: "nobody has it"}
    (one,) = record["examined"]["leaks"]
    assert (one["column"], one["accepted"]) == (name, "nobody has it")
    # So can a file be written that is not safe.
    record = result.write(tmp_path / "unsafe.csv", allow_unsafe=True)
    assert not record["safe"]
    (one,) = record["examined"]["leaks"]
    assert (one["column"], one["accepted"]) == (name, None)
    assert record["examined"]["verdict"] == result.verdict


def test_from_one_record_in_a_hundred():
    few = {"c": ["a", "b"] * (N // 2 - 1) + ["p", "q"]}
    many = {"c": ["a"] * (N - 3) + ["p", "q", "r"]}
    assert leaks(protected(survey(**few))) == []
    assert leaks(protected(survey(**many))) == [("c", "unique")]


def test_values_that_few_records_share():
    """Ids of couples, and of units observed more than once, have no unique value."""
    rng = np.random.default_rng(4)
    couples = rng.permutation(np.repeat(rng.permutation(10**6)[: N // 2], 2))
    assert leaks(protected(survey(c=couples))) == [("c", "unique")]
    assert leaks(protected(survey(c=np.arange(N) // 3))) == []
    units = {"UNITID": np.arange(N) // 5 * 7}
    assert leaks(protected(survey(**units))) == [("UNITID", "identifier")]
    few = {"UNITID": np.arange(N) // 10}
    assert leaks(protected(survey(**few))) == []
    result = protected(survey(UNITID=couples), roles={"UNITID": "harmless"})
    assert result.safe


def test_what_is_missing_is_no_value():
    assert leaks(protected(survey(c=["a"] * (N - 9) + [None] * 9))) == []
    assert leaks(protected(survey(c=[None] * (N - 2) + ["a", "b"]))) == []


@pytest.mark.parametrize("level", ["record", "household"])
def test_values_that_only_one_household_has(level):
    # Each is shared by its members, so that no record has one of its own.
    of = np.arange(N) // 2
    rng = np.random.default_rng(1)
    shared = {"town": [f"t{i}" for i in of], "hh": of, "own": rng.choice(["a", "b"], N)}
    data = survey(**shared)
    assert "150 values in 300 records" in protected(data).examination.open[0].text
    if level == "household":
        region = {f"t{i}": "nesw"[i % 4] for i in range(N)}
        data["region"] = [region[town] for town in data["town"]]
        result = protect(data, ["region"], household="hh", level="household", **GOAL)
    else:
        result = protected(data, household="hh")
    assert leaks(result) == [("town", "identifier")]
    (leak,) = result.examination.open
    assert f"{N} of {N} records have a value that no other household has" in leak.text


@pytest.mark.parametrize("given", [True, False])
def test_weights_that_name_households(given):
    of = np.arange(N) // 2
    weight = np.repeat(np.random.default_rng(2).uniform(5, 90, N // 2).round(3), 2)
    data = survey(w=weight, hh=of)
    result = protected(data, weight="w", **({"household": "hh"} if given else {}))
    (leak, *others) = result.examination.open
    assert (leak.column, leak.kind) == ("w", "weight")
    assert "make the weights coarser" in leak.advice
    if given:
        assert "no other household has" in leak.text
        assert not others
    else:  # two records have each weight, and each number of a household
        assert leak.text == "'w': 150 values in 300 records"
        assert leaks(result)[1:] == [("hh", "unique")]
    # Coarser ones are not a leak.
    data["w"] = [round(one, -1) + 10 for one in data["w"]]
    assert protected(data, weight="w", household="hh").state == "safe"


def test_household_ids_that_are_kept(tmp_path):
    data = survey(hh=np.arange(N) // 2)
    result = protected(data, household="hh")
    assert result.safe
    with pytest.raises(UnsafeError) as error:
        result.write(tmp_path / "safe.csv", renumber=())
    (leak,) = error.value.figures["leaks"]
    assert (leak["column"], leak["kind"]) == ("hh", "ids")
    assert "the original household ids are kept" in leak["text"]
    assert list(tmp_path.iterdir()) == []
    assert result.write(tmp_path / "safe.csv")["safe"]
    assert result.write(tmp_path / "d.csv", drop=["hh"], renumber=())["safe"]
    accepted = protected(data, household="hh", accept={"hh": "random already"})
    record = accepted.write(tmp_path / "kept.csv", renumber=())
    (leak,) = record["examined"]["leaks"]
    assert (leak["kind"], leak["accepted"]) == ("ids", "random already")
    assert set(pd.read_csv(tmp_path / "kept.csv")["hh"]) == set(data["hh"])


def by_region(shuffled=False):
    """Return a file sorted by region, which its order and a copy reveal."""
    rng = np.random.default_rng(3)
    region = np.sort(rng.integers(0, 6, 600))
    if shuffled:
        region = rng.permutation(region)
    data = {"region": region, "copy": region + 10, "age": rng.integers(0, 9, 600)}
    return {name: [str(one) for one in column] for name, column in data.items()}


REGIONS = {"keys": ["region", "age"], **GOAL, "k": 12, "cost": {"region": 1, "age": 90}}


@pytest.mark.filterwarnings("ignore::riskcore.protection.result.SuppressedValueShows")
def test_columns_and_the_order_reveal_values(tmp_path):
    formats.write(tmp_path / "survey.csv", by_region())
    path = tmp_path / "survey.csv"
    result = protect(path, **REGIONS)
    assert {*leaks(result)} == {("copy", "reveals"), (None, "reveals")}
    assert {one.shown for one in result.examination.open} == {*result.shown}
    with pytest.raises(UnsafeError, match="2 leaks are open"):
        result.write(tmp_path / "safe.csv")
    # The order is mended by a shuffle, the copy by leaving it out.
    mended = result.write(tmp_path / "m.csv", drop=["copy"], shuffle=True)
    assert mended["examined"]["leaks"] == []
    related = protect(path, **REGIONS, related={"region": ["copy"]})
    assert related.write(tmp_path / "r.csv", shuffle=True)["safe"]
    # Or each is accepted by its own name.
    for accept, left in (
        ({"(order)": "it is known"}, {"copy"}),
        ({"copy": "it is known"}, {None}),
        ({"*": "it is known"}, set()),
        ({"copy": "a", "(order)": "b"}, set()),
    ):
        found = protect(path, **REGIONS, accept=accept, roles={"copy": "harmless"})
        assert {one.column for one in found.examination.open} == left
        assert found.safe == (not left)
    record = found.write(tmp_path / "a.csv")
    told = {one["column"]: one["accepted"] for one in record["examined"]["leaks"]}
    assert told == {"copy": "a", None: "b"}


def test_accepted_leaks_are_not_warned_of(recwarn):
    protect(by_region(), **REGIONS, accept={"*": "it is known"})
    assert recwarn.list == []
    with pytest.warns(SuppressedValueShows) as caught:
        protect(by_region(), **REGIONS, accept={"(order)": "it is known"})
    assert all("show in 'copy'" in str(one.message) for one in caught)


def test_open_leaks_stand_first():
    data = survey(a=UNIQUE, b=UNIQUE[::-1], c=list(range(N)))
    result = protected(data, accept={"a": "known", "c": "known"})
    assert [one.column for one in result.examination.leaks] == ["b", "a", "c"]
    assert leaks(result) == [("b", "unique")]


def test_columns_without_a_role_are_listed(tmp_path):
    data = survey(x=["u", "v"] * (N // 2), y=UNIQUE, hh=np.arange(N) // 2)
    goal = {"keys": ["sex", "age"], "household": "hh", **GOAL}
    result = protect(data, **goal, roles={"y": "sensitive"})
    assert (result.state, result.safe) == ("not examined", False)
    assert result.verdict.startswith("NOT EXAMINED: job and x have no role; give each")
    assert result.examination.not_examined == ("job", "x")
    assert result.to_dict()["not_examined"] == ["job", "x"]
    with pytest.raises(UnsafeError, match="job has no role") as error:
        result.write(tmp_path / "safe.csv", drop=["x"])
    assert error.value.figures["not_examined"] == ["job"]
    assert result.write(tmp_path / "safe.csv", drop=["x", "job"])["safe"]
    given = {"y": "sensitive", "job": "harmless", "x": "harmless"}
    assert protect(data, **goal, roles=given).state == "safe"


def test_all_other_columns_can_be_called_harmless():
    data = survey(x=["u", "v"] * (N // 2))
    goal = {"keys": ["sex", "age"], **GOAL}
    result = protect(data, **goal, roles={"*": "harmless: no register has them"})
    assert result.state == "safe except for 1 accepted leak"
    said = "2 columns are called harmless without being examined (job and x): no reg"
    assert said in result.verdict
    (leak,) = result.examination.leaks
    assert (leak.kind, leak.accepted) == ("harmless", "no register has them")
    # What is found in them is a leak.
    data["pay"] = UNIQUE
    assert leaks(protect(data, **goal, roles={"*": "harmless:why"})) == [
        ("pay", "unique")
    ]


def test_the_sentence_on_columns_without_a_role():
    assert no_role_text(["a"]).startswith("a has no role; give it one (--role")
    assert no_role_text(["a", "b\n"]).startswith("a and b\\n have no role; give each")
    many = no_role_text([f"c{i}" for i in range(15)])
    assert "c11 and 3 more have" in many
    assert "c12" not in many


def test_the_tile_says_when_every_column_has_a_role():
    for names, shown in (((), ("0", "every column has one")),
                         (("job",), ("1", "not examined"))):  # fmt: skip
        tile = tiles(Verdict((), not_examined=names).to_dict())[-1]
        assert tile == ("Columns without a role", *shown)


@pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked"
)
@pytest.mark.parametrize(
    "make",
    [dict, pd.DataFrame, pl.DataFrame, pa.table, lambda d: pl.DataFrame(d).lazy()],
)
def test_identifiers_are_in_no_data(make):
    data = survey(name=COLUMNS["name"][0], y=UNIQUE)
    roles = {"name": "identifier", "y": "sensitive"}
    result = protected(make(data), roles=roles)
    assert result.goals_met
    assert leaks(result) == []
    kept = result.data
    if isinstance(kept, pl.LazyFrame):
        kept = kept.collect()
    names = getattr(kept, "column_names", None) or list(kept)
    if isinstance(kept, pl.DataFrame):
        names = kept.columns
    assert list(names) == [name for name in data if name != "name"]


def test_identifiers_that_reveal_what_is_blanked_are_gone():
    data = by_region(shuffled=True)
    data["name"] = [f"of {region}" for region in data["region"]]
    result = protect(
        data, **REGIONS, roles={"name": "identifier", "copy": "identifier"}
    )
    assert result.safe
    assert result.shown == ()


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet", "safe.feather"])
def test_identifiers_are_in_no_file(tmp_path, name):
    data = survey(name=COLUMNS["name"][0], number=list(range(N)))
    source = formats.write(tmp_path / "s.csv", data)
    roles = {"name": "identifier", "number": "identifier"}
    result = protected(source, roles=roles)
    record = result.write(tmp_path / name, shuffle=True)
    assert record["output"]["dropped"] == ["name", "number"]
    assert formats.columns_of(tmp_path / name).names == ("sex", "age", "job")
    for file in tmp_path.iterdir():
        if file.name != "s.csv":
            assert b"Ann 7" not in file.read_bytes()


def test_names_that_are_not_text():
    data = survey(**{"x": UNIQUE})
    odd = {0: data["sex"], ("a", 1): data["age"], 2: data["x"], 3: data["job"]}
    result = protect(odd, [0, ("a", 1)], **GOAL)
    assert leaks(result) == [(2, "unique")]
    assert result.examination.open[0].to_dict()["column"] == "2"
    assert result.examination.not_examined == (3,)
    more = {"accept": {2: "known"}, "roles": {3: "harmless"}}
    assert protect(odd, [0, ("a", 1)], **GOAL, **more).safe
    assert protect(odd, [0, ("a", 1)], **GOAL, roles={2: "identifier"}).data.keys() == {
        0, ("a", 1), 3
    }  # fmt: skip
    pairs = pd.DataFrame(odd)
    pairs.columns = pd.Index(
        [(1, "a"), (1, "b"), (2, "a"), (2, "b")], tupleize_cols=False
    )
    keys = [(1, "a"), (1, "b")]
    roles = {(2, "a"): "identifier", (2, "b"): "harmless"}
    result = protect(pairs, keys, **GOAL, roles=roles)
    assert result.safe
    assert list(result.data.columns) == [*keys, (2, "b")]


def test_the_public_record_and_page_name_no_leak(tmp_path):
    data = survey(pay=UNIQUE, rent=UNIQUE[::-1], sick=["y", "n"] * (N // 2))
    result = protected(
        data, accept={"pay": "no register", "*": "a trifle"},
        roles={"sick": "sensitive"},
    )  # fmt: skip
    page = tmp_path / "p.html"
    result.write(
        tmp_path / "safe.csv", public_record=tmp_path / "p.json",
        report_public=page,
    )  # fmt: skip
    unsafe = protected(data)
    unsafe.write(
        tmp_path / "u.csv", public_record=tmp_path / "u.json", allow_unsafe=True
    )
    names = ("p.json", "u.json", "p.html")
    for text in (Path(tmp_path / name).read_text() for name in names):
        for word in ("pay", "rent", "no register", "a trifle", "sick"):
            assert not re.search(rf"\b{word}\b", text), word
        assert "othing is claimed about other columns." in text
    public = [json.loads((tmp_path / name).read_text()) for name in names[:2]]
    assert [one["safe"] for one in public] == [True, False]
    assert [one["goals_met"] for one in public] == [True, True]
    assert public[0]["verdict"].startswith("Safe except for accepted leaks. With ")
    assert public[1]["verdict"].startswith(
        "NOT SAFE: the goals are met, but leaks are open. With "
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"roles": {"job": "secret"}}, ValueError, "'secret' of column 'job' is not a"),
        ({"roles": {"job": "key"}}, ValueError, "'key' of column 'job' is not a role"),
        ({"roles": {"sex": "sensitive"}}, ValueError, "'sex' is key already"),
        ({"roles": {"nil": "sensitive"}}, KeyError, "no column 'nil'"),
        ({"roles": "job"}, TypeError, "roles"),
        ({"roles": ["job"]}, TypeError, "roles"),
        ({"roles": {"job": 3}}, (TypeError, ValueError), "roles"),
        ({"roles": {"*": "harmless"}}, ValueError, "need 'harmless:REASON'"),
        ({"roles": {"*": "harmless: "}}, ValueError, "need 'harmless:REASON'"),
        ({"roles": {"*": "numeric"}}, ValueError, "need 'harmless:REASON'"),
        ({"accept": {"job": ""}}, ValueError, "accept: 'job' has no reason; say why"),
        ({"accept": {"job": " \n"}}, ValueError, "accept: 'job' has no reason"),
        ({"accept": {"job": None}}, (TypeError, ValueError), "accept"),
        ({"accept": {"nil": "known"}}, KeyError, "no column 'nil'"),
        ({"accept": "job"}, TypeError, "accept"),
        (
            {"roles": {"job": "identifier"}, "related": {"sex": ["job"]}},
            ValueError,
            "'job' is an identifier, which is left out of the safe file, but",
        ),
        (
            {"roles": {"job": "identifier"}, "recodings": {"job": Recoding(drop=1)}},
            ValueError,
            "'job' is an identifier",
        ),
    ],
)
def test_refusals(change, error, message):
    with pytest.raises(error, match=message):
        protected(survey(), **change)


def test_the_error_survives_another_process():
    error = UnsafeError("not safe", {"safe": False})
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.figures) == ("not safe", {"safe": False})


@pytest.mark.parametrize("name", ["*", "(order)"])
def test_a_column_with_a_name_that_stands_for_others(name):
    """To accept it would accept something else, too."""
    data = {"sex": ["f", "m"] * 50, name: list(range(100))}
    result = protect(data, ["sex"], k=2)
    assert [one.column for one in result.examination.open] == [name]
    with pytest.raises(ValueError, match="is a column, and also stands for"):
        protect(data, ["sex"], k=2, accept={name: "a reason"})


def test_numbers_that_were_swapped_do_not_hide_one_that_was_not():
    rng = np.random.default_rng(3)
    data = survey(**{f"x{i}": rng.lognormal(9, 1, N) for i in range(14)})
    data |= survey(income=rng.lognormal(9, 1, N), debts=rng.lognormal(9, 1, N))
    swapped = {f"x{i}": "swap:99%" for i in range(14)}
    noise = dict.fromkeys(("income", "debts"), "noise:1%")
    (leak,) = protected(data, treat=swapped | noise).examination.open
    assert leak.kind == "numbers"
    found = re.search(
        rf"of {N} people (\d+) are found by the keys, "
        r"('income' and 'debts'|'debts' and 'income')",
        leak.text,
    )
    far = [
        ((np.array(data[name])[None] - np.array(one)[:, None]) / np.std(data[name]))
        for name, one in protected(data, treat=noise).data.items()
        if name in noise
    ]
    # As good as the distances of all pairs of records, without the swapped numbers.
    nearest = sum(one**2 for one in far).argmin(axis=1)
    assert float(found[1]) > 0.9 * np.count_nonzero(nearest == np.arange(N)) > 60
    far = protected(data, treat=swapped | dict.fromkeys(noise, "swap:99%"))
    assert not far.examination.leaks


def test_two_columns_that_give_blanked_values_back():
    """Adults and children add to the size of a household, which was blanked."""
    rng = np.random.default_rng(3)
    adults, children = rng.integers(1, 4, N), np.minimum(rng.poisson(0.8, N), 6)
    data = {
        "sex": rng.choice(["f", "m"], N).tolist(),
        "age": rng.integers(0, 5, N).tolist(),
        "size": (adults + children).tolist(),
        "adults": adults.tolist(),
        "children": children.tolist(),
    }
    cost = {"size": 1, "sex": 100, "age": 100}
    settings = {**GOAL, "k": 5, "cost": cost}
    result = protect(data, ["sex", "age", "size"], **settings)
    (leak,) = result.examination.open
    assert set(leak.column.split(" + ")) == {"adults", "children"}
    assert leak.kind == "reveals"
    blanked = result.suppressed["size"]
    assert blanked > 10
    assert f"together they give back {blanked} hidden values of 'size'" in leak.text
    for closed in (
        {"related": {"size": ["adults"]}},
        {"accept": {"children": "a test"}},
    ):
        assert not leaks(protect(data, ["sex", "age", "size"], **settings, **closed))
    alone = {name: one for name, one in data.items() if name != "adults"}
    assert not leaks(protect(alone, ["sex", "age", "size"], **settings))


@pytest.mark.parametrize("by", ["sum", "ratio"])
def test_numbers_that_give_blanked_values_back_together(by):
    rng = np.random.default_rng(5)
    n = 3000
    parts = {name: rng.poisson(0.7, n) for name in ("men", "women", "girls", "boys")}
    size = 1 + sum(parts.values())
    income = np.round(np.exp(rng.normal(10, 0.6, n)))
    told = parts if by == "sum" else {"income": income, "per head": income // size}
    data = {"sex": rng.integers(0, 2, n), "age": rng.integers(0, 9, n), "size": size}
    data |= {name: column.astype(float) for name, column in told.items()}
    roles = dict.fromkeys(told, "harmless")
    cost = {"size": 1, "sex": 100, "age": 100}
    keys = ["sex", "age", "size"]
    settings = {**GOAL, "k": 5, "cost": cost}
    result = protect(data, keys, **settings, roles=roles)
    (leak,) = [one for one in result.examination.open if one.kind == "reveals"]
    assert set(leak.of) == set(told)
    blanked = result.suppressed["size"]
    assert blanked > 10
    assert f"together they give back {blanked} hidden values of 'size'" in leak.text
    data[next(iter(told))] = rng.permutation(data[next(iter(told))])
    others = protect(data, keys, **settings, roles=roles).examination.open
    assert not [one for one in others if len(one.of) > 1]


def test_two_columns_that_give_altered_numbers_back():
    rng = np.random.default_rng(3)
    wages, rents = rng.integers(0, 20, N) * 100, rng.integers(0, 9, N) * 3000
    data = survey() | {"wages": wages, "rents": rents, "income": wages + rents}
    (leak,) = [
        one
        for one in protected(data, treat={"income": "swap:99%"}).examination.open
        if one.kind == "reveals"
    ]
    assert f"together they give back {N} hidden values of 'income'" in leak.text
    data["income"] = rng.permutation(data["income"])
    found = protected(data, treat={"income": "swap:99%"}).examination.open
    assert not [one for one in found if one.kind == "reveals"]


def test_numbers_that_are_written_in_ways_of_their_own(tmp_path):
    """Zeros before and after a number can hold an id."""
    ids = ["0" * (i // 15) + "7." + "0" * (i % 15) for i in range(N)]
    path = formats.write(tmp_path / "s.csv", survey(zeros=ids))
    (leak,) = protected(path, roles={"zeros": "numeric"}).examination.open
    assert leak.kind == "unique"
    assert f"{N} of {N} records have a way of their own" in leak.text
    settings = {"roles": {"zeros": "numeric"}, "treat": {"zeros": "round:1"}}
    result = protected(path, **settings)
    assert result.safe
    result.write(tmp_path / "safe.csv")
    assert len(set(pd.read_csv(tmp_path / "safe.csv", dtype=str)["zeros"])) == 1


def test_two_columns_that_give_recoded_and_randomized_values_back():
    rng = np.random.default_rng(3)
    age, year = rng.integers(0, 90, N), rng.integers(2000, 2009, N)
    data = survey() | {"years": age, "year": year, "birth": year - age}
    ages = {"years": Recoding.intervals([30, 60])}

    def pairs(**settings):
        accept = dict.fromkeys(("years", "birth"), "a test")
        found = protect(data, ["sex", "years"], k=2, accept=accept, **settings)
        return [one.column for one in found.examination.leaks if " + " in one.column]

    assert pairs(recodings=ages) == ["birth + year"]
    assert pairs(treat={"years": "pram:0.5"}) == ["birth + year"]
    data["birth"] = rng.permutation(data["birth"])
    assert pairs(recodings=ages) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "the number of records of a household gives them"),
        ({"recodings": {"size": "top:3"}}, "of 'size' before recoding show in 'hh'"),
        ({"treat": {"size": "pram:0.7"}}, "gives back the values of 'size'"),
    ],
)
def test_the_number_of_members_gives_a_size_back(options, text):
    rng = np.random.default_rng(1)
    sizes = rng.choice([1, 2, 3, 4, 5, 6], 200, p=[0.3, 0.3, 0.2, 0.1, 0.06, 0.04])
    hh = np.repeat(np.arange(200), sizes)
    data = {"hh": hh, "size": sizes[hh], "sex": rng.integers(0, 2, len(hh))}
    data["region"] = rng.integers(0, 9, 200)[hh]
    given = {"household": "hh", "household_keys": ["size", "region"], **GOAL}
    given["cost"] = {"size": 1.0, "region": 9.0, "sex": 9.0}
    result = protect(data, ["size", "region", "sex"], **given, **options)
    found = [
        leak for leak in result.preview(renumber=["hh"]).leaks if text in leak.text
    ]
    assert [leak.column for leak in found] == ["hh"]
    assert "--drop hh" in found[0].advice
    if not options:
        assert "blank other keys than 'size': --cost size=never" in found[0].advice
    gone = [leak for leak in result.preview(drop=["hh"]).leaks if text in leak.text]
    assert gone == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("blanked", "leaking"), [(3, 0), (4, 1)])
def test_at_most_three_values_may_show(blanked, leaking):
    region = np.arange(1000) % 5
    data = {"region": region, "sex": np.where(np.arange(1000) < blanked, 3, 1)}
    data["copy"] = np.random.default_rng(1).permutation(5)[region]
    result = protect(
        data, ["region", "sex"], k=2, cost={"region": 1, "sex": 90},
        roles={"copy": "harmless"},
    )  # fmt: skip
    assert result.suppressed["region"] == blanked
    told = [one.count for one in result.shown if one.column == "copy"]
    assert told == [blanked]
    kinds = [(one.column, one.kind) for one in result.examination.open]
    assert kinds.count(("copy", "reveals")) == leaking


@pytest.mark.filterwarnings("ignore")
def test_codes_that_show_in_a_key_counted_with_theirs_are_no_leak():
    """Whoever knows both keys fits no fewer people than the risk says."""
    rng = np.random.default_rng(4)
    age = rng.integers(0, 40, 2000)
    data = {"age": age, "school": age + 3, "sex": rng.integers(0, 2, 2000)}

    def told(keys):
        found = protect(
            data,
            keys,
            threshold=0.9,
            sampling_fraction=0.1,
            recodings={"age": Recoding.rounding(20)},
        )
        return {(one.key, one.column) for one in found.shown}

    assert ("age", "school") in told(["age", "sex"])
    assert ("age", "school") not in told(["age", "school", "sex"])
    assert ("age", "school") in told([["age", "sex"], ["age", "school"]])
