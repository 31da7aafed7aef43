"""Search for the largest errors of the functions whose accuracy is stated.

    python -m bench.search                        # all functions, all sections
    python -m bench.search prior --points 150     # one group of functions
    python -m bench.search expm1 log --rounds 50  # single functions: no page changes
    python -m bench.search --list

In each region of a function's domain (bench/domains.py) random points are compared
with exact values (bench/references.py). The search then moves the worst points of the
region, and the worst ever found, by distances from 1/4 down to 2^-53, whole numbers by
whole steps. What is worse than the points known joins bench/worst_points.csv, whose
points are measured again. Writes bench/results/benches.md and, by region,
bench/accuracy.md; a broken contract ends the run with status 1.
"""

import argparse
import csv
import math
import multiprocessing
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from flint import arb

import riskcore
from bench import domains, references
from bench._common import HERE, RESULTS, command, origin, replace, table
from riskcore import intruder
from riskcore.core.risk import individual, posterior, prior
from riskcore.core.risk.bounds import risk_enclosure
from riskcore.core.special.gamma import functions
from riskcore.core.special.gamma.functions import ZERO
from riskcore.intruder import acquaintances, keys, risk, subpopulations, uniques
from riskcore.models.posterior_uniques import tau_distribution

BITS = 80  # of the first exact value; more where the error needs them
ERROR_KNOWN = 0.005  # ulp
HALF = arb(0.5)  # ulp: a smaller error is correct rounding
UNDECIDED = 8000  # bits at which an error may stay undecided from 1/2
MOST_BITS = 100_000
TOO_NEAR = 900  # bits at which an exact value that may be 0 is given up
FAINT = 2.0**-960  # below it bits are lost to underflow
ALIVE = 60  # points that a search goes on from
FRESH = 0.1  # share of the points of a round that are random again
EXTENDED = np.longdouble


# --- what is searched ----------------------------------------------------------------


def above_underflow(exact, at):
    return abs(exact) > FAINT


class Subject(NamedTuple):
    """A function, its domain by region, its exact values, and what counts there."""

    group: str
    function: Callable
    exact: Callable  # bits and arguments to a ball
    regions: dict[str, Callable]
    counts: Callable = above_underflow  # ball and arguments to whether they count
    unit: float = 0.0  # of an absolute error; 0 for ulp
    decides: bool = False  # whether errors are to be told from 1/2
    moved: int = 60  # points of a round
    quick: Callable | None = None  # errors of many points, to less accuracy


def quick_errors(function, f, p):
    """Return errors in ulp, to 0.05, or nan where extended precision is too short."""
    with np.errstate(all="ignore"):
        high, low, _, scale = risk_enclosure(f, p)
        r, r_low, q = EXTENDED(high), EXTENDED(low), 1 - EXTENDED(p)
        counts = (scale == 0) & (p > 1e-30) & (p < 1 - 1e-9) & (f < 1000)
        if function is riskcore.log_individual_risk:
            near = (r - 1) + r_low
            exact = np.where(abs(near) < 0.3, np.log1p(near), np.log(r + r_low))
        else:
            exact = ((f * r - p) + f * r_low) / (q * p)
            counts &= q / (f + 1) > 0.005  # else f r - p has too few digits
        error = abs(function(f, p) - exact) / np.spacing(abs(exact).astype(float))
    return np.where(counts, error.astype(float), np.nan)


def of(module, group, name, exact, regions, *counts, **options):
    """Return the subject of a function of a module."""
    return Subject(group, getattr(module, name), exact, regions, *counts, **options)


def faint(subject):
    """Return the subject of the values that underflow takes bits of."""
    few = {name: subject.regions[name] for name in domains.FAINT}
    return subject._replace(
        regions=few, counts=lambda exact, at: 0 < abs(exact) <= FAINT, quick=None
    )


def relative_log(bounded):
    """Return what counts of a logarithm: near 0 its error is absolute.

    ``bounded`` says where it is not, among f from 1.
    """
    return lambda exact, at: not abs(exact) < 1 / 16 or (at[0] >= 1 and bounded(at))


def from_one(exact, at):
    return at[0] >= 1 and above_underflow(exact, at)


def logarithm(reference):
    return lambda bits, *at: reference(bits, *at).log()


@lru_cache
def law_of_tau(*case):
    return tau_distribution(*case)


def probability_of_tau(A, b, M, m1, k):
    return law_of_tau(A, b, int(M), int(m1))[int(k)]


