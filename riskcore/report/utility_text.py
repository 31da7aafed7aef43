"""Sheets of a comparison and of a trial of protections, as text, and their tables."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from riskcore.assessment.reported_figures import label
from riskcore.common.html import readable
from riskcore.common.sheet import Facts, Part, Sheet
from riskcore.common.words import Number, counted, joined, printable, sentence
from riskcore.comparison.analyses import category_of

# Numbers of pairs of keys, of strata and of cells of a table in the text; JSON has all.
_LISTED = 5
_STRATA = 20
CELLS = 10
_WIDTH = 84
_SMALL = 1e-4  # smaller figures have an exponent

Plain = dict[str, Any]
# How a name is written: cut in a terminal, whole on a page.
Name = Callable[[Any], str]


def comparison_text(figures: Plain, title: str) -> str:
    """Return the figures of `Comparison.to_dict` as text."""
    n = figures["records"]
    facts = [
        ("records", before_after(f"{n['before']:,}", f"{n['after']:,}")),
        ("weight", label(figures["weight"] or "none, every record counts 1")),
    ]
    if figures["aligned"]:
        facts.append(("records", "aligned: which is which is known"))
    return Sheet("Comparison", facts, list(_comparison_parts(figures))).text(title)


def _comparison_parts(figures: Plain) -> Iterator[Part]:
    if figures["verdicts"]:
        yield Part("Verdicts", sentences=_wrapped(figures["verdicts"]))
    for entry in figures["models"]:
        yield Part(
            f"Model {printable(entry['formula'])}",
            model_facts(entry, figures["labels"]),
            coefficient_rows(entry),
            "<<<>><",
            _wrapped(entry["notes"]),
            spaced=True,
        )
    for entry in figures["tables"]:
        if entry["cells"]:
            yield _table(entry)
    keys = figures["keys"]
    named = partial(with_label, labels=figures["labels"])
    yield Part("Keys", rows=key_rows(keys, named), sides="<<>")
    reasons = [f"{label(x['key'])}: {x['reason']}" for x in keys if x["reason"]]
    tables = distance_rows(keys)
    yield Part("Weighted tables of the keys", (), tables, "<>", reasons)
    lost = loss_rows(figures)
    if len(lost) > 1:
        change = change_sentence(figures)
        yield Part("Categories that lost most", (), lost, "<<>", [change])
    if figures["pairs"]:
        yield _pairs(figures)
    for name, rows, sides in (
        ("Numeric columns", number_rows(figures, named), "<<>"),
        ("Correlations (Pearson)", correlation_rows(figures["correlations"]), "<>"),
    ):
        if len(rows) > 1:
            yield Part(name, rows=rows, sides=sides)
    if figures["strata"]["rows"]:
        yield _strata(figures)
    yield Part(sentences=_wrapped(propensity_lines(figures)), indents=(2, 2))


def _wrapped(sentences: list[str]) -> list[str]:
    """Return sentences as lines for a terminal, the first line of each to the left."""
    return [
        line
        for sentence in sentences
        for line in textwrap.wrap(
            printable(sentence), _WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
    ]


def with_label(name: Any, labels: Mapping[str, str], form: Name = label) -> str:
    """Return the name of a column, followed by the label that a file has for it."""
    file_label = labels.get(str(name))
    return form(name) if file_label is None else f"{form(name)} ({form(file_label)})"


# --- models and tables of users ---


def model_facts(model: Plain, labels: Mapping[str, str], form: Name = label) -> Facts:
    """Return what a model is of, and the records it rests on."""
    names = [name for name in model["variables"] if name in labels]
    variables = [with_label(name, labels, form) for name in names]
    bases = [category_of(form(x), form(base)) for x, base in model["base"].items()]
    errors = "robust, with weights" if model["weighted"] else "of the model"
    return [
        (f"{model['kind']} model of", form(model["response"])),
        *([("variables", ", ".join(variables))] if variables else []),
        *([("compared with", ", ".join(bases))] if bases else []),
        *records_facts(model),
        ("standard errors", errors),
    ]


def records_facts(study: Plain) -> Facts:
    """Return the complete and the incomplete records of a model or a table."""
    return [
        (what, before_after(*(whole(study[f"{name}_{when}"]) for when in _WHEN)))
        for what, name in (
            (sentence("complete records"), "records"),
            (sentence("incomplete, left out"), "incomplete"),
        )
    ]


_WHEN = "before", "after"
_BOTH = sentence("before"), sentence("after")
_CHANGES = {
    "sign": "sign changes",
    "significance": "significance changes",
    "estimate": "only one file has an estimate",
}


def coefficient_rows(
    model: Plain, form: Name = label, interval: str = "aside"
) -> list[list[str]]:
    """Return the coefficients before and after, after a header row."""
    if not model["coefficients"]:
        return []
    estimates = [f"{when} (95 % interval)" for when in _WHEN]
    rows = [["", *estimates, "overlap", "difference, s.e.", ""]]
    for coefficient in model["coefficients"]:
        texts = [
            joined("", [number(coefficient[when]), *_interval(ends, interval)])
            for when, ends in ((x, coefficient[f"interval_{x}"]) for x in _WHEN)
        ]
        compared = (
            percent(_rounded(coefficient["overlap"])),
            number(_rounded(coefficient["difference"])),
        )
        rows.append(
            [
                form(coefficient["term"]),
                *texts,
                *compared,
                coefficient["change"] and sentence(_CHANGES[coefficient["change"]]),
            ]
        )
    return rows


_INTERVALS = {"aside": " ({low} to {high})", "below": "\n{low} to {high}"}


def _interval(ends: Sequence[float] | None, place: str) -> Iterator[str]:
    """Yield an interval in words, if there is one."""
    if ends is not None:
        yield sentence(_INTERVALS[place], *map(number, ends))


def _rounded(value: float | None) -> float | None:
    """Return a figure without what is rounding alone."""
    return None if value is None else round(value, 6) + 0.0


def _table(table: Plain) -> Part:
    """Return the cells of a table that have changed most."""
    rows = cell_rows(table, CELLS)
    more = len(table["cells"]) - CELLS
    said = [f"and {counted(more, 'share')} that changed less"] if more > 0 else []
    facts = [
        *records_facts(table),
        ("total variation", number(table["total_variation"])),
    ]
    title = f"Table {' x '.join(map(label, table['columns']))}"
    return Part(title, facts, rows, "<>>>><", said, spaced=True)


def cell_rows(table: Plain, most: int, form: Name = label) -> list[list[str]]:
    """Return the shares that have changed most, in order, after a header row."""
    cells = table["cells"]
    ranked = sorted(range(len(cells)), key=lambda i: (-abs(cells[i]["change"]), i))
    change, margin = sentence("change, points"), sentence("95 % margin")
    rows: list[list[str]] = [["", *_BOTH, change, margin, ""]]
    for cell in (cells[i] for i in sorted(ranked[:most])):
        rows.append(
            [
                " x ".join(map(form, cell["categories"])),
                percent(cell["share_before"]),
                percent(cell["share_after"]),
                number(100 * cell["change"]),
                sentence("± {n}", number(100 * cell["margin"])),
                sentence("leaves its interval") if cell["outside"] else "",
            ]
        )
    return rows


# --- all keys ---


def before_after(before: str, after: str) -> str:
    """Return a value before and after, or one value if they agree."""
    if before == after:
        return before
    return sentence("{before} before, {after} after", before, after)


def number(value: float | None) -> Number:
    """Return a figure with three digits, a dash if it is unknown."""
    if value is None:
        return Number("-")
    size = abs(value)
    text = f"{size:.3g}" if 0 < size < _SMALL else readable(size)
    return Number(f"{'-' if value < 0 else ''}{text.replace('e-0', 'e-')}")


def percent(share: float | None) -> str:
    """Return a share in per cent with three digits, a dash if it is unknown."""
    return "-" if share is None else sentence("{n} %", number(100 * share))


def whole(value: int | None) -> str:
    """Return a count as text, a dash if it is unknown."""
    return "-" if value is None else Number(f"{value:,}")


def key_rows(keys: list[Plain], name: Name = label) -> list[list[str]]:
    """Return the categories and entropy of the keys by file, after a header row."""
    rows: list[list[str]] = [["", "", *_BOTH]]
    for key in keys:
        stages = key["original"], key["safe"]
        shown = name(key["key"])
        for what, values in (
            (sentence("categories"), [whole(x["categories"]) for x in stages]),
            (
                sentence("records in the smallest"),
                [whole(x["smallest_records"]) for x in stages],
            ),
            (sentence("entropy, bits"), [number(x["entropy"]) for x in stages]),
        ):
            rows.append([shown, what, *values])
            shown = ""
    return rows


def distance_rows(
    keys: list[Plain], *, entropy: bool = False, name: Name = label
) -> list[list[str]]:
    """Return suppressed values, distances and entropies or missing shares by key."""
    has_loss = any(key["share_lost"] is not None for key in keys)
    lost = [sentence("information lost")] if has_loss else []
    two: list[str] = [sentence("missing before"), sentence("after")]
    if entropy:
        two = ["entropy, bits: original", "safe file"]
    rows: list[list[str]] = [["", sentence("suppressed"), *two, "TV", *lost]]
    for key in keys:
        safe = key["safe"]
        if entropy:
            stages: list[str] = [
                number(key["original"]["entropy"]),
                number(safe["entropy"]),
            ]
        else:
            before = key["recoded"] or key["original"]
            stages = [percent(x["missing_share"]) for x in (before, safe)]
        distance = number(key["total_variation"])
        row = [name(key["key"]), whole(key["suppressed"]), *stages, distance]
        rows.append([*row, percent(key["share_lost"])] if has_loss else row)
    return rows


def loss_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the categories that lost most by suppression, after a header row."""
    head = sentence("category"), sentence("records before"), sentence("after")
    extra = sentence("share of the known before"), sentence("after")
    rows: list[list[str]] = [["", *head, sentence("lost"), *extra]]
    for loss in figures["losses"]["categories"][:_LISTED]:
        counts = whole(loss["records_before"]), whole(loss["records_after"])
        shares = (percent(loss[f"known_{when}"]) for when in ("before", "after"))
        names = name(loss["key"]), name(loss["category"])
        rows.append([*names, *counts, percent(loss["lost"]), *shares])
    return rows


