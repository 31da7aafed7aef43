"""Values and the shapes that they must have: faults with their places, in words."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

from riskcore.common.settings import Place, Shape


def fault_in(shape: Shape, value: Any, place: Place) -> tuple[Place, str] | None:
    """Return the place and the fault of a value that does not have a shape, or None."""
    if not shape:
        return None
    if "anyOf" in shape:
        return _fault_in_all(shape["anyOf"], value, place)
    wrong = place, f"need {shape['title']}, not {_shown(value)}"
    if "enum" in shape:
        return None if isinstance(value, str) and value in shape["enum"] else wrong
    if not (_is(shape["type"], value) and _in_bounds(shape, value)):
        return wrong
    parts: Any = ()
    if isinstance(value, list):
        parts = ((i, one, shape["items"]) for i, one in enumerate(value))
    elif isinstance(value, dict):
        each = shape["additionalProperties"]
        parts = ((name, one, each) for name, one in value.items())
    faults = (fault_in(each, one, (*place, name)) for name, one, each in parts)
    return next((one for one in faults if one is not None), None)


def refuse_faults(shape: Shape, value: Any, member: str) -> None:
    """Refuse a member of a record that does not have its shape."""
    fault = fault_in(shape, value, ())
    if fault is not None:
        inside = (f"[{at}]" if isinstance(at, int) else f".{at}" for at in fault[0])
        raise ValueError(f"{member}{''.join(inside)}: {fault[1]}")


def _fault_in_all(
    shapes: list[Shape], value: Any, place: Place
) -> tuple[Place, str] | None:
    """Return the fault of a value that has none of several shapes, the deepest."""
    faults = []
    for shape in shapes:
        fault = fault_in(shape, value, place)
        if fault is None:
            return None
        faults.append(fault)
    deepest = max(faults, key=lambda fault: len(fault[0]))
    if len(deepest[0]) > len(place):
        return deepest
    needs = " or ".join(one["title"] for one in shapes)
    return place, f"need {needs}, not {_shown(value)}"


def _is(kind: str, value: Any) -> bool:
    """Return whether a value is of a type of JSON."""
    if kind in ("integer", "number"):
        types = int if kind == "integer" else int | float
        number = isinstance(value, types) and not isinstance(value, bool)
        return number and math.isfinite(value)
    plain: dict[str, type] = {
        "string": str,
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }
    return isinstance(value, plain[kind])


def _in_bounds(shape: Shape, value: Any) -> bool:
    """Return whether a number lies in its bounds, and text fits its pattern."""
    if isinstance(value, str):
        return bool(re.search(shape.get("pattern", ""), value))
    bounds = {
        "minimum": operator.ge,
        "exclusiveMinimum": operator.gt,
        "maximum": operator.le,
        "exclusiveMaximum": operator.lt,
    }
    return all(keeps(value, shape[x]) for x, keeps in bounds.items() if x in shape)


def _shown(value: Any) -> str:
    """Return a value briefly."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
