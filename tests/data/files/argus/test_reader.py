"""mu-Argus files: metadata, fixed and free format data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data.files import formats
from riskcore.data.files.argus import reader
from riskcore.data.files.argus.metadata import (
    Variable,
    line_tokens,
    metadata_beside,
    read_metadata,
    unquoted,
)
from riskcore.data.files.reading import Reading
from tests import needs

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.data.files.reading.LastLineOpen"
)


def read_data(path, metadata=None, columns=None, **how):
    """Return the data of a file without its account."""
    return formats.read(path, columns, reading=Reading(metadata=metadata), **how)


FIXED = """\
// survey of 2020
REGION 1 2 99 98
\t<RECODEABLE>
<NUMERIC>
\t<CODELIST> "Region.cdl"
\t<idlevel> 2
SEX 3 1 9
  <Recodable>
  <RELATED> REGION
W 4 6
  <NUMERIC>
  <DECIMALS> 2
  <WEIGHT>
HH 10 3
  <HOUSE_ID>
  <NUMERIC>
  <SUPPRESSPRIORITY> 70 <TRUNCABLE>
"""
RECORDS = [" 11118.30 01", "992   7.5 02", "12   1e2  03"]


def survey(folder, data, metadata=FIXED, name="survey"):
    """Write a data file with its metadata; both may be text or bytes."""
    for suffix, content in ((".asc", data), (".rda", metadata)):
        raw = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}{suffix}").write_bytes(raw)
    return folder / f"{name}.asc"


def values(column):
    """Return a column as a list, None where missing."""
    return column.tolist()


# Metadata


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_metadata_of_fixed_format(tmp_path, line_end):
    path = tmp_path / "survey.rda"
    path.write_bytes(FIXED.replace("\n", line_end).encode())
    metadata = read_metadata(path)
    region, sex, weight, household = metadata.variables
    assert metadata.names == ("REGION", "SEX", "W", "HH")
    assert (metadata.weight, metadata.household_id) == ("W", "HH")
    assert metadata.separator is None
    assert (region.start, region.width, region.missing) == (0, 2, ("99", "98"))
    assert region.recodable
    assert region.id_level == 2
    assert region.codelist == tmp_path / "Region.cdl"
    assert (sex.related, sex.suppress_weight) == ("REGION", 50)
    assert (weight.start, weight.decimals, weight.missing) == (3, 2, ())
    assert weight.numeric
    assert household.suppress_weight == 70
    assert not household.truncable, "a second tag on a line is not read"


def test_metadata_of_free_format(tmp_path):
    path = tmp_path / "free.rda"
    path.write_text('<separator> ";"\n<NamesInFront>\nA 2 "9 9" " 8"\nB 3 // note\n')
    metadata = read_metadata(path)
    assert (metadata.separator, metadata.names_in_front) == (";", True)
    a, b = metadata.variables
    assert (a.start, a.width, a.missing) == (None, 2, ("9 9", "8"))
    assert (b.width, b.missing) == (3, ())


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("A 1 2", ()),
        ("A 1 2 98, 99", ("98", "99")),
        ("A 1 2 98,99", ("98", "99")),
        ('A 1 2 "9,8"', ("9,8",)),
        ('A 1 2 "" 9', ("9",)),
        ('"A" 1 2 "99', ("99",)),
        ("A\t1\t2\t9 //8", ("9",)),
    ],
)
def test_missing_codes(tmp_path, line, missing):
    path = tmp_path / "a.rda"
    path.write_text(line)
    (variable,) = read_metadata(path).variables
    assert (variable.name, variable.missing) == ("A", missing)


def test_numbers_of_tags_may_be_zero(tmp_path):
    path = tmp_path / "a.rda"
    path.write_text("A 1 2\n<IDLEVEL> 0\n<DECIMALS> 0\n<SUPPRESSWEIGHT> 0\n")
    (variable,) = read_metadata(path).variables
    numbers = (variable.id_level, variable.decimals, variable.suppress_weight)
    assert numbers == (0, 0, 0)
    path.write_text("A 1 2\n<IDLEVEL> -1\n")
    with pytest.raises(ValueError, match="must be a whole number of at least 0"):
        read_metadata(path)


def test_unknown_tags_are_ignored(tmp_path):
    path = tmp_path / "a.rda"
    path.write_text("<FUTURE> x\nA 1 2\n<NOSUCHTAG> 7\n")
    assert read_metadata(path).variables == (Variable("A", 0, 2),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A 1 2\nB x 2", r"bad\.rda, line 2: start position .* 'B x 2'"),
        ("A 1 -2", "line 1: width"),
        ("A 1 2\n\n<IDLEVEL> high", "line 3: <IDLEVEL> must be a whole number"),
    ],
)
def test_bad_metadata_are_refused(tmp_path, text, message):
    """See also `tests/bad_inputs/test_argus.py`, as for records."""
    path = tmp_path / "bad.rda"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_metadata(path)


plain = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1)
words = plain.filter(lambda word: not word.startswith(('"', ",", "|", "(", ")", "//")))
quoted = st.text(st.characters(min_codepoint=32, max_codepoint=126)).filter(
    lambda word: '"' not in word
)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), words, quoted)), st.sampled_from([" ", "\t "]))
def test_tokens_are_found_again(parts, blank):
    line = blank.join(f'"{inner}"' if quote else word for quote, word, inner in parts)
    found = [unquoted(token) for token in line_tokens(line)]
    assert found == [inner if quote else word for quote, word, inner in parts]


@settings(deadline=None)
@given(st.text(st.sampled_from(' \t",|()</>AB19\n\r'), max_size=60))
def test_any_text_is_metadata_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("fuzz") / "a.rda"
    path.write_bytes(text.encode())
    try:
        metadata = read_metadata(path)
    except ValueError as error:
        message = str(error)
        metadata = None
    if metadata is None:
        assert message.startswith(str(path))
    else:
        assert metadata.variables
        assert all(v.name and v.width > 0 for v in metadata.variables)


# Fixed format


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("tail", ["", "end", "end\x1a", "end end end"])
def test_fixed_format(tmp_path, line_end, tail):
    text = line_end.join(RECORDS) + tail.replace("end", line_end).replace(" ", "")
    data = read_data(survey(tmp_path, text))
    assert values(data["REGION"]) == ["1", None, "12"], "recodable: codes"
    assert values(data["SEX"]) == ["1", "2", None]
    assert data["W"].tolist() == [118.3, 7.5, 100.0]
    assert values(data["HH"]) == ["01", "02", "03"], "ids are codes"


def test_only_columns_asked_for_in_their_order(tmp_path):
    path = survey(tmp_path, "\n".join(RECORDS))
    assert list(read_data(path, columns=["W", "SEX", "W"])) == ["W", "SEX"]
    with pytest.raises(KeyError, match="no column 'SEXE'; did you mean 'SEX'"):
        read_data(path, columns=["SEXE"])
    with pytest.raises(KeyError, match="no column 'X'"):
        read_data(path, numeric=["X"])


def test_codes_can_be_asked_for_as_numbers(tmp_path):
    data = read_data(survey(tmp_path, "\n".join(RECORDS)), numeric=["REGION"])
    np.testing.assert_array_equal(data["REGION"], [1, np.nan, 12])


def test_lost_trailing_blanks_are_missing_values(tmp_path):
    data = read_data(survey(tmp_path, " 11118.30 01\n 12\n 1"))
    assert values(data["SEX"]) == ["1", "2", None]
    np.testing.assert_array_equal(data["W"], [118.3, np.nan, np.nan])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" 11118.30 01\n 11118.\n 1111", "W, columns 4 to 9, .* 2 records, .* line 2"),
        (" 11118.30 01\n\n 11118.30 01", "no data in 1 records, first in line 2"),
        (" 11 12,50 01", "W is not a number in 1 records, first in line 1: '12,50'"),
        (" 11 1e999 01", "W is not a number"),
        (" 11 1.2.3 01", "W is not a number"),
        (" 11   1 2 01", "W is not a number"),
        ("\r\n\r\n", "no records"),
        (b" 1\x8118.30 01", "neither UTF-8 nor Windows-1252 .byte offset 2"),
    ],
)
def test_bad_records_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_data(survey(tmp_path, text))


def test_lines_are_counted_through_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_BLOCK", 40)
    path = survey(tmp_path, "\n".join([*RECORDS * 5, " 11     x 01", " 11     y 01"]))
    with pytest.raises(ValueError, match="in 2 records, first in line 16: 'x'"):
        read_data(path)


@pytest.mark.parametrize("line", [1, 2, 4, 5, 9, 15])
@pytest.mark.parametrize("place", [0, 1, 11])
def test_a_carriage_return_within_a_line(tmp_path, monkeypatch, line, place):
    # Fifteen lines of 12 or 13 characters, in parts that begin anywhere in them.
    monkeypatch.setattr(reader, "_BLOCK", 40)
    lines = RECORDS * 5
    lines[line - 1] = f"{lines[line - 1][:place]}\r{lines[line - 1][place:]}"
    path = survey(tmp_path, "\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=f"a carriage return within line {line}, "):
        read_data(path)


def test_a_field_wider_than_any_code_is_refused(tmp_path):
    path = survey(tmp_path, "x" * 2000, "A 1 2000\nB 1 2\n")
    assert values(read_data(path, columns=["B"])["B"]) == ["xx"]
    with pytest.raises(ValueError, match=r"a field of 2000 .* check the columns of A"):
        read_data(path)


def test_columns_not_read_are_not_judged(tmp_path):
    path = survey(tmp_path, " 11 12,50 01\n 12")
    assert values(read_data(path, columns=["SEX"])["SEX"]) == ["1", "2"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig"])
def test_letters_beyond_ascii_are_one_character_wide(tmp_path, encoding):
    text = "é11118.30 01\n 22  7.50 02"
    data = read_data(survey(tmp_path, text.encode(encoding)))
    assert values(data["REGION"]) == ["é1", "2"]
    assert data["W"].tolist() == [118.3, 7.5]


def test_metadata_is_found_in_any_case_or_given(tmp_path):
    path = survey(tmp_path, RECORDS[0])
    metadata = (tmp_path / "survey.rda").rename(tmp_path / "SURVEY.Rda")
    assert metadata_beside(path) == metadata
    assert read_data(path)["W"] == [118.3]
    metadata.rename(tmp_path / "other.rda")
    with pytest.raises(FileNotFoundError, match=r"no metadata survey\.rda"):
        read_data(path)
    given_path = read_data(path, tmp_path / "other.rda")
    given_object = read_data(path, read_metadata(tmp_path / "other.rda"))
    assert given_path["W"] == given_object["W"] == [118.3]
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_data(tmp_path / "none.asc", tmp_path / "other.rda")


def test_progress_reaches_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_BLOCK", 32)
    seen = []
    path = survey(tmp_path, "\n".join(RECORDS * 5) + "\n")
    read_data(path, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 2
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][1] - seen[-1][0] in (0, 1)


lines = st.lists(
    st.tuples(
        st.text("0129 aé", max_size=3).map(lambda code: code.strip(" ")),
        st.sampled_from(["1", "2", ""]),
        st.floats(0, 1e6).map(repr),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(
    lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["<", ">"])
)
def test_fixed_format_gives_back_what_was_written(
    tmp_path_factory, rows, line_end, trimmed, align
):
    records = [f"{a:{align}3}{b:1}{w:>24}!" for a, b, w in rows]
    if trimmed:
        records = [record + "x" * (i % 3) for i, record in enumerate(records)]
    metadata = "A 1 3 99 9\n<RECODABLE>\nB 4 1\nW 5 24\n<WEIGHT>\n"
    path = survey(tmp_path_factory.mktemp("fixed"), line_end.join(records), metadata)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_BLOCK", 100)
        data = read_data(path)
    missing = ("", "9", "99")
    assert values(data["A"]) == [None if a in missing else a for a, _, _ in rows]
    assert values(data["B"]) == [b or None for _, b, _ in rows]
    assert data["W"].tolist() == [float(w) for _, _, w in rows]


# Free format

FREE = '<SEPARATOR> ","\nA 4 99\n<RECODABLE>\nB 4\nW 8\n<WEIGHT>\n'


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_free_format(tmp_path, separator, line_end):
    metadata = FREE.replace('","', f'"{separator}"')
    rows = ["01,x,1.5", "99,,2", "abc,yy,"]
    text = line_end.join(row.replace(",", separator) for row in rows) + line_end
    data = read_data(survey(tmp_path, text, metadata))
    assert values(data["A"]) == ["01", None, "abc"]
    assert values(data["B"]) == ["x", None, "yy"]
    np.testing.assert_array_equal(data["W"], [1.5, 2.0, np.nan])


def test_quoted_fields(tmp_path):
    text = '1,"a,b",2\n" 2","say ""no""",3\n'
    data = read_data(survey(tmp_path, text, FREE))
    assert values(data["A"]) == ["1", "2"]
    assert values(data["B"]) == ["a,b", 'say "no"']


