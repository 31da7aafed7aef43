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
    "riskcore.core.risk.bounds.individual_risk_bounds 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_bounds.arrays 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_down 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_down.arrays 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_down.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.bounds.individual_risk_down.scalar 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_up 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_up.arrays 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.bounds.individual_risk_up.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.bounds.individual_risk_up.scalar 4f547ca99fcaa265d30c1b1f740399c670a5534752e0664b18fce5b19538f906\n"
    "riskcore.core.risk.individual.individual_risk 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk.arrays 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.individual.individual_risk.scalar 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.arrays 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.scalar 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk_gradient 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk_gradient.arrays 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.individual_risk_gradient.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.individual.individual_risk_gradient.scalar 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.log_individual_risk 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.log_individual_risk.arrays 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.individual.log_individual_risk.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.individual.log_individual_risk.scalar 9a97cfe1848df82bd86054bee220f6a235d2d14da2087dd1def4710199f14989\n"
    "riskcore.core.risk.posterior.individual_risk_deviation 0384563a30eeea696c9d51dd8775dff913a5479346e468c2d133ab164c0432eb\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.arrays 0384563a30eeea696c9d51dd8775dff913a5479346e468c2d133ab164c0432eb\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.scalar 0384563a30eeea696c9d51dd8775dff913a5479346e468c2d133ab164c0432eb\n"
    "riskcore.core.risk.prior.individual_risk_poisson e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.individual_risk_poisson.arrays e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.individual_risk_poisson.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.prior.individual_risk_poisson.scalar e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.individual_risk_with_prior e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.arrays e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.scalar e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.arrays e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.integrand f93fc07ec360a7d04693e296da8a317d75e965fad898c2d225acda77cb7934d7\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.scalar e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.arrays e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.scalar e7ef7a123c1f70d3ccfae7c4714f13b05c1674fb104aee87faa581c4512fcbf4\n";
