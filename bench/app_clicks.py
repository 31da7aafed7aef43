"""Release a file in the app by clicks alone, as a file of rules says, and count them.

    python -m bench.app_clicks [RULES ...]

RULES names a survey file, beside it or written by the RULES before it, and says how it
is released. Without RULES: the passes of the two case studies, in bench/clicks. The app
is opened with the survey file and knows nothing of RULES: each rule is clicked and
typed on the pages, the leaks are mended or accepted, and the files are written. Then
the command that the app shows is run, which must make the same safe file, byte for
byte. A choice from a list counts as two clicks, a field as one and its letters as keys.
Seconds are those of the app and the browser; people need time to think besides.
"""

import argparse
import math
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import sync_playwright

from bench._app import ROOT, App, Watch, act, enter, launch, settle
from bench._common import HERE, RESULTS, origin, replace, table

PAGE = RESULTS / "app_times.md"
CASES = HERE / "clicks"
# In the order of the lessons; the files between them stay in the office.
PASSES = ("suf_homes", "suf", "puf_office", "puf_homes", "puf_persons", "puf")

# The field of a treatment that has its number.
NUMBERS = {
    "top": "bound", "bottom": "bound", "round": "base", "swap": "share",
    "pram": "keep", "noise": "share", "microaggregate": "k",
    "share-weights": "classes", "round-weights": "base", "swap-areas": "share",
}  # fmt: skip
LONG = 300_000


class Hand:
    """A hand on the mouse and one on the keyboard, which count.

    Attributes
    ----------
    clicks, keys : int
    """

    def __init__(self, page):
        self.page, self.clicks, self.keys = page, 0, 0

    def press(self, where, send=True):
        """Click something; with ``send`` it changes the rules."""
        target = self.page.locator(where).first
        self.clicks += 1
        if send:
            self._send(target.click)
        else:
            target.click()
            settle(self.page, LONG)

    def _send(self, action):
        """Do what sends a form, which must not be refused."""
        act(self.page, action, LONG)
        if words := self.page.inner_text("#error"):
            raise ValueError(words)

    def choose(self, where, value):
        """Choose from a list whose choice is sent at once."""
        self.clicks += 2
        self._send(lambda: self.page.select_option(where, value))

    def write(self, where, text, enter=False):
        """Write into a field, and send it if asked."""
        self.clicks += 1
        self.keys += len(text) + enter
        self.page.fill(where, text)
        if enter:
            self._send(lambda: self.page.press(where, "Enter"))

    def follow(self, where):
        """Follow a link to another page of the app, or to another view of one."""
        link = self.page.locator(where).first
        address = link.get_attribute("href")
        self.clicks += 1
        link.click()
        self.page.wait_for_url(lambda url: url.endswith(address), timeout=LONG)
        settle(self.page, LONG)

    def go(self, name):
        """Go to a page by the bar."""
        self.follow(f".bar nav a[href='/{name}']")

    def unfold(self, name):
        """Open what is folded."""
        if not self.page.locator(f"#{name}[open]").count():
            self.press(f"#{name} > summary", send=False)

    def value(self, where):
        """Return what a field holds; None if there is no such field."""
        found = self.page.locator(where)
        return found.first.input_value() if found.count() else None


