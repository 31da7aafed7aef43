"""Records of labelled files, counted by their layout."""

import struct

import pandas as pd
import pyreadstat
import pytest

from riskcore.data.files import formats, spss_stata_sas
from riskcore.data.files.record_count import (
    RecordCount,
    count_sas,
    count_spss,
    count_stata,
    count_transport,
)
from riskcore.data.files.spss_stata_sas import RecordsNotStated

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "t": ["x", "yy", ""]})


def with_counts(data, header, extension):
    """Return a file of SPSS with its two numbers of cases changed."""
    place = data.index(struct.pack("<4i", 7, 16, 8, 2)) + 24
    number = struct.pack("<q", extension)
    data = data[:place] + number + data[place + 8 :]
    return data[:80] + struct.pack("<i", header) + data[84:]


@pytest.mark.parametrize("packing", [{}, {"row_compress": True}, {"compress": True}])
def test_spss_states_the_number_of_cases_twice(tmp_path, packing):
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(FRAME, path, **packing)
    data = path.read_bytes()
    for counts in ((3, 3), (-1, 3), (3, -1)):
        path.write_bytes(with_counts(data, *counts))
        assert count_spss(path) == RecordCount(3, stated=True)
    for counts in ((3, 4), (4, 3), (-1, 4), (4, -1)):
        path.write_bytes(with_counts(data, *counts))
        with pytest.raises(ValueError, match="states 4 records, its data hold 3"):
            count_spss(path)
    path.write_bytes(with_counts(data, -1, -1))
    assert count_spss(path) == RecordCount(3, stated=bool(packing))


def test_a_number_that_is_not_stated_is_warned_of(tmp_path):
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(FRAME, path)
    path.write_bytes(with_counts(path.read_bytes(), -1, -1))
    with pytest.warns(
        RecordsNotStated, match=r"a\.sav: 3 records; the file does not state"
    ):
        assert formats.read(path).num_rows == 3
    pyreadstat.write_xport(FRAME, tmp_path / "a.xpt", file_format_version=5)
    with pytest.warns(
        RecordsNotStated, match=r"a\.xpt: 3 records; the file does not state"
    ):
        assert formats.read(tmp_path / "a.xpt").num_rows == 3


def test_a_header_of_version_8_without_a_number(tmp_path):
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(FRAME, path)
    data = path.read_bytes()
    place = data.index(b"OBSV8") + 28
    for text in (b" " * 15, b"0" * 15):
        path.write_bytes(data[:place] + text + data[place + 15 :])
        assert count_transport(path) == RecordCount(3, stated=False)
    path.write_bytes(data[:place] + b"three          " + data[place + 15 :])
    with pytest.raises(ValueError, match="where a number stands"):
        count_transport(path)


def test_several_data_sets_in_one_file_are_refused(tmp_path):
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(FRAME, path, file_format_version=5)
    data = path.read_bytes()
    path.write_bytes(data + data[240:])
    with pytest.raises(ValueError, match=r"a\.xpt: several data sets in one file"):
        formats.read(path)


@pytest.mark.parametrize("version", [5, 8])
def test_blank_records_at_the_end_of_a_transport_file(tmp_path, version):
    path = tmp_path / "a.xpt"
    wide = pd.DataFrame({"t": ["x" * 60, "y", "", ""]})
    pyreadstat.write_xport(wide, path, file_format_version=version)
    if version == 5:
        with pytest.raises(ValueError, match="120 blanks follow record 2"):
            count_transport(path)
    else:
        assert count_transport(path) == RecordCount(4, stated=True)


def test_labels_of_version_9(tmp_path):
    path = tmp_path / "a.xpt"
    labels = {"a": "long " * 40}
    pyreadstat.write_xport(FRAME, path, column_labels=labels)
    assert b"LABELV" in path.read_bytes()
    assert count_transport(path) == RecordCount(3, stated=True)


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_stata_of_pyreadstat(tmp_path, version):
    path = tmp_path / "a.dta"
    labels = {"a": {1: "one", 2: "two"}}
    pyreadstat.write_dta(FRAME, path, version=version, variable_value_labels=labels)
    assert count_stata(path) == RecordCount(3, stated=True)
    with path.open("ab") as file:
        file.write(b"\r\n")
    if version >= 13:  # marks tell where the file ends
        assert count_stata(path) == RecordCount(3, stated=True)


