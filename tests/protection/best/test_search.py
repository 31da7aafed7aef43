"""The search of recodings, against opening every node."""

from itertools import product

import numpy as np
import pytest

import riskcore
from riskcore.data.source import Source
from riskcore.protection.best.nodes import Nodes
from riskcore.protection.best.search import search
from riskcore.protection.settings.best_settings import MEASURES
from riskcore.protection.settings.settings import Settings
from tests.accepted import ANY_LEAK

KEYS = ["age", "town", "sex"]
LADDERS = {
    "age": ["from:3,6,8,12", "from:8", "map:*=all"],
    "town": ["truncate:1", "map:*=all"],
    "sex": ["map:*=all"],
}


def survey(seed, n=60, missing=0.0):
    """Return a small file with missing values."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.binomial(16, 0.4, n).astype(object),
        "town": np.array(["aa", "ab", "ba", "bb", "ca"])[rng.integers(0, 5, n)],
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        "pay": rng.integers(0, 3, n),
        "w": rng.uniform(1, 20, n).round(2),
    }
    columns["age"][rng.random(n) < missing] = None
    return columns


def nodes_of(data, measure="granularity", blank=1.0, importance=None, **settings):
    """Return the nodes of a small file."""
    source = Source.of(data, None)
    weight = settings.pop("weight", None)
    resolved = Settings.resolve(source, KEYS, weight, None, **settings)
    return Nodes(source, resolved, LADDERS, measure, blank, importance or {})


def every(nodes):
    """Return what each node loses, and its blanks."""
    losses = {}
    for node in product(*(range(len(rungs)) for rungs in nodes.rungs)):
        opened = nodes.open_node(node)
        if opened is not None:
            losses[node] = opened[:2]
    return losses


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "settings",
    [
        {"k": 2},
        {"k": 5, "blank": 3.0},
        {"k": 3, "importance": {"age": 5.0, "sex": 0.5}},
        {"k": 4, "missing": 0.1},
        {"k": 2, "l": 2, "roles": {"pay": "sensitive"}},
        {"k": 3, "l": 2, "roles": {"pay": "sensitive"}, "missing": 0.1},
        {"k": 2, "t": 0.5, "roles": {"pay": "sensitive"}},
        {"threshold": 0.4, "population": "weights", "sampling_fraction": 0.5},
        {"threshold": 0.05, "population": "weights", "weight": "w", "missing": 0.1},
        {"rate": 0.02, "population": "weights", "weight": "w"},
        {"min_population": 40, "weight": "w", "missing": 0.1},
    ],
    ids=[
        "k",
        "price",
        "importance",
        "missing",
        "l",
        "l, missing",
        "t",
        "threshold",
        "weights",
        "rate",
        "people",
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_least_of_all_nodes_is_found(measure, settings, seed):
    settings = dict(settings)
    data = survey(seed, missing=settings.pop("missing", 0.0))
    nodes = nodes_of(data, measure, **settings)
    losses = every(nodes)
    found = search(nodes.steps, nodes.bound, nodes.open_node)
    assert found.nodes == 4 * 3 * 2
    least = min(loss for loss, _ in losses.values())
    assert found.best.loss == pytest.approx(least, abs=1e-12)
    assert found.bound == found.best.loss
    assert found.best[:2] == losses[found.best.node]
    for node, (loss, _) in losses.items():
        assert nodes.bound(node)[1] <= loss + 1e-12


def test_a_search_that_is_ended_tells_how_far_it_may_be_from_the_best():
    nodes = nodes_of(survey(1), k=5)
    least = min(loss for loss, _ in every(nodes).values())
    for most in range(12):

        def go_on(found, most=most):
            return found.met < most

        found = search(nodes.steps, nodes.bound, nodes.open_node, go_on)
        assert found.bound <= least + 1e-12
        if found.best is not None:
            assert found.bound <= found.best.loss


def test_goals_that_cannot_be_met():
    nodes = nodes_of(survey(1), k=61)
    found = search(nodes.steps, nodes.bound, nodes.open_node)
    assert found.best is None


def test_the_best_release():
    data = survey(1)
    found = riskcore.best(data, KEYS, k=3, ladders=LADDERS, price=2.0)
    assert found.gap == 0.0
    assert "least loss" in found.certificate
    nodes = nodes_of(data, blank=2.0, k=3)
    losses = every(nodes)
    assert found.loss == min(loss for loss, _ in losses.values())
    result = found.protect()
    assert result.goals_met
    assert {x: n for x, n in result.suppressed.items() if n} == found.blanks
    assert found.front[0].loss == found.loss
    assert found.front[0].recodings == found.rules
    expected = [one.expected_reidentifications for one in found.front]
    assert expected == sorted(expected, reverse=True)


def test_keys_that_are_recoded_stay_so():
    recodings = {"age": "from:8"}
    found = riskcore.best(
        survey(1), KEYS, k=3, recodings=recodings, ladders={"sex": ["map:*=all"]}
    )
    assert "age" not in found.rules
    assert found.nodes % 2 == 0
    assert found.protect().settings.recodings.keys() >= {"age"}
    with pytest.raises(ValueError, match="'age' has a recoding and a ladder"):
        riskcore.best(survey(1), KEYS, k=3, recodings=recodings, ladders=LADDERS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ladders": {"pay": ["round:5"]}}, "'pay' is not a key variable"),
        ({"ladders": {"age": []}}, "a ladder needs rules"),
        ({"ladders": {"age": ["round:4", "from:8"]}}, "separates values"),
        ({"importance": {"age": 0}}, "importance of 'age'"),
        ({"price": 0.5}, "price"),
        ({"loss": "least"}, "loss"),
        ({"k": 61}, "no recodings meet the goals"),
        ({"person": "pay", "wave": "w"}, "panels"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        riskcore.best(survey(1), KEYS, **{"k": 3, **arguments})


def homes(seed):
    """Return a file of households whose members agree in all but their age."""
    rng = np.random.default_rng(seed)
    data = survey(seed, 30)
    home = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    data = {name: column[home] for name, column in data.items()}
    return {**data, "home": home, "size": np.bincount(home)[home]}


@pytest.mark.parametrize(
    ("data", "keys", "settings"),
    [
        (survey, [["age", "town"], ["town", "sex"], ["age", "sex"]], {"k": [4, 9, 3]}),
        (survey, KEYS, {"k": 2, "subsets": 2}),
        (survey, [["age", "town"], ["town", "sex"]], {"min_population": [90, 200]}),
        (survey, ["age", "sex"], {"k": 3, "strata": ["town"]}),
        (homes, ["age", "town", "sex"], {"k": 4, "level": "household"}),
        (homes, KEYS, {"household_threshold": 0.5, "population": "weights"}),
        (homes, ["age", "town", "size"], {"k": 3, "household_keys": ["size", "town"]}),
        (survey, KEYS, {"k": 3, "cost": {"sex": float("inf")}}),
        (survey, KEYS, {"k": 3, "related": {"age": ["town"]}}),
    ],
    ids=[
        "sets",
        "subsets",
        "people of sets",
        "strata",
        "household level",
        "household threshold",
        "household keys",
        "never blanked",
        "related",
    ],
)
@pytest.mark.parametrize("measure", ["granularity", "discernibility"])
@pytest.mark.parametrize("seed", range(3))
def test_other_designs(data, keys, settings, measure, seed):
    data, settings = data(seed), dict(settings)
    if {"level", "household_threshold", "household_keys"} & {*settings}:
        settings |= {"household": "home", "weight": "w"}
    if "min_population" in settings:
        settings |= {"weight": "w"}
    source = Source.of(data, None)
    weight, household = settings.pop("weight", None), settings.pop("household", None)
    resolved = Settings.resolve(source, keys, weight, household, **settings)
    ladders = {key: LADDERS[key] for key in LADDERS if key in resolved.variables}
    nodes = Nodes(source, resolved, ladders, measure, 1.0, {})
    losses = every(nodes)
    found = search(nodes.steps, nodes.bound, nodes.open_node)
    assert found.best.loss == pytest.approx(min(x for x, _ in losses.values()))
    for node, (loss, _) in losses.items():
        assert nodes.bound(node)[1] <= loss + 1e-12
    best = riskcore.best(data, keys, weight, household, ladders=ladders, **settings)
    result = best.protect()
    assert result.goals_met
    assert {x: n for x, n in result.suppressed.items() if n} == best.blanks


def cheapest(nodes, node, k, measure, price):
    """Return the loss of a node, by trying all blanks of each record."""
    groups = [
        rungs.groups[i][rungs.column.codes]
        for rungs, i in zip(nodes.rungs, node, strict=True)
    ]
    n, keys, total = len(groups[0]), range(len(groups)), 0.0
    for j in keys:
        total += nodes.steps[j][node[j]] * n
    for record in range(n):
        extra = []
        for j in keys:
            rungs, code = nodes.rungs[j], nodes.rungs[j].column.codes[record]
            if measure == "entropy":
                share = np.bincount(rungs.column.codes) / n
                bits = -(share * np.log2(share)).sum()
                alike = np.mean(groups[j] == groups[j][record])
                lost = -price * np.log2(alike) / bits
            else:
                size = rungs.sizes[node[j]][code]
                lost = price - (size - 1) / (rungs.domain - 1)
            extra.append(lost * nodes.importance[j])
        least = np.inf
        for kept in product((True, False), repeat=len(groups)):
            alike = np.ones(n, bool)
            for j in keys:
                if kept[j]:
                    alike &= groups[j] == groups[j][record]
            if alike.sum() >= k:
                least = min(least, sum(extra[j] for j in keys if not kept[j]))
        total += least
    return total / n


@pytest.mark.parametrize("measure", ["granularity", "entropy"])
@pytest.mark.parametrize("price", [1.0, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_blanks_of_each_node_are_the_cheapest(measure, price, seed):
    # By categories of one group that lose the same: of entropy they once did not.
    data = survey(seed, 25)
    nodes = nodes_of(data, measure, price, {"town": 2.0}, k=3)
    assert nodes.exact
    for node, (loss, _) in every(nodes).items():
        assert loss == pytest.approx(cheapest(nodes, node, 3, measure, price))


@pytest.mark.parametrize(
    ("settings", "exact"),
    [
        ({"k": 3}, True),
        ({"l": 2, "roles": {"pay": "sensitive"}}, True),
        ({"l": "entropy:2", "roles": {"pay": "sensitive"}}, False),
        ({"t": 0.5, "roles": {"pay": "sensitive"}}, False),
        ({"k": 3, "suppression": "argus"}, False),
        ({"threshold": 0.4, "population": "weights"}, True),
        ({"threshold": 0.4, "population": "weights", "method": "series7"}, False),
        ({"rate": 0.2, "population": "weights"}, False),
        ({"household_threshold": 1.0, "household": "pay"}, False),
    ],
)
def test_what_is_proved_of_plans_that_may_miss_blanks(settings, exact):
    asked = {"ladders": LADDERS, "loss": "blanks", "weight": "w", **settings}
    found = riskcore.best(survey(1), KEYS, **asked)
    assert found.exact is exact
    assert ("with the blanks that are planned" in found.certificate) is not exact
    assert found.to_dict()["exact"] is exact


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        ({"age": [None] * 5, "sex": [1, 1, 2, 2, 2]}, {}),
        ({"age": [None, "y", "y", "y"], "sex": [1, None, None, None]}, {}),
        ({"age": [*range(39), np.inf], "sex": [1, 2] * 20}, {}),
        ({"age": [1, 2], "sex": [1, 2]}, {"importance": {"age": 1e308, "sex": 1e308}}),
        (
            {"age": [1, 1], "sex": [1, 1], "pay": [1.0, 2.0]},
            {"treat": {"pay": "noise:5%"}},
        ),
    ],
    ids=["no age", "nobody complete", "infinite", "large importance", "noise"],
)
def test_odd_files(data, settings):
    found = riskcore.best(data, ["age", "sex"], k=2, **ANY_LEAK, **settings)
    assert found.protect().goals_met
    assert 0.0 <= found.loss <= 1.0


def test_strata_without_a_ladder_stay_as_they_are():
    data = {"age": list("ab") * 10, "town": list("m" * 10 + "n" * 10)}
    found = riskcore.best(data, ["age"], k=3, strata=["town"])
    assert found.rules == {}
    ladders = {"town": ["map:*=all"]}
    found = riskcore.best(data, ["age"], k=8, strata=["town"], ladders=ladders)
    assert found.rules == {"town": "map:*=all"}
