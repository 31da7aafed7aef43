"""Compare the population models with the truth, for bench/results/calibration.md.

    python -m bench.calibration [replicates]

Populations of known law are drawn again for every replicate, and samples of them; each
model estimates tau, the number of sample uniques that are population uniques, which the
simulation knows. A second study takes data from the models themselves. All chance comes
from fixed seeds: the same versions give the same page.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy.stats import binom

import riskcore
from bench import _populations
from bench._common import RESULTS, command, given, table
from bench._populations import MUNICIPALITIES, PROVINCES
from bench.atlas import paragraph, save
from riskcore.models import (
    DirichletMultinomial,
    Ewens,
    Lancaster,
    Pitman,
    PoissonGamma,
    SizeIndices,
)
from riskcore.models.binomial import interval
from riskcore.models.posterior_uniques import tau_distribution
from riskcore.simulate import (
    design_weights,
    dirichlet_multinomial_population,
    pitman_population,
    sample,
    uniques,
    zipf_population,
)

PAGE = RESULTS / "calibration.md"
N, K = 100_000, 10_000
FRACTIONS = (0.01, 0.1, 0.3)
REPLICATES = 100
OWN = 5  # times as many replicates on data from the model itself
LEVEL, NORMAL = 0.95, 1.959964
FEWEST = 1.0  # expected true uniques below which no ratio is given
SHRINKAGES = (0.0, 0.5, 1.0)


# --- populations -------------------------------------------------------------------


class Population(NamedTuple):
    """Frequencies of a population's cells, the number of all cells, codes, strata."""

    frequencies: np.ndarray
    K: int
    codes: list[np.ndarray] | None = None
    strata: np.ndarray | None = None


def zipf(exponent, rng):
    return Population(zipf_population(N, K, exponent, rng), K)


def dirichlet_multinomial(cells, alpha, rng):
    return Population(dirichlet_multinomial_population(N, cells, alpha, rng), cells)


def pitman(theta, sigma, rng):
    """Without a bound on the cells K is not defined: ten for each occupied one."""
    frequencies = pitman_population(N, theta, sigma, rng)
    return Population(frequencies, 10 * len(frequencies))


def census(keys, rng, stratified=False):
    people = _populations.census_of(N, rng)
    codes, frequencies, levels, _ = _populations.cells_of([people[key] for key in keys])
    strata = codes[keys.index("PROVINCE")] if stratified else None
    return Population(frequencies, math.prod(levels), codes, strata)


# From its name and family to how it is drawn.
POPULATIONS = {
    **{
        f"Zipf {s:g}": ("Zipf", partial(zipf, s))
        for s in (0.2, 0.5, 0.7, 1.0, 1.2, 1.5, 2.0)
    },
    "DM 10^4 cells, alpha 1": ("models", partial(dirichlet_multinomial, K, 1.0)),
    "DM 10^5 cells, alpha 0.05": (
        "models",
        partial(dirichlet_multinomial, 10 * K, 0.05),
    ),
    "Ewens theta 2000": ("models", partial(pitman, 2000.0, 0.0)),
    "Pitman 1000, 0.3": ("models", partial(pitman, 1000.0, 0.3)),
    "Pitman 100, 0.5": ("models", partial(pitman, 100.0, 0.5)),
    "census, 4 keys": ("census", partial(census, PROVINCES[:4])),
    "census, 6 keys": ("census", partial(census, PROVINCES)),
    "census, 6 keys, finer": ("census", partial(census, MUNICIPALITIES)),
    "census, 6 keys, unequal": (
        "census",
        partial(census, PROVINCES, stratified=True),
    ),
}


# --- estimates ---------------------------------------------------------------------


class Estimate(NamedTuple):
    """An estimate with its interval and its truth; nan, with a reason, if missing."""

    value: float
    low: float
    high: float
    truth: float
    reason: str = ""


def by_model(model, sizes, people, truth):
    return Estimate(
        model.tau(sizes, people),
        *model.tau_interval(sizes, people, LEVEL),
        truth,
        model.reason,
    )


