"""Prove the bounds of the fast paths of `individual_risk` from their own source.

    python -m bench.prove                       # all regions: minutes
    python -m bench.prove --regions ONE LEVELS  # some, without the page
    python -m bench.prove --mutants 200         # does a change of the source fail it?
    python -m bench.prove --mutants uses        # a bound that is halved, or dropped?

All of it is one theorem, that `individual_risk` is nan or the double nearest r, and its
like for p = f/F and directed rounding; its lemmas are data (`bench/proof/theorem.py`),
and together are about all code that runs.
The command writes a certificate of all fast paths but one region's, and lets a small
program check it that imports Arb alone (`bench/proof/check.py`).

The rounding test, the choice of region, the loop over blocks and the slow steps behind
them, balls and fixed point, are proved first. Then
each kernel runs unchanged on boxes of (f, p), and every rounding is charged. Arb and
the fraction's own bounds cover what its formula leaves out; exact arithmetic proves the
formula (notes/correct_rounding.md). The exit status is 1 unless every box has a bound
below the bound that the kernel claims, and no region claims 16 times what is proved.
"""

import argparse
import math
import subprocess
import sys
import time
from importlib.metadata import version

from bench._common import HERE, RESULTS, command, replace, table
from bench.proof import (
    balls,
    certificate,
    claims,
    directed,
    enclosure,
    fixed_point,
    gradient,
    last_steps,
    mutants,
    parts,
    prover,
    quotients,
    reflection,
    theorem,
    uses,
    ways,
)

PAGE = RESULTS / "proof_of_rounding.md"
SLOW_STEPS = {
    theorem.BALLS: balls, theorem.ENCLOSURE: enclosure,
    theorem.FIXED_POINT: fixed_point, theorem.LAST_STEPS: last_steps,
    theorem.DIRECTED: directed, theorem.QUOTIENTS: quotients,
}  # fmt: skip


def power_of_two(x):
    return f"2^{math.log2(x):.1f}"


def rows_of(results):
    """Return a row for each claim, and the times by region."""
    rows, seconds = [], {}
    for one in results:
        claim = one.claim
        rows.append(
            [
                claim.region, claim.where, power_of_two(one.relative),
                f"{one.share:.2f}", f"{one.boxes}",
                f"{one.points}" if one.points else "",
            ]
        )  # fmt: skip
        seconds[claim.region] = seconds.get(claim.region, 0.0) + one.seconds
    return rows, seconds


HEADER = ["region", "where", "largest bound", "of claimed", "boxes", "points"]


def about():
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "python-flint")
    )
    return f"`{command()}`: {packages}."


def parts_table():
    """Return what parts are off by, and their second words."""
    power, less = parts.of_exponential()
    rows = [
        ["log p/q, absolute", parts.of_log_of_odds()],
        ["exp x, relative", power],
        ["exp x - 1, relative", less],
        ["(1 - sin(pi d)/(pi d))/d^2, relative", parts.of_sine()],
        ["p/D(1-d, q), relative", parts.of_fraction()],
        [
            "log x by log_pair, relative, x off from 1 by 2^-22",
            parts.of_logarithm(parts.elementary.log_pair, 22),
        ],
        [
            "log x by log_high_low, relative, x off by 2^-36",
            parts.of_logarithm(parts.elementary.log_high_low, 36),
        ],
    ]
    shown = [
        [name, power_of_two(part.error), power_of_two(part.share)]
        for name, part in rows
    ]
    return table(["part", "off by", "second word over first"], shown)


def of_gradient(results):
    """Prove the gradient; return its rows, region by region, and whether it holds."""
    found = gradient.of_pairs(results)
    for claim in [*gradient.near_one(), *gradient.from_16()]:
        one = prover.prove(claim)
        found.append((claim.region, claim.where, one.relative, one.boxes))
    worst = {}
    for region, where, lost, boxes in found:
        print(f"gradient | {region} | {where} | {power_of_two(lost)}", flush=True)
        before = worst.get(region, (0.0, 0))
        worst[region] = max(before[0], lost), before[1] + boxes
    rows = [
        [region, power_of_two(lost), f"{boxes}"]
        for region, (lost, boxes) in worst.items()
    ]
    return rows, max(lost for lost, _ in worst.values()) <= gradient.FAITHFUL


