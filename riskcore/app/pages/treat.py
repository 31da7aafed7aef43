"""Treat numbers, weights and categories, and see what becomes of their distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.app.forms import Form
from riskcore.app.pages import histogram
from riskcore.app.pages.histogram import Axis
from riskcore.app.pages.page import Action, Page
from riskcore.app.pages.treat_words import (
    BECOMES,
    FIELDS,
    FLAGS,
    key_of,
    kinds_of,
    refuse_joined,
    rule_of,
    rules_of,
    value_of,
)
from riskcore.app.pages.values import code_of, label_of, numbers_of
from riskcore.app.texts import said
from riskcore.app.workbench import RefusedError, Workbench
from riskcore.comparison.measures import sums_by
from riskcore.protection.records.treated import Treated, table_of
from riskcore.protection.treatments.rules import Treatment

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LEFT = ("household", "cluster", "person", "wave", "identifier")
_MOST = 50  # categories that are listed


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the columns, and the treatments of the one that is chosen."""
    names = treatable(bench)
    if bench.lacking or not names:
        return {"lacking": bench.lacking or said("treat", "no_columns")}
    name = _chosen(bench, form, names)
    role = bench.role_of(name)
    numeric = role in ("numeric", "weight") or (
        numbers_of(bench, bench.coded_column(name)) is not None
    )
    key = key_of(bench, name)
    rules = [_told(key or name, rule) for rule in rules_of(bench, key)]
    return {
        "lacking": "",
        "columns": [_listed(bench, one) for one in names],
        "position": bench.names.index(name),
        "name": name,
        "label": label_of(bench, name),
        "treated": key,
        "joint": key is not None and key != name,
        "rules": rules,
        "random": any(one["random"] for one in rules),
        "alters": any(one["alters"] for one in rules),
        "kinds": kinds_of(role, numeric),
        "fields": _fields(form),
        "becomes": BECOMES,
        "flags": FLAGS,
        "others": [_listed(bench, one) for one in names if one != name],
        "strata": [
            {"name": one, "position": at}
            for at, one in enumerate(bench.names)
            if one != name and bench.role_of(one) not in (*_LEFT, "weight", "numeric")
        ],
    }


def _fields(form: Form) -> dict[str, dict[str, str]]:
    """Return the fields of forms with numbers as the reader writes them."""
    return {
        kind: {name: form.numbers.write(usual) for name, usual in fields.items()}
        for kind, fields in FIELDS.items()
    }


def treatable(bench: Workbench) -> list[str]:
    """Return the columns that can be treated: numbers, weight, then the others."""
    found = [
        name
        for name in bench.names
        if bench.role_of(name) not in _LEFT and name not in bench.table("recodings")
    ]
    order = ("numeric", "weight", "sensitive", "harmless", None, "key")
    return sorted(found, key=lambda name: order.index(bench.role_of(name)))


def _chosen(bench: Workbench, form: Form, names: list[str]) -> str:
    """Return the column that the address or form names, otherwise the first."""
    if not form.has("column"):
        return names[0]
    name = bench.column(form.text("column"))
    if name not in names:
        raise RefusedError(said("treat", "not_treated", column=name))
    return name


def _listed(bench: Workbench, name: str) -> dict[str, Any]:
    """Return a column of the list, with its rules."""
    key = key_of(bench, name)
    return {
        "name": name,
        "label": label_of(bench, name),
        "position": bench.names.index(name),
        "role": bench.role_of(name),
        "rules": rules_of(bench, key),
        "joint": "" if key in (None, name) else key,
    }


def _told(key: str, rule: str) -> dict[str, Any]:
    """Return a rule and what it does in words."""
    try:
        found = Treatment.of(key, rule)
    except (ValueError, OSError):  # the path of a file is relative to the rules
        return {"rule": rule, "words": "", "random": False, "alters": True}
    return {
        "rule": rule,
        "words": found.describe(public=False),
        "random": found.random,
        "alters": found.alters,
    }


# --- what is done ---


