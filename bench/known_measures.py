"""Measures of released files that others report, beside their packages.

    python -m bench.known_measures              # the tables and times
    python -m bench.known_measures --adult      # a file of 30,162: half an hour
    python -m bench.known_measures --examples   # what each does not see: no peers

The files are simulated: an original, a holdout of the same population and a release in
which every value was replaced with probability 1/5 by that of another record; and the
persons of 1994 of `_cell_kinds.py`, released by SDV. `_audit_peers.py` says which
packages run, and where they are. Without one, its numbers are empty.
"""

import csv
import sys
import time
from unittest.mock import patch

import numpy as np
from scipy.stats import binomtest

from bench import _audit_peers as peers
from bench._cell_kinds import FILES, FOLDER
from bench._common import RESULTS, origin, replace, table, timed
from riskcore.disclosure import known_measures as measures
from riskcore.disclosure.shared_columns import SharedColumn, number_together
from riskcore.simulate import microdata

PAGE = RESULTS / "audit_measures.md"
KEYS = ["REGION", "SEX", "AGE", "MARSTAT", "CITIZENSHIP", "HHSIZE"]
TARGET, NUMBERS = "EDUCATION", ["INCOME", "MEMBERS"]
RECORDS, MANY = 2000, 1_000_000
ORDERS, ATTACKS = 20, 500
ADULT = "adult.csv"
# What is timed: functions that `known_measures.py` calls.
FUNCTIONS = (
    "count_cells", "replicated_uniques", "disclosive", "nearest_of_all",
    "singling_out", "linkability",
)  # fmt: skip
NAMES = [
    ("cells of all files", "count_cells"),
    ("repU", "replicated_uniques"),
    ("DiSCO, TCAP", "disclosive"),
    ("DCR, NNDR", "nearest_of_all"),
    ("singling out", "singling_out"),
    ("linkability", "linkability"),
]


def population(n, seed):
    """Return persons of a simulated population as codes and numbers."""
    rng = np.random.default_rng(seed)
    file = microdata(n, rng, 1.0)
    # Persons in any order: the members of a household are neighbors.
    order = rng.permutation(len(file["AGE"]))[:n]
    codes = {
        "REGION": file["REGION"] // 100 - 1,
        "SEX": file["SEX"] - 1,
        "AGE": file["AGE"],
        "MARSTAT": file["MARSTAT"] - 1,
        "CITIZENSHIP": file["CITIZENSHIP"] - 1,
        "HHSIZE": file["HHSIZE"] - 1,
        TARGET: file["EDUCATION"],
    }
    few = {name: column[order].astype(np.uint8) for name, column in codes.items()}
    income = file["INCOME"][order].astype(float)
    return few | {"INCOME": income, "MEMBERS": file["HHSIZE"][order].astype(float)}


def rows(file, which):
    """Return some records of a file."""
    return {name: column[which] for name, column in file.items()}


def perturbed(file, share, rng):
    """Return a file in which a share of the values come from other records."""
    n = len(file[TARGET])
    return {
        name: np.where(rng.random(n) < share, rng.permutation(column), column)
        for name, column in file.items()
    }


def margins(file, rng):
    """Return a file with nothing but the margins: each column in another order."""
    return {name: rng.permutation(column) for name, column in file.items()}


def with_copies(file, share, rng):
    """Return a file of margins in which a share of the records are copies."""
    n = len(file[TARGET])
    copied = rng.choice(n, round(share * n), replace=False)
    made = margins(file, rng)
    for name, column in made.items():
        column[: len(copied)] = file[name][copied]
    return made


def coded(columns):
    """Return a column of several files as codes of its values."""
    values, code = np.unique(np.concatenate(columns), return_inverse=True)
    ends = np.cumsum([len(one) for one in columns])[:-1]
    return SharedColumn((*np.split(code.astype(np.uint32), ends),), len(values))


def measured(*files, keys=KEYS, target=TARGET, numbers=NUMBERS):
    """Return the measures of an original, a release and perhaps a holdout."""
    return measures.known_measures(
        [coded([file[name] for file in files]) for name in keys],
        {target: coded([file[target] for file in files])},
        [[file[name] for file in files] for name in numbers],
    )


