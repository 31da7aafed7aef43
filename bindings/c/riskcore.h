/* riskcore 0.1.0: the individual risk of re-identification. BSD-3-Clause, see LICENSE.

   Written by bindings/write_c.py from the kernels in riskcore/core; never edit it. */
#ifndef RISKCORE_H
#define RISKCORE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A cell has f records in the sample, real, f > 0, and the sampling fraction p,
   0 < p <= 1. The functions give the same bits as those of Python, on every processor.
   They neither allocate nor raise and have no state, so threads may share them; they
   take some 100 KiB of stack. They work in every floating-point mode on x86-64 and
   arm64; elsewhere it must be the usual one. An array has n numbers; a result may
   replace an argument, and must not overlap it otherwise.

   Special values, in the style of Annex F of C99; subnormal arguments are exact:
   - each function returns a nan if an argument is one, or is outside its domain: +-0,
     below 0 or infinite, p > 1, F < f (mu may be 0). The nan always has the
     bits 0x7ff8000000000000, whatever bits an argument has.
   - the domain of ..._with_prior and ..._poisson ends at 2^-10 <= f <= 2^60,
     shape <= 2^60, 2^-200 <= p and mu <= 2^100; that of ..._deviation at 2^-320 <= f
     and, for f > 2^64, at a finite f/p.
   - individual_risk(f, 1) and ..._from_frequencies(f, f) return 1/f, rounded once, and
     +inf for f <= 2^-1024; log_individual_risk(1, 1) returns +0, and the logarithms
     with a prior return -0 where the risk is 1.
   - individual_risk_gradient(f, 1) returns 1/(f + 1), rounded once.
   - individual_risk_down returns +0 below the smallest double, and the largest double
     above it; individual_risk_up the smallest one and +inf; bounds both.
   - floating-point flags mean nothing after a call, and errno is not touched.

   Compile riskcore.c with optimization, never with -ffast-math, and link with -lm: of
   libm only fma and sqrt are called. It is fast where the compiler may use FMA
   (-march=native or -march=x86-64-v3). For a program that runs anywhere compile
   riskcore.c and riskcore_fma.c, both with -DRISKCORE_DISPATCH. */

/* Individual risk r(f, p) = E[1/F | f]: the chance to re-identify a record. */
double riskcore_individual_risk(double f, double p);
void riskcore_individual_risk_array(const double *f, const double *p, double *out, int64_t n);

/* Individual risk of a cell from its sample and population frequencies. */
double riskcore_individual_risk_from_frequencies(double f, double F);
void riskcore_individual_risk_from_frequencies_array(const double *f, const double *F,
    double *out, int64_t n);

/* Natural logarithm of the individual risk, log r(f, p). */
double riskcore_log_individual_risk(double f, double p);
void riskcore_log_individual_risk_array(const double *f, const double *p, double *out,
    int64_t n);

/* Derivative dr/dp of the individual risk with respect to the sampling fraction. */
double riskcore_individual_risk_gradient(double f, double p);
void riskcore_individual_risk_gradient_array(const double *f, const double *p, double *out,
    int64_t n);

/* Lower and upper bound of the individual risk: doubles proven to enclose r(f, p). */
void riskcore_individual_risk_bounds(double f, double p, double *lower, double *upper);
void riskcore_individual_risk_bounds_array(const double *f, const double *p, double *lower,
    double *upper, int64_t n);

/* Individual risk rounded down: the largest double that is not above r(f, p). */
double riskcore_individual_risk_down(double f, double p);
void riskcore_individual_risk_down_array(const double *f, const double *p, double *out,
    int64_t n);

/* Individual risk rounded up: the smallest double that is not below r(f, p). */
double riskcore_individual_risk_up(double f, double p);
void riskcore_individual_risk_up_array(const double *f, const double *p, double *out,
    int64_t n);

/* Individual risk E[1/F | f] of a cell, its population frequency with a prior. */
double riskcore_individual_risk_with_prior(double f, double shape, double p);
void riskcore_individual_risk_with_prior_array(const double *f, const double *shape,
    const double *p, double *out, int64_t n);

/* Natural logarithm of the individual risk with a prior; right also near r = 1. */
double riskcore_log_individual_risk_with_prior(double f, double shape, double p);
void riskcore_log_individual_risk_with_prior_array(const double *f, const double *shape,
    const double *p, double *out, int64_t n);

/* Individual risk E[1/F | f] of a cell whose other people are Poisson. */
double riskcore_individual_risk_poisson(double f, double mu);
void riskcore_individual_risk_poisson_array(const double *f, const double *mu, double *out,
    int64_t n);

/* Natural logarithm of the individual risk with a Poisson law; right near r = 1. */
double riskcore_log_individual_risk_poisson(double f, double mu);
void riskcore_log_individual_risk_poisson_array(const double *f, const double *mu, double *out,
    int64_t n);

/* Return the standard deviation of 1/F given f; its mean is the individual risk. */
double riskcore_individual_risk_deviation(double f, double p);
void riskcore_individual_risk_deviation_array(const double *f, const double *p, double *out,
    int64_t n);

#ifdef __cplusplus
}
#endif

#endif
