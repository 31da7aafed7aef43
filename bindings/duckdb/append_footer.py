"""Make an extension of DuckDB from a library: append_footer.py LIBRARY EXTENSION.

DuckDB reads the last 512 bytes of an extension: eight fields of 32 bytes, the last one
first, and 256 bytes for a signature, here none.
"""

import re
import sys
from pathlib import Path

import duckdb

(platform,) = duckdb.execute("PRAGMA platform").fetchone()
header = Path(__file__).parents[1] / "c" / "riskcore.h"
version = re.search(r"riskcore (\S+):", header.read_text())[1]
lowest = "v1.2.0"  # of the C API: since then it has the functions that are used
fields = ["4", platform, lowest, version, "C_STRUCT", "", "", ""]
footer = b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields))
library, extension = map(Path, sys.argv[1:])
extension.write_bytes(library.read_bytes() + footer + bytes(256))