def by_independent(chances, truth):
    """Sum chances of independent events; the interval from a binomial law.

    That law has the mean and, up to rounding the trials, the variance of the sum.
    """
    mean, squares = math.fsum(chances), math.fsum(chances * chances)
    trials = max(round(mean * mean / squares), math.ceil(mean)) if squares else 0
    low, high = interval(trials, mean / max(trials, 1), LEVEL)
    return Estimate(mean, low, high, truth)


def by_risk(p, truth):
    """Sum the individual risks of sample uniques, independent given the sample."""
    p, records = np.unique(p, return_counts=True)
    mean = math.fsum(records * riskcore.individual_risk(1.0, p))
    variance = math.fsum(records * riskcore.individual_risk_deviation(1.0, p) ** 2)
    half = NORMAL * math.sqrt(variance)
    return Estimate(mean, mean - half, mean + half, truth)


def estimates(population, sampled):
    """Return the estimate of every method, by name, from one sample."""
    frequencies = population.frequencies
    people = int(frequencies.sum())
    sizes = SizeIndices.from_frequencies(sampled)
    unique = sampled == 1
    truth = uniques(frequencies, sampled).both
    p = 1.0 / design_weights(frequencies, sampled, population.strata)[unique]
    models = fits(sizes, population.K)
    found = {
        "m1 n/N": by_independent(p, truth),
        **{
            name: by_model(model, sizes, people, truth)
            for name, model in models.items()
        },
        "risk sum": by_risk(p, math.fsum(1.0 / frequencies[unique])),
    }
    if population.codes is not None:
        found |= by_lancaster(population, sampled, people, truth)
    return found


def fits(sizes, cells):
    models = {
        "DM": DirichletMultinomial.fit(sizes, cells),
        "PG": PoissonGamma.fit(sizes, cells),
        "Ewens": Ewens.fit(sizes),
        "Ewens mom": Ewens.fit(sizes, "moments"),
        "Pitman": Pitman.fit(sizes),
        "Pitman mom": Pitman.fit(sizes, "moments"),
        "s1/u": Pitman(0.0, sizes[1] / sizes.u),
    }
    likely = [models[name] for name in ("DM", "Ewens", "Pitman")]
    likely = [model for model in likely if model.converged]
    if likely:
        best = min(likely, key=lambda model: model.aic)
        models["lowest AIC"] = replace(best, reason=f"is {type(best).__name__}")
    return models


def by_lancaster(population, sampled, people, truth):
    seen = sampled > 0
    levels = [int(codes.max()) + 1 for codes in population.codes]
    model = Lancaster.fit([c[seen] for c in population.codes], levels, sampled[seen])
    cells = [codes[sampled == 1] for codes in population.codes]
    chances = model.uniqueness(cells, people, SHRINKAGES)
    return {
        lancaster(shrinkage): by_independent(row, truth)
        for shrinkage, row in zip(SHRINKAGES, chances, strict=True)
    }


def lancaster(shrinkage):
    return f"Lancaster {shrinkage:g}"


METHODS = (
    "m1 n/N", "DM", "PG", "Ewens", "Ewens mom", "Pitman", "Pitman mom", "s1/u",
    "lowest AIC", "risk sum",
)  # fmt: skip
ADDITIVE = tuple(map(lancaster, SHRINKAGES))


# --- replicates --------------------------------------------------------------------


class Calibration(NamedTuple):
    """What replicates of one method on one kind of sample show."""

    truth: float  # mean
    ratio: float  # of the means of estimate and truth
    spread: float  # standard deviation of estimate - truth, over the mean truth
    coverage: float  # share of the intervals that hold the truth
    fitted: int
    replicates: int
    reasons: Counter


def calibrate(found):
    """Sum up the estimates of one method."""
    value, low, high, truth = np.array([estimate[:4] for estimate in found]).T
    good = ~np.isnan(value)
    reasons = Counter(estimate.reason for estimate in found if estimate.reason)
    if not good.any():
        nothing = math.nan
        return Calibration(
            truth.mean(), nothing, nothing, nothing, 0, len(found), reasons
        )
    error, mean = (value - truth)[good], truth[good].mean()
    inside = (low <= truth) & (truth <= high)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Calibration(
            truth.mean(),
            value[good].mean() / mean,
            error.std(ddof=1) / mean if len(error) > 1 else math.nan,
            inside[good].mean(),
            int(good.sum()),
            len(found),
            reasons,
        )


