"""The source is clean by its own rules."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [
    name
    for name in ("riskcore", "tests", "bench", "notes", "noxfile.py", "hatch_build.py")
    if (ROOT / name).exists()
]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--no-cache", *FOLDERS],
        ["ruff", "format", "--no-cache", "--check", *FOLDERS],
        # Also the uses of the public names in tests/typed_use.py; a minute.
        pytest.param(["mypy"], marks=pytest.mark.slow),
    ],
    ids=["ruff check", "ruff format", "mypy"],
)
def test_clean(command):
    result = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
