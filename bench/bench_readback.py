"""What it costs to read a safe file back, beside writing it.

    python -m bench.bench_readback [records] [rounds]

A survey of ten columns is protected once and written again and again, with and without
the reading back, in turn; medians of the processor's seconds, so that what else the
machine does matters less.
"""

import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from bench._common import command, machine, table

TARGETS = ["safe.csv", "safe.csv.gz", "safe.parquet"]


def main():
    records = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
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
            seconds = {False: [], True: []}
            for _ in range(rounds):
                for verify, each in seconds.items():
                    begin = time.process_time()
                    result.write(
                        Path(folder) / target,
                        shuffle=True,
                        verify=verify,
                        overwrite=True,
                    )
                    each.append(time.process_time() - begin)
            without, both = (statistics.median(each) for each in seconds.values())
            rows.append([target, f"{without:.2f}", f"{both - without:.2f}"])
    print(
        f"`{command()}`: {machine('numpy', 'pyarrow')}; {records:.0e} records, "
        f"{len(data)} columns, shuffled\n"
    )
    print(table(["file", "write", "read back"], rows))


if __name__ == "__main__":
    main()