def figures_of(found):
    """Return the figures of measures of one target, by measure."""
    (of_target,) = found.of_targets.values()
    return found.figures | of_target


def clocked(*files, **how):
    """Return the measures, and the seconds of the functions that compute them."""
    seconds = dict.fromkeys(FUNCTIONS, 0.0)

    def with_clock(name):
        work = getattr(measures, name)

        def run(*given, **named):
            made, taken = timed(lambda: work(*given, **named))
            seconds[name] += taken
            return made

        return run

    with patch.multiple(measures, **{name: with_clock(name) for name in FUNCTIONS}):
        start = time.process_time()
        found, whole = timed(lambda: measured(*files, **how))
        busy = time.process_time() - start
    return found, seconds | {"whole": whole, "busy": busy}


def number(value, digits=6):
    """Return a number for a table, nothing for None."""
    return "" if value is None else f"{value:.{digits}g}"


def in_seconds(value):
    """Return seconds for a table, nothing for None."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def in_words(files, numbers=NUMBERS):
    """Return files with words for codes, as other packages know categories."""
    return {
        name: {
            column: values
            if column in numbers or isinstance(values[0], str)
            else [f"v{x:03d}" for x in values]
            for column, values in one.items()
        }
        for name, one in files.items()
    }


def setting(orders=ORDERS, keys=KEYS, target=TARGET, numbers=NUMBERS):
    """Return what the packages are told beside the files."""
    half = len(keys) // 2
    return {
        "keys": keys,
        "target": target,
        "numbers": numbers,
        "attacks": ATTACKS,
        "sides": [keys[:half], keys[half:]],
        "orders": orders,
    }


def by_peers(files, told):
    """Return what the packages find, by package; nothing of one that is not here."""
    found = {}
    for package, variable in (
        ("synthpop", peers.SYNTHPOP),
        ("riskutility", peers.RISKUTILITY),
        ("Anonymeter", peers.PYTHON),
    ):
        missing = peers.lacking(variable)
        if missing:
            print(f"{package}: {missing}", file=sys.stderr)
        found[package] = {} if missing else peers.told_by(package, files, told)
        print(package, found[package], file=sys.stderr)
    return found


# For each package: our measure, our function; the name of theirs, which of its numbers,
# and whose seconds.
_DISTANCES = [("DCR", 0), ("NNDR", 2)]
BESIDE = [
    ("synthpop", "repU", "replicated_uniques", "repU", 0, "disclosure"),
    ("synthpop", "DiSCO", "disclosive", "DiSCO", 0, "disclosure"),
    ("synthpop", "TCAP", "disclosive", "TCAP", 0, "disclosure"),
    ("riskutility", "TCAP", "disclosive", "tcap", 1, "tcap"),
    *(
        (package, measure, "nearest_of_all", name, at, name)
        for package, name in (
            ("riskutility", "nndr"), ("riskutility, categories named", "gower")
        )
        for measure, at in _DISTANCES
    ),
]  # fmt: skip


def compared(ours, seconds, theirs):
    """Return the rows of our figures that packages have as well."""
    lines = []
    for package, measure, function, their, at, whose in BESIDE:
        told = theirs[package.partition(",")[0]]
        found = told.get(their)
        if measure not in ours or (told and found is None and "late" not in told):
            continue
        taken = told.get(f"{whose}.seconds", [None])[0]
        value = number(found[at]) if found else _late(told)
        times = in_seconds(seconds[function]), in_seconds(taken)
        lines.append([package, measure, number(ours[measure]), value, *times])
    return lines


def _late(told):
    """Return what to say of a number that did not come."""
    return f"did not end in {peers.SECONDS} s" if "late" in told else ""


def attacked(ours, seconds, told, orders=ORDERS):
    """Return the rows of Anonymeter's attacks, with the errors of its draws."""
    found, taken = told.get("singling out", (None, None))
    value = _late(told)
    if found is not None:
        low, high = binomtest(found, ATTACKS).proportion_ci(0.95, "wilson")
        value = f"{found / ATTACKS:.3g} ({low:.3g} to {high:.3g})"
    label = f"singling out (of all queries; of {ATTACKS})"
    times = in_seconds(seconds["singling_out"]), in_seconds(taken)
    lines = [["Anonymeter", label, number(ours["singling out"]), value, *times]]
    rates, taken = told.get("linkability", (None, None))
    value = _late(told)
    if rates:
        error = np.std(rates) / np.sqrt(len(rates) - 1)
        value, taken = f"{np.mean(rates):.3g} ± {error:.2g}", taken / orders
    label = f"linkability (expected; mean of {orders} orders)"
    times = in_seconds(seconds["linkability"]), in_seconds(taken)
    mine = number(ours["linkability"])
    return [*lines, ["Anonymeter", label, mine, value, *times]]


