"""The command ``riskcore app`` as a process, and pages of it that are watched.

Tests and benches drive the app as people do: by the printed address, in a browser.
"""

import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Milliseconds after which a page that does not answer is at fault.
PATIENCE = 60_000
REFUSED = re.compile("(status of|Status Error Code) 422")
# Nothing is under way: no form, part or job, and no page that waits for one.
SETTLED = """async () => {
  if (!document.getElementById("panel")) return true;
  const seen = (one) => one.id !== "poll" && !one.closest("details:not([open])");
  const busy = document.querySelectorAll(".htmx-request, [data-part][aria-busy=true]");
  if ([...busy].some(seen)) return false;
  if (document.querySelector("#work, main[aria-busy=true], [data-waits]")) return false;
  const answer = await fetch("/status", {headers: {"X-Poll": "1"}});
  return !(await answer.text()).includes('id="work"');
}"""


class App:
    """The app as a process of its own.

    Parameters
    ----------
    given : path
        The survey file, or a file of rules.
    settings : path
        The folder of its settings and sessions.
    options : str
        Further words of the command line.
    """

    def __init__(self, given, settings, *options):
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        environment = os.environ | {
            "RISKCORE_CONFIG_DIR": str(settings),
            "PYTHONPATH": str(ROOT),
        }
        words = [sys.executable, "-m", "riskcore", "app", str(given), "--no-browser"]
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [*words, *options],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=given if Path(given).is_dir() else Path(given).parent,
            env=environment,
            text=True,
        )
        self.address = self._line().strip()
        self.seconds = time.perf_counter() - begun
        found = re.fullmatch(r"http://127.0.0.1:(\d+)/\?token=(\S+)", self.address)
        if not found:
            raise ChildProcessError(f"no address: {self.address!r} {self.stderr()}")
        self.port, self.token = int(found[1]), found[2]

    def _line(self):
        """Return the next line of its output."""
        if not select.select([self.process.stdout], [], [], PATIENCE / 1000)[0]:
            raise TimeoutError("the app printed no address")
        return self.process.stdout.readline()

    def url(self, page=""):
        """Return the address of a page."""
        return f"http://127.0.0.1:{self.port}/{page}"

    def stderr(self):
        """Return all that it has written to the terminal as errors."""
        self._errors.seek(0)
        return self._errors.read()

    def kill(self):
        """End the process as a crash does."""
        self.process.kill()
        self._ended()

    def end(self):
        """End the process by Ctrl-C; return what it wrote as errors."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self._ended()
        text = self.stderr()
        self._errors.close()
        return text.replace("riskcore: interrupted\n", "").strip()

    def _ended(self):
        self.process.wait(30)
        self.process.stdout.close()


class Watch:
    """What went wrong in the pages of a context of the browser.

    Attributes
    ----------
    faults : list of str
        Messages of the console, errors of scripts, and requests that failed.
    """

    def __init__(self, context):
        self.faults = []
        self._refusals = 0
        context.on("console", self._console)
        context.on("weberror", lambda one: self.faults.append(f"error {one.error}"))
        context.on("requestfailed", self._failed)
        context.on("response", self._answered)
        context.on("dialog", self._dialog)

    @contextmanager
    def refusals(self):
        """Let the app refuse what is asked here."""
        self._refusals += 1
        yield
        self._refusals -= 1

    def _console(self, message):
        # The browser says this, and htmx of a part that has left the page meanwhile.
        refused = self._refusals and REFUSED.search(message.text)
        # What a page gives up when another is opened.
        given_up = message.text.startswith(("htmx:afterRequest", "htmx:sendAbort"))
        if message.type in ("error", "warning") and not (refused or given_up):
            self.faults.append(f"console {message.type}: {message.text}")

    def _failed(self, request):
        # The script of the pages gives up requests whose answers are of no use now.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"{request.failure}: {request.method} {request.url}")

    def _answered(self, response):
        refused = self._refusals and response.status == 422
        if response.status >= 400 and not refused:
            method = response.request.method
            self.faults.append(f"{response.status}: {method} {response.url}")

    def _dialog(self, dialog):
        self.faults.append(f"dialog {dialog.message}")
        dialog.dismiss()


def launch(playwright, path, **options):
    """Return a browser; Chromium refuses its sandbox to root."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    words = ["--no-sandbox"] if is_root else []
    return playwright.chromium.launch(executable_path=path, args=words, **options)


def settle(page, patience=PATIENCE):
    """Wait until nothing is under way in a page."""
    until = time.monotonic() + patience / 1000
    while not page.evaluate(SETTLED):
        if time.monotonic() > until:
            raise TimeoutError(f"{page.url} does not settle")
        page.wait_for_timeout(50)


def act(page, action, patience=PATIENCE):
    """Do what sends a form, and wait until the page has settled."""
    with page.expect_response(lambda one: one.request.method == "POST"):
        action()
    settle(page, patience)


def visit(page, app, name):
    """Go to a page by its address, and wait until it has settled."""
    answer = page.goto(app.url(name))
    if answer.status != 200:
        raise LookupError(f"{name}: {answer.status}")
    settle(page)


def enter(page, app):
    """Enter by the printed address, and go on to the columns of an open file."""
    page.goto(app.address)
    page.wait_for_url(re.compile(f"{app.url()}(data|start)"))
    if page.url == app.url("data"):
        visit(page, app, "columns")
    settle(page)


def unfold(page):
    """Open all that is folded in a page, and wait for what comes then."""
    closed = page.locator("main details:not([open]) > summary:visible")
    while closed.count():
        closed.first.click()
    settle(page)
