"""Damaged files of every format: read as they were, or refused with their name.

Files of known records are cut, counts in them are changed, bytes are added. Where
a format states neither a count nor an end, a cut between two records cannot be seen.
These are text files, with a warning if the last line has no end, and transport files of
version 5, always with a warning.
"""

import gzip
import struct
import warnings
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

from riskcore.data.files import formats
from riskcore.data.files.reading import LastLineOpen
from riskcore.data.files.spss_stata_sas import RecordsNotStated

N = 120


def records(shape, seed=1):
    """Return the columns of the files: numbers, texts or both."""
    rng = np.random.default_rng(seed)
    numbers = {
        "sex": rng.integers(1, 3, N).astype(float),
        "income": np.round(rng.lognormal(8, 1, N), 2),
    }
    texts = {
        "region": rng.choice(["North", "South", "East", "W"], N),
        "note": [f"{i} {'x' * (i % 40)}y" for i in range(N)],
    }
    shapes = {
        "mixed": {**numbers, "region": texts["region"]},
        "numbers": numbers,
        "one": {"sex": numbers["sex"]},
        "texts": texts,
        "long": {**numbers, "note": [f"{i} {'z' * 230}{i}" for i in range(N)]},
    }
    return pd.DataFrame(shapes[shape])


def patched(path, place, data):
    """Change some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


# Writers


def csv(path, frame):
    frame.to_csv(path, index=False, lineterminator="\n")


def csv_gz(path, frame):
    text = frame.to_csv(index=False, lineterminator="\n")
    path.write_bytes(gzip.compress(text.encode()))


def parquet(path, frame, **how):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, **how)


def arrow(path, frame, **how):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pyarrow.feather.write_feather(table, path, chunksize=50, **how)


def sav(path, frame, **how):
    pyreadstat.write_sav(frame, path, column_labels={"sex": "Sex"}, **how)


def sav_of_unknown_length(path, frame, **how):
    sav(path, frame, **how)
    patched(path, 80, struct.pack("<i", -1))
    # The number stands in a record of its own, too.
    place = path.read_bytes().index(struct.pack("<4i", 7, 16, 8, 2))
    patched(path, place + 24, struct.pack("<q", -1))


def sav_without_end(path, frame, write=sav):
    """Write packed data without a mark of the end, as some programs do."""
    write(path, frame, row_compress=True)
    data = bytearray(path.read_bytes())
    data[data.rindex(252)] = 0
    path.write_bytes(data)


def dta(path, frame, version):
    labels = {"sex": {1: "male", 2: "female"}} if "sex" in frame else None
    frame.to_stata(path, write_index=False, version=version, value_labels=labels)


def xpt(path, frame, version):
    pyreadstat.write_xport(frame, path, file_format_version=version)


class Kind(NamedTuple):
    """How files are written, and what can be seen of a cut between two records."""

    suffix: str
    write: Callable
    how: dict
    cuts: str = "seen"


KINDS = {
    "csv": Kind(".csv", csv, {}, "unseen"),
    "csv.gz": Kind(".csv.gz", csv_gz, {}),
    "parquet": Kind(".parquet", parquet, {}),
    "parquet, groups": Kind(".parquet", parquet, {"row_group_size": 50}),
    "parquet, plain": Kind(
        ".parquet", parquet, {"compression": "none", "use_dictionary": False}
    ),
    "arrow": Kind(".arrow", arrow, {"compression": "uncompressed"}),
    "feather": Kind(".feather", arrow, {"compression": "lz4"}),
    "sav, plain": Kind(".sav", sav, {}),
    "sav, packed": Kind(".sav", sav, {"row_compress": True}),
    "sav, plain, -1": Kind(".sav", sav_of_unknown_length, {}, "said"),
    "sav, packed, -1": Kind(
        ".sav", sav_of_unknown_length, {"row_compress": True}, "said"
    ),
    "sav, no end": Kind(".sav", sav_without_end, {}),
    "sav, no end, -1": Kind(
        ".sav", sav_without_end, {"write": sav_of_unknown_length}, "said"
    ),
    "zsav": Kind(".zsav", sav, {"compress": True}),
    "zsav, -1": Kind(".zsav", sav_of_unknown_length, {"compress": True}),
    **{f"dta {v}": Kind(".dta", dta, {"version": v}) for v in (114, 117, 118, 119)},
    "xpt 5": Kind(".xpt", xpt, {"version": 5}, "said"),
    "xpt 8": Kind(".xpt", xpt, {"version": 8}),
}


# Places of what states a number of records, and how it is written


def counts_in(name, data):
    """Return the places of counts in a file, and their length."""
    places = []
    if name.startswith(("sav", "zsav")):
        places = [(80, 4)]
    elif name == "dta 114":
        places = [(6, 4)]
    elif name.startswith("dta"):
        place = data.index(b"<N>") + 3
        maps = data.index(b"<map>") + 5
        places = [(place, data.index(b"</N>") - place)]
        places += [(maps + 8 * i, 8) for i in (9, 10, 11)]
    elif name == "xpt 8":
        places = [(data.index(b"OBSV8") + 28, 15)]
    elif name.startswith("parquet"):
        # N stands in the footer as 240 and 1, and 50 as 100.
        end = len(data) - 8
        begin = end - int.from_bytes(data[end : end + 4], "little")
        for i in range(begin, end):
            if data[i : i + 2] == bytes([240, 1]) or data[i] == 100:
                places.append((i, 2))
    elif name in ("arrow", "feather"):
        known = (N.to_bytes(8, "little"), (50).to_bytes(8, "little"))
        places = [(i, 8) for i in range(len(data) - 8) if data[i : i + 8] in known]
    return places


# Damage


def cuts(name, data, rng, most):
    """Yield files that end too early, at lines and records, too."""
    size = len(data)
    near = {size - k for k in (1, 2, 7, 8, 16, 24, 40, 79, 80, 81, 160, 240)}
    lines = range(0, size, 80) if name.startswith("xpt") else ()
    places = [*near, *rng.permutation(lines)[:most], *rng.integers(0, size, most)]
    for place in sorted({int(k) for k in places if 0 <= k < size}):
        yield f"cut at {place} of {size}", data[:place]


def longer(name, data, rng, most):
    """Yield files that have bytes after their end."""
    junk = rng.integers(0, 256, 4096, np.uint8).tobytes()
    for what, more in {
        "a zero": b"\0", "8 zeros": bytes(8), "80 zeros": bytes(80), "a blank": b" ",
        "80 blanks": b" " * 80, "800 blanks": b" " * 800, "a line": b"\n",
        "junk": junk[:1], "junk of 8": junk[:8], "junk of 24": junk[:24],
        "junk of 240": junk[:240], "junk of 4096": junk, "its end": data[-24:],
        "its last line": data[-80:], "itself": data,
    }.items():  # fmt: skip
        yield f"{what} behind", data + more


def counted_otherwise(name, data, rng, most):
    """Yield files whose counts are others: each bit changed, and some numbers."""
    for place, size in counts_in(name, data):
        bits = rng.permutation(8 * size)[:most]
        for bit in sorted(int(k) for k in bits):
            at, mask = place + bit // 8, 1 << bit % 8
            changed = bytes([data[at] ^ mask])
            yield f"bit {bit} at {place}", data[:at] + changed + data[at + 1 :]
        for number in (0, 1, N - 1, N + 1, 34, 2**31 - 1, -1):
            if name.startswith("parquet"):
                continue
            packed = (number % 256**size).to_bytes(size, "little")
            if name == "xpt 8":
                packed = f"{number:15}".encode()
            if packed != data[place : place + size]:
                yield (
                    f"count {number} at {place}",
                    data[:place] + packed + data[place + size :],
                )


DAMAGES = {"cut": cuts, "longer": longer, "count": counted_otherwise}


# What comes of it


def outcome(path, numeric, truth):
    """Return what became of a damaged file, in a word, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            table = formats.read(path, numeric=numeric)
        except (ValueError, OSError) as error:
            named = path.name in str(error)
            return "refused" if named else "refused without a name", str(error)
        except Exception as error:
            return type(error).__name__, str(error)
    if table.to_pydict() == truth:
        return "equal", ""
    if any(one.category in (RecordsNotStated, LastLineOpen) for one in said):
        return "said", ""
    return "wrong", table.num_rows


