"""Measures of others from the columns of files."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from riskcore.disclosure import gower
from riskcore.disclosure import known_measures as measures
from riskcore.disclosure.known_measures import NOTES, OF_TARGETS, known_measures
from riskcore.disclosure.shared_columns import SharedColumn
from tests.disclosure import measured_files as bench

PAGE = Path(__file__).parents[2] / "notes" / "audit.md"
RISKS = {"singling out, risk", "linkability, risk"}


def columns(files, names=bench.KEYS):
    return [bench.coded([file[name] for file in files]) for name in names]


@pytest.fixture(scope="module")
def files():
    """Return an original, a release and a holdout of 300 persons each."""
    everybody = bench.population(600, 4)
    original, holdout = (bench.rows(everybody, slice(at, at + 300)) for at in (0, 300))
    return [original, bench.perturbed(original, 0.2, np.random.default_rng(5)), holdout]


def test_every_measure_has_a_figure(files):
    found = bench.measured(*files)
    assert bench.figures_of(found).keys() == NOTES.keys() | RISKS
    assert [*found.of_targets] == [bench.TARGET]
    assert set(found.of_targets[bench.TARGET]) == set(OF_TARGETS)
    assert found.left_out == {}


def test_every_measure_is_on_the_page():
    page = PAGE.read_text()
    for name, note in NOTES.items():
        assert f"**{name}**".lower() in page.lower(), name
        author = note.author.partition(" (")[0].partition(",")[0].split(" and ")[0]
        assert author in page, author


def test_what_is_left_out_has_a_reason(files):
    found = known_measures(columns(files[:2], ["AGE"]), {})
    assert found.of_targets == {}
    assert found.left_out == {
        **dict.fromkeys(OF_TARGETS, "needs a target"),
        "singling out, risk": "needs a holdout",
        "linkability": "needs two keys",
    }
    two = known_measures(columns(files[:2], ["AGE", "SEX"]), {})
    assert two.left_out["linkability, risk"] == "needs a holdout"
    assert "linkability, risk" not in two.figures


def test_the_risk_is_what_is_beyond_the_holdout(files):
    original, released, holdout = files
    found = bench.measured(*files).figures
    control = bench.measured(holdout, released).figures
    a, c = found["linkability"], control["linkability"]
    assert found["linkability, risk"] == pytest.approx((a - c) / (1 - c), rel=1e-13)
    nothing = bench.measured(original, released, original).figures
    assert nothing["singling out, risk"] == nothing["linkability, risk"] == 0


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
    assert found.figures["repU"] == pytest.approx(100 / 3)
    assert found.of_targets["t"] == pytest.approx({"DiSCO": 100 / 3, "TCAP": 50.0})
    # Distances of the released: 0, 0 and 0, over two columns.
    assert found.figures["DCR"] == 0
    # The first key alone is the first half: a links to two, and both keys of the
    # first person are those of the same two; the second has none in common.
    a_a, a_b, b_b = 2 / (2 * 2), 0.0, 1.0
    links = (a_a + a_b + b_b) / 3
    assert found.figures["linkability"] == pytest.approx(links)
    # Without its repetition the release has a a and b b; no set of two columns more.
    assert found.figures["singling out"] == 1


def test_repeated_records_are_asked_about_once(files):
    original, released, _ = files
    twice = {name: np.tile(column, 2) for name, column in released.items()}
    once, again = (
        bench.measured(original, one).figures["singling out"]
        for one in (released, twice)
    )
    assert once == again
    found = bench.measured(original, twice).figures
    assert found["repU"] == 0


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
    for name in ("DCR", "NNDR"):
        assert found.figures[name] == wanted.figures[name]
    # Keys are known of all.
    whole = bench.measured(*files)
    assert found.of_targets == whole.of_targets
    text = "\n".join(found._parts()[0].lines())
    assert "Without 20 records of the released file that lack a number." in text
    for file in holed:
        file["INCOME"][:] = math.nan
    none = bench.measured(*holed)
    assert none.left_out["DCR"].startswith("no record with all numbers in the orig")
    assert "DCR" not in none.figures


def test_a_large_file_has_a_selection(files, monkeypatch):
    whole = bench.measured(*files)
    assert whole.looked_at["distances"] == (300, 300)
    keep = gower.affordable

    def few(n, references, columns):
        return keep(n, references, columns, 100 * 300)

    monkeypatch.setattr(measures, "affordable", few)
    found = bench.measured(*files)
    assert found.looked_at["distances"] == (100, 300)
    rows = keep(300, 300, 8, 100 * 300)
    some = bench.measured(files[0], bench.rows(files[1], rows), files[2])
    assert found.figures["DCR"] == some.figures["DCR"]
    text = "\n".join(found._parts()[0].lines())
    assert "distances: of 100 of 300 records, selected at random." in text


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
    assert plain["looked_at"]["linkability"] == {"records": 300, "of": 300}
    apart = {name: column + 100 for name, column in files[0].items()}
    nobody = bench.measured(files[0], apart).to_dict()
    assert nobody["targets"][bench.TARGET]["TCAP"] is None


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
