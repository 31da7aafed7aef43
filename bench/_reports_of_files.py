"""Reports of public_reports.toml on files, weights and codes."""

import numpy as np
import pandas
import pyreadstat

from bench._public_cases import (
    KEYS,
    RNG,
    amounts,
    assess,
    described,
    need,
    protect,
    safe,
    sample,
    say,
    table,
    write,
)  # fmt: skip

WRITERS = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}
WRITERS["xpt"] = pyreadstat.write_xport
RDA = '<SEPARATOR> ","\n<NAMESINFRONT>\nHHID 6\n<HOUSE_ID>\nSEX 1 9\n<RECODEABLE>\n'
ARGUS = "HHID,SEX\n101000,1\n101000,2\n101001,1\n101002,2\n"


def labelled(name, labels=None, formats=None, missing=None, how=None, **columns):
    """Write a file of SPSS, Stata or SAS, by the suffix, and return its name."""
    options = {"variable_value_labels": labels, "variable_format": formats}
    options["missing_user_values" if name[-1] == "a" else "missing_ranges"] = missing
    options = {key: value for key, value in options.items() if value} | (how or {})
    WRITERS[name[-3:]](pandas.DataFrame(columns), name, **options)
    return name


# Weights and codes


def zero_weights():
    table(A=[1, 1, 2, 3], W=[0.0, 50, 0, 70])
    rows = assess("--keys", "A", "--weight", "W")["riskiest"]
    got = {x["A"]: (x["sample_frequency"], x["population_frequency"]) for x in rows}
    need(got == {"1": (2, 50), "2": (1, 0), "3": (1, 70)}, str(got))
    need((rows[0]["A"], rows[0]["individual_risk"]) == ("2", 1), str(rows[0]))
    return "they count in f and add nothing to F; one alone in its cell has the risk 1"


def zeros_among_dhs_weights():
    weight = (RNG.uniform(0.3, 2, 300) * 1e6).round()
    weight[:60] = 0
    sample(W=weight)
    words = [*KEYS, "--weight", "W"]
    zero = assess(*words, "--weight-scale", "1e-6")["weights"]["zero"]
    need(zero == 60, f"{zero} zero weights")
    return say("assess", "survey.csv", *words).has("error", "--weight-scale 1e-6")


def a_code_above_all_incomes():
    income = amounts((9999999, 40))
    sample(1000, INCTOT=income)
    words = [*KEYS, "--k", 3, "--treat", "INCTOT=top:1%"]
    said = say("protect", "survey.csv", *words).has("9999999", "--na INCTOT=9999999")
    protect(*words, "--na", "INCTOT=9999999")
    got = pandas.to_numeric(safe()["INCTOT"]).max()
    need(got < income[40:].max(), "the largest income is still there")
    return said


def a_top_code_is_an_amount():
    income = np.minimum(amounts(), 40636)
    income[:300] = 999999
    sample(1000, INC=income)
    codes = [x["text"] for x in described("INC")["may_be_codes"]]
    need(codes == ["999999"], str(codes))
    return "999999 may be a code; the top code 40636 may not"


def small_codes():
    hours = np.r_[RNG.integers(0, 50, 900), [77] * 40, [88] * 30, [99] * 30]
    sample(1000, HOURS=hours)
    said = say("protect", "survey.csv", *KEYS, "--k", 3, "--treat", "HOURS=noise:10%")
    return said.has("may be codes", "99", "--na")


def codes_among_ages():
    age = RNG.integers(18, 90, 1000)
    age[:30], age[30:70] = 8888, 9999
    sample(1000, YEARS=age)
    words = ["--keys", "SEX", "YEARS", "--k", 3, "--recode", "YEARS=from:30,60"]
    return say("protect", "survey.csv", *words).has("9999", "--na")


def proposed_roles():
    weight = RNG.uniform(100, 900, 300).round(2)
    sample(PERWEIGHT=weight, ASECWT=weight, HHID=np.repeat(range(100), 3))
    columns = say("describe", "survey.csv", "--json").json["columns"]
    got = {x["column"]: x["proposed_role"] for x in columns[2:]}
    asked = {"PERWEIGHT": "weight", "ASECWT": "weight", "HHID": "household"}
    need(got == {"AGE": "key"} | asked, str(got))
    return ", ".join(f"{name}: {role}" for name, role in got.items())