def test_names_in_front_give_the_order(tmp_path):
    metadata = FREE.replace("\nA", "\n<NAMESINFRONT>\nA", 1)
    text = 'W,"B",extra,A\n1.5,x,?,01\n2,y,?,02\n'
    data = read_data(survey(tmp_path, text, metadata))
    assert values(data["A"]) == ["01", "02"]
    assert data["W"].tolist() == [1.5, 2.0]
    with pytest.raises(KeyError, match="no column 'A'"):
        read_data(survey(tmp_path, "W,B\n1,2\n", metadata))
    with pytest.raises(ValueError, match="no records"):
        read_data(survey(tmp_path, "\n", metadata))
    with pytest.raises(
        ValueError, match=r"W is not a number in 1 records.*line 2: 'x'"
    ):
        read_data(survey(tmp_path, "W,A,B\nx,2,3\n", metadata))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n1,2\n1,2,3,4\n", "not 3 fields in 2 records, first in line 2"),
        ("1,2,3\n\n1,2,3\n", "not 3 fields in 1 records, first in line 2"),
        ('1,"2",3\n1,"2,3\n', "not 3 fields in 1 records, first in line 2"),
        ("1,2\n1,2,3\n1,2,x\n1,2,y", "not 3 fields"),
        ("1,2\n1,2,3,4\n", "not 3 fields in 2 records, first in line 1"),
        ("\n\x1a", "no records"),
        ("1,2,3\n1,2,x\n1,2,y", "W is not a number in 2 records, first in line 2: 'x'"),
        ("1," + "2" * 2000 + ",3", "a field of 2000 .*; check the separator ','"),
    ],
)
def test_bad_free_records_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_data(survey(tmp_path, text, FREE))


