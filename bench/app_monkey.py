"""Click and type at random in the app, and see that nothing breaks.

    python -m bench.app_monkey [--minutes 30 | --actions N] [--seed 1] [FILE]

At each step a control of the page that is shown, or the way to another page, is chosen
at random and used. After each step the page must be one of the app: any answer of 500
or 404, message of the console, error of a script, or word on the terminal ends the run
with status 1. Now and then the rules are undone and redone, the page is loaded again,
and the app is killed and started again. Without FILE: a small simulated survey.
"""

import argparse
import collections
import random
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

from bench._app import App, Watch, enter, launch
from bench._common import RESULTS, origin, replace

PAGE = RESULTS / "app_times.md"

# Texts for fields: numbers of several formats, rules, nonsense.
TEXTS = (
    "", "0", "1", "2", "3", "5", "12,5", "0.05", "1 %", "99%", "-1", "1e9", "1.234,5",
    "nan", "x", "from:15,30", "top:1%", "swap:10%", "map:1=2", "SEX ~ AGE", "7;8",
    "INCOME ~ SEX", "<b>&\"'", "ä€\u202e", "a" * 300, "never", "safe.csv", "out.html",
    "../up.csv",
)  # fmt: skip
CONTROLS = """() => {
  const named = "a[href^='/'], button, input:not([type=hidden]), select, textarea, "
    + "summary";
  const all = [...document.querySelectorAll("*")];
  return [...document.querySelectorAll(named)]
    .filter((one) => !one.disabled && one.checkVisibility({visibilityProperty: true}))
    .map((one) => ({at: all.indexOf(one), tag: one.localName, type: one.type || "",
      id: one.id, options: one.localName === "select" ? one.options.length : 0}));
}"""
CHANGED = (
    "for (const name of ['input', 'change'])"
    " one.dispatchEvent(new Event(name, {bubbles: true}));"
)
# Ids of controls that are left alone.
NEVER = {"cancel"}


class Monkey:
    """Hands that know no aim.

    Attributes
    ----------
    done : Counter
        Steps by kind.
    """

    def __init__(self, page, app, seed):
        self.page, self.app = page, app
        self.random = random.Random(seed)
        self.done = collections.Counter()
        self.trail = collections.deque(maxlen=12)

    def step(self):
        """Use one control, and see that the page is still one of the app."""
        with self.page.watch.refusals():
            self._use()
            self._check()

    def _use(self):
        kind = self.random.choices(("use", "reload", "undo", "redo"), (92, 3, 3, 2))[0]
        if kind == "reload":
            self._note("reload", "")
            self.page.reload()
            return
        controls = [one for one in self._ask(CONTROLS) if one["id"] not in NEVER]
        if kind != "use":
            controls = [one for one in controls if one["id"] == kind] or controls
        # The bar is on every page: most steps are for the page itself.
        one = self.random.choice(controls)
        if one["tag"] == "a" and self.random.random() < 0.5:
            one = self.random.choice(controls)
        kind = self._kind(one)
        self._note(kind, one["id"] or one["tag"])
        with suppress(Error):  # it may have left the page meanwhile
            getattr(self, f"_{kind}")(one)
        self.page.wait_for_timeout(self.random.choice((0, 20, 60, 150)))

    def _ask(self, script):
        """Return what a script says of the page, which may be changing just now."""
        for _ in range(20):
            try:
                return self.page.evaluate(script)
            except Error as error:
                if "context was destroyed" not in str(error):
                    raise
                self.page.wait_for_load_state()
        raise TimeoutError(f"{self.page.url} never stays")

    def _kind(self, one):
        """Return how a control is used."""
        if one["tag"] == "select":
            return "choose"
        if one["type"] == "range":
            return "slide"
        if one["tag"] == "textarea" or one["type"] in ("text", "search", "number"):
            return "write"
        return "press"

    def _note(self, kind, what):
        self.done[kind] += 1
        self.trail.append(f"{kind} {what} on {self.page.url.rpartition('/')[2]}")

    def _do(self, one, script, value=None):
        """Use the control at a place of the page, if it is still there."""
        of_page = (
            "([at, id, value]) => { const one = document.querySelectorAll('*')[at];"
            f"if (one && one.id === id) {{ {script} }} }}"
        )
        self.page.evaluate(of_page, [one["at"], one["id"], value])

    def _press(self, one):
        self._do(one, "one.click();")

    def _choose(self, one):
        at = self.random.randrange(one["options"])
        self._do(one, f"one.selectedIndex = value; {CHANGED}", at)

    def _slide(self, one):
        share = self.random.random()
        self._do(
            one, f"one.value = +one.min + value * (one.max - one.min); {CHANGED}", share
        )

    def _write(self, one):
        text = self.random.choice(TEXTS)
        self._do(one, f"one.focus(); one.value = value; {CHANGED}", text)
        if self.random.random() < 0.4:
            self.page.keyboard.press("Enter")

    def _check(self):
        """Raise if anything went wrong."""
        answer = "fetch('/status').then((one) => one.status).catch(() => 0)"
        status, faults = self._ask(answer), list(self.page.watch.faults)
        if status != 200:
            faults.append(f"status {status}, process {self.app.process.poll()}")
        if words := self.app.stderr():
            faults.append(words)
        if not self._ask("() => !!document.getElementById('main')"):
            faults.append(f"not a page of the app: {self.page.content()[:500]}")
        if faults:
            raise AssertionError("\n".join([*faults, "after:", *self.trail]))


def make_survey(folder, records=2000):
    """Return the path of a simulated survey, two folders deep."""
    import numpy as np
    import pandas as pd

    from riskcore.simulate import microdata

    path = Path(folder) / "deep" / "deeper" / "survey.csv"
    path.parent.mkdir(parents=True)
    data = microdata(records, rng=np.random.default_rng(7))
    pd.DataFrame(data).to_csv(path, index=False)
    return path


def run(browser, given, settings, seed, more, every=250):
    """Use the app while there is ``more`` to do; return the steps and the crashes."""
    done, crashes = collections.Counter(), 0
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.watch = Watch(context)
    while more(done.total()):
        app = App(given, settings)
        try:
            enter(page, app)
            monkey = Monkey(page, app, seed * 1000 + crashes)
            begun = done.total()
            while monkey.done.total() < every and more(begun + monkey.done.total()):
                monkey.step()
            done += monkey.done
            with page.watch.refusals():  # the answer to the last step may come now
                page.goto("about:blank")
        finally:
            app.kill()
            app.end()
        crashes += 1
    context.close()
    return done, crashes


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--actions", type=int, help="in place of minutes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes

    def more(steps):
        if options.actions is not None:
            return steps < options.actions
        return time.monotonic() < end

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        given = make_survey(folder)
        if options.file is not None:
            given = Path(shutil.copy(options.file, given.parent))
        browser = launch(playwright, path)
        begun = time.monotonic()
        done, crashes = run(browser, given, Path(folder) / "cfg", options.seed, more)
        seconds = time.monotonic() - begun
        browser.close()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(done.items()))
    text = (
        f"{done.total():,} steps in {seconds / 60:.0f} minutes ({kinds}); {crashes} "
        "times the app was\nkilled and started again. Nothing broke.\n\n"
        f"{origin('playwright')}"
    )
    print(text)
    replace(PAGE, "app_monkey", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
