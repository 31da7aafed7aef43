"""Functions of numbers: risk, thresholds, models, the intruder, simulation."""

import math

import numpy as np
import pytest

import riskcore
from riskcore import accuracy, intruder, models, simulate
from riskcore.core import embed
from riskcore.core import published_forms as forms
from riskcore.core.risk.histogram import log_edges
from riskcore.core.risk.threshold import RiskDistribution

NAN, INF = math.nan, math.inf
RNG = np.random.default_rng(1)
UFUNCS = {
    "individual_risk": 2,
    "individual_risk_from_frequencies": 2,
    "log_individual_risk": 2,
    "individual_risk_gradient": 2,
    "individual_risk_bounds": 2,
    "individual_risk_down": 2,
    "individual_risk_up": 2,
    "individual_risk_deviation": 2,
    "individual_risk_second_moment": 2,
    "population_frequency_quantile": 3,
    "individual_risk_with_prior": 3,
    "log_individual_risk_with_prior": 3,
    "individual_risk_poisson": 2,
    "cell_fully_sampled_probability": 2,
}

# Ufuncs are NumPy's own where types are wrong: TypeError, and the name of the function.
ODD = {
    "text": "a",
    "digits": "1",
    "bytes": b"1",
    "None": None,
    "complex": 1j,
    "object": object(),
    "list of text": ["a", "b"],
    "dict": {},
    "date": np.datetime64("2020"),
    "objects": np.array([1, "a"], object),
    "records": np.zeros(2, [("x", float)]),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_of_other_things_than_numbers(name, case):
    function = getattr(riskcore, name)
    with pytest.raises(TypeError, match=f"'?{name}'? not supported|could not"):
        function(ODD[case], *[0.5] * (UFUNCS[name] - 1))


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("extra", [-1, 9])
def test_a_ufunc_of_too_few_or_too_many(name, extra):
    with pytest.raises(TypeError, match=r"from \d+ to \d+ positional arguments"):
        getattr(riskcore, name)(*[0.5] * (UFUNCS[name] + extra))


OUTSIDE = [(0, 0.5), (-1, 0.5), (NAN, 0.5), (INF, 0.5), (1, -0.1), (1, 1.5), (1, NAN),
           (1, INF), (-INF, 0.5), (1, -INF)]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["individual_risk", "log_individual_risk",
                                  "individual_risk_gradient", "individual_risk_down",
                                  "individual_risk_up"])  # fmt: skip
@pytest.mark.parametrize(("f", "p"), OUTSIDE)
def test_outside_its_domain_a_ufunc_is_nan(name, f, p):
    assert math.isnan(getattr(riskcore, name)(f, p))


intruded, law_of = intruder.disclosure_risk, intruder.acquaintances_distribution
SIZES = models.SizeIndices({1: 40, 2: 12, 3: 5, 5: 1})
HIST = RiskDistribution(np.array([0.1, 0.2]), np.array([1, 2]))

