"""The page of keys and risk: its figures are those of `assess` and of the records."""

import re
import threading
from itertools import combinations

import numpy as np
import pytest

import riskcore
from riskcore.app.forms import Form
from riskcore.app.pages import risk
from riskcore.app.pages.risk import PAGE
from riskcore.app.session import RefusedError
from riskcore.app.texts import told
from riskcore.app.verdict import verdict_of
from riskcore.common.progress import CanceledError
from tests.app.workbenches import KEYS, ROLES, at, form

MARRIED = {"1": "single", "2": "married", "< 2": "no", "[2, 4]": "no", ">= 2": "no"}


@pytest.fixture
def bench(opened):
    return opened(roles=ROLES)


def switch(bench, *on, of=0, offered=KEYS):
    fields = {"at": of, "offered": at(bench, *offered), "key": at(bench, *on)}
    return PAGE.actions["switch"](bench, form(**fields))


def shown(bench, **fields):
    return PAGE.view(bench, form(**fields))["risk"]


def figures(bench, **fields):
    return {row.label: row.values for row in shown(bench, **fields)["rows"]}


def part(bench, name, **fields):
    """Return a part, once the work it waits for is done."""
    found = PAGE.parts[name](bench, form(**fields))
    job = bench.jobs.of(name)
    if job is None:
        return found
    assert job.ended.wait(120)
    return PAGE.parts[name](bench, form(**fields))


def assessed(bench, keys=KEYS, population="auto"):
    how = {"population": population}
    return riskcore.assess(bench.source.path, keys, "WEIGHT", "HOUSEHOLD", **how)


def test_a_file_without_keys_has_switches_and_no_figures(opened):
    bench = opened()
    found = PAGE.view(bench, form())
    assert found["risk"] is None
    assert found["why"] == "no column is a key variable yet"
    assert [one["name"] for one in found["switches"]["columns"]] == bench.names
    assert found["without_role"] == len(bench.names)
    with pytest.raises(RefusedError, match="no column is a key"):
        PAGE.parts["keys"](bench, form())


def test_figures_are_those_of_an_assessment(bench):
    result, found = assessed(bench), shown(bench)
    assert (found["unsafe"], found["n"]) == (result.below(3).records, result.cells.n)
    told = figures(bench)
    assert told["Cells"] == [f"{len(result.cells):,}"]
    assert told["Sample uniques"] == [f"{result.cells.totals.uniques:,}"]
    assert told["Unsafe records, by any goal"] == [f"{found['unsafe']:,}"]
    expected = result.expected_reidentifications
    assert float(told["Expected re-identifications"][0]) == pytest.approx(
        expected, rel=5e-3
    )


def test_unsafe_by_a_threshold(bench):
    bench.change("goal", safe={"threshold": 0.7, "k": None})
    result, found = assessed(bench), shown(bench)
    assert 0 < found["unsafe"] == result.unsafe_count(0.7) < found["n"]
    assert found["frequencies"] is None
    (chart,) = found["charts"]
    assert chart["threshold"] == 0.7
    assert 'class="threshold"' in chart["drawing"]
    assert sum(int(line[1].replace(",", "")) for line in chart["lines"]) == found["n"]


def test_unsafe_by_households(bench):
    bench.change("goal", safe={"household_threshold": 0.1, "k": None})
    result, found = assessed(bench), shown(bench)
    told = figures(bench)
    count = result.unsafe_household_count(0.1)
    assert told["Unsafe households, risk at or above 0.1"] == [f"{count:,}"]
    assert [one["households"] for one in found["charts"]] == [False, True]


def test_a_chart_without_a_threshold_has_no_mark(bench):
    (chart,) = shown(bench)["charts"]
    assert chart["threshold"] is None
    assert "threshold" not in chart["drawing"]
    assert 'class="bars"' in chart["drawing"]


@pytest.mark.parametrize("k", [2, 3, 10, 11, 40])
def test_records_by_sample_frequency(bench, k):
    bench.change("goal", safe={"k": k})
    found = shown(bench)["frequencies"]
    f = assessed(bench).cells
    f = f.sample_frequency[f.inverse]
    counts = []
    for label, count in found["rows"]:
        low, *high = (int(number) for number in re.findall("[0-9]+", label))
        last = np.inf if "more" in label else (high or [low])[0]
        assert count == np.count_nonzero((f >= low) & (f <= last))
        counts.append(count)
    assert sum(counts) == len(f)
    marked = found["drawing"].count('class="marked"')
    assert sum(counts[:marked]) == shown(bench)["unsafe"]
    assert len(counts) <= 11


