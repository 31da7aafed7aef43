"""Measures of others: by hand, and record by record."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure.gower import Nearest
from riskcore.disclosure.known_measures import (
    closest_record,
    count_cells,
    disclosive,
    replicated_uniques,
)
from riskcore.disclosure.shared_columns import SharedColumn
from tests.thin import examples

# Key and target of each record.
ORIGINAL = ["ax", "ax", "ay", "bx", "cy", "cy", "dx", "ez"]
RELEASED = ["ax", "ax", "by", "cy", "dx", "dz", "fz", "fz", "gx"]


def column(file, at):
    return np.array([ord(record[at]) - ord("ax"[at]) for record in file], np.uint32)


def cells(original=ORIGINAL, released=RELEASED):
    return count_cells([[column(one, 0)] for one in (original, released)], [26])


def of_targets(original=ORIGINAL, released=RELEASED):
    codes = column(original, 1), column(released, 1)
    return disclosive(cells(original, released), SharedColumn(codes, 3))


def same_figures(found, wanted):
    """Check figures by name; nan equals nan."""
    assert found == pytest.approx(wanted, rel=1e-14, abs=0, nan_ok=True)


def test_uniques_by_hand():
    # The original has b, d, e alone, the release b, c, g.
    assert replicated_uniques(cells()) == 100 * 1 / 8


def test_disclosive_by_hand():
    # The release has one value in a, b, c, f, g; ax, ax, cy, cy are right. All but e
    # were released.
    same_figures(of_targets(), {"DiSCO": 100 * 4 / 8, "TCAP": 100 * 4 / 7})
    same_figures(of_targets(["ax"], ["bx"]), {"DiSCO": 0, "TCAP": math.nan})


def nearest(first, second):
    """Return distances of queries, whatever the number of references."""
    return Nearest(np.array(first), np.array(second), np.zeros(len(first), int))


def test_distances_and_ratios_by_hand():
    found = closest_record(nearest([0, 0, 1, 2.0], [0, 1, 2, math.inf]), 4)
    assert found["DCR"] == np.median([0, 0, 0.25, 0.5])
    assert found["NNDR"] == np.median([0, 0, 0.5, 0])
    assert closest_record(nearest([2.0], [4.0]), 8) == {"DCR": 0.25, "NNDR": 0.5}


record = st.tuples(st.sampled_from("abcde"), st.sampled_from("xyz")).map("".join)
files = st.lists(record, min_size=1, max_size=25)


@examples(150)
@given(files, files)
def test_every_figure_record_by_record(original, released):
    def of_key(file, record):
        return [r[1] for r in file if r[0] == record[0]]

    def percent(records, of):
        return Fraction(100 * len(records), len(of)) if of else math.nan

    matched = [r for r in original if of_key(released, r)]
    right = [r for r in matched if set(of_key(released, r)) == {r[1]}]
    alone = [r for r in original if len(of_key(original, r)) == 1]
    same_figures(
        of_targets(original, released),
        {"DiSCO": percent(right, original), "TCAP": percent(right, matched)},
    )
    replicated = [r for r in alone if len(of_key(released, r)) == 1]
    found = replicated_uniques(cells(original, released))
    assert found == pytest.approx(float(percent(replicated, original)), rel=1e-14)
