"""The forms of the individual risk by name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from riskcore.core import published_forms as published
from riskcore.core.risk import individual

Form: TypeAlias = Callable[[Any, Any], Any]
Forms: TypeAlias = str | Form | Iterable[str | Form] | Mapping[str, str | Form]

PUBLISHED = (
    "closed_form", "binomial_sum", "log_form", "gauss_series", "continued_fraction",
    "series7", "franconi",
)  # fmt: skip
FORMS = (
    "individual_risk",
    *PUBLISHED,
    "truncated:J",
    "adaptive:EPS",
    "adaptive:EPS:published",
    "scipy",
)


def forms_by_name(forms: Forms) -> dict[str, Form]:
    """Return the functions of forms by the names to show."""
    pairs: list[tuple[str, str | Form]]
    if isinstance(forms, Mapping):
        pairs = [(str(name), form) for name, form in forms.items()]
    elif isinstance(forms, str) or callable(forms):
        pairs = [(_name(forms), forms)]
    else:
        pairs = [(_name(form), form) for form in forms]
    if not pairs:
        raise ValueError("forms is empty: name at least one")
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"forms given twice: {', '.join(twice)}; a mapping can rename them"
        )
    return {
        name: _form(form) if isinstance(form, str) else form for name, form in pairs
    }


def _name(form: str | Form) -> str:
    """Return the name to show for a form."""
    return form if isinstance(form, str) else getattr(form, "__name__", repr(form))


def _form(name: str) -> Form:
    """Return the function of a form, given by name and arguments."""
    head, *arguments = name.split(":")
    if head == "truncated" and len(arguments) == 1:
        return _truncated(name, arguments[0])
    if head == "adaptive" and len(arguments) in (1, 2):
        return _adaptive(name, *arguments)
    if head in ("truncated", "adaptive"):
        like = ", ".join(form_name for form_name in FORMS if form_name.startswith(head))
        raise ValueError(f"form {name!r}: need {like}")
    if head in FORMS and arguments:
        raise ValueError(f"form {name!r}: {head} takes no argument")
    if head == "individual_risk":
        return individual.individual_risk
    if head == "scipy":
        return _hyp2f1()
    if head not in PUBLISHED:
        close = difflib.get_close_matches(head, [form.split(":")[0] for form in FORMS])
        hint = f"did you mean {' or '.join(dict.fromkeys(close))}? " if close else ""
        raise ValueError(f"unknown form {name!r}; {hint}known are {', '.join(FORMS)}")
    form: Form = getattr(published, head)
    return form


def _truncated(name: str, order: str) -> Form:
    """Return the truncated series of an order."""
    if not order.isdecimal() or int(order) > published.MAX_TERMS:
        raise ValueError(
            f"form {name!r}: the order {order!r} is not a whole number from 0 to "
            f"{published.MAX_TERMS}"
        )
    return lambda f, p: published.truncated(f, p, int(order))


def _adaptive(name: str, epsilon: str, rule: Any = "sufficient") -> Form:
    """Return the adaptive series of an epsilon and rule."""
    try:
        allowed = float(epsilon)
    except ValueError:
        allowed = math.nan
    if not 0 < allowed < 1:
        raise ValueError(f"form {name!r}: {epsilon!r} is not a number between 0 and 1")
    if rule not in published.RULES:
        raise ValueError(
            f"form {name!r}: the rule is 'sufficient' or 'published', not {rule!r}"
        )
    return lambda f, p: published.adaptive(f, p, allowed, rule)


def _hyp2f1() -> Form:
    """Return the form by SciPy's 2F1."""
    try:
        from scipy.special import hyp2f1
    except ImportError:
        raise ImportError("the form 'scipy' needs SciPy: pip install scipy") from None
    return lambda f, p: p / f * hyp2f1(1, 1, f + 1, 1 - p)
