"""Time the R package, sdcMicro's own risk, and the way through Python, per cell.

    python -m bench.bench_r [cells] [rounds]

The R package must be installed (R CMD INSTALL bindings/r). RISKCORE_SDCMICRO names a
copy of sdcMicro's source, see bench/_sdcmicro.py; without it nothing is measured.
"""

import shutil
import subprocess
import sys

from bench import _sdcmicro as peer
from bench._common import given, origin, publish, table

ROWS = {
    "individual_risk": "`individual_risk(f, p)`",
    "from_frequencies": "`individual_risk_from_frequencies(f, F)`",
    "bounds": "`individual_risk_bounds(f, p)`",
    "python": "`individual_risk(f, p)` by Python, through a file",
    "formula": "sdcMicro's formula as one vectorised expression",
    "indivRisk": "sdcMicro's `indivRisk(x)`, which loops over records",
    "sdc": "`individual_risk_sdc(obj)`, with households",
    "measure_hierarchical": "sdcMicro's C++ for households, the risk given",
    "createSdcObj": "sdcMicro's `createSdcObj`, which counts cells, with households",
}

PROGRAM = """
library(riskcore)
# Say the least processor time of several calls, with that of programs they start.
measured <- function(name, call, times = {rounds}) {{
  work <- substitute(call)
  tell(name, min(replicate(times, sum(system.time(found <<- eval(work))[-3]))))
}}
set.seed(1)
n <- {n}
data <- data.frame(a = sample(40, n, TRUE), b = sample(90, n, TRUE),
  c = 1 + rgeom(n, 0.1), w = runif(n, 2, 60), home = sample(n %/% 3, n, TRUE))
keys <- c("a", "b", "c")
counted <- freqCalc(data, keyVars = keys, w = "w")
f <- as.numeric(counted$fk)
F <- counted$Fk
p <- f / F
formula <- function(f, p) {{
  q <- 1 - p
  two <- p / q + (p / q)^2 * log(p)
  ifelse(f == 1, -p / q * log(p), ifelse(f == 2, two, p / (f - q)))
}}
python <- function(f, p) {{
  file <- tempfile()
  writeBin(c(f, p), file)
  system2("{python}", c("-c", shQuote("{code}"), file))
  readBin(file, "double", n)
}}
measured("individual_risk", individual_risk(f, p))
measured("from_frequencies", individual_risk_from_frequencies(f, F))
measured("bounds", individual_risk_bounds(f, p))
measured("python", python(f, p))
stopifnot(identical(found, individual_risk(f, p)))
measured("formula", formula(f, p))
measured("createSdcObj", createSdcObj(data, keys, weightVar = "w", hhId = "home"), 1)
obj <- found
measured("sdc", individual_risk_sdc(obj))
measured("indivRisk", indivRisk(counted))
approximate <- found$rk
homes <- cbind(data$home, approximate)[order(data$home), ]
measured("measure_hierarchical", measure_hierachical(homes))
tell("cells", nrow(unique(data[keys])))
tell("high", 100 * max(approximate / individual_risk_from_frequencies(f, F) - 1))
"""
CODE = (
    "import sys, numpy, riskcore; f, p = numpy.fromfile(sys.argv[1]).reshape(2, -1); "
    "riskcore.individual_risk(f, p).tofile(sys.argv[1])"
)


def main():
    """Measure, and publish the table."""
    n, rounds = given(1_000_000, 5)
    lacking = peer.lacking()
    if lacking:
        sys.exit(f"bench_r: {lacking}")
    program = PROGRAM.format(n=n, rounds=rounds, python=sys.executable, code=CODE)
    told = peer.run(program)
    rows = [[text, f"{told[name][0] / n * 1e9:,.0f}"] for name, text in ROWS.items()]
    version = subprocess.run(
        [shutil.which("R"), "--version"], capture_output=True, text=True, check=True
    ).stdout.split("(")[0]
    note = (
        f"{n:,} records in {told['cells'][0]:,.0f} cells; {version.strip()}, sdcMicro "
        f"{peer.version()}, whose risk is too high by {told['high'][0]:.2f} % at most. "
        f"Processor time of a record, the least of {rounds} rounds."
    )
    text = table(["", "ns"], rows)
    publish("r", f"{origin('numpy', 'numba')}. {note}\n\n{text}\n")


if __name__ == "__main__":
    main()
