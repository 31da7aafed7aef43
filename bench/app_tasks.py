"""From `riskcore app` to files on disk by clicks alone, in a browser to be watched.

    python -m bench.app_tasks [TASK ...] [--sdcmicro FILE] [--watch] [--video FOLDER]

A task is a file of bench/app_tasks: which file is clicked on the start page, how it is
read, its roles and rules, and which mends are taken. The app knows nothing of them:
all is clicked and typed, the safe file is fetched by its link, and the command that the
app shows is run, which must make the same file, byte for byte. A choice from a list
counts as two clicks, a field as one and its letters as keys. A dead end is a click that
is refused or leads to a page without a way on. Seconds are those of the app and the
browser. `--watch` opens a window and goes slowly, `--video` films it; both tell each
step. sdcMicro's test file is its data set testdata, written by R's write.csv.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import sync_playwright

from bench._app import ROOT, App, Watch, act, launch, settle
from bench._common import HERE, RESULTS, machine, replace, table

PAGE = RESULTS / "app_times.md"
CASES = HERE / "app_tasks"
TASKS = ("demo", "sdcmicro", "spss", "excel", "suf", "puf")
LONG = 300_000
# What says that a click has led nowhere.
STUCK = "main .refused:visible, #error:not(:empty), #lost:visible, #refused:visible"
# A leak that is open.
LEAK = "ul.leaks > li:has(form.accept)"
# The field of a treatment that has its number.
NUMBERS = {
    "top": "bound", "bottom": "bound", "round": "base", "swap": "share",
    "pram": "keep", "noise": "share", "microaggregate": "k",
    "share-weights": "classes", "round-weights": "base",
}  # fmt: skip


class Hand:
    """A hand on the mouse and one on the keyboard, which count.

    Attributes
    ----------
    clicks, keys, dead_ends : int
    """

    def __init__(self, page, say):
        self.page, self.say = page, say
        self.clicks = self.keys = self.dead_ends = 0
        self._stuck = []

    def wait(self):
        """Wait for the page, and see whether it leads on."""
        settle(self.page, LONG)
        stuck = self.page.locator(STUCK).all_inner_texts()
        if stuck and stuck != self._stuck:
            self.dead_ends += 1
            self.say(f"DEAD END: {'; '.join(stuck)}")
        self._stuck = stuck

    def press(self, where, send=True):
        """Click something; with ``send`` it sends a form."""
        target = self.page.locator(where).first if isinstance(where, str) else where
        self.say(f"click {where if isinstance(where, str) else target.inner_text()}")
        self.clicks += 1
        act(self.page, target.click, LONG) if send else target.click()
        self.wait()

    def choose(self, where, value, send=True):
        """Choose from a list; with ``send`` the choice is sent at once."""
        self.say(f"choose {value!r} in {where}")
        self.clicks += 2
        choice = partial(self.page.select_option, where, value)
        act(self.page, choice, LONG) if send else choice()
        self.wait()

    def write(self, where, text, enter=False):
        """Write into a field, and send it if asked."""
        self.say(f"write {text!r} into {where}")
        self.clicks += 1
        self.keys += len(text) + enter
        self.page.locator(where).first.fill(text)
        if enter:
            act(self.page, partial(self.page.locator(where).first.press, "Enter"), LONG)
            self.wait()

    def go(self, name):
        """Go to a page by the bar, or to a column or a view by its link."""
        where = f".bar nav a[href='/{name}']" if name.isalpha() else name
        link = self.page.locator(where).first
        self.say(f"follow {link.inner_text()}")
        self.clicks += 1
        address = link.get_attribute("href")
        link.click()
        self.page.wait_for_url(lambda url: url.endswith(address), timeout=LONG)
        self.wait()

    def unfold(self, name):
        """Open what is folded."""
        if not self.page.locator(f"#{name}[open]").count():
            self.press(f"#{name} > summary", send=False)

    def value(self, where):
        """Return what a field holds; None if there is no such field."""
        field = self.page.locator(where)
        return field.first.input_value() if field.count() else None


class Release:
    """A survey file that is opened, made safe and written by clicks."""

    def __init__(self, hand, rules):
        self.hand, self.page, self.rules = hand, hand.page, rules
        self.names = []

    def at(self, name):
        """Return the position of a column."""
        return self.names.index(name)

    def click_all(self):
        """Click from the start page to the files."""
        self.click_file()
        self.click_roles()
        for name in ("sets", "goals", "recodings", "treat", "costs"):
            if rules := self.rules.get(name):
                getattr(self, f"click_{name}")(rules)
        self.click_leaks()
        self.click_export()

    def click_file(self):
        """Open the file, and say how it is read."""
        name = self.rules["file"]
        if not self.page.url.endswith("/start"):
            self.hand.go(".bar a[href='/start']")
        take = self.page.locator("button.take", has_text=name)
        self.hand.press("#open-demo" if name == "demo" else take.first)
        self.page.wait_for_url(re.compile("/data"))
        self.hand.wait()
        reading = self.rules.get("reading", {})
        if reading and not self.page.locator("#reading-decimal:visible").count():
            self.hand.unfold("reading")
        for field, value in reading.items():
            if field in ("encoding", "missing_codes"):
                self.hand.write(f"#reading-{field}", value)
            else:
                self.hand.choose(f"#reading-{field}", value, send=False)
        if reading:
            self.hand.press("#read-again")
        heads = self.page.locator("table.rows thead th")
        self.names = heads.evaluate_all(
            "all => all.map((x) => x.firstChild.textContent)"
        )

    def click_roles(self):
        """Accept what is proposed, and choose the other roles, in bulk if many."""
        self.hand.go("#next")
        self.hand.press("#accept-all")
        wanted = {}
        for role, names in self.rules["roles"].items():
            for name in names:
                wanted[name] = role
        last = wanted.pop("*", None)
        for role in dict.fromkeys(wanted.values()):
            names = [name for name, its in wanted.items() if its == role]
            self._give(role, [name for name in names if self._role(name) != role])
        left = [name for name in self.names if not self._role(name)]
        if left:
            self._give_all(last, len(left))

    def _role(self, name):
        return self.hand.value(f"#role-{self.at(name)}")

    def _give(self, role, names):
        """Give a role to each, or to those that are ticked, whichever is shorter."""
        if len(names) <= 3:
            for name in names:
                self.hand.choose(f"#role-{self.at(name)}", role)
            return
        for name in names:
            self.hand.press(f"#tick-{self.at(name)}", send=False)
        self.hand.choose("#give-role", role, send=False)
        self.hand.press("#give-now")

    def _give_all(self, role, many):
        """Give a role to all columns that have none."""
        if many > 2:
            self.hand.choose("#find-shown", "undecided", send=False)
            self.hand.press("#tick-all", send=False)
            self.hand.choose("#give-role", role, send=False)
            self.hand.press("#give-now")
        else:
            self._give(role, [name for name in self.names if not self._role(name)])

    def click_sets(self, sets):
        """Add the sets of keys, and take their keys out of the first."""
        self.hand.go("risk")
        for names in sets:
            self.hand.unfold("another-set")
            for name in names:
                self.hand.press(f"#new-key-{self.at(name)}", send=False)
            self.hand.press("#add-set button")
        for name in dict.fromkeys(name for names in sets for name in names):
            self.hand.press(f"#key-0-{self.at(name)}")

    def click_goals(self, goals):
        """Set what makes records safe."""
        self.hand.go("protect")
        if "level" in goals:
            self.hand.press(f"#level-{goals['level']}")
        if "subsets" in goals:
            self.hand.unfold("sets")
            self.hand.write("#subsets", goals["subsets"], enter=True)
        for goal in ("k", "threshold"):
            if goal in goals and self.hand.value(f"#value-{goal}") != goals[goal]:
                self.hand.write(f"#value-{goal}", goals[goal], enter=True)

    def click_recodings(self, rules):
        """Set breaks, and merge categories."""
        self.hand.go("recode")
        for name, rule in rules.items():
            kind, _, words = rule.partition(":")
            self.hand.go(f"#column-{self.at(name)}")
            ways = {"from": "cut", "map": "merge", "truncate": "truncate"}
            if not self.page.locator(f"#way-{ways[kind]}[aria-current]").count():
                self.hand.go(f"#way-{ways[kind]}")
            if kind == "map":
                self._merge(words)
            else:
                fields = ["#drop"] if kind == "truncate" else self._breaks(words)
                for where, word in zip(fields, words.split(","), strict=True):
                    self.hand.write(where, word)
                self.hand.press("#apply")

    def _breaks(self, words):
        """Yield the fields of breaks; an empty one follows each that is filled."""
        for at, _ in enumerate(words.split(","), 1):
            self.page.wait_for_selector(f"#break-{at}")
            yield f"#break-{at}"

    def _merge(self, words):
        """Tick the codes of each group and merge them."""
        groups = {}
        for pair in words.split(","):
            code, _, group = pair.partition("=")
            groups.setdefault(group, []).append(code)
        for group, codes in groups.items():
            for code in codes:
                self.hand.press(f"tr[data-code='{code}'] input[name=pick]", send=False)
            self.hand.write("#new", group)
            self.hand.press("#merge")

    def click_treat(self, rules):
        """Add the treatments of each column."""
        self.hand.go("treat")
        for name, its in rules.items():
            self.hand.go(f"#column-{self.at(name)}")
            for rule in [its] if isinstance(its, str) else its:
                kind, number, *within = rule.split(":")
                if not self.page.locator(f"#kind-{kind}").count():
                    kind = f"{kind}-weights"
                self.hand.unfold(f"kind-{kind}")
                field = f"#{kind}-{NUMBERS[kind]}"
                if self.hand.value(field) != number:
                    self.hand.write(field, number)
                for stratum in within[0].split("=")[1].split("+") if within else []:
                    self.hand.press(f"#{kind}-within-{self.at(stratum)}", send=False)
                self.hand.press(f"#add-{kind}")

    def click_costs(self, costs):
        """Write what blanks of each key cost."""
        if not self.page.url.endswith("/protect"):
            self.hand.go("protect")
        self.hand.unfold("own-costs")
        for name, cost in costs.items():
            label = self.page.locator("#own-costs label").filter(
                has_text=re.compile(rf"\b{name}\b")
            )
            self.hand.write(f"#{label.locator('input').get_attribute('id')}", cost)
        self.hand.press("#use-costs")

    def click_leaks(self):
        """Take the mends that are preferred; accept the other leaks, or mend them."""
        self.hand.go("leaks")
        if self.rules.get("shuffle") and not self.page.is_checked("#switch-shuffle"):
            self.hand.press("#switch-shuffle")
        for name in self.rules.get("drop", []):
            self.hand.choose("#drop-column", str(self.at(name)), send=False)
            self.hand.press("#drop-it")
        mends, reason = {**self.rules.get("mends", {})}, self.rules.get("accept")
        while self.page.locator(LEAK).count():
            leak = self.page.locator(LEAK).first
            words = leak.locator("p").first.inner_text()
            self.hand.say(f"leak: {words}")
            kind = next((kind for kind in mends if kind in words), None)
            if kind or reason is None:
                self._mend(leak, mends.pop(kind, None))
            else:
                self.hand.write(f"{LEAK} [name=reason]", reason)
                self.hand.press(f"{LEAK} form.accept button")

    def _mend(self, leak, words):
        """Apply the mend that has some words, or else the first one that closes."""
        if not leak.locator("#mending").count():  # it is after another mend
            self.hand.go(f"#{leak.locator('[id^=mend-leak]').get_attribute('id')}")
            self.page.wait_for_selector("#mending")
            self.hand.wait()
        rows = self.page.locator("#mending tbody tr").filter(has_text=words or "closed")
        self.hand.say(f"mend: {rows.first.locator('th').inner_text()}")
        self.hand.press(rows.first.get_by_role("button"))

    def click_export(self):
        """Write the files, the names being proposed."""
        self.hand.go("export")
        if "name" in self.rules:
            self.hand.write("#rules-name", self.rules["name"])
        self.hand.press("#write")
        self.page.wait_for_selector("#files a", timeout=LONG)

    def fetch(self, folder):
        """Fetch the safe file by its link; return its place on disk and the copy."""
        row = self.page.locator("#files tr:has(th .said)").first
        self.hand.say("fetch the safe file")
        self.hand.clicks += 1
        with self.page.expect_download(timeout=LONG) as begun:
            row.locator("a[id^=fetch-]").click()
        name = begun.value.suggested_filename
        begun.value.save_as(folder / name)
        return Path(self.page.inner_text("strong.path")) / name, folder / name


def run_again(safe, fetched, shell):
    """Return whether the link and the command both give the file, byte for byte."""
    written = safe.read_bytes()
    safe.unlink()
    words = [sys.executable, "-m", "riskcore", *shlex.split(shell)[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return written == safe.read_bytes() == fetched.read_bytes()


class Done(NamedTuple):
    """What a task took and made."""

    verdict: str
    same: bool
    clicks: int
    keys: int
    seconds: float
    dead_ends: int


def do_task(context, folder, settings, task, say):
    """Do a task from the start page to its last file; the app must have no fault."""
    app = App(folder, settings)
    context.set_default_timeout(LONG)
    watch, page = Watch(context), context.new_page()
    begun = time.perf_counter()
    page.goto(app.address)
    page.wait_for_url(app.url("start"))
    hand, same, verdicts = Hand(page, say), True, []
    with watch.refusals(), tempfile.TemporaryDirectory() as fetched:
        for rules in task["release"]:
            release = Release(hand, rules)
            release.click_all()
            safe, copy = release.fetch(Path(fetched))
            verdicts.append(page.inner_text("#verdict"))
            shell = page.inner_text("#shell")
            paused = time.perf_counter()
            same &= run_again(safe, copy, shell)
            begun += time.perf_counter() - paused
    seconds = time.perf_counter() - begun
    context.close()
    faults = [*watch.faults, *filter(None, [app.end()])]
    if faults:
        raise AssertionError("\n".join(faults))
    counts = hand.clicks, hand.keys, seconds, hand.dead_ends
    return Done(verdicts[-1], same, *counts)


def simulate(kind, path, *options):
    """Simulate a survey file."""
    words = ["simulate", kind, *options, "--output", str(path)]
    command = [sys.executable, "-m", "riskcore", *words]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)


def make_labelled(path):
    """Make a labelled file of SPSS."""
    simulate("household-survey", path, "--households", "500")


def make_excel(path):
    """Make a workbook: on its second sheet weights as text with decimal commas."""
    import openpyxl

    whole = path.with_suffix(".csv")
    simulate("microdata", whole, "--records", "2000")
    head, *rows = (line.split(",") for line in whole.read_text().splitlines())
    whole.unlink()
    book = openpyxl.Workbook()
    book.active.title = "Hinweise"
    book.active.append(["Stichprobe der Haushalte, vertraulich"])
    sheet = book.create_sheet("Übersicht Haushalte")
    sheet.append(head)
    for *codes, weight in rows:
        sheet.append([*(int(code) if code else None for code in codes), weight])
        sheet.cell(sheet.max_row, len(head)).value = weight.replace(".", ",")
    book.save(path)


def make_survey(path):
    """Simulate the survey of the case studies, without its few large households."""
    import pyreadstat

    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / path.name
        simulate("household-survey", whole, "--households", "2000")
        frame, about = pyreadstat.read_dta(whole)
    pyreadstat.write_dta(
        frame[frame["HHSIZE"] < 14],
        path,
        column_labels=about.column_names_to_labels,
        variable_value_labels=about.variable_value_labels,
    )


FILES = {
    "labelled.sav": make_labelled,
    "umfrage.xlsx": make_excel,
    "survey.dta": make_survey,
}


def files_of(task, folder, sdcmicro=None):
    """Put the file of a task into the start folder; return whether it is there."""
    name = task["release"][0]["file"]
    path = folder / name
    if name == "testdata.csv" and sdcmicro:
        shutil.copy(sdcmicro, path)
    elif name in FILES and not path.exists():
        FILES[name](path)
    return name == "demo" or path.exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", default=TASKS)
    parser.add_argument("--sdcmicro", type=Path, metavar="FILE")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--video", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    slow = {"slow_mo": 400} if options.watch or options.video else {}
    say = partial(print, flush=True) if slow else lambda words: None
    size = {"width": 1280, "height": 900}
    film = {"record_video_dir": options.video, "record_video_size": size}
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "surveys"
        folder.mkdir()
        browser = launch(playwright, path, headless=not options.watch, **slow)
        for name in options.tasks:
            task = tomllib.loads((CASES / f"{name}.toml").read_text())
            if not files_of(task, folder, options.sdcmicro):
                print(f"{name}: left out, its file is not there")
                continue
            say(f"--- {task['title']}")
            context = browser.new_context(
                viewport=size, **(film if options.video else {})
            )
            done = do_task(context, folder, Path(place) / "settings", task, say)
            same = "the same" if done.same else "DIFFERS"
            counts = done.clicks, done.keys, round(done.seconds), done.dead_ends
            rows.append([task["title"], done.verdict, same, *map(str, counts)])
            rows[-1].append(task.get("before", "-"))
            print(*rows[-1], sep="  ", flush=True)
        browser.close()
    head = ["task", "verdict", "run again", "clicks", "keys", "seconds", "dead ends"]
    command = "python -m bench.app_tasks --sdcmicro FILE"
    text = table([*head, "clicks before"], rows, 3)
    text += f"\n\n`{command}`: {machine('playwright')}"
    if tuple(options.tasks) == TASKS and len(rows) == len(TASKS):
        replace(PAGE, "app_tasks", text)


if __name__ == "__main__":
    main()
