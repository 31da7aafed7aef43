/* The entry points of riskcore.c that the Python package loads. BSD-3-Clause, see LICENSE.

   Written by bindings/write_entries.py; never edit it. PROCESSOR is the kind of processor that it
   is compiled for, as riskcore.core.compiled.shipped calls it. */

#include "riskcore.c"

#include <fenv.h>

#if defined(_WIN32)
#define ENTRY __declspec(dllexport)
#elif defined(__GNUC__)
#define ENTRY __attribute__((visibility("default")))
#else
#define ENTRY
#endif

/* NumPy's inner loop: arguments and results, sizes, steps. It would make warnings of flags. */
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
    "riskcore.core.risk.bounds.individual_risk_bounds 6cc138b4f5cb421185ba77b4b9046520556541a06f85b5cad94d153456bad4e1\n"
    "riskcore.core.risk.bounds.individual_risk_bounds.arrays 6cc138b4f5cb421185ba77b4b9046520556541a06f85b5cad94d153456bad4e1\n"
    "riskcore.core.risk.individual.individual_risk 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk.arrays 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.individual.individual_risk.scalar 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.arrays 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.scalar 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk_gradient 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk_gradient.arrays 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.individual_risk_gradient.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.individual.individual_risk_gradient.scalar 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.log_individual_risk 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.log_individual_risk.arrays 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.individual.log_individual_risk.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.individual.log_individual_risk.scalar 31620bc7513780eb50950b1e56748acfca9bbee9b613b6c57723327725a9cb6c\n"
    "riskcore.core.risk.posterior.individual_risk_deviation 6067615898c770b1c41fbd276c6e89da37758374e3c52f7d32c1ed32655b8896\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.arrays 6067615898c770b1c41fbd276c6e89da37758374e3c52f7d32c1ed32655b8896\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.scalar 6067615898c770b1c41fbd276c6e89da37758374e3c52f7d32c1ed32655b8896\n"
    "riskcore.core.risk.prior.individual_risk_poisson fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.individual_risk_poisson.arrays fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.individual_risk_poisson.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.prior.individual_risk_poisson.scalar fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.individual_risk_with_prior fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.arrays fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.scalar fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.arrays fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.integrand 70954b443c41457d8c464d1c6fd361924f411b4b486787d854b1e233031cd2f4\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.scalar fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.arrays fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.scalar fbcc96a734a4f2e33075fa08108bd0cb218d938dcc8ef0c00be482ed9e868b2b\n";
