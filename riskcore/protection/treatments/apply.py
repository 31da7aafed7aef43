"""Apply treatments to columns of numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Integers
from riskcore.common.progress import Lines, silent
from riskcore.protection.secret import check_secret, treatment_numbers
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    Treatment,
    joined,
)
from riskcore.protection.treatments.strata import combined


def treated_columns(
    columns: Mapping[str, Floats],
    treat: Mapping[Names, Sequence[Treatment]],
    *,
    weights: Floats | None = None,
    strata: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    secret: str | None = None,
    household: Integers | None = None,
    risk: Floats | None = None,
    tell: Callable[[str, dict[str, Any]], object] = lambda label, effects: None,
    column: Callable[[str, Mapping[str, Floats]], Any] = lambda name, now: None,
    say: Lines = silent,
) -> dict[str, Floats]:
    """Return the treated columns; the input is not changed."""
    # nan is missing and stays; a secret gives the same values on every machine.
    plan = [(names, rule) for names, rules in treat.items() for rule in rules]
    plan.sort(key=lambda step: step[1].last)
    treated = {name: columns[name] for names, _ in plan for name in names}
    _check_secret(plan, secret)
    for step, (names, rule) in enumerate(plan):
        values = [treated[name] for name in names]
        label = f"treat {joined(names)}={rule}"
        codes = [strata[name] for name in rule.strata] if strata else []
        stream = json.dumps([*map(str, names), str(rule), step])
        context = Given(
            weights,
            combined(codes, len(values[0])) if codes else None,
            label,
            names,
            partial(treatment_numbers, secret or "", stream),
            household,
            risk,
            partial(tell, label),
            lambda name: column(name, treated),
            say,
        )
        say(label)
        treated.update(zip(names, rule.treated(values, context), strict=True))
    return treated


def _check_secret(plan: Sequence[tuple[Names, Treatment]], secret: str | None) -> None:
    """Refuse random treatments without a secret."""
    for names, rule in plan:
        if rule.random and secret is None:
            raise ValueError(
                f"treat {joined(names)}={rule}: a random treatment needs a secret"
            )
    if secret is not None:
        check_secret(secret)
