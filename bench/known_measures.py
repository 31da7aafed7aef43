"""Measures of released files that others report, beside their packages.

    python -m bench.known_measures              # the tables and times
    python -m bench.known_measures --examples   # what each does not see: no peers

The files are simulated: an original, a holdout of the same population and a release in
which every value was replaced with probability 1/5 by that of another record.
`_audit_peers.py` says which packages run, and where they are. Without one, its numbers
are empty.
"""

import sys

import numpy as np

from bench import _audit_peers as peers
from bench._common import HERE, origin, replace, table, timed
from riskcore.auditing.cell_trees import MixedRecords
from riskcore.auditing.closest_two import two_closest
from riskcore.auditing.common_cells import (
    TargetValues,
    agreeing,
    count_cells,
    count_targets,
)
from riskcore.auditing.known_attacks import (
    linkability,
    singling_out,
    success_rate,
)
from riskcore.auditing.known_distances import (
    closest_record,
    holdout_share,
    overfitting_protection,
    ranges_of,
)
from riskcore.auditing.known_measures import (
    beta_likeness,
    correct_attribution,
    delta_presence,
    disclosive,
    generalized_attribution,
    k_map,
    replicated_uniques,
    sdmetrics_attribution,
    targeted_attribution,
)
from riskcore.simulate import microdata

PAGE = HERE.parent / "notes" / "audit_measures.md"
KEYS = ["REGION", "SEX", "AGE", "MARSTAT", "CITIZENSHIP", "HHSIZE"]
TARGET, NUMBERS = "EDUCATION", ["INCOME", "MEMBERS"]
LEVELS = [12, 2, 100, 4, 60, 8]
VALUES = 6
SIDES = [[0, 1, 2], [3, 4, 5]]
RECORDS, MANY = 2000, 1_000_000
ORDERS, ATTACKS = 20, 500


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


def keys_of(file):
    """Return the codes of the keys of a file."""
    return [file[name] for name in KEYS]


def mixed(file):
    """Return the keys and the numbers of a file."""
    return MixedRecords(keys_of(file), np.stack([file[x] for x in NUMBERS], axis=1))


def distinct(file, numbers=()):
    """Return a file without repeated records, as Anonymeter takes it."""
    columns = [*keys_of(file), *(file[name] for name in numbers)]
    once = np.unique(np.stack(columns, axis=1), axis=0)
    codes = once[:, : len(KEYS)].astype(np.uint8)
    return MixedRecords([*codes.T], once[:, len(KEYS) :].astype(float))


def cells_of(*files):
    """Return the common cells of the keys of files."""
    return count_cells([keys_of(one) for one in files], LEVELS)


def targets_of(original, released):
    """Return the target within the common cells of two files."""
    cells = cells_of(original, released)
    return count_targets(cells, original[TARGET], released[TARGET], VALUES)


def distances(original, released, *more):
    """Return the distances of a release to the closest records of an original."""
    few = mixed(original)
    ranges = ranges_of(few.numbers, *(mixed(one).numbers for one in more))
    return two_closest(mixed(released), few, LEVELS, ranges)


def found(original, released, holdout):
    """Return all figures and the seconds of each function."""
    figures, seconds = {}, {}

    def take(name, work):
        figures[name], seconds[name] = timed(work)
        return figures[name]

    cells = take("cells", lambda: cells_of(original, released))
    targets = take("targets", lambda: targets_of(original, released))
    take("uniques", lambda: replicated_uniques(cells))
    take("disclosive", lambda: disclosive(targets))
    take("cap", lambda: correct_attribution(targets))
    take("tcap", lambda: targeted_attribution(targets))
    values = TargetValues(original[TARGET], released[TARGET], VALUES)
    keys = keys_of(original), keys_of(released), LEVELS
    take("gcap", lambda: generalized_attribution(agreeing(*keys, values)))
    figures["sdmetrics"] = sdmetrics_attribution(figures["cap"], figures["gcap"])
    take("beta", lambda: beta_likeness(targets))
    take("presence", lambda: delta_presence(*cells.records))
    take("k-map", lambda: k_map(*cells.records))
    near = take("distances", lambda: distances(original, released))
    far = distances(holdout, released)
    figures["overfitting"] = overfitting_protection(near.first, far.first)
    everybody = original, released, holdout
    near = distances(original, released, *everybody)
    far = distances(holdout, released, *everybody)
    figures["closest"] = closest_record(near, len(KEYS) + len(NUMBERS))
    figures["share"] = holdout_share(near.first, far.first)
    for name, columns in (("singling out", ()), ("with numbers", NUMBERS)):
        files = [distinct(one, columns) for one in (released, original)]
        take(name, lambda files=files: singling_out(*files, LEVELS))
    take("linkability", lambda: linkability(*keys, *SIDES))
    return figures, seconds