CALLS = {
    # Sizes
    "sizes None": (lambda: models.SizeIndices(None), "counts"),
    "sizes list": (lambda: models.SizeIndices([1, 2]), "counts"),
    "sizes empty": (lambda: models.SizeIndices({}), "sizes"),
    "size 0": (lambda: models.SizeIndices({0: 1}), "sizes: 1 of 1"),
    "size negative": (lambda: models.SizeIndices({-1: 1}), "sizes: 1 of 1"),
    "size fraction": (lambda: models.SizeIndices({1.5: 1}), "sizes: 1 of 1"),
    "size bool": (lambda: models.SizeIndices({True: 1}), "sizes: need whole numbers"),
    "size text": (lambda: models.SizeIndices({"1": 1}), "sizes: need whole numbers"),
    "size nan": (lambda: models.SizeIndices({NAN: 1}), "sizes: 1 of 1"),
    "size huge": (lambda: models.SizeIndices({10**30: 1}), "sizes"),
    "count negative": (lambda: models.SizeIndices({1: -1}), "counts: 1 of 1"),
    "count fraction": (lambda: models.SizeIndices({1: 0.5}), "counts: 1 of 1"),
    "count bool": (lambda: models.SizeIndices({1: True}), "counts: need whole numbers"),
    "count None": (lambda: models.SizeIndices({1: None}), "counts: need whole numbers"),
    "no cells": (lambda: models.SizeIndices({1: 0}), "need 1 to 2^53 records"),
    "too many": (lambda: models.SizeIndices({2**52: 2**52}), "need 1 to 2^53 records"),
    "frequencies none": (lambda: models.SizeIndices.from_frequencies([]), "no records"),
    "frequencies text": (lambda: models.SizeIndices.from_frequencies("12"),
                         "frequencies"),
    "frequencies negative": (lambda: models.SizeIndices.from_frequencies([-1]),
                             "frequencies: 1 of 1"),
    "frequencies plane": (lambda: models.SizeIndices.from_frequencies([[1]]),
                          "frequencies: need one dimension"),
    "frequencies bool": (lambda: models.SizeIndices.from_frequencies([True]),
                         "frequencies"),
    # Models
    "fit: no sizes": (lambda: models.Ewens.fit({1: 2}), "sizes"),
    "fit: None": (lambda: models.Pitman.fit(None), "sizes"),
    "fit: codes alone": (lambda: models.LatentClass.fit([1, 2]),
                         "key 0: need one dimension"),
    "fit: codes of no list": (lambda: models.LatentClass.fit(5), "keys: name the key"),
    "fit: method": (lambda: models.Ewens.fit(SIZES, "magic"), "magic"),
    "fit: Pitman method": (lambda: models.Pitman.fit(SIZES, None), "method"),
    "fit: K below": (lambda: models.PoissonGamma.fit(SIZES, 3), "K"),
    "fit: K nan": (lambda: models.DirichletMultinomial.fit(SIZES, NAN), "K"),
    "fit: K text": (lambda: models.DirichletMultinomial.fit(SIZES, "9"), "K"),
    "fit: K fraction": (lambda: models.PoissonGamma.fit(SIZES, 99.5), "K"),
    "fit: K huge": (lambda: models.PoissonGamma.fit(SIZES, 10**40), "K"),
    "tau: N below": (lambda: models.Ewens.fit(SIZES).tau(SIZES, 5), "N"),
    "tau: N nan": (lambda: models.Ewens.fit(SIZES).tau(SIZES, NAN), "N"),
    "tau: N text": (lambda: models.Ewens.fit(SIZES).tau(SIZES, "9"), "N"),
    "tau: N fraction": (lambda: models.Ewens.fit(SIZES).tau(SIZES, 1000.5), "N"),
    "tau: N huge": (lambda: models.Ewens.fit(SIZES).tau(SIZES, 10**40), "N"),
    "interval: level": (lambda: models.Ewens.fit(SIZES).tau_interval(SIZES, 999, 2),
                        "level"),
    "interval: level nan": (
        lambda: models.Ewens.fit(SIZES).tau_interval(SIZES, 999, NAN), "level"),
    "uniqueness: n above N": (lambda: models.Pitman.fit(SIZES).uniqueness(9, 5), "n"),
    "uniqueness: n 0": (lambda: models.Pitman.fit(SIZES).uniqueness(0, 5), "n"),
    "uniques: N 0": (lambda: models.Pitman.fit(SIZES).population_uniques(0), "N"),
    "uniques: N negative": (lambda: models.Pitman.fit(SIZES).population_uniques(-1),
                            "N"),
    # Files
    "risk text": (lambda: RiskDistribution(["a"]), "risk: need numbers"),
    "risk nan": (lambda: RiskDistribution([NAN]), "risk: 1 of 1 values"),
    "risk above": (lambda: RiskDistribution([1.5]), "risk: 1 of 1 values"),
    "risk plane": (lambda: RiskDistribution([[0.5]]), "one dimension"),
    "risk none": (lambda: RiskDistribution([]), "no records"),
    "risk None": (lambda: RiskDistribution(None), "risk: need numbers"),
    "risk bool": (lambda: RiskDistribution([True]), "risk: need numbers"),
    "frequency short": (lambda: RiskDistribution([0.5], [1, 2]),
                        "frequency: shape"),
    "frequency negative": (lambda: RiskDistribution([0.5], [-1]),
                           "frequency: 1 of 1"),
    "frequency text": (lambda: RiskDistribution([0.5], ["1"]), "frequency"),
    "frequency 0": (lambda: RiskDistribution([0.5], [0]), "0 records"),
    "household short": (lambda: riskcore.household_risk([0.5], [1, 2]), "household"),
    "household None": (lambda: riskcore.household_risk([0.5], None), "household"),
    "household risk": (lambda: riskcore.household_risk([2], [1]), "risk"),
    "threshold": (lambda: HIST.unsafe_count(-1), "threshold=-1: need a number >= 0"),
    "threshold None": (lambda: HIST.unsafe_count(None), "threshold=None"),
    "threshold text": (lambda: HIST.unsafe_count("x"), "threshold='x'"),
    "rate": (lambda: HIST.threshold_for_rate(1.5),
             "rate=1.5: need a fraction in [0, 1]"),
    "rate complex": (lambda: HIST.threshold_for_rate(1j), "rate=1j"),
    "count": (lambda: HIST.threshold_for_unsafe(4), "count: need 0 to 3 records"),
    "edges": (lambda: log_edges(0.5, 0.1), "low"),
    # The intruder
    "sample text": (lambda: intruded("a", 9, 5, 0.1), "n: need numbers"),
    "sample above": (lambda: intruded(10, 9, 5, 0.1), "n: 1 of 1"),
    "sample nan": (lambda: intruded(NAN, 9, 5, 0.1), "n: 1 of 1"),
    "population 0": (lambda: intruded(1, 0, 0, 0.1), "N: 1 of 1"),
    "population huge": (lambda: intruded(1, 1e300, 1, 0.1), "N: 1 of 1"),
    "acquaintances": (lambda: intruded(1, 9, 10, 0.1), "acquaintances"),
    "fraction": (lambda: intruded(1, 9, 5, 1.1), "unique_fraction"),
    "investigators 0": (
        lambda: intruded(1, 9, 5, 0.1, investigators=0),
        "investigators"),
    "form": (lambda: intruded(1, 9, 5, 0.1, form="normal"), "'normal'"),
    "form None": (lambda: intruded(1, 9, 5, 0.1, form=None), "form"),
    "circles 0": (lambda: intruder.expected_acquaintances(9, 5, 0), "m"),
    "circles fraction": (lambda: intruder.expected_acquaintances(9, 5, 1.5), "m"),
    "circle above": (lambda: intruder.expected_acquaintances(9, 10, 1), "a"),
    "gamma": (lambda: intruder.maximal_sampling_fraction(2, 9, 5, 0.1), "gamma"),
    "gamma text": (lambda: intruder.maximal_sampling_fraction("x", 9, 5, 0.1), "gamma"),
    "K 0": (lambda: intruder.minimal_subpopulation(0.1, 9, 0.1, 1, 0), "K"),
    "beta negative": (lambda: intruder.minimal_subpopulation(0.1, 9, 0.1, -1, 9),
                      "beta"),
    "fractions unequal": (lambda: intruder.total_risk(5, [0.1, 0.2, 0.3], [0.1, 0.2]),
                          "fractions"),
    "law: N": (lambda: law_of(0, 1, 1), "N"),
    "law: a": (lambda: law_of(9, 10, 1), "a"),
    "law: a fraction": (lambda: law_of(9, 1.5, 1), "a"),
    "law: m": (lambda: law_of(9, 1, 0), "m"),
    "law: m and sizes": (lambda: law_of(9, [1, 2], 2), "a"),
    "law: no m": (lambda: law_of(9, 1), "a"),
    "law: no sizes": (lambda: law_of(9, []), "a"),
    "law: m 1e8": (lambda: law_of(9, 1, 10**8),
                   "m: 1 of 1 values are not numbers from 1 to 1e+07"),
    "law: minutes": (
        lambda: law_of(10**6, 10**5, 10**5).probability,
        "would take minutes"),
    "law: many small": (
        lambda: law_of(10**6, 1, 10**7).probability,
        "10,000,000 circles of up to 1 in 1,000,000 people would take minutes"),
    # Simulation
    "zipf: N 0": (lambda: simulate.zipf_population(0, 5, 1, RNG), "N=0: need"),
    "zipf: N fraction": (lambda: simulate.zipf_population(1.5, 5, 1, RNG), "N"),
    "zipf: N text": (lambda: simulate.zipf_population("9", 5, 1, RNG), "N"),
    "zipf: K": (lambda: simulate.zipf_population(9, 0, 1, RNG), "K=0: need"),
    "zipf: K huge": (lambda: simulate.zipf_population(9, 2**53, 1, RNG), "GB"),
    "zipf: exponent": (lambda: simulate.zipf_population(9, 5, -1, RNG), "exponent"),
    "zipf: exponent nan": (lambda: simulate.zipf_population(9, 5, NAN, RNG),
                           "exponent"),
    "zipf: exponent text": (lambda: simulate.zipf_population(9, 5, "1", RNG),
                            "exponent"),
    "zipf: generator": (lambda: simulate.zipf_population(9, 5, 1, 7), "rng"),
    "zipf: None": (lambda: simulate.zipf_population(9, 5, 1, None), "rng"),
    "dirichlet: alpha": (
        lambda: simulate.dirichlet_multinomial_population(9, 5, 0, RNG), "alpha"),
    "dirichlet: alpha None": (
        lambda: simulate.dirichlet_multinomial_population(9, 5, None, RNG), "alpha"),
    "pitman: N": (lambda: simulate.pitman_population(2**31, 1, 0.5, RNG), "2^31"),
    "pitman: sigma": (lambda: simulate.pitman_population(9, 1, 1, RNG), "sigma"),
    "pitman: theta": (lambda: simulate.pitman_population(9, -1, 0.5, RNG), "theta"),
    "pitman: theta text": (lambda: simulate.pitman_population(9, "1", 0.5, RNG),
                           "theta"),
    "microdata: n": (lambda: simulate.microdata(0, RNG), "n: need at least 1"),
    "microdata: huge": (lambda: simulate.microdata(10**12, RNG), "fewer than 2^31"),
    "microdata: text": (lambda: simulate.microdata("9", RNG), "n"),
    "microdata: fraction": (lambda: simulate.microdata(9, RNG, fraction=0), "fraction"),
    "microdata: seed": (lambda: simulate.microdata(9, 1), "rng"),
    "sample: above": (lambda: simulate.sample([1, 2], 4, RNG), "n"),
    "sample: negative": (lambda: simulate.sample([1, 2], -1, RNG), "n"),
    "sample: frequencies": (lambda: simulate.sample([-1], 0, RNG), "frequencies"),
    "sample: design": (lambda: simulate.sample([1], 1, RNG, "x"), "design"),
    "sample: strata": (lambda: simulate.sample([1], 1, RNG, "stratified"), "strata"),
    # Forms and tables
    "adaptive: rule": (lambda: forms.adaptive(2, 0.5, 0.1, "x"), "rule"),
    "table: form": (lambda: accuracy.error_table(["x"], [1], [0.5]),
                    "unknown form 'x'"),
    "table: none": (lambda: accuracy.error_table([], [1], [0.5]), "forms is empty"),
    "table: f": (lambda: accuracy.error_table(["series7"], [0], [0.5]), "f are finite"),
    "table: p": (lambda: accuracy.error_table(["series7"], [1], [2]), "p are above 0"),
    "table: no points": (lambda: accuracy.error_table(["series7"], [], [0.5]), "empty"),
    "grid: count": (lambda: accuracy.grid(1, 9, 1), "at least 2"),
    "grid: huge": (lambda: accuracy.grid(1, 9, 10**9), "at most 10,000,000"),
    "grid: nan": (lambda: accuracy.grid(NAN, 9, 5), "nan"),
    "grid: down": (lambda: accuracy.grid(9, 1, 5), "the stop must be above"),
    "grid: scale": (lambda: accuracy.grid(1, 9, 5, "cubic"), "'cubic'"),
    "embed: unknown": (lambda: embed.c_function("sin"), "sin"),
    "embed: None": (lambda: embed.c_function(None), "None"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_call(case, raises):
    call, phrase = CALLS[case]
    raises(call, phrase)


def test_circles_after_all_people_are_reached_do_not_count():
    law = law_of(10, 3, 10**6)
    assert law.acquaintances.tolist() == [10]
    assert law.probability == pytest.approx([1.0], abs=1e-12)
