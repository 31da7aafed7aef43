"""Measure the fast paths of `individual_risk` before rounding, and who rounds at last.

    python -m bench.rounding_rates [cells [slow cells]]

For random cells of each region the table gives the largest error of the pair before
rounding, relative to r and to the bound of the rounding test, after a climb from the
worst cells. It counts the cells that fail this test, and those that the proven balls
leave undecided. Errors are differences from the balls' midpoints, which are good to
2^-99. A picture shows over f and p how many cells fail the test.

Another table sends cells to the slow steps of each function: how many need fixed point,
with how many words, and how long the slowest takes.
"""

import csv
import math
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import riskcore
from bench._common import RESULTS, command, given, origin, replace, table, timed
from bench.atlas import save
from bench.domains import RISK, near_zero_of_log
from bench.hard_cases import DATA, structured
from riskcore.core.compiled.jit import native
from riskcore.core.risk import individual
from riskcore.core.risk.bounds import risk_enclosure
from riskcore.core.special.gauss import ball_step, fixed_point_step
from riskcore.core.special.gauss import fast_integer as risk_pairs
from riskcore.core.special.gauss.fast_integer import (
    OTHER,
    P_FORWARD,
    P_HALF,
    P_NEAR_ONE,
    region,
)
from riskcore.core.special.gauss.risk_blocks import pair_of_region

NAMES = {
    risk_pairs.ONE: "f = 1, p < 0.75",
    risk_pairs.SMALL: "f = 2 to 4, p < 0.75",
    risk_pairs.FORWARD_15: "f = 5 to 15, p < 0.5",
    risk_pairs.NEAR_ONE: "f = 1 to 3, p >= 0.75",
    risk_pairs.LEVELS: "f = 4 to 15, p above these",
    risk_pairs.FROM_16: "16 <= f < 32",
    risk_pairs.FROM_32: "f >= 32",
    risk_pairs.LEVELS_REAL: "other f < 16, p >= 0.3 or 0.5",
    risk_pairs.FORWARD_REAL: "other f < 16, p < 0.3",
    risk_pairs.BACKWARD_REAL: "other f < 4, p >= 0.3",
}
CELLS = 1_000_000
CLIMBERS, STEPS = 200, 60

# Rows of the map, a name and the range of f; those of REAL take no integers.
REAL = {"f in (0, 0.5)": (0.01, 0.5), "f in (0.5, 1)": (0.5, 1.0),
        "f in (1, 2)": (1.0, 2.0), "f in (2, 4)": (2.0, 4.0),
        "f in (4, 16)": (4.0, 16.0)}  # fmt: skip
LARGE = {"[16, 32)": (16.0, 32.0), "[32, 128)": (32.0, 128.0),
         "[128, 1000)": (128.0, 1000.0), "[1000, 1e6)": (1000.0, 1e6)}  # fmt: skip
ROWS = {**REAL, **{f"{f}": (f, f) for f in range(1, 16)}, **LARGE}
COLUMNS = np.linspace(-16, 16, 97)  # edges, in log(p/q)
IN_A_FIELD = 200

# The slow steps of each function of f and a second argument.
SLOW_STEPS = {
    "individual_risk": ball_step.nearest_slow,
    "individual_risk_bounds": ball_step.sides_slow,
    "individual_risk_from_frequencies": ball_step.nearest_slow_of,
    "log_individual_risk": individual._log_risk_slow,
    "individual_risk_gradient": individual._gradient_slow,
}
SLOW_CELLS = 3000  # of a kind
LONGEST, AGAIN = 50, 20


@native("float64*, float64*, float64*, float64*, float64*, float64*, int64")
def pairs_of(
    f: Any, p: Any, where: Any, high: Any, low: Any, error: Any, n: int
) -> None:
    """Fill in the regions of cells, and their pairs and bounds."""
    for i in range(n):
        w = region(f[i], p[i])
        where[i] = w
        high[i] = low[i] = error[i] = math.nan
        if w < OTHER:
            high[i], low[i], error[i] = pair_of_region(w, f[i], p[i])


