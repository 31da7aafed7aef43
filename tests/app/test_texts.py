"""Texts in each language: whole, with the same fields, and told as a reader writes."""

import ast
import re
from pathlib import Path

import pytest

import riskcore
from riskcore.app import texts
from riskcore.app.forms import FORMATS
from riskcore.assessment.reported_figures import FIGURES
from riskcore.common.words import counted, fields, joined, listed, sentence
from tests.app.client import Client

PACKAGE = Path(riskcore.__file__).parent
OTHERS = texts.LANGUAGES[1:]
# Where functions have their templates among the arguments.
TEMPLATES = {"sentence": (0,), "by_count": (1, 2), "say": (0,), "progress": (0,)}
# What the app does not show.
NOT_SHOWN = ("cli", "accuracy")


@pytest.fixture
def bench(opened):
    return opened()


def strings(node):
    """Return the texts that an expression may be."""
    if isinstance(node, ast.IfExp):
        return strings(node.body) + strings(node.orelse)
    if isinstance(node, ast.Dict):
        return [text for value in node.values for text in strings(value)]
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [node.value] if is_text else []


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
    says_sentences = any(name == "sentence" for name, _ in calls(tree))
    for name, arguments in calls(tree):
        for at in TEMPLATES.get(name, ()):
            if len(arguments) <= at:
                continue
            node = arguments[at]
            while isinstance(node, ast.Subscript):
                node = node.value
            if isinstance(node, ast.Name):
                node = tables.get(node.id, node)
            yield from strings(node)
        if name == "counted" and says_sentences:
            yield from nouns(arguments)


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


PACKAGE_TEXTS = templates()


@pytest.mark.parametrize("language", OTHERS)
def test_each_language_has_the_tables_names_and_fields_of_english(language):
    english, other = texts.texts_in("en"), texts.texts_in(language)
    assert list(other) == list(english)
    for table in english.keys() - {"package"}:
        assert list(other[table]) == list(english[table]), table
        for name, text in english[table].items():
            assert {*fields(other[table][name])} == {*fields(text)}, f"{table}.{name}"


@pytest.mark.parametrize("language", OTHERS)
def test_each_sentence_of_the_package_is_said_in_each_language(language):
    package = texts.texts_in(language)["package"]
    assert not sorted(PACKAGE_TEXTS - package.keys())


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_no_sentence_is_said_that_the_package_lacks(language):
    package = texts.texts_in(language)["package"]
    assert not sorted(package.keys() - PACKAGE_TEXTS)
    for template, text in package.items():
        assert {*fields(text)} == {*fields(template)}, template


def test_the_templates_are_found():
    assert "{n} of {of} suppressed values of {key}" in PACKAGE_TEXTS  # an argument
    assert "looks like years" in PACKAGE_TEXTS  # in a table
    assert "{n} leaks" in PACKAGE_TEXTS  # of a noun
    assert "the largest value" in PACKAGE_TEXTS  # one of two
    assert "{pairs} changed less." in PACKAGE_TEXTS  # of a page


@pytest.mark.parametrize(
    ("chosen", "language", "numbers"),
    [
        (("de", None, "en"), "de", "de"),
        ((None, None, "fr-CH, fr;q=0.9, en;q=0.8"), "fr", "fr"),
        ((None, None, "de-AT"), "de", "de"),
        ((None, None, "DE"), "de", "de"),
        ((None, None, "es, de;q=0.5"), "es", "de"),
        ((None, None, "it, de;q=0.5"), "de", "de"),
        ((None, "fr", "de"), "de", "fr"),
        (("fr", "en", "de"), "fr", "en"),
        ((None, None, ""), "en", "en"),
        (("xx", "xx", "xx"), "en", "en"),
        (("../de", "../de", "it"), "en", "en"),
    ],
)
def test_a_reader_is_who_was_chosen_or_whom_the_browser_names(
    chosen, language, numbers
):
    assert texts.Reader.of(*chosen) == texts.Reader(language, FORMATS[numbers])


def test_numbers_and_lists_in_nested_sentences_are_told(read_in):
    names = listed(["'x1,234.5'", "'b'", counted(2000, "column")])
    said = sentence("{n} of {of} suppressed values of {key}", 1234, 20000, names)
    assert (
        said == "1,234 of 20,000 suppressed values of 'x1,234.5', 'b' and 2,000 columns"
    )
    read_in("de", None, "")
    assert texts.told(said) == (
        "1.234 von 20.000 unterdrückten Werten von 'x1,234.5', 'b' und 2.000 Spalten"
    )
    assert texts.told(joined("; ", [said, "no sentence, 1,234"])).endswith(
        "2.000 Spalten; no sentence, 1,234"
    )
    read_in("fr", None, "")
    assert texts.said("verdict", "more", n=20000) == "20\u202f000 de plus"


def test_what_has_no_translation_is_english_with_the_numbers_of_the_reader(read_in):
    read_in("de", None, "")
    assert texts.told(sentence("no such text {n}", 1234)) == "no such text 1.234"
    assert texts.told("its name") == "its name"  # text of the file is no sentence


def test_pages_are_in_the_language_of_their_reader(bench):
    assert bench.description() or bench.jobs.of("describe").ended.wait(60)
    french = Client(bench, **{"accept-language": "fr-FR,fr;q=0.9,en;q=0.5"})
    page = french.get("/columns").text
    assert '<html lang="fr">' in page
    assert "<h1>Colonnes</h1>" in page
    assert "son nom" in page
    assert "its name" not in page
    french.post("/reader", {"language": "es"})
    page = french.get("/columns").text
    assert '<html lang="es">' in page
    assert "su nombre" in page
    french.post("/reader", {"language": "xx"})
    assert '<html lang="es">' in french.get("/columns").text
    assert "<h1>Columns</h1>" in Client(bench).get("/columns").text


def test_a_change_keeps_the_words_in_which_it_was_made(bench):
    assert bench.description() or bench.jobs.of("describe").ended.wait(60)
    german = Client(bench, **{"accept-language": "de"})
    german.post("/columns/accept")
    assert "Vorgeschlagene Rollen" in Client(bench).get("/history").text


def test_a_verdict_is_told_to_each_reader_in_their_language(bench):
    bench.set_roles(dict.fromkeys(bench.names, "harmless"), "all")
    bench.set_roles({"SEX": "key", "AGE": "key"}, "keys")
    assert bench.plan().ended.wait(60)
    assert bench.leaks().ended.wait(60)
    german = Client(bench, **{"accept-language": "de"}).get("/leaks").text
    english = Client(bench).get("/leaks").text
    assert "no leak is open" in english.lower() or "leak" in english
    assert "leak is open" not in german


def test_a_job_works_in_the_language_of_who_began_it(bench, read_in):
    read_in("de", None, "")
    job = bench.jobs.start("words", 1, lambda say: texts.said("frame", "undo"))
    assert job.ended.wait(60)
    assert job.result == "Rückgängig"


def test_refusals_are_said_in_the_language_of_the_reader(bench):
    german = Client(bench, **{"accept-language": "de"})
    answer = german.post("/recode/apply", {"column": "4711"})
    assert answer.status == 422
    assert "diese Spalte gibt es nicht" in answer.text
