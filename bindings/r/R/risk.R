# The individual risk of cells, vectorised over all arguments; src/calls.c has the loops.
# The result gets the length, names and dimensions of the sum of the arguments, which
# also warns and refuses as R's arithmetic does.

individual_risk <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk, f, p, f + p)
}

individual_risk_from_frequencies <- function(f, F) {
  f <- as_doubles(f, "f")
  F <- as_doubles(F, "F")
  .Call(C_individual_risk_from_frequencies, f, F, f + F)
}

log_individual_risk <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_log_individual_risk, f, p, f + p)
}

individual_risk_gradient <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk_gradient, f, p, f + p)
}

individual_risk_bounds <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk_bounds, f, p, f + p)
}

individual_risk_down <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk_down, f, p, f + p)
}

individual_risk_up <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk_up, f, p, f + p)
}

individual_risk_deviation <- function(f, p) {
  f <- as_doubles(f, "f")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk_deviation, f, p, f + p)
}

individual_risk_with_prior <- function(f, shape, p) {
  f <- as_doubles(f, "f")
  shape <- as_doubles(shape, "shape")
  p <- as_doubles(p, "p")
  .Call(C_individual_risk_with_prior, f, shape, p, f + shape + p)
}

log_individual_risk_with_prior <- function(f, shape, p) {
  f <- as_doubles(f, "f")
  shape <- as_doubles(shape, "shape")
  p <- as_doubles(p, "p")
  .Call(C_log_individual_risk_with_prior, f, shape, p, f + shape + p)
}

individual_risk_poisson <- function(f, mu) {
  f <- as_doubles(f, "f")
  mu <- as_doubles(mu, "mu")
  .Call(C_individual_risk_poisson, f, mu, f + mu)
}

log_individual_risk_poisson <- function(f, mu) {
  f <- as_doubles(f, "f")
  mu <- as_doubles(mu, "mu")
  .Call(C_log_individual_risk_poisson, f, mu, f + mu)
}

# Return an argument as doubles, with its names and dimensions.
as_doubles <- function(x, name) {
  if (isS4(x) || inherits(x, "integer64") || !(is.numeric(x) || is.logical(x))) {
    stop(sprintf(
      "%s is of class '%s': give numbers, for example as.numeric(%s)",
      name, class(x)[1], name
    ), call. = FALSE)
  }
  storage.mode(x) <- "double"
  x
}