def samples(which, n, rng):
    """Return cells of a region, and some of others: log-uniform, even and near 1."""
    top = {risk_pairs.FROM_32: 1e6, risk_pairs.FROM_16: 32.0}.get(which, 16.0)
    bottom = {risk_pairs.FROM_32: 32.0, risk_pairs.FROM_16: 16.0}.get(which, 0.01)
    real = which in {
        risk_pairs.LEVELS_REAL, risk_pairs.FORWARD_REAL, risk_pairs.BACKWARD_REAL
    }  # fmt: skip
    if real:
        f = rng.uniform(bottom, top, n)
    elif bottom > 1:
        f = np.floor(np.exp(rng.uniform(np.log(bottom), np.log(top), n)))
    else:
        f = rng.integers(1, 16, n).astype(float)
    kind = rng.integers(0, 3, n)
    p = np.choose(
        kind,
        [
            rng.uniform(0, 1, n),
            np.exp(rng.uniform(np.log(1e-6), 0, n)),
            1 - np.exp(rng.uniform(np.log(1e-12), 0, n)),
        ],
    )
    return f, p.clip(1e-300, 1)


def evaluate(f, p):
    """Return regions, pairs, bounds, and errors relative to r."""
    columns = [np.empty(len(f)) for _ in range(4)]
    pairs_of(f, p, *columns, len(f))
    where, high, low, error = columns
    exact, exact_low, _, n = risk_enclosure(f, p)
    missed = np.abs((high - exact) + (low - exact_low)) / exact
    missed[np.asarray(n) != 0] = 0
    return where, high, low, error, missed


def climb(which, f, p, rng):
    """Return the largest error and the largest share of the bound near some cells."""
    real = which >= risk_pairs.LEVELS_REAL
    best = np.zeros(len(f))
    for step in range(STEPS):
        size = 2.0 ** -rng.uniform(5, 50 - 20 * (step % 2), len(f))
        x = f * (1 + size * rng.uniform(-1, 1, len(f))) if real else f
        y = p * (1 + size[::-1] * rng.uniform(-1, 1, len(f)))
        where, high, _, error, missed = evaluate(x, y.clip(1e-300, 1))
        share = np.where(where == which, missed * high / error, 0)
        better = share > best
        best = np.where(better, share, best)
        f, p = np.where(better, x, f), np.where(better, y, p)
    return f, p, best


def row(which, n):
    rng = np.random.default_rng(which)
    f, p = samples(which, 6 * n, rng)
    columns = [np.empty(len(f)) for _ in range(4)]
    pairs_of(f, p, *columns, len(f))
    chosen = np.flatnonzero(columns[0] == which)[:n]
    f, p = f[chosen], p[chosen]
    _, high, low, error, missed = evaluate(f, p)
    share = missed * high / error
    first = np.argsort(share)[-CLIMBERS:]
    x, y, best = climb(which, f[first], p[first], rng)
    worst = best.argmax()
    failed = np.flatnonzero(high + (low - error) != high + (low + error))
    at_last = without_balls(f[failed], p[failed])
    return [
        NAMES[which], f"{len(f):,}", f"2^{np.log2(missed.max()):.1f}",
        f"{max(share.max(), best[worst]):.2f}",
        f"{float(x[worst]):.6g}, {float(y[worst]):.6g}",
        f"{100 * len(failed) / len(f):.3f} %", f"{at_last}",
    ]  # fmt: skip


def without_balls(f, p):
    """Return how many cells the balls leave to exact arithmetic."""
    if len(f) == 0:
        return 0
    high, low, radius, _ = map(np.asarray, risk_enclosure(f, p))
    up, down = np.nextafter(high, np.inf) - high, high - np.nextafter(high, 0)
    return int((~((low + radius < up / 2) & (radius - low < down / 2))).sum())


def fields():
    """Return the share of cells that fail the test, by row and column of the map."""
    rng = np.random.default_rng(1)
    shares = []
    for name, (low, high) in ROWS.items():
        n = (len(COLUMNS) - 1) * IN_A_FIELD
        f = np.exp(rng.uniform(math.log(low), math.log(high), n))
        f = f if name in REAL else np.round(f)
        odds = np.repeat(COLUMNS[:-1], IN_A_FIELD) + rng.uniform(0, 1, n) / 3
        p = 1 / (1 + np.exp(-odds))
        columns = [np.empty(n) for _ in range(4)]
        pairs_of(f, p, *columns, n)
        _, first, _, error = columns
        shares.append((2 * error / np.spacing(first)).reshape(-1, IN_A_FIELD).mean(1))
    return np.array(shares)


