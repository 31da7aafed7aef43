/* Entry points of riskcore.c, for the Python package. BSD-3-Clause, see LICENSE.

   Written by bindings/write_entries.py; never edit it. PROCESSOR is the kind of
   processor that it is compiled for, as riskcore.core.compiled.shipped calls it. */

#include "riskcore.c"

#include <fenv.h>

#if defined(_WIN32)
#define ENTRY __declspec(dllexport)
#elif defined(__GNUC__)
#define ENTRY __attribute__((visibility("default")))
#else
#define ENTRY
#endif

/* NumPy's inner loop: arguments and results, sizes, steps. Flags become warnings. */
#define LOOP(symbol, body) \
    ENTRY void symbol(double **args, int64_t *sizes, int64_t *steps, void *data) \
    { \
        const Mode mode = read_mode(); \
        (void)data; \
        if (!is_usual(mode)) \
            write_mode(usual(mode)); \
        body(args, sizes, steps, 0); \
        if (!is_usual(mode)) \
            write_mode(mode); \
        feclearexcept(FE_ALL_EXCEPT); \
    }

LOOP(riskcore_core_risk_individual_individual_risk, individual_risk_of_many)

ENTRY void riskcore_core_risk_individual_individual_risk_arrays(const double *f, const double *p, double *out0, int64_t n)
{
    riskcore_individual_risk_array(f, p, out0, n);
}

ENTRY double riskcore_core_risk_individual_individual_risk_scalar(double f, double p)
{
    return riskcore_individual_risk(f, p);
}

ENTRY double riskcore_core_risk_individual_individual_risk_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk(x[1], x[0]);
}

LOOP(riskcore_core_risk_individual_individual_risk_from_frequencies, individual_risk_from_frequencies_of_many)

ENTRY void riskcore_core_risk_individual_individual_risk_from_frequencies_arrays(const double *f, const double *F, double *out0, int64_t n)
{
    riskcore_individual_risk_from_frequencies_array(f, F, out0, n);
}

ENTRY double riskcore_core_risk_individual_individual_risk_from_frequencies_scalar(double f, double F)
{
    return riskcore_individual_risk_from_frequencies(f, F);
}

ENTRY double riskcore_core_risk_individual_individual_risk_from_frequencies_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk_from_frequencies(x[1], x[0]);
}

LOOP(riskcore_core_risk_individual_log_individual_risk, log_individual_risk_of_many)

ENTRY void riskcore_core_risk_individual_log_individual_risk_arrays(const double *f, const double *p, double *out0, int64_t n)
{
    riskcore_log_individual_risk_array(f, p, out0, n);
}

ENTRY double riskcore_core_risk_individual_log_individual_risk_scalar(double f, double p)
{
    return riskcore_log_individual_risk(f, p);
}

ENTRY double riskcore_core_risk_individual_log_individual_risk_integrand(int n, double *x)
{
    (void)n;
    return riskcore_log_individual_risk(x[1], x[0]);
}

LOOP(riskcore_core_risk_individual_individual_risk_gradient, individual_risk_gradient_of_many)

ENTRY void riskcore_core_risk_individual_individual_risk_gradient_arrays(const double *f, const double *p, double *out0, int64_t n)
{
    riskcore_individual_risk_gradient_array(f, p, out0, n);
}

ENTRY double riskcore_core_risk_individual_individual_risk_gradient_scalar(double f, double p)
{
    return riskcore_individual_risk_gradient(f, p);
}

ENTRY double riskcore_core_risk_individual_individual_risk_gradient_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk_gradient(x[1], x[0]);
}

LOOP(riskcore_core_risk_bounds_individual_risk_bounds, individual_risk_bounds_of_many)

ENTRY void riskcore_core_risk_bounds_individual_risk_bounds_arrays(const double *f, const double *p, double *out0, double *out1, int64_t n)
{
    riskcore_individual_risk_bounds_array(f, p, out0, out1, n);
}

LOOP(riskcore_core_risk_bounds_individual_risk_down, individual_risk_down_of_many)

ENTRY void riskcore_core_risk_bounds_individual_risk_down_arrays(const double *f, const double *p, double *out0, int64_t n)
{
    riskcore_individual_risk_down_array(f, p, out0, n);
}

ENTRY double riskcore_core_risk_bounds_individual_risk_down_scalar(double f, double p)
{
    return riskcore_individual_risk_down(f, p);
}

ENTRY double riskcore_core_risk_bounds_individual_risk_down_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk_down(x[1], x[0]);
}

LOOP(riskcore_core_risk_bounds_individual_risk_up, individual_risk_up_of_many)

ENTRY void riskcore_core_risk_bounds_individual_risk_up_arrays(const double *f, const double *p, double *out0, int64_t n)
{
    riskcore_individual_risk_up_array(f, p, out0, n);
}

ENTRY double riskcore_core_risk_bounds_individual_risk_up_scalar(double f, double p)
{
    return riskcore_individual_risk_up(f, p);
}

ENTRY double riskcore_core_risk_bounds_individual_risk_up_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk_up(x[1], x[0]);
}

