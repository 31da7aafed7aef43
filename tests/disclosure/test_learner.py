"""Sure guesses by a learner: by hand, by another forest, and about copies."""

import math

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from riskcore import audit
from riskcore.disclosure.learner import is_sure


def learned(original, released, keys, holdout=None, **options):
    options = {"target": ["t"], "population": "weights", **options}
    (found,) = audit(original, released, keys, holdout=holdout, **options).learned
    return found


def drawn(rng, n):
    """Return records whose target follows two keys, and a number that follows one."""
    a, b = rng.integers(0, 30, n), rng.integers(0, 6, n)
    t = np.array([*"uvwx"])[(a // 10 + b // 2 + rng.integers(0, 2, n)) % 4]
    return {"a": a, "b": b, "t": t, "pay": np.exp(a / 20 + 0.3 * rng.normal(size=n))}


@pytest.mark.parametrize(
    ("chances", "share", "sure"),
    [
        # The examples of Templ, Thees and Müller (2026), and of their package.
        ([0.70, 0.85, 0.55], 0.60, [False, True, False]),
        ([0.30, 0.60, 0.35, 0.40], 0.18, [False, True, False, False]),
        ([0.85, 0.87, 0.84, 0.86], 0.18, [True, True, True, True]),
        ([0.0, 0.31], 0.0, [False, True]),  # a value that nobody of the original has
        ([1.0], 1.0, [False]),  # one that all have
    ],
)
def test_sure_is_far_above_the_share(chances, share, sure):
    chances = np.array(chances)
    assert is_sure(chances, np.full(len(chances), share)).tolist() == sure


def test_values_by_hand():
    # With a single key the chances are the shares among the released records with it.
    released = {"a": ["p"] * 1000 + ["q"] * 1000,
                "t": ["x"] * 900 + ["y"] * 100 + ["x"] * 350 + ["y"] * 650}  # fmt: skip
    original = {"a": ["p"] * 60 + ["q"] * 40,
                "t": ["x"] * 45 + ["y"] * 15 + ["x"] * 15 + ["y"] * 25}  # fmt: skip
    # Shares 0.6 and 0.4: sure are x given p, (0.9 - 0.6)/0.4 = 0.75, and y given q,
    # (0.65 - 0.4)/0.6 = 0.42.
    found = learned(original, released, ["a"])
    assert (found.guessed, found.right) == (100, 45 + 25)
    assert (found.by, found.guessed_there) == ("", 0)
    assert math.isnan(found.excess)
    other = {"a": ["p", "q", "r", "p"], "t": ["x", "x", "z", None]}
    found = learned(original, released, ["a"], other)
    assert (found.guessed_there, found.right_there) == (3, 1)
    assert found.excess == pytest.approx(0.7 - 1 / 3)


def test_numbers_by_hand():
    def around(value, n=400):
        return np.linspace(0.9 * value, 1.1 * value, n)

    released = {"a": np.repeat([1, 2], 400),
                "t": np.concatenate([around(100.0), around(-7.0)])}  # fmt: skip
    original = {"a": [1, 1, 1, 1, 2, 2, 2, 1],
                "t": [80.0, 93.0, 109.0, 115.0, -7.2, -6.1, 7.0, math.nan]}  # fmt: skip
    found = learned(original, released, ["a"])  # within 10 % of the truth
    assert (found.guessed, found.right) == (7, 3)


def test_like_another_forest():
    rng = np.random.default_rng(4)
    n = 800
    original, released = drawn(rng, n), drawn(rng, n)
    known = {"keys": ["a", "b"], "numeric": ["pay"]}
    x, asked = (
        np.column_stack([data[name] for name in ("a", "b", "pay")])
        for data in (released, original)
    )
    # It counts the records of a node once, however often they were drawn.
    forest = RandomForestClassifier(300, min_samples_split=8, random_state=0)
    chances = forest.fit(x, released["t"]).predict_proba(asked)
    truth = np.searchsorted(forest.classes_, original["t"])
    share = np.bincount(truth)[truth] / n
    gain = (chances[np.arange(n), truth] - share) / (1 - share)
    found = learned(original, released, **known)
    assert found.share == pytest.approx(np.mean(gain > 0.3), abs=0.02)


def test_copies_are_told_and_fresh_records_are_not():
    rng = np.random.default_rng(5)
    original, holdout, fresh = (drawn(rng, n) for n in (1500, 1000, 1500))
    copied, new = (
        audit(original, released, ["a", "b"], target=["t"], holdout=holdout)
        for released in (original, fresh)
    )
    name = "guesses of t by a learner"
    assert name in copied.more_than_others
    assert name in copied.verdict
    assert new.learned[0].excess_interval()[0] < 0.0
    assert name not in new.more_than_others
    limit = copied.attributes[0].excess  # of the guesses by the keys, which are fewer
    assert copied.learned[0].excess > limit
    assert not copied.check(max_guess_excess=limit).passed
    assert "Sure guesses by a learner" in copied.text()


def test_categories_and_values_of_one_file_alone():
    original = {"a": ["p", "q", None, "r"], "t": ["x", "y", "x", None]}
    released = {"a": ["p", "s", None], "t": ["z", None, "x"]}
    holdout = {"a": [None, "u"], "t": ["w", "x"]}
    found = learned(original, released, ["a"], holdout, missing="category")
    assert (found.guessed, found.guessed_there) == (3, 2)
    nobody = {"a": ["p"], "t": [None]}
    for pair in ((original, nobody), (nobody, released)):
        found = learned(*pair, ["a"], holdout)
        assert (found.guessed, found.guessed_there) == (0, 0)
        assert found.row()[1:] == ["0", "-", "-", "-", "- to -"]


def test_without_the_library_a_line_says_so(monkeypatch):
    data = drawn(np.random.default_rng(6), 80)
    options = {"target": ["t", "pay"], "sampling_fraction": 0.1}
    with_it = audit(data, data, ["a"], **options).to_dict()
    monkeypatch.setattr("riskcore.disclosure.learner.find_spec", lambda _: None)
    without = audit(data, data, ["a"], **options)
    (note,) = [x for x in without.notes if "learner" in x]
    assert "pip install scikit-learn" in note
    assert "learner" in without.text()
    figures = without.to_dict()
    assert figures.pop("learned") == []
    assert len(with_it.pop("learned")) == 2
    figures["notes"].remove(note)
    assert figures == with_it
    assert not any("learner" in x for x in audit(data, data, ["a"]).notes)


def test_large_files_are_learned_in_part(monkeypatch):
    monkeypatch.setattr("riskcore.disclosure.learner.MOST", 50)
    rng = np.random.default_rng(7)
    found = audit(drawn(rng, 60), drawn(rng, 40), ["a"], target=["t"])
    assert found.learned[0].guessed == 50
    assert "the learner of t takes 50 records of each file" in found.notes


def test_the_library_is_loaded_for_targets_alone(python):
    code = (
        "import sys, riskcore; data = dict(a=[1, 2], t=['u', 'v']); "
        "riskcore.audit(data, data, ['a'], target={}); print('sklearn' in sys.modules)"
    )
    assert python(code.format([])) == "False"
    assert python(code.format(["t"])) == "True"
