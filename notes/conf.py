"""The documentation site that Sphinx makes of these notes: `nox -s docs`.

Nothing is fetched: no fonts, no scripts, no inventories of other projects.
"""

import argparse
import inspect
import os
import re
from functools import cached_property
from importlib import import_module

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.addnodes import pending_xref
from sphinx.util import logging

import riskcore
from riskcore.cli import build_parser
from riskcore.cli.protect import HelpByTopic
from riskcore.core.compiled.ufunc_maker import made_from

project = "riskcore"
version = release = riskcore.__version__
exclude_patterns = ["README.md"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4  # those that GitHub gives

html_theme = "furo"  # its fonts are the system's, its scripts its own
html_title = f"riskcore {release}"
html_static_path = ["_static"]
html_css_files = ["notes.css"]
html_copy_source = False
html_show_copyright = False

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sections of the docstrings have the types
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

# The modules whose public names all have a place in the reference.
PUBLIC = (
    "riskcore",
    *(
        f"riskcore.{n}"
        for n in riskcore.__all__
        if inspect.ismodule(getattr(riskcore, n))
    ),
)
# Pages from outside of notes/, by their names in texts.
ELSEWHERE = {
    "bench/README.md": "reference/benches",
    "bench/results/benches.md": "reference/measurements",
    "bench/accuracy.md": "reference/accuracy_by_region",
}

logger = logging.getLogger(__name__)
os.environ["COLUMNS"] = "88"  # for which argparse wraps the help


def public_names():
    """Yield (name, object) of every public name."""
    for module in PUBLIC:
        for name in import_module(module).__all__:
            yield f"{module}.{name}", getattr(import_module(module), name)


def own_members(cls):
    """Return the names of the methods and properties of a class of riskcore."""
    kinds = (property, cached_property, classmethod, staticmethod)
    return {
        name
        for base in cls.__mro__
        if base.__module__.startswith("riskcore")
        for name, value in vars(base).items()
        if not name.startswith("_")
        if inspect.isfunction(value) or isinstance(value, kinds)
    }


# Docstrings


def ufunc_signature(app, what, name, found, options, signature, returns):
    """Give a ufunc the names of its arguments, of which NumPy knows nothing."""
    if not isinstance(found, np.ufunc):
        return None
    source, _ = made_from(found)
    arguments = ", ".join(inspect.signature(source.scalar).parameters)
    out = "None" if found.nout == 1 else f"({', '.join(['None'] * found.nout)})"
    return f"({arguments}, /, out={out}, *, where=True, ...)", returns


def plain_docstring(app, what, name, found, options, lines):
    """Drop the signature NumPy adds to a ufunc, and let |g| be the size of g."""
    if isinstance(found, np.ufunc):
        first = lines[0] if lines else ""
        if first.startswith(f"{found.__name__}("):
            del lines[: lines.index("") + 1]
    lines[:] = [
        line if line.lstrip().startswith(">>>") else re.sub(r"\|", r"\\|", line)
        for line in lines
    ]


def drop_links_of_letters(app, doctree):
    """Leave types alone that are no classes of ours: the n of "shape (n,)"."""
    classes = {name for name, found in public_names() if inspect.isclass(found)}
    shorts = {name.rpartition(".")[2] for name in classes}
    for link in list(doctree.findall(pending_xref)):
        of_type = link.get("refdomain") == "py" and link.get("reftype") == "class"
        if of_type and link["reftarget"].rpartition(".")[2] not in shorts:
            link.replace_self(link.children)


def check_public_names(app, env):
    """Warn of public names, and members of public classes, without a place."""
    documented = env.get_domain("py").objects
    for name, found in public_names():
        members = own_members(found) if inspect.isclass(found) else ()
        for one in (name, *(f"{name}.{member}" for member in members)):
            if one not in documented:
                logger.warning("no place in the reference: %s", one)


# Pages


class CommandHelp(Directive):
    """The help of riskcore, or of one of its commands, as a terminal shows it."""

    optional_arguments = 1

    def run(self):
        parser = build_parser()
        for name in self.arguments:
            parser = parsers_of(parser)[name]
        text = full_help(parser)
        return [nodes.literal_block(text, text, language="text")]


def full_help(parser):
    """Return the help of a command with all topics."""
    for action in parser._actions:
        if isinstance(action, HelpByTopic):
            return "\n".join([action.overview(parser), *action.topics(parser).values()])
    return parser.format_help()


def parsers_of(parser):
    """Return the parsers of the commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def page_from_elsewhere(app, page, source):
    """Read a page of the benches in place of the line that stands for it."""
    for name, target in ELSEWHERE.items():
        if target == page:
            path = app.srcdir.parent / name
            app.env.note_dependency(path)
            text = path.read_text()
            # Links to scripts, data and results lead nowhere; pages have other places.
            text = re.sub(r"\[([^]]*)\]\((?!(?!results/)\S*\.md\))[^)]*\)", r"\1", text)
            text = re.sub(r"\((\.\./)?accuracy\.md\)", "(accuracy_by_region.md)", text)
            source[0] = re.sub(r"\((?:\.\./)+notes/", "(../", text)


def drop_links_to_results(app, page, source):
    """Keep the text of links to generated tables, which are not pages of the site."""
    source[0] = re.sub(r"\[([^]]*)\]\((?:\.\./)+bench/[^)]*\)", r"\1", source[0])


def tables_of_rules(app, page, source):
    """Put the tables of the file of rules into their page of the reference."""
    if page == "reference/rules":
        path = app.srcdir.parent / "bench" / "results" / "rules.md"
        app.env.note_dependency(path)
        tables = path.read_text().partition("<!-- rules -->")[2]
        comment = "<!-- tables of bench/results/rules.md -->"
        source[0] = source[0].replace(comment, tables)


def link_names(app, doctree, page):
    """Make links of names in texts: of pages, `errata.md`, and of `riskcore.forms`."""
    documented = app.env.get_domain("py").objects
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext()
        anchor, target = "", ELSEWHERE.get(name)
        if name.startswith("riskcore.") and name in documented:
            target, anchor = documented[name][0], f"#{documented[name][1]}"
        elif target is None and name.endswith(".md"):
            target = name.removeprefix("notes/").removesuffix(".md")
        if target in {None, page} or target not in app.env.found_docs:
            continue
        if not isinstance(literal.parent, nodes.reference):
            uri = app.builder.get_relative_uri(page, target) + anchor
            link = nodes.reference("", "", internal=True, refuri=uri)
            literal.replace_self(link)
            link += literal


def leave_out_of_the_search(app, env):
    """Let the search find research notes by their titles only."""
    for name in env.toctree_includes["research"]:
        env.metadata[name]["nosearch"] = True


def setup(app):
    """Connect the above."""
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-process-signature", ufunc_signature)
    app.connect("autodoc-process-docstring", plain_docstring, priority=100)
    app.connect("source-read", page_from_elsewhere)
    app.connect("source-read", drop_links_to_results)
    app.connect("source-read", tables_of_rules)
    app.connect("doctree-read", drop_links_of_letters)
    app.connect("doctree-resolved", link_names)
    app.connect("env-updated", leave_out_of_the_search)
    app.connect("env-check-consistency", check_public_names)
    return {"parallel_read_safe": True}
