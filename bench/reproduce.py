"""Compute the published tables and figures again for bench/results/reproductions.md.

    python -m bench.reproduce [--replicates R]

Numbers with +- are mean and standard deviation of a run, over R (200) runs from seed 1.
The errata name some of the numbers: look there too when these change.
"""

import argparse

from bench import _reproduce as reproduce
from bench._common import RESULTS, command, replace

CAPTIONS = {
    "mokken-figure-1": "Figure 1: the risk by the number of investigators. Circles are "
    "the numbers of the text.",
    "takemura-estimates": "All estimates beside the printed ones.",
    "thesis-figure-2.1": "Figure 2.1: the log-likelihood of one sample.",
    "thesis-figure-3.1": "Figure 3.1: size indices of populations.",
    "thesis-figure-3.2": "Figure 3.2: size indices of populations of the model.",
    "thesis-figures-5.3-5.4": "Figures 5.3 and 5.4: population and sample.",
    "thesis-figures-5.5-5.6": "Figures 5.5 and 5.6: population and sample.",
    "thesis-figures-A.1-A.2": "Figures A.1 and A.2: a power law, N = 100,000 and "
    "K = 10,000, which the thesis does not give.",
    "thesis-table-4.3": "Tau and its estimates by s, mean and standard deviation of a "
    "run; crosses are Table 4.3.",
}


def section(comparison):
    parts = [f"`{command()}`", reproduce.markdown(comparison)]
    for name, draw in comparison.figures.items():
        path = RESULTS / "figures" / f"{name}.png"
        draw().savefig(path, metadata={"Software": None})
        parts.append(f"![{CAPTIONS[name]}](figures/{name}.png)\n\n{CAPTIONS[name]}")
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=200)
    options = parser.parse_args()
    for source in reproduce.SOURCES:
        comparison = reproduce.compare(source, replicates=options.replicates)
        print(reproduce.plain(comparison), end="\n\n")
        replace(RESULTS / "reproductions.md", source, section(comparison))


if __name__ == "__main__":
    main()
