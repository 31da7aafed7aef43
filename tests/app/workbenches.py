"""Roles of the columns of the survey, and forms as a browser sends them."""

from riskcore.app.forms import FORMATS, Form

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
OTHERS = {
    "HOUSEHOLD": "household", "PERSON": "harmless", "HHSIZE": "harmless",
    "EDUCATION": "sensitive", "CITIZENSHIP": "harmless", "INCOME": "sensitive",
    "WEIGHT": "weight",
}  # fmt: skip
ROLES = dict.fromkeys(KEYS, "key") | OTHERS


def form(numbers="en", **fields):
    """Return a form with the fields, some with several values."""
    pairs = [
        (name, str(one))
        for name, value in fields.items()
        for one in (value if isinstance(value, list | tuple) else [value])
    ]
    return Form.of(pairs, FORMATS[numbers])


def column_form(bench, column, numbers="en", **fields):
    return form(numbers, column=bench.names.index(column), **fields)


def at(bench, *names):
    return tuple(str(bench.names.index(name)) for name in names)


def waited(view, bench, **query):
    """Return a page after its jobs have ended."""
    view(bench, form(**query))
    for job in bench.jobs.active:
        assert job.ended.wait(120)
    return view(bench, form(**query))
