"""Panels: no person may be unsafe in any choice of waves, by the definition."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import riskcore
from riskcore.cli import main
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.protection.leaks.examination import examine
from riskcore.protection.release.record import read_record
from tests.assessment.test_waves import by_definition, compatible, panel
from tests.fits import risks_of, value_of
from tests.made_again import made_again

KEYS = ["a", "b"]
nan = float("nan")


def protect(data, known=None, keys=KEYS, **settings):
    return riskcore.protect(
        data, keys, "w", person="id", wave="year", known_waves=known, **settings
    )


def with_third_key(seed, **how):
    """Return a panel with a key that hardly changes, so that histories are rare."""
    data = panel(seed, **how)
    data["c"] = data["id"] % 4 + (
        np.random.default_rng(seed).random(len(data["w"])) < 0.1
    )
    return data


def least_and_largest(data, known, keys):
    """Return the fewest matches and the largest risk, by the definition."""
    f, risks = [], []
    for weighted in (False, True):
        found = by_definition(data, known, compatible, keys=keys, weighted=weighted)
        (risks if weighted else f).extend(one[3] for one in found.values())
    # Without weights the largest risk is one over the fewest matches.
    return round(1 / max(f)), max(risks)


@pytest.mark.parametrize("known", [None, 1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_choice_is_safe(seed, known):
    part = (1.0, 0.7)[seed % 2]
    missing = (0.0, 0.15)[seed // 2]
    data = with_third_key(seed, persons=30, taking_part=part, missing=missing)
    keys = [*KEYS, "c"]
    before, _ = least_and_largest(data, known, keys)
    assert before < 3
    result = protect(data, known, keys, k=3, threshold=0.05, missing="argus")
    assert result.goals_met
    least, risks = after(result, data, known, keys)
    assert result.protected.k_anonymity == least >= 3
    assert max(risks) < 0.05
    assert result.protected.max_risk == pytest.approx(max(risks), rel=1e-13)
    # A key is blanked in all waves of a person or in none.
    for key in keys:
        had, has = values(data[key]), values(result.data[key])
        kept = np.equal(had, has)
        for person in np.unique(data["id"]):
            rows = data["id"] == person
            assert kept[rows].all() or not has[rows].any()
    assert sum(result.suppressed.values()) > 0


def values(column):
    """Return which values exist."""
    listed = column.tolist() if hasattr(column, "tolist") else column
    return np.array([one is not None and one == one for one in listed])


def after(result, data, known, keys):
    """Return the fewest who fit a released person, and the worst risk of each.

    In each choice of waves a person is a record of histories. Of ``data`` nothing is
    blanked; a history is missing if all its values are.
    """
    row = {}
    for i, (one, year) in enumerate(zip(data["id"], data["year"], strict=True)):
        row.setdefault(int(one), {})[int(year)] = i
    size = {one: min(known or 99, len(own)) for one, own in row.items()}
    chosen = {
        waves
        for one, own in row.items()
        for waves in combinations(sorted(own), size[one])
    }
    least, worst = len(row), dict.fromkeys(row, 0.0)
    for waves in chosen:
        people = [one for one, own in row.items() if {*waves} <= own.keys()]
        table = {
            key: [history(data[key], row[x], waves) for x in people] for key in keys
        }
        masks = {
            key: [any(result.masks[key][i] for i in row[x].values()) for x in people]
            for key in keys
        }
        weights = [np.mean([data["w"][i] for i in row[x].values()]) for x in people]
        whole, _, risk = risks_of(table, keys, masks, weights)
        for one, number, own in zip(people, whole, risk, strict=True):
            if size[one] == len(waves):
                least, worst[one] = min(least, number), max(worst[one], own)
    return least, [*worst.values()]


def history(column, row, waves):
    """Return the values of a key in some waves, None if there are none."""
    found = tuple(value_of(float(column[row[wave]])) for wave in waves)
    return None if set(found) == {None} else found


def test_all_waves_of_a_balanced_panel_are_records_of_histories():
    """With all waves known, the blanks are those of a file of persons, wave by wave."""
    data = with_third_key(5, persons=60, waves=2, taking_part=1.0)
    order = np.lexsort([data["year"], data["id"]])
    sorted_ = {name: values[order] for name, values in data.items()}
    wide = {"w": sorted_["w"].reshape(-1, 2).mean(axis=1)}
    for key in (*KEYS, "c"):
        pairs = sorted_[key].reshape(-1, 2)
        wide[key] = [f"{one}, {two}" for one, two in pairs.tolist()]
    # Of a panel no model is fitted.
    plain = riskcore.protect(wide, [*KEYS, "c"], "w", k=3, population="weights")
    result = protect(data, None, [*KEYS, "c"], k=3)
    assert result.suppressed == {k: 2 * n for k, n in plain.suppressed.items()}
    for name in ("max_risk", "k_anonymity", "reidentification_rate"):
        for stage in ("original", "protected"):
            one, other = (getattr(x, stage) for x in (result, plain))
            assert getattr(one, name) == pytest.approx(getattr(other, name))


def test_a_rate_and_missing_values():
    data = with_third_key(3, persons=50, missing=0.1)
    for known in (None, 2):
        result = protect(data, known, [*KEYS, "c"], k=2, rate=0.02)
        least, risks = after(result, data, known, [*KEYS, "c"])
        assert result.protected.max_risk == pytest.approx(max(risks), rel=1e-13)
        assert result.protected.k_anonymity == least >= 2
        total = result.protected.expected_reidentifications
        assert total == pytest.approx(sum(risks))
        threshold = result.sets[0].aim.threshold
        assert max(risks) < threshold == result.recoded.risk_threshold(rate=0.02)


def test_several_sets_recodings_and_costs():
    data = with_third_key(6, persons=60)
    rule = riskcore.Recoding.top_bottom(top=2)
    result = protect(
        data, 2, [["a", "c"], ["a", "b"]], k=2, recodings={"c": rule},
        cost={"a": float("inf")},
    )  # fmt: skip
    assert result.suppressed["a"] == 0
    recoded = {**data, "c": np.minimum(data["c"], 2)}
    for one in result.sets:
        least, _ = after(result, recoded, 2, one.keys)
        assert one.protected.k_anonymity == least
        assert one.safe == (least >= 2)
    assert np.nanmax(np.ma.asarray(result.data["c"]).astype(float).filled(nan)) == 2
    assert max(data["c"]) > 2


def test_related_columns_go_with_a_key():
    data = with_third_key(7, persons=40)
    data["copy"] = [f"c{value}" for value in data["c"]]
    result = protect(data, 2, [*KEYS, "c"], k=4, related={"c": ["copy"]})
    blank = ~values(result.data["c"])
    assert blank.any()
    assert [one is None for one in result.data["copy"]] == blank.tolist()


def test_the_order_of_records_does_not_matter():
    data = with_third_key(8, persons=50)
    order = np.random.default_rng(1).permutation(len(data["id"]))
    moved = {name: values[order] for name, values in data.items()}
    one, other = (protect(each, 2, [*KEYS, "c"], k=3) for each in (data, moved))
    assert one.suppressed == other.suppressed
    for name in (*KEYS, "c"):
        assert (one.masks[name][order] == other.masks[name]).all()


def test_persons_get_new_ids_and_are_counted():
    data = panel(9)
    result = protect(data, 2, k=2)
    ids = np.asarray(result.data["id"])
    assert set(ids.tolist()) == set(range(1, 41))
    pairs = set(zip(data["id"].tolist(), ids.tolist(), strict=True))
    assert len(pairs) == 40
    assert result.n == len(ids)
    assert result.unsafe.shape == (result.n,)
    assert "no person has a frequency f below 2" in result.verdict
    assert "in any 2 waves of a person" in result.verdict
    text = result.summary()
    assert "one row for each person; an intruder knows any 2 waves" in text
    assert result.original.cells.n == 40
    assert "year" not in result.examination.not_examined


def test_limits_and_ties():
    data = with_third_key(2, persons=50)
    never = dict.fromkeys([*KEYS, "c"], float("inf"))
    result = protect(data, 2, [*KEYS, "c"], k=3, cost=never)
    assert not result.goals_met
    assert "NOT SAFE" in result.verdict
    secret = protect(data, 2, [*KEYS, "c"], k=3, ties="secret")
    assert secret.goals_met
    again = protect(data, 2, [*KEYS, "c"], k=3, ties="secret", secret=secret.secret)
    assert again.suppressed == secret.suppressed
    settings = again.settings
    assert riskcore.protect(data, settings, secret=secret.secret).data.keys()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wave": None}, "needs wave"),
        ({"person": None}, "needs person"),
        ({"person": None, "wave": None, "known_waves": 2}, "needs person and wave"),
        ({"person": "a"}, "both a key and the household"),
        ({"known_waves": 7}, "the file has 4 waves"),
        ({"missing": "category"}, "missing='category'"),
        ({"cluster": "area"}, "cluster: no model is fitted"),
        ({"suppression": "argus"}, "suppression='argus'"),
        ({"population": "latent-class"}, "population='latent-class'"),
        ({"cost": {"a": {"1.0": 3}}}, "costs of categories"),
        ({"household_threshold": 0.1}, "rate of households"),
        ({"level": "household"}, "combined with level"),
        ({"household_keys": ["a"]}, "household_keys"),
        ({"roles": {"pay": "numeric"}}, "combined with numeric"),
        ({"roles": {"year": "harmless"}}, "'year' is key already"),
        ({"treat": {"a": "noise:10%"}}, "treat"),
    ],
)
def test_what_is_refused(settings, message):
    data = {**panel(1), "pay": np.arange(float(len(panel(1)["id"])))}
    given = {"person": "id", "wave": "year", "k": 2, **settings}
    with pytest.raises(ValueError, match=message):
        riskcore.protect(data, KEYS, "w", **given)


def test_households_and_engines_are_refused():
    data = panel(1)
    with pytest.raises(ValueError, match="leave out household"):
        riskcore.protect(data, KEYS, "w", "id", person="id", wave="year", k=2)
    with pytest.raises(TypeError, match="person: panels need single records"):
        protect(pl.LazyFrame(data), k=2)


def test_a_panel_is_written_and_read_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = pd.DataFrame(with_third_key(4, persons=60, missing=0.1))
    data["id"] = "P" + data["id"].astype(str)
    data.to_csv("panel.csv", index=False)
    line = "protect panel.csv --keys a b c --weight w --person id --wave year --quiet "
    line += "--known-waves 2 --k 2 --output safe.csv --shuffle --report r.html "
    line += "--record-public public.json --report-public public.html"
    assert not main(line.split())
    capsys.readouterr()
    safe = pd.read_csv("safe.csv", dtype=str)
    assert not set(safe.id) & set(data["id"])
    assert safe.id.nunique() == 60
    found = riskcore.assess(
        "safe.csv", ["a", "b", "c"], "w", person="id", wave="year", known_waves=2
    )
    assert found.k_anonymity >= 2
    again = made_again("panel.csv", "safe.csv.private.json", "again.csv")
    assert again == (tmp_path / "safe.csv").read_bytes()
    settings = read_record("safe.csv.private.json").settings
    assert (settings.person, settings.wave, settings.known_waves) == ("id", "year", 2)
    public = (tmp_path / "public.json").read_text()
    assert json.loads(public)["panel"] is True
    assert '"id"' not in public.replace('"renumbered": [\n    "id"\n  ]', "")
    assert "any 2 waves of a person" in (tmp_path / "public.html").read_text()
    assert "any 2 waves of a person" in (tmp_path / "r.html").read_text()
    # Persons are not counted again: the file that was written has the figures of the
    # record, another one has none.
    check = ["check", "safe.csv", "--record", "safe.csv.private.json"]
    assert main(check) == 0
    assert "passed, as recorded" in capsys.readouterr().out
    safe[::-1].to_csv("safe.csv", index=False)
    assert main(check) == 1
    out = capsys.readouterr().out
    assert "passed, as recorded" not in out
    assert "the file is a panel, whose persons check does not count" in out


def test_ids_that_are_kept_are_a_leak():
    data = panel(4)
    result = protect({**data, "w": np.full(len(data["w"]), 9.0)}, 1, k=2)
    assert not examine(result, result.shown, renumbered=["id"]).leaks
    (leak,) = examine(result, result.shown).leaks
    assert (leak.kind, leak.text) == ("ids", "'id': the original person ids are kept")


def test_a_child_in_any_wave_is_no_adult():
    """Blanking the age must not let adults fit whose occupation is missing."""
    persons = [(p, w, str(int(p >= 15)), p % 2 + 1) for p in range(60) for w in (1, 2)]
    rows = [(p, w, age, None if age == "0" else str(job)) for p, w, age, job in persons]
    rows += [(60, 1, "0", None), (60, 2, "1", None)]
    names = ("pid", "wave", "age", "job")
    data = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    roles = {"person": "pid", "wave": "wave", "known_waves": 2, "cost": {"age": 0.01}}
    with pytest.warns(DoubtfulCodes, match="missing by design"):
        result = riskcore.protect(data, ["age", "job"], k=3, **roles)
    (keys,) = result.sets
    assert keys.protected.cells.frequency_for_k.min() == 1
    assert not result.safe
