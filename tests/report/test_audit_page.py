"""The pages of an audit: exact for the office, rounded for the public."""

import re

import numpy as np
import pytest

from riskcore import audit
from riskcore.report.audit_page import CLASSES, audit_page, public_audit_page
from riskcore.report.provenance import Provenance
from riskcore.report.sheet_page import part_charts
from tests.report.reading import Reader

KEYS = ["region", "age"]


def drawn(seed, n):
    rng = np.random.default_rng(seed)
    return {
        "region": rng.choice(["Ahausen", "Bedorf", "Cestadt"], n),
        "age": rng.integers(700, 860, n),
        "illness": rng.choice(["zoster", "yaws", "warts"], n),
    }


@pytest.fixture(scope="module", params=["holdout", "model"])
def found(request):
    original, released = drawn(1, 487), drawn(2, 311)
    for name, values in released.items():
        values[:100] = original[name][:100]
    holdout = drawn(3, 173) if request.param == "holdout" else None
    weight = np.random.default_rng(4).uniform(3.0, 9.0, 487)
    return audit(
        {**original, "w": weight}, released, KEYS, "w", target=["illness"],
        holdout=holdout, population="weights",
    )  # fmt: skip


def text_of(page):
    """Return what a page shows, without its styles and scripts."""
    shown = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(" ".join(Reader(shown).text).split())


def test_the_internal_page_has_the_answer_and_its_parts(found):
    page = audit_page(found, title="An audit", top=3, provenance=Provenance("r.csv"))
    said = text_of(page)
    assert found.verdict in said
    assert "For internal use" in said
    for part in (
        "Claims that a released record",
        "Guesses of a target",
        "most probably",
    ):
        assert part in said
    for row in found.riskiest(3):
        assert f"{row['right_claim_probability']:.3g}" in said
        assert f"{row['record']:,}" in said
    assert "most probably right" not in text_of(audit_page(found, title="T"))
    drawings = [one.drawing for one in part_charts(found)]
    assert len(drawings) == 2
    assert all(one in page for one in drawings)


def test_charts_show_the_shares(found):
    claims, guesses = part_charts(found)
    identity, (one,) = found.identity, found.attributes
    widths = [
        [float(x) for x in re.findall(r'<rect width="([\d.]+)%"', chart.drawing)]
        for chart in (claims, guesses)
    ]
    shares = [identity.matched, identity.expected_right, identity.others.right]
    assert widths[0] == pytest.approx(
        [100 * x / found.claims for x in shares], abs=6e-4
    )
    assert widths[1] == pytest.approx(
        [100 * one.share, 100 * one.share_there], abs=6e-4
    )


def test_charts_without_figures():
    none = audit({"a": [1, 2]}, {"a": [1, 1]}, ["a"])
    assert part_charts(none) == [None]
    same = {"a": [1] * 9, "t": ["x"] * 9}
    claims, guesses = part_charts(audit(same, same, ["a"], target=["t"]))
    assert claims is None
    assert re.findall(r'<rect width="([\d.]+)%"', guesses.drawing) == [
        "100.000",
        "0.000",
    ]
    own = audit({"a": [1], "i": [1]}, {"a": [1], "i": [1]}, ["a"], record_by="i")
    assert part_charts(own)[0].drawing.count("<rect width") == 2
    # More right about others than claims: a share has its place on the scale.
    many = audit(
        {"a": [1, 2, 3, 4]}, {"a": [1, 2]}, ["a"], holdout={"a": [1, 2]},
    )  # fmt: skip
    assert many.identity.others.right > many.claims
    widths = re.findall(r'<rect width="([\d.]+)%"', part_charts(many)[0].drawing)
    assert max(map(float, widths)) == 100.0


