"""``riskcore simulate``: simulate surveys, populations and samples of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from riskcore.cli.options import add_overwrite, add_quiet
from riskcore.cli.settings import number, records, whole
from riskcore.cli.terminal import Progress
from riskcore.common.version import __version__
from riskcore.common.words import counted

USAGE = "riskcore simulate KIND [options]"
HELP = "simulate data for which the truth is known"
DESCRIPTION = """\
Simulate data for which the truth is known. The kinds, and the options each needs:

  microdata              a census-like survey file: persons in whole households, with
                         design weights; --records
  household-survey       persons in households, some of them large, with possessions and
                         income; a .dta or .sav file has labels; --households
  zipf                   cells of a population, p_k proportional to k^-EXPONENT;
                         --population --cells --exponent
  dirichlet-multinomial  cell probabilities from a symmetric Dirichlet distribution;
                         --population --cells --alpha
  pitman                 cells that open one after the other; --population --theta
                         --sigma (0: Ewens)

A population is a table of cells with the columns cell and population_frequency. With
--sample, a sample is drawn without replacement, in the column sample_frequency. The
command prints the numbers of uniques in the population, in the sample, and in both.
The models estimate the number in both; --uniques shows their estimates.
"""

EPILOG = """\
examples:
  riskcore simulate microdata --records 100000 --output survey.parquet
  riskcore simulate household-survey --households 2000 --output survey.dta
  riskcore simulate zipf --population 100000 --cells 10000 --exponent 0.9 \\
      --sample 30000 --uniques
  riskcore simulate pitman --population 1000000 --theta 500 --sigma 0.4 --seed 7

