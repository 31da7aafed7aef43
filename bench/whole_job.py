"""Take surveys through the whole job: riskcore and sdcMicro side by side.

    python -m bench.whole_job              # all files that are there, some 15 minutes
    python -m bench.whole_job ses adult    # these alone; the page stays

Each tool gets the same file, keys, recodings, treatments and goals. "Numbers": k = 3,
and at most 1 % of the records are found by their numbers, which are microaggregated.
"Keys and numbers": nor are they by keys and numbers together; the numbers that are
studied are keys in classes, the others are left out. riskcore is used by its command,
with a role for every column, until the file is written; for the first goal the leaks
of the numbers are accepted. sdcMicro is used by its own calls; "defaults" are its own
treatments. All files meet the same attack, the same tables and the same regression.

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
from bench._common import HERE, RESULTS, origin, replace, table
from riskcore.data.recoding_words import recoding_of
from riskcore.protection.release.record import read_record

PAGE = RESULTS / "whole_job.md"
FOLDER = HERE.parent / "build" / "whole_job"
AGES = "from:15,30,45,60"


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
    hidden: str = ""  # the rule until few are found by their numbers
    classes: dict[str, str] = {}  # noqa: RUF012  # until few are by keys, too
    weights: str = ""  # the rule of riskcore for the weights
    more: tuple[str, ...] = ()  # options of riskcore alone
    cost: tuple[str, ...] = ()  # keys that other columns would show
    spare: tuple[str, ...] = ()  # keys that both tools shall spare


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
        roles={"hhcivil": "harmless"},
        drop=("ori_hid", "household_weights"),
        model="income ~ sex + age + hhcivil",
        pram="hhcivil",
        hidden="microaggregate:150",
        classes={"income": "from:25e6,50e6,75e6=12.5e6,37.5e6,62.5e6,87.5e6"},
    )
    incomes = ("py010n", "py090n", "py100n", "eqIncome")
    yield Job(
        "eusilc",
        "eusilc.csv",
        ("db040", "hsize", "age", "rb090", "pl030", "pb220a"),
        incomes,
        weight="rb050",
        recode={"age": "from:16,30,45,60,75", "hsize": "top:4"},
        drop=(
            "db030", "rb030", "db090", "eqSS", "py050n", "py110n", "py120n", "py130n",
            "py140n", "hy040n", "hy050n", "hy070n", "hy080n", "hy090n", "hy110n",
            "hy130n", "hy145n",
        ),
        model="py010n ~ rb090 + age + pl030",
        hidden="microaggregate:150",
        classes={"py010n": "from:1,10000,20000=0,5000,15000,28000"},
        weights="share-weights:1:within=db040",
        cost=("hsize=never", "db040=never", "age=500", "pl030=500"),
    )  # fmt: skip
    earned = ("earnings", "earningsHour", "hoursPaid")
    yield Job(
        "ses",
        "ses.csv",
        ("location", "NACE1", "size", "sex", "age", "education", "occupation"),
        earned,
        weight="weights",
        roles=dict.fromkeys(("contract", "fullPart", "payAgreement"), "harmless"),
        recode={"occupation": "truncate:1"},
        drop=(
            "IDunit", "weightsEmployers", "weightsEmployees", "weeks", "overtimeHours",
            "shareNormalHours", "holiday", "notPaid", "earningsOvertime",
            "paymentsShiftWork", "earningsMonth", "lengthService", "economicFinanc",
        ),
        model="earningsHour ~ sex + age + education",
        pram="contract",
        hidden="microaggregate:150",
        classes={"earningsHour": "from:9,12,16=7,10.5,14,24"},
        weights="share-weights:5",
        cost=("size=never", "location=never", "NACE1=500"),
    )  # fmt: skip
    sales = ("RESREVENUE", "RESSALES", "TOTREVENUE", "TOTSALES")
    yield Job(
        "EIA",
        "EIA.csv",
        ("STATE",),
        sales,
        roles={"MONTH": "harmless", "YEAR": "harmless"},
        drop=(
            "UTILITYID", "UTILNAME", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES",
            "OTHREVENUE", "OTHRSALES",
        ),
        model="RESREVENUE ~ RESSALES",
        pram="MONTH",
        hidden="microaggregate:100",
        classes={
            "RESREVENUE": "from:2000,5000,25000=1000,3500,15000,60000",
            "RESSALES": "from:25000,75000,350000=15000,50000,200000,800000",
        },
        more=("--against-insiders",),
    )  # fmt: skip
    adult = Job(
        "adult",
        "adult.csv",
        ("sex", "age", "race", "marital-status", "education", "workclass",
         "occupation"),
        recode={"age": "from:25,35,45,55,65"},
        roles={"salary-class": "harmless"},
        drop=("native-country",),
        model="salary-class ~ sex + race + education",
        pram="salary-class",
        more=("--sampling-fraction", "0.015%"),
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
        roles={"highest_degree": "harmless"},
        drop=("hhid", "clust", "hsize", "nation"),
        model="income ~ sex + age + region",
        pram="highest_degree",
        hidden="microaggregate:100",
        classes={"income": "from:1,200,800=0,100,500,2000"},
        cost=("region=never", "sex=never"),
    )
    pay = ("SALARY", "SALBEGIN", "PREVEXP")
    yield Job(
        "employee, SPSS",
        "employee.sav",
        ("GENDER", "EDUC", "JOBCAT", "MINORITY"),
        pay,
        recode={"EDUC": "from:12,15,16,17"},
        roles={"JOBTIME": "harmless"},
        drop=("ID", "BDATE"),
        model="SALARY ~ GENDER + EDUC",
        pram="JOBTIME",
        hidden="microaggregate:100",
        classes={"SALARY": "from:24000,29000,37000=21000,26500,33000,57000"},
        more=("--against-insiders",),
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
    classes: dict[str, str]  # of the numbers that are keys

    @classmethod
    def of(cls, before, after, *rest):
        """Return both files with their numbers as numbers."""
        frames = [
            pandas.DataFrame({name: plain(frame[name]) for name in after})
            for frame in (before.reset_index(drop=True), after)
        ]
        return cls(*frames, *rest)

    def in_classes(self):
        """Return the numbers of both files that are keys, in their classes."""
        before = recoded(self.before[[*self.classes]], self.classes)
        return {
            name: relink.coded(pandas.Series(plain(before[name])), self.after[name])
            for name in self.classes
        }


def plain(column):
    """Return a column as numbers if it has no other values, otherwise as text."""
    found = relink.numbers(column)
    return column.astype("string") if found is None else found


def in_classes(job):
    """Return a job whose studied numbers are keys in classes, without the others."""
    return job._replace(
        keys=(*job.keys, *job.classes),
        numbers=(),
        recode=job.recode | job.classes,
        drop=(*job.drop, *(name for name in job.numbers if name not in job.classes)),
    )


def command_line(job, output):
    """Return the words of the command that protects a file."""
    roles = job.roles | dict.fromkeys(job.numbers, "numeric")
    rules = [f"{'+'.join(job.numbers)}={job.hidden}"] if job.numbers else []
    rules += [f"{job.weight}={job.weights}"] if job.weights else []
    options = {
        "--keys": job.keys,
        "--weight": [job.weight] if job.weight else [],
        "--recode": [f"{name}={rule}" for name, rule in job.recode.items()],
        "--role": [f"{name}={role}" for name, role in roles.items()],
        "--drop": job.drop,
        "--cost": [*job.cost, *(f"{name}=500" for name in job.spare)],
        "--treat": rules,
        # Links by the keys and a number: the goal "numbers" allows them.
        "--accept": [f"{name}=known only roughly" for name in job.numbers],
    }
    words = ["protect", str(FOLDER / job.file), "--k", "3", "--shuffle", "--quiet"]
    for name, given in options.items():
        words += [name, *given] if given else []
    return [*words, *job.more, "--output", output]


def by_riskcore(job):
    """Return what riskcore releases, None if it refuses."""
    python = [sys.executable, "-m", "riskcore"]
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / f"safe{Path(job.file).suffix}")
        start = children_seconds()
        look = [*python, "describe", str(FOLDER / job.file), "--quiet"]
        subprocess.run(look, capture_output=True, check=True)
        words = [*python, *command_line(job, output)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            text = done.stdout.partition("Open leaks")[2] or done.stdout + done.stderr
            print(*words, text.partition("\n  records ")[0], file=sys.stderr)
            return None
        seconds = children_seconds() - start
        record = read_record(f"{output}.private.json")
        before = relink.frame_of(FOLDER / job.file)
        rows = relink.order_of(before, record)
        before = recoded(before, rules_of_keys(job)).iloc[rows]
        after = relink.frame_of(output)
        after = in_words(before, after, output, job.recode)
    state = next(x for x in done.stdout.splitlines() if x.startswith("    state"))
    says = state.split(maxsplit=1)[1]
    return Released.of(before, after, 2, seconds, says, classes_of(job))


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


def recoded(frame, rules):
    """Return a frame with recodings in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recodings = {name: recoding_of(rule) for name, rule in rules.items()}
        return riskcore.recode(frame, recodings) if rules else frame


