# individual_risk_sdc() with the class of sdcMicro declared here, and with sdcMicro itself
# where it is installed.
library(riskcore)

close_to <- function(x, y) isTRUE(all.equal(x, y, tolerance = 1e-14))
error_of <- function(call) tryCatch({call; "none"}, error = conditionMessage)

# The figures of sdcMicro from the risks of an object, by its definitions.
agrees <- function(obj) {
  for (risk in list(obj@risk, obj@originalRisk)) {
    cells <- as.data.frame(risk$individual)
    exact <- individual_risk_from_frequencies(cells$fk, pmax(cells$fk, cells$Fk))
    lowered <- function(t) mean(pmin(exact, t)) < risk$global$max_risk
    t <- risk$global$threshold
    higher <- exact[exact > max(t, 0, na.rm = TRUE)]
    stopifnot(
      identical(cells$risk, exact),
      close_to(risk$global$risk_ER, sum(exact)),
      close_to(risk$global$risk, mean(exact)),
      close_to(risk$global$risk_pct, 100 * mean(exact)),
      if (is.na(t)) lowered(1) else !lowered(1) && !lowered(min(higher)),
      is.na(t) || t == 0 || lowered(t)
    )
    if (!is.null(cells$hier_risk)) {
      home <- obj@origData[[obj@hhId]]
      safe <- vapply(split(1 - exact, home), prod, 0)[as.character(home)]
      stopifnot(
        all(abs(cells$hier_risk + unname(safe) - 1) < 1e-15),
        close_to(risk$global$hier_risk_ER, sum(cells$hier_risk)),
        close_to(risk$global$hier_risk, mean(cells$hier_risk)),
        close_to(risk$global$hier_risk_pct, 100 * mean(cells$hier_risk))
      )
    }
  }
  TRUE
}

# A stand-in: the slots that are read.
setClass("sdcMicroObj", representation(
  origData = "data.frame", hhId = "numeric", risk = "list", originalRisk = "list"
))
stand_in <- function(f, F, home = NULL, max_risk = 0.01) {
  cells <- cbind(risk = 0.5, fk = f, Fk = F)
  global <- list(risk = 0, risk_ER = 0, risk_pct = 0, threshold = 0, max_risk = max_risk)
  if (!is.null(home)) {
    cells <- cbind(cells, hier_risk = 0)
    global[c("hier_risk_ER", "hier_risk", "hier_risk_pct")] <- 0
  }
  risk <- list(global = global, individual = cells)
  new("sdcMicroObj",
    origData = data.frame(w = F / f, home = if (is.null(home)) 0 else home),
    hhId = if (is.null(home)) numeric(0) else 2, risk = c(risk, list(numeric = 0.3)),
    originalRisk = risk
  )
}

f <- c(1, 3, 3, 3, 1, 2, 2, 1.5)
F <- c(120, 33.5, 33.5, 33.5, 1, 2 + 2^-40, 2 + 2^-40, 44)
home <- c("b", "a", "b", "a", "c", "c", "d", "a")
for (max_risk in c(0.001, 0.05, 0.2, 0.3, 0.5)) {
  for (homes in list(NULL, home, factor(home), rev(seq_along(f)))) {
    obj <- stand_in(f, F, homes, max_risk)
    exact <- individual_risk_sdc(obj)
    stopifnot(
      agrees(exact), identical(exact@risk$numeric, 0.3),
      identical(exact@risk$individual[, c("fk", "Fk")], cbind(fk = f, Fk = F)),
      identical(individual_risk_sdc(exact), exact)
    )
  }
}

# An object where the file needs no threshold, and one where none is low enough.
stopifnot(
  is.na(individual_risk_sdc(stand_in(f, F, max_risk = 0.99))@risk$global$threshold),
  individual_risk_sdc(stand_in(f, F, max_risk = 1e-9))@risk$global$threshold == 0,
  # A mean risk that equals max_risk is not below it.
  individual_risk_sdc(stand_in(c(2, 2), c(2, 2), max_risk = 0.5))@risk$global$threshold == 0
)

# The household of a certain record is certain; the small risks keep their digits.
tiny <- individual_risk_sdc(stand_in(c(1, 1, 1), c(1, 1e20, 1e20), c(1, 2, 2)))
h <- tiny@risk$individual[, "hier_risk"]
stopifnot(h[1] == 1, abs(h[2] / individual_risk_from_frequencies(1, 1e20) - 2) < 1e-14)

# Weights below 1, and what is refused.
warned <- NULL
low <- withCallingHandlers(
  individual_risk_sdc(stand_in(c(1, 2), c(0.5, 3))),
  warning = function(w) {
    warned <<- conditionMessage(w)
    invokeRestart("muffleWarning")
  }
)
stopifnot(
  low@risk$individual[1, "risk"] == 1,
  isTRUE(grepl("for 1 of 2 records", warned, fixed = TRUE)),
  grepl("obj is of class 'data.frame'", error_of(individual_risk_sdc(data.frame()))),
  grepl("2 of 3 records have no household, column 'home'",
    error_of(individual_risk_sdc(stand_in(1:3, 4:6, c(NA, 1, NA)))),
    fixed = TRUE
  ),
  grepl("measure_risk", error_of(individual_risk_sdc(new("sdcMicroObj"))))
)

# A saved object, where the class is not defined.
saved <- stand_in(f, F, home)
exact <- individual_risk_sdc(saved)
invisible(removeClass("sdcMicroObj"))
stopifnot(
  !methods::isClass("sdcMicroObj"),
  identical(individual_risk_sdc(saved)@risk, exact@risk)
)

# sdcMicro itself, after its local suppression.
if (requireNamespace("sdcMicro", quietly = TRUE)) {
  data("testdata2", package = "sdcMicro")
  print <- getExportedValue("sdcMicro", "print")
  keys <- c("urbrur", "roof", "walls", "relat", "sex")
  for (alpha in c(1, 0.3)) {
    obj <- sdcMicro::createSdcObj(testdata2,
      keyVars = keys, weightVar = "sampling_weight", hhId = "ori_hid", alpha = alpha
    )
    obj <- sdcMicro::kAnon(obj, k = 2)
    exact <- individual_risk_sdc(obj)
    old <- obj@risk$individual
    printed <- suppressMessages(print(exact, "risk"))
    stopifnot(
      agrees(exact), anyNA(exact@manipKeyVars),
      identical(exact@risk$individual[, c("fk", "Fk")], old[, c("fk", "Fk")]),
      # Nothing else of the object has changed, and the printed figures are the exact ones.
      identical(sdcMicro::measure_risk(exact)@risk[c("global", "individual")],
                obj@risk[c("global", "individual")]),
      printed[[1]]$reident$mod == sprintf("%.2f", exact@risk$global$risk_ER),
      printed[[1]]$reident$orig == sprintf("%.2f", exact@originalRisk$global$risk_ER),
      # sdcMicro's risk is an upper bound, by up to 4.03 per cent.
      all(old[, "risk"] >= exact@risk$individual[, "risk"] * (1 - 1e-14) | old[, "fk"] %% 1 != 0),
      all(old[, "risk"] <= exact@risk$individual[, "risk"] * 1.0404)
    )
    for (name in setdiff(slotNames(obj), c("risk", "originalRisk"))) {
      stopifnot(identical(slot(exact, name), slot(obj, name)))
    }
  }
}
