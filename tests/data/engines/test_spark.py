"""Spark: executors count and compute, and one of them may be lost on the way."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import riskcore
from riskcore.assessment.cell_risk import RECORD_COLUMNS
from tests import needs

ROOT = Path(__file__).resolve().parents[3]
pytestmark = needs.engine("spark")


def test_risks_are_computed_by_executors(session):
    table = pa.table({"a": [1, 1, 2], "w": [2.5, 3.0, 8.0]})
    result = riskcore.assess(session.createDataFrame(table), ["a"], "w")
    plan = result.records._jdf.queryExecution().executedPlan().toString()
    assert "InArrow" in plan
    # By this rule a cell has records of others: the table of cells goes there.
    missing = pa.table({"a": [1, None, 2], "w": [2.5, 3.0, 8.0]})
    data = session.createDataFrame(missing)
    result = riskcore.assess(data, ["a"], "w", missing="wildcard")
    plan = result.records._jdf.queryExecution().executedPlan().toString()
    assert "InArrow" not in plan


PROGRAM = """
import json, sys
import numpy as np, pyarrow as pa
import riskcore
from tests.data.engines.conftest import spark_session

session = spark_session(
    "local-cluster[2,1,1024]", **{"spark.executor.memory": "1g",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.shuffle.partitions": "40"},
)
print(json.dumps(session.sparkContext.applicationId), flush=True)
data = session.read.parquet(sys.argv[1]).repartition(40)
result = riskcore.assess(data, ["a", "b"], "w")
print("counted", flush=True)
result.records.write.parquet(sys.argv[2])
print(json.dumps([result.cells.n, len(result.cells), result.reidentification_rate]))
safe = riskcore.protect(data, ["a", "b"], "w", k=12)
print(safe.suppressed, flush=True)
safe.write(sys.argv[3], allow_unsafe=True)
print("written")
session.stop()
"""


def executors(application):
    """Return the processes of the executors of an application of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if application in words and any("ExecutorBackend" in word for word in words):
            found.append(int(entry.name))
    return found


@pytest.mark.slow
def test_an_executor_that_is_killed_does_not_show(tmp_path):
    import pyarrow.parquet
    import pyspark

    rng = np.random.default_rng(11)
    n = 400_000
    table = pa.table({
        "id": np.arange(n), "a": rng.integers(0, 300, n), "b": rng.integers(0, 90, n),
        "w": rng.lognormal(3, 1, n) + 1,
    })  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=10_000)
    home = str(Path(pyspark.__file__).parent)
    # Without byte code each of some dozens of workers compiles all that it imports.
    as_usual = {**os.environ}
    as_usual.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path / "in.parquet"),
         str(tmp_path / "out"), str(tmp_path / "safe.parquet")],
        cwd=ROOT,
        env={**as_usual, "SPARK_HOME": home, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    application = json.loads(process.stdout.readline())
    assert process.stdout.readline() == "counted\n"
    # While the records are written.
    while not list(tmp_path.glob("out/_temporary/**/*.parquet")):
        assert process.poll() is None, "it was over before an executor was killed"
        time.sleep(0.02)
    before = executors(application)
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    found = json.loads(process.stdout.readline())
    suppressed = process.stdout.readline()
    # Both, while a file is written that the driver holds open.
    while not any(part.stat().st_size for part in tmp_path.glob(".riskcore-*.part")):
        assert process.poll() is None
        time.sleep(0.02)
    for executor in executors(application):
        os.kill(executor, signal.SIGKILL)
    output, _ = process.communicate(timeout=500)
    safe = riskcore.protect(table, ["a", "b"], "w", k=12)
    assert suppressed == f"{safe.suppressed}\n"
    assert sum(safe.suppressed.values()) > 1000
    assert (tmp_path / "safe.parquet").exists() == ("written" in output)
    if process.returncode == 0:
        back = pyarrow.parquet.read_table(tmp_path / "safe.parquet").sort_by("id")
        assert back.equals(safe.data.cast(back.schema))
    want = riskcore.assess(table, ["a", "b"], "w")
    assert found == [n, len(want.cells), want.reidentification_rate]
    back = pyarrow.parquet.read_table(tmp_path / "out")
    back = back.take(pc.sort_indices(back, [("id", "ascending")]))
    assert back["id"].equals(table["id"])
    for name in RECORD_COLUMNS[:4]:
        np.testing.assert_array_equal(back[name], want.records[name])
