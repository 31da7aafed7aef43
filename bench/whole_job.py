"""Take surveys through the whole job: riskcore and sdcMicro side by side.

    python -m bench.whole_job              # all files that are there, some 15 minutes
    python -m bench.whole_job ses adult    # these alone; the page stays

Each tool gets the same file, keys, recodings, treatments and goals. "Numbers": k = 3,
and at most 1 % of the records are found by their numbers. "Keys and numbers": nor are
they by keys and numbers together. riskcore is used by its command, with a role for
every column, until the verdict is "Safe"; for the first goal the links within the keys
are accepted. A swap that is refused by chance is drawn again. sdcMicro is used by its
own calls; "defaults" are its own treatments. All files meet the same attack, the same
tables and the same regression.

RISKCORE_SDCMICRO names a copy of sdcMicro's repository, RISKCORE_POPULATIONS a folder
with adult.csv, and RISKCORE_SURVEYS one with ses.RData and eusilc.RData of the R
package laeken, ghanaS.RData of simPop, and "Employee data.sav" of savReaderWriter. A
file that is not there is left out. Nothing of them is part of the project.
"""

import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas

import riskcore
from bench import _sdcmicro as peer
from bench import relink
from bench._common import HERE, origin, replace, table
from riskcore.data.recoding_words import recoding_of
from riskcore.protection.release.record import read_record

PAGE = HERE.parent / "notes" / "guide.md"
FOLDER = HERE.parent / "build" / "whole_job"
AGES = "from:15,30,45,60"
DRAWS = 5


class Job(NamedTuple):
    """A file, and what an office decides about it."""

    name: str
    file: str  # in FOLDER
    keys: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    weight: str = ""
    recode: dict[str, str] = {}  # noqa: RUF012
    roles: dict[str, str] = {}  # noqa: RUF012
    drop: tuple[str, ...] = ()
    model: str = ""
    pram: str = ""
    hidden: tuple[str, ...] = ()  # rules until few are found by their numbers
    unlinked: tuple[str, ...] = ()  # rules until few are by keys and numbers, too
    cost: tuple[str, ...] = ()  # keys that other columns would show
    spare: tuple[str, ...] = ()  # keys that both tools shall spare


def each(numbers, rule):
    """Return a rule for each of some numbers."""
    return tuple(f"{name}={rule}" for name in numbers)


