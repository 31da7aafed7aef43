"""Compare the numbers of the practice guide and of sdcMicro with ours.

    python -m bench.guide [rounds]

Writes the tables of bench/results/guide.md. The first is of numbers that *Statistical
Disclosure Control: A Practice Guide* (Benschop, Machingauta and Welch) prints with the
data they are of, the second of its times. The third runs sdcMicro and needs a copy of
its source, see bench/_sdcmicro.py; without it that table stays as it is, and the reason
is printed.
"""

import time
import warnings

import numpy as np
import pandas

import riskcore
from bench import _sdcmicro as peer
from bench._common import RESULTS, command, given, origin, replace, table
from riskcore import simulate

PAGE = RESULTS / "guide.md"

# tab41: ten persons, their education and work as letters.
TEN = pandas.DataFrame(
    {
        "residence": list("uuuuruuuuu"),
        "sex": list("fffmfmfmff"),
        "education": list("aabcccdeaa"),
        "work": list("eeneuenunn"),
        "health": list("yyyyynnyny"),
        "weight": [180.0, 180, 215, 76, 186, 76, 180, 215, 186, 76],
    }
)
KEYS = ["residence", "sex", "education", "work"]
# tab54: seven persons.
SEVEN = pandas.DataFrame(
    {"sex": list("fmmmfff"), "region": list("rrrrrrr"), "education": list("hhhhlll")}
)
# code943: counts of codes, and which become one.
RECODED = {
    "REL": (
        {1: 1698, 2: 1319, 3: 4933, 4: 52, 5: 765, 6: 54, 7: 817, 8: 40, 9: 63},
        {"4": "7", "5": "7", "6": "7", "8": "9"},
        {"1": 1698, "2": 1319, "3": 4933, "7": 1688, "9": 103},
    ),
    "MARITAL": (
        {1: 3542, 2: 2141, 3: 415, 4: 295, 5: 330, 6: 329},
        {"3": "2", "4": "2", "5": "9", "6": "9"},
        {"1": 3542, "2": 2851, "9": 659},
    ),
    "INDUSTRY1": (
        {1: 5300, 2: 16, 3: 153, 4: 2, 5: 93, 6: 484, 7: 95, 8: 17, 9: 70, 10: 292},
        {"2": "1", "3": "2", "4": "2", "5": "2"}
        | {str(code): "3" for code in range(6, 11)},
        {"1": 5316, "2": 248, "3": 958},
    ),
}
# Of its test file, by which the guide shows an object of sdcMicro.
TEST_KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def numbers(values, digits=None):
    """Return numbers as text, with single blanks between them."""
    shown = (f"{x:.{digits}f}" if digits else f"{x:,g}" for x in values)
    return " ".join(shown)


def below(result, levels=(2, 3, 5)):
    """Return how many records have f below each of some numbers."""
    return [result.below(k).records for k in levels]


