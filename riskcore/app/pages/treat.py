"""Treat numbers, weights and categories, and see what becomes of their distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riskcore.app.forms import Form
from riskcore.app.pages.histogram import Axis
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.treat_words import (
    BECOMES,
    FIELDS,
    FLAGS,
    in_words,
    key_of,
    kinds_of,
    refuse_joined,
    rule_of,
    rules_of,
    value_of,
)
from riskcore.app.pages.values import code_of, label_of, labels_of, numbers_of
from riskcore.app.session import OF_WRITING, NotYetError, RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench

if TYPE_CHECKING:
    from riskcore.protection.records.treated import Treated
    from riskcore.protection.treatments.rules import Treatment

Floats = NDArray[np.float64]

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
    rules = _told(bench, key)
    return {
        "lacking": "",
        "columns": [_listed(bench, entry) for entry in names],
        "position": bench.names.index(name),
        "name": name,
        "label": label_of(bench, name),
        "treated": key,
        "joint": key is not None and key != name,
        "rules": rules,
        "random": any(entry["random"] for entry in rules),
        "alters": any(entry["alters"] for entry in rules),
        "kinds": kinds_of(role, numeric),
        "fields": {
            kind: {name: form.numbers.write(usual) for name, usual in fields.items()}
            for kind, fields in FIELDS.items()
        },
        "becomes": BECOMES,
        "flags": FLAGS,
        "strata": [
            {"name": entry, "position": at}
            for at, entry in enumerate(bench.names)
            if entry != name
            and bench.role_of(entry) not in (*_LEFT, "weight", "numeric")
        ],
    }


def treatable(bench: Workbench) -> list[str]:
    """Return the columns that can be treated: numbers, weight, then the others."""
    columns = [
        name
        for name in bench.names
        if bench.role_of(name) not in _LEFT and name not in bench.table("recodings")
    ]
    order = ("numeric", "weight", "sensitive", "harmless", None, "key")
    return sorted(columns, key=lambda name: order.index(bench.role_of(name)))


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
        "rules": in_words(name, rules_of(bench, key)),
        "joint": "" if key in (None, name) else key,
    }


def _told(bench: Workbench, key: str | None) -> list[dict[str, Any]]:
    """Return the rules of a column, and what they do in words."""
    rules = rules_of(bench, key)
    try:
        known = bench.settings().treat if rules else {}
    except RefusedError:  # rules that do not suit the file can be changed here
        known = {}
    made = {"+".join(map(str, names)): treatment for names, treatment in known.items()}
    treatment: list[Treatment | None] = [*made.get(str(key), [None] * len(rules))]
    return [
        {
            "rule": rule,
            "words": "" if one is None else one.describe(public=False),
            "random": one is not None and one.random,
            "alters": one is None or one.alters,
        }
        for rule, one in zip(rules, treatment, strict=True)
    ]


# --- what is done ---


def add(bench: Workbench, form: Form) -> str:
    """Add a treatment to those of a column, or of several columns together."""
    name = _chosen(bench, form, treatable(bench))
    rule = rule_of(bench, form)
    key = key_of(bench, name)
    partners = [bench.column(column) for column in form.all("with")]
    if partners:
        joint = {name, *partners}
        refuse_joined(joint, "+")
        if key is not None and {*key.split("+")} != joint:
            raise RefusedError(said("treat", "alone", column=name))
        key = key or "+".join(column for column in bench.names if column in joint)
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
    text = "cleared" if value is None else "changed"
    words = said("treat", text, column=key, rules="; ".join(in_words(key, rules)))
    with suppress(NotYetError):  # what is known at once is refused at once
        _ = bench.tried(treat={key: value})
    return bench.change(words, treat={key: value})


# --- the effect ---


def effect(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return what the treatments of a column do to its distribution."""
    name = _chosen(bench, form, treatable(bench))
    key = key_of(bench, name)
    now = bench.tried()
    treated = now.prepared.treated
    if key is None or treated is None or name not in treated.after:
        return {"kind": "none" if key is None else "later"}
    values: dict[str, Any] = {"kind": "numbers", "name": name, "unsafe": None}
    if name in bench.keys or name == treated.weight:
        values["unsafe"] = _unsafe_both(bench, key)
    changed = int(np.count_nonzero(treated.altered(name)))
    present = int(np.count_nonzero(~np.isnan(treated.before[name])))
    values |= {"altered": changed, "present": present}
    if name in treated.categorical:
        return values | _categories(bench, treated, name)
    return values | _numbers(bench, treated, name)


