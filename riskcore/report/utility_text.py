"""What a comparison and a trial of protections say, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.assessment.figures import label
from riskcore.common.text_table import aligned
from riskcore.common.words import counted, printable

# How many pairs of keys and strata are listed; JSON has all.
_LISTED = 5
_STRATA = 20

Plain = dict[str, Any]
# How a name is written: cut in a terminal, whole on a page.
Name = Callable[[Any], str]


def comparison_text(figures: Plain, title: str) -> str:
    """Return what `Comparison.to_dict` says as text."""
    n = figures["records"]
    facts = [
        ("records", before_after(f"{n['before']:,}", f"{n['after']:,}")),
        ("weight", label(figures["weight"] or "none, every record counts 1")),
    ]
    if figures["aligned"]:
        facts.append(("records", "aligned: which is which is known"))
    lines = [printable(title), *aligned(facts, "<"), "", "  Keys"]
    lines += aligned(key_rows(figures["keys"]), "<<>", indent=4)
    lines += ["", "  Weighted tables of the keys"]
    lines += aligned(distance_rows(figures["keys"]), "<>", indent=4)
    for one in figures["keys"]:
        if one["reason"]:
            lines.append(f"    {label(one['key'])}: {printable(one['reason'])}")
    if figures["pairs"]:
        lines += ["", *_pairs(figures)]
    for name, rows, sides in (
        ("Columns of numbers", number_rows(figures), "<<>"),
        ("Correlations (Pearson)", correlation_rows(figures["correlations"]), "<>"),
    ):
        if len(rows) > 1:
            lines += ["", f"  {name}", *aligned(rows, sides, indent=4)]
    if figures["strata"]["rows"]:
        lines += ["", *_strata(figures)]
    return "\n".join([*lines, "", *(f"  {one}" for one in propensity_lines(figures))])


def before_after(before: str, after: str) -> str:
    """Return a value before and after, or one if nothing has changed."""
    return before if before == after else f"{before} before, {after} after"


def number(value: float | None, digits: int = 4) -> str:
    """Return a figure with some digits, a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def percent(share: float | None) -> str:
    """Return a share in per cent with three digits, a dash if there is none."""
    return "-" if share is None else f"{100 * share:.3g} %"


def whole(value: int | None) -> str:
    """Return a count, a dash if there is none."""
    return "-" if value is None else f"{value:,}"


def key_rows(keys: list[Plain], name: Name = label) -> list[list[str]]:
    """Return categories and entropy of the keys at each stage, with a head."""
    recoded = any(one["recoded"] for one in keys)
    stages = ["original", *(["recoded"] if recoded else []), "safe"]
    rows = [["", "", *stages]]
    for one in keys:
        found = [one[stage] or one["original"] for stage in stages]
        shown = name(one["key"])
        for what, values in (
            ("categories", [whole(stage["categories"]) for stage in found]),
            ("records of the smallest", [_smallest(stage) for stage in found]),
            ("entropy, bits", [number(stage["entropy"]) for stage in found]),
        ):
            rows.append([shown, what, *values])
            shown = ""
    return rows


def _smallest(stage: Plain) -> str:
    return whole(stage["smallest_records"])


def distance_rows(
    keys: list[Plain], *, entropy: bool = False, name: Name = label
) -> list[list[str]]:
    """Return the table of suppressed values and distances by key, with its head.

    It has the shares of missing values, or with ``entropy`` the entropy in the original
    and in the safe file.
    """
    known = any(one["share_lost"] is not None for one in keys)
    lost = ["information lost"] if known else []
    two = ["missing before", "after"]
    if entropy:
        two = ["entropy, bits: original", "safe file"]
    rows = [["", "suppressed", *two, "TV", "Hellinger", *lost]]
    for one in keys:
        row = [
            name(one["key"]),
            whole(one["suppressed"]),
            *(_entropies(one) if entropy else _missing(one)),
            number(one["total_variation"]),
            number(one["hellinger"]),
        ]
        rows.append([*row, percent(one["share_lost"])] if known else row)
    return rows


def _entropies(one: Plain) -> list[str]:
    return [number(one[stage]["entropy"]) for stage in ("original", "safe")]


def _missing(one: Plain) -> list[str]:
    stages = (one["recoded"] or one["original"], one["safe"])
    return [percent(stage["missing_share"]) for stage in stages]


def _pairs(figures: Plain) -> list[str]:
    """Say how far the two-way tables are apart, and name those that are most."""
    ranked = most_changed(figures["pairs"])
    lines = ["  Two-way tables of the keys"]
    if figures["mean_total_variation"] is not None:
        facts = [
            ("mean total variation", number(figures["mean_total_variation"])),
            ("mean Hellinger distance", number(figures["mean_hellinger"])),
        ]
        lines += aligned(facts, "<", indent=4)
    lines += aligned(pair_rows(ranked[:_LISTED]), "<>", indent=4)
    if len(ranked) > _LISTED:
        lines.append(f"    and {counted(len(ranked) - _LISTED, 'pair')} changed less")
    return lines


def most_changed(pairs: list[Plain]) -> list[Plain]:
    """Return the pairs of keys, those first of which the table has changed most."""
    return sorted(pairs, key=lambda one: -(one["total_variation"] or 0.0))


def pair_rows(pairs: list[Plain], name: Name = label) -> list[list[str]]:
    """Return the table of pairs, with its head."""
    head = ["most changed", "TV", "Hellinger", "Cramer's V: before", "after"]
    return [
        head,
        *(
            [
                " x ".join(map(name, one["keys"])),
                number(one["total_variation"]),
                number(one["hellinger"]),
                number(one["cramers_v_before"]),
                number(one["cramers_v_after"]),
            ]
            for one in pairs
        ),
    ]