def rules_of_keys(job):
    """Return the recodings of a job without the classes of numbers."""
    return {name: job.recode[name] for name in job.recode if name not in job.classes}


def classes_of(job):
    """Return the classes of the numbers that are keys."""
    return {name: job.classes[name] for name in job.classes if name in job.keys}


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


def by_sdcmicro(job, frame, treatments):
    """Return what sdcMicro releases of a file, for each list of calls."""
    roles = {
        "numVars": job.numbers,
        "pramVars": [job.pram] if job.pram else [],
        "weightVar": [job.weight] if job.weight else [],
    }
    said = [f"{name} = c({quoted(given)})" for name, given in roles.items() if given]
    used = {*job.keys, *job.numbers, *job.roles, job.weight}
    frame = frame[[name for name in frame if name in used]]
    before, frame = recoded(frame, rules_of_keys(job)), recoded(frame, job.recode)
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
            about = count, seconds, says, classes_of(job)
            yield Released.of(before, after, *about)


def importance(job):
    """Return the importance of each key in words of R, those to be spared first."""
    if not job.spare:
        return "NULL"
    order = [*job.spare, *(name for name in job.keys if name not in job.spare)]
    return f"c({', '.join(str(1 + order.index(name)) for name in job.keys)})"


def calls_of(job):
    """Return the calls of sdcMicro that treat all numbers as the rule does."""
    size = job.hidden.partition(":")[2]
    return [f"microaggregation(sdc, aggr = {size})"] if job.numbers else []


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
    known |= released.in_classes()
    if not amounts:
        return ["", "", ""]
    numbers = list(amounts)
    equal = relink.equal_values(before[numbers], after[numbers], rows)[1]
    shares = [equal - 1 / len(rows)]
    for case in (({}, amounts), (known, amounts)):
        right, chance = relink.linked(*case, rows)
        blank = (after[numbers].isna() & before[numbers].notna()).any(axis=1)
        right[blank] = chance[blank]
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
        return [label, "refused", *[""] * (len(FIGURES) - 2)]
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
    classes = ", ".join(f"`{name}={rule}`" for name, rule in job.classes.items())
    about += f" (`{job.hidden}`, or classes {classes})" if job.numbers else ""
    about += f". Spared: {', '.join(job.spare)}" if job.spare else ""
    return f"{about}.\n\n{side_by_side(columns)}"


def side_by_side(columns):
    """Return a table with a row for each figure that there is."""
    header, *rows = zip(FIGURES, *columns, strict=True)
    return table(header, [row for row in rows if any(row[1:])])


def releases(job, frame):
    """Yield a label and a release for each goal and tool."""
    calls = [calls_of(job), *defaults(job).values()]
    first, *others = by_sdcmicro(job, frame, calls)
    goal = "numbers" if job.numbers else "keys"
    yield f"{goal}: riskcore", by_riskcore(job)
    yield f"{goal}: sdcMicro", first
    if job.numbers:
        coarse = in_classes(job)
        yield "keys and numbers: riskcore", by_riskcore(coarse)
        yield "keys and numbers: sdcMicro", next(by_sdcmicro(coarse, frame, [[]]))
    for name, released in zip(defaults(job), others, strict=True):
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
