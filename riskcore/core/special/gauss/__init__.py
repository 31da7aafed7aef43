"""The Gauss function of the individual risk, and its proven bounds."""