# Text files


def a_byte_order_mark():
    write("A\n1\n1\n", encoding="utf-8-sig")
    protect("--keys", "A", "--k", 2)
    with open("safe.csv", "rb") as data:
        need(data.read() == b"\xef\xbb\xbfA\n1\n1\n", "the safe file differs")
    return "the name is A, and the safe file keeps the mark"


def thousands_in_weights():
    table(A=[1, 2] * 20, W=[f"{1 + i % 4},{100 + i}" for i in range(40)])
    said = say("assess", "survey.csv", "--keys", "A", "--weight", "W")
    need(said.status == 2, f"exit {said.status}")
    return said.has("'1,100'", "thousands")


# Excel


# SPSS, Stata and SAS


def dates_of_spss():
    days = pandas.to_datetime(["2014-12-24", "2010-11-21"]).date
    column = described("D", labelled("a.sav", D=days))
    found = [column["type"], column["smallest"], column["largest"]]
    need(found == ["time", "2010-11-21", "2014-12-24"], str(found))
    return "2010-11-21 to 2014-12-24"


def labelled_dates():
    code = 265611830400.0  # 9999-09-09 in seconds since 1582-10-14
    values = [13638758400.0, 13509676800.0, code]
    how = {"labels": {"D": {code: "not asked"}}, "formats": {"D": "DATE11"}}
    column = described("D", labelled("a.sav", D=values, **how))
    need((column["largest"], column["missing"]) == ("2014-12-24", 1), str(column))
    return say("describe", "a.sav").has("'D'", "label", "missing")


def years_of_spss_dates():
    days = ["2008-08-26", "2008-01-02", "1999-12-31", "1999-01-01"]
    name = labelled("a.sav", D=pandas.to_datetime(days).date)
    protect("--keys", "D", "--k", 2, "--recode", "D=year", name=name)
    got = pyreadstat.read_sav("safe.sav", apply_value_formats=True)[0]["D"]
    need([str(x)[:4] for x in got] == ["2008", "2008", "1999", "1999"], str(list(got)))
    return "2008 2008 1999 1999"


def tagged_missing_values():
    labels = {"Q": {1: "yes", 2: "no", "d": "does not know"}}
    values, tags = [1, 2, "d", "n", 2, 1, "d"], {"Q": ["d", "n"]}
    name = labelled("a.dta", labels, missing=tags, Q=values)
    columns = described("Q", name), described("Q", name, "--user-missing", "codes")
    found = [(x["missing"], x["distinct"]) for x in columns]
    need(found == [(3, 2), (0, 4)], str(found))
    return "3 missing; with --user-missing codes four categories"


def text_declared_missing():
    name = labelled("a.sav", missing={"C": ["Z"]}, C=["Z", "a", "a", "b"])
    columns = described("C", name), described("C", name, "--user-missing", "codes")
    found = [x["missing"] for x in columns]
    need(found == [1, 0], str(found))
    return "1 missing; none with --user-missing codes"


def system_missing_values():
    column = described("Q", labelled("a.sav", Q=[1.0, None, None, 2.0]))
    need((column["missing"], column["distinct"]) == (2, 2), str(column))
    return "2 missing, 2 values"


def labels_of_text():
    labels = {"C": {"-2": "not on route", "-80": "infill"}}
    name = labelled("a.sav", labels, C=["-2", "-2", "-80", "-80"])
    protect("--keys", "C", "--k", 2, name=name)
    got = pyreadstat.read_sav("safe.sav")[1].variable_value_labels
    need(got == labels, str(got))
    return "both labels are in the safe file"


def blanks_in_stata():
    name = labelled("a.dta", A=[1.0, 1, 1, 1, 2], B=[5.0, 5, 6, 6, 6])
    protect("--keys", "A", "B", "--k", 2, name=name)
    got = pandas.read_stata("safe.dta")
    need(got.isna().any(axis=None) and got.max(axis=None) <= 6, got.to_string())
    return f"{got.isna().sum().sum()} system missing values, read by pandas"


def long_labels_of_xport():
    label = "household income before taxes in the year before the survey"
    how = {"file_format_version": 8, "column_labels": [label]}
    got = described("INC", labelled("a.xpt", how=how, INC=[1.0, 2.0]))["label"]
    need(got == label, f"label {got!r}")
    return "the whole label"


