"""Time what a click in the app takes: form, redirect and page, and parts.

    python -m bench.app_times [RECORDS ...]

By default 10,000, 100,000 and 1,000,000 simulated records with six keys. The requests
are those of the pages, without a browser; each is the median of three, with other
values each time, so that no answer comes from a cache. The result is in
bench/results/app_times.md.
"""

import http.client
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from bench._app import ROOT, App
from bench._common import RESULTS, origin, replace, table

PAGE = RESULTS / "app_times.md"
ROUNDS = 3
KEYS = ("REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "CITIZENSHIP")
ROLES = dict.fromkeys(KEYS, "key") | {
    "WEIGHT": "weight", "HOUSEHOLD": "household", "PERSON": "harmless",
    "HHSIZE": "harmless", "INCOME": "sensitive",
}  # fmt: skip
TREATED = (
    ("noise on a number", "INCOME", "noise:{}%"),
    ("a number rounded", "INCOME", "round:{}0"),
    ("a number top-coded", "INCOME", "top:{}%"),
    ("ranks of a number swapped", "INCOME", "swap:{}%"),
    ("a number microaggregated", "INCOME", "microaggregate:{}"),
    ("the weight rounded at random", "WEIGHT", "round-weights:{}"),
)
OUT = ("INCOME", "HHSIZE", "PERSON", "CITIZENSHIP", "EDUCATION")
LIMIT = 0.2  # seconds in which a change is to answer


class Client:
    """A browser without pictures: the cookie, the token of forms, and the clock."""

    def __init__(self, app):
        self.app = app
        self.connection = http.client.HTTPConnection("127.0.0.1", app.port)
        answer = self._ask("GET", f"/?token={app.token}")
        self.cookie = answer.getheader("set-cookie").partition(";")[0]
        answer.read()
        text = self.get("/columns")
        self.csrf = text.partition('data-csrf="')[2].partition('"')[0]

    def _ask(self, method, path, body=None):
        headers = {"Cookie": getattr(self, "cookie", "")}
        if body is not None:
            headers |= {
                "Content-Type": "application/x-www-form-urlencoded",
                "Origin": f"http://127.0.0.1:{self.app.port}",
            }
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse()

    def get(self, path):
        """Return a page."""
        answer = self._ask("GET", path)
        text = answer.read().decode()
        if answer.status != 200:
            raise LookupError(f"{path}: {answer.status} {text[-500:]}")
        return text

    def post(self, path, back, *fields):
        """Send a form, and return the page to which it leads."""
        pairs = [("csrf", self.csrf), ("back", back), *fields]
        answer = self._ask("POST", path, urlencode(pairs))
        answer.read()
        if answer.status != 303:
            raise LookupError(f"{path}: {answer.status}")
        return self.get(answer.getheader("location"))

    def work(self, begin):
        """Begin a job by a request, and wait until nothing is being done."""
        begin()
        while 'id="work"' in self.get("/status"):  # the panel says that work goes on
            time.sleep(0.02)


def measure(work):
    """Return the seconds of each round."""
    found = []
    for i in range(ROUNDS):
        start = time.perf_counter()
        work(i)
        found.append(time.perf_counter() - start)
    return found


def measure_with_job(client, change):
    """Return the seconds of each change, and those until the job it begins is done."""
    changed, done = [], []
    for i in range(ROUNDS):
        start = time.perf_counter()
        change(i)
        changed.append(time.perf_counter() - start)
        client.work(lambda: None)
        done.append(time.perf_counter() - start)
    return changed, done


def simulate(records, folder):
    """Return the path of a simulated survey."""
    path = Path(folder) / f"survey{records}.csv"
    words = ["simulate", "microdata", "--records", str(records), "--seed", "7"]
    command = [sys.executable, "-m", "riskcore", *words, "--output", str(path)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return path


def started(path, folder):
    """Yield the seconds to the first page and to its table, in new processes."""
    for i in range(ROUNDS):
        start = time.perf_counter()
        app = App(path, Path(folder) / f"new-{path.stem}-{i}")
        client = Client(app)
        first = time.perf_counter() - start
        while "<tbody>" not in client.get("/data"):
            time.sleep(0.01)
        rows = time.perf_counter() - start
        while 'id="roles"' not in client.get("/columns"):
            time.sleep(0.01)
        yield first, rows, time.perf_counter() - start
        app.end()


def begin(client, at):
    """Give the columns their roles, and compute what the pages keep."""
    roles = [(f"role-{at[name]}", role) for name, role in ROLES.items()]
    client.work(lambda: client.get("/columns"))
    client.post("/columns/roles", "columns", *roles)
    goal = [("name", "threshold"), ("was", ""), ("on", "1"), ("value", "0.02")]
    client.post("/protect/goal", "risk", *goal)
    for page in ("risk", f"recode?column={at['AGE']}"):
        client.work(lambda page=page: client.get(f"/{page}"))


def switches(at, *off):
    """Return the fields of the switches of the keys."""
    offered = [("offered", at[name]) for name in KEYS]
    return [("at", 0), *offered, *(("key", at[k]) for k in KEYS if k not in off)]


def interactions(client, at):
    """Return the seconds of each interaction, by its name."""
    found = {}
    role = f"role-{at['INCOME']}"
    of = ("numeric", "sensitive", "harmless", "numeric", "sensitive")
    found["a role changed"] = measure(
        lambda i: client.post("/columns/roles", "columns", (role, of[i]))
    )
    off, on, part = [], [], []
    for key in KEYS[:ROUNDS]:
        for times, fields in ((off, switches(at, key)), (on, switches(at))):
            start = time.perf_counter()
            client.post("/risk/switch", "risk", *fields)
            times.append(time.perf_counter() - start)
            if times is off:
                start = time.perf_counter()
                client.get("/risk/keys")
                part.append(time.perf_counter() - start)
    found["a key off"], found["a key on again"] = off, on
    found["contributions of the keys (part)"] = part
    live = "/protect/live?name=threshold&position="
    found["threshold, while the slider moves"] = measure(
        lambda i: client.get(f"{live}{-2 + i / 10}")
    )
    return found


def recodings(client, at, folder):
    """Return the seconds of each way to recode, the last of them undone."""
    found = {}
    recoding = [("column", at["AGE"]), ("way", "cut"), ("side", "from")]

    def breaks(i):
        return [*recoding, *(("break", str(each)) for each in (15 + i, 30, 45 + i, 65))]

    found["recoding, while a break moves"] = measure(
        lambda i: client.get(f"/recode/preview?{urlencode(breaks(i))}")
    )
    back = f"recode?column={at['AGE']}"
    found["recoding, changed"] = measure(
        lambda i: client.post("/recode/apply", back, *breaks(i))
    )
    found["undo"] = measure(lambda i: client.post("/undo", "risk"))
    tree = Path(folder) / "ages.csv"
    groups = [[age // (3 * 2**i) for i in range(ROUNDS)] for age in range(130)]
    tree.write_text(
        "".join(f"{age};{';'.join(map(str, of))}\n" for age, of in enumerate(groups))
    )
    level = [("column", at["AGE"]), ("way", "file"), ("path", tree)]
    found["a level of a hierarchy, chosen"] = measure(
        lambda i: client.post("/recode/apply", back, *level, ("level", i + 1))
    )
    client.post("/recode/apply", back, *breaks(0))
    merged = [("column", at["EDUCATION"]), ("way", "merge")]
    back = f"recode?column={at['EDUCATION']}"
    found["categories merged"] = measure(
        lambda i: client.post("/recode/apply", back, *merged, ("map", f"{i}={i + 1}"))
    )
    client.post("/recode/clear", back, merged[0])
    return found


def treatments(client, at):
    """Return the seconds of each number treated, and of what the page shows of it."""
    found = {}
    for label, column, rule in TREATED:
        change, part = [], []
        back = f"treat?column={at[column]}"
        edit = [("column", at[column]), ("at", 0)]
        first = [edit[0], ("kind", "round"), ("base", 1)]
        client.post("/treat/add", back, *first)  # the page keeps the numbers themselves
        client.get(f"/treat/effect?column={at[column]}")
        for i in range(ROUNDS):
            fields = [*edit, ("do", "save"), ("rule", rule.format(i + 5))]
            start = time.perf_counter()
            client.post("/treat/edit", back, *fields)
            change.append(time.perf_counter() - start)
            client.get(f"/treat/effect?column={at[column]}")
            part.append(time.perf_counter() - start - change[-1])
        found[label], found[f"{label}: its distribution (part)"] = change, part
        client.post("/treat/edit", back, *edit, ("do", "remove"))
    found["undo of a treatment"] = measure(lambda i: client.post("/undo", back))
    client.post("/treat/edit", back, *edit, ("do", "remove"))
    return found


def jobs(client, at, path):
    """Return the seconds of each job, from the click to the last answer."""
    found = {}
    change, plan = [], []
    slide = "/protect/slide"
    for i in range(ROUNDS):
        fields = [("name", "threshold"), ("position", str(-2 + i / 10))]
        start = time.perf_counter()
        client.post(slide, "protect", *fields)
        change.append(time.perf_counter() - start)
        client.work(lambda: client.get("/protect"))
        plan.append(time.perf_counter() - start)
    found["threshold, changed"], found["suppression (job)"] = change, plan
    leaks, compare = [], []
    for i in range(ROUNDS):
        for page, times in (("leaks", leaks), ("compare", compare)):
            fields = [("name", "k"), ("was", ""), ("on", "1"), ("value", str(4 + i))]
            if page == "leaks":
                client.post("/protect/goal", "protect", *fields)
                client.work(lambda: client.get("/protect"))
            start = time.perf_counter()
            client.work(lambda page=page: client.get(f"/{page}"))
            client.get(f"/{page}")
            times.append(time.perf_counter() - start)
    found["leaks (job)"], found["before and after, compared already"] = leaks, compare
    found["a cost changed"], _ = measure_with_job(
        client, lambda i: client.post("/protect/costs", "protect", ("cost-1", i + 2))
    )
    columns = [name for name in ROLES if name not in ("WEIGHT", "HOUSEHOLD")]
    found["a leak accepted with a reason"] = measure(
        lambda i: client.post(
            "/leaks/accept", "leaks", ("column", at[columns[i]]), ("reason", f"r{i}")
        )
    )
    client.work(lambda: client.get("/leaks"))

    def export(i):
        fields = [("file", f"safe{i}.csv"), ("allow_unsafe", "1"), ("overwrite", "1")]
        client.work(lambda: client.post("/export/write", "export", *fields))
        if not (path.parent / f"safe{i}.csv").exists():
            raise FileNotFoundError(client.get("/export")[-3000:])

    found["export of the safe file and its record"] = measure(export)
    client.work(lambda: client.get("/leaks"))
    mended = measure_with_job(
        client, lambda i: client.post("/leaks/drop", "leaks", ("column", at[OUT[i]]))
    )
    found["a leak mended by leaving a column out"], found["leaks then (job)"] = mended
    return found


def times_of(records, folder):
    """Return the seconds of everything for a file of so many records."""
    path = simulate(records, folder)
    names = path.open().readline().strip().split(",")
    at = {name: str(i) for i, name in enumerate(names)}
    first, rows, whole = zip(*started(path, folder), strict=True)
    found = {"first page after the start": first, "the first rows of the data": rows}
    found["the table of columns"] = whole
    app = App(path, Path(folder) / f"settings-{records}")
    client = Client(app)
    begin(client, at)
    found |= interactions(client, at) | recodings(client, at, folder)
    found |= treatments(client, at) | jobs(client, at, path)
    peak = memory(app.process.pid)
    if words := app.end():
        raise RuntimeError(words)
    return {name: statistics.median(times) for name, times in found.items()}, peak


def memory(process):
    """Return the peak memory of a process in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def main():
    sizes = [int(float(word)) for word in sys.argv[1:]] or [10**4, 10**5, 10**6]
    with tempfile.TemporaryDirectory() as folder:
        measured = [times_of(records, folder) for records in sizes]
    columns, peaks = zip(*measured, strict=True)
    rows = [
        [name, *(f"{1000 * one[name]:,.0f}" for one in columns)] for name in columns[0]
    ]
    rows.append(["peak memory, MiB", *(f"{peak:,.0f}" for peak in peaks)])
    head = ["milliseconds", *(f"{records:,} records" for records in sizes)]
    slow = [
        f"{name} ({1000 * columns[-1][name]:,.0f})"
        for name in columns[-1]
        if "(job)" not in name and "export" not in name and "first" not in name
        if "table" not in name and columns[-1][name] > LIMIT
    ]
    said = f"A change is to answer within {1000 * LIMIT:.0f} ms."
    said += f" Slower at {sizes[-1]:,} records: {', '.join(slow) or 'nothing'}."
    text = f"{table(head, rows)}\n\n{said}\n\n{origin('starlette', 'uvicorn')}"
    print(text)
    replace(PAGE, "app_times", text)


if __name__ == "__main__":
    main()
