"""Values that are missing by design are a category of their own."""

import numpy as np
import polars
import pytest

import riskcore
from riskcore.data.columns import Records, code_column
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.missing_by_design import missing_by_design
from tests.accepted import ANY_LEAK

RNG = np.random.default_rng(11)
N = 600
AGE = RNG.choice([10, 40, 70], N)
CHILD = AGE == 10
REGION = RNG.integers(1, 4, N)
UNKNOWN = RNG.random(N) < 0.05
KEYS = ["REGION", "AGE", "OCC"]
SAID = pytest.mark.filterwarnings(
    f"ignore:key 'OCC'. missing by design in {CHILD.sum()}"
)


def survey(unknown=UNKNOWN):
    """Return records: children have no occupation, and some adults neither."""
    occupation = RNG.integers(1, 5, N).astype(float)
    occupation[CHILD | unknown] = np.nan
    return {"REGION": REGION, "AGE": AGE, "OCC": occupation}


DATA = survey()


def match(cells, record):
    """Return how many records match a record."""
    return cells.sample_frequency[cells.rows[record]]


@pytest.mark.parametrize("missing", ["wildcard", "argus"])
def test_assess_says_it_and_takes_only_the_rest_for_any_value(missing):
    words = f"'OCC': missing by design in {CHILD.sum()} records: all of AGE 10;"
    with pytest.warns(DoubtfulCodes, match=words):
        cells = riskcore.assess(DATA, KEYS, missing=missing).cells
    assert cells.missing_values == (0, 0, np.count_nonzero(UNKNOWN & ~CHILD))
    assert cells.categories[2][-2] == "missing by design"
    child = np.flatnonzero(CHILD)[0]
    assert match(cells, child) == np.count_nonzero(CHILD & (REGION[child] == REGION))


def test_children_match_no_adult_whose_age_is_unknown():
    age = np.where(np.arange(N) < 5, np.nan, AGE)
    occupation = np.where((AGE == 10) & ~np.isnan(age), np.nan, 1.0)
    with pytest.warns(DoubtfulCodes, match="missing by design"):
        cells = riskcore.assess({"AGE": age, "OCC": occupation}, ["AGE", "OCC"]).cells
    absent = np.isnan(occupation)
    assert match(cells, np.flatnonzero(absent)[0]) == np.count_nonzero(absent)


@SAID
@pytest.mark.parametrize("missing", ["wildcard", "argus"])
def test_a_child_whose_age_is_blanked_is_counted_among_children(missing):
    data = survey(np.zeros(N, bool))
    child = np.flatnonzero(CHILD)[0]
    data["AGE"] = np.where(np.arange(N) == child, 9, AGE)
    result = riskcore.protect(data, KEYS, k=3, missing=missing, **ANY_LEAK)
    assert result.masks["AGE"][child]
    cells = result.protected.cells
    alike = (REGION[child] == REGION) & CHILD
    assert cells.sample_frequency[cells.rows[child]] == np.count_nonzero(alike)
    assert np.isnan(result.data["OCC"][CHILD]).all()


@SAID
def test_keys_without_the_age_and_recoded_ages_count_children_apart():
    sets = [["REGION", "AGE"], ["REGION", "OCC"]]
    bands = riskcore.Recoding.intervals([50], ["to 50", "more"])
    result = riskcore.protect(DATA, sets, k=2, recodings={"AGE": bands}, **ANY_LEAK)
    cells = result.sets[1].recoded.cells
    assert cells.missing_values[1] == np.count_nonzero(UNKNOWN & ~CHILD)


@SAID
def test_values_missing_by_design_are_never_blanked():
    result = riskcore.protect(
        survey(np.zeros(N, bool)), KEYS, k=80, cost={"OCC": 1}, **ANY_LEAK
    )
    assert result.masks["OCC"].any()
    assert not (result.masks["OCC"] & CHILD).any()


# One child of region 9, and adults there: one does not tell the age, one nothing.
ALONE = {
    "REGION": np.append(REGION, [9, 9, 9]),
    "AGE": np.append(AGE.astype(float), [10, np.nan, np.nan]),
    "OCC": np.append(DATA["OCC"], [np.nan, 3, 2]),
}
ALONE_AT = {**ALONE, "ID": np.arange(N + 3), "WAVE": np.ones(N + 3, int)}


