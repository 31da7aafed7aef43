"""Rules of treatments: words, what is refused, what is told to the public."""

from dataclasses import replace

import numpy as np
import pytest

from riskcore.protection.treatments.rules import (
    KINDS,
    Treatment,
    parsed_treatments,
    percent_of,
    shown_percent,
    uniform,
)

RULES = [
    "top:50000", "top:1%", "top:5n", "top:1%=mean", "top:2.5%=999", "top:-3.5=0",
    "bottom:0", "bottom:29%", "bottom:5n=-1", "round:100", "round:0.05",
    "round:2digits", "round:100:unbiased", "round:3digits:unbiased",
    "bands:0,1000,2000", "bands:0,1000=mean", "bands:0,10=1,2,3", "bands:5",
    "microaggregate:3", "microaggregate:5:within=REGION+SEX", "swap:5%",
    "swap:0.1%:within=REGION", "noise:10%", "noise:150%:correlated",
    "pram:0.8", "pram:0:invariant", "pram:0.25:invariant:within=AREA+SEX",
    "swap-areas:2%", "swap-areas:0.5%:within=SIZE+AGE", "round-weights:10",
    "round-weights:0.5:within=A+B", "share-weights:5", "share-weights:1:within=A",
    "shift:365", "shift:90:dmy:within=A+B", "rake:sex,f,510;sex,m,490.5",
]  # fmt: skip


@pytest.mark.parametrize("words", RULES)
def test_a_rule_comes_back_from_its_words(words):
    rule = Treatment.of("x", words)
    assert str(rule) == words
    assert Treatment.of("x", rule) is rule
    assert Treatment.of("x", str(rule)) == rule
    assert hash(Treatment.of("x", str(rule))) == hash(rule)


def test_every_kind_is_tried_here():
    assert {words.partition(":")[0] for words in RULES} == set(KINDS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("topp:5", "'topp' is not a rule; use bands"),
        ("", "'' is not a rule; use"),
        ("top", "'' is not a limit such as 50000, 1% or 5n"),
        ("top:1_000", "'1_000' is not a limit"),
        ("top:inf", "'inf' is not a limit"),
        ("top:nan", "is not the number of records"),
        ("top:1e999", "need a finite number"),
        ("top:0%", "share=0 %: need a share above 0 % and below 100 %"),
        ("top:100%", "below 100 %"),
        ("top:0n", "records=0: need a whole number of at least 1"),
        ("top:-5n", "'-5' is not the number of records"),
        ("top:2n=mean", "the mean of 2 records tells too much"),
        ("top:5n=median", "'median' is not a code, mean or limit"),
        ("top:5n=", "'' is not a code"),
        ("top:5:within=A", "use numbers"),
        ("round:0", "need a number above 0"),
        ("round:-5", "need a number above 0"),
        ("round:0digits", "digits=0: need a whole number of at least 1"),
        ("round:16digits", "need 1 to 15 digits"),
        ("round:100:biased", "option 'biased': use unbiased"),
        ("round:100:unbiased=1", "takes no value"),
        ("round:100:unbiased:unbiased", "is given twice"),
        ("bands:", "'' is not a break"),
        ("bands:2,1", "in increasing order"),
        ("bands:1,1", "in increasing order"),
        ("bands:1,2=1,2", "2 breaks make 3 bands, two of them open, but there are 2"),
        ("microaggregate:1", "k=1: need a whole number of at least 2"),
        ("microaggregate:3.5", "'3.5' is not the size of a group"),
        ("microaggregate:3:within=", "need different names of columns"),
        ("microaggregate:3:within=A+A", "need different names of columns"),
        ("swap:5", "'5' is not a share such as 5%"),
        ("swap:120%", "below 100 %"),
        ("noise:0%", "need a share above 0 %"),
        ("noise:1000%", "below 1000 %"),
        ("noise:", "'' is not a share"),
        ("pram", "is not a probability such as 0.8"),
        ("pram:1", "1: need a probability in [0, 1)"),
        ("pram:-0.1", "need a probability"),
        ("pram:0.8:invariant=yes", "takes no value"),
        ("pram:0.8:alpha=0.5", "use invariant or within"),
        ("swap-areas", "'' is not a share such as 5%"),
        ("swap-areas:2", "'2' is not a share"),
        ("swap-areas:0%", "need a share above 0 %"),
        ("round-weights:0", "need a number above 0"),
        ("round-weights", "'' is not a base such as 10"),
        ("share-weights:0", "need a whole number of at least 1"),
        ("share-weights:a", "'a' is not a number of classes"),
        ("rake:area,a", "need a column, a category and its total"),
        ("rake:area,a,x;area,b,1", "total 1: need a column, a category and its"),
        ("rake:area,a,1;area,a,2", "area a appears twice"),
    ],
)
def test_words_that_are_no_rule_are_refused_with_the_column(words, message):
    with pytest.raises(ValueError, match=r"^treat income=") as caught:
        Treatment.of("income", words)
    assert message in str(caught.value)


@pytest.mark.parametrize("given", [None, 5, ["round:100"], b"round:100"])
def test_only_words_are_a_rule(given):
    with pytest.raises(TypeError, match="treat x: need a rule in words"):
        Treatment.of("x", given)


def test_the_public_phrase_tells_no_number_that_may_come_from_the_data():
    for words in ("top:48213.5=1", "bottom:48213.5", "bands:48213.5,50000"):
        rule = Treatment.of("x", words)
        assert "48213.5" in rule.describe(public=False)
        assert "48213.5" not in rule.describe(public=True)
    for words in ("swap:7.5%", "swap-areas:7.5%:within=A"):
        rule = Treatment.of("x", words)
        assert "7.5" in rule.describe(public=False)
        assert "7.5" not in rule.describe(public=True)
    assert "48213.5" not in Treatment.of("x", "top:1%=48213.5").describe(public=True)


