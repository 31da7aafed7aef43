"""Reports of public_reports.toml on risk, suppression and treatments."""

import itertools

import numpy as np
import pandas

import riskcore
from bench._public_cases import (
    KEYS,
    RNG,
    assess,
    blanks,
    need,
    protect,
    protected,
    safe,
    sample,
    say,
    table,
    treated,
)  # fmt: skip

# Ten people, as in the practice guide.
TEN = {"RES": "uuuuruuuuu", "SEX": "fffmfmfmff", "EDU": "aabcccdeaa"}
TEN = {key: list(x) for key, x in (TEN | {"JOB": "eeneuenunn"}).items()}
TEN["HEALTH"] = list("yyyyynnyny")
TEN["W"] = [180.0, 180, 215, 76, 186, 76, 180, 215, 186, 76]
FOUR = ["RES", "SEX", "EDU", "JOB"]


def fits(original, released, keys):
    """Return the least number of originals that fit a record; a blank fits all."""
    return min(
        sum(
            all(pandas.isna(row[key]) or row[key] == person[key] for key in keys)
            for _, person in original.iterrows()
        )
        for _, row in released.iterrows()
    )


def frequencies(data, keys, **how):
    """Return f of each record."""
    cells = riskcore.tabulate(data, [*keys], **how)
    return cells.sample_frequency[cells.inverse].tolist()


def a_key_without_values():
    data = {"A": [1, 1, 1, None], "B": [1] * 4, "C": [None] * 4}
    f = {keys: frequencies(data, keys) for keys in ("A", "AB", "AC", "ABC")}
    need(all(x == [4] * 4 for x in f.values()), f"f = {f}")
    return f"f = 4 with any of the keys (alpha 0: {frequencies(data, 'ABC', alpha=0)})"


def ways_to_count_missing_keys():
    data = {"A": [1, 1, None, 2], "B": [1] * 4}
    rules = ("wildcard", "category")
    f = {rule: frequencies(data, "AB", missing=rule) for rule in rules}
    need(f == {"wildcard": [3, 3, 4, 2], "category": [2, 2, 1, 1]}, str(f))
    return str(f)


def alpha_is_used_and_told():
    frame = sample().astype(object)
    frame.loc[:30, "AGE"] = None
    table(**frame)
    found = [assess(*KEYS, "--alpha", alpha) for alpha in (0, 1)]
    need([x["alpha"] for x in found] == [0, 1], "alpha is not in the summary")
    none, full = (x["reidentification_rate"] for x in found)
    need(none > full, f"{none} and {full}")
    return f"rate {none:.4g} with alpha 0, {full:.4g} with alpha 1, and alpha beside it"


def individual_risks():
    table(**TEN)
    shown = {(2, 360): 0.00542452, (1, 215): 0.02509644}
    shown |= {(2, 152): 0.01256342, (1, 186): 0.02824728}
    rows = assess("--keys", *FOUR, "--weight", "W", "--top", 9)["riskiest"]
    for row in rows:
        cell = row["sample_frequency"], round(row["population_frequency"])
        risk = shown.pop(cell, row["individual_risk"])
        need(abs(row["individual_risk"] - risk) < 1e-8, f"{cell}: {row}")
    need(not shown, f"no cells with {list(shown)}")
    return "the same four risks, to 1e-8"


def risks_are_never_nan():
    data = {"A": [1, 2, 3, 4, 5], "W": [0.3, 1.0, 0.0, 1e-300, 1.5e9]}
    risk = riskcore.assess(data, ["A"], "W").individual_risk
    need((risk[:4] == 1).all() and 0 < risk[4] < 1, str(risk))
    return f"1, 1, 1, 1 and {risk[4]:.3g}"


def three_anonymous():
    frame = pandas.DataFrame({"SEX": list("MMFFMMMMM")})
    frame["AGE"] = ["60-79"] * 4 + ["20-49"] * 5
    frame["STATE"] = ["CAL"] * 4 + ["MS"] * 2 + ["CAL"] * 3
    got = protected(frame, list(frame), k=3).data
    least = fits(frame, got, frame)
    need(least >= 3, f"a record fits {least} people")
    return f"{blanks(got)} values blanked; each record fits {least} people or more"


def no_blank_too_many():
    frame = pandas.DataFrame({"G": ["m"] * 6, "E": ["no", "p", "p", "p", "s", "s"]})
    got = protected(frame, ["G", "E"], k=3).data
    least = fits(frame, got, frame)
    need(least >= 3 and blanks(got) == 3, f"{blanks(got)} blanks, least f {least}")
    return "3 blanks: by our rule a blank is never a match of others, so 1 is too few"


