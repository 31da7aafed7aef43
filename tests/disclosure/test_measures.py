"""Measures of others from the columns of files."""

import json
import math

import numpy as np
import pytest

from bench import known_measures as bench
from riskcore.disclosure import all_pairs, measures
from riskcore.disclosure.known_notes import NOTES, OF_TARGETS
from riskcore.disclosure.measures import known_measures
from riskcore.disclosure.shared_columns import SharedColumn


def columns(files, names=bench.KEYS):
    """Return columns of files as shared columns."""
    return [bench.coded([file[name] for file in files]) for name in names]


@pytest.fixture(scope="module")
def files():
    """Return an original, a release and a holdout of 300 persons each."""
    everybody = bench.population(600, 4)
    original, holdout = (bench.rows(everybody, slice(at, at + 300)) for at in (0, 300))
    return [
        original,
        bench.perturbed(original, 0.2, np.random.default_rng(5)),
        holdout,
    ]


def test_every_measure_has_a_figure(files):
    found = bench.measured(*files)
    assert bench.figures_of(found).keys() == NOTES.keys()
    assert [*found.of_targets] == [bench.TARGET]
    assert set(found.of_targets[bench.TARGET]) == set(OF_TARGETS)
    # Only the baseline of queries with numbers is not known.
    assert [*found.left_out] == ["singling out, baseline_rate"]
    by_keys = bench.measured(*files, numbers=[])
    assert by_keys.left_out == {}
    assert 0 < by_keys.figures["singling out"]["baseline_rate"] < 1


def test_what_is_left_out_has_a_reason(files):
    keys = columns(files[:2], ["AGE"])
    found = known_measures(keys, {})
    assert found.of_targets == {}
    needed = dict.fromkeys(OF_TARGETS, "needs a target")
    for name in ("DCR share", "DCROverfittingProtection", "singling out, risk"):
        needed[name] = "needs a holdout"
    assert found.left_out == needed | {"linkability": "needs two keys"}
    named = {name.partition(",")[0] for name in found.left_out}
    assert named | found.figures.keys() == NOTES.keys()
    two = known_measures(columns(files[:2], ["AGE", "SEX"]), {})
    assert two.left_out["linkability, risk"] == "needs a holdout"
    assert "risk" not in two.figures["linkability"]


def test_figures_of_three_records_by_hand():
    # Keys and target: a a x, a b y, b b x are original, a a x, a a y, b b x released.
    first = SharedColumn((np.array([0, 0, 1]), np.array([0, 0, 1])), 2)
    second = SharedColumn((np.array([0, 1, 1]), np.array([0, 0, 1])), 2)
    target = SharedColumn((np.array([0, 1, 0]), np.array([0, 1, 0])), 2)
    as_codes = [
        SharedColumn(tuple(x.astype(np.uint32) for x in one.codes), one.levels)
        for one in (first, second, target)
    ]
    found = known_measures(as_codes[:2], {"t": as_codes[2]})
    assert found.figures["replicated uniques"]["repU"] == pytest.approx(100 / 3)
    # The second person differs in one key from all three, two of them wrong.
    assert found.of_targets["t"]["GCAP"] == pytest.approx(
        {"GCAP": (1 / 2 + 1 / 3 + 1) / 3, "unmatched": 1 / 3}
    )
    assert found.of_targets["t"]["DiSCO"]["DiSCO"] == pytest.approx(100 / 3)
    # Distances of the released: 0, 0 and 0, over two columns.
    assert found.figures["DCR and NNDR"]["DCR"] == 0
    # The first key alone is the first half: a links to two, and both keys of the
    # first person are those of the same two; the second has none in common.
    links = found.figures["linkability"]
    a_a, a_b, b_b = 2 / (2 * 2), 0.0, 1.0
    assert links["links"] == pytest.approx(a_a + a_b + b_b)
    assert links["by chance"] == pytest.approx(1 / 3)
    # Without its repetition the release has a a and b b; no set of two columns more.
    single = found.figures["singling out"]
    assert (single["queries"], single["attack_rate"]) == (2, 1)


def test_repeated_records_are_asked_about_once(files):
    original, released, _ = files
    twice = {name: np.tile(column, 2) for name, column in released.items()}
    once, again = (
        bench.measured(original, one).figures["singling out"]
        for one in (released, twice)
    )
    assert once == again
    found = bench.measured(original, twice).figures
    assert found["replicated uniques"]["repU"] == 0


