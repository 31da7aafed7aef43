"""The negative binomial distribution and the moments of its inverse."""