def number_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the table of columns of numbers, with its head."""
    shares = [f"{100 * share:g}%" for share in figures["quantiles"]]
    rows = [["", "", "records", "missing", "mean", "variance", *shares]]
    for one in figures["numbers"]:
        for when in ("before", "after"):
            found = one[when]
            rows.append(
                [
                    name(one["column"]),
                    when,
                    whole(found["records"]),
                    whole(found["missing"]),
                    number(found["mean"], 6),
                    number(found["variance"], 6),
                    *(
                        number(value, 6)
                        for value in found["quantiles"] or [None] * len(shares)
                    ),
                ]
            )
    return rows


def correlation_rows(correlations: list[Plain], name: Name = label) -> list[list[str]]:
    """Return the table of correlations, with its head."""
    return [
        ["", "before", "after"],
        *(
            [
                " x ".join(map(name, one["columns"])),
                number(one["before"]),
                number(one["after"]),
            ]
            for one in correlations
        ),
    ]


def _strata(figures: Plain) -> list[str]:
    rows = stratum_rows(figures)
    names = " x ".join(map(label, figures["strata"]["columns"]))
    lines = [f"  Suppressed values by {names}, and their share"]
    lines += aligned(rows[: _STRATA + 1], "<>", indent=4)
    if len(rows) > _STRATA + 1:
        more = counted(len(rows) - 1 - _STRATA, "stratum", "strata")
        lines.append(f"    and {more} more, which --json has")
    return lines


def stratum_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the table of strata, with its head."""
    keys = [one["key"] for one in figures["keys"]]
    rows = [["", "records", *map(name, keys)]]
    for one in figures["strata"]["rows"]:
        row = [" x ".join(map(name, one["stratum"])), whole(one["records_before"])]
        for key in keys:
            share = percent(one["rate"][key])
            row.append(f"{whole(one['suppressed'][key])} ({share})")
        rows.append(row)
    return rows


def propensity_lines(figures: Plain) -> list[str]:
    """Say what the propensity score tells, and what it does not."""
    found = figures["propensity"]
    terms = "main effects and pairs" if found["interactions"] else "main effects"
    if found["pmse"] is None:
        return [f"Propensity score ({terms}): none, {printable(found['reason'])}"]
    lines = [
        f"Propensity score ({terms}, {counted(found['parameters'], 'parameter')}): "
        f"pMSE {number(found['pmse'], 6)}, {number(found['ratio'])} times that of a "
        "fresh sample"
    ]
    if found["told_apart"]:
        lines.append(
            f"{counted(found['told_apart'], 'record')} of both files can be told apart "
            "for certain, by a category that one file alone has"
        )
    if found["reason"]:
        lines.append(f"It is {printable(found['reason'])}")
    lines.append(
        "That ratio is 0 if the score cannot tell the files apart, and about 1 if they "
        "differ as two samples of one population do. It is no test: the safe file is a "
        "copy of the original but for what was changed."
    )
    return lines


def trials_text(figures: Plain, title: str) -> str:
    """Return what `Trials.to_dict` says as text."""
    lines = [printable(title), "", *aligned(trial_rows(figures), "><>", indent=2)]
    lines += ["", f"  {FRONT}", "", "  Values suppressed, and categories left, by key"]
    lines += aligned(trial_key_rows(figures), "><>", indent=2)
    for mark, one in enumerate(figures["candidates"], 1):
        if one["reason"]:
            lines.append(f"  {mark} {label(one['name'])}: {printable(one['reason'])}")
        lines += [
            f"  {mark} {label(one['name'])}: warning: {printable(said)}"
            for said in one["warnings"]
        ]
    return "\n".join(lines)


# What the mark of the front means.
FRONT = (
    "*: no other safe candidate has less risk, loses less information and has a "
    "smaller TV. TV and pMSE are on the categories of the safe file: they do not know "
    "what recoding loses; information lost counts a blank as a coarse category."
)


def trial_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return the table of candidates, with its head; each has a number, its mark."""
    rows = [
        ["", "candidate", "safe", "unsafe before", "after", "expected before", "after",
         "max risk", "suppressed", "information lost", "mean TV", "pMSE"]
    ]  # fmt: skip
    for mark, one in enumerate(figures["candidates"], 1):
        safe = {None: "failed", True: "yes", False: "NO"}[one["safe"]]
        star = " *" if one["front"] else ""
        rows.append(
            [
                str(mark),
                f"{name(one['name'])}{star}",
                safe,
                whole(one["unsafe_before"]),
                whole(one["unsafe_after"]),
                number(one["expected_before"]),
                number(one["expected_reidentifications"]),
                number(one["max_risk"]),
                whole(one["values_suppressed"]),
                percent(one["share_lost"]),
                number(one["mean_total_variation"]),
                number(one["pmse"]),
            ]
        )
    return rows


def trial_key_rows(figures: Plain, name: Name = label) -> list[list[str]]:
    """Return values suppressed and categories left by candidate and key."""
    tried = [one for one in figures["candidates"] if one["suppressed"] is not None]
    keys = list(dict.fromkeys(key for one in tried for key in one["suppressed"]))
    rows = [["", "candidate", *map(name, keys)]]
    for mark, one in enumerate(figures["candidates"], 1):
        if one["suppressed"] is None:
            continue
        left = (
            f"{whole(one['suppressed'].get(key))}, {whole(one['categories'].get(key))}"
            for key in keys
        )
        rows.append([str(mark), name(one["name"]), *left])
    return rows
