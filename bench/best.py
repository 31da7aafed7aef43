"""The best release beside all others, ARX and sdcMicro, in ``results/best.md``.

    python -m bench.best [FILE ...] [--large RECORDS]

Files: adult (``RISKCORE_POPULATIONS`` names the folder with adult.csv and ARX's
hierarchies), testdata and free1 (of sdcMicro, ``RISKCORE_SDCMICRO``), eusilc
(``RISKCORE_LAEKEN`` names eusilc.RData of the R package laeken) and microdata, which is
simulated. ``RISKCORE_ARX`` is a class path with ARX. Each is left out, and named, where
it is not there.

*All*: every node of the lattice is opened by a program of its own: it counts all
margins of all nodes, and each record takes its cheapest safe one. ARX suppresses whole
records; its loss is that of the same definition. sdcMicro's localSuppression blanks
keys of the file as it is, or on the rungs of the best node: it searches no recodings.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pandas

import riskcore
from bench import _sdcmicro
from bench._common import HERE, RESULTS, origin, table, timed
from riskcore.data.columns import code_keys
from riskcore.data.ladder import Ladder, Rungs
from riskcore.data.source import Source
from riskcore.protection.best.losses import losses_of
from riskcore.simulate import microdata

K = (2, 5, 10)
L = (None, 2)
PRICES = (1.0, 2.0, 4.0)
PAGE = RESULTS / "best.md"


class Case(NamedTuple):
    """A file, its keys with their ladders, and a sensitive column."""

    frame: pandas.DataFrame
    ladders: dict
    sensitive: str

    @property
    def keys(self):
        """The key variables."""
        return [*self.ladders]


def bands(*limits):
    """Return the rule of bands between limits."""
    return "from:" + ",".join(map(str, limits))


ALL = "map:*=all"
AGES = [bands(*range(step, 100, step)) for step in (5, 10, 20)] + [ALL]


def adult():
    """UCI Adult, with ARX's hierarchies."""
    folder = Path(os.environ["RISKCORE_POPULATIONS"])
    frame = pandas.read_csv(folder / "adult.csv", sep=";", dtype=str)
    keys = ("sex", "age", "race", "marital-status", "education", "native-country",
            "workclass", "occupation")  # fmt: skip
    hierarchies = folder / "adult_hierarchies"
    ladders = {key: str(hierarchies / f"adult_hierarchy_{key}.csv") for key in keys}
    return Case(frame, ladders, "salary-class")


def testdata():
    """sdcMicro's test file of households in a developing country."""
    ladders = {
        "urbrur": [ALL],
        "roof": [bands(4, 6), ALL],
        "walls": [bands(3), ALL],
        "water": [bands(3, 5, 7), bands(5), ALL],
        "relat": [bands(2, 3, 4), bands(2), ALL],
        "sex": [ALL],
        "age": AGES,
    }
    return Case(_sdcmicro.table("testdata"), ladders, "hhcivil")


def free1():
    """The demonstration file of mu-Argus."""
    ladders = {
        "REGION": [bands(*range(step, 190, step)) for step in (10, 50)] + [ALL],
        "SEX": [ALL],
        "AGE": AGES,
        "MARSTAT": [bands(2, 4), ALL],
        "ETNI": [bands(2), ALL],
        "EDUC1": [bands(3, 5), ALL],
    }
    return Case(_sdcmicro.table("free1"), ladders, "TENURE")


def eusilc():
    """The synthetic EU-SILC of the R package laeken."""
    path = os.environ["RISKCORE_LAEKEN"]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "eusilc.csv"
        program = f"load('{path}'); write.csv(eusilc, '{target}', row.names = FALSE)"
        subprocess.run(["Rscript", "-e", program], check=True)
        frame = pandas.read_csv(target)
    frame["pb220a"] = frame["pb220a"].fillna("child")
    frame["pl030"] = frame["pl030"].fillna(0).astype(int)
    east = "Burgenland=east,Lower Austria=east,Vienna=east"
    south = "Carinthia=south,Styria=south"
    west = "Salzburg=west,Tyrol=west,Upper Austria=west,Vorarlberg=west"
    ladders = {
        "db040": [f"map:{east},{south},{west}", ALL],
        "hsize": [bands(2, 3, 4, 5), bands(2, 4), ALL],
        "age": AGES,
        "rb090": [ALL],
        "pb220a": ["map:EU=Other", ALL],
    }
    return Case(frame, ladders, "pl030")


