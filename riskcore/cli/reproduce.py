"""``riskcore reproduce``: tables and figures of the sources, computed again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from riskcore.cli.options import add_quiet, whole
from riskcore.cli.terminal import Progress
from riskcore.common.words import printable

_REPRODUCE = """\
Compute the tables and figures of the sources again, beside what is printed there.

  thesis     the Dirichlet-multinomial estimate of the sample uniques that are
             population uniques: tables 3.6, 4.1 to 4.4 and the figures
  takemura   Ewens, Pitman and the additive model on 9809 records
  mokken     Mokken et al. (1992), an intruder and acquaintances: table 1, figure 1,
             section 4

Each number is: reproduced, to all printed digits; consistent, where the range left by
printed roundings, or three standard deviations of the repeated simulation, holds it;
differs; no data, if what it needs is not published; or added to what the source gives.
The last column says why; "errata" are the numbered sections of notes/errata.md.
"""

_REPRODUCE_EXAMPLES = """\
examples:
  riskcore reproduce takemura mokken
  riskcore reproduce thesis --replicates 1000 --seed 7
  riskcore reproduce --output reproductions --figures svg

With --output, reproductions.csv (all numbers to the last bit), reproductions.md and the
figures go to a folder; all files are written or none. The exit status is 0, 2 if the
request is refused and nothing written, 74 if an error came after files were written, or
130 if interrupted; what differs from print is no failure.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    reproduce = commands.add_parser(
        "reproduce",
        usage="riskcore reproduce [thesis] [takemura] [mokken] [options]",
        help="published tables and figures, computed again",
        description=_REPRODUCE,
        epilog=_REPRODUCE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.set_defaults(run=run)
    reproduce.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="see above; by default all"
    )
    reproduce.add_argument(
        "--replicates",
        type=whole,
        default=200,
        metavar="R",
        help="runs of each simulation of the thesis (default 200, some 10 seconds)",
    )
    reproduce.add_argument(
        "--seed", type=whole, default=1, help="of the simulations (default 1)"
    )
    reproduce.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write tables and figures there"
    )
    reproduce.add_argument(
        "--figures",
        choices=("png", "svg", "pdf", "none"),
        default="png",
        help="format of the figures in the folder (default png)",
    )
    reproduce.add_argument(
        "--overwrite", action="store_true", help="let --output replace files"
    )
    add_quiet(reproduce)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore import reproduce

    sources = list(dict.fromkeys(options.sources)) or list(reproduce.SOURCES)
    reproduce.check_sources(sources)
    pictures = None if options.figures == "none" else options.figures
    rules = {"pictures": pictures, "overwrite": options.overwrite}
    if options.output is not None:
        reproduce.check_writable(options.output, **rules)
    progress = Progress(quiet=options.quiet)
    comparisons = [
        reproduce.compare(
            source,
            replicates=options.replicates,
            seed=options.seed,
            progress=progress.share(source),
        )
        for source in sources
    ]
    if options.output is not None:
        reproduce.write(
            options.output,
            comparisons,
            **rules,
            progress=progress.share("drawing figures"),
        )
    progress.done()
    print("\n\n".join(map(reproduce.plain, comparisons)))
    if options.output is not None:
        print(f"\n  Tables and figures are in {printable(str(options.output))}")