def number(value, digits=6):
    """Return a number for a table, nothing for None."""
    return "" if value is None else f"{value:.{digits}g}"


def in_words(files):
    """Return files with words for codes, as other packages know categories."""
    return {
        name: {
            column: values if column in NUMBERS else [f"v{x:03d}" for x in values]
            for column, values in one.items()
        }
        for name, one in files.items()
    }


def setting(orders=ORDERS):
    """Return what the packages are told beside the files."""
    return {
        "keys": KEYS,
        "target": TARGET,
        "numbers": NUMBERS,
        "attacks": ATTACKS,
        "sides": [[KEYS[key] for key in side] for side in SIDES],
        "orders": orders,
    }


def by_peers(files):
    """Return what the packages find, by package; nothing of one that is not here."""
    told = {}
    for package, variable, run in (
        ("synthpop", peers.SYNTHPOP, peers.in_r),
        ("riskutility", peers.RISKUTILITY, peers.in_r),
        ("SDMetrics", peers.PYTHON, peers.in_python),
        ("Anonymeter", peers.PYTHON, peers.in_python),
    ):
        missing = peers.lacking(variable)
        if missing:
            print(f"{package}: {missing}", file=sys.stderr)
        told[package] = {} if missing else run(package, in_words(files), setting())
    return told


def row(package, name, ours, theirs, seconds, their_seconds):
    """Return a row of the comparison; numbers may be None."""
    their = theirs if isinstance(theirs, str) else number(theirs)
    times = number(seconds, 2), number(their_seconds, 2)
    return [package, name, number(ours), their, *times]


def beside_synthpop(ours, seconds, told):
    """Return the rows of synthpop's percentages and numbers."""
    lines = []
    taken = told.get("disclosure.seconds", [None])[0]
    for part, unit, names in (
        ("uniques", 1.0, ["UiO", "UiS", "UiOiS", "repU"]),
        ("disclosive", 1.0, ["Dorig", "Dsyn", "iS", "DiS", "DiSCO", "DiSDiO"]),
        ("disclosive", 1.0, ["max_denom", "mean_denom"]),
        ("cap", 100.0, ["baseCAPd", "CAPd", "CAPs", "DCAP"]),
        ("tcap", 100.0, ["TCAP matched"]),
    ):
        for name in names:
            their = told.get(name.partition(" ")[0], [None])[0]
            label = name + " (in %)" * (unit == 100.0)
            mine = unit * ours[part][name]
            lines.append(row("synthpop", label, mine, their, seconds[part], taken))
    taken = told.get("replicated.seconds", [None])[0]
    their = told.get("replicated", [None] * 4)
    for at, name in ((2, "synthetic uniques in original"), (3, "replicated uniques")):
        mine = ours["uniques"][name]
        lines.append(row("synthpop", name, mine, their[at], seconds["uniques"], taken))
    return lines


