"""Audits of whole files: edge cases, roles, and the same figures of the same input."""

import datetime as dt
import json
import math

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from riskcore import Reading, assess, audit
from riskcore.common.threads import usual_threads
from riskcore.report.audit_page import audit_page, public_audit_page
from tests import needs
from tests.report.reading import Reader

KEYS = ["region", "sex", "age"]
THREE = "original", "released", "holdout"
N = 240


def survey(seed, n=N):
    """Return a file of text columns, some values missing, as a CSV file would have."""
    rng = np.random.default_rng(seed)
    data = {
        "region": rng.choice(["01", "02", "03", "4"], n),
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(20, 40, n).astype(str),
        "job": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
    }
    data = {name: values.tolist() for name, values in data.items()}
    for name in ("age", "job"):
        for i in rng.choice(n, 5, replace=False):
            data[name][i] = None
    return data


@pytest.fixture(scope="module")
def files():
    """Return an original with weights, a release and a holdout."""
    original, released, holdout = survey(1), survey(2, 150), survey(3, 100)
    for values, copied in zip(released.values(), original.values(), strict=True):
        values[:30] = copied[:30]
    weight = np.random.default_rng(4).integers(3, 30, N).astype(float).tolist()
    return {**original, "w": weight}, released, holdout


def whole(found):
    """Return all figures of an audit, and those of the claims by record."""
    claims = found.identity
    rows = [*zip(claims.rows, claims.frequency, claims.right, strict=True)]
    return json.dumps(found.to_dict(), allow_nan=False), sorted(rows)


def audited(files, keys=KEYS, **options):
    original, released, holdout = files
    options = {"target": ["job"], "population": "weights", **options}
    return audit(original, released, keys, "w", holdout=holdout, **options)


def close(mine, theirs, rel):
    """See that two results as plain data are equal, but for rounding errors."""
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys()
        for name in theirs:
            close(mine[name], theirs[name], rel)
    elif isinstance(theirs, list):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            close(one, other, rel)
    elif isinstance(theirs, float):
        assert mine == pytest.approx(theirs, rel=rel, abs=1e-12)
    else:
        assert mine == theirs


def in_csv(folder, files):
    for name, data in zip("orh", files, strict=True):
        pandas.DataFrame(data).to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in "orh"]


@pytest.mark.parametrize("population", ["weights", "auto"])
def test_frames_of_all_kinds_give_the_same(files, tmp_path, population):
    expected = whole(audited(files, population=population))
    kinds = {
        "pandas": [pandas.DataFrame(data) for data in files],
        "categories": [
            pandas.DataFrame(
                {
                    name: values if name == "w" else pandas.Categorical(values)
                    for name, values in data.items()
                }
            )
            for data in files
        ],
        "polars": [polars.DataFrame(data) for data in files],
        "pyarrow": [pyarrow.table(data) for data in files],
        "objects": [
            {name: np.array(values, object if name != "w" else float)
             for name, values in data.items()} for data in files
        ],
        "csv": in_csv(tmp_path, files),
        "text of a path": [*map(str, in_csv(tmp_path, files))],
    }  # fmt: skip
    kinds["mixed"] = [kinds["polars"][0], kinds["csv"][1], kinds["pyarrow"][2]]
    for kind, made in kinds.items():
        assert whole(audited(made, population=population)) == expected, kind


@needs.duckdb
@pytest.mark.parametrize("population", ["weights", "latent-class"])
def test_engines_give_the_same_claims(files, population):
    import duckdb

    frames = [polars.DataFrame(data) for data in files]
    with pytest.raises(TypeError, match="give missing='category'"):
        audited([frames[0].lazy(), *frames[1:]], target=[], population=population)
    frames[0] = frames[0].drop_nulls()
    if population == "latent-class":  # an engine does not give single weights
        frames[0] = frames[0].with_columns(w=polars.lit(9.0))
    first, second, third = frames
    options = {"target": [], "population": population}
    single = {"copies": None, "membership": None}  # of records, not of cells
    in_memory = audited(frames, **options)
    expected = {**in_memory.to_dict(), **single}
    held = [
        [frame.lazy() for frame in frames],
        [duckdb.sql("from first"), duckdb.sql("from second"), duckdb.sql("from third")],
        [first, duckdb.sql("from second"), third.lazy()],
        [first.lazy(), second, third],
    ]
    for kind in held:
        found = audited(kind, **options)
        # The order of additions is the engine's own.
        close({**found.to_dict(), **single}, expected, 1e-9)
        right = np.sort(found.identity.right)
        assert right == pytest.approx(np.sort(in_memory.identity.right), rel=1e-9)
        if found.identity.rows is None:
            with pytest.raises(TypeError, match="an engine holds the records"):
                found.released_records  # noqa: B018
            assert {one["record"] for one in found.riskiest()} == {None}