def jobs():
    """Return the jobs in the order of the table."""
    amounts = ("expend", "income", "savings")
    yield Job(
        "testdata",
        "testdata.csv",
        ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age"),
        amounts,
        weight="sampling_weight",
        recode={"age": AGES},
        roles={"hhcivil": "sensitive"},
        drop=("ori_hid", "household_weights"),
        model="income ~ sex + age + hhcivil",
        pram="hhcivil",
        hidden=each(amounts, "swap:50%"),
        unlinked=each(amounts, "swap:99%:within=sex+age"),
    )
    incomes = ("py010n", "py090n", "py100n", "eqIncome")
    yield Job(
        "eusilc",
        "eusilc.csv",
        ("db040", "hsize", "age", "rb090", "pl030", "pb220a"),
        incomes,
        weight="rb050",
        recode={"age": "from:16,30,45,60,75", "hsize": "top:5"},
        drop=(
            "db030", "rb030", "db090", "eqSS", "py050n", "py110n", "py120n", "py130n",
            "py140n", "hy040n", "hy050n", "hy070n", "hy080n", "hy090n", "hy110n",
            "hy130n", "hy145n",
        ),
        model="py010n ~ rb090 + age + pl030",
        hidden=("+".join(incomes) + "=microaggregate:150",),
        unlinked=each(incomes, "swap:99%:within=rb090+pl030"),
        cost=("hsize=never", "db040=never", "age=500", "pl030=500"),
    )  # fmt: skip
    earned = ("earnings", "earningsHour", "hoursPaid")
    yield Job(
        "ses",
        "ses.csv",
        ("location", "NACE1", "size", "sex", "age", "education", "occupation"),
        earned,
        weight="weights",
        roles=dict.fromkeys(
            ("contract", "fullPart", "lengthService", "economicFinanc", "payAgreement"),
            "sensitive",
        ),
        recode={"occupation": "truncate:1"},
        drop=(
            "IDunit", "weightsEmployers", "weightsEmployees", "weeks", "overtimeHours",
            "shareNormalHours", "holiday", "notPaid", "earningsOvertime",
            "paymentsShiftWork", "earningsMonth",
        ),
        model="earningsHour ~ sex + age + education",
        pram="contract",
        hidden=("+".join(earned) + "=microaggregate:150", "weights=share-weights:5"),
        unlinked=(
            *each(earned, "swap:99%:within=sex+education"),
            "weights=share-weights:5",
        ),
        cost=("size=never", "location=never", "NACE1=500"),
    )  # fmt: skip
    sales = ("RESREVENUE", "RESSALES", "TOTREVENUE", "TOTSALES")
    yield Job(
        "EIA",
        "EIA.csv",
        ("STATE",),
        sales,
        roles={"MONTH": "sensitive", "YEAR": "harmless"},
        drop=(
            "UTILITYID", "UTILNAME", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES",
            "OTHREVENUE", "OTHRSALES",
        ),
        model="RESREVENUE ~ RESSALES",
        pram="MONTH",
        hidden=("+".join(sales) + "=microaggregate:100",),
        unlinked=each(sales, "swap:99%:within=STATE"),
    )  # fmt: skip
    adult = Job(
        "adult",
        "adult.csv",
        ("sex", "age", "race", "marital-status", "education", "workclass",
         "occupation"),
        recode={"age": "from:25,35,45,55,65"},
        roles={"salary-class": "sensitive"},
        drop=("native-country",),
        model="salary-class ~ sex + race + education",
        pram="salary-class",
    )  # fmt: skip
    yield adult
    spare = ("sex", "race", "education")
    yield adult._replace(name="adult, studied keys spared", spare=spare)
    yield Job(
        "ghana, Stata",
        "ghana.dta",
        ("region", "sex", "age", "relate", "ethnic", "religion", "occupation"),
        ("income",),
        weight="weight",
        recode={"age": AGES},
        roles={"highest_degree": "sensitive"},
        drop=("hhid", "clust", "hsize", "nation"),
        model="income ~ sex + age + region",
        pram="highest_degree",
        hidden=("income=microaggregate:100",),
        unlinked=each(("income",), "swap:99%:within=region+sex+age"),
        cost=("region=never", "sex=never"),
    )
    pay = ("SALARY", "SALBEGIN", "PREVEXP")
    yield Job(
        "employee, SPSS",
        "employee.sav",
        ("GENDER", "EDUC", "JOBCAT", "MINORITY"),
        pay,
        recode={"EDUC": "from:12,15,16,17"},
        roles={"JOBTIME": "sensitive"},
        drop=("ID", "BDATE"),
        model="SALARY ~ GENDER + EDUC",
        pram="JOBTIME",
        hidden=each(pay, "swap:40%"),
        unlinked=each(pay, "swap:99%:within=JOBCAT"),
        cost=("JOBCAT=never",),
    )


IN_R = """\
from <- function(file) as.data.frame(get(load(file.path("{folder}", file))))
to <- function(data, file) write.csv(data, file, row.names = FALSE, na = "")
if (file.exists("{folder}/eusilc.RData")) to(from("eusilc.RData"), "eusilc.csv")
if (file.exists("{folder}/ses.RData")) {{
  data <- from("ses.RData")
  data$IDunit <- trimws(as.character(data$IDunit))
  to(data, "ses.csv")
}}
if (file.exists("{folder}/ghanaS.RData"))
  foreign::write.dta(from("ghanaS.RData"), "ghana.dta", convert.factors = "labels")
"""


