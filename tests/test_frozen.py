"""No result changes once it is made: a figure in it would be another's."""

import inspect
import pkgutil
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module

import pytest

import riskcore

MODULES = [
    import_module(found.name)
    for found in pkgutil.walk_packages(riskcore.__path__, "riskcore.")
    if not found.name.endswith("__main__")
]
CLASSES = {
    value
    for module in MODULES
    for _, value in inspect.getmembers(module, inspect.isclass)
    if value.__module__ == module.__name__
    and is_dataclass(value)
    and not inspect.isabstract(value)
}


@pytest.mark.parametrize(
    "kind", sorted(CLASSES, key=str), ids=lambda kind: kind.__qualname__
)
def test_attributes_cannot_be_set(kind):
    empty = object.__new__(kind)
    for field in fields(kind):
        with pytest.raises(FrozenInstanceError, match=field.name):
            setattr(empty, field.name, None)
