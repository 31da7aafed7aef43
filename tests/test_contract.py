"""The contracts of accuracy tell what was found, and the generated page agrees."""

from pathlib import Path

import numpy as np
import pytest
from mpmath import mpf, workprec

import riskcore
from riskcore import reference
from riskcore.risk.individual import CONTRACTS

PAGE = Path(__file__).parents[1] / "bench" / "accuracy.md"


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.function)
def test_the_witness_has_the_error_stated(contract):
    arguments = [float.fromhex(number) for number in contract.witness]
    computed = float(getattr(riskcore, contract.function)(*arguments))
    with workprec(300):
        exact = getattr(reference, contract.function)(*arguments)
        error = abs(mpf(computed) - exact) / mpf(float(np.spacing(abs(computed))))
    assert round(float(error), 2) == contract.worst
    assert contract.worst < contract.ulps


def test_the_page_of_the_sweep_has_the_same_figures():
    summary = PAGE.read_text().partition("\n## ")[0]
    for contract in CONTRACTS:
        row = next(
            line
            for line in summary.splitlines()
            if line.startswith(f"| {contract.function} |")
        )
        assert f"| {contract.worst:.2f} |" in row
        for number in contract.witness:
            assert float.fromhex(number).hex() in row
