"""The thesis on the Dirichlet-multinomial estimate of tau: tables 3.6 and 4.1 to 4.4.

Its samples are 30 % of the population. It prints one run of each simulation; here the
simulations are repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench._reproduce import thesis_figures
from bench._reproduce.comparison import (
    Comparison,
    Row,
    bounds,
    exact,
    lacking,
    simulated,
    within,
)
from riskcore.models import DirichletMultinomial, SizeIndices
from riskcore.simulate import populations, samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TITLE = "Thesis on the Dirichlet-multinomial model"
SHARE = 0.3

# Table 3.6: population cells with 2, 1 and 3 people.
_SIZES_OF_CELLS = {1: "1469", 2: "1728", 3: "1440"}

# Table 4.1: alpha, tau_1, tau, difference.
_SURVEY = (
    ("0.0254", "87.58", "84", "3.58"),
    ("0.023", "93.29", "97", "-3.71"),
    ("0.034", "88.29", "95", "-6.71"),
    ("0.031", "84.28", "91", "-6.72"),
    ("0.019", "92.38", "94", "-1.62"),
)
_N, _K, _UNIQUES = 3_000_000, 8640, 292  # its survey, and the sample uniques of row 1
_CATEGORIES = (2, 10, 4, 6, 2, 3, 3)
_NO_DATA = "the extract is not published"

# Table 4.2: population and sample uniques by the exponent s.
ZIPF_N, ZIPF_K = 100_000, 10_000
_ZIPF_UNIQUES = {
    0.2: ("14", "1529"), 0.5: ("82", "2230"), 0.7: ("456", "2642"),
    0.9: ("1456", "2885"), 1.2: ("2647", "1930"), 1.5: ("1235", "664"),
    2.0: ("185", "126"),
}  # fmt: skip
# Table 4.3: alpha, tau_1, tau, difference by the exponent s.
ZIPF_TAU = {
    0.5: ("1.97", "59.65", "24", "35.65"),
    0.7: ("0.83", "303.39", "137", "166.39"),
    0.9: ("0.48", "558.52", "444", "114.48"),
    0.99: ("0.25", "607.02", "632", "-24.98"),
    1.2: ("0.09", "484.44", "782", "-293.56"),
    1.5: ("0.02", "207.29", "393", "-185.71"),
}
# Table 4.4: alpha, tau_1, tau, difference.
DM_N, DM_K, DM_ALPHA = 1_000_000, 20_000, 1.0
_DM_TAU = (
    ("0.988", "106.74", "130", "-23.26"),
    ("1.002", "105.75", "126", "-20.25"),
    ("0.997", "105.21", "112", "-6.79"),
    ("1.002", "113.49", "110", "3.49"),
)


def compare(
    replicates: int, seed: int, progress: Callable[[int, int], None] | None
) -> Comparison:
    """Return the numbers of the thesis."""
    if replicates < 2:
        raise ValueError(f"replicates: need at least 2, got {replicates}")
    exponents = sorted({*_ZIPF_UNIQUES, *ZIPF_TAU})
    runs = {}
    for done, s in enumerate([*exponents, None]):
        if progress is not None:
            progress(done, len(exponents) + 1)
        runs[s] = _runs(s, replicates, np.random.default_rng([seed, done]))
    rows = [
        *_table_3_6(runs[0.9]), *_table_4_1(), *_table_4_2(runs), *_table_4_3(runs),
        *_table_4_4(runs[None]),
    ]  # fmt: skip
    spread = {s: (runs[s].truth, runs[s].tau, runs[s].tau_1) for s in exponents}
    printed = {s: (float(row[2]), float(row[1])) for s, row in ZIPF_TAU.items()}
    figures = thesis_figures.figures(population, SHARE, seed)
    figures["thesis-table-4.3"] = lambda: thesis_figures.table_4_3(spread, printed)
    return Comparison("thesis", TITLE, tuple(rows), figures)


def population(s: float | None, rng: np.random.Generator) -> Ints:
    """Return the cells of a population of the thesis: Zipf's law, or its own model."""
    if s is None:
        return populations.dirichlet_multinomial_population(DM_N, DM_K, DM_ALPHA, rng)
    return populations.zipf_population(ZIPF_N, ZIPF_K, s, rng)


