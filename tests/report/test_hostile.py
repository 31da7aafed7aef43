"""Wherever text of a file or of its user reaches a page, it is shown and does not run.

The list of places is the list of ways in: a new one belongs here.
"""

import math
from functools import cache

import pytest

from riskcore import (
    Recoding,
    assess,
    audit,
    check,
    compare,
    describe,
    diversity,
    protect,
    suda,
    try_out,
)
from riskcore.common.words import printable
from riskcore.data.files.labels import Labels
from riskcore.report.audit_page import audit_page, public_audit_page
from riskcore.report.listed_settings import recoding_facts, role_facts
from riskcore.report.page import form_page, page, protection_page
from riskcore.report.provenance import Provenance, now
from riskcore.report.public_page import public_page, public_protection_page
from riskcore.report.sheet_page import part_charts, public_rules_page, sheet_page
from riskcore.report.utility_view import comparison_page, utility_of
from tests.report.reading import Reader

HOSTILE = [
    "</script><script>document.title = 'run'</script>",
    '"><img src=x onerror="document.title = 1">',
    "' onfocus='alert(1)",
    "</bdi></td></table></section><iframe>",
    "\u202eesrever\u2066 \x1b[31m\x00 a\udcff",
    "{{ 7*7 }}{% raw %} *f* <!-- &amp; \u2028",
]
ROLES = {"w": [5.0] * 18, "hh": [1, 2, 3] * 6}


def plain(**options):
    """Return the office's page of a small file."""
    result = assess({"k": ["a", "b"] * 9, **ROLES}, ["k"], "w")
    return page({"original": result}, **{"title": "T", **options})


def leak(text="a", advice="a", accepted=None):
    return {"text": text, "advice": advice, "accepted": accepted}


def keyed(text, **options):
    return assess({text: ["a", None] * 9, **ROLES}, [text], "w", **options)


def labelled(text):
    data = {"k": [text, "b", "c"] * 6, "w": [5.0, 9.0, 10.0] * 6}
    return assess(data, ["k"], "w")


def studied(text):
    """Return the page of a comparison with a model and a table."""
    name = text.replace("`", "")
    data = {name: [text, "b", "b"] * 6, "x": [*range(18)]}
    after = {**data, name: [None, *data[name][1:]]}
    options = {"models": [f"`{name}` ~ number(x)"], "tables": [(name,)]}
    found = compare(data, after, ["x"], **options)
    return comparison_page(found, title=text)


def named(text):
    """Protect a file in which everything has the name."""
    keys = [f"{text}{i}" for i in range(3)]
    data = {key: ["a", "b", "c"] * 6 for key in keys[:2]} | {keys[2]: ["x"] * 18}
    own = [f"{text}{i}" for i in range(3, 9)]
    data |= {name: [f"{text}{i}" for i in range(18)] for name in own}
    data[own[2]] = [2.0**i for i in range(18)]
    return protect(
        {**data, **ROLES}, keys[:2], "w", "hh", threshold=0.9,
        roles=dict(zip(own, ["identifier", "sensitive", "numeric"], strict=False)),
        accept={own[3]: f"as {text} said", own[1]: text, "hh": text},
        recodings={keys[0]: Recoding.mapping({"a": text})}, cost={keys[0]: 2.0},
        related={keys[1]: [keys[2]]},
    )  # fmt: skip


def by_stratum(text):
    """Protect a file of which the keys, the strata and their codes have the name."""
    data = {text: [text, "b", "c"] * 6, f"{text}1": ["a", text] * 9}
    return protect(data, [text], k=3, strata=[f"{text}1"])


def on_sheets(text):
    """Return the pages of results that are facts and tables, one after the other."""
    names = [f"{text}{i}" for i in range(3)]
    columns = ["a", "b", text] * 6, [text, "b"] * 9, [text] * 18
    data = dict(zip(names, columns, strict=True))
    found = (
        check(data, names[:2], k=4),
        diversity(data, names[:2], names[2]),
        suda({**data, names[2]: [text, *["b"] * 17]}, names),
    )
    return "".join(
        sheet_page(one._sheet(), title=text, charts=part_charts(one)) for one in found
    )