def of_sets(data):
    """Check two sets of keys; one has the age."""
    return riskcore.check(data, [["REGION", "OCC"], ["REGION", "AGE"]], k=2)


BY_VERB = {
    "assess": lambda: riskcore.assess(ALONE, KEYS).k_anonymity,
    "a panel": lambda: (
        riskcore.assess(ALONE_AT, KEYS, person="ID", wave="WAVE").k_anonymity
    ),
    "tabulate": lambda: riskcore.tabulate(ALONE, KEYS).k_anonymity,
    "diversity": lambda: riskcore.diversity(ALONE_AT, KEYS, "WAVE").cells.k_anonymity,
    "check": lambda: riskcore.check(ALONE, KEYS, k=2).rules[0].found,
    "check, the original": lambda: (
        riskcore.check(ALONE, KEYS, k=2, original=ALONE).rules[0].found
    ),
    "check, households": lambda: (
        riskcore.check(ALONE_AT, KEYS, household="ID", level="household", k=2)
        .rules[0]
        .found
    ),
    "check, sets": lambda: min(rule.found for rule in of_sets(ALONE).rules),
    "check, sets of an engine": lambda: min(
        rule.found for rule in of_sets(polars.LazyFrame(ALONE).fill_nan(None)).rules
    ),
    "exact matches": lambda: (
        riskcore.assess(ALONE_AT, KEYS, numeric=["WAVE"]).k_anonymity
    ),
}


@pytest.mark.filterwarnings("ignore:key 'OCC'. missing by design")
@pytest.mark.parametrize("verb", BY_VERB)
def test_every_verb_finds_the_child_alone(verb):
    assert BY_VERB[verb]() == 1


@pytest.mark.filterwarnings("ignore:key 'OCC'. missing by design")
def test_an_audit_finds_the_claim_about_the_child():
    child = {name: column[[N]] for name, column in ALONE.items()}
    beside = {name: column[N:] for name, column in ALONE.items()}
    for released in (child, beside):
        found = riskcore.audit(ALONE, released, KEYS, population="weights")
        assert found.claims == len(released["AGE"])
        assert found.expected_right_claims > 0.9 * found.claims