def test_the_public_page_has_no_count_value_or_probability(found):
    page = public_audit_page(found, title="For all")
    said = text_of(page)
    assert "For publication" in said
    assert "For internal use" not in said
    identity, (one,) = found.identity, found.attributes
    low, high = found.expected_right_claims_interval()
    secret = {
        "records of the original": 487, "claims": found.claims,
        "matched": identity.matched, "guessed": one.guessed,
        "holdout": 173 if found.records[2:] else -1,
        "guessed of the holdout": one.guessed_there,
    }  # fmt: skip
    numbers = set(re.findall(r"\d[\d,.]*", said))
    for what, number in secret.items():
        assert f"{number:,}" not in numbers, what
    assert numbers & {"311"} == {"311"}  # the file that leaves is known
    exact = [
        found.expected_right_claims, low, high, identity.excess, one.share,
        one.share_there, one.excess, found.expected_right_claims / found.claims,
        *identity.right.tolist(),
    ]  # fmt: skip
    allowed = {f"{100 * x:.3g}" for x in CLASSES} | {f"{round(100 * one.share)}"}
    for value in exact:
        for shown in (f"{value:.3g}", f"{100 * value:.3g}"):
            assert shown not in numbers - allowed - {"100", "311"}
    for value in ("Ahausen", "Bedorf", "Cestadt", "zoster", "yaws", "warts"):
        assert value not in page
    assert not numbers & {str(age) for age in range(700, 860)}
    assert "<svg" not in page
    assert page == public_audit_page(found, title="For all")


@pytest.mark.parametrize("right", [0, 1, 7, 20])
def test_public_shares_are_rounded_up_to_a_class(right):
    """Of 200 claims each is right surely or not at all."""
    right *= 10
    data = {"a": [*range(200)]}
    made = {"a": [*range(right), *range(1_000, 1_200 - right)]}
    found = audit(data, made, ["a"])
    assert found.expected_right_claims == right
    said = text_of(public_audit_page(found, title="T"))
    (share,) = {float(x) for x in re.findall(r"at most ([\d.]+) % right", said)}
    assert right / 200 <= share / 100
    below = [one for one in CLASSES if one < share / 100 - 1e-9]
    assert not below or below[-1] < right / 200
    assert f"at most {share:.3g} are expected to be right" in said


def test_few_guesses_have_no_public_share():
    data = {"a": [1, 2] * 499, "t": ["x", "y"] * 499}
    few = text_of(public_audit_page(audit(data, data, ["a"], target=["t"]), title="T"))
    assert "fewer than 1,000 guesses not said" in few
    assert "% right" not in few.split("guess t")[1]
    assert "guesses of t" not in few
    data = {name: values + values[:2] for name, values in data.items()}
    found = audit(data, data, ["a"], target=["t"])
    many = text_of(public_audit_page(found, title="T"))
    assert "100 % right" in many
    assert ("guesses of t" in found.more_than_others) == ("guesses of t" in many)


@pytest.mark.parametrize("age", [31, 99])
def test_few_claims_are_not_told_apart_in_public(age):
    """A page about one record would tell whether its person was in the original."""
    data = {"age": [*range(20, 90)], "w": [3.0] * 70}
    found = audit(data, {"age": [age]}, ["age"], "w")
    assert (found.expected_right_claims > 0.5) == (age == 31)
    assert public_audit_page(found, title="T") == public_audit_page(
        audit(data, {"age": [40]}, ["age"], "w"), title="T"
    )


def test_the_public_page_says_what_is_more_than_beside_others(found, monkeypatch):
    monkeypatch.setattr("riskcore.report.audit_page._FEWEST_GUESSES", 100)
    said = text_of(public_audit_page(found, title="T"))
    more = found.more_than_others
    assert ("guesses of illness" in more) == (
        "more often" in said.split("guess ill")[1]
    )
    claims = said.split("claim that a record is a person")[1].split("guess")[0]
    assert ("claims" in more) == ("more often" in claims)
    ids = {"a": [*range(100)], "i": [*range(100)]}
    own = audit(ids, ids, ["a"], record_by="i")
    assert "not compared" in text_of(public_audit_page(own, title="T"))
