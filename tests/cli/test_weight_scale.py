"""Weights with implied decimals, from the command and from files of rules."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import riskcore

N = 300
ROLES = "--keys SEX AGE --weight W"
SCALE = "--weight-scale 1e-4"


@pytest.fixture(autouse=True)
def survey(folder):
    rng = np.random.default_rng(4)
    frame = polars.DataFrame(
        {
            "SEX": rng.integers(1, 3, N),
            "AGE": rng.integers(1, 6, N),
            "W": np.round(rng.gamma(4, 9e5, N)).astype(int) + 1,
        }
    )
    frame.write_csv("s.csv")
    frame.write_parquet("s.parquet")
    return frame


@pytest.mark.parametrize("command", ["assess", "uniques", "suda", "protect --k 3"])
@pytest.mark.parametrize("file", ["s.csv", "s.parquet"])
def test_every_command_takes_the_scale(run, command, file):
    name, *more = command.split(maxsplit=1)
    line = " ".join([name, file, ROLES, *more])
    if name == "protect":
        line += " --output safe.csv --accept *=x --allow-unsafe"
    status, _, said = run(line)
    assert status == 2
    assert "--weight-scale 1e-6" in said
    assert said.strip().endswith("--weight-scale 1")
    status, out, _ = run(f"{line} {SCALE}")
    assert status == 0
    told = "The weights are those of the file times 0.0001." in out
    assert told == (name in ("assess", "protect"))


def test_the_released_file_keeps_its_weights_and_is_checked_by_the_scale(run, survey):
    drop = "--k 3 --accept *=x --output t.csv"
    assert run(f"protect s.csv {ROLES} {SCALE} {drop}")[0] == 0
    assert polars.read_csv("t.csv")["W"].to_list() == survey["W"].to_list()
    record = "t.csv.private.json"
    assert json.loads(Path(record).read_text())["input"]["reading"]["weight_scale"] == (
        1e-4
    )
    assert run(f"check t.csv --record {record} --original s.csv")[0] == 0
    assert run(f"compare s.csv t.csv --record {record}")[0] == 0
    status, _, said = run(
        f"protect s.csv {ROLES} {SCALE} {drop} --overwrite --treat W=round-weights:9"
    )
    assert status == 2
    assert "is multiplied by 0.0001" in said


def test_rules_say_the_scale(run):
    rules = '[columns]\nkeys = ["SEX", "AGE"]\nweight = "W"\n[safe]\nthreshold = 0.5\n'
    rules += '[accept]\n"*" = "x"\n[output]\nfile = "r.csv"\n'
    data = 'format = 1\n[data]\nfile = "s.csv"\n'
    Path("r.toml").write_text(data + rules)
    status, _, said = run("run r.toml")
    assert (status, "weight_scale in [data]" in said) == (2, True)
    Path("r.toml").write_text(f"{data}weight_scale = 1e-4\n{rules}")
    assert run("run r.toml")[0] == 0
    assert run("check --rules r.toml --original s.csv")[0] == 0


def test_a_check_of_a_frame_takes_the_scale_of_both(survey):
    how = riskcore.Reading(weight_scale=1e-4)
    settings = {"k": 2, "min_population": 9, "area": ["SEX"], "reading": how}
    found = riskcore.check(survey, ["SEX", "AGE"], "W", original=survey, **settings)
    assert found.passed
    (_, people) = found.rules
    assert people.found == pytest.approx(
        survey.group_by("SEX").agg(polars.col("W").sum())["W"].min() * 1e-4
    )
    with pytest.raises(TypeError, match=r"give reading=riskcore\.Reading"):
        riskcore.assess(survey, ["SEX"], "W", weight_scale=1)