def all_pairs():
    columns = {"P": [2, 3, 3, 2, 4, 2, 4, 2, 2, 3], "A": list("AAAABBBBAA")}
    columns |= {"S": list("FFFMFFFFMM"), "I": list("hlllhmhlhm")}
    frame = pandas.DataFrame(columns)
    got = protected(frame, list("PASI"), k=3, subsets=2).data
    least = min(fits(frame, got, two) for two in itertools.combinations("PASI", 2))
    need(least >= 3, f"a pair of values fits {least} people")
    return f"every pair of values fits 3 people or more, with {blanks(got)} blanks"


def a_stratum_smaller_than_k():
    sample(200, AREA=[1] * 4 + [2] * 196)
    said = say("protect", "survey.csv", *KEYS, "--k", 10, "--strata", "AREA")
    need(said.status != 0, "four people pass for ten")
    return said.has("1 stratum", "AREA=1 (4)")


def numeric_risk_follows_noise():
    frame = sample(INC=RNG.normal(2000, 500, 300).round(2))
    right = []
    for noise in ("noise:1%", "noise:500%"):
        how = {"roles": {"INC": "numeric"}, "treat": {"INC": noise}}
        links = protected(frame, ["REGION", "SEX"], k=3, **how).to_dict()
        right += [x["right"] for x in links["number_links"] if x["among"] == "all"]
    need(right[0] > 200 and right[1] < 40, str(right))
    return f"{right[0]:.0f} of 300 are found with 1 % noise, {right[1]:.0f} with 500 %"


def swap_leaves_missing_values():
    values = [*map(float, range(1, 40)), None]
    got = treated({"X": values}, {"X": "swap:20%"})["X"]
    need(got.isna().tolist() == [False] * 39 + [True], "another record is missing")
    need(sorted(got.dropna()) == values[:-1], "values were invented")
    return "the missing value stays where it was; the numbers are the same"


def a_swap_stays_in_its_window():
    ranks = np.arange(1000.0)
    moved = np.abs(treated({"X": ranks}, {"X": "swap:5%"})["X"] - ranks).max()
    need(0 < moved <= 50, f"moved up to {moved}")
    return f"values move by at most {moved:.0f} of 1,000 ranks"


def classes_of_a_number_are_text():
    rule = {"AGE": "from:30"}
    result = protected({"AGE": [20, 21, 40, 41]}, ["AGE"], k=2, recodings=rule)
    got = list(result.data["AGE"])
    need(got == ["< 30", "< 30", ">= 30", ">= 30"], str(got))
    return "< 30 and >= 30"


def counts_follow_recoding():
    rule = {"AGE": "from:30"}
    result = protected({"AGE": [20, 21, 40, 41]}, ["AGE"], k=2, recodings=rule)
    risk = result.to_dict()["sets"][0]["risk"]["protected"]
    need((risk["cells"], risk["k_anonymity"]) == (2, 2), str(risk))
    return "4 cells of one become 2 cells of two"


def groups_of_mixed_types():
    x, z = RNG.normal(size=(2, 60))
    frame = pandas.DataFrame({"X": x, "JOB": RNG.choice(list("abc"), 60), "Z": z})
    got = treated(frame, {"X+JOB": "microaggregate:5:categories=JOB"})
    sizes = got.groupby(["X", "JOB"]).size()
    need((got["Z"] == frame["Z"]).all(), "a column that was not named has changed")
    need(sizes.min() >= 5 and set(got["JOB"]) <= set("abc"), str(sizes))
    return f"{len(sizes)} groups of {sizes.min()} or more; other columns stay"


def pram_stays_in_strata():
    data = {"S": ["a"] * 50 + ["b"] * 50, "X": list("uv") * 25 + list("yz") * 25}
    got = treated(data, {"X": "pram:0.5:within=S"})["X"]
    moved = int((got != data["X"]).sum())
    need(moved and set(got[:50]) == set("uv") and set(got[50:]) == set("yz"), str(got))
    return f"{moved} of 100 values moved, all within their stratum"


def no_new_categories():
    frame = sample(400, SIZE=RNG.integers(1, 9, 400))
    rule = "SIZE=map:6=6_7_8,7=6_7_8,8=6_7_8"
    protect(*KEYS, "SIZE", "--k", 4, "--recode", rule)
    for key, codes in safe().items():
        known = {"6_7_8", *"12345"} if key == "SIZE" else set(map(str, frame[key]))
        need(set(codes) <= {"", *known}, f"{key} has {set(codes) - known}")
    return "only codes of the file, the named one, and blanks"


def l_diversity():
    frame = pandas.DataFrame(TEN)
    got = riskcore.diversity(frame, FOUR, "HEALTH").records["HEALTH_distinct_l"]
    by_hand = frame.groupby(FOUR)["HEALTH"].transform("nunique")
    need(list(got) == by_hand.tolist(), str(list(got)))
    return f"{' '.join(map(str, by_hand))} different values, as by hand"


