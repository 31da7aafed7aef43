"""Bounds of what a kernel loses by rounding, over boxes: run, split, run again."""

import numpy as np

from bench.proof import tape as recorded
from bench.proof.models import Space
from bench.proof.rebind import Copies
from bench.proof.tape import SCALE, Tape, UndecidedError

NAMES = {
    "fma": recorded.fma, "two_sum": recorded.two_sum,
    "fast_two_sum": recorded.fast_two_sum, "two_product": recorded.two_product,
    "bits": recorded.Pattern, "from_bits": recorded.from_bits, "float": recorded.real,
    "int": recorded.whole, "min": recorded.least, "max": recorded.greatest, "abs": abs,
}  # fmt: skip
BATCH = 512  # boxes in one run


class Runs:
    """Every run of a kernel over boxes, one for each path of answers.

    ``program(tape, boxes)`` returns what a run is measured by; ``boxes`` is an
    array with one row (lower, upper, lower, upper, ...) per box.
    """

    def __init__(self, program, variables, degree, scale=SCALE):
        self.program, self.scale = program, scale
        self.space = Space(variables, degree)

    def over(self, boxes):
        """Yield (indices of boxes, tape, result) so that every box is in some run."""
        for first in range(0, len(boxes), BATCH):
            every = np.arange(first, min(first + BATCH, len(boxes)))
            waiting = [(every, {})]
            while waiting:
                indices, path = waiting.pop()
                tape = Tape(self.space, len(indices), path, self.scale)
                try:
                    result = self.program(tape, boxes[indices])
                except UndecidedError as question:
                    for answer, mask in question.answers.items():
                        more = {**path, question.question: answer}
                        waiting.append((indices[mask], more))
                    continue
                yield indices, tape, result


def copies(instead=None):
    return Copies(NAMES, instead)
