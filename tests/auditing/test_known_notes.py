"""The notes of measures name every figure, and the page has every measure."""

from pathlib import Path

from bench import known_measures as bench
from riskcore.auditing.known_attacks import SinglingOut
from riskcore.auditing.known_notes import NOTES

PAGE = Path(__file__).parents[2] / "notes" / "audit_measures.md"


def test_every_figure_has_a_note():
    everybody = bench.population(90, 1)
    original, released, holdout = (
        bench.rows(everybody, slice(at, at + 30)) for at in (0, 30, 60)
    )
    figures, _ = bench.found(original, released, holdout)
    named = {"links", *SinglingOut._fields}
    for part in figures.values():
        named |= part.keys() if isinstance(part, dict) else set()
    noted = [name for note in NOTES.values() for name in note.figures]
    assert sorted(noted) == sorted(named)


def test_every_measure_is_on_the_page():
    page = PAGE.read_text()
    for name, note in NOTES.items():
        assert all(f"{part}" in page for part in name.split(" and ")), name
        author = note.author.partition(" (")[0].partition(",")[0].split(" and ")[0]
        assert author in page, author