HEADS = ["package", "measure", "ours", "theirs", "our seconds", "their seconds"]


def origin_of(theirs):
    """Return what a table says of its origin, with the versions of the packages."""
    said = [
        f", {name} {told['version']}"
        for name, told in theirs.items()
        if "version" in told
    ]
    return f"Generated; do not edit. {origin('numpy', 'numba')}{''.join(said)}.\n\n"


def ends(first, again):
    """Return a sentence on the seconds of all measures together."""
    return (
        f"\n\nAll our measures together: {in_seconds(first)} s in the first call of a "
        f"process, {in_seconds(again)} s in the second."
    )


def small():
    """Return the table of the simulated files."""
    everybody = population(20_000, 1)
    original, holdout = (
        rows(everybody, slice(at, at + RECORDS)) for at in (0, RECORDS)
    )
    released = perturbed(original, 0.2, np.random.default_rng(2))
    files = {"original": original, "released": released, "holdout": holdout}
    _, first = timed(lambda: measured(*files.values()))
    found, seconds = clocked(*files.values())
    ours = figures_of(found)
    theirs = by_peers(in_words(files), setting())
    lines = compared(ours, seconds, theirs)
    lines += attacked(ours, seconds, theirs["Anonymeter"])
    again = ends(first, seconds["whole"])
    return origin_of(theirs) + table(HEADS, lines, 2) + again


def adult():
    """Return the table of the persons of 1994, released by SDV; None without them."""
    if not (FOLDER / ADULT).exists() or peers.lacking(peers.PYTHON):
        return None
    with (FOLDER / ADULT).open(newline="") as lines:
        people = [*csv.DictReader(lines, delimiter=";")]
    keys, target = list(FILES[ADULT].keys), FILES[ADULT].names["INCOME"]
    names = {name: name.replace("-", "_") for name in (*keys, target)}  # as R has them
    columns = {new: [one[old] for one in people] for old, new in names.items()}
    keys, target = [names[name] for name in keys], names[target]
    files = {"original": columns, "released": peers.synthesized(columns)}
    how = {"keys": keys, "target": target, "numbers": []}
    arrays = [
        {name: np.array(column) for name, column in file.items()}
        for file in files.values()
    ]
    _, first = timed(lambda: measured(*arrays, **how))
    found, seconds = clocked(*arrays, **how)
    ours, orders = figures_of(found), 3
    theirs = by_peers(files, setting(orders, **how))
    lines = compared(ours, seconds, theirs)
    lines += attacked(ours, seconds, theirs["Anonymeter"], orders)
    again = ends(first, seconds["whole"])
    return origin_of(theirs) + table(HEADS, lines, 2) + again


def right_claims(file, everybody):
    """Return repU of a copy of a file, and the share of its claims that are right."""
    own, all_of_them = coded_together([file, everybody])
    records, people = (
        np.bincount(one, minlength=all_of_them.max() + 1) for one in (own, all_of_them)
    )
    alone = records == 1
    right = np.count_nonzero(alone & (people == 1))
    claimed = measured(file, file).figures["repU"]
    return f"repU {claimed:.1f} %, right {100 * right / np.count_nonzero(alone):.1f} %"


def coded_together(files):
    """Return for each file the number of the keys of each record."""
    return number_together([coded([x[name] for x in files]) for name in KEYS])


def examples():
    """Return rows of what each measure does not see: two cases and their figures."""
    rng = np.random.default_rng(7)
    everybody = population(40_000, 3)
    n = 4000
    original = rows(everybody, slice(n))
    plain, copies = margins(original, rng), with_copies(original, 0.05, rng)
    release = perturbed(original, 0.2, rng)
    return [
        [
            "repU", "copy of a sample of 10 %",
            right_claims(original, everybody), "copy of the population",
            right_claims(everybody, everybody),
        ],
        *_about_targets(everybody, original, release),
        *_about_distances(original, plain, copies),
        *_about_attacks(everybody, original, release),
    ]  # fmt: skip