def test_what_may_be_false_and_what_is_random():
    kinds = {words: Treatment.of("x", words) for words in RULES}
    alters = {words for words, rule in kinds.items() if rule.alters}
    assert alters == {
        words
        for words in RULES
        if words.startswith(("microaggregate", "swap", "noise", "pram", "round-"))
        or words.startswith("shift")
        or "unbiased" in words
    }
    assert {words for words, rule in kinds.items() if rule.random} == {
        words for words in alters if not words.startswith("microaggregate")
    }


def test_columns_are_joined_by_a_plus_unless_a_column_has_that_name():
    columns = ["a", "b", "a+b"]
    rule = Treatment.of("a", "microaggregate:3")
    assert parsed_treatments({"a+b": rule}, columns) == {("a+b",): (rule,)}
    assert parsed_treatments({"b+a": rule}, columns) == {("b", "a"): (rule,)}
    assert parsed_treatments({("a", "b"): rule}, columns) == {("a", "b"): (rule,)}


def test_rules_of_a_list_keep_their_order():
    found = parsed_treatments({"a": ["top:1%", "round:10"]}, ["a"])
    assert [str(rule) for rule in found[("a",)]] == ["top:1%", "round:10"]


@pytest.mark.parametrize(
    ("treat", "message"),
    [
        ({"a": "swap:5%:within=a"}, "a cannot be a stratum as well"),
        ({"a+b": "round:10"}, "this rule takes one column"),
        ({"a+b": "noise:10%"}, "this rule takes one column"),
        ({"a": "noise:10%:correlated"}, "this rule takes at least 2 columns"),
        ({"a": "round:10", "a+b": "microaggregate:3"}, "a stands in two keys"),
        ({"a+a": "microaggregate:3"}, "a stands in two keys"),
        ({"a": ["round:10", "rund:10"]}, "'rund' is not a rule"),
    ],
)
def test_treatments_that_do_not_fit_the_file_are_refused(treat, message):
    with pytest.raises(ValueError, match="treat") as caught:
        parsed_treatments(treat, ["a", "b"])
    assert message in str(caught.value)


def test_treat_is_a_mapping():
    with pytest.raises(TypeError, match="need a mapping of columns to rules"):
        parsed_treatments(["a=round:10"], ["a"])


def test_shares_come_back_from_percent():
    rng = np.random.default_rng(1)
    for share in [0.01, 0.29, 0.07, 1e-5, *rng.random(500), *rng.random(100) / 1e9]:
        assert percent_of(shown_percent(share)) == share


def test_a_changed_rule_is_checked_again():
    with pytest.raises(ValueError, match="k=0"):
        replace(Treatment.of("x", "microaggregate:3"), k=0)


def test_uniform_numbers_never_reach_their_ends():
    ends = uniform(np.array([0, 2**64 - 1], np.uint64))
    assert 0.0 < ends[0] < 2.0**-52
    assert 1.0 - 2.0**-52 < ends[1] < 1.0


@pytest.mark.parametrize(
    ("words", "private", "public"),
    [
        (
            "top:1%",
            "top coding: the largest 1 % of the values become the limit",
            "top coding: the largest 1 % of the values become the limit",
        ),
        (
            "bottom:5n=mean",
            "bottom coding: the 5 smallest values become their mean",
            "bottom coding: the 5 smallest values become their mean",
        ),
        (
            "top:1n",
            "top coding: the largest value becomes the limit",
            "top coding: the largest value becomes the limit",
        ),
        (
            "bottom:5=-1",
            "bottom coding: values below 5 become one code",
            "bottom coding: values below a limit become one code",
        ),
        ("round:100", "rounded to multiples of 100", "rounded to multiples of 100"),
        (
            "round:1digits:unbiased",
            "rounded to 1 significant digit, unbiased at random",
            "rounded to 1 significant digit, unbiased at random",
        ),
        (
            "bands:0,10=mean",
            "in 3 bands with the breaks 0, 10, each value the mean of its band",
            "in 3 bands, each value the mean of its band",
        ),
        (
            "microaggregate:3:within=A+B",
            "the mean of groups of at least 3 similar records within A, B",
            "the mean of groups of at least 3 similar records within A, B",
        ),
        (
            "swap:5%",
            "exchanged with a record of similar rank, at most 5 % of the ranks away",
            "exchanged with a record of similar rank",
        ),
        (
            "noise:10%:correlated",
            "with noise of 10 % of the standard deviation, zeros kept, means and "
            "covariances kept",
            "with noise of 10 % of the standard deviation, zeros kept, means and "
            "covariances kept",
        ),
        (
            "pram:0.25:invariant:within=A",
            "post-randomized in two steps, kept with 0.25 within A",
            "post-randomized",  # who knows the matrix can undo it on average
        ),
        (
            "round-weights:0.5:within=A",
            "rounded to multiples of 0.5, keeping the sum",
            "rounded to multiples of 0.5, keeping the sum",
        ),
        (
            "share-weights:5",
            "replaced by the means of 5 classes",
            "replaced by the means of 5 classes",
        ),
        (
            "share-weights:1:within=A",
            "replaced by the mean within A",
            "replaced by the mean within A",
        ),
    ],
)
def test_phrases_of_the_reports(words, private, public):
    rule = Treatment.of("x", words)
    assert rule.describe(public=False) == private
    assert rule.describe(public=True) == public
