"""Tables of text: columns stand in line, and every cell can be read."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.common.text_table import aligned, markdown_row

cells = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1)


@given(st.lists(st.tuples(cells, cells, cells), min_size=1), st.integers(0, 4))
def test_cells_stand_in_line(rows, indent):
    lines = aligned(rows, "<>", indent=indent)
    assert [tuple(line.split()) for line in lines] == rows
    # All to the right but the first: every line ends in the same column.
    assert len({len(line) for line in lines}) == 1
    for line, row in zip(lines, rows, strict=True):
        assert line.startswith(" " * indent + row[0])
    width = max(len(row[0]) for row in rows)
    assert all(line[indent:][width : width + 2] == "  " for line in lines)


def test_sides_widths_and_ends_of_lines():
    rows = [("a", "1", "x"), ("bcd", "20", "")]
    assert aligned(rows, "<><") == ["  a     1  x", "  bcd  20"]
    assert aligned(rows, "<", indent=0) == ["a    1   x", "bcd  20"]
    assert aligned(rows, ">", indent=0) == ["  a   1  x", "bcd  20"]
    assert aligned(rows, "<><", least=(5, 3)) == ["  a        1  x", "  bcd     20"]
    assert aligned(rows, "<><", least=(1, 1)) == aligned(rows, "<><")
    assert aligned([], "<") == []


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="zip"):
        aligned([("a", "b"), ("a",)], "<")


def test_bars_in_markdown_end_no_cell():
    assert markdown_row(["a|b", ""]) == "| a\\|b |  |"


def test_no_other_module_lays_out_tables():
    root = Path(riskcore.__file__).parent
    padding = re.compile(r"\b[lr]just\b|:[<>^]?\{\w+\}|[{:][<>^]\d")
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if padding.search(path.read_text())
    }
    # Codes of one width are data: those of mu-Argus files and of its recodings. The
    # others have regular expressions, colors and options that look alike.
    codes = {"data/files/argus/writer.py", "data/recode.py"}
    codes |= {"comparison/formula.py", "data/files/excel_writer.py"}
    codes |= {"app/guard.py", "app/serve.py"}
    codes |= {"app/pages/recode_words.py", "cli/protect.py"}
    codes |= {"data/files/reading.py", "data/recoding_words.py"}
    codes |= {"data/ladder.py", "data/proposed_ladder.py"}
    codes |= {"protection/release_toml.py"}
    assert found == {"common/text_table.py", *codes}
