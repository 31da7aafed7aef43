"""``riskcore uniques``: estimate population uniques by all models."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from riskcore.assessment.assess_settings import CLUSTER, SAMPLING_STRATA
from riskcore.cli.options import (
    EXIT_STATUS,
    add_file,
    add_keys,
    add_missing,
    add_weight,
    provenance,
    source_of,
)
from riskcore.cli.results import (
    add_last,
    add_page,
    check_files,
    print_results,
    write_files,
)
from riskcore.cli.settings import add_setting, fraction, whole
from riskcore.cli.terminal import Progress
from riskcore.common.settings import gathered

USAGE = (
    "riskcore uniques FILE --keys COLUMN [COLUMN ...] "
    "(--weight COLUMN | --population N) [options]"
)
HELP = "estimate how many sample uniques are unique in the population"
DESCRIPTION = """\
Estimate how many sample uniques are also unique in the population.

A record is a sample unique if nobody else in the sample has its key values. It is at
risk if nobody else in the population has them, either. Models of the population, fitted
to the sample, estimate the number of such records: Dirichlet-multinomial,
Poisson-gamma, Ewens and Pitman from the number of cells of each size; Lancaster's
additive model and models of the cells from the keys; and the weights by themselves. The
estimates are shown side by side, with intervals, AIC (smaller is a better fit to the
sample) and their disagreement. A model that cannot be fitted is listed.
"""

_EXAMPLES = """\
examples:
  riskcore uniques survey.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT
  riskcore uniques survey.parquet --keys REGION SEX AGE --population 16000000 \\
      --report uniques.html
  riskcore uniques --sizes 1=2249 2=521 3=252 --population 3000000 --cells 249704000

The first interval takes the fitted parameters as known; the second allows for their
error. Neither allows for the error of the model: see bench/results/calibration.md.
"""
EPILOG = _EXAMPLES + EXIT_STATUS


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser, needed=False)
    add_keys(parser, needed=False)
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=_size,
        metavar="SIZE=CELLS",
        help="in place of FILE: the number of cells with 1, 2, ... records",
    )
    add_weight(parser)
    parser.add_argument(
        "--population",
        type=whole,
        metavar="N",
        help="number of people in the population (default: the sum of the weights)",
    )
    parser.add_argument(
        "--cells",
        type=whole,
        metavar="K",
        help="number of possible cells, up to 2^53 (default: the product of the "
        "numbers of categories)",
    )
    add_missing(parser)
    parser.add_argument(
        "--cell-models",
        nargs="*",
        choices=("latent-class", "log-linear"),
        metavar="MODEL",
        help="models of the cells: latent-class (default), log-linear, or both. The "
        "option without a name fits neither, which is fastest",
    )
    add_setting(parser, "cluster", CLUSTER)
    add_setting(parser, "strata", SAMPLING_STRATA)
    parser.add_argument(
        "--level",
        type=fraction,
        default=0.95,
        help="probability that the intervals should have (default 95%%)",
    )
    add_page(
        parser,
        "report for internal use: the estimates with their intervals, and the numbers "
        "of cells that the sample has and each model expects",
    )
    add_last(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.report import text
    from riskcore.report.uniques_page import uniques_page

    check_files(options, None)
    progress = Progress(quiet=options.quiet)
    estimates = _of_sizes(options) if options.sizes else _of_file(options, progress)
    name = "" if options.file is None else f"{options.file.name}: population uniques"
    files = {
        options.report: lambda: uniques_page(
            estimates,
            title=name or "Population uniques",
            provenance=provenance(options),
        )
    }
    write_files(options, None, files)
    progress.done()
    figures, named = estimates.to_dict(), "" if options.file else "size indices"
    written = {"report": options.report}
    print_results(
        options, figures, partial(text.uniques_text, figures), written, {}, named
    )


def _of_file(options: argparse.Namespace, progress: Progress) -> Any:
    from riskcore.assessment.uniques import CELL_MODELS, estimate_uniques

    if options.file is None or options.keys is None:
        raise ValueError("give FILE and --keys, or --sizes")
    source = source_of(options, progress)
    asked = options.cell_models
    return estimate_uniques(
        source,
        options.keys,
        options.weight,
        population=options.population,
        cells=options.cells,
        missing=options.missing,
        cell_models=CELL_MODELS if asked is None else asked,
        cluster=options.cluster,
        strata=options.strata,
        level=options.level,
        progress=progress,
    )


def _of_sizes(options: argparse.Namespace) -> Any:
    """Estimate from size indices alone."""
    from riskcore.assessment.uniques import UniquesEstimates, fit_all
    from riskcore.models import SizeIndices

    if options.file is not None or options.keys is not None:
        raise ValueError("give --sizes, or FILE and --keys, not both")
    if options.weight is not None or options.missing != "refuse":
        raise ValueError("--sizes cannot be combined with --weight or --missing")
    key_options = {
        "--cell-models": options.cell_models,
        "--cluster": options.cluster,
        "--strata": options.strata,
    }
    for name, value in key_options.items():
        if value is not None:
            raise ValueError(f"{name} needs keys, so give FILE in place of --sizes")
    if options.population is None or options.cells is None:
        raise ValueError("--sizes needs --population and --cells")
    sizes = SizeIndices(gathered("--sizes", options.sizes))
    estimates = fit_all(
        sizes, options.population, options.cells, options.level, lambda _: None
    )
    return UniquesEstimates(
        sizes, options.population, options.cells, options.level, tuple(estimates)
    )


def _size(text: str) -> tuple[int, int]:
    size, equals, cells = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not SIZE=CELLS")
    return whole(size), whole(cells)
