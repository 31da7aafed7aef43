"""Many sets of keys: said once, listed from the worst, and the worst shown in full."""

import re
from itertools import combinations

import numpy as np
import pytest

from riskcore import protect
from riskcore.report.key_sets import MOST_PAGES, set_rows, sets_with_pages, worst_first
from riskcore.report.page import protection_page
from riskcore.report.public_page import public_protection_page
from tests.accepted import ANY_LEAK
from tests.report.reading import table_of

KEYS = ["a", "b", "c", "d", "e", "f"]


def survey(n=400):
    random = np.random.default_rng(3)
    data = {
        name: [f"{v}" for v in np.minimum(random.geometric(0.3, n), 3 + i)]
        for i, name in enumerate(KEYS)
    }
    return {**data, "w": np.round(random.uniform(2, 60, n), 2)}


@pytest.fixture(scope="module")
def safe():
    """Return a file that is safe from 15 sets of keys."""
    return protect(survey(), KEYS, "w", k=3, subsets=2, **ANY_LEAK)


@pytest.fixture(scope="module")
def unsafe():
    """Return one of which no key may be blanked."""
    never = dict.fromkeys(KEYS, np.inf)
    return protect(survey(), KEYS, "w", k=9, subsets=2, cost=never)


def test_the_same_is_said_once(safe, unsafe):
    assert safe.goals_met
    assert safe.verdict.startswith(
        "Safe except for 1 accepted leak. With each of 15 sets of keys, no "
        "record has a frequency f below 3 ("
    )
    assert safe.verdict.count("With ") == 1
    lost = max(one.without_keys for one in safe.sets)
    assert lost > 0
    records = "1 record has" if lost == 1 else f"{lost} records have"
    assert f"; but up to {records} lost all keys of one of them." in safe.verdict
    assert "; but fewer than 10 records have lost" in safe.judgment.on_goals_in_public
    known = "The intruder is taken to know one of these sets of keys."
    assert known in public_protection_page(safe)
    # Of those that are not safe the three with most records, in full.
    left = {one.keys: int(one.unsafe.sum()) for one in unsafe.sets}
    bad = sorted(filter(None, left.values()), reverse=True)
    assert len(bad) > 3
    assert [
        int(count)
        for count in re.findall(r"With the keys \w x \w, (\d+) of", unsafe.verdict)
    ] == bad[:3]
    assert (
        f"With {len(bad) - 3} more sets of keys, the goals are not met."
        in unsafe.verdict
    )
    good = len(left) - len(bad)
    assert len(re.findall("With .*?, no ", unsafe.verdict)) == (good > 0)


def test_a_set_by_which_a_household_alone_is_unsafe_is_not_called_safe():
    data = {**survey(), "hh": list(range(200)) * 2}
    never = dict.fromkeys(KEYS[:4], np.inf)
    result = protect(
        data, [*map(list, combinations(KEYS[:4], 2))], "w", "hh",
        household_threshold=0.01, cost=never,
    )  # fmt: skip
    assert not result.goals_met
    unsafe = [one for one in result.sets if not one.safe]
    assert any(not one.safe for one in unsafe)
    assert len(re.findall(r"With [\w ]+, [\d,]+ of ", result.verdict)) == min(
        len(unsafe), 3
    )


def test_the_worst_set_comes_first(unsafe):
    sets = unsafe.to_dict()["sets"]
    order = worst_first(sets)
    assert sorted(order) == list(range(15))
    care = [
        (
            sets[i]["risk"]["protected"]["unsafe_records"],
            sets[i]["risk"]["original"]["unsafe_records"],
            sets[i]["risk"]["protected"]["max_risk"],
        )
        for i in order
    ]
    assert care == sorted(care, reverse=True)
    assert order != list(range(15))
    rows = set_rows(sets)
    assert rows[1][0] == " x ".join(sets[order[0]]["keys"])
    assert [int(row[3]) for row in rows[1:]] == [one[0] for one in care]


def test_of_many_sets_the_worst_have_pages(unsafe, tmp_path):
    unsafe.report(tmp_path / "r.html")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"r.html", *(f"r-{i}.html" for i in range(2, MOST_PAGES + 1))}
    order = worst_first(unsafe.to_dict()["sets"])
    assert sets_with_pages(unsafe) == order[:MOST_PAGES]
    first = (tmp_path / "r.html").read_text()
    keys = " x ".join(f"<bdi>{key}</bdi>" for key in unsafe.sets[order[0]].keys)
    assert f"key variables {keys}." in first
    rows = table_of(first, "All sets of keys")
    assert [row[-1] for row in rows[1:]] == [
        "this", *map(str, range(2, MOST_PAGES + 1)), *[""] * 5,
    ]  # fmt: skip
    assert "the last 5 sets have no report" in first
    last = table_of((tmp_path / f"r-{MOST_PAGES}.html").read_text(), "All sets of keys")
    assert last[MOST_PAGES][-1] == "this"


def test_few_sets_are_each_named_and_have_pages_in_their_order():
    result = protect(survey(), KEYS[:3], "w", k=3, subsets=2, **ANY_LEAK)
    names = re.findall(r"With the keys (\w x \w), no ", result.verdict)
    assert names == ["a x b", "a x c", "b x c"]
    assert sets_with_pages(result) == [0, 1, 2]
    rows = table_of(protection_page(result, title="T", keys=1), "All sets of keys")
    assert len(rows) == 4
    (this,) = (row for row in rows[1:] if row[-1] == "this")
    assert this[0] == "a x c"


def test_the_public_page_has_three_charts_and_all_sets(safe):
    text = public_protection_page(safe)
    assert len(re.findall("<figure>", text)) == 3
    same = dict(table_of(text, "Figures that are the same")[1:])
    assert same["Records"] == "400"
    own = table_of(text, "Figures of the file, rounded, for each")
    classes = table_of(text, "Records by class")
    assert {*same} & {*own[0]} == set()
    for rows in (own, classes):
        assert len(rows) == 16
        assert {row[0].split(": ")[1] for row in rows[1:]} == {
            f"{x} x {y}" for x, y in combinations(KEYS, 2)
        }
    # The order is that of what is shown, and of nothing else.
    counts = [[int(x.replace(",", "")) for x in row[1:]] for row in classes[1:]]
    assert all(sum(row) == 400 for row in counts)
    ranks = [row[::-1] for row in counts]
    assert ranks == sorted(ranks, reverse=True)
    numbers = [int(row[0].split(":")[0]) for row in classes[1:]]
    for (rank, number), (then, other) in zip(
        zip(ranks, numbers, strict=True), [*zip(ranks, numbers, strict=True)][1:],
        strict=False,
    ):  # fmt: skip
        assert rank > then or number < other
    drawn = re.findall(r"Records by individual risk, keys (\d+)", text)
    assert [*map(int, drawn)] == sorted(numbers[:3])