class Release:
    """Rules that are clicked."""

    def __init__(self, hand, tables, names):
        self.hand, self.tables, self.names = hand, tables, names
        keys = tables["columns"]["keys"]
        self.sets = keys if isinstance(keys[0], list) else [keys]

    def at(self, name):
        """Return the position of a column."""
        return self.names.index(name)

    def of(self, name):
        """Return a table of the rules."""
        return self.tables.get(name, {})

    def roles(self):
        """Return the role of each column; those without a say are harmless."""
        columns, drop = self.of("columns"), self.of("output").get("drop", [])
        found = dict.fromkeys(self.names, "harmless")
        found |= dict.fromkeys((one for one in drop), "identifier")
        found |= self.of("roles")
        found |= {name: "key" for keys in self.sets for name in keys}
        named = ("weight", "household", "cluster")
        return found | {columns[role]: role for role in named if role in columns}

    def click_all(self):
        """Click all rules."""
        self.click_roles()
        self.click_sets()
        self.click_goals()
        self.click_recodings()
        self.click_treatments()
        self.click_costs()
        self.click_leaks()

    def click_roles(self):
        """Accept what is proposed, and choose the other roles."""
        self.hand.press("#accept-all")
        for name, role in self.roles().items():
            where = f"#role-{self.at(name)}"
            if self.hand.value(where) != role:
                self.hand.choose(where, role)

    def click_sets(self):
        """Add the sets of keys after the first, and take their keys out of it."""
        if len(self.sets) == 1:
            return
        self.hand.go("risk")
        for keys in self.sets[1:]:
            self.hand.unfold("another-set")
            for name in keys:
                self.hand.press(f"#new-key-{self.at(name)}", send=False)
            self.hand.press("#add-set button:not(.without-script)")
        for name in dict.fromkeys(key for keys in self.sets[1:] for key in keys):
            if name not in self.sets[0]:
                self.hand.press(f"#key-0-{self.at(name)}")

    def click_goals(self):
        """Set what makes records safe."""
        safe = self.of("safe")
        self.hand.go("protect")
        if safe.get("level") == "household":
            self.hand.press("#level-household")
        if "subsets" in safe:
            self.hand.unfold("sets")
            self.hand.write("#subsets", str(safe["subsets"]), enter=True)
        for goal, shown in (("k", "3"), ("threshold", None)):
            wanted = safe.get(goal)
            if wanted is None and shown is not None:
                self.hand.press(f"#on-{goal}")
            elif wanted is not None and str(wanted) != shown:
                self.hand.write(f"#value-{goal}", str(wanted), enter=True)

    def click_recodings(self):
        """Set breaks, and merge categories."""
        rules = self.of("recodings")
        if rules:
            self.hand.go("recode")
        for name, rule in rules.items():
            kind, _, words = rule.partition(":")
            self.hand.follow(f"#column-{self.at(name)}")
            {"from": self._breaks, "map": self._groups}[kind](words)

    def _breaks(self, words):
        self._way("cut")
        for i, one in enumerate(words.split(","), 1):
            if not self.hand.page.locator(f"#break-{i}").count():
                self.hand.press("#add-break", send=False)
            self.hand.page.locator("input[name=break]").nth(i - 1).fill(one)
            self.hand.clicks += 1
            self.hand.keys += len(one)
        self.hand.press("#apply")

    def _groups(self, words):
        self._way("merge")
        groups = {}
        for pair in words.split(","):
            code, _, group = pair.partition("=")
            groups.setdefault(group, []).append(code)
        for group, codes in groups.items():
            for code in codes:
                self.hand.press(f"tr[data-code='{code}'] input[name=pick]", send=False)
            self.hand.write("#new", group)
            self.hand.press("#merge")

    def _way(self, name):
        if not self.hand.page.locator(f"#way-{name}[aria-current]").count():
            self.hand.follow(f"#way-{name}")

    def click_treatments(self):
        """Add the treatments of each column."""
        rules = self.of("treat")
        if rules:
            self.hand.go("treat")
        for name, given in rules.items():
            self.hand.follow(f"#column-{self.at(name)}")
            for i, rule in enumerate([given] if isinstance(given, str) else given):
                self._treatment(i, rule)

    def _treatment(self, i, rule):
        """Add a treatment by its form."""
        kind, number, *within = rule.split(":")
        if not self.hand.page.locator(f"#kind-{kind}").count():
            kind = f"{kind}-weights"  # its text is then changed
        self.hand.unfold(f"kind-{kind}")
        self.hand.write(f"#{kind}-{NUMBERS[kind]}", number)
        strata = within[0].removeprefix("within=").split("+") if within else []
        for name in strata:
            self.hand.press(f"#{kind}-within-{self.at(name)}", send=False)
        self.hand.press(f"#add-{kind}")
        made = self.hand.value(f"#rule-{i}")
        if made != rule and not rule.startswith(kind):
            self.hand.write(f"#rule-{i}", rule)
            self.hand.press(f"#save-{i}")
            made = self.hand.value(f"#rule-{i}")
        if sorted(re.split("[:=+]", made)) != sorted(re.split("[:=+]", rule)):
            raise ValueError(f"{made} in place of {rule}")

    def click_costs(self):
        """Write what blanks of each key cost."""
        costs = self.of("suppress").get("cost", {})
        if not costs:
            return
        self.hand.go("protect")
        self.hand.unfold("own-costs")
        for name, cost in costs.items():
            text = "never" if cost in ("never", math.inf) else f"{cost:g}"
            label = self.hand.page.locator("#own-costs label").filter(has_text=name)
            where = f"#{label.locator('input').first.get_attribute('id')}"
            self.hand.write(where, text)
        self.hand.press("#use-costs")

    def click_leaks(self):
        """Mend the leaks as the rules do, and accept the others."""
        self.hand.go("leaks")
        output = self.of("output")
        for name in self.of("suppress").get("household_keys", []):
            field = f"[name=key][value='{self.at(name)}']"
            mend = f"form[action='/leaks/household_key']:has({field}) button"
            if self.hand.page.locator(mend).count():
                self.hand.press(mend)
        if output.get("shuffle"):
            self.hand.press("#switch-shuffle")
        for name in output.get("drop", []):
            mend = f"form[action='/leaks/drop']:has([value='{self.at(name)}']) button"
            if self.hand.page.locator(mend).count():
                self.hand.press(mend)
        while output.get("renumber") == [] and self._count("/leaks/old_ids"):
            self.hand.press("form[action='/leaks/old_ids'] button")
        while self._count("/leaks/accept"):
            reason = next(iter(self.of("accept").values()), None)
            if reason is None:
                raise ValueError(self.hand.page.inner_text("main")[:3000])
            self.hand.write("form[action='/leaks/accept'] [name=reason]", reason)
            self.hand.press("form[action='/leaks/accept'] button:last-of-type")

    def _count(self, action):
        return self.hand.page.locator(f"form[action='{action}']").count()

    def export(self, folder):
        """Write the files with the names of the rules, and return what is shown."""
        self.hand.go("export")
        output = self.of("output")
        for name in ("file", "report", "report_public", "public_record"):
            if name in output:
                self.hand.write(f"#{name}", Path(output[name]).name)
        self.hand.press("#write")
        if not self.hand.page.locator("#files").count():
            raise ValueError(self.hand.page.inner_text("main")[:3000])
        safe = folder / Path(output["file"]).name
        return safe, self.hand.page.inner_text("#shell")