def test_stata_5_with_labels(tmp_path):
    path = tmp_path / "a.dta"
    about = struct.pack("<4BHI", 105, 2, 1, 0, 1, 2) + bytes(32 + 18) + b"d"
    about += b"a".ljust(9, b"\0") + bytes(2 * 2 + 12 + 9 + 32) + bytes(3)
    labels = struct.pack("<H10s2h", 2, b"lab", 1, 2) + b"one".ljust(8) * 2
    path.write_bytes(about + struct.pack("<2d", 1, 2) + labels)
    assert count_stata(path) == RecordCount(2, stated=True)
    path.write_bytes(about + struct.pack("<d", 1))
    with pytest.raises(ValueError, match="states 2 records, its data hold no more"):
        count_stata(path)


# SAS, which nothing but SAS writes

DATA, META, MIXED = 0x0100, 0x0000, 0x0200


def sas(pages, *, wide, order, stated, shift=0, deleted=0):
    """Return a file of pages of given kinds and numbers of records."""
    size = 1024
    head = bytearray(1024)
    head[32], head[35] = 0x33 if wide else 0x22, 0x33 if shift else 0x22
    head[37] = order == "<"
    form = f"{order}IIQ" if wide else f"{order}III"
    struct.pack_into(form, head, 196 + shift, len(head), size, len(pages))
    place, pointer = (40, "QQBB6x") if wide else (24, "IIBB2x")
    step = struct.calcsize(order + pointer)
    for i, (kind, records, packed) in enumerate(pages):
        page = bytearray(size)
        subheaders = []
        if i == 0:
            about = bytearray(256)
            mark = (0, 0xF7F7F7F7) if wide and order == ">" else (0xF7F7F7F7, 0)
            struct.pack_into(f"{order}2I", about, 0, *mark)
            form, at = ("2Q", 48) if wide else ("2I", 24)
            struct.pack_into(order + form, about, at, stated, deleted)
            subheaders.append((about, 0, 0))
        subheaders += [(b"packed row", 4, 1)] * packed
        end = size
        for k, (data, packing, flag) in enumerate(subheaders):
            end -= len(data)
            page[end : end + len(data)] = data
            at = place + k * step
            struct.pack_into(order + pointer, page, at, end, len(data), packing, flag)
        blocks = records + (0 if kind == DATA else len(subheaders))
        struct.pack_into(f"{order}3H", page, place - 8, kind, blocks, len(subheaders))
        head += page
    return bytes(head)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("shift", [0, 4])
@pytest.mark.parametrize(
    ("pages", "records"),
    [
        ([(META, 0, 0), (DATA, 7, 0), (DATA, 2, 0)], 9),
        ([(MIXED, 5, 0)], 5),
        ([(META, 0, 3), (META, 0, 4)], 7),
    ],
)
def test_pages_of_sas(tmp_path, wide, order, shift, pages, records):
    how = {"wide": wide, "order": order, "shift": shift}
    path = tmp_path / "a.sas7bdat"
    whole = sas(pages, stated=records, **how)
    path.write_bytes(whole)
    assert count_sas(path) == RecordCount(records, stated=True)
    path.write_bytes(sas(pages, stated=records, deleted=2, **how))
    assert count_sas(path) == RecordCount(records - 2, stated=True)
    path.write_bytes(sas(pages, stated=records + 1, deleted=1, **how))
    assert count_sas(path) == RecordCount(records, stated=True)
    for damaged in (whole[:-1], whole[:-1024], whole + b"x", whole + whole[-1024:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.sas7bdat: .* its header states"):
            count_sas(path)
    for stated in (0, records - 1, records + 1):
        path.write_bytes(sas(pages, stated=stated, **how))
        with pytest.raises(ValueError, match=f"{stated} records, its pages hold"):
            count_sas(path)
    path.write_bytes(whole[:100])
    with pytest.raises(ValueError, match="it ends after 100 bytes, before its"):
        count_sas(path)


def test_records_that_cannot_be_read_are_missed(tmp_path, monkeypatch):
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(FRAME, path)
    count = RecordCount(4, stated=True)
    monkeypatch.setattr(spss_stata_sas.StataFile, "counter", lambda path: count)
    with pytest.raises(ValueError, match="4 records by the layout of the file, but 3"):
        formats.read(path)