def study(name, replicates, fractions=FRACTIONS):
    """Return calibrations by fraction and method for one population."""
    _, draw = POPULATIONS[name]
    found = {fraction: {} for fraction in fractions}
    for replicate in range(replicates):
        rng = np.random.default_rng([1, *name.encode(), replicate])
        population = draw(rng)
        for fraction in fractions:
            sampled = _populations.sample_of(
                population.frequencies, population.strata, fraction, rng
            )
            for method, estimate in estimates(population, sampled).items():
                found[fraction].setdefault(method, []).append(estimate)
    return {
        fraction: {method: calibrate(some) for method, some in methods.items()}
        for fraction, methods in found.items()
    }


# --- data from the model itself ----------------------------------------------------


class OwnCase(NamedTuple):
    """A model with given parameters, its data, the law of tau and its fit."""

    model: object
    draw: Callable  # sample and population frequencies
    law: Callable  # P(tau = 0), ..., P(tau = s_1) from the model's n and N, sizes
    fit: Callable


def urn_case(model, theta, sigma, draw, fit):
    def draw_both(fraction, rng):
        population = draw(rng)
        return sample(population, round(fraction * N), rng), population

    def law(sizes, people):
        A, b = theta + sizes.n, 1.0 - sigma
        return tau_distribution(A, b, people - sizes.n, sizes[1])

    return OwnCase(model, draw_both, law, fit)


def gamma_case(cells, alpha):
    model = PoissonGamma(cells, 1.0 / (cells * alpha))

    def draw_both(fraction, rng):
        mean = rng.gamma(alpha, 1.0 / (cells * alpha), cells)
        sampled = rng.poisson(fraction * N * mean)
        return sampled, sampled + rng.poisson((1 - fraction) * N * mean)

    def law(sizes, people):
        share = model.uniqueness(sizes.n, people)
        return binom.pmf(np.arange(sizes[1] + 1), sizes[1], share)

    return OwnCase(model, draw_both, law, partial(PoissonGamma.fit, K=cells))


OWN_CASES = {
    "DM 10^4 cells, alpha 1": urn_case(
        DirichletMultinomial(K, 1.0), K, -1.0,
        partial(dirichlet_multinomial_population, N, K, 1.0),
        partial(DirichletMultinomial.fit, K=K),
    ),
    "DM 10^5 cells, alpha 0.05": urn_case(
        DirichletMultinomial(10 * K, 0.05), 0.5 * K, -0.05,
        partial(dirichlet_multinomial_population, N, 10 * K, 0.05),
        partial(DirichletMultinomial.fit, K=10 * K),
    ),
    "PG 10^4 cells, alpha 0.3": gamma_case(K, 0.3),
    "Ewens theta 2000": urn_case(
        Ewens(2000.0), 2000.0, 0.0, partial(pitman_population, N, 2000.0, 0.0),
        Ewens.fit,
    ),
    "Pitman 1000, 0.3": urn_case(
        Pitman(1000.0, 0.3), 1000.0, 0.3, partial(pitman_population, N, 1000.0, 0.3),
        Pitman.fit,
    ),
    "Pitman 100, 0.5": urn_case(
        Pitman(100.0, 0.5), 100.0, 0.5, partial(pitman_population, N, 100.0, 0.5),
        Pitman.fit,
    ),
}  # fmt: skip


class Coverage(NamedTuple):
    """How often intervals held tau, on data from the model itself."""

    promised: float  # mean probability of the intervals, parameters given
    given: float
    fitted: float
    widened: float  # fitted, with the error of the parameters
    replicates: int

    @property
    def error(self):
        """One standard deviation of the share with given parameters."""
        return math.sqrt(self.promised * (1.0 - self.promised) / self.replicates)


