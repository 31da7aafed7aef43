"""Time the treatments of numbers, show what they do, and run those of sdcMicro.

    python -m bench.bench_treatments [records] [rounds]

Incomes are lognormal, whole numbers for one column. The goals are 2 seconds for the
microaggregation of one column of 1e6 records and 5 for MDAV of 1e5 records and three
columns. What the rules do to incomes is in bench/results/treatments.md. The table in
bench/results/treatments_of_sdcmicro.md runs sdcMicro and needs a copy of its source,
see bench/_sdcmicro.py; without it that table stays as it is, and the reason is printed.
"""

from functools import partial

import numpy as np
import pandas

from bench import _sdcmicro as peer
from bench._common import (
    RESULTS,
    given,
    interleaved,
    origin,
    publish,
    reached,
    replace,
    table,
    timed,
)
from riskcore.protection.records.treated import effects, treated_columns
from riskcore.protection.treatments.rules import Treatment

TREAT = RESULTS / "treatments.md"
PEER = RESULTS / "treatments_of_sdcmicro.md"
RULES = (
    "top:1%=mean", "round:100", "round:2digits:unbiased", "bands:0,20000,50000",
    "microaggregate:3", "swap:5%", "noise:10%",
)  # fmt: skip
EFFECTS = (
    "top:1%", "top:1%=mean", "round:1000", "round:1000:unbiased",
    "bands:0,1,10000,20000,50000", "bands:0,1,10000,20000,50000=mean",
    "microaggregate:3", "microaggregate:10", "swap:1%", "swap:5%", "noise:10%",
    "noise:30%",
)  # fmt: skip
MDAV = (
    ("1e5 x 3", 100_000, 3),
    ("1e5 x 3, normal", 100_000, 3),
    ("1e4 x 10", 10_000, 10),
)
GOALS = {"microaggregate:3": 2.0, "microaggregate:3 of 1e5 x 3": 5.0}


def treated(words, *columns):
    """Return columns treated by one rule."""
    names = tuple(f"x{j}" for j in range(len(columns)))
    found = treated_columns(
        dict(zip(names, columns, strict=True)),
        {names: [Treatment.of("x", words)]},
        secret="ab" * 32,
    )
    return list(found.values())


def cases(records):
    """Return what is timed, by name."""
    rng = np.random.default_rng(22)
    income = np.round(rng.lognormal(10.0, 1.0, records))
    work = {words: partial(treated, words, income) for words in RULES}
    for name, n, p in MDAV:
        x = rng.normal(size=(n, p))
        columns = x.T if "normal" in name else np.exp(x).T
        work[f"microaggregate:3 of {name}"] = partial(
            treated, "microaggregate:3", *columns
        )
    return work


PROGRAM = """
for (each in c("mdav.R", "mafast.R", "addNoise.r", "rankSwap.R",
               "muargus_compatibility_functions.R"))
  sys.source(file.path("{source}", "R", each), globalenv())
suppressMessages(library(MASS))
x <- read.csv("x.csv")
set.seed(1)
invisible(timed("mdav", mdav(x[c("a", "b", "c")], K = 3)))
tell("mdav", mdav(x[c("a", "b", "c")], K = 3)$a)
tell("fixed", mafast(x, variables = "a", aggr = 3)$a)
whole <- argus_microaggregation(x[1:500, "whole", drop = FALSE], 3, TRUE)
tell("whole", whole$microaggregated[[1]])
small <- data.frame(a = c(1, 5, 9, 20, 30, 7), s = c(1, 1, 1, 1, 1, 2))
tell("small", max(mafast(small, variables = "a", by = "s", aggr = 3)$a[6]))
holes <- data.frame(a = c(10, 11, 12, NA), b = c(1, 1.1, 1.2, 1.1))
tell("holes", mdav(holes, K = 3)$a[1])
ranks <- data.frame(a = as.numeric(1:1000))
swapped <- rankSwap(ranks, variables = "a", TopPercent = 0, BottomPercent = 0, P = 5,
                    seed = 1)
tell("reach", max(abs(swapped$a - ranks$a)))
long <- x[rep(seq_len(nrow(x)), 20), c("a", "d")]
share <- function(method, noise) {{
  sd(addNoise(long, noise = noise, method = method)$xm[, 1] - long$a) / sd(long$a)
}}
tell("additive", share("additive", 10))
tell("correlated", share("correlated", 10))
tell("correlation", cor(addNoise(long, method = "correlated2", delta = 0.5)$xm)[1, 2])
odd <- seq(1, nrow(x), 2)
tell("linear", cor(addNoise(x[c("a", "d")], noise = 50, method = "restr")$xm[odd, 1],
                   x$a[odd]))
"""


