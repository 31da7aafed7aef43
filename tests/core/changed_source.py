"""Modules of kernels with a change in their text, for proofs to refuse."""

import re
import types
from pathlib import Path

# What marks a kernel does nothing to a mutant.
UNMARKED = """
def kernel(function):
    return function

def shared(*signature):
    return kernel

primitive = shared
"""


def changed(module, old, new, which=0):
    """Return a module as it is with one of the places of a text changed."""
    parts = Path(module.__file__).read_text(encoding="utf-8").split(old)
    assert len(parts) > which + 1, old
    text = new.join(old.join(some) for some in (parts[: which + 1], parts[which + 1 :]))
    marks = r"^from riskcore\.core\.compiled\.jit import .*\n"
    mutant = types.ModuleType(module.__name__)
    exec(re.sub(marks, UNMARKED, text, flags=re.M), vars(mutant))
    return mutant