def own_coverage(case, fraction, replicates, seed=1):
    """Return the coverage of a model's intervals on its own data."""
    promised, hits = 0.0, np.zeros(3)
    for replicate in range(replicates):
        rng = np.random.default_rng([2, seed, round(1000 * fraction), replicate])
        sampled, population = case.draw(fraction, rng)
        sizes, people = SizeIndices.from_frequencies(sampled), int(population.sum())
        tau = uniques(population, sampled).both
        low, high = case.model.tau_interval(sizes, people, LEVEL)
        promised += case.law(sizes, people)[low : high + 1].sum()
        fitted = case.fit(sizes)
        found = fitted.tau_interval(sizes, people, LEVEL)
        ends = [(low, high), found, widened(fitted, sizes, people)]
        hits += [low <= tau <= high for low, high in ends]
    return Coverage(promised / replicates, *(hits / replicates), replicates)


def widened(model, sizes, people):
    """Return the interval for the error of the parameters too, where there is one."""
    if not model.standard_errors:
        return model.tau_interval(sizes, people, LEVEL)
    return model.wide_tau_interval(sizes, people, LEVEL)


# --- tables ------------------------------------------------------------------------


def usable(found):
    """Whether a ratio means something: some uniques, and fits in a tenth of samples."""
    return found.truth >= FEWEST and 10 * found.fitted >= found.replicates


def usable_of(results, method, names=tuple(POPULATIONS), fractions=FRACTIONS):
    """Return the calibrations of a method that mean something, of some kinds."""
    some = [results[name][f] for name in results if name in names for f in fractions]
    return [f[method] for f in some if method in f and usable(f[method])]


def kinds(results):
    """Yield the name of each kind of sample with its calibrations by method."""
    for name, by_fraction in results.items():
        for fraction, found in by_fraction.items():
            yield f"{name}, {100 * fraction:.0f} %", found


def percent(x, digits=0):
    return "-" if math.isnan(x) else f"{100 * x:.{digits}f}"


def number(x):
    return f"{x:.2f}" if x < 10 else f"{x:.0f}"


def ratio_cell(found):
    if not usable(found):
        return "-"
    digits = 2 if found.ratio < 10 else 0
    return f"{found.ratio:.{digits}f} ± {found.spread:.{digits}f}"


def coverage_cell(found):
    return percent(found.coverage)


def result_table(results, methods, cell):
    rows = [
        [label, f"{found[methods[0]].truth:.5g}", *(cell(found[m]) for m in methods)]
        for label, found in kinds(results)
        if set(methods) <= found.keys()
    ]
    return table(["", "tau", *methods], rows)


def summary_table(results):
    header = [
        "over all kinds of samples", "smallest ratio", "median", "largest",
        "median factor off", "within 10 %", "within a factor of 2",
        "coverage from 90 %", "no estimate",
    ]  # fmt: skip
    rows = [summary_row(method, results) for method in (*METHODS, *ADDITIVE)]
    return table(header, rows)


def summary_row(method, results):
    every = [found[method] for _, found in kinds(results) if method in found]
    some = usable_of(results, method)
    ratios = np.array([found.ratio for found in some])
    covered = np.array([found.coverage for found in some])
    fits = sum(found.fitted for found in every)
    shares = (
        np.mean(np.abs(ratios - 1.0) <= 0.1),
        np.mean((ratios >= 0.5) & (ratios <= 2.0)),
        np.mean(covered >= 0.9),
        1.0 - fits / sum(found.replicates for found in every),
    )
    return [
        method,
        *(number(x) for x in (ratios.min(), np.median(ratios), ratios.max())),
        number(np.exp(np.median(np.abs(np.log(ratios))))),
        *(f"{percent(share)} %" for share in shares),
    ]


def own_table(own):
    header = [
        "coverage, %", "promised, ± simulation error", "parameters given", "fitted",
        "fitted, widened",
    ]  # fmt: skip
    rows = [
        [
            f"{name}, {100 * fraction:.0f} %",
            f"{percent(found.promised, 1)} ± {percent(found.error, 1)}",
            *(percent(x, 1) for x in (found.given, found.fitted, found.widened)),
        ]
        for (name, fraction), found in own.items()
    ]
    return table(header, rows)


