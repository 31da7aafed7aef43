"""The form to sign: what was asked, found and done, on a page to print, with no script.

It holds figures of the original and its digest, so it is for internal use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riskcore.assessment.reported_figures import name_of, text_of
from riskcore.data.files.digest import digest
from riskcore.disclosure.verdict import listed_columns
from riskcore.protection.release.facts import remarks_of, treatment_facts, verdict_facts
from riskcore.protection.release.record import versions
from riskcore.protection.result import Protected
from riskcore.report.key_sets import MOST_PAGES, worst_first
from riskcore.report.listed_settings import asked_facts, made_facts
from riskcore.report.provenance import Provenance, now, provenance_of
from riskcore.report.templating import render

# The figures of each set of keys, before and after.
_FIGURES = (
    "unsafe_records", "unsafe_households", "expected_reidentifications", "max_risk",
    "k_anonymity",
)  # fmt: skip


def form_page(
    protected: Protected,
    examined: Mapping[str, Any] | None = None,
    provenance: Provenance | None = None,
) -> str:
    """Return the form as HTML; ``examined`` has the verdict, and what was written."""
    source, sets = protected.source, protected.sets
    figures = [{"risk": key_set.comparison()} for key_set in sets]
    shown = _FIGURES if "unsafe_households" in figures[0]["risk"]["protected"] else ()
    read = [("original", path) for path in source.paths]
    read += [("file of rules", path) for path in protected.settings.rule_files]
    examined = examined or verdict_facts(protected, protected.examination)
    provenance = provenance or provenance_of(source, now())
    return render(
        "form.html",
        printed=True,
        title=f"Release of {provenance.file or 'data'}: for internal use, to sign",
        verdict="",  # in large words
        protected=protected,
        settings=protected.settings,
        examined=examined,
        output=examined.get("output"),
        provenance=provenance,
        figures=[(x, name_of(x, "stages")) for x in shown or _FIGURES[:1] + _FIGURES[2:]],
        sets=[(sets[x].keys, figures[x]["risk"]) for x in worst_first(figures)],
        most=MOST_PAGES,
        text_of=text_of,
        name_of=name_of,
        listed=listed_columns,
        asked=asked_facts(protected.settings),
        made=made_facts(protected.settings),
        treated=treatment_facts(protected),
        remarks=remarks_of(protected),
        read=[(what, path.name, digest(path)) for what, path in read],
        versions=[f"{name} {version}" for name, version in versions().items()],
    )
