"""Run the scripts of generated pages and sections again: `nox -s tables`.

    python -m bench.tables                    # all of them: hours
    python -m bench.tables --list             # what there is, with the commands
    python -m bench.tables continued_fraction atlas
    python -m bench.tables --same             # those that must not differ

A section states the command that made it, which is run again. Except for the line with
the versions, what does not depend on a clock must come out the same: otherwise the
difference is printed and the exit status is 1. Measurements may differ. The new text
stays in its page either way, for `git diff`.
"""

import argparse
import difflib
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

from bench._common import HERE, table

ROOT = HERE.parent
# Lines with the command, the machine and the versions.
ABOUT = re.compile(r"^(Generated; do not edit\. )?`python -m bench\.")
COMMAND = re.compile(r"`(python -m bench\.\w+[^`]*)`")


class Section(NamedTuple):
    """A part of a page between markers, or a whole file."""

    script: str  # of bench/
    page: str
    name: str = ""  # of the markers; empty for the whole file
    measured: bool = False  # it may differ from run to run
    but: str = "$^"  # pattern of lines that may differ all the same

    @property
    def place(self):
        """The name of the section for people."""
        return f"{self.page}, {self.name}" if self.name else self.page

    def text(self):
        """Return the present text, None without a file."""
        path = ROOT / self.page
        if not path.exists():
            return None
        text = path.read_text()
        if not self.name:
            return text
        _, begin, rest = text.partition(f"<!-- {self.name} -->\n")
        inner, end, _ = rest.partition(f"<!-- /{self.name} -->")
        if not (begin and end):
            raise ValueError(f"{self.page} has no markers of {self.name!r}")
        return inner

    def command(self):
        """Return the command that its text states, or None."""
        found = COMMAND.search(self.text() or "")
        return found.group(1) if found else None

    def lasting(self, text):
        """Return the lines of a text that must not differ."""
        lines = (text or "").splitlines()
        free = re.compile(self.but)
        return [one for one in lines if not (ABOUT.match(one) or free.match(one))]


PAGE = "bench/results/benches.md"
ROUNDING = "bench/results/correct_rounding.md"
PROOF = "bench/results/proof_of_rounding.md"
# Of functions that bench/search.py measures together.
GROUPS = (
    "accuracy", "posterior", "prior", "models_accuracy", "posterior_uniques",
    "intruder",
)  # fmt: skip
SECTIONS = (
    Section("bench_kernel", PAGE, "kernel", measured=True),
    Section("bench_kernel", PAGE, "in_cache", measured=True),
    Section("bench_tabulate", PAGE, "tabulate", measured=True),
    Section("bench_assess", PAGE, "assess", measured=True),
    Section("engines", PAGE, "engines", measured=True),
    Section("bench_protect", PAGE, "protect", measured=True),
    Section("bench_treatments", PAGE, "treatments", measured=True),
    Section("bench_treatments", "bench/results/treatments.md", "treat"),
    Section(
        "bench_treatments",
        "bench/results/treatments_of_sdcmicro.md",
        "treatments_of_sdcmicro",
        measured=True,
    ),
    # The secrets of the files are drawn anew.
    Section("relink", "bench/results/attacks.md", "relink", measured=True),
    # They have rows of files that are not part of the project.
    *(
        Section(script, f"bench/results/{script}.md", measured=True)
        for script in ("attackers", "after_truth", "best")
    ),
    Section(
        "calibration_cells", "bench/results/calibration_of_cells.md", measured=True
    ),
    *(
        Section("audits", "bench/results/audits.md", name, measured=True)
        for name in ("summary", "claims", "membership")
    ),
    Section("bench_startup", PAGE, "startup", measured=True),
    Section("bench_wide", PAGE, "wide", measured=True),
    Section("app_tasks", "bench/results/app_times.md", "app_tasks", measured=True),
    Section("app_monkey", "bench/results/app_times.md", "app_monkey", measured=True),
    Section("app_times", "bench/results/app_times.md", "app_times", measured=True),
    Section("bench_r", PAGE, "r", measured=True),
    Section("bench_c", PAGE, "c_speed", measured=True),
    *(
        Section("search", page, group + suffix)
        for group in GROUPS
        for page, suffix in ((PAGE, ""), ("bench/accuracy.md", "_regions"))
    ),
    Section("bench_kernel", PAGE, "function_speed", measured=True),
    Section("continued_fraction", PAGE, "fraction"),
    Section("rounding_rates", ROUNDING, "rounding_rates"),
    Section("rounding_rates", ROUNDING, "slow_cells", measured=True),
    # Each machine runs the code for its own processors.
    Section("same_bits", PAGE, "bits", but=r"\| code for "),
    Section("same_bits_c", PAGE, "c_bits", measured=True),
    # The time of the search is on the page.
    Section("hard_cases", "bench/results/hard_cases.md", but=r"inputs in \d+ s\.$"),
    Section("hard_cases", "tests/core/points/hard_cases.csv"),
    Section("correct_rounding", PAGE, "correct_rounding"),
    Section("directed_rounding", PAGE, "directed_rounding"),
    Section("single_precision", "bench/results/single_precision.md", measured=True),
    Section("atlas", "bench/results/accuracy.md", "figure"),
    Section("atlas", "bench/results/accuracy.md", "rule"),
    Section("atlas", "bench/results/accuracy.md", "maps"),
    Section("reproduce", "bench/results/reproductions.md", "mokken"),
    Section("reproduce", "bench/results/reproductions.md", "takemura"),
    Section("reproduce", "bench/results/reproductions.md", "thesis"),
    Section("release_rules", "notes/_static/release-1.json"),
    Section("release_rules", "bench/results/rules.md", "rules"),
    Section("guide", "bench/results/guide.md", "guide"),
    Section("guide", "bench/results/guide.md", "guide_times", measured=True),
    Section("guide", "bench/results/guide.md", "guide_peer", measured=True),
    Section("public_reports", "bench/results/public_reports.md", measured=True),
    Section("calibration", "bench/results/calibration.md"),
    Section("calibration_waves", "bench/results/waves.md", "calibration_waves"),
    Section("prove", PROOF, "proof"),
    Section("prove", PROOF, "proof_lemmas"),
    Section(
        "prove",
        PROOF,
        "proof_certificate",
        measured=True,
    ),
    Section("prove", PROOF, "proof_parts"),
    Section("prove", PROOF, "proof_gradient"),
    Section("prove", PROOF, "proof_times", measured=True),
    Section("prove", PROOF, "proof_mutants", measured=True),
    Section("prove", PROOF, "proof_uses", measured=True),
    Section("prove", PROOF, "proof_slow_steps", measured=True),
    # Other versions of compilers make other machine code.
    Section(
        "machine_code",
        PROOF,
        "proof_code",
        measured=True,
    ),
)