def suda_contributions():
    table(**TEN)
    said = say("suda", "survey.csv", "--keys", *FOUR, "--json").json
    parts = next(iter(x for name, x in said.items() if "contribution" in name), [])
    shares = {part["key"]: part["share"] for part in parts}
    need(max(shares, key=shares.get) == "EDU" and len(shares) == 4, str(shares))
    return ", ".join(f"{key} {share:.1%}" for key, share in shares.items())


def a_report_with_sensitive_columns():
    sample(HEALTH=RNG.choice(list("abc"), 300))
    words = [*KEYS, "--k", 3, "--l", 2, "--role", "HEALTH=sensitive"]
    protect(*words, "--report", "a.html", "--report-public", "b.html")
    for name in ("a.html", "b.html"):
        with open(name) as page:
            need("HEALTH" in page.read(), f"{name} lacks the column")
    return "both reports are written and name HEALTH"


def missing_values_get_a_code():
    rule = riskcore.Recoding.mapping({None: "z", "3": "z"}, others="keep")
    got = riskcore.recode({"M": ["1", None, "3"]}, {"M": rule})["M"]
    need(got == ["1", "z", "z"], str(got))
    return "missing and 3 become z"


def households_count_once():
    people = {"HH": [1, 1, 1, 2, 3, 3], "SIZE": [3, 3, 3, 1, 2, 2]}
    words = ["--level", "household", "--household", "HH", "--keys", "SIZE"]
    table(**people, W=[10, 10, 10, 20, 30, 30])
    total = assess(*words, "--weight", "W")["population"]
    need(total == 60, f"population {total}")
    table(**people, W=[10, 11, 12, 20, 30, 30])
    said = say("assess", "survey.csv", *words, "--weight", "W")
    return "3 households for 60. Else: " + said.has("members differ in 'W'")


def costs_and_sets_of_keys():
    frame = sample(W=[500.0] * 300)
    sets = ["--keys", "REGION", "SEX", "--keys", "SEX", "AGE", "--weight", "W"]
    protect(*sets, "--threshold", "0.0001", "--cost", "SEX=never")
    got = safe()
    need((got["SEX"] == frame["SEX"].astype(str)).all(), "SEX was blanked")
    lost = {key: int((got[key] == "").sum()) for key in ("REGION", "AGE")}
    need(sum(lost.values()), "nothing was blanked")
    return f"SEX stays whole; blanks by key: {lost}"


def related_columns():
    frame = sample()
    table(**frame, DISTRICT=frame["REGION"] * 10)
    words = [*KEYS, "--k", 9, "--cost", "REGION=1", "SEX=9", "AGE=9"]
    protect(*words, "--related", "REGION=DISTRICT", "--role", "DISTRICT=harmless")
    empty = safe() == ""
    need(empty["REGION"].any(), "nothing was blanked")
    need((empty["DISTRICT"] == empty["REGION"]).all(), "DISTRICT shows REGION")
    return f"{empty['REGION'].sum()} blanks in both columns, in the same records"


def household_risks():
    table(A=[1, 2, 3, 3], HH=[7, 7, 8, 9])
    need("households" in assess("--keys", "A", "--household", "HH"), "no households")
    risk = riskcore.household_risk([0.5, 0.5, 0.25, 0.25], [7, 7, 8, 9]).tolist()
    need(risk == [0.75, 0.75, 0.25, 0.25], str(risk))
    return "two members of risk 0.5 give their household 0.75"


def a_group_by():
    frame = sample(500)
    count = frame.groupby(["REGION", "SEX", "AGE"])["AGE"].transform("size")
    rate = assess(*KEYS)["reidentification_rate"]
    need(abs(rate - (1 / count).mean()) < 1e-14, f"rate {rate}")
    return f"least f {count.min()}, rate {rate:.4f}, as by a group-by of pandas"


def the_largest_become_their_mean():
    income, weight = np.arange(100) + 0.25, np.r_[[1.0] * 95, [3.0] * 5]
    frame = pandas.DataFrame({"K": 1, "X": income, "W": weight})
    rule = {"X": "top:10n=mean"}
    got = protected(frame, ["K"], weight="W", k=2, treat=rule).data["X"]
    mean = np.average(income[90:], weights=weight[90:])
    need(
        np.allclose(got[90:], mean) and (got[:90] == income[:90]).all(), str(list(got))
    )
    return f"the 10 largest become {mean:.4g}, their weighted mean"


def new_household_ids():
    frame = sample(HH=np.repeat(np.arange(1000, 1100), 3))
    protect(*KEYS, "--k", 2, "--household", "HH", "--shuffle")
    got = safe(HH=int)
    need(sorted(got["HH"].unique()) == list(range(1, 101)), "ids are not 1 to 100")
    need((got.groupby("HH").size() == 3).all(), "households were torn apart")
    ages = [
        x.groupby("HH")["AGE"].apply(lambda y: sorted(map(str, y)))
        for x in (got, frame)
    ]
    need(ages[0].tolist() != ages[1].tolist(), "the new ids follow the old ones")
    return "1 to 100 in random order, households whole"