The same seed gives the same data. The exit status is 0; 2 if the request is refused and
nothing is written; 74 if an error occurred after the file was written; or 130 if
interrupted.
"""

# The options that each kind needs.
_NEEDS = {
    "microdata": ("records",),
    "household-survey": ("households",),
    "zipf": ("population", "cells", "exponent"),
    "dirichlet-multinomial": ("population", "cells", "alpha"),
    "pitman": ("population", "theta", "sigma"),
}

_SURVEYS = ("microdata", "household-survey")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "kind", metavar="KIND", choices=_NEEDS, help="kind of data, see above"
    )
    parser.add_argument(
        "--records", type=records, metavar="N", help="number of records of microdata"
    )
    parser.add_argument(
        "--households", type=whole, metavar="N", help="number of households"
    )
    parser.add_argument(
        "--population", type=whole, metavar="N", help="people in the population"
    )
    parser.add_argument(
        "--cells", type=whole, metavar="K", help="number of possible cells"
    )
    for name, what in {
        "exponent": "exponent of the Zipf law",
        "alpha": "parameter of the symmetric Dirichlet distribution",
        "theta": "Pitman's theta, the larger the more cells",
        "sigma": "Pitman's sigma, the larger the more small cells; 0 for Ewens",
    }.items():
        parser.add_argument(f"--{name}", type=number, help=what)
    parser.add_argument(
        "--sample", type=whole, metavar="N", help="people to draw into the sample"
    )
    parser.add_argument(
        "--uniques",
        action="store_true",
        help="estimate how many sample uniques are unique in the population, by all "
        "models of cell sizes, and show the truth beside the estimates",
    )
    parser.add_argument(
        "--seed",
        type=whole,
        default=2004,
        help="seed of the random generator (default 2004)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write: .csv, .tsv, .csv.gz, .parquet, .feather, .sav, .dta",
    )
    add_overwrite(parser)
    add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    import numpy as np

    from riskcore.data.files import formats
    from riskcore.data.files.base_format import Format
    from riskcore.data.files.labels import labels_of_plain

    _check(options)
    if options.output is not None:
        formats.check_writable(options.output, overwrite=options.overwrite)
    progress = Progress(quiet=options.quiet)
    progress(f"simulating {options.kind}")
    random = np.random.default_rng(options.seed)
    make = {"microdata": _microdata, "household-survey": _household_survey}
    columns, lines, labels = make.get(options.kind, _population)(options, random)
    if options.output is not None:
        progress(f"writing {options.output}")
        like = Format("simulated", labels=labels_of_plain(labels))
        formats.write(options.output, columns, overwrite=options.overwrite, like=like)
    progress.done()
    print("\n".join(lines))


def _check(options: argparse.Namespace) -> None:
    """Refuse parameters that the kind does not use, and require the ones it needs."""
    needs = _NEEDS[options.kind]
    every = {name for names in _NEEDS.values() for name in names}
    for name in sorted(every):
        is_set = getattr(options, name) is not None
        if name in needs and not is_set:
            raise ValueError(f"{options.kind} needs --{name}")
        if name not in needs and is_set:
            raise ValueError(f"{options.kind} does not use --{name}")
    if options.kind in _SURVEYS:
        if options.sample is not None:
            raise ValueError(f"{options.kind} is a sample already: leave out --sample")
        if options.output is None:
            raise ValueError(f"{options.kind} needs --output")
    if options.uniques and options.sample is None:
        lacking = "a population of cells and --sample"
        raise ValueError(f"--uniques needs {lacking}: it estimates from a sample")


# Columns, printed lines, and the labels of columns and codes.
_Made = tuple[dict[str, Any], list[str], dict[str, Any]]


def _microdata(options: argparse.Namespace, random: Any) -> _Made:
    from riskcore.simulate import survey

    columns = survey.microdata(options.records, random)
    return columns, _people(columns["WEIGHT"], columns["HOUSEHOLD"]), {}


def _household_survey(options: argparse.Namespace, random: Any) -> _Made:
    from riskcore.simulate import households as survey

    columns = survey.household_survey(options.households, random)
    lines = _people(columns["WGTHH"], columns["IDH"])
    return columns, lines, survey.household_survey_labels()


def _people(weight: Any, household: Any) -> list[str]:
    return [
        f"{counted(len(weight), 'record')}, {counted(int(household[-1]), 'household')}",
        f"representing {weight.sum():,.0f} people",
    ]


def _population(options: argparse.Namespace, random: Any) -> _Made:
    import numpy as np

    from riskcore.simulate import populations, samples

    N, K = options.population, options.cells
    makers = {
        "zipf": lambda: populations.zipf_population(N, K, options.exponent, random),
        "dirichlet-multinomial": lambda: populations.dirichlet_multinomial_population(
            N, K, options.alpha, random
        ),
        "pitman": lambda: populations.pitman_population(
            N, options.theta, options.sigma, random
        ),
    }
    F = makers[options.kind]()
    columns = {"cell": np.arange(1, len(F) + 1), "population_frequency": F}
    occupied = int(np.count_nonzero(F))
    lines = [
        f"{counted(N, 'person', 'people')} in {counted(occupied, 'cell')}, "
        f"{int(np.count_nonzero(F == 1)):,} unique in the population"
    ]
    if options.sample is not None:
        f = samples.sample(F, options.sample, random)
        columns["sample_frequency"] = f
        unique = samples.uniques(F, f)
        lines += [
            f"{options.sample:,} sampled, in "
            f"{counted(int(np.count_nonzero(f)), 'cell')}, "
            f"{unique.sample:,} unique in the sample",
            f"{unique.both:,} unique in both",
        ]
        if options.uniques:
            lines += ["", _uniques(F, f, options)]
    return columns, lines, {}


def _uniques(F: Any, f: Any, options: argparse.Namespace) -> str:
    """Return the estimates of the models beside the truth, as text."""
    from riskcore.assessment.uniques import estimate_simulated
    from riskcore.report.text import uniques_text

    # For pitman, cells is None: no cells are possible beyond those of the population.
    estimates = estimate_simulated(F, f, cells=options.cells)
    return uniques_text(estimates.to_dict(), f"riskcore {__version__}: {options.kind}")