def printed_rows():
    """Return the rows of what can be computed from the guide alone."""
    result = riskcore.assess(TEN, KEYS, "weight")
    unweighted = riskcore.tabulate(
        {"a": [1, 1, 1], "b": [1, 2, None]}, ["a", "b"], missing="wildcard"
    )
    diversity = riskcore.diversity(TEN, KEYS, "health").records
    special = np.asarray(riskcore.suda(TEN, KEYS).records["suda_score"])
    fewest = riskcore.protect(SEVEN, list(SEVEN), k=2)
    home = riskcore.household_risk([0.02, 0.03, 0.03], [1, 1, 1])[0]
    riskiest = riskcore.individual_risk(1, 1 / 80.05)
    f = result.cells.sample_frequency[result.cells.inverse]
    F = result.cells.population_frequency[result.cells.inverse]
    of_one = [0, 2, 3, 4, 6, 8]
    l_of_records = np.asarray(diversity["health_distinct_l"])
    rows = [
        (
            "Measuring Risk, code42", "f of ten records", "2 2 1 2 1 2 1 1 2 2",
            "`tabulate`", numbers(f),
        ),
        (
            "Measuring Risk, code42", "F", "360 360 215 152 186 152 180 215 262 262",
            "`tabulate`", numbers(F),
        ),
        (
            "Measuring Risk, code43", "individual risk of records 1, 3, 4, 5, 7, 9",
            "0.005424520 0.025096439 0.012563425 0.028247279 0.029010932 0.007403834",
            "`assess`", numbers(result.individual_risk[of_one], 9),
        ),
        (
            "Measuring Risk, code44", "records that violate 2- and 3-anonymity", "4 10",
            "`assess`, `below(k)`", numbers(below(result, (2, 3))),
        ),
        (
            "Measuring Risk, tab42", "f of three records, one with a missing key",
            "2 2 3",
            "`tabulate`, `missing=\"wildcard\"`",
            numbers(unweighted.sample_frequency[unweighted.inverse]),
        ),
        (
            "Measuring Risk, code46", "distinct l of ten records",
            "1 1 1 2 1 2 1 1 2 2",
            "`diversity`", numbers(l_of_records),
        ),
        (
            "Measuring Risk, code46", "their mean", "1.4",
            "`diversity`", numbers([l_of_records.mean()]),
        ),
        (
            "Measuring Risk, tab45", "SUDA scores of records 3, 5, 7, 8", "6 12 6 10",
            "`suda`", numbers(special[[2, 4, 6, 7]]),
        ),
        (
            "Measuring Risk, code47", "the same, as sdcMicro printed them",
            "1.75 3.25 1.75 2.75", "`suda`", numbers(special[[2, 4, 6, 7]]),
        ),
        (
            "Measuring Risk, code411", "global risk", "0.01582",
            "`assess`", f"{result.reidentification_rate:.5f}",
        ),
        (
            "Measuring Risk, code412", "expected re-identifications", "0.1582",
            "`assess`", f"{result.expected_reidentifications:.4f}",
        ),
        (
            "Measuring Risk, code413", "records with a risk above 0.05", "0",
            "`assess`, `unsafe_count`", numbers([result.unsafe_count(0.05)]),
        ),
        (
            "Measuring Risk, household risk",
            "risk of a household with 0.02, 0.03 and 0.03", "0.078",
            "`household_risk`", f"{home:.6f}",
        ),
        (
            "Anonymization Methods, tab54", "values suppressed for 2-anonymity", "1",
            "`protect`, `k=2`", numbers([sum(fewest.suppressed.values())]),
        ),
        (
            "Case study 1, step 6a",
            "largest risk: a household with f = 1 and F = 80.05 (appendix C)", "5.5 %",
            "`individual_risk(1, 1/80.05)`",
            f"{100 * riskiest:.2f} %",
        ),
        (
            "Case study 2, step 6a", "global risk: 0.13 of 1,970 households",
            "0.0000642 %", "0.13/1970", f"{100 * 0.13 / 1970:.4f} %",
        ),
    ]  # fmt: skip
    for name, (before, mapping, after) in RECODED.items():
        codes = np.repeat([str(code) for code in before], list(before.values()))
        recoded = riskcore.recode(
            {name: codes}, {name: riskcore.Recoding.mapping(mapping)}
        )[name]
        own = pandas.Series(recoded).value_counts().sort_index()
        rows.append(
            (
                "Case study 2, code943", f"{name}, counts after recoding",
                numbers(after.values()), "`recode`", numbers(own),
            )
        )  # fmt: skip
    return [list(row) for row in rows]


def seconds(work, rounds):
    """Return the result of a call, and the shortest of its times after the first."""
    result, taken = work(), []
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return result, min(taken)


def survey():
    """Return the made survey of the tutorials, one row a person and one a household."""
    persons = pandas.DataFrame(
        simulate.household_survey(2000, np.random.default_rng(2004))
    )
    homes = persons[persons["IDP"] == 1]
    wanting = {"RELIG": 99999, "OWNAGLAND": 9}
    holes = homes.astype(dict.fromkeys(wanting, float))
    for name, code in wanting.items():
        holes[name] = holes[name].where(homes[name] != code)
    return persons, holes


HOME_KEYS = ["URBRUR", "REGION", "HHSIZE", "OWNAGLAND", "RELIG"]
PERSON_KEYS = ["GENDER", "REL", "MARITAL", "AGEYRS", "EDUCY", "ATSCHOOL", "INDUSTRY1"]

IN_R = """\
test <- sdcdata("testdata")
homes <- as.data.frame(fread("homes.csv"))
persons <- as.data.frame(fread("persons.csv"))
keys <- c({test_keys})
home_keys <- c({home_keys})
person_keys <- c({person_keys})
below <- function(f) c(sum(f < 2), sum(f < 3), sum(f < 5))

f <- timed("count", freqCalc(test, keyVars = keys, w = "sampling_weight"), {rounds})
tell("count", below(f$fk))
f <- timed("persons", freqCalc(persons, keyVars = person_keys, w = "WGTHH"), {rounds})
tell("persons", below(f$fk))
f <- timed("holes", freqCalc(homes, keyVars = home_keys, w = "WGTHH"), {rounds})
tell("holes", below(f$fk))
f <- timed("half", freqCalc(homes, keyVars = home_keys, w = "WGTHH", alpha = .5),
           {rounds})
tell("half", sum(f$fk))
m <- timed("risk", measure_risk(test, keyVars = keys, w = "sampling_weight",
                                hid = "ori_hid"), {rounds})
tell("risk", m$global_risk_ER, m$hier_risk_ER)
s <- timed("suda", suda2(test, variables = keys), {rounds})
tell("suda", sum(s$score > 0), sum(s$score))
tell("suda.share", s$attribute_contributions$contribution)
l <- timed("diversity", ldiversity(test, keyVars = keys, ldiv_index = "hhcivil"),
           {rounds})
tell("diversity", sum(l[, 1] < 2), mean(l[, 1]))
for (k in c(2, 3, 5)) {{
  name <- paste0("k", k)
  tell(name, sum(timed(name, localSuppression(test, keyVars = keys, k = k))$supps))
}}
a <- timed("subsets", localSuppression(test, keyVars = keys, k = 3, combs = 3))
tell("subsets", sum(a$supps))
a <- timed("homes", localSuppression(homes, keyVars = home_keys, k = 2))
tell("homes", sum(a$supps))
a <- timed("big", localSuppression(persons, keyVars = person_keys, k = 3))
tell("big", sum(a$supps))
"""


