"""Properties that have the type of the frame that data become.

Type checkers read ``frame_types.pyi``; at run time these are plain properties.
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
