"""Proofs of directed rounding and of r at f/F; every use of a bound that is less."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from riskcore import core

coefficients = import_module("bench.coefficients")
directed = import_module("bench.proof.directed")
quotients = import_module("bench.proof.quotients")
uses = import_module("bench.proof.uses")

SOME = 61  # of the balls
TRIED = {"_risk", "_moved_risk", "_down", "rounded", "rounded_down", "condition"}
TRIED |= {"frequencies_ball", "by_logarithm_one"}
# Choices between two bounds that are both right, and a bound twice as large as needed.
LESS = {
    "better = (0.5 * by_risk) < q * error",
    "better = 0.0 < q * error",
    "better = by_risk < q * (0.5 * error)",
    "better = by_risk < q * 0.0",
    "by_risk / q + 8.0 * (0.5 * UNIT) if better else error,",
    "return _widen(ball, (0.5 * _RARE_ERROR) * ball[0]), n",
}


def test_directed_rounding_is_proved_for_some_balls():
    assert directed.check_test() == 4
    assert directed.check_sides(SOME) > 600
    assert directed.check_limits() == 18


def test_the_risk_at_quotients_is_proved():
    assert len(quotients.prove()) == 2


def test_every_file_has_uses_of_bounds():
    found = [(path, name) for path, name, *_ in uses.mutants()]
    assert {path for path, _ in found} == {*uses.BOUNDS}
    assert {name for _, name in found} > TRIED


@pytest.mark.thorough
def test_a_bound_that_is_halved_or_dropped_fails_or_is_proved():
    for path, name, line, source in uses.mutants():
        if name in TRIED:
            said = uses.started(lambda x=(path, name, line, source): uses.fate(*x))()
            assert said.startswith("less would do") == (line in LESS), (line, said)
            assert not said.startswith("PASSES"), line


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("_not_below", "<= 0.0", ">= 0.0"),
        ("_not_below", "scaled(p, n + k)", "scaled(p, n)"),
        ("_not_above", "two_sum(f, -1.0)", "two_sum(f, 1.0)"),
        ("_not_above", "& (s_low", "| (s_low"),
        ("sides_slow", "where >= 0", "where > 0"),
        ("sides_slow", "not _not_below", "_not_below"),
        ("sides_slow", "double_above(high) if", "high if"),
        ("_from_zero", "double_above(y) if", "y if"),
    ],
)
def test_another_side_of_a_double_is_seen(monkeypatch, name, before, after):
    path = uses.GAUSS + "ball_step.py"
    source = (uses.ROOT / path).read_text()
    assert before in source
    start = source.index(f"def {name}(")
    source = source[:start] + source[start:].replace(before, after, 1)
    programs = [lambda: directed.check_limits(), *uses.PROGRAMS["sides_slow"]]
    monkeypatch.setitem(uses.PROGRAMS, name, programs)
    said = uses.started(lambda: uses.fate(path, name, "", source))()
    assert "Error" in said, said


def test_every_table_of_coefficients_is_made_by_the_command_that_it_names():
    assert coefficients.others() == []
    made = {(module, x) for module, names in coefficients.made() for x in names.split()}
    special = Path(core.__file__).parent / "special"
    for path in special.rglob("*.py"):
        lines = path.read_text().splitlines()
        module = ".".join(path.relative_to(special).with_suffix("").parts)
        for node in ast.parse("\n".join(lines)).body:
            if not isinstance(node, ast.Assign):
                continue
            text = ast.unparse(node.value)
            if not re.match(r"from_hex|_in_words", text) and text.count(".") < 10:
                continue
            names = [x.id for x in ast.walk(node) if isinstance(x, ast.Name)]
            if any((module, name) in made for name in names):
                above = "\n".join(lines[max(0, node.lineno - 22) : node.lineno])
                assert re.search(r"bench\s*(# )?-m|bench\.coefficients", above), names
            else:
                assert names[0] == "CONTRACTS", (module, names)