def by_clicks(browser, given, tables, settings):
    """Release a survey file; return the hand, its seconds, file, command, verdict."""
    app = App(given, settings)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(LONG)
    page = context.new_page()
    watch = Watch(context)
    begun = time.perf_counter()
    enter(page, app)
    hand = Hand(page)
    names = page.locator("#roles th[scope=row]").evaluate_all(
        "all => all.map((one) => one.firstChild.textContent)"
    )
    release = Release(hand, tables, names)
    with watch.refusals():  # previews of forms that are half filled
        release.click_all()
    safe, shell = release.export(given.parent)
    seconds = time.perf_counter() - begun
    verdict = page.inner_text("#verdict")
    context.close()
    faults = [*watch.faults, *filter(None, [app.end()])]
    if faults:
        raise AssertionError("\n".join(faults))
    return hand, seconds, safe, shell, verdict


def run_again(safe, shell):
    """Return whether the command makes the same safe file, byte for byte."""
    before = safe.read_bytes()
    safe.unlink()
    words = [sys.executable, "-m", "riskcore", *shlex.split(shell)[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return safe.read_bytes() == before


def make_survey(path, households):
    """Simulate the survey of the case studies, without its few large households."""
    import pyreadstat

    whole = path.with_name("survey.dta")
    words = ["simulate", "household-survey", "--households", str(households)]
    command = [sys.executable, "-m", "riskcore", *words, "--output", str(whole)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    frame, about = pyreadstat.read_dta(whole)
    pyreadstat.write_dta(
        frame[frame["HHSIZE"] < 14],
        path,
        column_labels=about.column_names_to_labels,
        variable_value_labels=about.variable_value_labels,
    )


class Done(NamedTuple):
    """What a release by clicks took and made."""

    rules: str
    clicks: int
    keys: int
    seconds: float
    same: bool
    verdict: str


def release_all(browser, all_rules, folder, households=2000):
    """Yield each release by clicks; its file is there for those after it."""
    for rules in all_rules:
        tables = tomllib.loads(rules.read_text())
        name = Path(tables["data"]["file"]).name
        own = folder / rules.stem
        own.mkdir()
        given = own / name
        made = [*folder.glob(f"*/{name}"), *rules.parent.glob(name)]
        if made:
            shutil.copy(made[0], given)
        else:
            make_survey(given, households)
        hand, seconds, safe, shell, verdict = by_clicks(
            browser, given, tables, folder / "settings"
        )
        same = run_again(safe, shell)
        yield Done(rules.name, hand.clicks, hand.keys, seconds, same, verdict)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rules", nargs="*", type=Path, metavar="RULES")
    options = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = launch(playwright, path)
        all_rules = options.rules or [CASES / f"{name}.toml" for name in PASSES]
        for one in release_all(browser, all_rules, Path(folder)):
            row = [one.rules, one.verdict, "the same" if one.same else "DIFFERS"]
            rows.append([*row, f"{one.clicks}", f"{one.keys}", f"{one.seconds:.0f}"])
            print(*rows[-1], sep="  ", flush=True)
        browser.close()
    head = ["rules", "verdict", "run again", "clicks", "keys", "seconds"]
    text = f"{table(head, rows, 3)}\n\n{origin('playwright')}"
    print(text)
    replace(PAGE, "app_clicks", text)


if __name__ == "__main__":
    main()
