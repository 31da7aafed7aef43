"""Does Gappa prove what is claimed of parts of the kernels, and nothing more?"""

from importlib import import_module

import pytest

from tests import needs

gappa = import_module("bench.proof.gappa")
gappa_parts = import_module("bench.proof.gappa_parts")

pytestmark = needs.gappa


@pytest.mark.parametrize("name", gappa_parts.OPERATIONS)
def test_operations_on_pairs(name):
    row = gappa_parts.operation(name)
    assert row.holds()
    assert 0.0 < row.rounding < 2.0**-100


def test_quotients():
    assert gappa_parts.quotient().holds()


def test_what_does_not_hold_is_not_proved():
    lines = ["x = float<ieee_64,ne>(y);"]
    assert gappa.prove(lines, ["y in [1,2]"], "x - y", []) == 2.0**-53
    assert gappa.prove(lines, ["y in [1,2]"], "x - y", [], "1b-53")
    with pytest.raises(ValueError, match="does not prove"):
        gappa.prove(lines, ["y in [1,2]"], "x - y", [], "1b-54")


def test_a_wrong_hint_is_refused():
    hint = ["x * x - y * y -> (x - y) * (x + 2 * y);"]
    with pytest.raises(ValueError, match="not what it replaces"):
        gappa.prove([], ["x in [1,2]", "y in [1,2]"], "x * x - y * y", hint)


def test_suprema():
    found = gappa_parts.sollya("1 + x", "exp(x)", "[0;1b-4]")
    assert 2.0**-9 < found < 2.0**-8.9
