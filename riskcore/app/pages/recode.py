"""Recode a column: breaks of numbers, merged categories, and the risk beside them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riskcore.app.forms import Form, NumberFormat
from riskcore.app.pages.histogram import Axis
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.recode_words import (
    OF_NUMBERS,
    WAYS,
    codes_by_position,
    fields_of,
    in_words,
    merged,
    rule_of,
    way_of,
)
from riskcore.app.pages.treat_words import key_of
from riskcore.app.pages.values import (
    code_of,
    counts_of,
    label_of,
    labels_of,
    numbers_of,
)
from riskcore.app.session import NotYetError, RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import State, Workbench
from riskcore.common.words import words_in
from riskcore.data.recode import Recoding

if TYPE_CHECKING:
    from riskcore.data.columns import CodedColumn

# Roles whose columns are not recoded.
_OTHERWISE = ("weight", "household", "cluster", "person", "wave", "identifier")
_NUMERIC = "numeric"
_MOST = 200  # categories that are listed
_FEW = 15  # so few numbers are shown as categories at first


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the columns, and the forms of the one that is chosen."""
    if bench.lacking:
        return {"lacking": bench.lacking}
    name = _chosen(bench, form)
    column = bench.coded_column(name)
    fault, state = "", None
    try:
        state = _state(bench)
    except RefusedError as error:  # rules that do not suit the file can be changed here
        fault = words_in(error)
    return {
        "lacking": "",
        "fault": fault,
        "columns": [
            _listed(bench, column_name, state, form.numbers)
            for column_name in recodable(bench)
        ],
        "position": bench.names.index(name),
        "name": name,
        "label": label_of(bench, name),
        "missing": column.missing,
        "by_count": form.text("order") == "count",
        "all": len(column.labels),
        **_form_of(bench, column, form, state),
    }


def _form_of(
    bench: Workbench, column: CodedColumn, form: Form, state: State | None
) -> dict[str, Any]:
    """Return the form of the way that is chosen, and what it shows of the values."""
    rule = bench.table("recodings").get(str(column.name))
    numbers = numbers_of(bench, column)
    is_text = all(isinstance(code, str) for code in column.labels)
    ways = [
        kind
        for kind in WAYS
        if (kind not in OF_NUMBERS or numbers is not None)
        and (kind != "truncate" or is_text)
    ]
    usual = "cut" if numbers is not None and len(column.labels) > _FEW else "merge"
    own = usual if rule is None else way_of(rule)
    way = form.text("way", own)
    if way not in ways:
        way = "text"
    counts, unsafe = counts_of(column), _unsafe(column, state)
    values = {
        "rule": rule,
        "words": in_words(rule, form.numbers) if rule else "",
        "ways": ways,
        "way": way,
        "fields": fields_of(rule if way in (own, "text") else None, form.numbers),
        "picture": None,
        "categories": [],
    }
    if numbers is not None and way in OF_NUMBERS:
        values["picture"] = _picture(numbers, counts, unsafe)
    else:
        values["categories"] = _categories(bench, column, counts, unsafe, form)
    return values


def recodable(bench: Workbench) -> list[str]:
    """Return the keys, then the other columns that can be recoded."""
    roles = {name: bench.role_of(name) for name in bench.names}
    others = [
        name
        for name, role in roles.items()
        if role not in (*_OTHERWISE, _NUMERIC, "key") and not key_of(bench, name)
    ]
    return [*(name for name in bench.names if roles[name] == "key"), *others]


def _chosen(bench: Workbench, form: Form) -> str:
    """Return the column that the address or form names, otherwise the first key."""
    if not form.has("column"):
        keys = [name for name in bench.names if name in bench.keys]
        return (keys or bench.names)[0]
    return bench.column(form.text("column"))


def _listed(
    bench: Workbench, name: str, state: State | None, numbers: NumberFormat
) -> dict[str, Any]:
    """Return a column of the list: its categories before and after."""
    rule = bench.table("recodings").get(name)
    row = {
        "name": name,
        "label": label_of(bench, name),
        "position": bench.names.index(name),
        "role": bench.role_of(name),
        "words": in_words(rule, numbers) if rule else "",
        "before": None,
        "after": None,
    }
    if rule or name in bench.keys:
        column = bench.coded_column(name)
        row["before"] = len(column.labels)
        if not rule:
            row["after"] = row["before"]
        elif state is not None:
            after, _ = _after(bench, column, state.settings.recodings[name])
            row["after"] = len(after)
    return row


# --- the values of a column ---


def _unsafe(column: CodedColumn, state: State | None) -> NDArray[np.int64] | None:
    """Return the unsafe records of each category; None if they are not counted."""
    if state is None or state.settings.unit == "household":
        return None
    pairs = zip(state.prepared.recoded, state.aims, strict=True)
    mask = np.logical_or.reduce([aim.unsafe(assessment) for assessment, aim in pairs])
    levels = len(column.labels)
    return np.bincount(column.codes[mask], minlength=levels + 1)[:levels]