def change_sentence(figures: Plain) -> str:
    """Return how far shares among the known values changed."""
    losses = figures["losses"]
    change, mean = losses["largest_change"], losses["mean_total_variation_of_values"]
    shares = (percent(change[f"known_{when}"]) for when in ("before", "after"))
    return (
        f"Among the known values, the share of {category(change)} changed most, from "
        f"{' to '.join(shares)}; mean TV over the keys {number(mean)}"
    )


def category(entry: Plain) -> str:
    """Return a category with its key."""
    return f"{label(entry['key'])}={label(entry['category'])}"


def lost_most(loss: Plain | None) -> str:
    """Return the share that a category lost and its name, a dash if none did."""
    return "-" if loss is None else f"{percent(loss['lost'])} of {category(loss)}"


def _pairs(figures: Plain) -> Part:
    """Return the distances of the two-way tables, the largest ones first."""
    ranked = most_changed(figures["pairs"])
    facts = []
    if figures["mean_total_variation"] is not None:
        mean = number(figures["mean_total_variation"])
        facts = [("mean total variation", mean)]
    more = len(ranked) - _LISTED
    said = [f"and {counted(more, 'pair')} changed less"] if more > 0 else []
    shown = pair_rows(ranked[:_LISTED])
    return Part("Two-way tables of the keys", facts, shown, "<>", said)


