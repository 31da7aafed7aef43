"""Texts in each language: whole, with the same fields, and told as a reader writes."""

import ast
import re
from pathlib import Path

import pytest

import riskcore
from riskcore.app import texts
from riskcore.app.forms import FORMATS
from riskcore.assessment.reported_figures import FIGURES
from riskcore.common.sentences import fields, joined, sentence
from riskcore.common.words import counted, listed
from tests.app.client import Client

PACKAGE = Path(riskcore.__file__).parent
OTHERS = texts.LANGUAGES[1:]
# Where functions have their templates among the arguments.
TEMPLATES = {"sentence": (0,), "by_count": (1, 2)}
# What the app does not show.
NOT_SHOWN = ("cli", "accuracy")


@pytest.fixture
def read_in():
    """Return what sets the reader, who is English again afterwards."""
    token = texts.READER.set(texts.Reader())
    yield lambda *chosen: texts.READER.set(texts.Reader.of(*chosen))
    texts.READER.reset(token)


def strings(node):
    """Return the texts that an expression may be."""
    if isinstance(node, ast.IfExp):
        return strings(node.body) + strings(node.orelse)
    if isinstance(node, ast.Dict):
        return [text for value in node.values for text in strings(value)]
    return [node.value] if isinstance(node, ast.Constant) else []


def assigned(tree):
    """Return the values that a module gives to names."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def calls(tree):
    """Yield the calls in an expression or a module, with the name of the function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "id", getattr(node.func, "attr", "")), node.args


def nouns(arguments):
    """Return the templates of `counted`."""
    one, *many = (strings(node) for node in arguments[1:])
    plural = many[0] if many else [f"{noun}s" for noun in one]
    return [f"{{n}} {noun}" for noun in one + plural]


def templates_in(path):
    """Yield the templates of the sentences of a module."""
    tree = ast.parse(path.read_text())
    tables = assigned(tree)
    for name, arguments in calls(tree):
        for at in TEMPLATES.get(name, ()):
            node = arguments[at]
            while isinstance(node, ast.Subscript):
                node = node.value
            if isinstance(node, ast.Name):
                node = tables.get(node.id, node)
            yield from strings(node)
        if name in ("sentence", "by_count", "joined", "listed"):
            for argument in arguments:
                for inner, words in calls(argument):
                    if inner == "counted":
                        yield from nouns(words)


def templates():
    """Return the templates of all sentences that the app may show."""
    found = {figure.names["page"] for figure in FIGURES if "page" in figure.names}
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] not in NOT_SHOWN:
            found.update(templates_in(path))
    for path in PACKAGE.rglob("*.html"):
        found.update(re.findall(r'\bsentence\("([^"]+)"', path.read_text()))
        for noun in re.findall(r'\bcounted\([^()]*?, ("[^)]+")\)', path.read_text()):
            found.update(nouns([None, *ast.parse(f"({noun},)").body[0].value.elts]))
    # What has no words is the same in all languages.
    return {text for text in found if re.search("[A-Za-z]", re.sub("{.*?}", "", text))}