def beside_riskutility(ours, seconds, told):
    """Return the rows of riskutility's functions, each with its figures in order."""
    lines = []
    distances = [("closest", "DCR"), ("share", "closer"), ("closest", "NNDR")]
    certain = [("tcap", name) for name in ("TCAP certain", "TCAP matched", "TCAP")]
    presence = [("presence", name) for name in ("delta_min", "delta_max", "mean")]
    for function, package, unit, figures in (
        ("tcap", "riskutility", 100.0, certain),
        ("dcap", "riskutility", 1.0, [("cap", "CAP")]),
        ("delta_presence", "riskutility", 1.0, presence),
        ("nndr", "riskutility", 1.0, distances),
        ("gower", "riskutility, categories named", 1.0, distances),
    ):
        their = told.get(function, [None] * 4)
        taken = told.get(f"{function}.seconds", [None])[0]
        for at, (part, name) in enumerate(figures):
            label = name + ", median" * (part == "closest") + " (in %)" * (unit > 1.0)
            own = seconds["distances" if figures is distances else part]
            mine = unit * ours[part][name]
            lines.append(row(package, label, mine, their[at], own, taken))
    return lines


def beside_sdmetrics(ours, seconds, told):
    """Return the rows of SDMetrics' scores."""
    lines = []
    for name, work in (
        ("CategoricalCAP", "cap"),
        ("CategoricalZeroCAP", "cap"),
        ("CategoricalGeneralizedCAP", "gcap"),
        ("DCROverfittingProtection", "distances"),
    ):
        part = "overfitting" if work == "distances" else "sdmetrics"
        their, taken = told.get(name, (None, None))
        lines.append(
            row("SDMetrics", name, ours[part][name], their, seconds[work], taken)
        )
    return lines


def beside_anonymeter(ours, seconds, told):
    """Return the rows of Anonymeter's attacks, with the errors of its draws."""
    lines = []
    single, mixed_ones = ours["singling out"], ours["with numbers"]
    for name, label, mine, at in (
        ("singling out", "3 keys", single.successes / single.queries, 0),
        ("singling out", "3 keys at random", single.baseline, 1),
        ("with numbers", "3 columns", mixed_ones.successes / mixed_ones.queries, 0),
    ):
        found, taken = told.get(name, (None, None))
        their = None
        if found:
            low, high = success_rate(found[at], ATTACKS).interval
            their = f"{found[at] / ATTACKS:.3g} ({low:.3g} to {high:.3g})"
        label = f"singling out, {label}: right (of all; of {ATTACKS})"
        lines.append(row("Anonymeter", label, mine, their, seconds[name], taken))
    links, taken = told.get("linkability", (None, None))
    their = None
    if links:
        error = np.std(links) / np.sqrt(len(links) - 1)
        their, taken = f"{np.mean(links):.3g} ± {error:.2g}", taken / ORDERS
    label = f"linkability, links (expected; mean of {ORDERS} orders)"
    own = seconds["linkability"]
    lines.append(row("Anonymeter", label, ours["linkability"], their, own, taken))
    return lines


BESIDE = {
    "synthpop": beside_synthpop,
    "riskutility": beside_riskutility,
    "SDMetrics": beside_sdmetrics,
    "Anonymeter": beside_anonymeter,
}


def right_claims(file, everybody):
    """Return repU of a copy of a file, and the share of its claims that are right."""
    cells = cells_of(file, everybody)
    alone = cells.records[0] == 1
    right = np.count_nonzero(alone & (cells.records[1] == 1))
    claimed = replicated_uniques(cells_of(file, file))["repU"]
    return f"repU {claimed:.1f} %, right {100 * right / np.count_nonzero(alone):.1f} %"


def examples():
    """Return rows of what each measure does not see: two cases and their figures."""
    rng = np.random.default_rng(7)
    everybody = population(40_000, 3)
    n = 4000
    original, holdout = rows(everybody, slice(n)), rows(everybody, slice(n, 2 * n))
    plain, copies = margins(original, rng), with_copies(original, 0.05, rng)
    release = perturbed(original, 0.2, rng)
    return [
        [
            "replicated uniques", "copy of a sample of 10 %",
            right_claims(original, everybody), "copy of the population",
            right_claims(everybody, everybody),
        ],
        *_about_targets(everybody, original, holdout, release, plain),
        *_about_distances(original, holdout, plain, copies),
        *_about_attacks(everybody, original, release),
        *_about_presence(everybody, original, plain, copies),
    ]  # fmt: skip


