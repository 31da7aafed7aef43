"""Make an extension of DuckDB from a library: append_footer.py LIBRARY EXTENSION.

DuckDB reads the last 512 bytes of an extension: eight fields of 32 bytes, the last one
first, and 256 bytes for a signature, here none.
"""

import sys
from pathlib import Path

import duckdb

(platform,) = duckdb.execute("PRAGMA platform").fetchone()
API, VERSION = "v1.2.0", "0.1.0"  # the lowest C API that has the functions; our own
fields = ["4", platform, API, VERSION, "C_STRUCT", "", "", ""]
footer = b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields))
library, extension = map(Path, sys.argv[1:])
extension.write_bytes(library.read_bytes() + footer + bytes(256))