def quoted(names):
    return ", ".join(f'"{name}"' for name in names)


def peer_rows(rounds):
    """Return the rows of what sdcMicro computes from the same files."""
    persons, homes = survey()
    test = peer.table("testdata")
    program = IN_R.format(
        test_keys=quoted(TEST_KEYS),
        home_keys=quoted(HOME_KEYS),
        person_keys=quoted(PERSON_KEYS),
        rounds=rounds,
    )
    theirs = peer.run(program, homes=homes, persons=persons)

    def of_homes(**how):
        return riskcore.assess(homes, HOME_KEYS, "WGTHH", missing="wildcard", **how)

    def sum_of_f(result):
        return float(result.cells.sample_frequency[result.cells.inverse].sum())

    def anonymous(frame, keys, **how):
        return lambda: riskcore.protect(frame, keys, **how)

    def blanked(result):
        return [sum(result.suppressed.values())]

    def with_households(method):
        return lambda: riskcore.assess(
            test, TEST_KEYS, "sampling_weight", household="ori_hid", method=method
        )

    def expected(result):
        rate = result.household_reidentification_rate
        return [result.expected_reidentifications, rate * len(test)]

    def scores(result):
        return np.asarray(result.records["suda_score"])

    def shares(result):
        return 100 * result.contributions()["share"]

    def diverse(result):
        own = np.asarray(result.records["hhcivil_distinct_l"])
        return [(own < 2).sum(), own.mean()]

    violated = "records below f = 2, 3, 5"
    cases = [
        (
            "count", "test file", violated, "`assess`, `below(k)`", "`freqCalc`",
            lambda: riskcore.assess(test, TEST_KEYS, "sampling_weight"), below, 0,
        ),
        (
            "persons", "persons", violated, "`assess`", "`freqCalc`",
            lambda: riskcore.assess(persons, PERSON_KEYS, "WGTHH"), below, 0,
        ),
        (
            "holes", "households, missing keys", violated,
            "`assess`, `missing=\"wildcard\"`", "`freqCalc`", of_homes, below, 0,
        ),
        (
            "half", "households, missing keys", "sum of f, alpha 0.5",
            "`assess`, `alpha=0.5`", "`freqCalc`, `alpha`",
            lambda: of_homes(alpha=0.5), lambda r: [sum_of_f(r)], 1,
        ),
        (
            "risk", "test file", "expected re-identifications: persons, households",
            "`assess`, `household=`", "`measure_risk`",
            with_households("exact"), expected, 4,
        ),
        (
            "risk", "test file", "the same by sdcMicro's formula",
            "`assess`, `method=\"franconi\"`", "`measure_risk`",
            with_households("franconi"), expected, 4,
        ),
        (
            "suda", "test file", "records with a score, sum of the scores", "`suda`",
            "`suda2`", lambda: riskcore.suda(test, TEST_KEYS),
            lambda r: [(scores(r) > 0).sum(), scores(r).sum()], 0,
        ),
        (
            "suda.share", "test file", "shares of the keys in them, per cent",
            "`suda`, `contributions`", "`suda2`",
            lambda: riskcore.suda(test, TEST_KEYS), shares, 1,
        ),
        (
            "diversity", "test file, marital status",
            "records with one value, mean of distinct l", "`diversity`",
            "`ldiversity`", lambda: riskcore.diversity(test, TEST_KEYS, "hhcivil"),
            diverse, 3,
        ),
        *(
            (
                f"k{k}", "test file", f"values blanked for {k}-anonymity",
                f"`protect`, `k={k}`", "`localSuppression`",
                anonymous(test, TEST_KEYS, k=k), blanked, 0,
            )
            for k in (2, 3, 5)
        ),
        *(
            (
                name, file, what, f"`protect`, {call}", function,
                anonymous(frame, keys, **how), blanked, 0,
            )
            for name, file, what, call, function, frame, keys, how in (
                (
                    "subsets", "test file",
                    "values blanked: 3-anonymity of all sets of 3 keys",
                    "`k=3, subsets=3`", "`localSuppression`, `combs=3`",
                    test, TEST_KEYS, {"k": 3, "subsets": 3},
                ),
                (
                    "homes", "households, missing keys",
                    "values blanked for 2-anonymity", "`k=2`", "`localSuppression`",
                    homes, HOME_KEYS, {"k": 2},
                ),
                (
                    "big", "persons", "values blanked for 3-anonymity", "`k=3`",
                    "`localSuppression`", persons, PERSON_KEYS, {"k": 3},
                ),
            )
        ),
    ]  # fmt: skip
    rows = []
    for name, file, what, call, function, work, number, digits in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result, taken = seconds(work, rounds)
        clock = theirs[f"{name.partition('.')[0]}.seconds"][0]
        found = [f"{float(x):,.{digits}f}" for x in number(result)]
        other = [f"{x:,.{digits}f}" for x in theirs[name]]
        rows.append(
            [
                file, what, call, function, " ".join(found), " ".join(other),
                f"{taken:.3f}", f"{clock:.3f}",
                f"{clock / taken:,.{0 if clock > 10 * taken else 1}f}",
            ]
        )  # fmt: skip
    return rows


