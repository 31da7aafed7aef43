"""Plans of the whole file: against all plans of tiny files, and their bounds."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, sparse

from riskcore import protect, simulate
from riskcore.microdata.plan_bound import Bound, Unsafe
from riskcore.protection.certificate import CountsOnOthers, leaning
from riskcore.risk.individual import individual_risk_from_frequencies

KEYS = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tiny(seed):
    """Return a file of six records, and the alpha and threshold for it."""
    rng = np.random.default_rng(seed)
    n = 6
    data = {key: rng.integers(0, 2 + k, n).tolist() for k, key in enumerate(KEYS)}
    weighted = seed % 3 == 0
    if weighted:
        data["w"] = rng.uniform(2, 9, n).round(1).tolist()
    threshold = 0.12 if weighted else (0.6, 0.4)[seed % 2]
    return data, weighted, threshold, (1.0, 1.0, 0.5, 0.0)[seed // 3 % 4]


def risks(data, blanks, alpha):
    """Return the risks by definition for many plans: bool of shape (B, n, 3)."""
    codes = np.stack([data[key] for key in KEYS], axis=1)
    weights = np.array(data.get("w", np.ones(len(codes))))
    kept = ~blanks
    both = kept[:, :, None] & kept[:, None]
    match = ~np.any(both & (codes[:, None] != codes[None]), axis=3)
    same = match & np.all(kept[:, :, None] == kept[:, None], axis=3)
    full, some = kept.all(axis=2), kept.any(axis=2)
    counts = np.where(match, alpha, 0.0)
    counts[full[:, :, None] & ~some[:, None]] = 0.0
    counts[same | (match & full[:, None]) | ~some[:, :, None]] = 1.0
    f, F = counts.sum(axis=2), counts @ weights
    return individual_risk_from_frequencies(f, np.maximum(f, F))


def fewest(data, threshold, alpha, within=None):
    """Return the fewest blanks that make a file safe, by trying all; None if none."""
    n = len(data["a"])
    places = np.argwhere(np.ones((n, 3), bool) if within is None else within)
    for size in range(len(places) + 1):
        chosen = np.array(list(combinations(range(len(places)), size)), np.intp)
        for part in np.array_split(chosen, 1 + len(chosen) // 20_000):
            blanks = np.zeros((len(part), n, 3), bool)
            at = places[part]
            blanks[np.arange(len(part))[:, None], at[..., 0], at[..., 1]] = True
            if np.any(np.all(risks(data, blanks, alpha) < threshold, axis=1)):
                return size
    return None


def planned(data, weighted, threshold, alpha, plan):
    weight = "w" if weighted else None
    return protect(data, KEYS, weight, threshold=threshold, alpha=alpha, plan=plan)


def blanks_of(result):
    return np.stack([result.masks[key] for key in KEYS], axis=1)


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_tiny_files_have_the_fewest_blanks_of_all(start):
    made, harder = 0, 0
    for seed in range(start, start + 20):
        data, weighted, threshold, alpha = tiny(seed)
        by_record = planned(data, weighted, threshold, alpha, "record")
        if not by_record.safe or not by_record.rounds:
            continue
        made += 1
        result = planned(data, weighted, threshold, alpha, "file")
        least = fewest(data, threshold, alpha)
        assert result.safe
        assert risks(data, blanks_of(result)[None], alpha).max() < threshold
        assert sum(result.suppressed.values()) == least, seed
        assert result.certificate.lower_bound <= least, seed
        harder += sum(by_record.suppressed.values()) > least
    assert made >= 10
    assert harder


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_tiny_files_keep_all_they_can(start):
    fewer = 0
    for seed in range(start, start + 20):
        data, weighted, threshold, alpha = tiny(seed)
        by_record = planned(data, weighted, threshold, alpha, "record")
        if not by_record.safe or not by_record.rounds:
            continue
        result = planned(data, weighted, threshold, alpha, "restore")
        own = blanks_of(by_record)
        least = fewest(data, threshold, alpha, own)
        assert result.safe
        assert not np.any(blanks_of(result) & ~own), seed
        assert sum(result.suppressed.values()) == least, seed
        assert result.certificate.lower_bound <= least, seed
        fewer += least < own.sum()
    assert fewer
