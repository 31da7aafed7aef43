"""What measures of others say, who they are from, and what they do not see."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """The note of one measure, for those who print its figures."""

    author: str
    figures: tuple[str, ...]  # names in the result of its function
    main: tuple[str, ...]  # those that a table shows
    says: str
    blind_spot: str
    unit: str = ""


NOTES = {
    "replicated uniques": Note(
        "Raab, Nowok and Dibben (2024), synthpop",
        (
            *("UiO", "UiS", "UiOiS", "repU"),
            *("replicated uniques", "synthetic uniques in original"),
        ),
        ("repU", "UiO", "UiS"),
        "records that are unique in the original and in the release",
        "unique in the file is not unique in the population",
        " %",
    ),
    "DiSCO": Note(
        "Raab, Nowok and Dibben (2024), synthpop",
        (
            *("Dorig", "Dsyn", "iS", "DiS", "DiSCO", "DiSDiO"),
            *("max_denom", "mean_denom"),
        ),
        ("DiSCO", "DiS", "DiSDiO"),
        "original records whose cell was released with one value, theirs",
        "a value that nearly everybody has is as disclosive as a rare one",
        " %",
    ),
    "CAP": Note(
        "Elliot (2014); Taub, Elliot, Pampaka and Smith (2018)",
        ("baseCAPd", "CAPd", "CAPs", "DCAP", "CAP"),
        ("CAP", "DCAP", "baseCAPd"),
        "share of the released records with a person's keys that have its value",
        "what the keys tell about everybody counts as told by the release",
    ),
    "TCAP": Note(
        "Taub and Elliot (2019); Little, Allmendinger and Elliot (2025)",
        ("TCAP", "TCAP by claims", "TCAP matched", "TCAP certain"),
        ("TCAP", "TCAP matched"),
        "how often cells that were released with one value have the right one",
        "a release of 100 records has the TCAP of one of a million",
    ),
    "GCAP": Note(
        "Hittmeir, Mayer and Ekelhart (2020)",
        ("GCAP", "unmatched"),
        ("GCAP", "unmatched"),
        "CAP over the released records that differ in as few keys as any does",
        "a wrong region weighs as much as a wrong sex",
    ),
    "CategoricalCAP": Note(
        "SDMetrics, after Elliot (2014) and Hittmeir et al. (2020)",
        ("CategoricalCAP", "CategoricalZeroCAP", "CategoricalGeneralizedCAP"),
        ("CategoricalCAP", "CategoricalZeroCAP"),
        "1 minus CAP, DCAP and GCAP",
        "no score has a baseline",
    ),
    "beta-likeness": Note(
        "Cao and Karras (2012)",
        ("beta", "beyond -ln p"),
        ("beta", "beyond -ln p"),
        "largest relative gain of belief in a value within a released cell",
        "a cell of one record has the largest gain, whoever it stands for",
    ),
    "delta-presence": Note(
        "Nergiz, Atzori and Clifton (2007)",
        ("delta_min", "delta_max", "mean", "more released"),
        ("delta_min", "delta_max", "mean"),
        "least and largest share of the persons of a cell that were released",
        "synthetic records stand for nobody",
    ),
    "k-map": Note(
        "Sweeney (2002)",
        ("k", "nobody"),
        ("k", "nobody"),
        "fewest persons of the population in the cell of a released record",
        "the worst cell says nothing of the others",
    ),
    "DCR and NNDR": Note(
        "Park et al. (2018); Zhao, Kunar, Birke and Chen (2021)",
        ("DCR", "DCR, 5th percentile", "NNDR", "NNDR, 5th percentile", "copies"),
        ("DCR", "NNDR", "copies"),
        "distance to the closest original record, and its ratio to the second",
        "a median does not see copies of a few persons",
    ),
    "DCR share": Note(
        "Platzer and Reutterer (2021)",
        ("DCR share", "closer", "as close"),
        ("DCR share", "closer", "as close"),
        "share of released records closer to the original than to a holdout",
        "an average, in which copies of a few persons drown",
    ),
    "DCROverfittingProtection": Note(
        "SDMetrics, after Platzer and Reutterer (2021)",
        ("DCROverfittingProtection",),
        ("DCROverfittingProtection",),
        "2 minus twice the share closer to the original, at most 1",
        "records that are as close to both count as protected",
    ),
    "singling out": Note(
        "Giomi, Boenisch, Wehmeyer and Tasnadi (2023), Anonymeter",
        (
            *("queries", "successes", "attack_rate", "baseline_rate"),
            *("control_rate", "risk"),
        ),
        ("attack_rate", "control_rate", "risk"),
        "queries that are true of one released record and of one person",
        "single in the file is not single in the population",
    ),
    "linkability": Note(
        "Giomi, Boenisch, Wehmeyer and Tasnadi (2023), Anonymeter",
        ("links", "attack_rate", "by chance", "control_rate", "risk"),
        ("links", "attack_rate", "risk"),
        "persons whose two halves have the same closest released record",
        "with few categories neighbors tie, and copies are hardly linked",
    ),
}

# About a target that an intruder wants to learn.
OF_TARGETS = ("DiSCO", "CAP", "TCAP", "GCAP", "CategoricalCAP", "beta-likeness")