@pytest.mark.filterwarnings("ignore:key 'OCC'. missing by design")
@pytest.mark.parametrize("waves", [None, 1])
def test_a_panel_is_safe_with_values_missing_by_design(waves):
    panel = {name: np.append(column, column) for name, column in DATA.items()}
    panel |= {"ID": np.tile(np.arange(N), 2), "T": np.arange(2 * N) // N}
    how = {"person": "ID", "wave": "T", "known_waves": waves}
    with pytest.warns(DoubtfulCodes, match=f"in {2 * CHILD.sum()} records"):
        made = riskcore.protect(panel, KEYS, k=9, cost={"OCC": 1}, **how, **ANY_LEAK)
    after = riskcore.assess(made.data, KEYS, **how)
    assert made.protected.k_anonymity >= 9
    assert after.k_anonymity >= 9
    assert not (made.masks["OCC"] & np.append(CHILD, CHILD)).any()


@pytest.mark.filterwarnings("ignore:key .*missing by design")
@pytest.mark.parametrize("original", [None, DATA])
@pytest.mark.parametrize("k", [3, 25, 30, 60])
@pytest.mark.parametrize("cost", [{"AGE": 1}, "equal"])
def test_a_safe_file_passes_its_check(original, k, cost):
    safe = riskcore.protect(DATA, KEYS, k=k, cost=cost, **ANY_LEAK).data
    assert riskcore.check(safe, KEYS, k=k, original=original).passed


def test_a_rare_category_that_suppression_emptied_is_no_design():
    rare = np.arange(N) < 8
    data = {"REGION": np.where(rare, 9, REGION), "OCC": np.where(rare, np.nan, 1.0)}
    assert riskcore.assess(data, [*data]).cells.missing_values[1] == 8


@pytest.mark.parametrize(
    "absent", [UNKNOWN, AGE < 0, np.arange(N) < 3, RNG.random(N) < 0.5]
)
def test_values_missing_by_chance_match_any_value(absent):
    occupation = np.where(absent, np.nan, 1.0)
    data = {"REGION": REGION, "ID": np.arange(N) // 2, "OCC": occupation}
    cells = riskcore.assess(data, [*data]).cells
    assert cells.missing_values[2] == np.count_nonzero(absent)


def test_a_rule_that_takes_missing_for_a_category_is_as_before():
    cells = riskcore.assess(DATA, KEYS, missing="category").cells
    assert cells.missing_values[2] == np.count_nonzero(CHILD | UNKNOWN)


def test_a_village_that_did_not_answer_is_no_design():
    village = np.arange(2000) // 19
    job = np.where((village == 7) | (np.arange(2000) % 50 == 0), np.nan, 1.0)
    data = {"VILLAGE": village, "JOB": job}
    found = riskcore.assess(data, [*data]).cells
    assert found.missing_values[1] == np.count_nonzero(np.isnan(job))
    assert "by design" not in riskcore.describe(data, [*data]).text()


FEW = np.arange(3000) % 100 < 3  # people who are asked
FAMILY = {
    "one child with a job, miscoded": (
        np.where(FEW, 5, np.arange(3000) % 4),
        lambda x: (x == 2) & (np.arange(3000) != 106),
        "missing by design in 719 records: all of AGE 2 (1 record excepted)",
    ),
    "one child with a job, in years": (
        np.arange(3000) % 50,
        lambda x: (x < 9) & (np.arange(3000) != 103),
        "missing by design in 539 records: all of AGE 0, 1, 2, 3, 4, 5, 6, 7, 8 (1",
    ),
    "asked of 3 %": (
        np.where(FEW, 5, np.arange(3000) % 4),
        lambda x: x != 5,
        "missing by design in 2,910 records: all of AGE except 5",
    ),
    "asked of 3 %, of whom some do not answer": (
        np.where(FEW, 90, np.arange(3000) % 60),
        lambda x: (x != 90) | (np.arange(3000) % 7 == 0),
        "missing by design in 2,910 records: all of AGE except 90",
    ),
}


@pytest.mark.filterwarnings("ignore:key 'OCC'. missing by design")
@pytest.mark.parametrize("case", FAMILY)
def test_designs_with_exceptions_and_of_few(case):
    age, absent, said = FAMILY[case]
    data = {"AGE": age, "OCC": np.where(absent(age), np.nan, 1.0)}
    assert said in riskcore.describe(data, [*data]).text()
    with pytest.warns(DoubtfulCodes) as warned:
        cells = riskcore.assess(data, [*data]).cells
    assert said in str(warned[0].message)
    by_design = int(said.split(" in ")[1].split()[0].replace(",", ""))
    assert cells.missing_values[1] == np.isnan(data["OCC"]).sum() - by_design


def test_what_one_key_tells_does_not_make_another_tell_it():
    """Few adults of region 3 are left, who did not answer, beside all its children."""
    region = np.where(~CHILD & (REGION == 3) & (np.arange(N) % 50 > 0), 2, REGION)
    job = np.where(CHILD | UNKNOWN | (region == 3), np.nan, 1.0)
    data = {"REGION": region, "AGE": AGE, "OCC": job}
    with pytest.warns(DoubtfulCodes, match="records: all of AGE 10; taken"):
        riskcore.assess(data, KEYS)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97, 0.995])
@pytest.mark.parametrize("categories", [4, 60, 1500])
def test_chance_alone_is_no_design(share, categories):
    rng = np.random.default_rng(7)
    for _ in range(20):
        data = {
            "A": rng.integers(0, categories, 3000),
            "B": np.where(rng.random(3000) < share, np.nan, rng.integers(0, 3, 3000)),
        }
        columns = [code_column(Records.of(data), name) for name in data]
        assert not missing_by_design(columns, columns)


def test_describe_says_it_for_keys():
    described = riskcore.describe(DATA, KEYS)
    assert (
        f"missing by design in {CHILD.sum()} records: all of AGE 10" in described.text()
    )


@SAID
def test_an_engine_counts_the_same():
    frame = polars.DataFrame(DATA).with_columns(polars.col("OCC").fill_nan(None))
    for count in (
        riskcore.assess,
        lambda data, keys: riskcore.protect(data, keys, k=3).protected,
    ):
        there, here = count(frame.lazy(), KEYS), count(frame, KEYS)
        assert there.expected_reidentifications == here.expected_reidentifications
        assert there.cells.k_anonymity == here.cells.k_anonymity