def by_population(results, method, reason):
    """Return the percentages of a reason, by population, for all fractions."""
    shares = {}
    for name, by_fraction in results.items():
        some = [by_fraction[fraction][method] for fraction in FRACTIONS]
        counted = [percent(one.reasons[reason] / one.replicates) for one in some]
        if any(one.reasons[reason] for one in some):
            shares[name] = " / ".join(counted)
    return shares


def chosen_table(results):
    """Tabulate which model has the lowest AIC."""
    names = {"DirichletMultinomial": "DM", "Ewens": "Ewens", "Pitman": "Pitman"}
    shares = {
        short: by_population(results, "lowest AIC", f"is {name}")
        for name, short in names.items()
    }
    rows = [
        [name, *(shares[short].get(name, "-") for short in names.values())]
        for name in results
    ]
    return table(["lowest AIC, % of samples", *names.values()], rows)


def reason_table(results):
    """Tabulate why there was no estimate, and which boundary others are at."""
    found = {}
    for method in METHODS:
        reasons = {r for _, some in kinds(results) for r in some[method].reasons}
        for reason in sorted(reasons) if method != "lowest AIC" else []:
            for name, shares in by_population(results, method, reason).items():
                found.setdefault((reason, name, shares), []).append(method)
    rows = [
        [reason, name, ", ".join(methods), shares]
        for (reason, name, shares), methods in sorted(found.items())
    ]
    header = ["no estimate, or a boundary", "population", "method", "% of samples"]
    return table(header, rows)


# --- pictures ----------------------------------------------------------------------


FAMILIES = {"Zipf": ("tab:blue", "o"), "models": ("tab:orange", "s"),
            "census": ("tab:green", "D")}  # fmt: skip


def panels(height):
    """Return a figure with a panel for each fraction."""
    figure = Figure((10.4, height), layout="constrained")
    every = figure.subplots(1, len(FRACTIONS), sharex=True, sharey=True)
    for axes, fraction in zip(every, FRACTIONS, strict=True):
        axes.set_title(f"n/N = {100 * fraction:.0f} %")
    return figure, dict(zip(FRACTIONS, every, strict=True)), [*METHODS, *ADDITIVE]


def figure_of_errors(results):
    """Draw estimate over truth: a point for each population, by method."""
    figure, by_fraction, methods = panels(4.6)
    for fraction, axes in by_fraction.items():
        for shift, (family, (color, marker)) in enumerate(FAMILIES.items()):
            names = [name for name, (kind, _) in POPULATIONS.items() if kind == family]
            points = [
                (one.ratio, i + 0.22 * (shift - 1))
                for name in results
                for i, method in enumerate(methods)
                if name in names
                for one in usable_of(results, method, [name], [fraction])
            ]
            x, y = zip(*points, strict=True) if points else ((), ())
            axes.plot(x, y, marker, color=color, ms=4, alpha=0.7, label=family)
        axes.axvline(1.0, color="0.3", lw=0.8, zorder=0)
        axes.axvspan(0.5, 2.0, color="0.93", zorder=-1)
        axes.set(xscale="log", xlabel="mean estimate / mean truth")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(axis="y", color="0.9", lw=0.5)
    first, *_, last = by_fraction.values()
    first.set_yticks(range(len(methods)), methods)
    first.invert_yaxis()
    last.legend(frameon=False, loc="lower right", fontsize="small")
    return save(figure, "calibration-errors")


def figure_of_coverage(results):
    """Draw the coverage of the intervals: methods by populations."""
    figure, by_fraction, methods = panels(5.4)
    colors = colormaps["viridis"].with_extremes(bad="0.9")
    for fraction, axes in by_fraction.items():
        found = [by_name[fraction] for by_name in results.values()]
        covered = [
            [one[method].coverage if method in one else math.nan for method in methods]
            for one in found
        ]
        drawn = axes.imshow(
            np.ma.masked_invalid(100 * np.array(covered)), cmap=colors, vmin=0,
            vmax=100, aspect="auto",
        )  # fmt: skip
        axes.set_xticks(range(len(methods)), methods, rotation=90)
    first, *_ = every = list(by_fraction.values())
    first.set_yticks(range(len(results)), list(results))
    figure.colorbar(drawn, ax=every, label="coverage of 95 % intervals, %")
    return save(figure, "calibration-coverage")