@pytest.mark.parametrize("population", ["weights", "auto"])
def test_the_order_of_records_does_not_matter(files, population):
    rng = np.random.default_rng(7)
    orders = [rng.permutation(len(data["sex"])) for data in files]
    mixed = [
        {name: [values[i] for i in order] for name, values in data.items()}
        for data, order in zip(files, orders, strict=True)
    ]
    figures, rows = whole(audited(files, population=population))
    found, mixed_rows = whole(audited(mixed, population=population))
    close(json.loads(found), json.loads(figures), 1e-12)
    back = sorted((orders[1][row], f, right) for row, f, right in mixed_rows)
    assert [one[:2] for one in back] == [one[:2] for one in rows]
    np.testing.assert_allclose(
        [one[2] for one in back], [one[2] for one in rows], rtol=1e-12
    )


def test_the_order_of_keys_does_not_matter(files):
    expected, rows = whole(audited(files))
    turned, other = whole(audited(files, keys=KEYS[::-1]))
    assert [row[:2] for row in other] == [row[:2] for row in rows]
    np.testing.assert_allclose(
        [row[2] for row in other], [row[2] for row in rows], rtol=1e-12
    )
    first, second = json.loads(expected), json.loads(turned)
    assert second.pop("keys") == first.pop("keys")[::-1]
    close(second, first, 1e-12)


def test_the_number_of_threads_does_not_matter(files, monkeypatch):
    expected = whole(audited(files, population="auto"))
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert usual_threads() == 1
    assert whole(audited(files, population="auto")) == expected


def test_nothing_given_is_changed(files):
    before = json.dumps(files)
    audited(files)
    assert json.dumps(files) == before


# Edge cases


def shown(found, json_only=False):
    """See that all views of a result can be made."""
    figures = json.dumps(found.to_dict(), allow_nan=False)
    text = found.text()
    for page in (
        audit_page(found, title="T", top=5),
        public_audit_page(found, title="T"),
    ):
        Reader(page)
    assert "nan" not in figures.lower().replace("unknown", "")
    assert "nan" not in text
    assert repr(found).startswith("<Audit: ")
    assert len(found.released_records["a"]) == found.records[1]
    return json.loads(figures)


