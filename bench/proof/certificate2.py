"""Write the certificate that ``check.py`` checks: boxes in which bounds hold.

    python -m bench.proof.certificate

Boxes are split where the bound is not below the claim, in the checker's own arithmetic.
A box that was wrong would fail the check, so nothing here is trusted.
"""

import json
import math
from pathlib import Path

from bench.proof import check2 as check, theorem

PATH = Path(__file__).with_name("certificate2.json")
ENOUGH, MOST = 0.98, 40_000


def width(claim, box, axis):
    """Return how wide a box is, as far as it matters to the bound."""
    low, high = getattr(box, axis)
    if low >= high:
        return -1.0
    if axis == "k":
        return (high - low) / -high if high < 0 else math.inf
    if axis == "f":
        return 1e-6 if claim.of == "f" else math.log(high / low)
    if box.k:
        return (high - low) / low * 4.0
    if low >= 0.5:
        return (high - low) * 4.0 if box.f[0] > 3.0 or box.f[0] != box.f[1] else 1.0
    return min(math.log(high / low), high * 16.0)


def grown(kernel, claim, root):
    """Return the text of splits of a box of a claim, and the number of its leaves."""
    text, count, waiting = [], 0, [root]
    while waiting:
        box = waiting.pop()
        axes = [axis for axis in "fpk" if getattr(box, axis)]
        try:
            found = check.box_share(kernel, claim, box)
        except ValueError:  # too wide for a theorem
            found = math.inf
            axes = "f" if box.f[1] > 1.1 * box.f[0] and claim.of == "p" else axes
        if found <= ENOUGH:
            text.append(".")
            count += 1
            continue
        if len(text) > MOST:
            raise ValueError(f"{found:.3g} of claimed in {vars(box)}")
        axis = max(axes, key=lambda one: width(claim, box, one))
        text.append(axis)
        waiting += reversed(box.split(axis))
    return "".join(text), count


def made(names=None):
    """Return the texts of splits of claims, by name."""
    check.ctx.prec = check.BITS
    every = dict(check.claims(check.in_exact()))
    kernel, found = check.kernel_of_pairs(), {}
    for name in names or every:
        trees = [grown(kernel, every[name], root) for root in every[name].roots]
        found[name] = [text for text, _ in trees]
        print(f"{name}: {sum(count for _, count in trees)} boxes", flush=True)
    return found


def main():
    """Write the file: the splits, and a hash of the code of each lemma."""
    found = {"lemmas": theorem.hashes(), "claims": made()}
    PATH.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
