"""Measure what reading a safe file back adds to the time of writing it.

    python -m bench.bench_readback [records] [rounds]

A survey of ten columns is protected once and then written with and without reading it
back, in turn. Figures are medians of processor seconds, on which other work of the
machine has less influence.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np

from bench._common import given, interleaved, origin, table

TARGETS = ["safe.csv", "safe.csv.gz", "safe.parquet"]


def not_read_back(write):
    """Write a file without reading it back."""
    with mock.patch("riskcore.protection.release.writing._read_back"):
        write()


def main():
    records, rounds = given(1_000_000, 3)
    from riskcore import Recoding, protect, simulate
    from riskcore.data.files import formats

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        data = simulate.microdata(records, np.random.default_rng(9))
        del data["INCOME"]
        source = formats.write(Path(folder) / "survey.csv", data)
        result = protect(
            source, ["REGION", "SEX", "AGE", "MARSTAT"], "WEIGHT", "HOUSEHOLD",
            threshold=0.01, household_keys=["REGION"],
            recodings={"REGION": Recoding.truncation(2)},
        )  # fmt: skip
        rows = []
        for target in TARGETS:
            write = partial(
                result.write,
                Path(folder) / target,
                shuffle=True,
                overwrite=True,
                allow_unsafe=True,
            )
            cases = {False: partial(not_read_back, write), True: write}
            without, both = interleaved(cases, rounds, clock=process_time).values()
            rows.append([target, f"{without:.2f}", f"{both - without:.2f}"])
    print(
        f"{origin('numpy', 'pyarrow')}; {records:.0e} records, "
        f"{len(data)} columns, shuffled\n"
    )
    print(table(["file", "write", "read back"], rows))


if __name__ == "__main__":
    main()