ONE = {"a": [1], "w": [5.0]}
EDGES = {
    "one record": (ONE, {"a": [1]}, {}),
    "one record, another": (ONE, {"a": [2]}, {}),
    "no claim": ({"a": [1, 2], "w": [5.0, 5.0]}, {"a": [1, 1]}, {}),
    "no claim, a holdout": (
        {"a": [1, 2], "w": [5.0, 5.0]}, {"a": [1, 1]}, {"holdout": {"a": [1]}},
    ),
    "no claim of somebody": ({"a": [1, 2], "w": [5.0, 5.0]}, {"a": [3, 4]}, {}),
    "all claims": (
        {"a": [*range(40)], "w": [9.0] * 40}, {"a": [*range(40)]}, {"target": []},
    ),
    "weights below 1": (
        {"a": [1, 2, 2], "w": [0.5, 0.25, 0.25]}, {"a": [1, 2]}, {"target": []},
    ),
    "huge weights": ({"a": [1, 2, 2], "w": [1e300, 1e307, 1e-300]}, {"a": [1, 2]},
                     {"reading": Reading(weight_scale=1)}),
    "no guess": (
        {"a": [1, 2], "t": ["x", "y"], "w": [5.0] * 2},
        {"a": [3, 3], "t": ["x", "x"]}, {"target": ["t"]},
    ),
    "a target without an estimate": (
        {"a": [1] * 300, "t": ["x"] * 300, "w": [5.0] * 300},
        {"a": [1, 1], "t": ["x", "x"]}, {"target": ["t"]},
    ),
    "all targets missing": (
        {"a": [1, 2], "t": [None, None], "w": [5.0] * 2},
        {"a": [1, 2], "t": [None, None]}, {"target": ["t"]},
    ),
    "missing targets of the release": (
        {"a": [1, 2], "t": ["x", "y"], "w": [5.0] * 2},
        {"a": [1, 2], "t": [None, None]}, {"target": ["t"]},
    ),
    "missing keys": (
        {"a": [None, None], "w": [5.0] * 2}, {"a": [1, None]}, {},
    ),
    "missing keys of the release": (
        {"a": [1, 2], "w": [5.0] * 2}, {"a": [None, None]}, {},
    ),
    "infinite numbers": (
        {"a": [1, 2], "t": [math.inf, 1.0], "w": [5.0] * 2},
        {"a": [1, 2], "t": [math.inf, -math.inf]}, {"target": ["t"]},
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*the weights add to less than the records")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("missing", ["wildcard", "argus", "category"])
@pytest.mark.parametrize("case", EDGES)
def test_edges(case, missing):
    original, released, options = EDGES[case]
    found = audit(original, released, ["a"], "w", missing=missing, **options)
    figures = shown(found)
    low, high = found.expected_right_claims_interval()
    assert 0.0 <= low <= found.expected_right_claims <= high <= found.claims
    assert figures["claims"] == found.claims
    checked = found.check(max_right_claims=1.0)
    assert checked.passed
    assert json.dumps(checked.to_dict(), allow_nan=False)


def test_without_an_estimate_nothing_is_compared(monkeypatch):
    original, released, options = EDGES["a target without an estimate"]
    found = audit(original, released, ["a"], "w", **options)
    (one,) = found.attributes
    assert math.isnan(one.right_there)
    assert found.more_than_others == ()
    assert "others" not in found.verdict
    assert "other people" not in found.verdict
    assert not found.check(max_guess_excess=1.0).passed  # unknown does not pass
    for name in ("_FEWEST", "_FEWEST_GUESSES"):
        monkeypatch.setattr(f"riskcore.report.audit_page.{name}", 0)
    page = public_audit_page(found, title="T")
    assert "as often" not in page
    assert page.count("not compared") == 4  # claims, both guesses, copies


def test_no_claim_is_said_in_words():
    original, released, _ = EDGES["no claim"]
    found = audit(original, released, ["a"], "w")
    assert found.verdict.startswith("No released record is unique by the keys")
    assert found.riskiest() == []
    assert found.released_records["right_claim_probability"].tolist() == [0.0, 0.0]
    assert "No released record is unique" in public_audit_page(found, title="T")


@pytest.mark.parametrize("which", ["original", "released", "holdout"])
def test_a_file_without_records_is_refused(which):
    files = {name: {"a": [1, 2]} for name in THREE}
    files[which] = {"a": np.array([], int)}
    with pytest.raises(ValueError, match=f"{which}: the data hold no records"):
        audit(**files, keys=["a"])


def test_all_missing_keys_by_rule():
    original = {"a": [1, 2, 3], "b": [None] * 3}
    made = {"a": [1, 2], "b": [7, None]}
    right = {
        missing: audit(original, made, ["a", "b"], missing=missing).identity
        for missing in ("wildcard", "argus", "category")
    }
    assert right["wildcard"].right.tolist() == [1.0, 1.0]
    assert right["argus"].right.tolist() == [1.0, 1.0]
    by_row = dict(zip(right["category"].rows, right["category"].right, strict=True))
    assert by_row == {0: 0.0, 1: 1.0}


@pytest.mark.parametrize("which", ["original", "released", "holdout"])
@pytest.mark.parametrize("lazy", [False, True])
def test_missing_keys_of_each_file_are_refused_before_any_work(
    monkeypatch, which, lazy
):
    def work(*_, **__):
        pytest.fail("it was assessed")

    monkeypatch.setattr("riskcore.disclosure.audit.assess_coded", work)
    files = {name: {"a": [1, 2, 3]} for name in THREE}
    files[which] = {"a": [1, None, 3]}
    if lazy:
        files = {name: polars.DataFrame(one).lazy() for name, one in files.items()}
    with pytest.raises(ValueError, match="missing key values: 'a' in 1 of 3 records"):
        audit(**files, keys=["a"], missing="refuse")


DAYS = [dt.date(2020, 1, 1), dt.date(2021, 5, 2)]
EQUAL = {
    "ints and floats": ([1, 2], [1.0, 2.0]),
    "small and big ints": (np.array([1, 2], "i1"), np.array([1, 2], "u8")),
    "booleans and ints": ([True, False], [1, 0]),
    "dates": (DAYS, DAYS),
    "days and nanoseconds": (
        np.array(DAYS, "M8[D]"), np.array(DAYS, "M8[D]").astype("M8[ns]"),
    ),
    "seconds and nanoseconds": (
        np.array(DAYS, "M8[s]"), np.array(DAYS, "M8[s]").astype("M8[ns]"),
    ),
    "pandas and polars": (
        pandas.Series(DAYS).astype("datetime64[ns]"),
        polars.Series(DAYS).cast(polars.Datetime("ms")),
    ),
    "categories and text": (
        pandas.Series(pandas.Categorical(["x", "y"], ["y", "x", "z"])), ["x", "y"],
    ),
    "enums and text": (polars.Series(["x", "y"], dtype=polars.Enum(["y", "x"])),
                       ["x", "y"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", EQUAL)
@pytest.mark.parametrize("turned", [False, True])
def test_equal_values_of_other_types_are_equal(kind, turned):
    mine, theirs = EQUAL[kind][::-1] if turned else EQUAL[kind]
    many = 10  # of each value, so that numbers are not guessed in bands
    k = np.arange(2 * many)

    def repeated(values):
        if isinstance(values, polars.Series):
            return polars.concat([values] * many)
        if isinstance(values, pandas.Series):
            return pandas.concat([values] * many, ignore_index=True)
        if isinstance(values, np.ndarray):
            return np.tile(values, many)
        return [*values] * many

    found = audit({"k": mine}, {"k": theirs}, ["k"])
    assert (found.expected_right_claims, found.notes) == (2.0, ())
    found = audit(
        {"k": k, "t": repeated(mine)}, {"k": k, "t": repeated(theirs)}, ["k"],
        target=["t"],
    )  # fmt: skip
    (one,) = found.attributes
    assert (one.guessed, one.right, found.notes) == (20, 20.0, ())
    register = {"k": theirs, "population_frequency": [4, 2]}
    known = audit({"k": mine}, {"k": mine}, ["k"], population=register)
    assert known.expected_right_claims == 0.75


UNEQUAL = {
    "numbers and text": ([1, 2], ["1", "2"]),
    "text and numbers": (["1", "2"], [1.0, 2.0]),
    "dates of Python and of polars": (DAYS, polars.Series(DAYS)),
    "dates and text": (DAYS, ["2020-01-01", "2021-05-02"]),
    "dates and numbers": (DAYS, [1, 2]),
}


@pytest.mark.parametrize("role", ["key", "target", "holdout"])
@pytest.mark.parametrize("kind", UNEQUAL)
def test_kinds_that_are_never_equal_are_refused(kind, role):
    mine, theirs = ({"x": values, "k": [1, 2]} for values in UNEQUAL[kind])
    files = {"original": mine, "released": theirs}
    options = {"target": ["x"]} if role == "target" else {}
    if role == "holdout":
        files = {**files, "released": mine, "holdout": theirs}
    with pytest.raises(TypeError, match=r"column 'x': .* in one file and .* in anothe"):
        audit(**files, keys=["k" if role == "target" else "x"], **options)


def test_categories_that_the_original_lacks_are_told():
    data = {"a": [1, 2, 3], "b": ["x", "y", "y"]}
    made = {"a": [1, 9, 9, None], "b": ["x", "z", "z", "x"]}
    for released in (made, polars.DataFrame(made), polars.DataFrame(made).lazy()):
        found = audit(data, released, ["a", "b"])
        of_a, of_b = found.notes
        assert of_a.startswith("2 of 4 released records have a category of a that no")
        assert of_b.startswith("2 of 4 released records have a category of b that no")
    assert audit(data, data, ["a", "b"]).notes == ()
    # A category of pandas that no record has is not one.
    wide = pandas.DataFrame({"a": [1], "b": pandas.Categorical(["x"], ["x", "z"])})
    assert audit(data, wide, ["a", "b"]).notes == ()


@pytest.mark.parametrize("missing", ["wildcard", "argus", "category"])
def test_many_blank_keys_of_the_original_are_told(missing):
    full = {"a": [*range(20)], "b": ["x", "y"] * 10}
    blank = {"a": full["a"], "b": [None, None, None, *full["b"][3:]]}
    few = {"a": full["a"], "b": [None, None, *full["b"][2:]]}
    told = audit(blank, full, ["a", "b"], missing=missing).notes
    assert [note[:54] for note in told] == [
        "b is missing in 3 of 20 records of the original: of th"
    ] * (missing != "category")
    for original in (few, full):
        assert audit(original, full, ["a", "b"], missing=missing).notes == ()


# Roles


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"keys": []}, ValueError, "keys is empty"),
        ({"keys": "a"}, TypeError, "keys"),
        ({"keys": ["a", "a"]}, ValueError, "more than once"),
        ({"keys": ["no"]}, KeyError, "no"),
        ({"weight": "a"}, ValueError, "a"),
        ({"target": "t"}, TypeError, r"write \['t'\]"),
        ({"target": ["a"]}, ValueError, "target: 'a' is a key, too"),
        ({"target": ["w"], "weight": "w"}, ValueError, "is the weight, too"),
        ({"target": ["t", "t"]}, ValueError, "is in target, too"),
        ({"target": ["t"], "numeric": ["t"]}, ValueError, "is in target, too"),
        ({"target": ["no"]}, KeyError, "no"),
        ({"record_by": {}}, TypeError, "record_by: give the name of a column"),
        ({"target": [{}]}, TypeError, "target: give the name of a column"),
        ({"record_by": "a"}, ValueError, "record_by: 'a' is a key, too"),
        ({"record_by": "w", "weight": "w"}, ValueError, "is the weight, too"),
        ({"record_by": "t", "target": ["t"]}, ValueError, "is the record id, too"),
        ({"record_by": "no"}, KeyError, "no"),
        ({"population": "both"}, ValueError, "an audit gives one answer"),
        ({"population": "no"}, ValueError, "no"),
        ({"missing": "no"}, ValueError, "missing"),
        ({"sampling_fraction": 0.0}, ValueError, "sampling_fraction"),
        ({"sampling_fraction": 2.0}, ValueError, "sampling_fraction"),
        ({"unknown": 1}, TypeError, "unknown"),
        ({"holdout": {"b": [1]}}, KeyError, "a"),
        ({"holdout": {"a": [1]}, "target": ["t"]}, KeyError, "t"),
        ({"holdout": 7}, TypeError, "int"),
    ],
)
def test_refusals(options, error, message):
    data = {"a": [1, 2, 3], "t": [1, 2, 3], "w": [2.0, 3.0, 4.0]}
    options = {"keys": ["a"], **options}
    with pytest.raises(error, match=message):
        audit(data, data, **options)


def test_a_holdout_that_is_one_of_the_other_files_is_refused(tmp_path):
    """Of copies it would say: no risk beyond the holdout."""
    data, made, others = ({"a": [*range(30)]} for _ in range(3))
    with pytest.raises(ValueError, match=r"holdout: .* of the original file"):
        audit(data, made, ["a"], holdout=data)
    with pytest.raises(ValueError, match=r"holdout: .* of the released file"):
        audit(data, made, ["a"], holdout=made)
    for name in ("data.csv", "made.csv"):
        (tmp_path / name).write_text("a\n1\n2\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    paths = [tmp_path / name for name in ("data.csv", "made.csv", "link.csv")]
    with pytest.raises(ValueError, match=r"holdout: .* of the original file"):
        audit(*paths[:2], ["a"], holdout=paths[2])
    with pytest.raises(ValueError, match=r"holdout: .* of the original file"):
        audit(data, {"a": [1, 2]}, ["a"], holdout=others)  # a copy
    audit(data, made, ["a"], holdout={"a": [*range(1, 31)]})


@pytest.mark.parametrize("size", [1e151, -1e308])
def test_numbers_whose_squares_overflow_are_refused(size):
    data = {"a": [1, 2, 3], "x": [1.0, 2.0, size]}
    made = {"a": [1, 2, 3], "x": [1.0, math.nan, 4.0]}
    for files in ((data, made), (made, data)):
        with pytest.raises(ValueError, match="column 'x': a number beyond 1e"):
            audit(*files, ["a"], numeric=["x"])
    data["x"][2] = size / 1e160
    audit(data, made, ["a"], numeric=["x"])


@pytest.mark.parametrize("held", ["original", "released", "holdout"])
def test_single_records_on_an_engine_are_refused(held):
    frame = polars.DataFrame({"a": [1, 2], "t": [1, 2]})
    files = {one: frame.clone() for one in THREE}
    files[held] = frame.lazy()
    for role in ("target", "numeric"):
        with pytest.raises(TypeError, match=f"{role}: single records are needed"):
            audit(**files, keys=["a"], **{role: ["t"]})


def test_only_the_original_has_weights():
    data = {"a": [1, 2, 3], "w": [2.0, 3.0, 4.0]}
    made = {"a": [1, 2], "w": ["not", "a weight"]}
    found = audit(data, made, ["a"], "w", holdout={"a": [1]})
    assert found.claims == 2


def test_a_sampling_fraction_stands_for_weights_and_yields_to_them():
    data = {"a": [1, 2, 2], "w": [9.0, 8.0, 7.0]}
    by_fraction = audit(data, data, ["a"], sampling_fraction=0.125)
    by_eights = audit({**data, "w": [8.0] * 3}, data, ["a"], "w")
    assert by_fraction.to_dict() == by_eights.to_dict()
    both = audit(data, data, ["a"], "w", sampling_fraction=0.5)
    assert both.to_dict() == audit(data, data, ["a"], "w").to_dict()


def test_a_population_that_lacks_cells_is_refused():
    data = {"a": [1, 2, 3], "w": [2.0] * 3}
    register = {"a": [1, 2], "population_frequency": [4, 1]}
    with pytest.raises(ValueError, match="the population lacks 1 of 3 cells of the sa"):
        audit(data, data, ["a"], "w", population=register)
    # A released record of nobody is only a wrong claim.
    made = {"a": [1, 3], "w": [2.0] * 2}
    data = {"a": [1, 2], "w": [2.0] * 2}
    found = audit(data, made, ["a"], "w", population=register)
    assert found.expected_right_claims == 0.25


def test_the_risk_of_the_whole_file_is_that_of_assess():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 30, 100) for name in "ab"}
    rate = audit(data, data, ["a", "b"], sampling_fraction=0.1, population="weights")
    assessed = assess(data, ["a", "b"], sampling_fraction=0.1)
    alone = [*zip(data["a"], data["b"], strict=True)]
    unique = [alone.count(one) == 1 for one in alone]
    assert rate.claims == sum(unique)
    assert rate.expected_right_claims == pytest.approx(
        math.fsum(assessed.individual_risk[unique])
    )


def test_progress_is_told(files):
    lines = []
    audited(files, progress=lines.append)
    assert "counting claims" in lines
    assert "guessing job" in lines
    assert sum("reading" in line for line in lines) == 3


def test_exact_values_of_single_people_are_in_the_verdict():
    rng = np.random.default_rng(4)
    sex, income = rng.integers(0, 2, 300), np.arange(300) * 37.0 + 500
    original = {"sex": sex, "income": income}
    order = rng.permutation(300)
    released = {"sex": rng.permutation(sex), "income": income[order]}
    found = audit(original, released, ["sex"], numeric=["income"])
    assert found.more_than_others == ()
    assert found.verdict.endswith("Exact values of single people are released: income.")
    drawn = {**released, "income": np.round(income[order], -2) + 1}
    assert "Exact" not in audit(original, drawn, ["sex"], numeric=["income"]).verdict
