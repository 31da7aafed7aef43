"""The mean of 1/(f + X), X beta-binomial: a finite population."""
