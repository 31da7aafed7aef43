"""Accuracy contracts: the error each function promises, and the worst found."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Contract(NamedTuple):
    """The accuracy of one function.

    Attributes
    ----------
    function : str
        Its public name, followed by a comma and its form if it has several.
    ulps : float
        Promised bound of the error, in units in the last place of the result.
    worst : float
        Largest error ever found, by samples and searches, rounded up to two decimals;
        bench/worst_points.csv has the points, and a test holds the two together.
    witness : tuple of str
        The arguments where it was found, as hexadecimal floats.
    region : str
        Where the promise holds.
    shown : {"measured", "proved"}
        How it is known.
    """

    function: str
    ulps: float
    worst: float
    witness: tuple[str, ...]
    region: str = "the whole domain, but for results below 2^-960"
    shown: Literal["measured", "proved"] = "measured"
