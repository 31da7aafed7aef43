# The exact risk for an object of the package sdcMicro, which need not be installed.

individual_risk_sdc <- function(obj) {
  if (!is(obj, "sdcMicroObj")) {
    stop(sprintf(
      "obj is of class '%s': give an object of class 'sdcMicroObj', %s",
      class(obj)[1], "as sdcMicro::createSdcObj() makes one"
    ), call. = FALSE)
  }
  if (is.null(slot(obj, "risk")$individual)) {
    stop("obj has no risks: sdcMicro::measure_risk(obj) counts its cells", call. = FALSE)
  }
  household <- households_of(obj)
  warn_below(slot(obj, "risk")$individual)
  # print(obj, "risk") compares the two, so both must be measured alike.
  for (name in c("originalRisk", "risk")) {
    if (!is.null(slot(obj, name)$individual)) {
      # Unchecked: without sdcMicro the class has no definition.
      slot(obj, name, check = FALSE) <- exact_risk(slot(obj, name), household)
    }
  }
  obj
}

# Return the number of each record's household, NULL if the object has none.
households_of <- function(obj) {
  column <- slot(obj, "hhId")
  if (length(column) == 0) {
    return(NULL)
  }
  household <- slot(obj, "origData")[[column]]
  missing <- sum(is.na(household))
  if (missing > 0) {
    stop(sprintf(
      "%d of %d records have no household, column '%s': %s",
      missing, length(household), names(slot(obj, "origData"))[column],
      "give each an id of its own before createSdcObj()"
    ), call. = FALSE)
  }
  match(household, unique(household))
}

# Warn of cells whose weights add to less than their records.
warn_below <- function(individual) {
  below <- sum(individual[, "Fk"] < individual[, "fk"], na.rm = TRUE)
  if (below > 0) {
    warning(sprintf(
      "for %d of %d records the weights of the cell add to less than its records (%s",
      below, nrow(individual), "Fk < fk); their risk is taken as 1/fk"
    ), call. = FALSE)
  }
}

# Return the list in a slot `risk` with the exact risks and what follows from them.
exact_risk <- function(risk, household) {
  f <- risk$individual[, "fk"]
  r <- individual_risk_from_frequencies(f, pmax(f, risk$individual[, "Fk"]))
  risk$individual[, "risk"] <- r
  risk$global[c("risk_ER", "risk", "risk_pct")] <- totals(r)
  risk$global["threshold"] <- risk_threshold(r, risk$global$max_risk)
  if ("hier_risk" %in% colnames(risk$individual) && !is.null(household)) {
    h <- household_risk(r, household)
    risk$individual[, "hier_risk"] <- h
    risk$global[c("hier_risk_ER", "hier_risk", "hier_risk_pct")] <- totals(h)
  }
  risk
}

# Return the sum of the risks, their mean, and the mean in per cent.
totals <- function(risk) {
  list(sum(risk), sum(risk) / length(risk), 100 * sum(risk) / length(risk))
}

# Return the risk of each record's household, 1 - prod(1 - r) over its members. The
# households are numbered as they come.
household_risk <- function(risk, household) {
  log_safe <- rowsum(log1p(-risk), household, reorder = FALSE)
  -expm1(log_safe)[household]
}

# Return the largest risk t of a record so that the mean of all risks, those above t
# lowered to t, is below max_risk: sdcMicro's threshold, 0 if there is none, NA if the
# file needs none.
risk_threshold <- function(risk, max_risk) {
  allowed <- max_risk * length(risk)
  if (is.na(sum(risk)) || sum(risk) < allowed) {
    return(NA)
  }
  increasing <- sort(risk)
  lowered <- cumsum(increasing) + increasing * rev(seq_along(risk) - 1)
  max(0, increasing[lowered < allowed])
}
