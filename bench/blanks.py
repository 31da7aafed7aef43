"""Count the blanks of ``protect`` and of sdcMicro's ``kAnon`` for the same k.

    python -m bench.blanks

Needs a copy of sdcMicro's source, see bench/_sdcmicro.py. What each program releases is
counted in two ways. By the original: the original records that agree with what is left
of a record. By the released file, as sdcMicro counts: the released records that agree,
where a blank of either record agrees with anything.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas

import riskcore
from bench import _sdcmicro as peer
from bench._common import HERE, origin, table, timed
from bench.after_truth import ADULT, codes_of, people_who_fit
from bench.guide import TEST_KEYS
from riskcore import simulate

PAGE = HERE / "results" / "blanks.md"
GOALS = (3, 5)
IN_R = """
read <- function(path) read.csv(path, colClasses = "factor", na.strings = "")
original <- read("original.csv")
keys <- names(original)
done <- timed("kAnon", kAnon(original, keyVars = keys, k = {k}))
count <- function(frame) sum(freqCalc(frame, keyVars = keys)$fk < {k})
tell("theirs", count(done$xAnon))
tell("ours", count(read("released.csv")))
write.csv(done$xAnon[, keys], "{path}", row.names = FALSE, na = "")
"""


def files():
    """Yield the name and the keys of each file."""
    test = peer.table("testdata")[TEST_KEYS]
    yield "sdcMicro's `testdata`, seven keys", test
    free = peer.table("free1")[["REGION", "SEX", "AGE", "MARSTAT", "ETNI"]]
    free["AGE"] = free["AGE"] // 5
    yield "sdcMicro's `free1`, five keys", free
    persons = pandas.DataFrame(
        simulate.household_survey(2_000, np.random.default_rng(1))
    )
    persons["AGEYRS"] = persons["AGEYRS"] // 5
    keys = ["REGION", "URBRUR", "GENDER", "REL", "MARITAL", "AGEYRS"]
    yield "simulated living conditions, six keys", persons[keys]
    survey = pandas.DataFrame(simulate.microdata(10_000, np.random.default_rng(1)))
    survey["REGION"], survey["AGE"] = survey["REGION"] // 100, survey["AGE"] // 5
    keys = ["REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
    yield "simulated survey, six keys", survey[keys]
    if ADULT.exists():
        adult = pandas.read_csv(ADULT, sep=";").sample(6_000, random_state=1)
        adult["age"] = adult["age"] // 5
        keys = ["sex", "age", "race", "marital-status", "education"]
        yield "persons of 1994, 6,000 drawn, five keys", adult[keys]


def figures(original, released, k):
    """Return blanks, records below k and expected links, by the original."""
    people, patterns = codes_of(original, released, list(original))
    fits = people_who_fit(people, patterns)
    return (patterns < 0).sum(), (fits < k).sum(), (1 / fits).sum()


def masked(frame):
    """Return the columns of a frame as masked arrays."""
    return {
        name: np.ma.array(frame[name].fillna("").to_numpy(), mask=frame[name].isna())
        for name in frame
    }


def rows_of(name, frame):
    """Yield two rows for each k: ours and theirs."""
    frame = frame.astype(str).reset_index(drop=True)
    frame.columns = [column.replace("-", ".") for column in frame]
    original = {column: frame[column].to_numpy() for column in frame}
    for k in GOALS:
        print(f"{name}, k = {k}", file=sys.stderr, flush=True)
        result, seconds = timed(lambda k=k: riskcore.protect(frame, list(frame), k=k))
        ours = {key: result.data[key].to_numpy() for key in frame}
        ours = masked(pandas.DataFrame(ours))
        released = pandas.DataFrame(
            {
                key: pandas.Series(np.ma.filled(column, ""))
                for key, column in ours.items()
            }
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "theirs.csv"
            program = IN_R.format(k=k, path=path)
            told = peer.run(program, original=frame, released=released)
            theirs = masked(pandas.read_csv(path, dtype=str))
        for who, data, below, taken in (
            ("`protect`", ours, told["ours"][0], seconds),
            ("`kAnon`", theirs, told["theirs"][0], told["kAnon.seconds"][0]),
        ):
            blanks, short, links = figures(original, data, k)
            yield [
                name, f"{k}", who, f"{len(frame):,}", f"{blanks:,}", f"{short:,}",
                f"{below:,.0f}", f"{links:,.0f}", f"{taken:.1f}",
            ]  # fmt: skip


def main():
    """Run both programs, and write the table."""
    lacking = peer.lacking()
    if lacking:
        print(f"not run: {lacking}", file=sys.stderr)
        return 1
    warnings.simplefilter("ignore")
    rows = [row for name, frame in files() for row in rows_of(name, frame)]
    head = ["file", "k", "by", "records", "blanks", "f < k by the original",
            "f < k by the released file", "sum of 1/f by the original",
            "seconds"]  # fmt: skip
    text = "\n".join([
        "# Blanks beside sdcMicro", "",
        f"{origin('numpy')}, sdcMicro {peer.version()}.", "",
        *__doc__.rpartition("\n\n")[2].splitlines(), "",
        table(head, rows, 3), "",
    ])  # fmt: skip
    print(text)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
