"""Strata: small ones are treated together, and a warning says so."""

import warnings

import numpy as np
import pytest

from riskcore.protection.treatments.strata import SmallStrata, strata


def parts(stratum, fewest, counts=None):
    stratum = np.asarray(stratum)
    counts = np.ones(stratum.size, bool) if counts is None else np.asarray(counts, bool)
    return {tuple(rows.tolist()) for rows in strata(stratum, counts, fewest, "treat x")}


def test_large_strata_stay_apart_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parts([7, 5, 7, 5], 2) == {(0, 2), (1, 3)}
        assert parts([7, 5, 7, 5, 6], 2, [1, 1, 1, 1, 0]) >= {(0, 2)}


def test_small_strata_are_treated_together():
    with pytest.warns(SmallStrata, match="treat x: 2 strata have fewer than 3 records"):
        assert parts([1, 1, 1, 2, 3, 3], 3) == {(0, 1, 2), (3, 4, 5)}


def test_the_smallest_other_stratum_joins_too_few():
    with pytest.warns(SmallStrata, match="1 stratum has fewer than 3 records"):
        found = parts([1, 1, 1, 1, 2, 3, 3, 3], 3)
    assert found == {(0, 1, 2, 3), (4, 5, 6, 7)}


def test_records_that_do_not_count_make_no_stratum_large():
    with pytest.warns(SmallStrata):
        assert parts([1, 1, 1, 2, 2, 2], 2, [1, 1, 1, 1, 0, 0]) == {(0, 1, 2, 3, 4, 5)}


def test_too_few_records_in_all_are_refused():
    with pytest.raises(
        ValueError, match="treat x: needs at least 3 records with values"
    ):
        parts([1, 2], 3)