def of_slow_steps():
    """Prove balls, fixed point and what they decide; return the table."""
    rows = []
    for name, program in SLOW_STEPS.items():
        start = time.perf_counter()
        found = program.prove()
        print(f"{name}: proved in {time.perf_counter() - start:.0f} s", flush=True)
        rows += [[name, *row] for row in found]
    header = ["lemma", "what", "where", "used of its bound"]
    return table(header, rows, texts=3)


def page(results, rows_of_gradient):
    """Put the results into their page."""
    rows, seconds = rows_of(results)
    header = ["gradient", "before the last rounding", "boxes"]
    text = f"{about()}\n\n{table(header, rows_of_gradient)}"
    replace(PAGE, "proof_gradient", text)
    log = parts.log_left_out(parts.elementary.log_pair)
    text = (
        f"{about()}\n\nOf the logarithm the formula leaves out at most "
        f"{power_of_two(log)}.\n\n{table(HEADER, rows, texts=2)}"
    )
    replace(PAGE, "proof", text)
    replace(PAGE, "proof_parts", f"{about()}\n\n{parts_table()}")
    times = [[name, f"{taken:.0f}"] for name, taken in seconds.items()]
    times.append(["all", f"{sum(seconds.values()):.0f}"])
    replace(PAGE, "proof_times", f"{about()}\n\n{table(['region', 'seconds'], times)}")


def writing():
    """Start a process that writes the certificate."""
    return subprocess.Popen([sys.executable, "-m", "bench.proof.certificate"])


def checked():
    """Return whether the certificate passes the checker, in two fresh processes."""
    start, checker = time.perf_counter(), HERE / "proof" / "check.py"
    parts = [
        subprocess.Popen(
            [sys.executable, "-I", checker, certificate.PATH, str(i), "2"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    said = [one.communicate()[0].strip() for one in parts]
    seconds = time.perf_counter() - start
    lines = len(checker.read_text().splitlines())
    text = "\n".join(f"    {one}" for one in said)
    replace(
        PAGE,
        "proof_certificate",
        f"`python bench/proof/check.py`, {lines} lines, two processes: {seconds:.0f} s."
        f"\n\n{text}",
    )
    replace(PAGE, "proof_lemmas", theorem.shown())
    return not any(one.returncode for one in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--regions", nargs="+", metavar="NAME")
    parser.add_argument("--mutants", metavar="NUMBER or uses")
    options = parser.parse_args()
    if options.mutants:
        if options.mutants != "uses":
            return mutants.run(int(options.mutants), PAGE, about())
        text, passed = uses.run()
        replace(PAGE, "proof_uses", f"{about()}\n\n{text}")
        return passed
    start = time.perf_counter()
    print(f"{theorem.check()} functions, each with a lemma that is about it")
    written = None if options.regions else writing()
    reflection.check_theorems()
    results, every = [], claims.of_risk()
    ways.check(every)
    print("the rounding test, the choice of region, blocks: proved", flush=True)
    if not options.regions:
        replace(PAGE, "proof_slow_steps", f"{about()}\n\n{of_slow_steps()}")
    for claim in every:
        if options.regions and claim.region not in options.regions:
            continue
        results.append(prover.prove(claim))
        print(" | ".join(rows_of(results[-1:])[0][0]), flush=True)
    failed = [one for one in results if not one.share <= 1.0]
    for one in failed:
        print(f"NOT PROVED: {one.claim.region}, {one.claim.where}, at {one.at}")
    for name in {one.claim.region for one in results}:
        largest = max(one.share for one in results if one.claim.region == name)
        if largest < prover.WASTEFUL:
            failed.append(name)
            print(f"WASTEFUL: {name} claims {1 / largest:.0f} times what is proved")
    if not options.regions:
        rows, holds = of_gradient(results)
        if not holds:
            failed.append("gradient")
            print("NOT PROVED: the gradient")
        page(results, rows)
        if written.wait() or not checked():
            failed.append("certificate")
    print(f"{len(results)} claims, {len(failed)} not proved", end=", ")
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
