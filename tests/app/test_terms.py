"""Terms are explained where they stand."""

import re
from importlib.resources import files

from riskcore.app.texts import load_texts

TEMPLATES = {
    path.name: path.read_text("utf-8")
    for path in files("riskcore.app").joinpath("templates").iterdir()
}
TEXTS = load_texts()["terms"]


def terms(text):
    """Return the terms that a template explains."""
    lists = re.findall(r"{{ terms?\((\[[^\]]*\]|\"[a-z_]+\")\)", text)
    return [name for one in lists for name in re.findall(r'"([a-z_]+)"', one)]


def test_every_term_is_explained_and_every_explanation_is_used():
    used = {name for text in TEMPLATES.values() for name in terms(text)}
    assert len(used) > 10
    assert {*TEXTS} == {x for name in used for x in (name, f"{name}_about")}
    assert all(TEXTS[f"{name}_about"].endswith(".") for name in used)


def test_a_term_is_explained_once_on_a_page():
    """Two explanations would have one id; parts stand in the page they belong to."""
    for name, text in TEMPLATES.items():
        page, _, part = name.removesuffix(".html").partition("_")
        seen = terms(text)
        if part:
            seen += terms(TEMPLATES.get(f"{page}.html", ""))
        assert len(seen) == len({*seen}), name