def test_a_recoded_file_has_two_stages(bench):
    bench.change("age", recodings={"AGE": "from:15,30,45,65"})
    found, told = shown(bench), figures(bench)
    assert found["stages"] == ["original", "recoded"]
    before, after = (int(text) for text in told["Sample uniques"])
    assert before == assessed(bench).cells.totals.uniques > after
    (chart,) = found["charts"]
    assert [one.name for one in chart["others"]] == ["original"]


def test_numbers_are_written_as_the_reader_writes_them(bench, read_in):
    read_in("de", None, "")
    rows = PAGE.view(bench, form())["risk"]["rows"]
    german = {told(row.label): told(row.values[0]) for row in rows}
    english = figures(bench)["Re-identification rate"][0]
    assert german["Reidentifikationsrate"] == english.replace(".", ",")
    assert "," in german["Reidentifikationsrate"]
    chart = PAGE.view(bench, form())["risk"]["charts"][0]["drawing"]
    assert "individuelles Risiko" in chart
    assert re.search("<title>[0-9],[0-9]+ bis [^<]* Datens", chart)


def test_a_key_switched_off_has_no_role_and_comes_back_in_one_click(bench):
    before = bench.history.current
    assert bench.undecided == []
    words = switch(bench, "REGION", "SEX", "MARSTAT")
    assert words == "AGE is not a key and has no role."
    assert bench.keys == ["REGION", "SEX", "MARSTAT"]
    assert bench.undecided == ["AGE"]
    assert "No verdict yet: 1 column without a role" in verdict_of(bench)[1]
    found = PAGE.view(bench, form())
    assert found["without_role"] == 1
    assert "AGE" in [one["name"] for one in found["switches"]["columns"]]
    want = assessed(bench, ["REGION", "SEX", "MARSTAT"]).below(3).records
    assert found["risk"]["unsafe"] == want
    assert switch(bench, *KEYS) == "AGE is a key."
    assert bench.tables == riskcore.Release.parse(before.text, bench.path).tables
    assert bench.history.current.parent == before.number + 1


def test_a_column_with_another_role_becomes_a_key(bench):
    switch(bench, *KEYS, "HHSIZE", "HOUSEHOLD", offered=[*KEYS, "HHSIZE", "HOUSEHOLD"])
    assert bench.role_of("HHSIZE") == bench.role_of("HOUSEHOLD") == "key"
    assert "HHSIZE" not in bench.table("roles")
    assert "household" not in bench.table("columns")


def test_columns_that_were_not_offered_stay(bench):
    switch(bench, "AGE", offered=["AGE", "SEX"])
    assert bench.keys == ["REGION", "AGE", "MARSTAT"]


def test_the_last_key_switched_off(bench):
    switch(bench)
    assert bench.keys == []
    assert PAGE.view(bench, form())["risk"] is None
    switch(bench, "SEX")
    assert bench.keys == ["SEX"]


def test_rules_about_a_key_go_with_it(bench):
    bench.change("cost", suppress={"cost": {"AGE": 30.0, "SEX": 70.0}})
    switch(bench, "REGION", "SEX", "MARSTAT")
    assert bench.table("suppress")["cost"] == {"SEX": 70.0}


@pytest.mark.parametrize("of", [-1, 1, "x"])
def test_a_set_that_does_not_exist(bench, of):
    before = bench.history.current
    with pytest.raises(RefusedError, match="this set of keys is gone"):
        switch(bench, "SEX", of=of)
    assert bench.history.current is before


# --- several sets of keys ---


@pytest.fixture
def several(bench):
    bench.change(
        "sets", columns={"keys": [["REGION", "SEX", "AGE"], ["AGE", "MARSTAT"]]}
    )
    return bench


def test_each_set_has_its_switches_and_figures(several):
    found = PAGE.view(several, form())
    assert found["switches"]["sets"] == [["REGION", "SEX", "AGE"], ["AGE", "MARSTAT"]]
    one, other = (assessed(several, keys) for keys in found["switches"]["sets"])
    rows = found["risk"]["sets"]
    assert [row.unsafe for row in rows] == [
        one.below(3).records, other.below(3).records,
    ]  # fmt: skip
    f = [each.cells.sample_frequency[each.cells.inverse] for each in (one, other)]
    assert found["risk"]["unsafe"] == np.count_nonzero((f[0] < 3) | (f[1] < 3))
    assert shown(several, set=1)["keys"] == ("AGE", "MARSTAT")
    assert figures(several, set=1)["Cells"] == [f"{len(other.cells):,}"]
    for wrong in ("2", "-1", "x", "9" * 30):
        assert shown(several, set=wrong)["at"] == 0