def a_labelled_stata_file():
    labels = {"SEX": {1: "male", 2: "female"}}
    said = say("assess", labelled("a.dta", labels, SEX=[1, 1, 2, 2]), "--keys", "SEX")
    said.has("male", "female")
    return "the labels stand beside the codes"


def big_endian_stata():
    frame = pandas.DataFrame({"N": [1.5, None, -3.0], "I": [100000, -5, 7]})
    for version in (114, 117, 118):
        frame.to_stata("a.dta", version=version, byteorder=">", write_index=False)
        found = [described(name, "a.dta") for name in frame]
        ends = [(x["smallest"], x["largest"], x["missing"]) for x in found]
        need(ends == [(-3, 1.5, 1), (-5, 100000, 0)], f"{version}: {ends}")
    return "formats 114, 117 and 118, written by pandas, are read"


def long_texts():
    text = ["x" * 3000, "y" * 3000]
    protect("--keys", "A", "--k", 2, "--role", "T=harmless",
            name=labelled("a.sav", T=text, A=[1.0, 1]))  # fmt: skip
    got = pyreadstat.read_sav("safe.sav")[0]
    need(list(got) == ["T", "A"] and got["T"].tolist() == text, str(got.dtypes))
    return "one column, the text whole"


def long_texts_of_like_names():
    texts = {f"INCOMETEXT{i}": [f"{i}" * 300] * 3 for i in (1, 2, 3)}
    roles = [f"{name}=harmless" for name in texts]
    name = labelled("a.sav", **texts, A=[1.0] * 3)
    protect("--keys", "A", "--k", 2, "--role", *roles, name=name)
    got = pyreadstat.read_sav("safe.sav")[0]
    need(all(got[x].tolist() == texts[x] for x in texts), str(got.dtypes))
    return "three columns, each with its own text"


def a_wide_file():
    wide = {f"V{i}": RNG.integers(0, 9, 300).astype(float) for i in range(2700)}
    columns = say("describe", labelled("a.sav", **wide), "--json").json["columns"]
    need(len(columns) == 2700, f"{len(columns)} columns")
    cells = assess("--keys", "V0", "V2699", name="a.sav")["cells"]
    need(cells == len({*zip(wide["V0"], wide["V2699"], strict=True)}), f"{cells} cells")
    return "2,700 columns described, two of them assessed"


# Households, persons, mu-Argus


def household_and_person_files():
    persons = {"HID": np.repeat(np.arange(100, 200), 3), "SEX": RNG.integers(1, 3, 300)}
    table(**persons)
    table("d.csv", DB030=np.arange(100, 203), REGION=RNG.integers(1, 4, 103))
    words = ["--household-file", "d.csv:HID=DB030", "--household", "HID"]
    words += ["--keys", "REGION", "SEX"]
    need(assess(*words)["records"] == 300, "not every person is there")
    protect(*words, "--k", 3, "--shuffle")
    homes, persons = pandas.read_csv("safe-households.csv"), safe(HID=int)
    need(
        len(persons) == 300 and set(persons["HID"]) <= set(homes["DB030"]), "ids differ"
    )
    return f"300 persons and {len(homes)} households are written, with the same new ids"


def household_numbers_restart():
    number = np.tile(np.repeat(np.arange(10), 3), 30)
    table(HV001=np.repeat(np.arange(30), 30), HV002=number, SEX=RNG.integers(1, 3, 900))
    said = say("assess", "survey.csv", "--keys", "SEX", "--household", "HV002")
    return said.has("warning", "HV002", "90")


def metadata_of_free_format():
    write(ARGUS, "s.asc")
    write(RDA, "s.rda")
    found = assess("--keys", "SEX", name="s.asc")
    need((found["records"], found["cells"]) == (4, 2), str(found))
    need(found.get("households"), "the household id of the metadata is not used")
    protect("--keys", "SEX", "--k", 2, name="s.asc")
    with open("safe.rds") as metadata:
        text = metadata.read()
    need("<SEPARATOR>" in text and "<NAMESINFRONT>" in text, text)
    return "read, with its households; the .rds has both lines, too"
