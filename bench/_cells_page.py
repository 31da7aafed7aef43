"""The page of the study of the model of cells: goals, kinds worst first, misses."""

import math
from collections import Counter
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

import riskcore
from bench._cell_kinds import FAMILY, KINDS, TAKE, N
from bench._common import command, reached, table
from bench._designs import CLUSTERS
from bench.atlas import paragraph

LARGE = 0.05  # shares from here on have the narrow goals
WRONG = 1.5  # a factor that needs a warning
MANY = 0.95  # share of the kinds that should meet a goal
COVERED, LEAST_COVERED = 0.9, 0.8
FEW = 5.0  # people: a truth below is taken as this many where a goal is judged


class Figure(NamedTuple):
    """What is estimated: its fields in outcomes, and its goals."""

    name: str
    field: str
    goal: float  # of the ratio of sums, from 5 % on
    small_goal: float  # for smaller samples

    def goal_of(self, size):
        return self.goal if LARGE <= size < 1 else self.small_goal


RISKS = Figure("sum of risks", "risks", 0.1, 0.25)
TAU = Figure("tau", "tau", 0.2, 0.35)
FIGURES = (RISKS, TAU)


# --- numbers of a kind and size ------------------------------------------------------


def sums(found, what):
    """Return the mean estimate and truth of the samples with an estimate."""
    pairs = [
        (getattr(one, what.field), getattr(one, f"true_{what.field}")) for one in found
    ]
    pairs = [pair for pair in pairs if not math.isnan(pair[0])]
    return np.mean(pairs, axis=0) if pairs else (math.nan, math.nan)


def ratio(found, what):
    """Return the mean estimate over the mean truth."""
    estimate, truth = sums(found, what)
    return estimate / truth if truth else math.nan


def off(found, what):
    """Return how far the estimate is from the truth, as a share; nan without one.

    Where the truth is a few people, a difference of one is no error of the model.
    """
    estimate, truth = sums(found, what)
    return abs(estimate - truth) / max(truth, FEW)


def covered(found, what):
    """Return for each sample whether the interval holds the truth; none without one."""
    ends = [
        [
            getattr(one, name)
            for name in (
                f"{what.field}_low",
                f"true_{what.field}",
                f"{what.field}_high",
            )
        ]
        for one in found
    ]
    return [low <= truth <= high for low, truth, high in ends if not math.isnan(low)]


def tenths(found):
    """Return predicted over true risk of each tenth of the records by rising risk."""
    tables = [one.tenths for one in found if one.tenths]
    if not tables:
        return np.full(10, math.nan)
    predicted, true, _ = np.sum(tables, axis=0)
    return np.divide(predicted, true, out=np.full(10, math.nan), where=true > 0)


def believed(found):
    """Return the figure to believe in most samples, marked where both are shown."""
    name = Counter(one.believed for one in found).most_common(1)[0][0]
    return name + "*" * any(one.differ for one in found)


def warned(found):
    """Return in how many of the samples a warning was said."""
    return sum(bool(one.warning) for one in found)


def unwarned_factor(found):
    """Return by what factor the sum to believe is off in samples without a warning."""
    left = [one for one in found if not one.warning]
    told = sum(one.risks if one.believed == "model" else one.by_weights for one in left)
    truth = sum(one.true_risks for one in left)
    if not left or truth < FEW * len(left):
        return 1.0
    return math.exp(abs(math.log(max(told, 1e-9) / truth)))


# --- goals ---------------------------------------------------------------------------


def goals(results):
    """Return a table of the goals, and what is reached."""
    rows = []
    for what in FIGURES:
        for small in (False, True):
            some = {k: f for k, f in results.items() if (LARGE <= k[1] < 1) != small}
            if some:
                rows.append(goal_of_ratio(some, what, small))
    for what in FIGURES:
        rows += goals_of_coverage(results, what)
    factors = [unwarned_factor(found) for found in results.values()]
    good = sum(factor <= WRONG for factor in factors)
    rows.append(
        [
            f"the figure to believe within a factor of {WRONG}, or a warning",
            f"{good} of {len(factors)}",
            f"up to {max(factors):.2f}",
            reached(good == len(factors)),
        ]
    )
    return table(["goal", "reached in", "range", ""], rows)


def goal_of_ratio(results, what, small):
    goal = what.small_goal if small else what.goal
    ratios = [ratio(found, what) for found in results.values()]
    ratios = [one for one in ratios if not math.isnan(one)]
    good = sum(off(found, what) <= goal for found in results.values())
    sizes = "smaller samples" if small else "5 and 20 %"
    return [
        f"{what.name} within {100 * goal:.0f} % of the truth, {sizes}",
        f"{good} of {len(results)} ({100 * good / len(results):.0f} %)",
        f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-",
        reached(good >= MANY * len(results)),
    ]


def goals_of_coverage(results, what):
    by_kind = {key: covered(found, what) for key, found in results.items()}
    inside = [one for each in by_kind.values() for one in each]
    if not inside:
        return []
    shares = [np.mean(each) for each in by_kind.values() if each]
    good = sum(share >= LEAST_COVERED for share in shares)
    lowest = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"
    return [
        [
            f"{what.name}: coverage of {100 * COVERED:.0f} % over all kinds",
            f"{100 * np.mean(inside):.0f} %",
            lowest,
            reached(np.mean(inside) >= COVERED),
        ],
        [
            f"{what.name}: coverage of {100 * LEAST_COVERED:.0f} % in a kind",
            f"{good} of {len(shares)} ({100 * good / len(shares):.0f} %)",
            lowest,
            reached(good >= MANY * len(shares)),
        ],
    ]