def outcomes(folder, shape, most):
    """Yield the kind of a file, its damage, its bytes and what came of it."""
    frame = records(shape)
    numeric = [name for name in frame if name in ("sex", "income")]
    for name, kind in KINDS.items():
        rng = np.random.default_rng(most)
        path = folder / f"whole{kind.suffix}"
        kind.write(path, frame, **kind.how)
        truth = frame.to_dict("list")
        assert outcome(path, numeric, truth)[0] == "equal", name
        data = path.read_bytes()
        for damage, make in DAMAGES.items():
            for what, damaged in make(name, data, rng, most):
                one = folder / f"damaged{kind.suffix}"
                one.write_bytes(damaged)
                came, said = outcome(one, numeric, truth)
                yield name, damage, what, damaged, came, said


def is_csv(name, data, columns):
    """Tell whether damage left a file that nothing shows to be damaged."""
    if name == "csv.gz":
        data = gzip.decompress(data)
    return all(line.count(b",") == columns - 1 for line in data.split(b"\n") if line)


def is_excused(name, damage, data, came, said, columns):
    """Tell whether a format has nothing by which damage could be seen."""
    if name.startswith("csv"):
        whole = name == "csv.gz" or data.endswith(b"\n")
        return (came == "said" or whole) and is_csv(name, data, columns)
    if came == "said":
        return KINDS[name].cuts == "said" and damage != "count"
    # Among the counts of Arrow are the places of texts.
    return name == "arrow" and damage == "count" and said == N


def check(folder, shape, most):
    """Check what becomes of damaged files, and return how many were tried."""
    columns = records(shape).shape[1]
    counts, wrong = Counter(), []
    for name, damage, what, data, came, said in outcomes(folder, shape, most):
        counts[came] += 1
        if came not in ("equal", "refused") and not is_excused(
            name, damage, data, came, said, columns
        ):
            wrong.append((name, what, came, said))
    assert not wrong, (shape, counts, wrong)
    return counts


@pytest.mark.parametrize("shape", ["mixed", "texts"])
def test_damaged_files_are_read_as_they_were_or_refused(tmp_path, shape):
    counts = check(tmp_path, shape, 4)
    assert counts["refused"] > 600
    assert counts.total() > 1000