def test_the_people_of_a_population_are_counted(files):
    original, released, _ = files
    everybody = bench.population(1500, 4)
    found = bench.measured(original, released, people=everybody)
    assert found.people == "population"
    keys = bench.coded_together([everybody, released])
    most = max(one.max() for one in keys)
    F, f = (np.bincount(one, minlength=most + 1) for one in keys)
    assert found.figures["k-map"]["k"] == F[(f > 0) & (F > 0)].min()
    assert found.figures["k-map"]["nobody"] == f[F == 0].sum()
    wanted = np.minimum(f, F).sum() / len(keys[0])
    assert found.figures["delta-presence"]["mean"] == pytest.approx(wanted)
    # With the people of two equal rows in one.
    with_file = [*files[:2], everybody]
    doubled = known_measures(
        columns(with_file), {}, (), np.full(len(everybody["AGE"]), 2)
    )
    assert doubled.figures["k-map"]["k"] == 2 * found.figures["k-map"]["k"]
    alone = bench.measured(original, released)
    assert alone.people == "original"
    assert alone.figures["k-map"] != found.figures["k-map"]
    for one in (found, alone):
        text = "\n".join(line for part in one._parts() for line in part.lines())
        assert f"count the people of the {one.people}." in text


def test_missing_numbers_are_left_out_and_counted(files):
    holed = [{**file, "INCOME": file["INCOME"].copy()} for file in files]
    for at, file in enumerate(holed):
        file["INCOME"][: 10 * at + 10] = math.nan
    found = bench.measured(*holed)
    assert found.missing_numbers == {"original": 10, "released": 20, "holdout": 30}
    kept = [
        bench.rows(file, slice(10 * at + 10, None)) for at, file in enumerate(files)
    ]
    wanted = bench.measured(*kept)
    for name in ("DCR and NNDR", "DCR share", "DCROverfittingProtection"):
        assert found.figures[name] == wanted.figures[name]
    assert found.figures["singling out"] == wanted.figures["singling out"]
    # Keys are known of all.
    whole = bench.measured(*files)
    assert found.of_targets == whole.of_targets
    text = "\n".join(found._parts()[0].lines())
    assert "Without 20 records of the released file that lack a number." in text
    for file in holed:
        file["INCOME"][:] = math.nan
    none = bench.measured(*holed)
    assert none.left_out["DCR share"].startswith("no record with all numbers in the or")
    assert {"DCR and NNDR", "singling out"} <= none.left_out.keys()


def test_a_large_file_has_a_selection(files, monkeypatch):
    whole = bench.measured(*files)
    assert whole.looked_at["GCAP"] == (300, 300)
    keep = all_pairs.selected

    def few(n, references, columns):
        return keep(n, references, columns, 100 * 300)

    monkeypatch.setattr(measures, "selected", few)
    found = bench.measured(*files)
    assert found.looked_at["GCAP"] == found.looked_at["distances"] == (100, 300)
    gcap = found.of_targets[bench.TARGET]["GCAP"]["GCAP"]
    wanted = whole.of_targets[bench.TARGET]["GCAP"]["GCAP"]
    assert gcap != wanted
    assert gcap == pytest.approx(wanted, abs=4 * math.sqrt(0.25 / 100))
    rows = keep(300, 300, 8, 100 * 300)
    some = bench.measured(files[0], bench.rows(files[1], rows), files[2])
    copies = some.figures["DCR and NNDR"]["copies"]
    assert found.figures["DCR and NNDR"]["copies"] == copies
    text = "\n".join(found._parts()[0].lines())
    assert "GCAP: of 100 of 300 records, selected at random." in text


def test_several_targets(files):
    targets = {name: columns(files, [name])[0] for name in ("EDUCATION", "SEX")}
    found = known_measures(columns(files, ["AGE", "REGION"]), targets)
    assert [*found.of_targets] == ["EDUCATION", "SEX"]
    alone = known_measures(columns(files, ["AGE", "REGION"]), {"SEX": targets["SEX"]})
    assert found.of_targets["SEX"] == alone.of_targets["SEX"]
    assert found.figures == alone.figures


def test_the_figures_are_plain_json(files):
    plain = bench.measured(files[0], bench.rows(files[1], slice(1))).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["people"] == "original"
    assert plain["looked_at"]["GCAP"] == {"records": 300, "of": 300}
    apart = {name: column + 100 for name, column in files[0].items()}
    nobody = bench.measured(files[0], apart).to_dict()
    assert nobody["figures"]["k-map"]["k"] is None


def test_the_tables_fit_a_terminal(files):
    for numbers in ([], bench.NUMBERS):
        found = bench.measured(*files, numbers=numbers)
        lines = [line for part in found._parts() for line in part.lines()]
        assert max(map(len, lines)) <= 100
        assert not any("…" in line for line in lines)
    long = {"a target with a long name": columns(files, ["SEX"])[0]}
    found = known_measures(columns(files), long)
    lines = [line for part in found._parts() for line in part.lines()]
    assert max(map(len, lines)) <= 100


def test_empty_files_are_refused(files):
    for at, name in enumerate(("original", "released", "holdout")):
        broken = [*files]
        broken[at] = bench.rows(files[at], slice(0))
        with pytest.raises(ValueError, match=f"the {name} file has no records"):
            bench.measured(*broken)