def form_of(label):
    """Return the function of an intruder's risk in one form: "function, form"."""
    name, _, form = label.partition(", ")
    function = getattr(intruder, name)
    if name == "total_risk":
        half = domains.KEYS
        return lambda n, *shares: function(n, shares[:half], shares[half:], form)
    if name == "maximal_subpopulation_risk":
        return lambda f, a, f_u: function([f], a, [f_u])
    return partial(function, form=form) if form else function


PRIOR = {
    "individual_risk_with_prior": (references.with_prior, domains.PRIOR),
    "log_individual_risk_with_prior": (
        logarithm(references.with_prior),
        domains.PRIOR,
        relative_log(lambda at: at[1] >= at[0]),
    ),
    "individual_risk_poisson": (references.poisson, domains.POISSON),
    "log_individual_risk_poisson": (
        logarithm(references.poisson),
        domains.POISSON,
        relative_log(lambda at: True),
    ),
    "individual_risk_second_moment_with_prior": (
        partial(references.with_prior_by_integral, power=1),
        domains.PRIOR,
        from_one,
    ),
    "individual_risk_second_moment_poisson": (
        partial(references.poisson_by_integral, power=1),
        domains.POISSON,
        from_one,
    ),
    "cell_fully_sampled_probability": (references.fully_sampled, domains.COMPLETE),
    "cell_fully_sampled_probability_poisson": (
        references.fully_sampled_poisson,
        domains.COMPLETE_POISSON,
    ),
}
MODELS = {
    **dict.fromkeys(
        ("log_gamma_ratio", "gamma_ratio", "log_gamma_ratio_curvature"), domains.RATIOS
    ),
    "log_rising_factorial": domains.STEPS | domains.NEXT_TO_ZERO,
    **dict.fromkeys(
        (
            "log_rising_excess", "digamma_difference", "digamma_deficit",
            "trigamma_difference", "trigamma_deficit",
        ),
        domains.STEPS,
    ),
    "log": domains.LOG,
    **dict.fromkeys(("log1p", "log1pmx"), domains.LOG1P),
    **dict.fromkeys(("exp", "expm1"), domains.EXP),
}  # fmt: skip
INTRUDER = {
    "disclosure_risk, hypergeometric": (references.hypergeometric, domains.settings),
    "disclosure_risk, binomial": (references.binomial, domains.settings),
    "disclosure_risk, exponential": (references.exponential, domains.settings),
    "maximal_sampling_fraction, binomial": (
        references.maximal_binomial,
        domains.accepted,
    ),
    "maximal_sampling_fraction, exponential": (
        references.maximal_exponential,
        domains.accepted,
    ),
    "maximal_sampling_fraction, linear": (references.maximal_linear, domains.accepted),
    "total_risk, disjoint": (references.disjoint_keys, domains.nested),
    "total_risk, independent": (references.independent_keys, domains.nested),
    "total_risk, exponential": (references.exponential_keys, domains.nested),
    "expected_acquaintances": (references.union, domains.circles),
    "unique_fraction": (references.fraction_of_uniques, domains.laws_of_sizes),
    "maximal_unique_fraction": (references.maximal_uniques, domains.LIMITS),
    "maximal_subpopulation_risk": (references.maximal_parts, domains.PARTS),
}
of_risk = partial(of, riskcore, "accuracy", decides=True)
RISK = of_risk("individual_risk", references.risk, domains.RISK)
LOG_RISK = of_risk(
    "log_individual_risk",
    references.log_risk,
    domains.RISK,
    lambda exact, at: True,
    quick=partial(quick_errors, riskcore.log_individual_risk),
)
GRADIENT = of_risk(
    "individual_risk_gradient",
    references.gradient,
    domains.RISK,
    quick=partial(quick_errors, riskcore.individual_risk_gradient),
)
OF_FREQUENCIES = of_risk(
    "individual_risk_from_frequencies",
    references.risk_of_frequencies,
    domains.FREQUENCIES,
)
of_moments = partial(of, riskcore, "posterior", regions=domains.MOMENTS, moved=20)
GAMMA = {
    name: of(
        functions,
        "models_accuracy",
        name,
        references.exactly(references.GAMMA[name]),
        regions,
        lambda exact, at: abs(exact) > 2.0**-1000,
        moved=300,
    )
    for name, regions in MODELS.items()
}
RISING = GAMMA["log_rising_factorial"]
SUBJECTS = {
    "individual_risk": RISK,
    "individual_risk, r < 2^-960": faint(RISK),
    "log_individual_risk": LOG_RISK,
    "individual_risk_gradient": GRADIENT,
    "individual_risk_gradient, dr/dp < 2^-960": faint(GRADIENT),
    "individual_risk_from_frequencies": OF_FREQUENCIES,
    "individual_risk_from_frequencies, r < 2^-960": faint(OF_FREQUENCIES),
    "individual_risk_deviation": of_moments(
        name="individual_risk_deviation", exact=references.deviation
    ),
    "individual_risk_second_moment": of_moments(
        name="individual_risk_second_moment", exact=references.second_moment
    ),
    **{name: of(riskcore, "prior", name, *rest) for name, rest in PRIOR.items()},
    **GAMMA,
    "log_rising_factorial": RISING._replace(counts=lambda exact, at: abs(exact) > ZERO),
    "log_rising_factorial, below 2^-6, in 2^-59": RISING._replace(
        regions=domains.NEXT_TO_ZERO,
        counts=lambda exact, at: 0 < abs(exact) < ZERO,
        unit=2.0**-59,
    ),
    "tau_distribution": Subject(
        "posterior_uniques",
        probability_of_tau,
        references.probability_of_tau,
        domains.TAU,
        lambda exact, at: exact > 1e-20,
        moved=0,  # a law of other parameters takes seconds
    ),
    **{
        label: Subject(
            "intruder",
            form_of(label),
            references.defined(definition),
            {"all settings": sampler},
            lambda exact, at: FAINT < exact < 2.0**1020,
            moved=100,
        )
        for label, (definition, sampler) in INTRUDER.items()
    },
}
GROUPS = {
    group: [name for name, one in SUBJECTS.items() if one.group == group]
    for group in dict.fromkeys(one.group for one in SUBJECTS.values())
}
CONTRACTS = {
    contract.function: contract
    for module in (
        individual, posterior, prior, functions,
        risk, keys, acquaintances, subpopulations, uniques,
    )
    for contract in module.CONTRACTS
}  # fmt: skip


