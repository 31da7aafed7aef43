# Recycling, names, dimensions, missing values, kinds of numbers and errors.
library(riskcore)

# Return the message of an error or a warning.
said <- function(call) {
  tryCatch(
    {
      call
      "nothing"
    },
    condition = conditionMessage
  )
}
says <- function(call, text) grepl(text, said(call), fixed = TRUE)

one <- function(f, p) vapply(seq_along(f), function(i) individual_risk(f[i], p[i]), 0)
f <- c(1, 2, 3, 4, 5, 10)
r <- one(f, rep(0.1, 6))
stopifnot(
  all.equal(r[1], -log(0.1) / 9, tolerance = 1e-15),
  individual_risk(4, 1) == 0.25,
  individual_risk_from_frequencies(3, 3) == 1 / 3
)

# sdcMicro printed these risks for the cells of its example francdat, all of f = 1 and 2.
sample <- c(2, 2, 1, 1, 1, 1)
population <- c(110, 84.5, 17, 541, 8, 5)
printed <- c(
  0.017144261596285161, 0.022042326183256165, 0.17707583400351351,
  0.011654480146012003, 0.29706307738283366, 0.40235947810852507
)
stopifnot(
  abs(printed / individual_risk_from_frequencies(sample, population) - 1) < 1e-14
)

# Recycling, also over blocks of cells.
long <- rep(f, 5000)
stopifnot(
  identical(individual_risk(f, 0.1), r),
  identical(individual_risk(2, c(0.1, 0.2)), one(c(2, 2), c(0.1, 0.2))),
  identical(individual_risk(f, c(0.1, 0.2)), one(f, rep(c(0.1, 0.2), 3))),
  identical(individual_risk(long, 0.1), rep(r, 5000)),
  identical(
    individual_risk(long, rep(c(0.1, 0.2, 0.3), 1000)),
    rep(one(f, c(0.1, 0.2, 0.3, 0.1, 0.2, 0.3)), 5000)
  ),
  identical(
    individual_risk_with_prior(1, c(1, 2), c(0.1, 0.1, 0.2, 0.2)),
    c(
      individual_risk_with_prior(1, 1, 0.1), individual_risk_with_prior(1, 2, 0.1),
      individual_risk_with_prior(1, 1, 0.2), individual_risk_with_prior(1, 2, 0.2)
    )
  ),
  identical(individual_risk(numeric(0), 0.1), numeric(0)),
  identical(individual_risk(f, numeric(0)), numeric(0)),
  says(individual_risk(1:3, c(0.1, 0.2)), "not a multiple")
)

# Names and dimensions as arithmetic gives them.
cells <- matrix(f, 2, dimnames = list(c("a", "b"), NULL))
counts <- table(c("x", "y", "y"))
both <- individual_risk_bounds(cells, 0.1)
stopifnot(
  identical(individual_risk(c(a = 1, b = 2), 0.1), c(a = r[1], b = r[2])),
  identical(individual_risk(1, c(a = 0.1)), c(a = r[1])),
  identical(individual_risk(cells, 0.1), matrix(r, 2, dimnames = dimnames(cells))),
  identical(individual_risk(counts, 0.1), counts * 0 + r[1:2]),
  identical(names(both), c("lower", "upper")),
  identical(dimnames(both$upper), dimnames(cells)),
  all(both$lower <= r & r <= both$upper & both$lower < both$upper),
  says(individual_risk(cells, matrix(0.1, 3, 2)), "non-conformable"),
  says(individual_risk(cells, rep(0.1, 12)), "do not match the length")
)

# Missing values stay what they are; other arguments outside the domain are NaN.
missing <- individual_risk(c(NA, NaN, 1, 1), c(0.1, 0.1, NA, NaN))
outside <- suppressWarnings(individual_risk(c(-1, 0, 1, 1, NA, 1), c(0.1, 0.1, 0, 2, 2, 0.1)))
stopifnot(
  identical(is.na(missing), rep(TRUE, 4)),
  identical(is.nan(missing), c(FALSE, TRUE, FALSE, TRUE)),
  identical(is.nan(outside), c(TRUE, TRUE, TRUE, TRUE, FALSE, FALSE)),
  identical(individual_risk(NA, 0.1), NA_real_),
  identical(lapply(individual_risk_bounds(NA, 0.1), is.nan), list(lower = FALSE, upper = FALSE)),
  says(individual_risk(c(-1, 0, 1, NA), 0.1), "2 of 4 cells are outside the domain"),
  said(individual_risk(c(NA, NaN), 0.1)) == "nothing"
)

# Kinds of numbers.
stopifnot(
  identical(individual_risk(1:3, 0.1), r[1:3]),
  identical(individual_risk(TRUE, 0.1), r[1]),
  identical(individual_risk_from_frequencies(2e9L, 2e9L), 1 / 2e9),
  says(individual_risk("1", 0.1), "f is of class 'character'"),
  says(individual_risk(1, factor(0.1)), "p is of class 'factor'"),
  says(individual_risk(data.frame(f = 1), 0.1), "f is of class 'data.frame'"),
  says(individual_risk_from_frequencies(1, structure(1, class = "integer64")), "F is of"),
  says(individual_risk(1), "\"p\" is missing")
)