# --- what the numbers say ----------------------------------------------------------


def intro(replicates):
    return paragraph(f"""
    A population of {N} people is drawn, and samples of 1, 10 and 30 % of it; all
    again for each of {replicates} replicates. The truth is tau, the number of sample
    uniques that are population uniques, which differs from sample to sample; for the
    individual risk it is what that estimates, the sum of 1/F over sample uniques. A
    ratio is the mean estimate over the mean truth, of the samples with an estimate: 1
    is no bias. After ± stands the standard deviation of estimate - truth, over the mean
    truth: the ratio itself is known to a {math.sqrt(replicates):.0f}th of that.
    Coverage is the share of samples whose 95 % interval holds the truth; with
    {replicates} samples a true coverage of 95 % shows as 95 ±
    {100 * math.sqrt(0.95 * 0.05 / replicates):.1f}. No ratio is given where tau is
    below 1 on average or fewer than a tenth of the samples have an estimate.""")


POPULATIONS_TEXT = {
    "Zipf s": "10^4 cells with probabilities in proportion to rank^-s",
    "DM": "the Dirichlet-multinomial model itself",
    "Ewens, Pitman": "the models themselves; theta, sigma",
    "census, 4 keys": "`riskcore.simulate.microdata` by province, sex, age in years "
    "and marital status: 9,600 cells",
    "6 keys": "by education and household size too: 460,800 cells",
    "6 keys, finer": "by municipality, not province: 18,432,000 cells",
    "6 keys, unequal": "with equally many records from every province, sampled at "
    "rates that differ by a factor of 3.4, and weights",
}
METHODS_TEXT = {
    "m1 n/N": "the sum of p = 1/weight over sample uniques; it is also what the law of "
    "the individual risk says of tau, for there P(F = 1 given f = 1) = p; interval of "
    "independent events",
    "DM, PG": "Dirichlet-multinomial and Poisson-gamma by maximum likelihood with all "
    "K cells, for Ewens and Pitman populations ten for each occupied one",
    "Ewens, Pitman": "by maximum likelihood; mom: by moments",
    "s1/u": "the crude Pitman, sigma = s_1/u and theta = 0",
    "lowest AIC": "the one of DM, Ewens and Pitman by maximum likelihood",
    "risk sum": "the sum of `individual_risk(1, p)` over sample uniques; interval from "
    "the deviations of 1/F",
    "Lancaster": "with its shrinkage lambda, renormalized; interval of independent "
    "events",
}


def item(text):
    return "- " + paragraph(text).replace("\n", "\n  ")


def definitions():
    lists = [
        "\n".join(item(f"{name}: {text}") for name, text in texts.items())
        for texts in (POPULATIONS_TEXT, METHODS_TEXT)
    ]
    return f"""\
Populations:

{lists[0]}

Methods:

{lists[1]}

Intervals of the models take the fitted parameters as known."""


MARGIN = 0.1  # an estimate within it is as good as right
AGREE = 1.3  # DM and Pitman agree if they differ by no larger factor


def of_both(results):
    """Return kind of samples, ratio of DM and ratio of Pitman where both are usable."""
    return [
        (label, found["DM"].ratio, found["Pitman"].ratio)
        for label, found in kinds(results)
        if usable(found["DM"]) and usable(found["Pitman"])
    ]


def between(results):
    """Return the kinds with the truth between DM and Pitman, below, and above both."""
    inside, below, above = [], [], []
    for label, *ratios in of_both(results):
        if min(ratios) > 1.0 + MARGIN:
            below.append(label)
        elif max(ratios) < 1.0 - MARGIN:
            above.append(label)
        else:
            inside.append(label)
    return inside, below, above


def agreeing(results):
    """Return the ratios of DM where Pitman's is about the same."""
    pairs = of_both(results)
    return [dm for _, dm, pitman in pairs if 1.0 / AGREE <= pitman / dm <= AGREE]


def named(*beginnings):
    return [name for name in POPULATIONS if name.startswith(beginnings)]


def span(results, method, names=tuple(POPULATIONS), fractions=FRACTIONS):
    """Return the smallest and the largest ratio of some populations, as text."""
    ratios = [one.ratio for one in usable_of(results, method, names, fractions)]
    return f"{number(min(ratios))} to {number(max(ratios))}"


