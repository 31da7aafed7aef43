"""``riskcore reproduce``: recompute published tables and figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from riskcore.cli.options import add_quiet
from riskcore.cli.terminal import Progress
from riskcore.cli.words import whole
from riskcore.common.words import printable

_REPRODUCE = """\
Recompute published tables and figures, and show them beside the printed values.

  thesis     the Dirichlet-multinomial estimate of the sample uniques that are
             population uniques: tables 3.6, 4.1 to 4.4 and the figures
  takemura   Ewens, Pitman and the additive model on 9809 records
  mokken     Mokken et al. (1992), an intruder and their acquaintances: table 1,
             figure 1, section 4

Each number gets one verdict. "reproduced": equal in all printed digits. "consistent":
within the range that printed roundings leave, or within three standard deviations of
the repeated simulation. "differs". "no data": the data it needs are not published.
"added": not in the source. The last column gives the reason; "errata" refers to the
numbered sections of notes/errata.md.
"""

_REPRODUCE_EXAMPLES = """\
examples:
  riskcore reproduce takemura mokken
  riskcore reproduce thesis --replicates 1000 --seed 7
  riskcore reproduce --output reproductions --figures svg

--output writes reproductions.csv (all numbers to the last bit), reproductions.md and
the figures to a folder: either all files or none. The exit status is 0; 2 if the
request is refused and nothing is written; 74 if an error occurred after files were
written; or 130 if interrupted. A number that differs from print is not a failure.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    reproduce = commands.add_parser(
        "reproduce",
        usage="riskcore reproduce [thesis] [takemura] [mokken] [options]",
        help="recompute published tables and figures",
        description=_REPRODUCE,
        epilog=_REPRODUCE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.set_defaults(run=run)
    reproduce.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="sources, see above (default all)"
    )
    reproduce.add_argument(
        "--replicates",
        type=whole,
        default=200,
        metavar="R",
        help="number of runs of each simulation of the thesis (default 200, which take "
        "about 10 seconds)",
    )
    reproduce.add_argument(
        "--seed", type=whole, default=1, help="seed of the simulations (default 1)"
    )
    reproduce.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="folder for the tables and figures",
    )
    reproduce.add_argument(
        "--figures",
        choices=("png", "svg", "pdf", "none"),
        default="png",
        help="format of the figures in the folder (default png)",
    )
    reproduce.add_argument(
        "--overwrite", action="store_true", help="let --output replace existing files"
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
