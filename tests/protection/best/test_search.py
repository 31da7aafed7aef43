"""The search of recodings, against opening every node."""

from itertools import product

import numpy as np
import pytest

from riskcore.data.columns import code_keys
from riskcore.data.ladder import Ladder, Rungs
from riskcore.data.source import Source
from riskcore.protection.best.losses import MEASURES
from riskcore.protection.best.nodes import Nodes
from riskcore.protection.best.search import search
from riskcore.protection.settings.settings import Settings

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
    resolved = Settings.resolve(source, KEYS, None, None, **settings)
    ladders = {
        column.name: Rungs.of(column, Ladder.of(LADDERS[column.name]))
        for column in code_keys(source.records, KEYS)
    }
    return Nodes(source, resolved, ladders, measure, blank, importance or {})


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
        {"threshold": 0.4, "population": "weights", "sampling_fraction": 0.5},
    ],
    ids=["k", "price", "importance", "missing", "l", "threshold"],
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
    assert found.gap == 0.0
    assert found.best[:2] == losses[found.best.node]
    for node, (loss, _) in losses.items():
        assert nodes.bound(node) <= loss + 1e-12


def test_a_search_that_is_ended_tells_how_far_it_may_be_from_the_best():
    nodes = nodes_of(survey(1), k=5)
    least = min(loss for loss, _ in every(nodes).values())
    for most in range(12):
        found = search(
            nodes.steps, nodes.bound, nodes.open_node, lambda found: found.met < most
        )
        assert found.bound <= least + 1e-12
        if found.best is not None:
            assert found.best.loss * (1.0 - found.gap) <= least + 1e-12


def test_goals_that_cannot_be_met():
    nodes = nodes_of(survey(1), k=61)
    found = search(nodes.steps, nodes.bound, nodes.open_node)
    assert found.best is None
    assert found.gap == np.inf