EQUAL = ("Zipf 0.2", "Zipf 0.5", "Zipf 0.7")
MIDDLE = ("Zipf 1", "Zipf 1.2")
UNEQUAL = ("Zipf 1.5", "Zipf 2", *named("Pitman"))
FROM_MODELS = named("DM", "Ewens", "Pitman")
FEW_KEYS, MANY_KEYS = named("census, 4"), named("census, 6")


def reliable(results, method):
    """Count the kinds of samples with a coverage of at least 90 %."""
    some = usable_of(results, method)
    return f"{sum(one.coverage >= 0.9 for one in some)} of {len(some)}"


def populations_of(labels):
    return "; ".join(dict.fromkeys(label.rpartition(", ")[0] for label in labels))


def advice(results):
    inside, below, above = between(results)
    total = len(inside) + len(below) + len(above)
    alike = agreeing(results)
    largest = max(
        abs(found["PG"].ratio / found["DM"].ratio - 1.0)
        for _, found in kinds(results)
        if usable(found["DM"])
    )
    of = partial(span, results)
    small, more, large = FRACTIONS[:1], FRACTIONS[1:], FRACTIONS[-1:]
    texts = [
        f"""**No estimate is right everywhere.** The error that matters is that of the
        model, which no interval contains: DM's intervals hold tau in at least 90 % of
        the samples for {reliable(results, "DM")} kinds of samples, Pitman's for
        {reliable(results, "Pitman")}.""",
        f"""**Fit DM and Pitman, and take both for a range.** In {len(inside)} of
        {total} kinds of samples tau lies between their means, or within
        {100 * MARGIN:.0f} % of one; in {len(below)} both are too high
        ({populations_of(below) or "none"}), in {len(above) or "none"} both are too low.
        So Pitman's is the cautious one ({of("Pitman")} of the truth); DM's is no lower
        bound ({of("DM")}).""",
        f"""**Where the two agree, both are near**: in the {len(alike)} kinds in which
        they differ by less than a factor of {AGREE:g}, DM is {number(min(alike))} to
        {number(max(alike))} of the truth.""",
        f"""**Few large and very many rare cells** (Zipf from 1.5 on, Pitman
        populations): Pitman, {of("Pitman", UNEQUAL)} of the truth. DM, Ewens and m1 n/N
        miss most of it in small samples (DM {of("DM", UNEQUAL, small)} at 1 %,
        {of("DM", UNEQUAL, large)} at 30 %). In the middle (Zipf 1 and 1.2) DM is
        {of("DM", MIDDLE)} and Pitman {of("Pitman", MIDDLE)}: there only the range
        helps.""",
        f"""**Cells of more equal size, or few keys** (Zipf below 1, census with 4
        keys): DM, which is still too high ({of("DM", EQUAL)} and
        {of("DM", FEW_KEYS)}). Pitman, often on its boundary sigma = 0, which is Ewens,
        is worse ({of("Pitman", EQUAL)} and {of("Pitman", FEW_KEYS)}).""",
        f"""**Many keys** (census, 6 keys): from 10 % on DM {of("DM", MANY_KEYS, more)}
        and Pitman {of("Pitman", MANY_KEYS, more)} are near on both sides; at 1 % Pitman
        spreads by half of its value, or has no estimate where all records are
        unique.""",
        f"""**The lowest AIC** finds the model of data that come from one, and is then
        {of("lowest AIC", FROM_MODELS)} of the truth. It judges the sample and not what
        lies beyond: under Zipf's law with exponent 0.7 it takes Pitman,
        {of("lowest AIC", ["Zipf 0.7"])}.""",
        f"""**The individual risk is no count of uniques.** Its sum over sample uniques
        is {of("risk sum", fractions=small)} of the sum of 1/F in samples of 1 %,
        {of("risk sum", fractions=large)} in those of 30 %; m1 n/N, what its law says of
        tau, {of("m1 n/N", fractions=small)} and {of("m1 n/N", fractions=large)}. Both
        know the weights alone and cannot see how many cells are rare. The deviations of
        1/F know nothing of that error: its intervals hold the sum in at least 90 % of
        the samples for {reliable(results, "risk sum")} kinds.""",
        f"""**Lancaster's model** is the only one that sees which cell a record is in.
        On the census populations lambda = 0.5 is
        {of(lancaster(0.5), fractions=more)} of the truth from 10 % on,
        {of(lancaster(0.5), fractions=small)} at 1 %; lambda = 1 is
        {of(lancaster(1.0))}, independence {of(lancaster(0.0))}. A sample does not say
        which lambda is right.""",
        f"""**Not to be used**: s1/u, {of("s1/u")} of the truth, near Pitman's only
        where theta is small. Pitman's moments mostly differ little from its likelihood
        and often have no solution. PG is DM: their means differ by at most
        {100 * largest:.1g} %.""",
        f"""**Unequal weights** are not seen by the models and change little here: with
        them DM is {of("DM", ["census, 6 keys, unequal"])} of the truth, without
        {of("DM", ["census, 6 keys"])}.""",
    ]
    return "\n".join(map(item, texts))