def prepare():
    """Write the files that are there into FOLDER."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    surveys, populations = (
        os.environ.get(f"RISKCORE_{name}") for name in ("SURVEYS", "POPULATIONS")
    )
    if not (FOLDER / "testdata.csv").exists():
        for name in ("testdata", "EIA"):
            peer.table(name).to_csv(FOLDER / f"{name}.csv", index=False)
    if surveys and not (FOLDER / "ses.csv").exists():
        program = IN_R.format(folder=surveys)
        subprocess.run(["Rscript", "-e", program], cwd=FOLDER, check=True)
        spss = Path(surveys) / "Employee data.sav"
        if spss.exists():
            (FOLDER / "employee.sav").write_bytes(spss.read_bytes())
    if populations:
        adult = (Path(populations) / "adult.csv").read_bytes()
        (FOLDER / "adult.csv").write_bytes(adult)


class Released(NamedTuple):
    """A released file beside its original, row by row the same records."""

    before: pandas.DataFrame  # with the recodings
    after: pandas.DataFrame
    steps: int
    seconds: float
    says: str

    @classmethod
    def of(cls, before, after, *rest):
        """Return both files with their numbers as numbers."""
        frames = [
            pandas.DataFrame({name: plain(frame[name]) for name in after})
            for frame in (before.reset_index(drop=True), after)
        ]
        return cls(*frames, *rest)


def plain(column):
    """Return a column as numbers if it has no other values, otherwise as text."""
    found = relink.numbers(column)
    return column.astype("string") if found is None else found


def command_line(job, rules, output):
    """Return the words of the command that protects a file."""
    roles = job.roles | dict.fromkeys(job.numbers, "numeric")
    options = {
        "--keys": job.keys,
        "--weight": [job.weight] if job.weight else [],
        "--recode": [f"{name}={rule}" for name, rule in job.recode.items()],
        "--role": [f"{name}={role}" for name, role in roles.items()],
        "--drop": job.drop,
        "--cost": [*job.cost, *(f"{name}=500" for name in job.spare)],
        "--treat": rules,
    }
    words = ["protect", str(FOLDER / job.file), "--k", "3", "--shuffle", "--quiet"]
    for name, given in options.items():
        words += [name, *given] if given else []
    return [*words, "--output", output]


def by_riskcore(job, rules, accepted=()):
    """Return what riskcore releases, None if it refuses every draw.

    ``accepted`` are numbers whose links within the keys are accepted.
    """
    python = [sys.executable, "-m", "riskcore"]
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / f"safe{Path(job.file).suffix}")
        start = children_seconds()
        look = [*python, "describe", str(FOLDER / job.file), "--quiet"]
        subprocess.run(look, capture_output=True, check=True)
        words = command_line(job, rules, output)
        if accepted:
            reasons = [f"{name}=known only roughly" for name in accepted]
            words += ["--accept", *reasons]
        said, draws = released_by([*python, *words])
        if said is None:
            return None
        seconds = children_seconds() - start
        record = read_record(f"{output}.private.json")
        before = relink.frame_of(FOLDER / job.file)
        rows = relink.order_of(before, record)
        before = recoded(before, job, record.settings.recodings).iloc[rows]
        after = relink.frame_of(output)
        after = in_words(before, after, output, job.recode)
    verdict = next(one for one in said.splitlines() if "with the keys" in one)
    says = verdict.strip().partition(" with")[0] + ", accepted" * bool(accepted)
    return Released.of(before, after, 1 + draws, seconds, says)


def released_by(command):
    """Return what a command that releases says, None if it refuses, and its draws."""
    for draws in range(1, DRAWS + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.returncode:
            return done.stdout, draws
        text = done.stdout.partition("Open leaks")[2] or done.stderr
        print(*command[-2:], text.partition("\n  records ")[0], file=sys.stderr)
    return None, DRAWS


def children_seconds():
    """Return the processor seconds of all programs run from here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_words(before, after, path, recoded):
    """Return a safe file with the labels of recoded columns whose categories are words.

    Files of SPSS and Stata have a number and a label for a category such as "< 15".
    """
    labels = labels_of(path)
    shown = {}
    for name in {*recoded} & {*after} & {*labels}:
        if relink.numbers(before[name]) is None:
            words = set(relink.as_labels(before[name]).dropna())
            of_code = {code: one for code, one in labels[name].items() if one in words}
            shown[name] = relink.as_labels(after[name]).replace(of_code)
            assert set(shown[name].dropna()) <= words, name
    return after.assign(**shown)