def simulated(records=100_000):
    """The simulated survey, with the income in thousands as a key."""
    frame = pandas.DataFrame(microdata(records, np.random.default_rng(2004)))
    frame["INCOME"] = (frame["INCOME"] // 1000 * 1000).clip(upper=60_000)
    frame["REGION"] = frame["REGION"].astype(str)
    ladders = {
        "REGION": ["truncate:1", "truncate:2", ALL],
        "SEX": [ALL],
        "AGE": [bands(*range(x, 100, x)) for x in (2, 4, 8, 16, 32)] + [ALL],
        "MARSTAT": [bands(3), ALL],
        "EDUCATION": [bands(3, 5), ALL],
        "HHSIZE": [bands(2, 3, 4, 5), bands(3, 5), ALL],
        "CITIZENSHIP": [bands(*range(2, 20)), bands(2, 3, 5, 9), bands(2), ALL],
        "INCOME": [bands(*range(x, 60_000, x)) for x in (2_000, 4_000, 8_000, 16_000)]
        + [bands(32_000), ALL],
    }
    return Case(frame, ladders, "WEIGHT")


def small():
    """The simulated survey with fewer keys, so that all nodes can be opened."""
    case = simulated()
    keys = ("REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE")
    ladders = {key: case.ladders[key] for key in keys}
    return Case(case.frame, ladders, "CITIZENSHIP")


FILES = {
    "adult": adult, "testdata": testdata, "free1": free1, "eusilc": eusilc,
    "microdata": small,
}  # fmt: skip


# --- all nodes ---


@numba.njit(cache=True)
def _margins(digits, records, sensitive, masks, frequency, varied):
    """Count the records of each cell in each margin, and whether they vary."""
    cells, keys = digits.shape
    size = 2
    while size < 2 * cells:
        size *= 2
    names = np.empty(size, np.int64)
    counts = np.empty(size, np.int64)
    first = np.empty(size, np.int64)
    several = np.empty(size, np.bool_)
    at = np.empty(cells, np.int64)
    for mask in range(masks):
        names[:] = -1
        for cell in range(cells):
            name = 0
            for key in range(keys):
                if not mask >> key & 1:
                    name += digits[cell, key]
            slot = (name * 0x9E3779B97F4A7C15 >> 20) & (size - 1)
            while names[slot] != name and names[slot] != -1:
                slot = (slot + 1) & (size - 1)
            if names[slot] == -1:
                names[slot], counts[slot] = name, 0
                first[slot], several[slot] = sensitive[cell], False
            counts[slot] += records[cell]
            several[slot] |= first[slot] != sensitive[cell]
            at[cell] = slot
        for cell in range(cells):
            frequency[mask, cell] = counts[at[cell]]
            varied[mask, cell] = several[at[cell]]


@numba.njit(cache=True)
def _cheapest(frequency, varied, records, losses, price, k, least_l):
    """Return what the cheapest safe margins lose, and how many blanks they have."""
    cells, masks = frequency.shape
    cost, number = np.zeros(masks), np.zeros(masks, np.int64)
    total, blanks = 0.0, 0
    for cell in range(cells):
        if frequency[cell, 0] >= k and (least_l == 1 or varied[cell, 0]):
            continue
        best, fewest, key = np.inf, 0, -1
        for mask in range(1, masks):
            if mask & (mask - 1) == 0:
                key += 1  # a key more: the masks with it come after all without
            before = mask ^ (1 << key)
            cost[mask] = cost[before] + (price - losses[cell, key])
            number[mask] = number[before] + 1
            if frequency[cell, mask] < k or (least_l > 1 and not varied[cell, mask]):
                continue
            if cost[mask] < best - 1e-12 or (
                cost[mask] < best + 1e-12 and number[mask] < fewest
            ):
                best, fewest = cost[mask], number[mask]
        total += best * records[cell]
        blanks += fewest * records[cell]
    return total, blanks


def rungs_of(case):
    """Return the keys of a case on their ladders."""
    source = Source.of(case.frame[case.keys], None)
    columns = code_keys(source.records, case.keys)
    return [Rungs.of(x, Ladder.of(case.ladders[x.name])) for x in columns]


def open_all(case):
    """Return the least loss for each k, l and price, and its node."""
    rungs = rungs_of(case)
    sensitive = pandas.factorize(case.frame[case.sensitive])[0]
    base = np.column_stack([*(x.column.codes for x in rungs), sensitive])
    base, records = np.unique(base.astype(np.int64), axis=0, return_counts=True)
    lost = [losses_of(x, "granularity")[0] for x in rungs]
    n, least = len(case.frame), {}
    for node in itertools.product(*(range(len(x)) for x in rungs)):
        digits = np.empty((len(base), len(rungs)), np.int64)
        stride = 1
        for j, (ladder, i) in enumerate(zip(rungs, node, strict=True)):
            digits[:, j] = ladder.groups[i][base[:, j]] * stride
            stride *= int(ladder.groups[i].max()) + 1
        whole = digits.sum(axis=1) * (int(sensitive.max()) + 1) + base[:, -1]
        _, first, cell = np.unique(whole, return_index=True, return_inverse=True)
        counts = np.bincount(cell, records).astype(np.int64)
        losses = np.column_stack(
            [
                part[i][base[first, j]]
                for j, (part, i) in enumerate(zip(lost, node, strict=True))
            ]
        )
        masks = 1 << len(rungs)
        frequency = np.empty((masks, len(first)), np.int64)
        varied = np.empty((masks, len(first)), np.bool_)
        _margins(digits[first], counts, base[first, -1], masks, frequency, varied)
        steps = float(losses.sum(axis=1) @ counts)
        some = np.flatnonzero((frequency[0] < max(K)) | ~varied[0])
        few = np.minimum(frequency[:, some], max(K)).astype(np.uint8).T.copy()
        mixed, losses = varied[:, some].T.copy(), losses[some]
        for k, least_l, price in itertools.product(K, L, PRICES):
            blanks, number = _cheapest(
                few, mixed, counts[some], losses, price, k, least_l or 1
            )
            loss = (steps + blanks) / n / len(rungs)
            entry = loss, number, node
            if (k, least_l, price) not in least or (
                loss < least[k, least_l, price][0] - 1e-12
                or (
                    loss < least[k, least_l, price][0] + 1e-12
                    and entry[1:] < least[k, least_l, price][1:]
                )
            ):
                least[k, least_l, price] = entry
    return least


# --- riskcore, ARX, sdcMicro ---


def search(case, k, least_l, price, **settings):
    """Return the best release that riskcore finds, and its seconds."""
    if least_l is not None:
        settings |= {"l": least_l, "roles": {case.sensitive: "sensitive"}}
    columns = [*case.keys, *([case.sensitive] if least_l is not None else [])]
    asked = {"k": k, "ladders": case.ladders, "price": price, **settings}
    return timed(lambda: riskcore.best(case.frame[columns], case.keys, **asked))


def node_of(best):
    """Return the rung of each key of a best release."""
    keys = best.settings.variables
    return [
        best.ladders[key].rules.index(best.rules[key]) + 1 if key in best.rules else 0
        for key in keys
    ]


def arx(case, k, least_l):
    """Return ARX's loss, suppressed records, seconds and node."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = [*case.keys, case.sensitive]
        case.frame[columns].to_csv(folder / "data.csv", sep=";", index=False)
        given = []
        for rungs in rungs_of(case):
            path = folder / f"{len(given)}.csv"
            source = case.ladders[rungs.column.name]
            if isinstance(source, str):
                path = source
            else:
                words = [[str(x) for x in rungs.column.labels]]
                words += [[f"g{x}" for x in group[:-1]] for group in rungs.groups[1:]]
                lines = [";".join(parts) for parts in zip(*words, strict=True)]
                path.write_text("\n".join(lines) + "\n")
            given.append(f"{rungs.column.name}={path}")
        path = os.environ["RISKCORE_ARX"]
        driver = HERE / "arx" / "LeastLoss.java"
        compiled = ["javac", "-d", name, "-cp", path, str(driver)]
        subprocess.run(compiled, check=True)
        run = ["java", "-cp", f"{name}:{path}", "LeastLoss", str(folder / "data.csv")]
        goals = [str(k), case.sensitive if least_l else "-", str(least_l or 0)]
        done = subprocess.run(
            [*run, *goals, *given], capture_output=True, text=True, check=True
        )
    told = next(x for x in done.stdout.splitlines() if x.startswith("RESULT "))
    loss, suppressed, seconds, names, levels = told.split()[1:]
    at = dict(zip(names.split(","), map(int, levels.split(",")), strict=True))
    return float(loss), int(suppressed), float(seconds), [at[key] for key in case.keys]


def sdcmicro(case, k, node):
    """Return what localSuppression blanks on the rungs of a node, and its seconds.

    The last number is that of records that fewer than k of the people of the file fit.
    """
    columns = {
        f"x{j}": rungs.groups[i][rungs.column.codes]
        for j, (rungs, i) in enumerate(zip(rungs_of(case), node, strict=True))
    }
    keys = ", ".join(f'"{name}"' for name in columns)
    told = _sdcmicro.run(
        'x <- read.csv("x.csv")\n'
        f"a <- timed('blanks', localSuppression(x, keyVars = c({keys}), k = {k}))\n"
        "tell('blanks', sum(a$supps))\n"
        f"tell('kept', as.integer(!is.na(as.matrix(a$xAnon[, c({keys})]))))\n",
        x=pandas.DataFrame(columns),
    )
    records = np.column_stack([*columns.values()])
    kept = np.array(told["kept"], bool).reshape(len(columns), len(records)).T
    unsafe = 0
    for keys in np.unique(kept, axis=0):
        _, cell, people = np.unique(
            records[:, keys], axis=0, return_inverse=True, return_counts=True
        )
        mine = (kept == keys).all(axis=1)
        unsafe += int(np.count_nonzero(people[cell.ravel()][mine] < k))
    return int(told["blanks"][0]), told["blanks.seconds"][0], unsafe


def text_of(node):
    """Return a node as text."""
    return "[" + " ".join(map(str, node)) + "]"


def rows_of(name, case):
    """Return the rows of a file: found, beside all nodes and ARX; and sdcMicro's."""
    least, taken = timed(lambda: open_all(case))
    rows, others = [], []
    for k, least_l in itertools.product(K, L):
        peer = ["", "", ""]
        if "RISKCORE_ARX" in os.environ:
            loss, suppressed, seconds, node = arx(case, k, least_l)
            peer = [f"{loss:.4f} {text_of(node)}", f"{suppressed:,}", f"{seconds:.1f}"]
        for price in PRICES:
            best, seconds = search(case, k, least_l, price)
            loss, _, node = least[k, least_l, price]
            equal = abs(best.loss - loss) < 1e-9 and node_of(best) == [*node]
            row = [name, f"{k}", f"{least_l or '-'}", f"{price:g}"]
            row += [f"{best.loss:.4f}", text_of(node_of(best))]
            row += [f"{sum(best.blanks.values()):,}", f"{seconds:.1f}"]
            row += [f"{best.met:,}", f"{best.opened:,}", f"{best.nodes:,}"]
            row += ["equal" if equal else f"**{loss:.4f} {text_of(node)}**"]
            print(*row, flush=True)
            rows.append(row + (peer if price == 1 else ["", "", ""]))
        small = len(case.frame) <= 20_000  # sdcMicro takes hours for more
        if small and least_l is None and _sdcmicro.lacking() is None:
            plain, _ = search(case, k, None, 1.0)
            others.append(beside(name, "as it is", case, k, [0] * len(case.keys)))
            others.append(beside(name, "best node", case, k, node_of(plain)))
    return rows, others, taken


def beside(name, where, case, k, node):
    """Return the row of the blanks on the rungs of a node."""
    blanks, seconds, unsafe = sdcmicro(case, k, node)
    ours, own = blanked(case, k, node)
    numbers = [f"{x:,}" for x in (ours, blanks, unsafe)]
    return [name, where, f"{k}", *numbers, f"{own:.1f}", f"{seconds:.1f}"]


def blanked(case, k, node):
    """Return the blanks and seconds of protect on the rungs of a node."""
    pairs = zip(rungs_of(case), node, strict=True)
    rules = {rungs.column.name: rungs.ladder.rules[i - 1] for rungs, i in pairs if i}
    result, seconds = timed(
        lambda: riskcore.protect(case.frame[case.keys], case.keys, k=k, recodings=rules)
    )
    return sum(result.suppressed.values()), seconds


def large(records, k, price):
    """Search a large file; print what was found as JSON."""
    case = simulated(records)
    best, seconds = search(case, k, None, price, sampling_fraction=0.01, time=600)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    row = [
        f"{records:,}", f"{k}", f"{price:g}", f"{best.loss:.4f}",
        text_of(node_of(best)), f"{best.gap:.1%}", f"{best.met:,}", f"{best.opened:,}",
        f"{best.nodes:,}", f"{seconds:.0f}", f"{peak:.2f}",
    ]  # fmt: skip
    print(json.dumps(row))


def main():
    """Compare, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help=", ".join(FILES))
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.alone:
        large(options.large, int(options.alone[0]), float(options.alone[1]))
        return
    parts, others, notes = [], [], []
    for name in options.files or FILES:
        try:
            case = FILES[name]()
        except KeyError as error:
            notes.append(f"- {name}: left out, {error} is not set.")
            continue
        rows, more, taken = rows_of(name, case)
        parts += rows
        others += more
        notes.append(
            f"- {name}: {len(case.frame):,} records, {len(case.keys)} keys; opening "
            f"all nodes for all goals took {taken:.0f} s."
        )
    big = []
    for k, price in itertools.product((3, 5), (1, 4)) if options.large else ():
        words = ["--large", str(options.large), "--alone", str(k), str(price)]
        done = subprocess.run(
            [sys.executable, "-m", "bench.best", *words],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        big.append(json.loads(done.stdout.splitlines()[-1]))
    PAGE.write_text(page(parts, others, big, notes))


def page(rows, others, big, notes):
    """Return the page."""
    found = ["file", "k", "l", "price", "loss", "node", "blanks", "s", "met", "opened"]
    found += ["nodes", "all", "ARX", "ARX's suppressed records", "ARX, s"]
    blanks = ["file", "rungs", "k", "blanks", "sdcMicro's", "of it still unsafe"]
    sizes = ["records", "k", "price", "loss", "node", "gap", "met", "opened", "nodes"]
    return f"""\
# The best release

Generated; do not edit. {origin("numpy", "numba")}.

The least loss (granularity) of recodings and blanks, as `riskcore best` finds it,
beside a program of its own that opens all nodes (*all*). *met*: nodes whose bound was
found. *ARX* suppresses whole records (a price of 1, no limit), by the same definition
of loss.

{chr(10).join(notes)}

{table(found, rows)}

## Blanks alone, beside sdcMicro's localSuppression

sdcMicro searches no recodings: its blanks on the same rungs, of the file as it is and
of the best node. It takes a blank for any value, so that blanked records count for
others; *still unsafe* are its records that fewer than k of the people of the file fit.

{table([*blanks, "s", "sdcMicro, s"], others, 2)}

## A large file

Eight keys, at most 600 s. GB is the peak of the process.

{table([*sizes, "s", "GB"], big, 0)}
"""


if __name__ == "__main__":
    main()