def audited(text, holdout=True):
    """Audit a file of which keys, targets and their values have the name."""
    names = [f"{text}{i}" for i in range(3)]
    columns = [text, "b", "c"] * 6, [f"{text}{i}" for i in range(18)], [text, "z"] * 9
    data = dict(zip(names, columns, strict=True))
    made = {**data, names[0]: [f"{text}new", "b", "c"] * 6}
    return audit(
        {**data, "w": [5.0] * 18}, made, names[:2], "w", target=names[2:],
        holdout=data if holdout else None, population="weights",
    )  # fmt: skip


def treated(text):
    """Protect a file whose treated columns, and a column without a role, are named."""
    names = [f"{text}{i}" for i in range(3)]
    numbers = {name: [float(i % (k + 5)) for i in range(18)] for k, name in
               enumerate(names)}  # fmt: skip
    return protect(
        {"k": ["a", "b"] * 9, "odd" + text: range(18), **numbers}, ["k"], k=2,
        treat={names[0]: "noise:10%", names[1]: "round:2"},
        roles={names[2]: "numeric"}, accept={"odd" + text: text},
    )  # fmt: skip


def file_of(text):
    """Return the origin of a file with the name, by rules with the name."""
    return Provenance(text, now(), printable(text), (text, "ab12"))


def written(text):
    """Return what is said of a file with the name that was written."""
    result = treated("a")
    output = {
        "file": text, "sha256": "ab12", "household_sha256": "cd34", "dropped": [text],
        "renumbered": [text], "shuffled": True,
    }  # fmt: skip
    return {**result.to_dict(), "output": output, "record": (text, "ef56")}


def unsafe(text):
    data = {text: ["a", "b", "c"] * 6, **ROLES}
    return protect(data, [text], "w", threshold=1e-6, cost={text: math.inf})


PLACES = {
    "title": lambda text: plain(title=text),
    "verdict": lambda text: plain(verdict=text),
    "name of a key": lambda text: page(
        {"original": keyed(text, missing="category")}, title="T"
    ),
    "code of a key": lambda text: page(
        {"original": labelled(text)}, title="T", riskiest=labelled(text).riskiest(2)
    ),
    "name of a key in a list": lambda text: plain(riskiest=[{text: 1}]),
    "stage": lambda text: page(
        dict.fromkeys([text, "after"], labelled("a")), title="T", unsafe={text: 1}
    ),
    "suppressed column": lambda text: plain(suppressed={text: 1}),
    "setting": lambda text: plain(facts=[(text, 1)]),
    "value of a setting": lambda text: plain(facts=[("a", text)]),
    "line of a long setting": lambda text: plain(facts=[("a", f"{text}\n" * 20)]),
    "file that was read": lambda text: plain(provenance=Provenance(text)),
    "command": lambda text: plain(provenance=Provenance(command=printable(text))),
    "column of the household": lambda text: plain(facts=role_facts(None, text)),
    "recoded column": lambda text: plain(
        facts=recoding_facts({text: Recoding.top_bottom(top=5)})
    ),
    "leak": lambda text: plain(leaks=[leak(text=text)]),
    "what can be done about a leak": lambda text: plain(leaks=[leak(advice=text)]),
    "accepted leak": lambda text: plain(leaks=[leak(text=text, accepted="a")]),
    "why a leak is accepted": lambda text: plain(leaks=[leak(accepted=text)]),
    "column that was not examined": lambda text: plain(not_examined=["a", text]),
    "label of a column": lambda text: plain(
        labels=Labels({"k": text}), suppressed={"k": 1}
    ),
    "treated column": lambda text: protection_page(treated(text), title="T"),
    "public treated column": lambda text: public_protection_page(treated(text)),
    "protection": lambda text: protection_page(named(text), title="T"),
    "utility": lambda text: plain(title=text, utility=utility_of(by_stratum(text))),
    "models and tables": lambda text: studied(text),
    "why there is no utility": lambda text: plain(utility=text),
    "form": lambda text: form_page(named(text), None, file_of(text)),
    "form of treated columns": lambda text: form_page(treated(text)),
    "form of what is not safe": lambda text: form_page(unsafe(text)),
    "form with files": lambda text: form_page(treated("a"), written(text)),
    "protection that is not safe": lambda text: protection_page(
        unsafe(text), title="T"
    ),
    "facts and tables": on_sheets,
    "audit": lambda text: audit_page(audited(text), title=text, top=9),
    "values in claims": lambda text: audit_page(audited(text), title="T", top=18),
    "audit by a model": lambda text: audit_page(audited(text, False), title="T"),
    "public audit": lambda text: public_audit_page(audited(text), title="T"),
    "title of a public audit": lambda text: public_audit_page(audited("a"), title=text),
    "rules of an audit": lambda text: public_rules_page(
        audited(text).check(max_right_claims=0.5, max_guess_excess=0.5), title="T"
    ),
    "rules to hand out": lambda text: public_rules_page(
        check({text: ["a", "b"] * 9, "s": ["x"] * 18}, [text], k=4), title=text
    ),
    "public title": lambda text: public_page(labelled("a"), title=text),
    "public name of a key": lambda text: public_page(keyed(text, missing="category")),
    "public protection": lambda text: public_protection_page(named(text)),
    "public title of a protection": lambda text: public_protection_page(
        named("k"), title=text
    ),
}