# --- simulations -------------------------------------------------------------------


@dataclass(frozen=True)
class _Runs:
    """Arrays with an element for each replicate of a simulation.

    alpha is fitted by maximum likelihood with all K cells; tau is Theorem 1 and tau_1
    its asymptotic form, which the thesis uses.
    """

    alpha: Floats
    tau: Floats
    tau_1: Floats
    truth: Floats
    population_uniques: Floats
    sample_uniques: Floats
    covered: Floats
    cells: Floats  # with 1, 2 and 3 people in the population, shape (3, replicates)


def _runs(s: float | None, replicates: int, rng: np.random.Generator) -> _Runs:
    found = [_run(population(s, rng), rng) for _ in range(replicates)]
    alpha, tau, tau_1, truth, people, records, covered, *cells = np.array(
        found, dtype=np.float64
    ).T
    return _Runs(alpha, tau, tau_1, truth, people, records, covered, np.array(cells))


def _run(frequencies: Ints, rng: np.random.Generator) -> tuple[float, ...]:
    N = int(frequencies.sum())
    sampled = samples.sample(frequencies, round(SHARE * N), rng)
    sizes = SizeIndices.from_frequencies(sampled)
    model = DirichletMultinomial.fit(sizes, K=len(frequencies))
    truth = samples.uniques(frequencies, sampled)
    low, high = model.tau_interval(sizes, N)
    return (
        model.alpha, model.tau(sizes, N), model.asymptotic_tau(sizes, N), truth.both,
        truth.population, truth.sample, low <= truth.both <= high,
        *np.bincount(frequencies, minlength=4)[1:4],
    )  # fmt: skip


# --- tables ------------------------------------------------------------------------


def _table_3_6(runs: _Runs) -> list[Row]:
    exhibit = f"Table 3.6: Zipf's law, s = 0.9, N = {ZIPF_N:,}, K = {ZIPF_K:,}"
    return [
        simulated(exhibit, f"cells with {size} of 100,000 people", text, cells)
        for (size, text), cells in zip(_SIZES_OF_CELLS.items(), runs.cells, strict=True)
    ]


def _table_4_1() -> list[Row]:
    text, n = f"Section 4.1: the survey, N = {_N:,}, n = 900,000", round(SHARE * _N)
    row, cells = partial(exact, text), int(np.prod(_CATEGORIES))
    alpha, tau_1 = float(_SURVEY[0][0]), _SURVEY[0][1]
    asymptotic = _UNIQUES * SHARE ** (1 + alpha)
    tau = _UNIQUES * DirichletMultinomial(_K, alpha).uniqueness(n, _N)
    population = 100 * 2050 / cells
    rows = [
        row("cells K", "8640", cells),
        row("% of cells in the population", "23.72", population, "cut off, errata 5.6"),
        row("% of cells in the sample", "19.20", 100 * 1659 / cells),
        lacking(text, "population uniques", "325", _NO_DATA),
        lacking(text, "sample uniques", str(_UNIQUES), _NO_DATA),
        row("tau_1 by its alpha, 292 uniques", tau_1, asymptotic, "errata 5.1"),
        row("by Theorem 1", "", tau, "exact, errata 5.8"),
    ]
    for number, printed in enumerate(_SURVEY, 1):
        rows += _survey_rows("Table 4.1: the survey", number, printed)
    return rows


def _survey_rows(
    exhibit: str, number: int, printed: tuple[str, str, str, str]
) -> list[Row]:
    """Return the rows of one line, with the nearest whole number as m1."""
    alpha, tau_1, tau, difference = printed
    uniques = round(float(tau_1) / SHARE ** (1.0 + float(alpha)))
    high, low = (uniques * SHARE ** (1.0 + end) for end in bounds(alpha))
    n = round(SHARE * _N)
    sizes = SizeIndices({1: uniques, n - uniques: 1})  # other cells do not matter
    model = DirichletMultinomial(_K, float(alpha))
    exact_tau = model.tau(sizes, _N)
    interval = model.tau_interval(sizes, _N)
    erratum = "errata 5.1" if number == 1 else "errata 5.2"
    why = f"from alpha and the nearest whole m1 = {uniques}, {erratum}"
    item = f"{number}, tau"
    return [
        lacking(exhibit, f"{number}, alpha", alpha, _NO_DATA),
        within(exhibit, f"{item}_1", tau_1, low, high, why),
        exact(exhibit, f"{item} by Theorem 1", "", exact_tau, f"m1 = {uniques}"),
        within(exhibit, item, tau, *interval, "exact 95 % interval given m1"),
        _difference(exhibit, f"{number}, difference", difference, tau_1, tau),
    ]