def promised(name):
    """Return the bound of the error in ulp, None if none is promised."""
    short = name.partition(", ")[0]
    contract = CONTRACTS.get(name) or CONTRACTS.get(short)
    return contract.ulps if contract and not SUBJECTS[name].unit else None


# --- errors --------------------------------------------------------------------------


def in_units(value, exact, unit):
    """Return (value - exact)/unit as a ball; the unit is an ulp of exact if it is 0."""
    if unit:
        return (arb(value) - exact) / unit
    mantissa, exponent = exact.mid().man_exp()
    exponent = max(abs(int(mantissa)).bit_length() + int(exponent), -1021)
    if math.isinf(value) and exponent > 1024:
        return arb(0)  # beyond the doubles: infinite is its rounding
    if not math.isfinite(value):
        raise AssertionError(f"{value} in the domain, exact value {exact}")
    return (arb(value) - exact) * arb(2) ** (53 - exponent)


def below_half(error):
    """Return the size of an error as a double, less than 1/2 if it is."""
    size = abs(float(error.mid()))
    return math.nextafter(0.5, 0.0) if size >= 0.5 and abs(error) < HALF else size


def error_at(name, at):
    """Return the size of the error at one point, known to ``ERROR_KNOWN`` units.

    Points that do not count raise ``ArithmeticError``.
    """
    subject = SUBJECTS[name]
    value = float(subject.function(*at))
    bits = BITS
    while bits < MOST_BITS:
        exact = subject.exact(bits, *at)
        if exact.contains(0) and bits > TOO_NEAR:
            if not exact.contains(value):
                raise AssertionError(f"{value}, exact value {exact}")
            raise ArithmeticError("the exact value is 0 or next to it")
        if exact.is_finite() and not exact.contains(0):
            if exact.rel_accuracy_bits() > 20 and not subject.counts(exact, at):
                raise ArithmeticError("the point does not count")
            error = in_units(value, exact, subject.unit)
            known = error.rad() < ERROR_KNOWN
            told = not (subject.decides and abs(error).overlaps(HALF))
            if known and (told or bits > UNDECIDED):
                return below_half(error)
        bits = 2 * bits + references.SPARE
    raise ArithmeticError(f"no narrow ball at {[x.hex() for x in at]}")