def peer_rows():
    """Return what sdcMicro and riskcore do with the same columns."""
    rng = np.random.default_rng(3)
    n = 10_000
    frame = pandas.DataFrame(np.exp(rng.normal(size=(n, 3))), columns=list("abc"))
    frame["d"] = 2.0 * frame["a"] + rng.normal(size=n)
    frame["whole"] = rng.integers(20_000_001, 10**8, n)
    found = peer.run(PROGRAM.format(source=peer.source()), x=frame)
    theirs = {name: np.array(values) for name, values in found.items()}
    theirs |= {name: each[0] for name, each in theirs.items() if each.size == 1}
    a, b, c, d = (frame[name].to_numpy() for name in "abcd")
    groups, seconds = timed(partial(treated, "microaggregate:3", a, b, c))
    (best,) = treated("microaggregate:3", a)
    whole = frame["whole"].to_numpy(float)[:500]
    # Thirds have no last decimal to which means are rounded.
    exact = treated("microaggregate:3", whole + 1 / 3)[0] - 1 / 3
    (rounded,) = treated("microaggregate:3", whole)
    (ranks,) = treated("swap:5%", np.arange(1000.0))
    long = np.tile(a, 20)
    (noise,) = treated("noise:10%", long)
    small = treated("noise:10%:correlated", long, np.tile(d, 20))
    of_both = np.sqrt(1.01) * small[0] - long
    both = treated("noise:50%:correlated", long, np.tile(d, 20))

    before = np.corrcoef(a, d)[0, 1]

    def row(what, there, here):
        return [what, f"{there:.4g}", f"{here:.4g}"]

    return [
        row("`mdav`, K = 3, 10,000 records: values that differ by more than 1e-9",
            np.count_nonzero(np.abs(groups[0] - theirs["mdav"]) > 1e-9), 0),
        row("the same: seconds", theirs["mdav.seconds"], seconds),
        row("`microaggregation` of one column: sum of squares within",
            ((a - theirs["fixed"]) ** 2).sum(), ((a - best) ** 2).sum()),
        ["a stratum of one record with the value 7, aggr = 3",
         f"{theirs['small']:g}", "joined with another"],
        row("`mdav` of 10, 11, 12 and a missing value: the mean", theirs["holes"], 11),
        row("`argus_microaggregation`: largest distance from the mean of a group",
            np.abs(theirs["whole"] - exact).max(), np.abs(rounded - exact).max()),
        row("`rankSwap`, P = 5: farthest of 1,000 ranks",
            theirs["reach"], np.abs(ranks - np.arange(1000)).max()),
        row("`addNoise`, noise = 10, additive: sd of the noise",
            theirs["additive"], np.std(noise - long) / a.std()),
        row("the same, correlated", theirs["correlated"], np.std(of_both) / a.std()),
        row(f"correlated2, delta = 0.5: correlation, {before:.4g} before",
            theirs["correlation"], np.corrcoef(both)[0, 1]),
        [*row("restr, noise = 50: correlation with the original, every other record",
              theirs["linear"], 0)[:2], ""],
    ]  # fmt: skip


def effect_rows():
    """Return what each rule does to made incomes."""
    rng = np.random.default_rng(1)
    income = np.round(rng.lognormal(10.0, 1.0, 10_000))
    income[rng.random(income.size) < 0.1] = 0.0
    rows = []
    for words in ("", *EFFECTS):
        (after,) = treated(words, income) if words else (income,)
        shown = effects({"x": income}, {"x": after})["columns"]["x"]["after"]
        correlation = np.corrcoef(income, after)[0, 1]
        figures = (
            shown["mean"],
            shown["variance"] ** 0.5,
            *shown["quantiles"][2:],
            after.max(),
        )
        rows.append(
            [f"`{words}`" if words else "before"]
            + [f"{np.mean(income != after):.0%}"]
            + [f"{one:,.0f}" for one in figures]
            + [f"{np.mean(after < 0):.1%}", f"{correlation:.4f}"]
        )
    return rows


def main():
    records, rounds = given(1_000_000, 3)
    medians = interleaved(cases(records), rounds)
    rows = [[f"`{name}`", f"{median:.2f}"] for name, median in medians.items()]
    goals = [
        f"{name}: {medians[name]:.2f} s of {goal:g}, {reached(medians[name] <= goal)}"
        for name, goal in GOALS.items()
    ]
    publish(
        "treatments",
        f"{origin('numpy')}; {records:.0e} records if no other number is given, "
        f"medians of {rounds} interleaved rounds.\n\n{table(['', 'seconds'], rows)}\n\n"
        f"Goals: {'; '.join(goals)}.",
    )
    header = ["", "altered", "mean", "sd", "50 %", "75 %", "95 %", "max", "< 0", "r"]
    text = table(header, effect_rows())
    print(text)
    replace(TREAT, "treat", text)
    reason = peer.lacking()
    if reason:
        print(f"sdcMicro was not run: {reason}")
        return
    about = f"{origin('numpy')}, sdcMicro {peer.version()}."
    text = f"{about}\n\n{table(['', 'sdcMicro', 'riskcore'], peer_rows())}"
    print(text)
    replace(PEER, "treatments_of_sdcmicro", text)


if __name__ == "__main__":
    main()