def by_script(sections):
    """Return the sections of each script."""
    return {
        script: [one for one in sections if one.script == script]
        for script in dict.fromkeys(one.script for one in sections)
    }


def commands_of(sections):
    """Return the commands that make the sections of a script.

    Where two sections state two runs, that of the section that must not differ comes
    last, so that its numbers stay.
    """
    in_order = sorted(sections, key=lambda one: not one.measured)
    stated = dict.fromkeys(filter(None, (one.command() for one in in_order)))
    return list(stated) or [f"python -m bench.{sections[0].script}"]


def differences(section, before):
    """Return the lines by which a section differs from its old text."""
    return list(
        difflib.unified_diff(
            section.lasting(before),
            section.lasting(section.text()),
            f"{section.place}, before",
            f"{section.place}, now",
            lineterm="",
        )
    )


def make(sections):
    """Make the sections of a script again; return those that differ but must not."""
    before = [one.text() for one in sections]
    changed = []
    for command in commands_of(sections):
        print(command, flush=True)
        words = [sys.executable, *shlex.split(command)[1:]]
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            changed.append(f"{command} ended with {done.returncode}")
    for section, text in zip(sections, before, strict=True):
        lines = differences(section, text)
        if section.measured:
            print(f"  {section.place}: measured")
        elif lines:
            print(f"  {section.place}: DIFFERS", *lines, sep="\n    ")
            changed.append(section.place)
        else:
            print(f"  {section.place}: the same")
    return changed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    scripts = by_script(SECTIONS)
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="of bench/")
    parser.add_argument(
        "--same", action="store_true", help="those alone whose pages must not differ"
    )
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    unknown = [name for name in options.scripts if name not in scripts]
    if unknown:
        parser.error(f"no page of {', '.join(unknown)}; known: {', '.join(scripts)}")
    chosen = {
        name: sections
        for name, sections in scripts.items()
        if name in (options.scripts or scripts)
        if not (options.same and all(one.measured for one in sections))
    }
    if options.list:
        rows = [
            [one.place, "measured" if one.measured else "same", one.command() or ""]
            for sections in chosen.values()
            for one in sections
        ]
        print(table(["section", "from run to run", "command"], rows))
        return 0
    changed = [place for sections in chosen.values() for place in make(sections)]
    if changed:
        print(f"{len(changed)} differ: {', '.join(changed)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
