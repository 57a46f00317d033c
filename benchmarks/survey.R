# Raking and linear calibration with R's survey package, on its api data; tests compare pre_convex with these numbers.
#
#     Rscript benchmarks/survey.R > benchmarks/results/survey.csv
#     Rscript benchmarks/survey.R rows          # the sample and the population totals, for the test of the last method
#
# The data is part of a package under the GPL and is not copied here. Rows of kind "cell" describe the sample apiclus1 by
# school type and whether the school met its target: where all variables are categories, nothing else enters.
# No weights within (0.6, 1.5) match stype: 14 high schools of weight 33.85 stand for 755, a ratio of 1.59. That pair of bounds
# is therefore used with api99 and sch.wide, and stype has (0.6, 1.7).
suppressPackageStartupMessages(library(survey))
data(api)

number <- function(x) format(x, digits = 17, trim = TRUE, scientific = FALSE)
means <- colSums(model.matrix(~ api99 + sch.wide, apipop))

if (identical(commandArgs(trailingOnly = TRUE), "rows")) {
  cat(sprintf("totals,%s,%s,%s,,\n", number(means[[1]]), number(means[[2]]), number(means[[3]])))
  with(apiclus1, cat(sprintf("row,%s,%s,%d,%s,%s\n", number(pw), api99, sch.wide == "Yes", api00, enroll), sep = ""))
  quit()
}

cells <- aggregate(cbind(n = 1, base = pw, api00, enroll) ~ stype + sch.wide, data = apiclus1, FUN = sum)
design <- svydesign(id = ~dnum, weights = ~pw, data = apiclus1, fpc = ~fpc)
margins <- list(stype = table(stype = apipop$stype), sch.wide = table(sch.wide = apipop$sch.wide))
totals <- colSums(model.matrix(~ stype + sch.wide, apipop))
exact <- function(formula, population, ...)
  calibrate(design, formula, population, calfun = "linear", epsilon = 1e-12, maxit = 1000, ...)
answers <- list(
  raking = rake(design, list(~stype, ~sch.wide), lapply(margins, as.data.frame),
                control = list(epsilon = 1e-10, maxit = 1000)),
  linear = exact(~ stype + sch.wide, totals),
  bounded = exact(~ stype + sch.wide, totals, bounds = c(0.6, 1.7)),
  api99 = exact(~ api99 + sch.wide, means, bounds = c(0.6, 1.5))
)

cat("kind,method,stype,sch_wide,value,api00,enroll\n")
cat(sprintf("version,survey,,,%s,,\n", packageVersion("survey")))
for (i in seq_len(nrow(cells)))
  with(cells[i, ], cat(sprintf("cell,sample,%s,%s,%s,%s,%s\n", stype, sch.wide, n, number(api00), number(enroll))))
cat(sprintf("base,weight,,,%s,,\n", number(apiclus1$pw[1])))
for (level in names(margins$stype)) cat(sprintf("total,population,%s,,%d,,\n", level, margins$stype[[level]]))
for (level in names(margins$sch.wide)) cat(sprintf("total,population,,%s,%d,,\n", level, margins$sch.wide[[level]]))
for (method in names(answers)) {
  fitted <- answers[[method]]
  ratio <- weights(fitted) / apiclus1$pw
  if (method != "api99") for (i in seq_len(nrow(cells))) {
    inside <- apiclus1$stype == cells$stype[i] & apiclus1$sch.wide == cells$sch.wide[i]
    cat(sprintf("ratio,%s,%s,%s,%s,,\n", method, cells$stype[i], cells$sch.wide[i], number(mean(ratio[inside]))))
  }
  cat(sprintf("answer,%s,,,,%s,%s\n", method, number(coef(svymean(~api00, fitted))[[1]]),
              number(coef(svytotal(~enroll, fitted))[[1]])))
}
