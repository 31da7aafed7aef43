"""Every line of a CSV file is accounted for, or the file is refused."""

import csv
import gzip
import io
import json
import random
import threading
from pathlib import Path

import pytest

import riskcore
from riskcore.data.files import formats
from riskcore.data.files.csv import ScannedFile
from riskcore.data.files.csv_scan import Scan
from riskcore.data.files.intake import Intake
from riskcore.data.files.reading import LastLineOpen, Reading

HEADER = "region,sex,age,w\n"


def rows(count, first=0):
    return "".join(
        f"{i % 7},{i % 2},{i % 90},10\n" for i in range(first, first + count)
    )


def written(folder, text, name="a.csv"):
    path = folder / name
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def refused(path, match, reading=None):
    """Every door refuses the file."""
    for door in (
        lambda: formats.read(path, reading=reading),
        lambda: riskcore.assess(path, ["sex", "age"], "w", reading=reading),
        lambda: riskcore.tabulate(path, ["sex", "age"], "w", reading=reading),
        lambda: riskcore.protect(
            path, ["sex", "age"], "w", threshold=0.5, reading=reading
        ),
    ):
        with pytest.raises(ValueError, match=match):
            door()


# --- quotes that swallow records ------------------------------------------------------


@pytest.mark.parametrize("row", [50, 12_000])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_quote_that_is_never_closed(tmp_path, row, name):
    # Far more than 131,072 characters follow it: the limit of Python's csv module.
    text = f'{HEADER}{rows(row)}"1,2,3,10\n{rows(20_000 - row)}'
    path = written(tmp_path, text, name)
    refused(path, f"the quote opened in line {row + 2} is not closed")


def test_two_stray_quotes_that_swallow_thousands_of_records(tmp_path):
    text = f'{HEADER}{rows(100)}"1,2,3,10\n{rows(6000)}1",2,3,10\n{rows(100)}'
    path = written(tmp_path, text)
    refused(path, r"begins in line 102 runs over 6002 lines.*swallowed records")


@pytest.mark.parametrize("last", ['1,2",3,10', '1,2,3",10', '1,2,3,10"'])
def test_delimiters_before_the_second_stray_quote_count(tmp_path, last):
    path = written(tmp_path, f'{HEADER}1,2,3,"10\n{rows(3)}{last}\n')
    if last.endswith('"'):
        refused(path, "begins in line 2 runs over 5 lines.*swallowed records")
    else:
        refused(path, "1 row does not have 4 fields")
    fits = written(tmp_path, f'{HEADER}1,"2,3,10\n{rows(3)}1,2",3,10\n', "b.csv")
    refused(fits, "begins in line 2 runs over 5 lines.*swallowed records")


def test_two_stray_quotes_in_one_line(tmp_path):
    refused(
        written(tmp_path, f'{HEADER}1,"2"x,3,10\n{rows(5)}'),
        "text after a closing quote in line 2;",
    )
    refused(
        written(
            tmp_path, f'{HEADER}{rows(3)}"1,2,3,10\n1,"2,3,10\n{rows(2)}4,"x"y,1,1\n'
        ),
        "text after a closing quote in line 6, and 1 times more",
    )


def test_a_field_longer_than_a_block(tmp_path):
    long = "x" * (3 << 20)
    path = written(tmp_path, f'{HEADER}1,2,"{long}",10\n{rows(5)}')
    table, intake = formats.opened(path).read()
    assert table.column("age")[0].as_py() == long
    assert table.num_rows == intake.records == 6


class OutOfOrder(io.BytesIO):
    """A file whose first part reaches its reader after the second one does."""

    def __init__(self, raw):
        super().__init__(raw)
        self._size = len(raw) // 2
        self.first_is_read = threading.Event()
        self._second_is_scanned = threading.Event()

    def read(self, size=-1):
        part = super().read(self._size)
        if not self.first_is_read.is_set():
            self.first_is_read.set()
            # Nobody comes where there is one reader at a time.
            self._second_is_scanned.wait(0.2)
        elif not part:
            self._second_is_scanned.set()
        return part


def test_arrow_may_read_ahead_while_the_scan_is_ended(tmp_path):
    # After an error of Arrow both its thread and ours read the rest of the file.
    path = tmp_path / "a.csv"
    file = OutOfOrder(b'age,address\n31,"12 High St"\n47,"13 High St"\n')
    scan = Scan(path, 2, ",")
    stream = ScannedFile(file, None, scan)
    arrow = threading.Thread(target=stream.read, args=(10,))
    arrow.start()
    file.first_is_read.wait()
    stream.drain()
    arrow.join()
    assert scan.intake() == Intake(2, 3, names=1)