def test_switches_of_one_set_leave_the_others(several):
    words = switch(several, "MARSTAT", of=1)
    assert words == "AGE is not in this set of keys."
    assert several.tables["columns"]["keys"] == [["REGION", "SEX", "AGE"], ["MARSTAT"]]
    assert several.role_of("AGE") == "key"
    switch(several, "SEX", "MARSTAT", of=1)
    assert several.tables["columns"]["keys"][1] == ["SEX", "MARSTAT"]
    switch(several, of=1)
    assert several.tables["columns"]["keys"] == ["REGION", "SEX", "AGE"]
    assert several.undecided == ["MARSTAT"]


# --- parts ---


def test_contributions_come_with_the_most_first(bench):
    found = part(bench, "keys")
    assert found["whole"] == assessed(bench).below(3).records
    assert found["by_model"]
    shares = [share for *_, share in found["rows"]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0
    for row, _, share in found["rows"]:
        left = [key for key in KEYS if key != row.key]
        want = assessed(bench, left).below(3).records
        assert row.without.unsafe == want
        assert share == 1 - want / found["whole"]


def brute_patterns(data, keys):
    """Return the minimal sets of at most 3 keys by which records are unique."""
    n = len(data[keys[0]])
    counts, singled = {}, np.zeros(n, bool)
    known = [[] for _ in range(n)]
    for size in (1, 2, 3):
        for some in combinations(range(len(keys)), size):
            rows = [*zip(*(data[keys[at]] for at in some), strict=True)]
            times = {row: rows.count(row) for row in set(rows)}
            for i, row in enumerate(rows):
                minimal = not any({*one} <= {*some} for one in known[i])
                if times[row] == 1 and minimal:
                    known[i].append(some)
                    counts[some] = counts.get(some, 0) + 1
                    singled[i] = True
    return int(singled.sum()), counts


def test_patterns_are_those_of_the_records(bench):
    found = part(bench, "patterns")
    data = {name: bench.source.data[name].to_pylist() for name in KEYS}
    singled, counts = brute_patterns(data, KEYS)
    assert found["singled"] == singled > 0
    told = {tuple(row["keys"]): row["records"] for row in found["rows"]}
    assert told == {tuple(KEYS[at] for at in some): n for some, n in counts.items()}
    records = [row["records"] for row in found["rows"]]
    assert records == sorted(records, reverse=True)
    assert (found["more"], found["missing"]) == (0, False)
    assert found["alone"] == assessed(bench).cells.totals.uniques


def test_a_missing_value_is_a_value_in_patterns():
    data = {"a": ["x", "x", "x", None], "b": ["1", "1", "2", "2"]}
    result = riskcore.assess(data, ["a", "b"], population="weights")
    singled, counts = risk.pattern_counts(result, lambda line: None)
    assert (singled, counts) == (2, [((0,), 1), ((0, 1), 1)])


def test_patterns_can_be_canceled():
    def stop(line):
        raise CanceledError

    result = riskcore.assess({"a": ["x", "y"], "b": ["1", "1"]}, ["a", "b"])
    with pytest.raises(CanceledError):
        risk.pattern_counts(result, stop)


def test_what_was_canceled_can_be_asked_for_again(bench):
    begun, go_on = threading.Event(), threading.Event()
    busy = bench.jobs.start("other", 1, lambda say: begun.set() or go_on.wait(120))
    assert begun.wait(120)
    assert PAGE.parts["patterns"](bench, form())["rows"] is None
    bench.jobs.of("patterns").cancel()
    go_on.set()
    assert busy.ended.wait(120)
    assert bench.jobs.of("patterns").ended.wait(120)
    found = PAGE.parts["patterns"](bench, form())
    assert (found["rows"], found["canceled"]) == (None, True)
    assert part(bench, "patterns")["rows"]


def test_the_riskiest_combinations_with_labels(bench, monkeypatch):
    labels = riskcore.data.files.labels.Labels({}, {"MARSTAT": MARRIED})
    monkeypatch.setattr(type(bench.source), "labels", labels)
    found = part(bench, "riskiest", count=30)
    result = assessed(bench)
    assert found["view"]["keys"] == KEYS
    risks = [line[0][0] for line in found["view"]["lines"]]
    assert risks == [row["individual_risk"] for row in result.riskiest(30)]
    shown = {str(line[1][3]) for line in found["view"]["lines"]}
    assert shown & {"1 (single)", "2 (married)"}
    for wrong in ("7", "1000", "x", ""):
        assert len(part(bench, "riskiest", count=wrong)["view"]["lines"]) == 10


def test_labels_of_recoded_columns_are_left_out(bench, monkeypatch):
    labels = riskcore.data.files.labels.Labels({"SEX": "Sex"}, {"MARSTAT": MARRIED})
    monkeypatch.setattr(type(bench.source), "labels", labels)
    bench.change("recoded", recodings={"MARSTAT": "from:2"})
    lines = part(bench, "riskiest")["view"]["lines"]
    assert not any("(" in str(line[1][3]) for line in lines)
    rows = part(bench, "keys")["rows"]
    assert {row.key: label for row, label, _ in rows}["SEX"] == "Sex"


def test_a_model_that_decides_counts_uniques_of_keys(bench):
    bench.change("goal", safe={"threshold": 0.1, "k": None})
    found = part(bench, "keys")
    assert found["alone"]
    assert found["whole"] == assessed(bench).cells.totals.uniques
    assert {row.without.unsafe for row, *_ in found["rows"]} == {None}
    assert not shown(bench)["beside"]


def test_what_the_model_says_is_asked_for(bench):
    bench.change("weights", safe={"population": "weights"})
    assert shown(bench)["beside"]
    assert bench.jobs.of("model") is None
    found = part(bench, "model")
    result = assessed(bench, population="both")
    assert found["figures"]["by_model"] == result.figures["by_model"]
    assert found["believe"].startswith("the model: ")
    assert found["unsafe"] is None


def test_unsafe_records_by_the_model(bench):
    goals = {"threshold": 0.3, "k": None, "population": "weights"}
    bench.change("goals", safe=goals)
    count = assessed(bench).unsafe_count(0.3)
    assert part(bench, "model")["unsafe"] == count > shown(bench)["unsafe"]


def test_no_model_where_the_weights_tell_enough(bench):
    bench.change("few", columns={"keys": ["SEX"]})
    assert not shown(bench)["beside"]
    with pytest.raises(RefusedError, match="no other model is needed"):
        PAGE.parts["model"](bench, form())


def test_doubtful_weights_are_remarked(bench):
    assert shown(bench)["remarks"] == []
    bench.set_roles({"WEIGHT": "harmless"}, "no weight")
    assert "There are no weights" in shown(bench)["remarks"][0]


def test_a_file_of_households(bench):
    bench.change(
        "households",
        columns={"keys": ["REGION", "HHSIZE"]}, roles={"HHSIZE": None},
        safe={"level": "household"},
    )  # fmt: skip
    found = shown(bench)
    assert found["households"]
    result = riskcore.assess(
        bench.source.path, ["REGION", "HHSIZE"], "WEIGHT", "HOUSEHOLD",
        level="household", population="auto",
    )  # fmt: skip
    assert found["n"] == result.cells.n
    assert found["unsafe"] == result.below(3).records
    assert part(bench, "keys")["rows"][0][0].without.unsafe is not None


def test_another_set_of_keys(bench):
    positions = tuple(str(bench.names.index(name)) for name in ("AGE", "HHSIZE"))
    PAGE.actions["add_set"](bench, Form({"key": positions}))
    assert bench.release.key_sets == [KEYS, ["HHSIZE", "AGE"]]
    assert bench.role_of("HHSIZE") == "key"
    assert len(bench.prepared().original) == 2
    with pytest.raises(RefusedError, match="at least one column"):
        PAGE.actions["add_set"](bench, Form({}))


def test_an_old_page_takes_nothing_back(several):
    fields = {"at": "0", "sets": "1", "offered": at(several, *KEYS)}
    old = {**fields, "was": " ".join(at(several, "REGION", "SEX", "AGE"))}
    PAGE.actions["switch"](several, form(**old, key=at(several, "REGION", "SEX")))
    PAGE.actions["switch"](several, form(**old, key=at(several, "REGION", "AGE")))
    assert several.table("columns")["keys"][0] == ["REGION"]
    switch(several, of=1)
    with pytest.raises(RefusedError, match="load the page again"):
        PAGE.actions["switch"](several, form(**old, key=at(several, "SEX")))


def test_a_set_goes_with_its_k(several):
    several.change("goals", safe={"k": [5, 2]})
    switch(several, of=0)
    assert (several.keys, several.table("safe")["k"]) == (["AGE", "MARSTAT"], 2)
    several.history.undo()
    several.set_roles(dict.fromkeys(several.keys), "none")
    assert (several.keys, several.table("safe")["k"]) == ([], 5)
