"""Measures of others of cells: by hand, and record by record."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure.all_pairs import nearest_of_all
from riskcore.disclosure.common_cells import count_cells, count_targets
from riskcore.disclosure.known_measures import (
    beta_likeness,
    correct_attribution,
    delta_presence,
    disclosive,
    generalized_attribution,
    k_map,
    replicated_uniques,
    sdmetrics_attribution,
    targeted_attribution,
)
from tests.thin import examples

# Key and target of each record.
ORIGINAL = ["ax", "ax", "ay", "bx", "cy", "cy", "dx", "ez"]
RELEASED = ["ax", "ax", "by", "cy", "dx", "dz", "fz", "fz", "gx"]


def column(file, at):
    """Return the codes of the keys or the targets of a file."""
    return np.array([ord(record[at]) - ord("ax"[at]) for record in file], np.uint8)


def cells(original=ORIGINAL, released=RELEASED):
    return count_cells([[column(one, 0)] for one in (original, released)], [26])


def targets(original=ORIGINAL, released=RELEASED):
    keys = cells(original, released)
    return count_targets(keys, column(original, 1), column(released, 1), 3)


def same_figures(found, wanted):
    """Check figures by name; nan equals nan."""
    assert found == pytest.approx(wanted, rel=1e-14, abs=0, nan_ok=True)


def test_uniques_by_hand():
    # The original has b, d, e alone, the release b, c, g.
    same_figures(
        replicated_uniques(cells()),
        {
            "UiO": 100 * 3 / 8,
            "UiS": 100 * 3 / 9,
            "UiOiS": 100 * 2 / 8,
            "repU": 100 * 1 / 8,
            "replicated uniques": 1,
            "synthetic uniques in original": 2,
        },
    )


def test_disclosive_by_hand():
    # Of one value: b, c, d, e in the original, a, b, c, f, g in the release.
    same_figures(
        disclosive(targets()),
        {
            "Dorig": 100 * 5 / 8,
            "Dsyn": 100 * 7 / 9,
            "iS": 100 * 7 / 8,
            "DiS": 100 * 6 / 8,
            "DiSCO": 100 * 4 / 8,
            "DiSDiO": 100 * 2 / 8,
            "max_denom": 2,
            "mean_denom": 2,
        },
    )


def test_attribution_by_hand():
    # x for ax, ax right, ay wrong; bx wrong; cy, cy right; dx half right; e unmatched.
    same_figures(
        correct_attribution(targets()),
        {
            "baseCAPd": (16 + 9 + 1) / 64,
            "CAPd": (Fraction(5, 3) + 5) / 8,
            "CAPs": Fraction(8, 9),
            "DCAP": 4.5 / 8,
            "CAP": 4.5 / 7,
        },
    )
    # Claims: 2 of ax at 2/3, by at 0, cy at 1; f and g are of nobody.
    same_figures(
        targeted_attribution(targets()),
        {
            "TCAP": 4 / 6,
            "TCAP by claims": (2 * Fraction(2, 3) + 1) / 4,
            "TCAP matched": 4 / 7,
            "TCAP certain": 2 / 7,
        },
    )


def test_attribution_without_a_match():
    apart = targets(["ax"], ["bx"])
    found = correct_attribution(apart) | targeted_attribution(apart)
    assert math.isnan(found["CAP"])
    assert math.isnan(found["TCAP"])
    assert math.isnan(found["TCAP by claims"])
    assert found["DCAP"] == 0


def test_generalized_attribution_by_hand():
    # Two keys of "axx": the second person has no match; two releases differ in one key.
    original, released = [(0, 0, 1), (1, 1, 0)], [(0, 0, 1), (1, 0, 0), (0, 1, 1)]
    own, their = ([np.array(x, np.uint8) for x in zip(*one, strict=True)]
                  for one in (original, released))  # fmt: skip
    near = nearest_of_all(own[:2], their[:2], [2, 2], target=(own[2], their[2]))
    gcap = generalized_attribution(near)
    same_figures(gcap, {"GCAP": (1 + 0.5) / 2, "unmatched": 0.5})
    scores = sdmetrics_attribution({"CAP": 0.25, "DCAP": 0.125}, gcap)
    assert list(scores.values()) == [0.75, 0.875, 0.25]


def test_beta_likeness_by_hand():
    # Shares of the release: x 4/9, y 2/9, z 3/9. Value y is all of b and of c.
    found = beta_likeness(targets())
    assert found["beta"] == pytest.approx(9 / 2 - 1, rel=1e-14)
    # -ln p: x 0.81, y 1.50, z 1.10. The gains of x are 1.25 in a and g, of y 3.5 in b
    # and c, of z 2 in f; in d x gains 0.125 and z 0.5.
    assert found["beyond -ln p"] == 7
    equal = beta_likeness(targets(RELEASED, ["ax", "ay", "bx", "by"]))
    assert equal == {"beta": 0.0, "beyond -ln p": 0.0}


def test_presence_by_hand():
    # Persons: 3 of a, 1 of b, 2 of c, 1 of d (two released), 1 of e.
    same_figures(
        delta_presence(*cells().records),
        {
            "delta_min": 0,
            "delta_max": 1,
            "mean": (2 + 1 + 1 + 1 + 0) / 8,
            "more released": 1,
        },
    )


def test_k_map_by_hand():
    same_figures(k_map(*cells().records), {"k": 1, "nobody": 3})
    assert k_map(np.array([3, 2, 0]), np.array([1, 0, 2])) == {"k": 3, "nobody": 2}
    assert math.isnan(k_map(np.array([3, 0]), np.array([0, 2]))["k"])


record = st.tuples(st.sampled_from("abcde"), st.sampled_from("xyz")).map("".join)
files = st.lists(record, min_size=1, max_size=25)


@examples(150)
@given(files, files)
def test_every_figure_record_by_record(original, released):
    d, s = len(original), len(released)

    def of_key(file, record):
        return [r[1] for r in file if r[0] == record[0]]

    def only(file, record):
        return set(of_key(file, record)) == {record[1]}

    def cap(record, file):
        values = of_key(file, record)
        return Fraction(values.count(record[1]), len(values)) if values else None

    def percent(records, of):
        return Fraction(100 * len(records), of)

    def mean(values):
        return sum(values) / Fraction(len(values)) if values else math.nan

    matched = [r for r in original if of_key(released, r)]
    sure = [r for r in matched if len(set(of_key(released, r))) == 1]
    right = [r for r in sure if only(released, r)]
    certain = [r for r in right if only(original, r)]
    alone = [r for r in original if len(of_key(original, r)) == 1]
    claims = [r for r in released if len(of_key(released, r)) == 1]
    same_figures(
        replicated_uniques(cells(original, released)),
        {
            "UiO": percent(alone, d),
            "UiS": percent(claims, s),
            "UiOiS": percent([r for r in alone if of_key(released, r)], d),
            "repU": percent([r for r in alone if len(of_key(released, r)) == 1], d),
            "replicated uniques": sum(len(of_key(released, r)) == 1 for r in alone),
            "synthetic uniques in original": sum(
                bool(of_key(original, r)) for r in claims
            ),
        },
    )
    both = targets(original, released)
    behind = [original.count(r) for r in set(right)]
    same_figures(
        disclosive(both),
        {
            "Dorig": percent([r for r in original if only(original, r)], d),
            "Dsyn": percent([r for r in released if only(released, r)], s),
            "iS": percent(matched, d),
            "DiS": percent(sure, d),
            "DiSCO": percent(right, d),
            "DiSDiO": percent(certain, d),
            "max_denom": max(behind, default=0),
            "mean_denom": mean(behind),
        },
    )
    caps = [cap(r, released) for r in matched]
    same_figures(
        correct_attribution(both),
        {
            "baseCAPd": mean(
                [Fraction(sum(x[1] == r[1] for x in original), d) for r in original]
            ),
            "CAPd": mean([cap(r, original) for r in original]),
            "CAPs": mean([cap(r, released) for r in released]),
            "DCAP": sum(caps) / Fraction(d),
            "CAP": mean(caps),
        },
    )
    claimed = [r for r in released if only(released, r) and of_key(original, r)]
    same_figures(
        targeted_attribution(both),
        {
            "TCAP": mean([Fraction(r in right) for r in sure]),
            "TCAP by claims": mean([cap(r, original) for r in claimed]),
            "TCAP matched": mean([Fraction(r in right) for r in matched]),
            "TCAP certain": mean([Fraction(r in certain) for r in matched]),
        },
    )
    share = {v: Fraction(sum(r[1] == v for r in released), s) for v in "xyz"}
    gains = [(r, cap(r, released) / share[r[1]] - 1) for r in released]
    worst = {r[0] for r, gain in gains if gain > -math.log(share[r[1]])}
    same_figures(
        beta_likeness(both),
        {
            "beta": max(gain for _, gain in gains),
            "beyond -ln p": sum(r[0] in worst for r in released),
        },
    )
    odds = [
        Fraction(len(of_key(released, r)), len(of_key(original, r))) for r in original
    ]
    same_figures(
        delta_presence(*both.keys.records),
        {
            "delta_min": min(1, *odds),
            "delta_max": min(1, max(odds)),
            "mean": mean([min(1, x) for x in odds]),
            "more released": sum(x > 1 for x in odds),
        },
    )
    persons = [len(of_key(original, r)) for r in released]
    same_figures(
        k_map(*both.keys.records),
        {
            "k": min(filter(None, persons), default=math.nan),
            "nobody": persons.count(0),
        },
    )