def most_changed(pairs: list[Plain]) -> list[Plain]:
    """Return the pairs of keys, the pair with the most changed table first."""
    return sorted(pairs, key=lambda x: -(x["total_variation"] or 0.0))


def pair_rows(pairs: list[Plain], name: Name = label) -> list[list[str]]:
    """Return the distances and associations of pairs of keys, after a header row."""
    figures = "total_variation", "cramers_v_before", "cramers_v_after"
    before = sentence("Cramer's V: before")
    head = [sentence("most changed"), "TV", before, sentence("after")]
    return [
        head,
        *(
            [" x ".join(map(name, pair["keys"])), *(number(pair[x]) for x in figures)]
            for pair in pairs
        ),
    ]


_COUNTS = {"records": "records", "missing": "missing"}
_MOMENTS = {"mean": "mean", "variance": "variance"}


def number_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the moments and quantiles of columns of numbers, after a header row."""
    quantiles = [
        sentence("{n} % quantile", Number(f"{100 * share:g}"))
        for share in figures["quantiles"]
    ]
    rows: list[list[str]] = [["", "", *_BOTH]]
    for column in figures["numbers"]:
        stages = [column[when] for when in _WHEN]
        lines: list[tuple[str, list[str]]] = []
        for x in _COUNTS:
            lines.append((sentence(_COUNTS[x]), [whole(stage[x]) for stage in stages]))
        for x in _MOMENTS:
            lines.append((sentence(_MOMENTS[x]), [number(s[x]) for s in stages]))
        for i, x in enumerate(quantiles):
            values = [stage["quantiles"] and stage["quantiles"][i] for stage in stages]
            lines.append((x, [number(value) for value in values]))
        for i, (what, values) in enumerate(lines):
            rows.append(["" if i else name(column["column"]), what, *values])
    return rows


def correlation_rows(correlations: list[Plain], name: Name = label) -> list[list[str]]:
    """Return the correlations before and after, after a header row."""
    return [
        ["", *_BOTH],
        *(
            [
                " x ".join(map(name, correlation["columns"])),
                *(number(correlation[when]) for when in ("before", "after")),
            ]
            for correlation in correlations
        ),
    ]


def _strata(figures: Plain) -> Part:
    rows = stratum_rows(figures)
    names = " x ".join(map(label, figures["strata"]["columns"]))
    more = len(rows) - 1 - _STRATA
    said = [f"and {counted(more, 'stratum', 'strata')} more, which --json has"]
    return Part(
        f"Suppressed values by {names}, and their share",
        rows=rows[: _STRATA + 1],
        sides="<>",
        sentences=said if more > 0 else [],
    )


def stratum_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the suppressed values by stratum and key, after a header row."""
    keys = [entry["key"] for entry in figures["keys"]]
    rows: list[list[str]] = [["", sentence("records"), *map(name, keys)]]
    for entry in figures["strata"]["rows"]:
        row = [" x ".join(map(name, entry["stratum"])), whole(entry["records_before"])]
        for key in keys:
            share = percent(entry["rate"][key])
            count = whole(entry["suppressed"][key])
            row.append(sentence("{n} ({share})", count, share))
        rows.append(row)
    return rows


