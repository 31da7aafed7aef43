"""Words on one line: nothing steers a terminal, nothing readable is changed."""

from hypothesis import given
from hypothesis import strategies as st

from riskcore.common.words import counted, printable, shortened


@given(st.text())
def test_printable(label):
    shown = printable(label)
    assert shown.isprintable()
    assert shown == label or not label.isprintable()


@given(st.text(), st.integers(1, 30))
def test_shortened(label, longest):
    shown = shortened(label, longest)
    assert len(shown) <= longest
    assert shown.isprintable()
    whole = printable(label)
    assert shown == whole if len(whole) <= longest else shown.endswith("…")


def test_counts_have_their_number():
    assert [counted(n, "cell") for n in (0, 1, 2000)] == [
        "0 cells", "1 cell", "2,000 cells",
    ]  # fmt: skip