@settings(deadline=None)
@given(lines, st.booleans())
def test_free_format_gives_back_what_was_written(tmp_path_factory, rows, quote):
    mark = '"' if quote else ""
    text = "\n".join(f"{mark}{a}{mark},{mark}{b}{mark},{w}" for a, b, w in rows)
    path = survey(tmp_path_factory.mktemp("free"), text, FREE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_BLOCK", 60)
        data = read_data(path)
    assert values(data["A"]) == [None if a in ("", "99") else a for a, _, _ in rows]
    assert values(data["B"]) == [b or None for _, b, _ in rows]
    assert data["W"].tolist() == [float(w) for _, _, w in rows]


# The demonstration files of mu-Argus


@needs.demodata
def test_demo_metadata():
    fixed = read_metadata(needs.DEMODATA / "Demodata.rda")
    free = read_metadata(needs.DEMODATA / "Demofree.rda")
    assert fixed.weight == free.weight == "WEIGHT"
    assert len(fixed.variables) == 33
    assert set(free.names) - set(fixed.names) == {"MONEY"}


@needs.demodata
def test_demo_files_hold_the_same_people():
    fixed = read_data(needs.DEMODATA / "Demodata.asc")
    free = read_data(needs.DEMODATA / "Demofree.asc", columns=list(fixed))
    for name, column in fixed.items():
        assert column.size == 4000
        np.testing.assert_array_equal(np.ma.filled(column), np.ma.filled(free[name]))


@needs.demodata
def test_demo_file_has_the_published_number_of_cells():
    data = read_data(
        needs.DEMODATA / "Demodata.asc", columns=["REGION", "SEX", "AGE", "MARSTAT"]
    )
    assert (
        len(set(zip(*(column.tolist() for column in data.values()), strict=True)))
        == 3450
    )