LOOP(riskcore_core_risk_prior_individual_risk_with_prior, individual_risk_with_prior_of_many)

ENTRY void riskcore_core_risk_prior_individual_risk_with_prior_arrays(const double *f, const double *shape, const double *p, double *out0, int64_t n)
{
    riskcore_individual_risk_with_prior_array(f, shape, p, out0, n);
}

ENTRY double riskcore_core_risk_prior_individual_risk_with_prior_scalar(double f, double shape, double p)
{
    return riskcore_individual_risk_with_prior(f, shape, p);
}

LOOP(riskcore_core_risk_prior_log_individual_risk_with_prior, log_individual_risk_with_prior_of_many)

ENTRY void riskcore_core_risk_prior_log_individual_risk_with_prior_arrays(const double *f, const double *shape, const double *p, double *out0, int64_t n)
{
    riskcore_log_individual_risk_with_prior_array(f, shape, p, out0, n);
}

ENTRY double riskcore_core_risk_prior_log_individual_risk_with_prior_scalar(double f, double shape, double p)
{
    return riskcore_log_individual_risk_with_prior(f, shape, p);
}

LOOP(riskcore_core_risk_prior_individual_risk_poisson, individual_risk_poisson_of_many)

ENTRY void riskcore_core_risk_prior_individual_risk_poisson_arrays(const double *f, const double *mu, double *out0, int64_t n)
{
    riskcore_individual_risk_poisson_array(f, mu, out0, n);
}

ENTRY double riskcore_core_risk_prior_individual_risk_poisson_scalar(double f, double mu)
{
    return riskcore_individual_risk_poisson(f, mu);
}

ENTRY double riskcore_core_risk_prior_individual_risk_poisson_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk_poisson(x[1], x[0]);
}

LOOP(riskcore_core_risk_prior_log_individual_risk_poisson, log_individual_risk_poisson_of_many)

ENTRY void riskcore_core_risk_prior_log_individual_risk_poisson_arrays(const double *f, const double *mu, double *out0, int64_t n)
{
    riskcore_log_individual_risk_poisson_array(f, mu, out0, n);
}

ENTRY double riskcore_core_risk_prior_log_individual_risk_poisson_scalar(double f, double mu)
{
    return riskcore_log_individual_risk_poisson(f, mu);
}

ENTRY double riskcore_core_risk_prior_log_individual_risk_poisson_integrand(int n, double *x)
{
    (void)n;
    return riskcore_log_individual_risk_poisson(x[1], x[0]);
}

LOOP(riskcore_core_risk_posterior_individual_risk_deviation, individual_risk_deviation_of_many)

ENTRY void riskcore_core_risk_posterior_individual_risk_deviation_arrays(const double *f, const double *p, double *out0, int64_t n)
{
    riskcore_individual_risk_deviation_array(f, p, out0, n);
}

ENTRY double riskcore_core_risk_posterior_individual_risk_deviation_scalar(double f, double p)
{
    return riskcore_individual_risk_deviation(f, p);
}

ENTRY double riskcore_core_risk_posterior_individual_risk_deviation_integrand(int n, double *x)
{
    (void)n;
    return riskcore_individual_risk_deviation(x[1], x[0]);
}

ENTRY const char riskcore_index[] =
    "riskcore machine code 2, " PROCESSOR "\n"
    "riskcore.core.risk.bounds.individual_risk_bounds 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_bounds.arrays 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_down 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_down.arrays 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_down.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.bounds.individual_risk_down.scalar 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_up 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_up.arrays 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.bounds.individual_risk_up.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.bounds.individual_risk_up.scalar 0865d51df799fdeb92120deb6096ecc2fe03c524e8420569e403f2c0071328b2\n"
    "riskcore.core.risk.individual.individual_risk 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk.arrays 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.individual.individual_risk.scalar 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.arrays 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.scalar 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk_gradient 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk_gradient.arrays 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.individual_risk_gradient.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.individual.individual_risk_gradient.scalar 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.log_individual_risk 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.log_individual_risk.arrays 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.individual.log_individual_risk.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.individual.log_individual_risk.scalar 643e69c243193c4bdece63715935173dc54373e54280fa32a8da69698dfe6307\n"
    "riskcore.core.risk.posterior.individual_risk_deviation 3be0bd10436103bc3b527371a1997f1c037334c62543353865b42c4852fa6c5b\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.arrays 3be0bd10436103bc3b527371a1997f1c037334c62543353865b42c4852fa6c5b\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.scalar 3be0bd10436103bc3b527371a1997f1c037334c62543353865b42c4852fa6c5b\n"
    "riskcore.core.risk.prior.individual_risk_poisson 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.individual_risk_poisson.arrays 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.individual_risk_poisson.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.prior.individual_risk_poisson.scalar 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.individual_risk_with_prior 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.arrays 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.scalar 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.arrays 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.integrand 0a094be11661e584362d1980063fc93a6f19b7a5ba0aa0b2584378715d3c086a\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.scalar 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.arrays 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.scalar 11cd579ce6ab2e88315eeefe4a44f92fc664eda7e73e4111d4cdc66d8ab03ae7\n";
