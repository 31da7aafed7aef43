"""Every figure of the evidence stands in a table, with a test that there is."""

import re
from pathlib import Path

import numpy as np

import riskcore

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "bench/results/figures_of_evidence.md").read_text()
# Where names of columns stand between the names of figures.
NAMED = re.compile(r"(attributes)\.[^.]+")


def rows():
    for line in TABLE.splitlines():
        cells = [one.strip() for one in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].startswith("`"):
            yield re.findall(r"`([^`]+)`", cells[0]), cells[3].strip("`")


def figures_of(data, at=""):
    """Yield the names of all figures in plain data, with those that hold them."""
    if isinstance(data, dict) and data and not at.endswith(".shown"):
        for name, one in data.items():
            yield from figures_of(one, f"{at}.{name}" if at else name)
    elif isinstance(data, list) and any(isinstance(one, dict) for one in data):
        for one in data:
            yield from figures_of(one, at)
    elif data:
        yield NAMED.sub(lambda found: found[1], at)


def examined(seed=1, n=900):
    """Return the figures of a file with everything that can be examined."""
    rng = np.random.default_rng(seed)
    data = {
        "sex": rng.choice(["f", "m", "x"], n, p=[0.6, 0.395, 0.005]),
        "age": rng.integers(0, 9, n),
        "sick": rng.choice(["y", "n"], n),
        "income": np.round(rng.lognormal(10, 1, n)),
        "debts": np.round(rng.lognormal(8, 1, n)),
    }
    result = riskcore.protect(
        data, ["sex", "age"], k=3, treat={"income": "noise:10%"}, secret="1" * 64,
        roles={"sick": "sensitive", "income": "numeric", "debts": "numeric"},
    )  # fmt: skip
    return result.examination.to_dict()


def test_every_figure_is_in_the_table():
    found = set(figures_of(examined()))
    assert {"number_links.right", "number_links.chance"} <= found
    known = {name for names, _ in rows() for name in names}
    assert found - known - {"number_links", "leaks"} == set()


def test_every_test_of_the_table_is_there():
    named = [test for _, test in rows()]
    assert len(named) > 10
    for test in named:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / "tests" / file).read_text(), test