def misses(results):
    """Return a line for each kind that misses a goal, worst first."""
    lines = []
    for name, sizes in worst_first(results):
        said = [
            f"{size_name(size)}: {', '.join(missed)}"
            for size, found in sizes.items()
            if (missed := misses_of(found, size))
        ]
        if said:
            lines.append(f"- **{name}**. {'; '.join(said)}")
    return "\n".join(lines) or "None."


def misses_of(found, size):
    """Return what a kind and size misses, in words."""
    said = []
    for what in FIGURES:
        if not off(found, what) <= what.goal_of(size):
            estimate, truth = sums(found, what)
            said.append(f"{what.name} {estimate:.3g} for {truth:.3g}")
        inside = covered(found, what)
        if inside and np.mean(inside) < LEAST_COVERED:
            said.append(f"coverage of {what.name} {100 * np.mean(inside):.0f} %")
    if (factor := unwarned_factor(found)) > WRONG:
        said.append(f"no warning of a factor of {factor:.2f}")
    return said


# --- tables ------------------------------------------------------------------------


def size_name(size):
    if 1 <= size < CLUSTERS:
        return f"{size} clusters"
    return f"{size:,}" if size >= 1 else f"{100 * size:g} %"


def cell(value, digits=2):
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def percent(inside):
    return f"{100 * np.mean(inside):.0f}" if inside else "-"


def worst_first(results):
    """Return the results of each kind by size, those furthest from the goal first."""
    kinds = {}
    for (name, size), found in results.items():
        kinds.setdefault(name, {})[size] = found

    def badness(kind):
        errors = [off(f, RISKS) / RISKS.goal_of(size) for size, f in kind[1].items()]
        return -np.nan_to_num(np.array(errors), nan=np.inf).max()

    return sorted(kinds.items(), key=badness)


COLUMNS = {
    "risks": lambda found: cell(ratio(found, RISKS)),
    "tau": lambda found: cell(ratio(found, TAU)),
    "true tau": lambda found: f"{sums(found, TAU)[1]:.3g}",
    "inside, risks": lambda found: percent(covered(found, RISKS)),
    "tau ": lambda found: percent(covered(found, TAU)),
    "lowest tenth": lambda found: cell(tenths(found)[0]),
    "believe": believed,
    "warned": lambda found: f"{warned(found)}",
    "seconds": lambda found: cell(np.median([one.seconds for one in found]), 1),
}


def kind_tables(results):
    """Return a table for each set of sizes, with a line for each kind."""
    groups = {}
    for name, sizes in worst_first(results):
        groups.setdefault(tuple(sizes), []).append((name, sizes))
    tables = []
    for sizes, kinds in groups.items():
        rows = [
            [name, *(joined(of.values(), column) for column in COLUMNS.values())]
            for name, of in kinds
        ]
        columns = [name.strip() for name in COLUMNS]
        heading = f"At {', '.join(map(size_name, sizes))}:"
        tables.append(f"{heading}\n\n{table(['kind', *columns], rows)}")
    return "\n\n".join(tables)


def joined(sizes, column):
    words = [column(found) for found in sizes]
    return (
        words[0]
        if len(set(words)) == 1 and not words[0][-1].isdigit()
        else " ".join(words)
    )


def kinds_in_words(results):
    """Return a line for each law of populations: its kinds, and what it is."""
    by_law = {}
    for name in dict.fromkeys(name for name, _ in results):
        law = KINDS[name].population
        law = law.func if isinstance(law, partial) else law
        by_law.setdefault((law.__doc__ or law.__name__).rstrip("."), []).append(name)
    return "\n".join(f"- {law}: {', '.join(names)}" for law, names in by_law.items())


def text(results, samples):
    """Return the page."""
    seconds = np.array([one.seconds for found in results.values() for one in found])
    times = (
        f"median {np.median(seconds):.1f}, 95 % below {np.quantile(seconds, 0.95):.1f}"
    )
    versions = f"riskcore {riskcore.__version__}, numpy {version('numpy')}"
    return f"""\
# Models of cells against the truth

Generated, nothing here is edited by hand.

`{command()}`: {versions}.

{
        paragraph(f'''
Populations of 15,000 to 60,000 people, mostly {N:,}, are drawn, and samples of them by
the designs of surveys, {samples} for each kind and size, {len(seconds):,} together. The
truth is known: the sum of 1/F over the sample uniques, and tau, the number of sample
uniques that are population uniques. A ratio is the sum of the estimates over the sum of
the truth of the samples. Where the truth is below {FEW:g} people, a goal is judged as
if it were {FEW:g}. The estimates are those of the latent-class model as `assess` fits
it, with `cluster=` where clusters were sampled.''')
    }

## Goals

{goals(results)}

Seconds of an assessment: {times}, longest {seconds.max():.1f}.

## Misses

{misses(results)}

## Kinds, worst first

{
        paragraph('''
"Inside" is the share of samples whose 95 % interval holds the truth, in %. The lowest
tenth is the predicted over the true risk of the tenth of the records with the lowest
predicted risk. "Believe" is the figure to believe by the assessment; after an asterisk
the two differ by a quarter, so both are shown. Figures in a row are for the sizes.''')
    }

{kind_tables(results)}

## Populations

{kinds_in_words(results)}

{
        paragraph(f'''
Designs, if none is named a simple sample: equal provinces (equally many records from
every province); strata, strata by pairs (rates by keys, up to a factor of 7); rates by
income, which is not a key; noise (a lognormal factor of 0.5 on weights), raked and
trimmed weights; non-response, by age and region or by education, with weights that are
all equal; adjusted (by classes of age and region); quota (of sex and age, with some
people easier to reach); one person of a household; whole households, areas ({TAKE}
households, or {TAKE * FAMILY} people), villages, schools, states, employers, or in two
stages; copies (a quarter of the records have their keys from others).''')
    }
"""