def add(bench: Workbench, form: Form) -> str:
    """Add a treatment to those of a column, or of several columns together."""
    name = _chosen(bench, form, treatable(bench))
    rule = rule_of(bench, form)
    key = key_of(bench, name)
    partners = [bench.column(one) for one in form.all("with")]
    if partners:
        joint = {name, *partners}
        refuse_joined(joint, "+")
        if key is not None and {*key.split("+")} != joint:
            raise RefusedError(said("treat", "alone", column=name))
        key = key or "+".join(one for one in bench.names if one in joint)
    key = key or name
    return _change(bench, key, [*rules_of(bench, key), rule])


def edit(bench: Workbench, form: Form) -> str:
    """Change, move up or remove one of the treatments of a column."""
    name = _chosen(bench, form, treatable(bench))
    key = key_of(bench, name)
    rules, at = rules_of(bench, key), form.whole("at")
    shown = form.fields.get("was", (None,))[-1]  # others may have changed them
    if key is None or not 0 <= at < len(rules) or shown not in (None, rules[at]):
        raise RefusedError(said("treat", "gone"))
    do = form.text("do")
    if do == "remove":
        del rules[at]
    elif do == "up":
        rules.insert(max(at - 1, 0), rules.pop(at))
    else:
        rules[at] = form.text("rule")
    return _change(bench, key, [rule for rule in rules if rule])


def _change(bench: Workbench, key: str, rules: list[str]) -> str:
    """Change the treatments of a column, if they suit the data."""
    value = value_of(rules)
    words = said("treat", "changed", column=key, rules="; ".join(rules))
    if value is None:
        words = said("treat", "cleared", column=key)
    _ = bench.tried(treat={key: value})
    bench.change(words, treat={key: value})
    return words


# --- the effect ---