def test_a_name_longer_than_the_limit_of_the_csv_module(tmp_path):
    path = written(tmp_path, f"{'n' * 200_000},sex,age,w\n{rows(2)}")
    refused(path, "line 1: the names of the columns cannot be read: field larger")


@pytest.mark.parametrize("width", [300, 20_000])
def test_many_columns(tmp_path, width):
    names = ",".join(f"column_{i}" for i in range(width))
    row = ",".join("1" * width)
    path = written(tmp_path, f"{names}\n{row}\n{row}\n")
    assert formats.read(path).num_columns == width
    cells = riskcore.tabulate(path, ["column_0", f"column_{width - 1}"])
    assert cells.sample_frequency.tolist() == [2]


# --- what is well-formed --------------------------------------------------------------


def test_fields_with_line_breaks_are_counted_and_said(tmp_path):
    text = (
        'id,address,w\n1,"12 High St\nTown",10\n2,"a ""b"", c\r\n\r\nd",20\n\n3,e,5\n'
    )
    path = written(tmp_path, text)
    with pytest.warns(formats.LineBreaksInFields, match="2 quoted .* 3 lines belong"):
        table, intake = formats.opened(path).read()
    assert table.column("address").to_pylist() == [
        "12 High St\nTown",
        'a "b", c\r\n\r\nd',
        "e",
    ]
    assert intake == Intake(3, 8, names=1, empty=1, within=3, broken_fields=2)
    assert str(intake) == "8 lines: a header, 3 records, 1 empty, 3 within 2 fields"


def test_mixed_line_ends(tmp_path):
    path = written(tmp_path, b"a,b\r\n1,2\r3,4\n5,6\r\n\r\n\n7,8")
    with pytest.warns(LastLineOpen, match="4 records, and no line end after the last"):
        table, intake = formats.opened(path).read()
    assert table.column("a").to_pylist() == ["1", "3", "5", "7"]
    assert intake == Intake(4, 7, names=1, empty=2)


def test_marks_and_zero_bytes(tmp_path):
    path = written(tmp_path, b'\xef\xbb\xbf"a",b\n1,2\n')
    assert formats.read(path).column_names == ["a", "b"]
    refused(
        written(tmp_path, f"{HEADER}{rows(2)}1,\0,3,4\n".encode()),
        "1 zero bytes, the first at byte offset 37: not a text file",
    )
    wide = (HEADER + rows(3)).encode("utf-16")
    refused(written(tmp_path, wide), "mark of UTF-16; give encoding='utf-16'")
    path = written(tmp_path, wide)
    assert formats.read(path, reading=Reading("utf-16")).num_rows == 3
    bare = (HEADER + rows(3)).encode("utf-16-le")
    refused(written(tmp_path, bare), "zero bytes")


def test_a_packed_file_that_is_cut_off(tmp_path):
    whole = gzip.compress((HEADER + rows(5000)).encode())
    path = tmp_path / "a.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "not a gzip file, or cut off")
    path.write_bytes(whole + whole)  # two members: one file after the other
    assert formats.read(path).num_rows == 10_001  # the second line of names is a record
    with pytest.raises(ValueError, match=r"not a number in 1 record, .* record 5,001:"):
        riskcore.assess(path, ["sex", "age"], "w")


def test_an_unquoted_break_is_a_wrong_row(tmp_path):
    path = written(tmp_path, f"{HEADER}{rows(3)}1,2\n3,10\n{rows(2)}")
    refused(
        path,
        "2 rows do not have 4 fields as the header does; first row 4, line 5, has 2",
    )


# --- the account against others -------------------------------------------------------

PIECES = ["a", "1", ",", '"', "\n", "\r", "\r\n", '""', " ", '"a"', '\n"', '",', "é"]


def strict(data, width):
    """Return the records by Python's strict reader, None if it refuses the file."""
    limit = csv.field_size_limit(1 << 30)
    try:
        found = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except csv.Error:
        return None
    finally:
        csv.field_size_limit(limit)
    records = [row or [""] * (width == 1) for row in found[1:]]
    records = [row for row in records if row]
    return records if all(len(row) == width for row in records) else None


def attempt(action):
    """Return what an action returns, or what its refusal says."""
    try:
        return action(), None
    except ValueError as error:
        return None, str(error)


def scanned(data, width, part):
    scan = Scan(Path("x.csv"), width, ",")
    for begin in range(0, len(data), part):
        scan.feed(data[begin : begin + part])
    return scan.intake()