def errors_of(name, columns):
    """Return (error, arguments) of the points that count, of columns of arguments."""
    found = []
    for at in zip(*(column.tolist() for column in columns), strict=True):
        try:
            found.append((error_at(name, at), at))
        except ArithmeticError:
            continue
    return found


# --- the worst points ever found -----------------------------------------------------

DATA = HERE / "worst_points.csv"
KEPT = 3  # points of a function
HEADER = """\
# Points where errors are largest, of all that any sample or search has found: error in
# units in the last place of the exact value, by Arb. bench/search.py tells more. Older
# points name the scripts that did its work before.
"""


class Worst(NamedTuple):
    function: str
    arguments: tuple[float, ...]
    error: float
    found: str


def read_worst():
    """Return all points of the file, the worst of each function first."""
    with DATA.open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Worst(
                row["function"],
                tuple(map(float.fromhex, row["arguments"].split())),
                float(row["error"]),
                row["found"],
            )
            for row in rows
        ]


def worst_first(points):
    """Return the worst points of each function, by its name, once for each place.

    Of errors with the same four digits the first stays in front.
    """
    by_function = {}
    for point in sorted(points, key=lambda point: -round(point.error, 4)):
        kept = by_function.setdefault(point.function, [])
        known = any(point.arguments == other.arguments for other in kept)
        if not known and len(kept) < KEPT:
            kept.append(point)
    return by_function


def write_worst(points):
    """Write the worst points of each function."""
    by_function = worst_first(points)
    with DATA.open("w", newline="") as file:
        file.write(HEADER)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["function", "arguments", "error", "found"])
        for name in sorted(by_function):
            for _, arguments, error, found in by_function[name]:
                place = " ".join(x.hex() for x in arguments)
                writer.writerow([name, place, f"{error:.4f}", found])


def measured_again(names, found, measure=error_at):
    """Return the worst point of each function; the file keeps what was found.

    The points known of these functions are measured again.
    """
    points = [
        point._replace(error=measure(point.function, point.arguments))
        if point.function in names
        else point
        for point in read_worst()
    ]
    write_worst([*points, *found])
    by_function = worst_first([*points, *found])
    return {name: by_function[name][0] for name in names if name in by_function}


def rounded_up(error):
    """Return an error as text with two decimals, never below it."""
    return f"{math.ceil(round(error, 4) * 100) / 100:.2f}"


# --- the search ----------------------------------------------------------------------


def moved(rng, parents, n):
    """Return n points near those given, by columns."""
    points = parents[rng.integers(len(parents), size=n)]
    distance = 2.0 ** -rng.uniform(2, 54, points.shape)
    near = points * (1 + rng.choice([-1, 1], points.shape) * distance)
    whole = (points == np.floor(points)) & (abs(points) < 2.0**40)
    steps = rng.integers(-1, 2, points.shape) * rng.choice([1, 1, 1, 30], points.shape)
    near = np.where(whole & (points != 0), points + steps, near)
    return np.where(rng.random(points.shape) < 0.4, points, near)


def climb(rng, draw, errors, starts, rounds, n):
    """Return the errors and points of the worst that rounds of moves lead to.

    ``draw(rng, n)`` returns random points as rows, ``errors(points)`` their errors, nan
    for those that do not count.
    """
    alive, size = starts[:0], np.empty(0)
    fresh = starts
    for _ in range(rounds + 1):
        if len(fresh):
            found = np.nan_to_num(errors(fresh), nan=-1.0)
            alive, size = np.vstack([alive, fresh]), np.append(size, found)
        _, first = np.unique(alive, axis=0, return_index=True)
        first = first[np.argsort(-size[first], kind="stable")][:ALIVE]
        alive, size = alive[first], size[first]
        few = int(n * FRESH)
        fresh = np.vstack([moved(rng, alive, n - few), draw(rng, few)])
    return size, alive


def each(name, points):
    """Return the errors of points as an array, nan where they do not count."""
    found = []
    for at in map(tuple, points.tolist()):
        try:
            found.append(error_at(name, at))
        except (ArithmeticError, AssertionError, ValueError):  # outside the domain too
            found.append(math.nan)
    return np.array(found, float)


class Found(NamedTuple):
    """Errors of one function in one region; the points that count, the worst ones."""

    function: str
    region: str
    points: int
    error: float
    rounded: int  # points with an error of at most 1/2
    at: tuple[float, ...]
    worst: list[Worst]