def draw_map(shares):
    figure = Figure((8.6, 6.2), layout="constrained")
    axes = figure.subplots()
    mesh = axes.pcolormesh(
        COLUMNS, np.arange(len(ROWS) + 1), shares, rasterized=True,
        cmap="viridis_r", norm=LogNorm(1e-5, 1e-2),
    )  # fmt: skip
    for cut in (P_FORWARD, P_HALF, P_NEAR_ONE):
        axes.axvline(math.log(cut / (1 - cut)), color="0.3", lw=0.6, ls=":")
    marks = [1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999, 1 - 1e-6]
    labels = ["1e-6", "1e-4", "0.01", "0.1", "0.5", "0.9", "0.99", "0.9999", "1 - 1e-6"]
    axes.set_xticks([math.log(p / (1 - p)) for p in marks], labels)
    axes.set_yticks(np.arange(len(ROWS)) + 0.5, ROWS)
    axes.set(xlabel="sampling fraction p", ylabel="sample frequency f")
    bar = figure.colorbar(mesh, ax=axes, extend="both")
    bar.set_label("share of the cells that the fast path leaves to the next step")
    return save(figure, "slower-steps")


def hard(name):
    """Return the points of a file as f and p."""
    with DATA.with_name(f"{name}.csv").open() as lines:
        rows = [*csv.DictReader(line for line in lines if line[0] != "#")]
    return [[float.fromhex(row[name]) for row in rows] for name in ("f", "p")]


def slow_cells(n):
    """Return n cells of each kind, as rows of f and p."""
    rng = np.random.default_rng(1)
    forms = [np.stack(family) for family in structured().values()]
    return {
        "of all regions": np.concatenate(
            [np.stack(draw(rng, n // len(RISK))) for draw in RISK.values()], axis=1
        ),
        "few bits, or next to powers of two": np.concatenate(
            [rng.choice(family, n // len(forms), axis=1) for family in forms], axis=1
        ),
        "f < 1, r next to 1": np.stack(near_zero_of_log(rng, n)),
        "next to midpoints and doubles": np.concatenate(
            [hard("hard_cases"), hard("near_doubles")], axis=1
        ),
    }


def words_of(slow, f, x):
    """Return how many words in fixed point each cell takes, 0 if balls decide it."""
    tried, found, risk_in_words = [], [], fixed_point_step.risk_in_words

    def counted(z, f, a, b, n):
        tried.append(n)
        return risk_in_words(z, f, a, b, n)

    fixed_point_step.risk_in_words = counted
    for cell in zip(f.tolist(), x.tolist(), strict=True):
        tried[:] = [0]
        slow(*cell)
        found.append(max(tried))
    fixed_point_step.risk_in_words = risk_in_words
    return np.array(found)


def slowest(function, f, x):
    """Return the seconds that the slowest cell takes, and the cell."""

    def seconds(i, rounds):
        return min(timed(lambda: function(f[i], x[i]))[1] for _ in range(rounds))

    first = np.argsort([seconds(i, 2) for i in range(len(f))])[-LONGEST:]
    return max((seconds(i, AGAIN), f[i], x[i]) for i in first)


def slow_rows(n):
    """Yield a row of the table for each function and kind of cells."""
    for name, slow in SLOW_STEPS.items():
        for kind, (f, p) in slow_cells(n).items():
            with np.errstate(over="ignore"):
                F = np.maximum(f, f / p)
            x = F if slow is ball_step.nearest_slow_of else p
            words = words_of(slow, f, x)
            counts = [(words > 0).sum(), (words == 12).sum(), (words == 37).sum()]
            taken, *at = slowest(getattr(riskcore, name), f, x)
            cell = f"`{at[0].hex()}`, `{at[1].hex()}`"
            numbers = [f"{len(f):,}", *map(str, counts), f"{1e6 * taken:.1f}"]
            yield [name, kind, *numbers, cell]


def main():
    n, few = given(CELLS, SLOW_CELLS)
    header = ["region", "cells", "largest error", "of its bound", "at f, p"]
    header += ["fail the test", "and the balls'"]
    rows = [row(which, n) for which in NAMES]
    shares = fields()
    text = f"""\
`{command()}`

{table(header, rows)}

![Share of the cells that fail the test]({draw_map(shares)})

The picture shows which share of the cells fails the test, as the bound of each cell
tells it: a midpoint of two doubles lies within. At most {100 * shares.max():.2f} % fail
in a field. Dotted are the cuts between the methods at p = {P_FORWARD}, {P_HALF} and
{P_NEAR_ONE}."""
    print(text)
    page = RESULTS / "correct_rounding.md"
    replace(page, "rounding_rates", text)
    header = ["function", "cells", "number", "in fixed point", "12 words", "37 words"]
    slow = table([*header, "slowest, microseconds", "at"], [*slow_rows(few)], texts=2)
    replace(page, "slow_cells", f"{origin('numpy')}\n\n{slow}")


if __name__ == "__main__":
    main()