def _about_targets(everybody, original, release):
    skewed = {**everybody, TARGET: (everybody[TARGET] > 4).astype(np.uint8)}
    n = len(original[TARGET])
    first, second = rows(skewed, slice(n)), rows(skewed, slice(n, 2 * n))
    nothing = margins(first, np.random.default_rng(8))
    who = "persons of the original", "persons of a holdout"
    found = [
        f"{figures_of(measured(one, nothing))['DiSCO']:.1f} %"
        for one in (first, second)
    ]
    lines = [["DiSCO", f"margins, {who[0]}", found[0], who[1], found[1]]]
    shown = []
    for file in (release, rows(release, slice(200))):
        found = figures_of(measured(original, file))
        shown.append(f"{found['TCAP']:.1f} %, DiSCO {found['DiSCO']:.1f} %")
    return [
        *lines,
        ["TCAP", f"{n:,} perturbed records", shown[0], "200 of them", shown[1]],
    ]


def _about_distances(original, plain, copies):
    one, other = (measured(original, file).figures for file in (plain, copies))
    labels = "margins", "margins and 5 % copies"
    return [
        [name, labels[0], f"{one[name]:.4f}", labels[1], f"{other[name]:.4f}"]
        for name in ("DCR", "NNDR")
    ]


def _about_attacks(everybody, original, release):
    one, other = (
        f"{100 * measured(x, release).figures['singling out']:.1f} %"
        for x in (original, everybody)
    )
    four = {"keys": ["REGION", "SEX", "MARSTAT", "HHSIZE"], "numbers": []}
    links = measured(original, original, **four).figures["linkability"]
    return [
        ["singling out", "one person of the original", one,
         "one person of the population", other],
        ["linkability", "the original itself, 2 and 2 keys", f"{100 * links:.3f} %",
         "by chance", f"{100 / len(original[TARGET]):.3f} %"],
    ]  # fmt: skip


def times():
    """Return the rows of the seconds of a large file of ten keys and two numbers."""
    rng = np.random.default_rng(1)
    levels = [2, 5, 8, 4, 3, 6, 2, 7, 9, 12]
    keys = [f"key {j}" for j in range(len(levels))]

    def file():
        kind = rng.integers(0, 3, MANY)
        codes = [(rng.random(MANY) ** (1 + kind) * k).astype(np.uint8) for k in levels]
        numbers = {name: rng.lognormal(size=MANY) for name in NUMBERS}
        target = rng.integers(0, 5, MANY).astype(np.uint8)
        return dict(zip(keys, codes, strict=True)) | numbers | {TARGET: target}

    files = [file() for _ in range(3)]
    lines = []
    for label, n, numbers in (
        ("original and release", 2, []),
        ("and holdout, two numbers", 3, NUMBERS),
    ):
        _, seconds = clocked(*files[:n], keys=keys, numbers=numbers)
        lines.append([label, in_seconds(seconds["whole"])])
        lines.append([f"{label}, processor time", in_seconds(seconds["busy"])])
    lines += [[name, in_seconds(seconds[part])] for name, part in NAMES]
    return lines


def show(name, text):
    """Print a text and put it into its section of the page."""
    print(text)
    replace(PAGE, name, text)


def main():
    made = f"Generated; do not edit. {origin('numpy', 'numba')}.\n\n"
    if "--examples" in sys.argv:
        heads = ["measure", "file", "figure", "beside", "figure"]
        show("known_examples", made + table(heads, examples(), texts=5))
    elif "--adult" in sys.argv:
        text = adult()
        if text is None:
            print(f"no {ADULT} in RISKCORE_POPULATIONS, or no SDV", file=sys.stderr)
        else:
            show("known_adult", text)
    else:
        show("known_measures", small())
        heads = ["of 1,000,000 x 10 keys", "seconds"]
        show("known_times", made + table(heads, times()))


if __name__ == "__main__":
    main()