def _about_targets(everybody, original, holdout, release, plain):
    skewed = {**everybody, TARGET: (everybody[TARGET] > 4).astype(np.uint8)}
    n = len(original[TARGET])
    first, second = rows(skewed, slice(n)), rows(skewed, slice(n, 2 * n))
    nothing = margins(first, np.random.default_rng(8))
    found = [
        f"{disclosive(targets_of(one, nothing))['DiSCO']:.1f} %"
        for one in (first, second)
    ]
    persons = "persons of the original", "persons of a holdout"
    lines = [["DiSCO", f"margins, {persons[0]}", found[0], persons[1], found[1]]]
    caps, gcaps = [], []
    for file in (original, holdout):
        cap = correct_attribution(targets_of(file, release))["CAP"]
        values = TargetValues(file[TARGET], release[TARGET], VALUES)
        closest = agreeing(keys_of(file), keys_of(release), LEVELS, values)
        caps.append(f"{cap:.3f}")
        gcaps.append(f"{generalized_attribution(closest)['GCAP']:.3f}")
    lines.append(["CAP", f"perturbed, {persons[0]}", caps[0], persons[1], caps[1]])
    lines.append(["GCAP", f"perturbed, {persons[0]}", gcaps[0], persons[1], gcaps[1]])
    shown = []
    for file in (release, rows(release, slice(200))):
        targets = targets_of(original, file)
        shown.append(
            f"{100 * targeted_attribution(targets)['TCAP']:.1f} %, "
            f"DiSCO {disclosive(targets)['DiSCO']:.1f} %"
        )
    lines.append(
        ["TCAP", f"{n:,} perturbed records", shown[0], "200 of them", shown[1]]
    )
    one, other = (
        f"{beta_likeness(targets_of(original, file))['beta']:.1f}"
        for file in (original, plain)
    )
    return [*lines, ["beta-likeness", "the original itself", one, "margins", other]]


def _about_distances(original, holdout, plain, copies):
    columns = len(KEYS) + len(NUMBERS)
    near = [distances(original, one) for one in (plain, copies)]
    far = [distances(holdout, one) for one in (plain, copies)]
    cases = "margins", "margins and 5 % copies"
    lines = []
    for figure in ("DCR", "NNDR"):
        one, other = (f"{closest_record(x, columns)[figure]:.4f}" for x in near)
        lines.append([f"{figure}, median", cases[0], one, cases[1], other])
    one, other = (
        f"{holdout_share(x.first, y.first)['DCR share']:.3f}"
        for x, y in zip(near, far, strict=True)
    )
    lines.append(["DCR share", cases[0], one, cases[1], other])
    few = [0, 1, 3]
    scores = []
    for file in (original, plain):
        to = [
            two_closest(
                MixedRecords.of_categories([keys_of(file)[key] for key in few]),
                MixedRecords.of_categories([keys_of(one)[key] for key in few]),
                [LEVELS[key] for key in few],
                np.zeros(0),
            ).first
            for one in (original, holdout)
        ]
        scores.append(f"{overfitting_protection(*to)['DCROverfittingProtection']:.3f}")
    lines.append(
        ["DCROverfittingProtection", "the original itself, 3 keys", scores[0],
         "margins", scores[1]]
    )  # fmt: skip
    return lines


def _about_attacks(everybody, original, release):
    persons, whole = (
        singling_out(
            MixedRecords.of_categories(keys_of(release)),
            MixedRecords.of_categories(keys_of(one)),
            LEVELS,
        )
        for one in (original, everybody)
    )
    one, other = (f"{100 * x.successes / x.queries:.1f} %" for x in (persons, whole))
    n = len(original[TARGET])
    links = linkability(keys_of(original), keys_of(original), LEVELS, [0, 1], [3, 5])
    return [
        ["singling out", "one person of the original", one,
         "one person of the population", other],
        ["linkability", "the original itself, 2 and 2 keys", f"{100 * links / n:.3f} %",
         "by chance", f"{100 / n:.3f} %"],
    ]  # fmt: skip


