"""The best release: recodings and blanks that meet all goals at the least loss."""