def _picture(
    numbers: NDArray[np.float64],
    counts: NDArray[np.int64],
    unsafe: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Return the histogram of a column, with its unsafe records."""
    order = np.argsort(numbers)
    values, sizes = numbers[order], counts[order].astype(float)
    axis = Axis.of(values, sizes)
    dark = np.zeros(len(values)) if unsafe is None else unsafe[order].astype(float)
    bars = axis.picture(
        all=axis.counts(values, sizes), unsafe=axis.counts(values, dark)
    )
    return {
        **bars,
        "smallest": float(values[0]),
        "largest": float(values[-1]),
        "records": int(sizes.sum()),
    }


def _categories(
    bench: Workbench,
    column: CodedColumn,
    counts: NDArray[np.int64],
    unsafe: NDArray[np.int64] | None,
    form: Form,
) -> list[dict[str, Any]]:
    """Return the categories of a column, with the code that each becomes."""
    rule = bench.table("recodings").get(str(column.name))
    new = merged(rule.partition(":")[2]) if rule and way_of(rule) == "merge" else {}
    order = np.argsort(-counts, kind="stable").tolist()
    if form.text("order") != "count":
        order = _ordered(bench, column)
    texts = labels_of(bench, str(column.name))
    categories = []
    for at in order[:_MOST]:
        code = code_of(column.labels[at])
        categories.append(
            {
                "position": at,
                "code": code,
                "label": texts.get(code, ""),
                "count": int(counts[at]),
                "unsafe": None if unsafe is None else int(unsafe[at]),
                "to": new.get(code, new.get("*", code)),
            }
        )
    return categories


# --- what a rule does ---


def _state(bench: Workbench, **changes: Mapping[str, Any]) -> State:
    """Return the figures after changes, without treatments that change no risk."""
    risk_columns = {*bench.keys, bench.table("columns").get("weight")}
    idle = {
        name: None
        for name in bench.table("treat")
        if risk_columns.isdisjoint({name, *name.split("+")})
    }
    return bench.tried(**changes, **({"treat": idle} if idle else {}))


def _after(
    bench: Workbench, column: CodedColumn, recoding: Recoding | None
) -> tuple[dict[str, int], list[str]]:
    """Return the records of the new categories by code, and doubts in words."""
    counts, order = counts_of(column), _ordered(bench, column)
    if recoding is None:
        return {code_of(column.labels[at]): int(counts[at]) for at in order}, []
    recoding = recoding.resolved(column.labels.tolist(), counts.tolist())
    try:
        recoded = recoding.apply(column.labels)
    except (TypeError, ValueError) as error:
        raise RefusedError(words_in(error)) from None
    records: dict[str, int] = {}
    for at in order:
        code = recoded.codes[at]
        if code is not None:
            text = code_of(code)
            records[text] = records.get(text, 0) + int(counts[at])
    doubts = []
    if recoded.unused and recoding.others != "refuse":
        doubts.append(said("recode", "unused", n=len(recoded.unused)))
    if recoded.overlapping:
        doubts.append(said("recode", "overlapping", n=len(recoded.overlapping)))
    return records, doubts


def preview(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return what a rule would give, beside what is now."""
    name = _chosen(bench, form)
    column = bench.coded_column(name)
    rule = bench.table("recodings").get(name)
    if form.has("way"):
        rule = rule_of(form.text("way"), form, codes_by_position(column.labels))
    then = _state(bench, recodings={name: rule})
    try:
        now = _state(bench)
    except RefusedError:  # the rules before do not suit the file
        now = then
    before, _ = _after(bench, column, now.settings.recodings.get(column.name))
    after, doubts = _after(bench, column, then.settings.recodings.get(column.name))
    shown = [*after.items()][:_MOST]
    texts = labels_of(bench, name)
    return {
        "rule": rule,
        "words": in_words(rule, form.numbers) if rule else "",
        "changed": rule != bench.table("recodings").get(name),
        "before": len(before),
        "after": len(after),
        "sets": [
            (keys, (now.unsafe[i], now.expected[i]), (then.unsafe[i], then.expected[i]))
            for i, keys in enumerate(then.settings.keys)
        ],
        "households": then.settings.unit == "household",
        "bars": [(code, texts.get(code, ""), n) for code, n in shown],
        "most": max([n for _, n in shown], default=1),
        "more": len(after) - len(shown),
        "doubts": doubts,
    }


def _ordered(bench: Workbench, column: CodedColumn) -> list[int]:
    """Return the positions of the categories, by value."""
    numbers = numbers_of(bench, column)
    order = np.argsort(range(len(column.labels)) if numbers is None else numbers)
    return list(map(int, order))


def apply(bench: Workbench, form: Form) -> str:
    """Recode a column by the rule of a form; an empty form takes the rule away."""
    name = _chosen(bench, form)
    codes = codes_by_position(bench.coded_column(name).labels)
    return _change(bench, name, rule_of(form.text("way"), form, codes), form)


def clear(bench: Workbench, form: Form) -> str:
    """Take the recoding of a column away."""
    return _change(bench, _chosen(bench, form), None, form)


def _change(bench: Workbench, name: str, rule: str | None, form: Form) -> str:
    """Change the recoding of a column, if it suits the data."""
    if rule == bench.table("recodings").get(name):
        return said("recode", "unchanged", column=name)
    words = said("recode", "cleared", column=name)
    if rule is not None:
        told = in_words(rule, form.numbers)
        words = said("recode", "changed", column=name, rule=told)
    with suppress(NotYetError):  # what is known at once is refused at once
        _ = _state(bench, recodings={name: rule})
    return bench.change(words, recodings={name: rule})


PAGE = Page("recode", view, named(apply, clear), named(preview))