@cache
def harmless(place):
    """Return the elements of a page with a text that is only a text."""
    return Reader(PLACES[place]("A" * 40)).found


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", HOSTILE)
def test_it_is_shown_and_not_run(place, text):
    made = PLACES[place](text)
    made.encode()
    assert all(c.isprintable() or c in "\n\xa0" for c in made)
    found = Reader(made)
    # The elements are those of any other text, so that this one made none.
    assert found.found == harmless(place)
    assert any(printable(text)[:70] in one for one in found.text)


def results_named(text):
    """Return results of which every column, and every candidate, has the name."""
    first, second = f"{text}1", f"{text}2"
    data = {first: ["a", "b", "c"] * 6, second: ["x", "y"] * 9, "w": [5.0] * 18}
    keys = [first, second]
    safe = protect(data, keys, "w", k=4)
    own = {**data, f"{text}3": [f"{text}{i}" for i in range(18)]}
    return {
        "assess": assess(data, keys, "w"),
        "audit": audited(text),
        "check": check(data, [first], k=2, sensitive=[second], t=0.5),
        "compare": compare(data, safe.data, keys, "w"),
        "describe": describe(own, [first], roles={second: "sensitive"}),
        "diversity": diversity(data, [first], [second]),
        "protect": safe,
        "protect with leaks": protect(own, keys, "w", k=4),
        "protect with accepted leaks": protect(
            own, keys, "w", k=4, accept={f"{text}3": text}
        ),
        "protect by sets": protect(data, keys, "w", k=4, subsets=1),
        "suda": suda(data, keys),
        "try": try_out(data, keys, {f"{text}a": {"k": 2}, f"{text}b": {"k": 1}}),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", HOSTILE)
def test_results_show_names_and_run_nothing(text):
    plain = results_named("A" * len(text))
    for name, result in results_named(text).items():
        said = [repr(result)]
        if name.startswith(("assess", "protect")):
            said += result.summary().splitlines()
        if name in ("audit", "describe"):
            said += result.text(text).splitlines()
        if hasattr(result, "_repr_html_"):
            made = result._repr_html_()
            said.append(made)
            found, harmless = Reader(made), Reader(plain[name]._repr_html_())
            assert found.found == harmless.found
        for one in said:
            assert all(c.isprintable() or c == "\xa0" for c in one), name
