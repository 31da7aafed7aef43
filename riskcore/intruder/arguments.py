"""Check that arguments are numbers in their domains."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.arguments import refuse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORMS = ("hypergeometric", "binomial", "exponential")
LARGEST = 2.0**53  # up to it every whole number is a double
LARGEST_BETA = 1e280


def checked(name: str, values: ArrayLike, low: float, high: float) -> Floats:
    """Return numbers from low to high, or refuse them."""
    numbers = arguments.numbers(name, values).astype(np.float64)
    inside = (low <= numbers) & (numbers <= high)
    refuse(name, ~inside, f"numbers from {low:g} to {high:g}")
    return numbers


def whole(name: str, values: ArrayLike, low: float, high: float) -> Ints:
    """Return whole numbers from low to high, or refuse them."""
    numbers = checked(name, values, low, high)
    refuse(name, numbers != np.floor(numbers), "whole numbers")
    return numbers.astype(np.int64)


def as_population(N: ArrayLike) -> Floats:
    """Return sizes of populations, or refuse them."""
    return checked("N", N, math.ulp(0.0), LARGEST)


def as_circle(name: str, values: ArrayLike, N: Floats) -> Floats:
    """Return sizes of circles or samples of N people, or refuse them."""
    circle = checked(name, values, 0.0, LARGEST)
    refuse(name, circle > N, "at most N")
    return circle


def people(
    N: ArrayLike, acquaintances: ArrayLike, unique_fraction: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return N, a and f_u, or refuse them."""
    population = as_population(N)
    circle = as_circle("acquaintances", acquaintances, population)
    return population, circle, checked("unique_fraction", unique_fraction, 0.0, 1.0)


def setting(
    n: ArrayLike, N: ArrayLike, acquaintances: ArrayLike, unique_fraction: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return n, N, a and f_u, or refuse them."""
    population, circle, fraction = people(N, acquaintances, unique_fraction)
    return as_circle("n", n, population), population, circle, fraction


def as_model(N: ArrayLike, K: ArrayLike) -> tuple[Floats, Floats]:
    """Return N and the number of key values, or refuse them."""
    return as_population(N), checked("K", K, 1.0, LARGEST)


def as_beta(beta: ArrayLike) -> Floats:
    """Return parameters of the Poisson-gamma model, or refuse them."""
    return checked("beta", beta, 0.0, LARGEST_BETA)
