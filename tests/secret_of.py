"""The secret of a test."""

import hashlib


def secret_of(seed):
    """Return 256 bits for a seed, as hexadecimal text."""
    return hashlib.sha256(b"riskcore: order of the given seed %d" % seed).hexdigest()