def _difference(
    exhibit: str, item: str, printed: str, tau_1: str, tau: str, why: str = ""
) -> Row:
    """Return the row of a difference of printed numbers."""
    return exact(exhibit, item, printed, round(float(tau_1) - float(tau), 9), why)


def _table_4_2(runs: dict[float | None, _Runs]) -> list[Row]:
    exhibit = f"Table 4.2: Zipf's law, N = {ZIPF_N:,}, K = {ZIPF_K:,}, n = 30,000"
    row, rows = partial(simulated, exhibit), []
    for s, (population, sample) in _ZIPF_UNIQUES.items():
        run = runs[s]
        rows += [
            row(f"s = {s}, population uniques", population, run.population_uniques),
            row(f"s = {s}, sample uniques", sample, run.sample_uniques),
        ]
    return rows


_ERRATA_4_3 = {
    (0.9, "alpha"): "errata 5.3",
    (0.9, "difference"): "errata 5.3",
    (1.2, "difference"): "errata 5.4",
}


def _table_4_3(runs: dict[float | None, _Runs]) -> list[Row]:
    exhibit = "Table 4.3: the estimate under Zipf's law"
    row, rows = partial(simulated, exhibit), []
    for s, (alpha, tau_1, tau, difference) in ZIPF_TAU.items():
        run, item = runs[s], f"s = {s}"
        why = {name: _ERRATA_4_3.get((s, name), "") for name in ("alpha", "difference")}
        printed = f"{item}, difference", difference, tau_1, tau
        rows += [
            row(f"{item}, alpha", alpha, run.alpha, why["alpha"]),
            row(f"{item}, tau_1", tau_1, run.tau_1),
            row(f"{item}, by Theorem 1", "", run.tau),
            row(f"{item}, tau", tau, run.truth, _coverage(run)),
            _difference(exhibit, *printed, why["difference"]),
        ]
    return rows


def _coverage(run: _Runs) -> str:
    """Return how often the exact 95 % interval given the sample covers the truth."""
    return f"in {100 * run.covered.mean():.0f} % of the 95 % intervals"


def _table_4_4(run: _Runs) -> list[Row]:
    exhibit = f"Table 4.4: the model itself, alpha = 1, N = {DM_N:,}, K = {DM_K:,}"
    model = DirichletMultinomial(DM_K, DM_ALPHA)
    n = round(SHARE * DM_N)
    row = partial(simulated, exhibit)
    rows = [
        row("sample uniques", "", run.sample_uniques),
        exact(exhibit, "expected", "", model.population_uniques(n)),
        row("by Theorem 1", "", run.tau, "not low by 8.6 %, errata 5.8"),
        exact(exhibit, "tau expected", "", SHARE * model.population_uniques(DM_N)),
    ]
    for number, (alpha, tau_1, tau, difference) in enumerate(_DM_TAU, 1):
        item, implied = f"{number}, sample uniques implied", _implied(alpha, tau_1)
        coverage = _coverage(run) if number == 1 else ""
        rows += [
            row(f"{number}, alpha", alpha, run.alpha),
            row(f"{number}, tau_1", tau_1, run.tau_1),
            within(exhibit, item, "", *implied, "errata 5.5" if number == 4 else ""),
            row(f"{number}, tau", tau, run.truth, coverage),
            _difference(exhibit, f"{number}, difference", difference, tau_1, tau),
        ]
    return rows


def _implied(alpha: str, tau_1: str) -> tuple[float, float]:
    """Return the range of m1 for which tau_1 = m1 (n/N)^(1+alpha), both as printed."""
    (low_alpha, high_alpha), (low, high) = bounds(alpha), bounds(tau_1)
    return low / SHARE ** (1.0 + low_alpha), high / SHARE ** (1.0 + high_alpha)
