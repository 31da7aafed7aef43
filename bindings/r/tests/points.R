# The results have the bits of the Python package, at the points of points.csv.
library(riskcore)

points <- read.csv("points.csv", colClasses = "character", check.names = FALSE)
points <- lapply(points, as.numeric)
arguments <- c("f", "p", "F", "shape", "mu")

found <- list()
for (name in setdiff(getNamespaceExports("riskcore"), "individual_risk_sdc")) {
  compute <- getExportedValue("riskcore", name)
  found[[name]] <- do.call(compute, points[names(formals(compute))])
}
bounds <- found$individual_risk_bounds
found$individual_risk_bounds <- NULL
found[paste0("individual_risk_bounds.", names(bounds))] <- bounds

expected <- points[setdiff(names(points), arguments)]
stopifnot(setequal(names(found), names(expected)), length(points$f) == 81)
for (name in names(expected)) {
  different <- which(found[[name]] != expected[[name]])
  if (length(different) > 0) {
    stop(sprintf(
      "%s has other bits at %d points, the first with f = %a, p = %a: %a, not %a", name,
      length(different), points$f[different[1]], points$p[different[1]],
      found[[name]][different[1]], expected[[name]][different[1]]
    ))
  }
  stopifnot(!anyNA(found[[name]]))
}

# No other order of the cells, nor a place in a longer vector, changes a bit.
many <- rep(seq_along(points$f), 200)
stopifnot(identical(
  individual_risk(points$f[many], points$p[many]), found$individual_risk[many]
))
