"""A safe file made again by the settings and the secret of its private record."""

from pathlib import Path

from riskcore import protect
from riskcore.protection.release.record import read_record, reading_of


def made_again(source, record, path):
    """Write the file of a record again, and return its bytes."""
    found = read_record(record)
    result = protect(
        source, found.settings, secret=found.secret, reading=reading_of(found)
    )
    result.write(
        path,
        secret=found.secret,
        drop=found.dropped,
        renumber=found.renumbered,
        shuffle=found.shuffled,
        guard_formulas=found.formulas_guarded,
        overwrite=True,
    )
    return Path(path).read_bytes()