def propensity_lines(figures: Plain) -> list[str]:
    """Return what the propensity score shows, and what it does not, in sentences."""
    propensity = figures["propensity"]
    pairs = propensity["interactions"]
    terms = sentence("main effects and pairs" if pairs else "main effects")
    if propensity["pmse"] is None:
        why = propensity["reason"]
        return [sentence("Propensity score ({terms}): none, {why}.", terms, why)]
    pmse, ratio = propensity["pmse"], propensity["ratio"]
    parameters = counted(propensity["parameters"], "parameter")
    score = sentence(
        "Propensity score ({terms}, {parameters}): pMSE {pmse}. It would be 0 if the "
        "score could not tell the safe file from the original, and it cannot."
        if pmse == 0
        else "Propensity score ({terms}, {parameters}): pMSE {pmse}. It would be 0 if "
        "the score could not tell the safe file from the original.",
        *(terms, parameters, number(pmse)),
    )
    if pmse:
        score = joined(" ", [score, _beside_sampling(propensity)])
    lines: list[str] = [score]
    if propensity["told_apart"]:
        lines.append(
            sentence(
                "{records} can be assigned to a file with certainty, because their "
                "category occurs in one file only.",
                counted(propensity["told_apart"], "record"),
            )
        )
    if propensity["reason"]:
        lines.append(sentence("Note: {reason}.", propensity["reason"]))
    if ratio is not None and pmse > 0:
        lines.append(
            sentence(
                "This is not a test: the safe file is a changed copy of the original."
            )
        )
    return lines