def _about_presence(everybody, original, plain, copies):
    one, other = (
        f"{delta_presence(*cells_of(original, file).records)['delta_max']:.0f}"
        for file in (plain, original)
    )
    k = [
        f"k = {k_map(*cells_of(everybody, file).records)['k']:.0f}"
        for file in (plain, copies)
    ]
    return [
        ["delta-presence", "margins", f"delta_max {one}", "the original itself",
         f"delta_max {other}"],
        ["k-map", "margins", k[0], "margins and 5 % copies", k[1]],
    ]  # fmt: skip


def times():
    """Return the rows of the seconds of a large file of ten keys."""
    rng = np.random.default_rng(1)
    levels = [2, 5, 8, 4, 3, 6, 2, 7, 9, 12]

    def file():
        kind = rng.integers(0, 3, MANY)
        return [(rng.random(MANY) ** (1 + kind) * k).astype(np.uint8) for k in levels]

    original, released = file(), file()
    first, second = (rng.integers(0, 5, MANY).astype(np.uint8) for _ in range(2))
    sides = [0, 1, 2, 3, 4], [5, 6, 7, 8, 9]
    numbers = [rng.lognormal(size=(MANY, 2)) for _ in range(2)]
    four = [
        MixedRecords(one[:4], x)
        for one, x in zip((released, original), numbers, strict=True)
    ]
    lines = []

    def take(name, work):
        made, seconds = timed(work)
        lines.append([name, f"{seconds:.2g}"])
        return made

    files = original, released
    target = TargetValues(first, second, 5)
    cells = take("cells of both files", lambda: count_cells(files, levels))
    targets = take("targets in them", lambda: count_targets(cells, first, second, 5))
    take("uniques, repU", lambda: replicated_uniques(cells))
    take("DiSCO and its like", lambda: disclosive(targets))
    take("CAP, DCAP", lambda: correct_attribution(targets))
    take("TCAP", lambda: targeted_attribution(targets))
    take("beta-likeness", lambda: beta_likeness(targets))
    take("delta-presence", lambda: delta_presence(*cells.records))
    take("k-map", lambda: k_map(*cells.records))
    take("GCAP", lambda: agreeing(*files, levels, target))
    take(
        "singling out, 120 sets of 3 keys",
        lambda: singling_out(*map(MixedRecords.of_categories, files), levels),
    )
    take("linkability", lambda: linkability(*files, levels, *sides))
    take(
        "DCR and NNDR, 4 keys and 2 numbers",
        lambda: two_closest(*four, levels[:4], ranges_of(*numbers)),
    )
    return lines


def show(name, text):
    """Print a text and put it into its section of the page."""
    print(text)
    replace(PAGE, name, text)


def main():
    heads = ["measure", "file", "figure", "beside", "figure"]
    if "--examples" in sys.argv:
        made = "Generated; do not edit. " + origin("numpy", "numba") + ".\n\n"
        show("known_examples", made + table(heads, examples(), texts=5))
        return
    everybody = population(20_000, 1)
    original, holdout = (
        rows(everybody, slice(at, at + RECORDS)) for at in (0, RECORDS)
    )
    files = {
        "original": original,
        "released": perturbed(original, 0.2, np.random.default_rng(2)),
        "holdout": holdout,
    }
    found(**files)  # compiled
    ours, seconds = found(**files)
    theirs = by_peers(files)
    heads = ["package", "measure", "ours", "theirs", "our seconds", "their seconds"]
    versions = {name: told.get("version") for name, told in theirs.items()}
    said = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    made = f"Generated; do not edit. {origin('numpy', 'numba')}, {said}.\n\n"
    lines = [
        line
        for name, beside in BESIDE.items()
        for line in beside(ours, seconds, theirs[name])
    ]
    show("known_measures", made + table(heads, lines, 2))
    made = f"Generated; do not edit. {origin('numpy', 'numba')}.\n\n"
    show("known_times", made + table(["of 1,000,000 x 10 keys", "seconds"], times()))


if __name__ == "__main__":
    main()
