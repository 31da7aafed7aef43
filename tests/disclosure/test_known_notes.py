"""The notes of measures name every figure, and the page has every measure."""

from pathlib import Path

from bench import known_measures as bench
from riskcore.disclosure.known_notes import NOTES

PAGE = Path(__file__).parents[2] / "notes" / "audit_measures.md"


def test_every_figure_has_a_note():
    everybody = bench.population(90, 1)
    files = [bench.rows(everybody, slice(at, at + 30)) for at in (0, 30, 60)]
    # With numbers there is no baseline of singling out.
    figures = bench.figures_of(bench.measured(*files, numbers=[]))
    assert figures.keys() == NOTES.keys()
    for name, note in NOTES.items():
        assert sorted(figures[name]) == sorted(note.figures), name
        assert set(note.main) <= set(note.figures), name


def test_every_measure_is_on_the_page():
    page = PAGE.read_text()
    for name, note in NOTES.items():
        assert all(f"{part}" in page for part in name.split(" and ")), name
        author = note.author.partition(" (")[0].partition(",")[0].split(" and ")[0]
        assert author in page, author
