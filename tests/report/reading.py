"""Files to report on, and pages as a parser of HTML and a browser read them."""

import html
import re
import subprocess
from html.parser import HTMLParser

import numpy as np

from riskcore import simulate
from tests import needs

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=5000", "--dump-dom",
]  # fmt: skip
VOID = {"meta", "input", "br"}


def survey(n=400, ages=60, regions=8, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(0, ages, n),
        "region": rng.integers(0, regions, n),
        "w": rng.uniform(1.5, 300, n),
        "hh": rng.integers(0, n // 2, n),
    }


def shuffled_microdata(n, *names):
    """Return columns of simulated microdata in an order that reveals nothing."""
    data = simulate.microdata(n, np.random.default_rng(5))
    order = np.random.default_rng(6).permutation(len(data["SEX"]))
    return {name: data[name][order] for name in names or data}


def write_csv(path, data):
    rows = zip(*(data[name].tolist() for name in data), strict=True)
    lines = [",".join(data), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def in_browser(text, folder):
    """Return a page as Chromium shows it after running its scripts."""
    path = folder / "page.html"
    path.write_text(text, "utf-8")
    words = [*FLAGS, f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    done = subprocess.run(
        [needs.CHROMIUM, *words], capture_output=True, timeout=600, check=False
    )
    return done.stdout.decode(), done.stderr.decode()


class Reader(HTMLParser):
    """The elements, attributes and text of a page whose elements close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        # Elements with the names of their attributes, their ends and comments.
        self.found, self.text = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        self.found.append((tag, *sorted(names)))
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.found.append((f"/{tag}",))
        assert self.open.pop() == tag

    def handle_comment(self, data):
        self.found.append(("comment",))

    def handle_data(self, data):
        self.text.append(data)


def text_of(markup):
    return html.unescape(re.sub("<[^>]*>", "", markup)).replace("\xa0", " ").strip()


def rows_of(markup):
    """Return the rows of all tables as lists of text."""
    rows = re.findall("<tr>(.*?)</tr>", markup, re.S)
    return [
        [text_of(cell) for cell in re.findall("<t[hd][ >].*?</t[hd]>", row, re.S)]
        for row in rows
    ]


def tables_of(markup):
    """Yield the caption and the rows of each table with a caption."""
    for caption, table in re.findall(
        "<caption>(.*?)</caption>(.*?)</table>", markup, re.S
    ):
        yield text_of(caption), rows_of(table)


def table_of(markup, caption):
    """Return the rows of the first table whose caption begins with these words."""
    return next(rows for name, rows in tables_of(markup) if name.startswith(caption))