def own_text(own):
    deviations = [
        abs(found.given - found.promised) / found.error for found in own.values()
    ]
    far = sum(deviation > 2.0 for deviation in deviations)
    fitted = {
        kind: [found.fitted for (name, _), found in own.items() if name[:2] == kind]
        for kind in ("DM", "PG", "Ew", "Pi")
    }
    ranges = ", ".join(
        f"{name} {percent(min(fitted[name[:2]]))} to {percent(max(fitted[name[:2]]))} %"
        for name in ("DM", "PG", "Ewens", "Pitman")
    )
    wide = [found.widened for found in own.values()]
    replicates = next(iter(own.values())).replicates
    return paragraph(f"""
    Each row is {replicates} populations with a sample of each. tau is a whole number,
    so that intervals hold it with a little more than 95 %: promised is the mean of
    their exact probabilities under the true parameters. With these given,
    {len(own) - far} of {len(own)} shares are within two standard deviations of the
    simulation of what is promised, the farthest is at {max(deviations):.1f}.

    Fitted parameters are taken as known, and the interval of a fit is as good as the
    fit: {ranges}. Pitman's sigma is not known well enough from a small sample. Widened
    by the error of the parameters (standard errors of the likelihood, carried to tau by
    its derivatives) the intervals hold {percent(min(wide))} to {percent(max(wide))} %;
    fits on a boundary have no such error.""")


def write(results, own, replicates):
    versions = f"riskcore {riskcore.__version__}, numpy {version('numpy')}"
    errors, covered = figure_of_errors(results), figure_of_coverage(results)
    PAGE.write_text(f"""\
# Models against the truth

Generated, nothing here is edited by hand.

`{command()}`: {versions}.

{intro(replicates)}

{definitions()}

## What to use when

{advice(results)}

{summary_table(results)}

![Estimate over truth by method]({errors})

Each point is a population; grey is a factor of 2 either way.

## Data from the model itself

{own_text(own)}

{own_table(own)}

## Estimates over truth

{result_table(results, METHODS, ratio_cell)}

{result_table(results, ADDITIVE, ratio_cell)}

## Coverage

![Coverage of 95 % intervals]({covered})

Grey has no estimate, or no keys for Lancaster's model. In per cent:

{result_table(results, METHODS, coverage_cell)}

{result_table(results, ADDITIVE, coverage_cell)}

## The lowest AIC

At n/N of 1, 10 and 30 %:

{chosen_table(results)}

## Fits without an estimate, and at a boundary

At n/N of 1, 10 and 30 %; a boundary of the model is an estimate.

{reason_table(results)}
""")


def main():
    (replicates,) = given(REPLICATES)
    results, own = {}, {}
    for name in POPULATIONS:
        results[name] = study(name, replicates)
        print(f"{name}: done", file=sys.stderr)
    for name, case in OWN_CASES.items():
        for fraction in FRACTIONS:
            own[name, fraction] = own_coverage(case, fraction, OWN * replicates)
        print(f"{name}, its own data: done", file=sys.stderr)
    write(results, own, replicates)


if __name__ == "__main__":
    main()