@pytest.mark.parametrize("seed", range(4))
def test_the_scan_agrees_with_a_strict_reader(seed):
    draw = random.Random(seed)
    accepted = 0
    for _ in range(3000):
        width = draw.choice([1, 2, 3])
        body = "".join(draw.choices(PIECES, k=draw.randint(1, 14)))
        data = (",".join("xyz"[:width]) + "\n" + body).encode()
        expected = strict(data, width)
        found, fault = attempt(lambda d=data, w=width: scanned(d, w, len(d) % 5 + 1))
        if found is None:
            assert expected is None or "swallowed" in fault, data
        else:
            assert found.records == len(expected), data
            accepted += 1
    assert accepted > 200


@pytest.mark.filterwarnings("ignore::riskcore.data.files.csv.LinesWithoutValues")
@pytest.mark.filterwarnings("ignore::riskcore.data.files.formats.LineBreaksInFields")
@pytest.mark.filterwarnings("ignore::riskcore.data.files.reading.LastLineOpen")
@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_is_what_a_strict_reader_reads(tmp_path, seed):
    # Well-formed fields among stray pieces, so that more than a few files are read.
    draw = random.Random(seed)
    read = 0
    for _ in range(400):
        width = draw.choice([1, 2, 3, 5])
        fields = ["1", "", "a b", '"q"', '"a,b"', '"a\nb"', '"x""y"', 'a"b', "é"]
        lines = [
            ",".join(draw.choice(fields) for _ in range(width))
            for _ in range(draw.randint(1, 8))
        ]
        text = (
            ",".join("vwxyz"[:width]) + "\n" + draw.choice(["\n", "\r\n"]).join(lines)
        )
        for _ in range(draw.choice([0, 0, 1, 2])):
            place = draw.randrange(len(text))
            text = text[:place] + draw.choice(PIECES) + text[place:]
        data = draw.choice([b"", b"\xef\xbb\xbf"]) + text.encode()
        names = text.splitlines()[0] if text else ""
        expected = strict(text.encode(), len(next(csv.reader([names]), [])))
        try:
            table = formats.read(written(tmp_path, data))
        except ValueError:
            continue
        if expected is None:
            continue  # the names themselves are broken: another number of columns
        got = [[v or "" for v in row.values()] for row in table.to_pylist()]
        assert got == expected, data
        read += 1
    assert read > 150


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::riskcore.data.files.formats.LineBreaksInFields")
@pytest.mark.parametrize("size", [200_000, 2 << 20])
@pytest.mark.parametrize("seed", range(10))
def test_long_fields_with_stray_quotes(tmp_path, size, seed):
    draw = random.Random(seed)
    body = rows(2000).splitlines(keepends=True)
    long = "".join(
        draw.choices('ab ,\n"', weights=[9, 9, 5, 2, 1, 5 * (seed % 2) / size], k=size)
    )
    body[draw.randrange(2000)] = f'1,"{long}",3,10\n'
    data = (HEADER + "".join(body)).encode()
    expected = strict(data, 4)
    try:
        table = formats.read(written(tmp_path, data))
    except ValueError:
        return
    assert expected is not None
    assert [list(row.values()) for row in table.to_pylist()] == expected


# --- what is said ---------------------------------------------------------------------


def test_the_summary_accounts_for_lines_and_missing_values(tmp_path, capsys):
    from riskcore.cli import main

    text = 'mar,note,w\nNA,"a\nb",10\n1,,20\n\n1,c,30\n'
    path = str(written(tmp_path, text))
    options = ["--keys", "mar", "--weight", "w", "--na", "mar=NA"]
    assert main(["assess", path, *options, "--missing", "wildcard"]) == 0
    out, err = capsys.readouterr()
    account = "6 lines: a header, 3 records, 1 empty, 1 within 1 field"
    assert account in out
    assert "missing values" in out
    assert "mar 1" in " ".join(out.split())
    assert "1 quoted fields have line breaks" in err
    goals = [
        "--threshold", "0.9", "--role", "*=harmless:a test", "--accept", "*=a test",
        "--json",
    ]  # fmt: skip
    assert main(["protect", path, *options, *goals]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["missing_values"] == {"mar": 1}
    assert figures["intake"]["lines_within_fields"] == 1
    assert main(["assess", path, *options, "--missing", "refuse"]) == 2
    assert "'mar' in 1 of 3 records; --missing category counts" in (
        capsys.readouterr().err
    )
