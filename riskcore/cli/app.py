"""``riskcore app``: the whole job in the browser."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from riskcore.cli.options import add_reading, reading
from riskcore.cli.settings import whole

USAGE = "riskcore app [FILE | RULES | FOLDER] [options]"
HELP = "the whole job in the browser"
DESCRIPTION = """\
Open a survey file in the browser, and make it safe there: choose the file and the
roles of its columns, see the risk, recode, treat, suppress, mend what leaks, compare,
and write the safe file with its records and reports. Each state is a file of rules,
which riskcore run carries out to the same file.
"""

EPILOG = """\
examples:
  riskcore app
  riskcore app survey.csv
  riskcore app release.toml
  riskcore app survey.sav --no-browser --port 8000
  riskcore app survey.csv --socket /run/user/1000/riskcore.sock

The command prints an address with a secret word, opens the browser and goes on until
Ctrl-C, or until nobody has used it for an hour. Only who has the secret word gets an
answer, from this machine; from another one go through ssh -L 8000:127.0.0.1:8000 HOST.

Nothing is written before you export. The history of the rules is kept in a file that
only you can read, in RISKCORE_CONFIG_DIR (by default ~/.config/riskcore). It has no
record of FILE, but the codes that rules name. The next riskcore app of the same FILE
goes on there; --new begins anew.

The exit status is 0; 2 if FILE is refused; or 130 if interrupted.
"""
_PORTS = 65535


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="the survey file, a file of rules, or the folder below which files can "
        "be opened in the browser (default: this folder)",
    )
    parser.add_argument(
        "--port", type=whole, metavar="N", default=0, help="port (default: a free one)"
    )
    parser.add_argument(
        "--socket",
        type=Path,
        metavar="PATH",
        help="listen on a Unix socket that only you can open, in place of a port",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the address"
    )
    parser.add_argument(
        "--new", action="store_true", help="begin a new history of FILE"
    )
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.common.needs import need

    # They may name values of the data; the pages say what matters.
    warnings.simplefilter("ignore")
    if options.port > _PORTS:
        raise ValueError(f"--port {options.port}: a port is at most {_PORTS}")
    need("pages in the browser", "starlette", "uvicorn", "jinja2", "tomlkit", "pyarrow")
    from riskcore.app.desk import Desk
    from riskcore.app.serve import serve
    from riskcore.app.server import Server
    from riskcore.app.start import USUAL

    place = options.file or Path()
    is_folder = place.is_dir()
    desk = Desk(place if is_folder else place.parent)
    try:
        if not is_folder:
            how = reading(options)
            desk.open(place, None if how == USUAL else how, new=options.new)
        return serve(
            Server(desk).application,
            port=options.port,
            socket=options.socket,
            browser=not options.no_browser,
        )
    finally:
        desk.close()