def effect(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return what the treatments of a column do to its distribution."""
    name = _chosen(bench, form, treatable(bench))
    key = key_of(bench, name)
    now = bench.tried()
    treated = now.prepared.treated
    if key is None or treated is None or name not in treated.after:
        return {"kind": "none" if key is None else "later"}
    found: dict[str, Any] = {"kind": "numbers", "name": name, "unsafe": None}
    if name in bench.keys or name == treated.weight:
        found["unsafe"] = _unsafe_both(bench, key)
    changed = int(np.count_nonzero(treated.altered(name)))
    present = int(np.count_nonzero(~np.isnan(treated.before[name])))
    found |= {"altered": changed, "present": present}
    if name in treated.categorical:
        return found | _categories(bench, treated, name)
    return found | _numbers(bench, treated, name)


def _unsafe_both(bench: Workbench, key: str) -> list[tuple[list[str], int, int]]:
    """Return the unsafe records without and with a treatment, by set of keys."""
    without, now = bench.tried(treat={key: None}), bench.tried()
    sets = [[*map(str, keys)] for keys in now.settings.keys]
    return list(zip(sets, without.unsafe, now.unsafe, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Distribution:
    """Numbers, counted by value."""

    values: Floats  # those that occur, sorted
    counts: Floats
    weights: Floats  # their sums

    @classmethod
    def of(
        cls, table: tuple[Floats, Integers], present: Mask, weight: Floats | None
    ) -> _Distribution:
        """Return the distribution of the present values of a table of codes."""
        values, codes = table
        if not present.all():
            codes, weight = codes[present], None if weight is None else weight[present]
        counts = np.bincount(codes, minlength=len(values)).astype(np.float64)
        sums = counts if weight is None else sums_by(codes, weight, len(values))
        there = counts > 0.0
        return cls(values[there], counts[there], sums[there])

    def figures(self, of_weight: bool) -> dict[str, Any]:
        """Return figures to the few digits that a page shows.

        The report has the correctly rounded ones, which take longer.
        """
        found: dict[str, Any] = {}
        values, sums = self.values, self.weights
        total = float(sums.sum())
        if total > 0.0:
            mean = _product(sums, values) / total
            variance = _product(sums, (values - mean) ** 2) / total
            up_to = np.cumsum(sums)
            at = min(np.searchsorted(up_to, up_to[-1] / 2), len(values) - 1)
            median = float(values[at])
            found = {"mean": mean, "sd": math.sqrt(variance), "median": median}
        found["sum"] = _product(sums, values)
        if of_weight:  # Kish (1965): 1 plus the squared coefficient of variation
            squares, n = _product(self.counts, values**2), float(self.counts.sum())
            found["design_effect"] = n * squares / found["sum"] ** 2
        return found | {"distinct": len(values)}


def _numbers(bench: Workbench, treated: Treated, name: str) -> dict[str, Any]:
    """Return the figures and the picture of numbers before and after."""
    old, new = treated.before[name], treated.after[name]
    of_weight = name == treated.weight
    weights = None if of_weight else treated.weights
    present = ~(np.isnan(old) | np.isnan(new))
    first = bench.keep("before", name, lambda: table_of(old))
    both = [
        _Distribution.of(table, present, weights)
        for table in (first, treated.table(name))
    ]
    pairs = [one.figures(of_weight) for one in both]
    return {
        "rows": [(row, pairs[0][row], pairs[1][row]) for row in pairs[0]],
        "weighted": weights is not None,
        "correlation": _correlation(old, new, present, weights),
        "correlations": _correlations(treated, name),
        "picture": _picture(*both),
    }


def _correlation(
    first: Floats, second: Floats, present: Mask, weights: Floats | None
) -> float | None:
    """Return a correlation of present values; None if a column is constant."""
    weight = np.ones(len(first)) if weights is None else weights
    if not present.all():
        first, second, weight = first[present], second[present], weight[present]
    total = float(weight.sum())
    if not total > 0.0:
        return None
    a, b = (one - _product(weight, one) / total for one in (first, second))
    of_a, of_b = weight * a, weight * b
    product = _product(of_a, a) * _product(of_b, b)
    return _product(of_a, b) / math.sqrt(product) if product > 0.0 else None


def _product(first: Floats, second: Floats) -> float:
    """Return the sum of products; not by `@`, whose threads wait for one another."""
    return float(np.einsum("i,i", first, second))


def _correlations(
    treated: Treated, name: str
) -> list[tuple[str, float | None, float | None]]:
    """Return the correlations with other treated numbers, before and after."""
    found = []
    for other in treated.after:
        if other == name or other in treated.categorical:
            continue
        pair = []
        for values in (treated.before, treated.after):
            own, others = values[name], values[other]
            ok = ~(np.isnan(own) | np.isnan(others))
            pair.append(_correlation(own, others, ok, treated.weights))
        found.append((str(other), pair[0], pair[1]))
    return found


def _picture(before: _Distribution, after: _Distribution) -> dict[str, Any] | None:
    """Return the histogram of numbers before, and after over it."""
    if not len(before.values):
        return None
    axis = Axis.of(before.values, before.counts)
    bars = [axis.counts(one.values, one.counts) for one in (before, after)]
    most = float(max(one.max() for one in bars))
    return {
        "axis": axis,
        "size": histogram,
        "before": axis.bars(bars[0].tolist(), most),
        "after": axis.bars(bars[1].tolist(), most),
    }


def _categories(bench: Workbench, treated: Treated, name: str) -> dict[str, Any]:
    """Return the records of each category before and after."""
    labels = [*map(code_of, bench.coded_column(name).labels)]
    counts = []
    for values in (treated.before[name], treated.after[name]):
        codes = values[~np.isnan(values)].astype(np.int64)
        counts.append(np.bincount(codes, minlength=len(labels)))
    order = np.argsort(-counts[0], kind="stable")[:_MOST]
    most = max(int(one.max()) for one in counts)
    known = bench.source.labels
    texts = {} if known is None else known.values.get(name, {})
    return {
        "kind": "categories",
        "bars": [
            {
                "code": labels[at],
                "label": texts.get(labels[at], ""),
                "counts": (int(counts[0][at]), int(counts[1][at])),
                "wide": [round(100 * int(one[at]) / most, 2) for one in counts],
            }
            for at in order.tolist()
        ],
        "more": len(labels) - len(order),
    }


def _one_by_one(action: Action) -> Action:
    """Return an action that no other change of the rules comes between."""

    def locked(bench: Workbench, form: Form) -> str:
        with bench.lock:
            return action(bench, form)

    return locked


_ACTIONS = {"add": _one_by_one(add), "edit": _one_by_one(edit)}
PAGE = Page("treat", view, _ACTIONS, parts={"effect": effect})