def explore(work):
    """Return what the sample and the search of one function and region show."""
    name, region, known, options = work
    subject = SUBJECTS[name]
    rng = np.random.default_rng([options.seed, *name.encode(), *region.encode()])

    def draw(rng, n):
        return np.stack(subject.regions[region](rng, n), axis=1)

    sample = sorted(errors_of(name, draw(rng, options.points).T), reverse=True)
    worst = sample[:KEPT]
    starts = [at for _, at in sample[:ALIVE]] + [point.arguments for point in known]
    if options.rounds and starts:
        starts = np.array(starts)
        if subject.quick:
            _, near = climb(
                rng, draw, lambda at: subject.quick(*at.T), starts, options.rounds, 5000
            )
            starts = np.vstack([starts, near[:10]])
        size, at = climb(
            rng, draw, partial(each, name), starts, options.rounds, subject.moved
        )
        worst += zip(size.tolist(), map(tuple, at.tolist()), strict=True)
    error, at = sample[0] if sample else (0.0, ())
    rounded = sum(error <= 0.5 for error, _ in sample)
    points = [Worst(name, at, error, command()) for error, at in worst if error > 0]
    return Found(
        name, region, len(sample), error, rounded, at, worst_first(points).get(name, [])
    )


# --- tables --------------------------------------------------------------------------


def places(at):
    return ", ".join(f"`{x.hex()}` ({x:.6g})" for x in at)


def share(rounded, points):
    return f"{100 * rounded / points:.1f} %" if points else ""


def summary_rows(names, found, ever):
    """Return a row for each function, and whether a contract is broken."""
    rows, broken = [], False
    for name in names:
        parts = [one for one in found if one.function == name]
        points = sum(one.points for one in parts)
        bound, known = promised(name), ever[name]
        holds = bound is None or known.error <= bound
        broken |= not holds
        verdict = "none" if bound is None else f"{bound:g} ulp: "
        rows.append(
            [
                name,
                f"{points}",
                rounded_up(max(one.error for one in parts)),
                rounded_up(known.error),
                share(sum(one.rounded for one in parts), points),
                places(known.arguments),
                verdict + ("" if bound is None else "holds" if holds else "BROKEN"),
            ]
        )
    return rows, broken


def region_tables(names, found):
    header = ["region", "points", "largest error, ulp", "correctly rounded", "at"]
    sections = []
    for name in names:
        rows = [
            [
                one.region, f"{one.points}", rounded_up(one.error),
                share(one.rounded, one.points), places(one.at),
            ]
            for one in found
            if one.function == name
        ]  # fmt: skip
        sections.append(f"### {name}\n\n{table(header, rows)}")
    return "\n\n".join(sections)


def publish(group, found, ever):
    """Write the sections of a group, and return whether a contract is broken."""
    names = GROUPS[group]
    rows, broken = summary_rows(names, found, ever)
    header = ["function", "points", "worst of the sample, ulp", "worst ever found, ulp"]
    header += ["correctly rounded", "at", "contract"]
    about = f"{origin('numpy', 'numba', 'python-flint', 'mpmath')}."
    summary = f"{about}\n\n{table(header, rows)}"
    replace(RESULTS / "benches.md", group, summary)
    regions = region_tables(names, found)
    replace(HERE / "accuracy.md", f"{group}_regions", f"{about}\n\n{regions}")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", help="groups or functions: see --list")
    parser.add_argument("--points", type=float, default=1000, help="of each region")
    parser.add_argument("--rounds", type=int, default=0, help="of each search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    options.points = int(options.points)
    if options.list:
        for group, names in GROUPS.items():
            print(f"{group}:", *names, sep="\n    ")
        return 0
    names = [name for what in options.what for name in GROUPS.get(what, [what])]
    names = names or list(SUBJECTS)
    unknown = [name for name in names if name not in SUBJECTS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; --list prints all names")
    known = worst_first(read_worst())
    work = [
        (name, region, known.get(name, []), options)
        for name in names
        for region in SUBJECTS[name].regions
    ]
    found = []
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for one in pool.imap(explore, work):
            found.append(one)
            errors = [f"{worst.error:.4f}" for worst in one.worst]
            print(f"{one.function}, {one.region}: {one.points} points", *errors)
    ever = measured_again(names, [point for one in found for point in one.worst])
    for name in names:
        print(f"{name}: {ever[name].error:.4f} at {places(ever[name].arguments)}")
    whole = [group for group in GROUPS if set(GROUPS[group]) <= set(names)]
    broken = [group for group in whole if publish(group, found, ever)]
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
