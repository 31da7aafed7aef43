"""What the shell offers when one presses the tabulator."""

import subprocess
import sys

import pytest

from tests.cli.conftest import SOURCE


@pytest.fixture
def offered(tmp_path):
    """Return what is offered at the end of a line."""
    (tmp_path / "survey.csv").write_text("REGION;AGE GROUP;WEIGHT\n1;2;3\n")

    def offer(line):
        answer = tmp_path / "answer"
        asked = {
            "PYTHONPATH": SOURCE, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash",
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "COMP_TYPE": "9",
            "COMP_LINE": line, "COMP_POINT": str(len(line)),
        }  # fmt: skip
        subprocess.run(
            [sys.executable, "-m", "riskcore"],
            env=asked,
            cwd=tmp_path,
            check=False,
            capture_output=True,
        )
        return answer.read_text().split("\n")

    return offer


def test_commands_options_and_choices(offered):
    assert offered("riskcore pro") == ["protect"]
    assert "--household" in offered("riskcore assess survey.csv --h")
    choices = offered("riskcore assess survey.csv --missing ")
    assert choices == ["wildcard", "argus", "category", "refuse"]


def test_columns_of_the_file(offered):
    line = "riskcore assess survey.csv"
    for option in ("--keys", "--weight", "--household"):
        assert offered(f"{line} {option} ") == ["REGION", "AGE\\ GROUP", "WEIGHT"]
    assert offered(f"{line} --keys RE") == ["REGION"]
    assert offered("riskcore assess nothing.csv --weight ") == [""]
