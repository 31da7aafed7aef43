"""Measures of released files that others report, under their authors' names.

Each function returns the figures by the names that its author or package gives them,
in its units: synthpop's are percentages. A figure without a record to take it from is
nan. ``known_notes.py`` says what each measure does not see.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.core.risk.file_risk import sum_of_products
from riskcore.disclosure.all_pairs import Nearest
from riskcore.disclosure.common_cells import CommonCells, Ints, Targets

Figures = dict[str, float]


def replicated_uniques(keys: CommonCells) -> Figures:
    """Return the uniques of the original that are unique in the release (synthpop).

    Raab, Nowok and Dibben (2024): UiO = 100 #{d = 1}/n, UiS = 100 #{s = 1}/m, UiOiS =
    100 #{d = 1, s > 0}/n, repU = 100 #{d = 1, s = 1}/n over cells with d original and s
    released records. ``replicated.uniques`` gives the numbers. Domain: any two files
    with common keys. Blind spot: it does not ask whether a person who is unique in the
    original is unique in the population.
    """
    d, s = keys.records
    n, m = int(d.sum()), int(s.sum())
    alone, claimed = d == 1, s == 1
    numbers = {
        "replicated uniques": _number(alone & claimed),
        "synthetic uniques in original": _number(claimed & (d > 0)),
    }
    return {
        "UiO": _percent(_number(alone), n),
        "UiS": _percent(_number(claimed), m),
        "UiOiS": _percent(_number(alone & (s > 0)), n),
        "repU": _percent(numbers["replicated uniques"], n),
        **numbers,
    }


def disclosive(targets: Targets) -> Figures:
    """Return how many records have a target that the release discloses (synthpop).

    Raab, Nowok and Dibben (2024), percentages of the n original records: Dorig and Dsyn
    are in cells of one value; iS have keys that were released, DiS keys released with
    one value, DiSCO this value as well, DiSDiO moreover as the only one in the
    original. ``max_denom`` and ``mean_denom``: records of one cell behind DiSCO, as the
    program counts them, in the original. Domain: a target of categories. Blind spot: a
    value that nearly everybody has is as disclosive as a rare one.
    """
    d, s = targets.original, targets.released
    n, m = int(d.sum()), int(s.sum())
    one, sure = _of_one_value(targets)
    right = d[sure]
    behind = right[right > 0]
    return {
        "Dorig": _percent(d[one].sum(), n),
        "Dsyn": _percent(s[sure].sum(), m),
        "iS": _percent(d[targets.in_released > 0].sum(), n),
        "DiS": _percent(targets.in_original[sure].sum(), n),
        "DiSCO": _percent(right.sum(), n),
        "DiSDiO": _percent(d[one & sure].sum(), n),
        "max_denom": float(behind.max(initial=0)),
        "mean_denom": _ratio(behind.sum(), len(behind)),
    }


def correct_attribution(targets: Targets) -> Figures:
    """Return the correct attribution probability of a target (CAP).

    Elliot (2014); Taub, Elliot, Pampaka and Smith (2018). With d_v, s_v records of
    value v in a cell of d and s: the CAP of a record is s_v/s. DCAP takes 0 where
    s = 0, CAP leaves such records out; CAPd and CAPs are of each file by itself,
    baseCAPd = sum (n_v/n)^2 of the original's margin. Domain: a target of categories.
    Blind spot: what the keys tell about everybody counts as if the release told it.
    """
    d, s = targets.original, targets.released
    n, m = int(d.sum()), int(s.sum())
    matched = int(d[targets.in_released > 0].sum())
    right = _weighted(s, targets.in_released, d)
    margin = np.bincount(targets.value, d).astype(np.int64)
    return {
        "baseCAPd": _ratio(_weighted(margin, np.full(len(margin), n), margin), n),
        "CAPd": _ratio(_weighted(d, targets.in_original, d), n),
        "CAPs": _ratio(_weighted(s, targets.in_released, s), m),
        "DCAP": _ratio(right, n),
        "CAP": _ratio(right, matched),
    }


def targeted_attribution(targets: Targets) -> Figures:
    """Return the targeted correct attribution probability (TCAP).

    Taub and Elliot (2019): of cells that were released with one value only (WEAP = 1),
    how often it is right. Four denominators go by the name. TCAP (Little, Allmendinger
    and Elliot 2025): persons in these cells, DiSCO/DiS. By claims (as the formula of
    2019 is printed): released records in these cells. Matched (synthpop): persons whose
    keys were released, DiSCO/iS. Certain (riskutility): matched, right, and the cell
    has one value in the original, too. Domain: a target of categories. Blind spot: a
    release of 100 records has the TCAP of one of a million.
    """
    d, s, in_original = targets.original, targets.released, targets.in_original
    one, sure = _of_one_value(targets)
    claim = sure & (in_original > 0)
    matched = int(d[targets.in_released > 0].sum())
    by_claims = _weighted(d[claim], in_original[claim], s[claim])
    return {
        "TCAP": _ratio(d[sure].sum(), in_original[sure].sum()),
        "TCAP by claims": _ratio(by_claims, s[claim].sum()),
        "TCAP matched": _ratio(d[sure].sum(), matched),
        "TCAP certain": _ratio(d[one & sure].sum(), matched),
    }


def generalized_attribution(closest: Nearest) -> Figures:
    """Return the CAP by the closest keys (GCAP), and the share without a match.

    Hittmeir, Mayer and Ekelhart (2020), SDMetrics' CategoricalGeneralizedCAP: as CAP,
    over all released records that differ from a person in as few keys as any does.
    ``closest`` holds them for original records. Domain: keys of categories, all
    equally far. Blind spot: as CAP; a wrong region weighs as much as a wrong sex.
    """
    n = len(closest.records)
    each = np.ones(n, np.int64)
    return {
        "GCAP": _ratio(_weighted(closest.right, closest.records, each), n),
        "unmatched": _ratio(_number(closest.first > 0), n),
    }


def sdmetrics_attribution(cap: Figures, gcap: Figures) -> Figures:
    """Return SDMetrics' scores from CAP and GCAP: 1 minus the probability.

    CategoricalCAP = 1 - CAP, CategoricalZeroCAP = 1 - DCAP, CategoricalGeneralizedCAP =
    1 - GCAP. Domain and blind spot: those of CAP and GCAP; no score has a baseline.
    """
    return {
        "CategoricalCAP": 1.0 - cap["CAP"],
        "CategoricalZeroCAP": 1.0 - cap["DCAP"],
        "CategoricalGeneralizedCAP": 1.0 - gcap["GCAP"],
    }


def beta_likeness(targets: Targets) -> Figures:
    """Return the beta of a released file: the largest gain of belief in a value.

    Cao and Karras (2012): beta = max (q - p)/p over released cells and values with a
    share q > p in the cell and p in the file. Enhanced beta-likeness also wants every
    gain at most -ln p; ``beyond -ln p`` counts the released records in cells with a
    larger one. Domain: a target of categories. Blind spot: shares of the release are
    taken for those of persons, so that a synthetic cell of one record has the largest.
    """
    held = targets.released > 0
    s, in_cell = targets.released[held], targets.in_released[held]
    m = int(s.sum())
    margin = np.bincount(targets.value[held], s).astype(np.int64)
    of_value = margin[targets.value[held]]
    gain = (s * m - in_cell * of_value) / (in_cell * of_value)
    beyond = np.zeros(len(targets.keys.records[1]), bool)
    beyond[targets.cell[held][gain > -np.log(of_value / m)]] = True
    return {
        "beta": float(gain.max(initial=0.0)) if m else np.nan,
        "beyond -ln p": float(targets.keys.records[1][beyond].sum()),
    }


def delta_presence(population: Ints, released: Ints) -> Figures:
    """Return between which probabilities a person is in the released file.

    Nergiz, Atzori and Clifton (2007): f/F over the cells of the population, the least
    and the largest, and the mean over its persons. ``more released`` persons are in
    cells with f > F, whose share is taken as 1 (as riskutility does). Domain: released
    records of persons of the population. Blind spot: synthetic records stand for
    nobody, yet a cell of one in both files has probability 1.
    """
    persons = population > 0
    F, f = population[persons], released[persons]
    share = np.minimum(f / F, 1.0)
    return {
        "delta_min": float(share.min(initial=np.inf)),
        "delta_max": float(share.max(initial=-np.inf)),
        "mean": _ratio(sum_of_products(share, F, np.inf), F.sum()),
        "more released": float(F[f > F].sum()),
    }


def k_map(population: Ints, released: Ints) -> Figures:
    """Return the fewest persons whom a released record may stand for.

    Sweeney (2002): k = min F over the cells of released records. ``nobody`` counts the
    records that no person of the population has the keys of; they are left out of k.
    Domain: a population with the same keys. Blind spot: the worst cell says nothing of
    the others, and a wrong record in a rare cell counts as a right one.
    """
    held = (released > 0) & (population > 0)
    return {
        "k": float(population[held].min()) if held.any() else np.nan,
        "nobody": float(released[population == 0].sum()),
    }


def _of_one_value(targets: Targets) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs are all of their cell, in the original and in the release."""
    d, s = targets.original, targets.released
    one = (d > 0) & (d == targets.in_original)
    return one, (s > 0) & (s == targets.in_released)


def _weighted(part: Ints, whole: Ints, records: Ints) -> float:
    """Return the sum of records x part/whole, correctly rounded; 0/0 counts as 0."""
    share = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return sum_of_products(share, records, np.inf)


def _number(mask: NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(mask))


def _ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else float("nan")


def _percent(part: float, whole: float) -> float:
    return 100.0 * _ratio(part, whole)