def _unsafe_both(bench: Workbench, key: str) -> list[tuple[list[str], int, int]]:
    """Return the unsafe records without and with a treatment, by set of keys."""
    without, now = bench.tried(treat={key: None}), bench.tried()
    sets = [[*map(str, keys)] for keys in now.settings.keys]
    return list(zip(sets, without.unsafe, now.unsafe, strict=True))


def _numbers(bench: Workbench, treated: Treated, name: str) -> dict[str, Any]:
    """Return the figures and the picture of numbers before and after."""
    old, new = treated.before[name], treated.after[name]
    of_weight = name == treated.weight
    weights = None if of_weight else treated.weights
    key = bench.key_of("suppress", *OF_WRITING)
    told = bench.keep("effects", key, treated.effects)
    present = ~np.isnan(old)
    old, new = old[present], new[present]
    weights = None if weights is None else weights[present]
    total = float(len(old) if weights is None else weights.sum())
    both = [np.unique(distribution, return_counts=True) for distribution in (old, new)]
    pairs = [
        _figures(told["columns"].get(name, {}).get(when), total, len(values), of_weight)
        for when, (values, _) in zip(("before", "after"), both, strict=True)
    ]
    return {
        "rows": [(row, pairs[0][row], pairs[1][row]) for row in pairs[0]],
        "weighted": weights is not None,
        "correlation": _correlation(old, new, weights),
        "correlations": [
            (other, distribution["before"], distribution["after"])
            for distribution in told["correlations"]
            for other in distribution["columns"]
            if name in distribution["columns"] and other != name
        ],
        "picture": _picture(*both),
    }


def _figures(
    of: Mapping[str, Any] | None, total: float, distinct: int, of_weight: bool
) -> dict[str, Any]:
    """Return what the page shows of numbers; ``total`` is the sum of their weights."""
    if of is None:
        return {"distinct": distinct}
    mean, middle = of["mean"], of["quantiles"][len(of["quantiles"]) // 2]
    found = {"mean": mean, "sd": math.sqrt(of["variance"]), "median": middle}
    found["sum"] = total * mean
    if of_weight:  # Kish (1965): 1 plus the squared coefficient of variation
        found["design_effect"] = 1.0 + of["variance"] / mean**2
    return found | {"distinct": distinct}


def _correlation(first: Floats, second: Floats, weights: Floats | None) -> float | None:
    """Return a correlation; None if a column is constant, or there are no numbers."""
    if not len(first) or (weights is not None and not weights.sum() > 0.0):
        return None
    (a, covariance), (_, b) = np.cov(first, second, ddof=0, aweights=weights).tolist()
    product = a * b
    return covariance / math.sqrt(product) if product > 0.0 else None


def _picture(*both: tuple[Floats, NDArray[Any]]) -> dict[str, Any] | None:
    """Return the histogram of numbers before, and after over it."""
    counted = [(values, counts.astype(np.float64)) for values, counts in both]
    if not len(counted[0][0]):
        return None
    axis = Axis.of(*counted[0])
    before, after = (axis.counts(*stage) for stage in counted)
    return axis.picture(before=before, after=after)


def _categories(bench: Workbench, treated: Treated, name: str) -> dict[str, Any]:
    """Return the records of each category before and after."""
    labels = [*map(code_of, bench.coded_column(name).labels)]
    counts = []
    for values in (treated.before[name], treated.after[name]):
        codes = values[~np.isnan(values)].astype(np.int64)
        counts.append(np.bincount(codes, minlength=len(labels)))
    order = np.argsort(-counts[0], kind="stable")[:_MOST]
    texts = labels_of(bench, name)
    return {
        "kind": "categories",
        "bars": [
            (labels[at], texts.get(labels[at], ""), *(int(x[at]) for x in counts))
            for at in order.tolist()
        ],
        "most": max(int(stage.max()) for stage in counts),
        "more": len(labels) - len(order),
    }


PAGE = Page("treat", view, named(add, edit), named(effect))
