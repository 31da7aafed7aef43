"""``riskcore audit``: what a released file tells of the people of its original."""

from __future__ import annotations

import argparse
from pathlib import Path

from riskcore.cli.options import (
    add_file,
    add_keys,
    add_output,
    add_top,
    add_weight,
    provenance,
    reading,
    source_of,
)
from riskcore.cli.results import (
    add_last,
    add_page,
    check_results,
    print_results,
    write_files,
)
from riskcore.cli.settings import add_settings, arguments_of
from riskcore.cli.terminal import Progress
from riskcore.disclosure.audit_settings import AuditSettings

USAGE = "riskcore audit ORIGINAL RELEASED --keys COLUMN [COLUMN ...] [options]"
HELP = "what a synthetic, perturbed or sampled file tells of its original"
DESCRIPTION = """\
Audit a file that leaves, of any origin: what does it tell of the people of ORIGINAL?

RELEASED may be synthetic, where no record stands for another; perturbed or swapped,
where each record stands for one of ORIGINAL (--record-by names the ids); or a sample.
An intruder who knows the --keys of a person finds a single record with them in
RELEASED and claims that it is the person's. A claim is right with the probability
E[1/F | f], as other people of the population may have the same keys. The intruder also
guesses each --target of a person from the records with the person's keys, and links
records by keys and --numeric together. What is right about other people, too, is not a
leak: about those of --holdout, who were not in ORIGINAL, or, without it, about people
whom a model of the columns draws.
"""

EPILOG = """\
examples:
  riskcore audit survey.csv synthetic.csv --keys REGION SEX AGE JOB --weight WEIGHT
  riskcore audit train.csv synthetic.csv --keys SEX AGE JOB --target INCOME DISEASE \\
      --holdout test.csv --sampling-fraction 1% --report audit.html
  riskcore audit survey.csv swapped.csv --keys REGION SEX AGE --numeric INCOME \\
      --record-by ID --weight WEIGHT --output claims.csv
  riskcore audit survey.csv synthetic.csv --keys REGION SEX AGE --target JOB \\
      --measures --json
  riskcore audit survey.csv public.csv --keys REGION SEX AGE --with research.csv

--holdout are people of the same population, best drawn at random before RELEASED was
made, with the same columns. An option of reading applies to each file that can have it.

--output writes RELEASED with original_frequency, how many records of ORIGINAL have the
keys of a claim, right_claim_probability, and copy_probability, that the record is a
copy. Keep it, --report and what is printed to yourself; --report-public may go with
RELEASED. "riskcore check --original" is the gate for a pipeline.

The exit status is 0; 2 if a file is refused and nothing is written; 74 if an error
occurred after files were written; or 130 if interrupted.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser, "ORIGINAL", "the records of the people to protect")
    parser.add_argument(
        "released", metavar="RELEASED", type=Path, help="the file that leaves"
    )
    add_keys(parser)
    add_weight(parser)
    parser.add_argument(
        "--holdout",
        type=Path,
        metavar="FILE",
        help="people of the same population who were not in ORIGINAL, with the same "
        "columns: what is right about them, too, is not a leak",
    )
    parser.add_argument(
        "--with",
        dest="earlier",
        type=Path,
        metavar="EARLIER",
        help="an earlier release of ORIGINAL, with the same keys in the same "
        "categories: what both files tell together",
    )
    add_settings(parser, AuditSettings)
    right = "the probability that a claim about each record is right"
    add_output(parser, f"RELEASED and {right}")
    add_page(parser)
    listed = "list the N claims that are most probably right in --report"
    add_top(parser, "--report-top", 0, listed)
    parser.add_argument(
        "--report-public",
        type=Path,
        metavar="HTML",
        help="report for publication: the answer in rounded figures, and no record",
    )
    add_last(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.data.cells import refuse_taken
    from riskcore.data.source import Source
    from riskcore.disclosure.audit import audit
    from riskcore.disclosure.audit_result import RECORD_COLUMNS
    from riskcore.report.audit_page import audit_page, public_audit_page

    asked = arguments_of(options, AuditSettings)
    progress = Progress(quiet=options.quiet)
    named = {x: getattr(options, x) for x in ("file", "released", "holdout", "earlier")}
    sources = Source.several(named, reading(options))
    original = source_of(options, progress, sources["file"].reading)
    released = sources["released"]
    check_results(options, original, {"--report-public": options.report_public})
    if options.output is not None:
        refuse_taken(released.names, RECORD_COLUMNS)
        released = released.with_all_columns()
    answer = audit(
        original,
        released,
        options.keys,
        options.weight,
        holdout=sources.get("holdout"),
        earlier=sources.get("earlier"),
        progress=progress,
        **asked,
    )
    progress("writing the answer")
    public = options.report_public
    files = {
        options.output: lambda: answer.released_records,
        options.report: lambda: audit_page(
            answer,
            title=f"{options.released.name}: audit",
            top=options.report_top,
            provenance=provenance(options),
        ),
        public: lambda: public_audit_page(answer, title="Audit of the released file"),
    }
    write_files(options, original, files, public=[public])
    progress.done()
    read = {"original": options.file, "released": options.released}
    title = f"{options.file}, {options.released}"
    if options.earlier is not None:
        read["earlier"] = options.earlier
        title += f" with {options.earlier}"
    written = {"table of claims": options.output, "report": options.report}
    written["report for publication"] = public
    print_results(options, answer.to_dict(), answer.text, written, read, title)
