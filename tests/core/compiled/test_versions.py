"""The compiler is one with which the tests have passed."""

import re
from importlib.metadata import requires, version

import pytest


def numbers(text):
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


@pytest.mark.parametrize("name", ["numba", "llvmlite"])
def test_the_compiler_is_one_that_was_tried(name):
    # Extras that contain ``jit`` repeat what it needs.
    found = [one for one in requires("riskcore") if re.match(rf"{name}\b", one)]
    (needed,) = {one.partition(";")[0].strip() for one in found}
    ceiling = re.search(r"<([\d.]+)", needed)[1]
    assert numbers(version(name)) < numbers(ceiling), (
        f"{name} {version(name)} is newer than any that was tried. riskcore uses parts "
        "of it that may change: if all other tests pass, raise the ceiling as "
        'CONTRIBUTING.md says under "A newer Numba"; otherwise mend core/compiled'
    )