def labels_of(path):
    """Return the labels of codes by column, those of SPSS and Stata files."""
    import pyreadstat

    readers = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}
    if Path(path).suffix not in readers:
        return {}
    _, found = readers[Path(path).suffix](str(path), metadataonly=True)
    return {
        name: dict(zip(_texts(labels), labels.values(), strict=True))
        for name, labels in found.variable_value_labels.items()
    }


def _texts(codes):
    """Return codes as texts."""
    return relink.as_labels(pandas.Series([*codes]))


def recoded(frame, job, recodings):
    """Return a frame with the recodings of a job."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return riskcore.recode(frame, recodings) if job.recode else frame


BY_SDCMICRO = """\
data <- as.data.frame(fread("data.csv", na.strings = ""))
keys <- c({keys})
for (name in c(keys, {pram})) data[[name]] <- factor(data[[name]])
seconds <- function(call) sum(system.time(call)[c(1, 2, 4, 5)])
set.seed(1)
first <- seconds({{
  sdc <- createSdcObj(data, keyVars = keys, {roles})
  sdc <- localSuppression(sdc, k = 3, importance = {importance})
}})
suppressed <- sdc
swap <- function(...) rankSwap(..., TopPercent = 0, BottomPercent = 0, seed = 1)
# Its rankSwap knows no strata.
swap_within <- function(sdc, names, P) {{
  numbers <- get.sdcMicroObj(sdc, "manipNumVars")
  for (rows in split(seq_len(nrow(data)), do.call(paste, data[names])))
    if (length(rows) > 1)
      numbers[rows, ] <- swap(numbers[rows, , drop = FALSE], P = P)
  dUtility(dRisk(set.sdcMicroObj(sdc, "manipNumVars", list(numbers))))
}}
"""
TREATED = """
set.seed(1)
sdc <- suppressed
tell("seconds{at}", first + seconds({{
  {steps}
  print(sdc)
}}))
tell("risk{at}", if (length(sdc@risk$numeric)) unlist(sdc@risk$numeric) else NaN)
write.csv(extractManipData(sdc), "{folder}/{at}.csv", row.names = FALSE, na = "")
"""


def by_sdcmicro(job, before, treatments):
    """Return what sdcMicro releases of a recoded frame, for each list of calls."""
    roles = {
        "numVars": job.numbers,
        "pramVars": [job.pram] if job.pram else [],
        "weightVar": [job.weight] if job.weight else [],
    }
    said = [f"{name} = c({quoted(given)})" for name, given in roles.items() if given]
    used = {*job.keys, *job.numbers, *job.roles, job.weight}
    frame = before[[name for name in before if name in used]]
    names = {name: f"v{at}" for at, name in enumerate(frame)}
    with tempfile.TemporaryDirectory() as folder:
        program = BY_SDCMICRO.format(
            keys=quoted(job.keys),
            pram=quoted(roles["pramVars"]) or "NULL",
            roles=", ".join(said),
            importance=importance(job),
        )
        for at, calls in enumerate(treatments):
            steps = "\n  ".join(f"sdc <- {call}" for call in calls)
            program += TREATED.format(at=at, steps=steps, folder=folder)
        for name, short in names.items():
            program = program.replace(f'"{name}"', f'"{short}"')
        told = peer.run(program, data=frame.rename(columns=names))
        for at, calls in enumerate(treatments):
            after = pandas.read_csv(Path(folder) / f"{at}.csv")
            ((risk,), (seconds,)) = told[f"risk{at}"], told[f"seconds{at}"]
            says = "" if np.isnan(risk) else f"dRisk {100 * risk:.2f} %"
            # createSdcObj, recodings, localSuppression, these, extract, write.
            count = 4 + len(job.recode) + len(calls)
            after = after.set_axis(list(frame), axis=1)
            yield Released.of(frame, after, count, seconds, says)


def importance(job):
    """Return the importance of each key in words of R, those to be spared first."""
    if not job.spare:
        return "NULL"
    order = [*job.spare, *(name for name in job.keys if name not in job.spare)]
    return f"c({', '.join(str(1 + order.index(name)) for name in job.keys)})"


def calls_of(rules):
    """Return the calls of sdcMicro that treat all numbers as these rules do.

    Its P is a share, although documented as a percentage (notes/errata.md).
    """
    if not rules:
        return []
    method, size, *strata = rules[0].partition("=")[2].split(":")
    if method == "microaggregate":
        return [f"microaggregation(sdc, aggr = {size})"]
    share = float(size.removesuffix("%")) / 100
    if not strata:
        return [f"swap(sdc, P = {share})"]
    names = strata[0].removeprefix("within=").split("+")
    return [f"swap_within(sdc, c({quoted(names)}), P = {share})"]


def quoted(names):
    """Return names as strings of R."""
    return ", ".join(f'"{name}"' for name in names)


def same(before, after):
    """Return where two columns have the same value, missing ones included."""
    pair = relink.numbers(before), relink.numbers(after)
    if pair[0] is not None and pair[1] is not None:
        return np.isclose(*pair, rtol=1e-12, atol=0, equal_nan=True)
    old, new = relink.coded(before, after)
    return old == new


def found(job, released):
    """Return the shares found beyond chance, by what the intruder knows."""
    names = [name for name in (*job.keys, *job.numbers) if name in released.after]
    before, after = released.before[names], released.after[names]
    rows = np.arange(len(after))
    categories, amounts = relink.columns_of(before, after)
    amounts = {name: amounts[name] for name in amounts if name in job.numbers}
    known = {name: categories[name] for name in job.keys if name in categories}
    if not amounts:
        return ["", "", ""]
    numbers = list(job.numbers)
    equal = relink.equal_values(before[numbers], after[numbers], rows)[1]
    shares = [equal - 1 / len(rows)]
    for case in (({}, amounts), (known, amounts)):
        right, chance = relink.linked(*case, rows)
        shares.append(right.mean() - chance.mean())
    return [f"{round(100 * share, 2) + 0.0:.2f} %" for share in shares]


def moved(job, released):
    """Return the largest change of a weighted share of a category of a key."""
    most = 0.0
    for name in job.keys:
        pair = (released.before, released.after)
        codes = relink.coded(*(frame[name] for frame in pair))
        size, shares = max(one.max() for one in codes) + 2, []
        for frame, code in zip(pair, codes, strict=True):
            weights = frame[job.weight].to_numpy(float) if job.weight else None
            sums = np.bincount(code + 1, weights, minlength=size)
            shares.append(sums[1:] / sums.sum())
        most = max(most, np.abs(shares[0] - shares[1]).max())
    return most


def regression(job, released):
    """Return the verdict on a regression, and its largest change in standard errors."""
    frames = [released.before, released.after]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = riskcore.compare(
            *frames, list(job.keys), job.weight or None, models=[job.model]
        )
    (model,) = outcome.models
    moves = [abs(one.difference) for one in model.slopes if one.difference is not None]
    return f"{model.status}, {max(moves, default=float('nan')):.1f} s.e."


def column(job, label, released):
    """Return a column of the table."""
    if released is None:
        return [label, f"refused {DRAWS} times", *[""] * (len(FIGURES) - 2)]
    names = list(released.after)
    before, after = released.before, released.after
    blanks = sum(int((after[n].isna() & before[n].notna()).sum()) for n in names)
    equal = {n: same(before[n], after[n]) | after[n].isna().to_numpy() for n in names}
    altered = sum(int((~one).sum()) for one in equal.values())
    return [
        label,
        released.says,
        str(released.steps),
        f"{released.seconds:.1f}",
        f"{blanks:,}",
        f"{altered:,}",
        *found(job, released),
        f"{100 * moved(job, released):.2f}",
        regression(job, released),
    ]


def section(job):
    """Return the caption and the table of a job."""
    frame = relink.frame_of(FOLDER / job.file)
    columns = [column(job, *one) for one in releases(job, frame)]
    about = f"**{job.name}**: {len(frame):,} records; keys {', '.join(job.keys)}"
    about += f"; numbers {', '.join(job.numbers)}" if job.numbers else ""
    treated = [f"{in_short(rules)} for {goal}" for goal, rules in goals_of(job).items()]
    about += f". Treatment: {', '.join(treated)}" if job.numbers else ""
    about += f". Spared: {', '.join(job.spare)}" if job.spare else ""
    return f"{about}.\n\n{side_by_side(columns)}"


def side_by_side(columns):
    """Return a table with a row for each figure that there is."""
    header, *rows = zip(FIGURES, *columns, strict=True)
    return table(header, [row for row in rows if any(row[1:])])


def goals_of(job):
    """Return the rules for each goal."""
    if not job.numbers:
        return {"keys": ()}
    return {"numbers": job.hidden, "keys and numbers": job.unlinked}


def releases(job, frame):
    """Yield a label and a release for each goal and tool."""
    goals = goals_of(job)
    frame = recoded(frame, job, recodings_of(job))
    calls = [calls_of(rules) for rules in goals.values()] + [*defaults(job).values()]
    theirs = by_sdcmicro(job, frame, calls)
    for goal, rules in goals.items():
        accepted = job.numbers if goal == "numbers" else ()
        yield f"{goal}: riskcore", by_riskcore(job, rules, accepted)
        yield f"{goal}: sdcMicro", next(theirs)
    for name, released in zip(defaults(job), theirs, strict=True):
        yield f"defaults: sdcMicro, {name}", released


def defaults(job):
    """Return treatments as sdcMicro proposes them, as calls by name."""
    found = {}
    if job.numbers:
        found["groups of 3"] = ["microaggregation(sdc, aggr = 3)"]
        found["noise"] = ["addNoise(sdc)"]
    if job.pram:
        calls = found.pop("noise", [])
        found["noise, pram" if calls else "pram"] = [*calls, "pram(sdc)"]
    return found


def in_short(rules):
    """Return rules as code; a rule of each number stands once."""
    shown = (one.partition("=")[2] for one in rules)
    return " and ".join(f"`{one}`" for one in dict.fromkeys(shown))


def recodings_of(job):
    """Return the recodings of a job, from its rules in words."""
    return {name: recoding_of(rule) for name, rule in job.recode.items()}


FIGURES = [
    "goal: tool", "it says", "steps", "seconds", "values blanked", "values altered",
    "found by equal values", "found by numbers", "found by keys and numbers",
    "tables, points", "regression",
]  # fmt: skip


def main():
    chosen = sys.argv[1:]
    reason = peer.lacking()
    if reason:
        print(f"The tables stay: {reason}")
        return
    prepare()
    sections = [f"{origin('numpy')}, sdcMicro {peer.version()}."]
    for job in jobs():
        if chosen and job.name.partition(",")[0] not in chosen:
            continue
        if (FOLDER / job.file).exists():
            sections.append(section(job))
            print(sections[-1], flush=True)
        else:
            print(f"{job.name} is left out: {FOLDER / job.file} is not there")
    if not chosen:
        replace(PAGE, "whole_job", "\n\n".join(sections))


if __name__ == "__main__":
    main()