# tab75: records, categories of each of the keys, share below f = 3, hours.
SIZES = [
    (20_014, (10, 4, 70, 5, 7, 6), 0.74, 53.72),
    (66_285, (15, 6, 39, 4, 24), 0.40, 67.19),
    (60_747, (13, 6, 70, 8, 9, 4), 0.35, 74.47),
    (26_601, (19, 6, 84, 10, 10, 10), 0.77, 108.84),
    (38_089, (17, 6, 30, 5, 56, 9), 0.70, 198.90),
    (35_820, (19, 7, 67, 6, 6), 0.81, 267.60),
    (51_976, (12, 6, 32, 8, 50, 12), 0.77, 503.58),
]


def keys_of(n, levels, decay, rng):
    """Return independent keys whose categories are ever rarer by a factor."""
    columns = {}
    for at, count in enumerate(levels):
        share = np.exp(-decay * np.arange(count) / count**0.5)
        columns[f"key{at + 1}"] = rng.choice(count, n, p=share / share.sum())
    return columns


def like(n, levels, wanted):
    """Return a simulated file with nearly the wanted share of records below f = 3."""
    low, high = 0.0, 12.0
    for _ in range(12):
        decay = (low + high) / 2
        columns = keys_of(n, levels, decay, np.random.default_rng(75))
        share = riskcore.assess(columns, list(columns)).below(3).records / n
        low, high = (decay, high) if share > wanted else (low, decay)
    return columns, share


def size_rows():
    """Return the rows of files as large, with as many categories, as tab75 has."""
    rows = []
    for n, levels, wanted, hours in SIZES:
        columns, share = like(n, levels, wanted)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            safe = riskcore.protect(columns, list(columns), k=3)
        taken = time.perf_counter() - start
        rows.append(
            [
                f"{n:,}", " ".join(map(str, levels)), f"{100 * wanted:.0f} %",
                f"{100 * share:.0f} %", f"{sum(safe.suppressed.values()):,}",
                f"{hours:,.2f} h", f"{taken:.2f} s",
            ]
        )  # fmt: skip
    return rows


def main():
    (rounds,) = given(3)
    header = ["place", "what", "the guide", "our call", "ours"]
    text = f"`{command()}`\n\n{table(header, printed_rows(), texts=2)}"
    print(text)
    replace(PAGE, "guide", text)
    header = [
        "records", "categories of the keys", "below f = 3 there", "here",
        "values blanked here", "the guide", "here",
    ]  # fmt: skip
    about = f"{origin('numpy')}."
    text = f"{about}\n\n{table(header, size_rows(), texts=2)}"
    print(text)
    replace(PAGE, "guide_times", text)
    reason = peer.lacking()
    if reason:
        print(f"sdcMicro was not run, and its table stays: {reason}")
        return
    header = [
        "file", "what", "our call", "its", "ours", "sdcMicro's", "our seconds",
        "its seconds", "ratio",
    ]  # fmt: skip
    about = (
        f"{origin('numpy')}, sdcMicro {peer.version()}; the shortest "
        f"of {rounds} runs of ours after a first, and of sdcMicro's (one where it "
        "suppresses)."
    )
    text = f"{about}\n\n{table(header, peer_rows(rounds), texts=4)}"
    print(text)
    replace(PAGE, "guide_peer", text)


if __name__ == "__main__":
    main()
