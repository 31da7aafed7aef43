"""Words on one line: nothing steers a terminal, nothing readable is changed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.common.words import counted, printable, shortened


@given(st.text())
def test_printable(label):
    shown = printable(label)
    assert shown.isprintable()
    assert shown == label or not label.isprintable()


@given(st.text(), st.integers(1, 30))
def test_shortened(label, longest):
    shown = shortened(label, longest)
    assert len(shown) <= longest
    assert shown.isprintable()
    whole = printable(label)
    assert shown == whole if len(whole) <= longest else shown.endswith("…")


def test_counts_have_their_number():
    assert [counted(n, "cell") for n in (0, 1, 2000)] == [
        "0 cells", "1 cell", "2,000 cells",
    ]  # fmt: skip


def test_one_is_said_in_the_singular():
    """What results say of one record, one cell and one key."""
    one = {"a": [1], "s": [2], "w": [5.0]}
    with pytest.warns(PopulationBelowSample) as caught:
        riskcore.assess({"a": [1], "w": [0.5]}, ["a"], "w")
    said = [
        *map(repr, (
            riskcore.tabulate(one, ["a"]),
            riskcore.assess(one, ["a"], "w"),
            riskcore.assess(one, ["a"], "w").distribution,
            riskcore.protect(one, ["a"], "w", threshold=1),
            riskcore.diversity(one, ["a"], "s"),
            riskcore.suda(one, ["a"]),
            riskcore.check(one, ["a"], k=2),
            riskcore.models.SizeIndices({1: 1}),
        )),
        *(str(each.message) for each in caught),
        riskcore.check(one, ["a"], k=2).verdict,
    ]  # fmt: skip
    assert "1 record in 1 cell of a, 1 sample unique" in said[0]
    for text in said:
        assert re.search(r"\b1 (record|cell|rule|person)\b", text)
        assert not re.search(r"\b1 (records|cells|keys|rules|people|uniques)\b", text)
