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
    "individual_risk": 2, "individual_risk_from_frequencies": 2,
    "log_individual_risk": 2, "individual_risk_gradient": 2,
    "individual_risk_bounds": 2, "individual_risk_down": 2, "individual_risk_up": 2,
    "individual_risk_deviation": 2, "individual_risk_second_moment": 2,
    "population_frequency_quantile": 3, "individual_risk_with_prior": 3,
    "log_individual_risk_with_prior": 3, "individual_risk_poisson": 2,
    "cell_fully_sampled_probability": 2,
}  # fmt: skip

# Ufuncs are NumPy's own where types are wrong: TypeError, and the name of the function.
ODD = {
    "text": "a", "digits": "1", "bytes": b"1", "None": None, "complex": 1j,
    "object": object(), "list of text": ["a", "b"], "dict": {},
    "date": np.datetime64("2020"), "objects": np.array([1, "a"], object),
    "records": np.zeros(2, [("x", float)]),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_of_other_things_than_numbers(name, case):
    function = getattr(riskcore, name)
    with pytest.raises(TypeError, match=f"{name} takes |{name}' not|could not"):
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
DIRICHLET, SAMPLE = simulate.dirichlet_multinomial_population, simulate.sample
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
    "sizes some": (lambda: models.SizeIndices({0: 3, 1: 2}),
                   "sizes: 1 of 2 are not whole numbers from 1"),
    "counts some": (lambda: models.SizeIndices({1: -2, 2: 1}),
                    "counts: 1 of 2 are not whole numbers from 0"),
    "count nan": (lambda: models.SizeIndices({1: NAN}), "counts: 1 of 1 are not whole"),
    "frequencies some": (lambda: models.SizeIndices.from_frequencies([1.0, INF, -1.0]),
                         "frequencies: 2 of 3 are not whole"),
    "frequencies words": (lambda: models.SizeIndices.from_frequencies(["a"]),
                          "frequencies: need whole numbers", TypeError),
    "frequencies of 0": (lambda: models.SizeIndices.from_frequencies([0, 0]),
                         "frequencies: no records"),
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
    "risk text": (lambda: RiskDistribution(["a"]), "risk: need numbers",
                  TypeError),
    "risk nan": (lambda: RiskDistribution([NAN]), "risk: 1 of 1 values"),
    "risk above": (lambda: RiskDistribution([1.5]), "risk: 1 of 1 values"),
    "risk below": (lambda: RiskDistribution([-0.5]), "risk: 1 of 1 values"),
    "risk plane": (lambda: RiskDistribution([[0.5]]), "one dimension"),
    "risk none": (lambda: RiskDistribution([]), "no records"),
    "risk None": (lambda: RiskDistribution(None), "risk: need numbers",
                  TypeError),
    "risk bool": (lambda: RiskDistribution([True]), "risk: need numbers",
                  TypeError),
    "risk complex": (lambda: RiskDistribution([0.5j]), "risk: need numbers", TypeError),
    "risk some": (lambda: RiskDistribution([0.5, NAN, 1.5, -0.1]), "risk: 3 of 4 val"),
    "risk alone": (lambda: RiskDistribution(0.5), "shape ()"),
    "frequency short": (lambda: RiskDistribution([0.5], [1, 2]),
                        "frequency: shape (2,), but 1 risks"),
    "frequency none": (lambda: RiskDistribution([], []), "0 records"),
    "frequency some": (lambda: RiskDistribution([0.5] * 3, [1, -1, 2]),
                       "frequency: 1 of 3"),
    "frequency odd": (lambda: RiskDistribution([0.5] * 3, [1.5, NAN, INF]),
                      "frequency: 3 of 3"),
    "frequency huge": (lambda: RiskDistribution([0.5] * 2, [2**52] * 2),
                       "9007199254740992 records"),
    "frequency bool": (lambda: RiskDistribution([0.5], [True]),
                       "frequency: need numbers", TypeError),
    "frequency complex": (lambda: RiskDistribution([0.5], [1j]),
                          "frequency: need numbers", TypeError),
    "frequency negative": (lambda: RiskDistribution([0.5], [-1]),
                           "frequency: 1 of 1"),
    "frequency text": (lambda: RiskDistribution([0.5], ["1"]),
                       "frequency: need numbers", TypeError),
    "frequency 0": (lambda: RiskDistribution([0.5], [0]), "0 records"),
    "household short": (lambda: riskcore.household_risk([0.5], [1, 2]), "1 risks"),
    "household plane": (lambda: riskcore.household_risk([0.5], np.ones((1, 1), int)),
                        "household: shape"),
    "household risks": (lambda: riskcore.household_risk([0.5, 1.5, -0.5, NAN], [1] * 4),
                        "risk: 2 of 4 values"),
    "household risk plane": (lambda: riskcore.household_risk([[0.5]], [1]),
                             "risk: need one dimension"),
    "household risk text": (lambda: riskcore.household_risk(["0.5"], [1]),
                            "risk: need numbers", TypeError),
    "household of lists": (
        lambda: riskcore.household_risk([0.5] * 2, np.array([[1], [2, 3]], object)),
        "hash", TypeError),
    "household None": (lambda: riskcore.household_risk([0.5], None), "household"),
    "household risk": (lambda: riskcore.household_risk([2], [1]), "risk"),
    "threshold": (lambda: HIST.unsafe_count(-1), "threshold=-1: need a number >= 0"),
    "threshold None": (lambda: HIST.unsafe_count(None), "threshold=None"),
    "threshold text": (lambda: HIST.unsafe_count("x"), "threshold='x'"),
    "threshold nan": (lambda: HIST.unsafe_count(NAN), "threshold=nan"),
    "threshold cap": (lambda: HIST.capped_rate(-0.1), "threshold=-0.1"),
    "threshold cap nan": (lambda: HIST.capped_rate(NAN), "threshold=nan"),
    "threshold safe": (lambda: HIST.safe_rate(NAN), "threshold=nan"),
    "rate": (lambda: HIST.threshold_for_rate(1.5),
             "rate=1.5: need a fraction in [0, 1]"),
    "rate nan": (lambda: HIST.threshold_for_rate(NAN), "rate=nan: need a fraction"),
    "rate below": (lambda: HIST.threshold_for_rate(-1e-9), "rate=-1e-09: need a fract"),
    "rate observed": (lambda: HIST.observed_threshold_for_rate(-1e-9),
                      "rate=-1e-09: need a fraction"),
    "rate observed above": (lambda: HIST.observed_threshold_for_rate(1.25),
                            "rate=1.25: need a fraction"),
    "rate complex": (lambda: HIST.threshold_for_rate(1j), "rate=1j"),
    "count": (lambda: HIST.threshold_for_unsafe(4), "count: need 0 to 3 records"),
    "count below": (lambda: HIST.threshold_for_unsafe(-1), "need 0 to 3 records"),
    "unsafe fraction": (lambda: HIST.threshold_for_unsafe(0.5), "count", TypeError),
    "edges": (lambda: log_edges(0.5, 0.1), "low"),
    # The intruder
    "sample text": (lambda: intruded("a", 9, 5, 0.1), "n: need numbers"),
    "sample above": (lambda: intruded(10, 9, 5, 0.1), "n: 1 of 1"),
    "sample nan": (lambda: intruded(NAN, 9, 5, 0.1), "n: 1 of 1"),
    "population 0": (lambda: intruded(1, 0, 0, 0.1), "N: 1 of 1"),
    "population huge": (lambda: intruded(1, 1e300, 1, 0.1), "N: 1 of 1"),
    "acquaintances": (lambda: intruded(1, 9, 10, 0.1),
                      "acquaintances: 1 of 1 values are not at most N"),
    "fraction": (lambda: intruded(1, 9, 5, 1.1), "unique_fraction"),
    "investigators 0": (
        lambda: intruded(1, 9, 5, 0.1, investigators=0),
        "investigators"),
    "sample negative": (lambda: intruded(-1, 10, 5, 0.5),
                        "n: 1 of 1 values are not numbers from 0"),
    "samples": (lambda: intruded([3, 11, 12], 10, 5, 0.5),
                "n: 2 of 3 values are not at most N"),
    "population endless": (lambda: intruded(1, INF, 0, 0.5), "N: 1 of 1"),
    "acquaintances nan": (lambda: intruded(1, 10, NAN, 0.5),
                          "acquaintances: 1 of 1 values are not numbers"),
    "acquaintances text": (lambda: intruded(1, 10, "five", 0.5),
                           "acquaintances: need numbers", TypeError),
    "fractions": (lambda: intruded(1, 10, 5, [0.5, 1.5]),
                  "unique_fraction: 1 of 2 values"),
    "investigators 1.5": (lambda: intruded(1, 10, 5, 0.5, 1.5),
                          "investigators: 1 of 1 values are not whole"),
    "form": (lambda: intruded(1, 9, 5, 0.1, form="normal"),
             "form='normal': use 'hypergeometric', "),
    "form None": (lambda: intruded(1, 9, 5, 0.1, form=None), "form"),
    "circles 0": (lambda: intruder.expected_acquaintances(9, 5, 0), "m"),
    "circles fraction": (lambda: intruder.expected_acquaintances(9, 5, 1.5),
                         "m: 1 of 1 values are not whole"),
    "circle above": (lambda: intruder.expected_acquaintances(10, [3, 11], 2),
                     "a: 1 of 2 values are not at most N"),
    "gamma": (lambda: intruder.maximal_sampling_fraction([0.1, 2], 9, 5, 0.1),
              "gamma: 1 of 2 values"),
    "gamma form": (lambda: intruder.maximal_sampling_fraction(0.1, 9, 5, 0.5, form="x"),
                   "'exponential' or 'linear'"),
    "fractions of samples": (
        lambda: intruder.maximal_subpopulation_risk([0.1, 1.2], 10, 0.5),
        "sampling_fraction: 1 of 2 values"),
    "acquaintances of a subpopulation": (
        lambda: intruder.minimal_subpopulation(0.1, -1, 0.1, 0.1, 50),
        "acquaintances: 1 of 1 values"),
    "gamma of uniques": (lambda: intruder.maximal_unique_fraction(1.5, 10, 0.1),
                         "gamma: 1 of 1 values"),
    "form of a subpopulation": (
        lambda: intruder.subpopulation_risk([1, 1], 10, 2, 0.5, "linear"),
        "form='linear': use 'hyper"),
    "keys: n": (lambda: intruder.total_risk(-1, [0.5], [0.1]), "n: 1 of 1 values"),
    "keys: rising": (lambda: intruder.total_risk(1, [0.5, 0.6], [0.1, 0.2]),
                     "acquaintance_fractions: 1 of 1 values"),
    "keys: falling": (lambda: intruder.total_risk(1, [0.5, 0.4], [0.2, 0.1]),
                      "unique_fractions: 1 of 2 values"),
    "keys: above 1": (lambda: intruder.total_risk(1, [1.5], [0.1]),
                      "acquaintance_fractions: 1 of 1 values"),
    "keys: nan": (lambda: intruder.total_risk(1, [0.5], [NAN]),
                  "unique_fractions: 1 of 1 values"),
    "keys: form": (lambda: intruder.total_risk(1, [0.5], [0.1], "binomial"),
                   "form='binomial': use 'disjoint', 'indep"),
    "uniques: people": (lambda: intruder.unique_fraction(0, 5, 0.1), "N: 1 of 1 val"),
    "uniques: half a cell": (lambda: intruder.unique_fraction(5, 0.5, 0.1),
                             "K: 1 of 1 values are not numbers from 1"),
    "uniques: beta": (lambda: intruder.unique_fraction(5, 5, [-0.1, 0.1]),
                      "beta: 1 of 2 values are not numbers from 0 to 1e"),
    "uniques: beta nan": (lambda: intruder.unique_fraction(5, 5, NAN), "beta: 1 of 1"),
    "betas: 0": (lambda: intruder.betas_for_unique_fraction(0.0, 5, 5),
                 "fraction: 1 of 1 values"),
    "betas: above 1": (lambda: intruder.betas_for_unique_fraction(1.1, 5, 5),
                       "fraction: 1 of 1 values"),
    "betas: nan": (lambda: intruder.betas_for_unique_fraction(NAN, 5, 5),
                   "fraction: 1 of 1 values"),
    "gamma text": (lambda: intruder.maximal_sampling_fraction("x", 9, 5, 0.1), "gamma"),
    "K 0": (lambda: intruder.minimal_subpopulation(0.1, 9, 0.1, 1, 0), "K"),
    "beta negative": (lambda: intruder.minimal_subpopulation(0.1, 9, 0.1, -1, 9),
                      "beta"),
    "fractions unequal": (lambda: intruder.total_risk(5, [0.1, 0.2, 0.3], [0.1, 0.2]),
                          "fractions"),
    "law: N": (lambda: law_of(0, 1, 1), "N: 1 of 1 values"),
    "law: a": (lambda: law_of(9, 10, 1),
               "a: 1 of 1 values are not numbers from 0 to 9"),
    "law: some a": (lambda: law_of(9, [3, 12, -1]), "a: 2 of 3 values"),
    "law: a fraction": (lambda: law_of(9, 1.5, 1), "a: 1 of 1 values are not whole"),
    "law: m": (lambda: law_of(9, 1, 0), "m: 1 of 1 values"),
    "law: m and sizes": (lambda: law_of(9, [1, 2], 2),
                         "a: one size for m = 2 circles, not 2"),
    "law: no m": (lambda: law_of(9, 1), "a: need the sizes of the circles"),
    "law: no sizes": (lambda: law_of(9, []), "a: need the sizes of the circles"),
    "law: m 1e8": (lambda: law_of(9, 1, 10**8),
                   "m: 1 of 1 values are not numbers from 1 to 1e+07"),
    "law: minutes": (
        lambda: law_of(10**6, 10**5, 10**5).probability,
        "would take minutes"),
    "law: many small": (
        lambda: law_of(10**6, 1, 10**7).probability,
        "10,000,000 circles of up to 1 in 1,000,000 people would take minutes"),
    # Simulation
    "zipf: N 0": (lambda: simulate.zipf_population(0, 5, 1, RNG), "N=0: need a whole"),
    "zipf: N fraction": (lambda: simulate.zipf_population(1.5, 5, 1, RNG), "N",
                         TypeError),
    "zipf: N text": (lambda: simulate.zipf_population("9", 5, 1, RNG), "N", TypeError),
    "zipf: K": (lambda: simulate.zipf_population(9, 0, 1, RNG), "K=0: need a whole"),
    "zipf: K huge": (lambda: simulate.zipf_population(9, 10**12, 1, RNG), "8000 GB"),
    "zipf: exponent": (lambda: simulate.zipf_population(9, 5, -1, RNG),
                       "exponent=-1: need a number >= 0"),
    "zipf: exponent inf": (lambda: simulate.zipf_population(9, 5, INF, RNG),
                           "exponent=inf: need a number >= 0"),
    "zipf: exponent nan": (lambda: simulate.zipf_population(9, 5, NAN, RNG),
                           "exponent"),
    "zipf: exponent text": (lambda: simulate.zipf_population(9, 5, "1", RNG),
                            "exponent"),
    "zipf: generator": (lambda: simulate.zipf_population(9, 5, 1, 7), "rng", TypeError),
    "zipf: None": (lambda: simulate.zipf_population(9, 5, 1, None), "rng", TypeError),
    "dirichlet: alpha": (lambda: DIRICHLET(9, 5, 0, RNG), "alpha=0: need a number > 0"),
    "dirichlet: alpha nan": (lambda: DIRICHLET(9, 5, NAN, RNG), "alpha=nan: need a nu"),
    "dirichlet: alpha huge": (lambda: DIRICHLET(5, 5, 1e308, RNG),
                              "alpha=1e+308: alpha times 5 cells"),
    "dirichlet: alpha None": (lambda: DIRICHLET(9, 5, None, RNG), "alpha"),
    "dirichlet: generator": (lambda: DIRICHLET(5, 5, 1.0, np.random), "rng", TypeError),
    "pitman: N": (lambda: simulate.pitman_population(2**31, 1, 0.5, RNG), "2^31"),
    "pitman: sigma": (lambda: simulate.pitman_population(9, 1, 1, RNG), "sigma=1: nee"),
    "pitman: sigma below": (lambda: simulate.pitman_population(9, 1, -0.5, RNG),
                            "sigma=-0.5: need"),
    "pitman: theta": (lambda: simulate.pitman_population(9, -1, 0.5, RNG),
                      "theta: need"),
    "pitman: theta 0": (lambda: simulate.pitman_population(9, 0, 0, RNG), "theta: nee"),
    "pitman: theta at its end": (lambda: simulate.pitman_population(9, -0.5, 0.5, RNG),
                                 "theta: need"),
    "pitman: theta text": (lambda: simulate.pitman_population(9, "1", 0.5, RNG),
                           "theta"),
    "pitman: None": (lambda: simulate.pitman_population(9, 1, 0, None), "rng",
                     TypeError),
    "microdata: n": (lambda: simulate.microdata(0, RNG), "n: need at least 1 record"),
    "microdata: n below": (lambda: simulate.microdata(-5, RNG), "at least 1 record"),
    "microdata: huge": (lambda: simulate.microdata(10**12, RNG), "fewer than 2^31"),
    "microdata: text": (lambda: simulate.microdata("9", RNG), "n"),
    "microdata: real": (lambda: simulate.microdata(9.5, RNG), "n", TypeError),
    "microdata: fraction": (lambda: simulate.microdata(9, RNG, fraction=0), "fraction"),
    "microdata: fraction below": (lambda: simulate.microdata(9, RNG, -0.1), "fraction"),
    "microdata: fraction above": (lambda: simulate.microdata(9, RNG, 1.5), "fraction"),
    "microdata: fraction nan": (lambda: simulate.microdata(9, RNG, NAN), "fraction"),
    "microdata: seed": (lambda: simulate.microdata(9, 1), "rng", TypeError),
    "households: 0": (lambda: simulate.household_survey(0, RNG), "households"),
    "households: below": (lambda: simulate.household_survey(-1, RNG), "households"),
    "households: huge": (lambda: simulate.household_survey(2**26, RNG), "households"),
    "households: real": (lambda: simulate.household_survey(1.5, RNG), "households",
                         TypeError),
    "households: seed": (lambda: simulate.household_survey(10, 42), "rng", TypeError),
    "sample: above": (lambda: SAMPLE([1, 2], 4, RNG),
                      "n: need 0 to 3 records, got 4"),
    "sample: negative": (lambda: SAMPLE([1, 2], -1, RNG), "n: need 0 to 3"),
    "sample: n real": (lambda: SAMPLE([1, 2], 1.5, RNG), "n", TypeError),
    "sample: n above": (lambda: SAMPLE([1, 2], 3.5, RNG, "poisson"), "0 to N = 3"),
    "sample: frequencies": (lambda: SAMPLE([1, -2], 1, RNG),
                            "frequencies: 1 of 2 values"),
    "sample: reals": (lambda: SAMPLE([1.0, 2.0], 1, RNG), "frequencies", TypeError),
    "sample: plane": (lambda: SAMPLE([[1]], 1, RNG), "frequencies: need one dimension"),
    "sample: generator": (lambda: SAMPLE([1, 2], 1, 42), "rng", TypeError),
    "sample: design": (lambda: SAMPLE([1], 1, RNG, "x"), "design='x': use 'simple', "),
    "sample: no strata": (lambda: SAMPLE([1], 1, RNG, "stratified"), "strata: needed"),
    "sample: strata": (lambda: SAMPLE([1], 1, RNG, "simple", ["a"]), "strata: needed"),
    "sample: strata short": (lambda: SAMPLE([1, 2], 1, RNG, "stratified", ["a"]),
                             "strata: shape"),
    "sample: n of strata": (lambda: SAMPLE([1, 2], [1], RNG, "stratified", ["a", "b"]),
                            "n: 2 strata"),
    "sample: a large stratum": (
        lambda: SAMPLE([1, 2], [1, 3], RNG, "stratified", [0, 1]),
        "n[1]: need 0 to 2 records, got 3"),
    "sample: real stratum": (
        lambda: SAMPLE([1, 2], 1.5, RNG, "stratified", ["a", "b"]), "n", TypeError),
    "uniques: cells": (lambda: simulate.uniques([1, 2], [1]), "sampled: 1 cells, not "),
    "uniques: records": (lambda: simulate.uniques([1, 2], [2, 2]), "in 1 cells"),
    "weights: no record": (lambda: simulate.design_weights([1, 2], [0, 1], [5, 7]),
                           "no record in 1 of 2"),
    # Forms and tables
    "adaptive: rule": (lambda: forms.adaptive(2, 0.5, 0.1, "x"), "rule"),
    "table: form": (lambda: accuracy.error_table(["x"], [1], [0.5]),
                    "unknown form 'x'"),
    "table: none": (lambda: accuracy.error_table([], [1], [0.5]), "forms is empty"),
    "table: f": (lambda: accuracy.error_table(["series7"], [0], [0.5]),
                 "f are finite and at least 1e-290"),
    "table: f nan": (lambda: accuracy.error_table("franconi", NAN, 0.5), "f are finit"),
    "table: f inf": (lambda: accuracy.error_table("franconi", INF, 0.5), "f are finit"),
    "table: p 0": (lambda: accuracy.error_table("franconi", 1, 0),
                   "p are above 0 and at most 1"),
    "table: some p": (lambda: accuracy.error_table("franconi", 1, [0.5, 1.5]),
                      "p are above 0"),
    "table: p nan": (lambda: accuracy.error_table("franconi", 1, NAN), "p are above 0"),
    "table: p": (lambda: accuracy.error_table(["series7"], [1], [2]), "p are above 0"),
    "table: no points": (lambda: accuracy.error_table(["series7"], [], [0.5]), "empty"),
    "grid: count": (lambda: accuracy.grid(1, 9, 1), "at least 2"),
    "grid: huge": (lambda: accuracy.grid(1, 9, 10**9), "at most 10,000,000"),
    "grid: nan": (lambda: accuracy.grid(NAN, 9, 5), "the stop must be above the start"),
    "grid: point": (lambda: accuracy.grid(1, 1, 5), "the stop must be above the start"),
    "grid: endless": (lambda: accuracy.grid(1, INF, 5), "a linear grid must lie in"),
    "grid: log": (lambda: accuracy.grid(0, 1, 5, "log"), "a log grid must lie in"),
    "grid: logit": (lambda: accuracy.grid(0.5, 1, 5, "logit"),
                    "a logit grid must lie in [4.94066e-324, 0.99999999999"),
    "grid: down": (lambda: accuracy.grid(9, 1, 5), "the stop must be above"),
    "grid: scale": (lambda: accuracy.grid(1, 9, 5, "cubic"),
                    "known are linear, log, logit, whole"),
    "embed: unknown": (lambda: embed.c_function("sin"), "sin"),
    "embed: None": (lambda: embed.c_function(None), "None"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_call(case, raises):
    call, phrase, *kind = CALLS[case]
    raises(call, phrase, **({"kind": kind[0]} if kind else {}))


def test_circles_after_all_people_are_reached_do_not_count():
    law = law_of(10, 3, 10**6)
    assert law.acquaintances.tolist() == [10]
    assert law.probability == pytest.approx([1.0], abs=1e-12)
