"""Properties whose type is that of the frame which data become, see the stub file.

Type checkers read ``frame_types.pyi``; at run time nothing of the types is left.
"""

from __future__ import annotations

from functools import cached_property
from typing import Generic, TypeVar

DataT = TypeVar("DataT")
DataT_co = TypeVar("DataT_co", covariant=True)

frame, cached_frame = property, cached_property


class OfData(Generic[DataT_co]):
    """A result that gives back frames of the kind of its data."""

    __slots__ = ()