def _beside_sampling(propensity: Plain) -> str:
    """Return what a pMSE means beside that of two samples of one population."""
    if propensity["ratio"] is None:
        return sentence("Nothing is known to compare it with.")
    return sentence(
        "Two samples of one population would give {n}; this is {ratio} times as much, "
        "so the files differ less than two such samples."
        if propensity["ratio"] < 1
        else "Two samples of one population would give {n}; this is {ratio} times as "
        "much, so the files differ more than two such samples.",
        *(number(propensity["expected"]), number(propensity["ratio"])),
    )


def trials_text(figures: Plain, title: str) -> str:
    """Return the figures of `Trials.to_dict` as text."""
    said = [
        f"{mark} {label(trial['name'])}: {reason}"
        for mark, trial in enumerate(figures["candidates"], 1)
        for reason in (
            *([trial["reason"]] if trial["reason"] else []),
            *(f"warning: {warning}" for warning in trial["warnings"]),
        )
    ]
    by_key, left = "Values suppressed / categories left, by key", (2, 2)
    parts = [
        Part(rows=trial_rows(figures), sides="><>", indents=left),
        Part(sentences=[FRONT], indents=left),
        Part(by_key, (), trial_key_rows(figures), "><>", said, indents=left),
    ]
    return Sheet("Protections tried", [], parts).text(title)


# The meaning of the mark of the front.
FRONT = (
    "*: no other safe candidate has less risk, loses less information and has a "
    "smaller mean TV. TV and pMSE are on the categories of the safe file: they do not "
    "know what recoding loses; information lost counts a blank as a coarse category. "
    "Largest loss: the category that lost the largest share of its records to "
    "suppression. TV of known: the mean total variation of the keys' known values."
)


# The figures of a candidate: what they are called, and how they are written.
_OF_TRIAL: dict[str, tuple[str, Callable[[Any], str]]] = {
    "unsafe_before": ("unsafe before", whole),
    "unsafe_after": ("after", whole),
    "expected_before": ("expected before", number),
    "expected_reidentifications": ("after", number),
    "max_risk": ("max risk", number),
    "values_suppressed": ("suppressed", whole),
    "share_lost": ("information lost", percent),
    "largest_loss": ("largest loss", lost_most),
    "mean_total_variation_of_values": ("TV of known", number),
    "mean_total_variation": ("mean TV", number),
    "pmse": ("pMSE", number),
}


def trial_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the risk and utility of each candidate, after a header row."""
    rows = [["", "candidate", "state", *(title for title, _ in _OF_TRIAL.values())]]
    for mark, trial in enumerate(figures["candidates"], 1):
        state = "failed" if trial["state"] is None else trial["state"]
        star = " *" if trial["front"] else ""
        figures_of = [form(trial[figure]) for figure, (_, form) in _OF_TRIAL.items()]
        rows.append([str(mark), f"{name(trial['name'])}{star}", state, *figures_of])
    return rows


def trial_key_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the suppressed values and remaining categories by candidate and key."""
    tried = [
        (mark, trial, trial["suppressed"], trial["categories"])
        for mark, trial in enumerate(figures["candidates"], 1)
        if trial["suppressed"] is not None
    ]
    keys = dict.fromkeys(key for *_, suppressed, _ in tried for key in suppressed)
    rows = [["", "candidate", *map(name, keys)]]
    for mark, trial, suppressed, left in tried:
        counts = (f"{whole(suppressed.get(x))} / {whole(left.get(x))}" for x in keys)
        rows.append([str(mark), name(trial["name"]), *counts])
    return rows
