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

/* Flags become warnings in NumPy, but not that of inexact results. */
static void clear_flags(void)
{
#if defined(__x86_64__) || defined(_M_X64)
    if (_mm_getcsr() & 0x1D)
        _mm_setcsr(_mm_getcsr() & ~0x3Fu);
#else
    feclearexcept(FE_ALL_EXCEPT);
#endif
}

/* NumPy's inner loop: arguments and results, sizes, steps. */
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
        clear_flags(); \
    }

/* Two loops for all ufuncs, written by hand; bindings/write_entries.py copies them. What a
   plan holds, and why this is right, is in riskcore/core/compiled/signals.py for the loop
   that hears Ctrl-C, in riskcore/core/risk/single.py for that of float32. */
static int64_t call(int64_t function, int64_t argument)
{
    return ((int64_t(*)(int64_t))(intptr_t)function)(argument);
}

static bool ends(int64_t *plan)
{
    const int64_t word = 0xFFFFFFFF, stopped = (int64_t)1 << 33;
    const int64_t now = call(plan[3], 0) & word, last = plan[10];
    if (now == last || (call(plan[4], 0) & word) != plan[9])
        return false;
    const int64_t lock = call(plan[5], 0);
    const bool raised = last == stopped ? call(plan[8], 0) != 0 : (call(plan[7], 0) & word) != 0;
    call(plan[6], lock);
    plan[10] = raised ? stopped : now;
    return raised;
}

ENTRY void riskcore_core_compiled_signals_loop_in_stretches(int64_t *args, int64_t *sizes, int64_t *steps, int64_t *plan)
{
    typedef void Loop(int64_t *, int64_t *, int64_t *, int64_t);
    int64_t places[8], size;
    for (int64_t first = 0; first < sizes[0] && !ends(plan); first += size) {
        size = lesser_integer(4096, sizes[0] - first);
        for (int64_t k = 0; k < plan[2]; k++)
            places[k] = args[k] + first * steps[k];
        ((Loop *)(intptr_t)plan[0])(places, &size, steps, plan[1]);
    }
}

static bool is_middle(double x)
{
    const double halves = x * 0x1p150, whole = 0x1.8p52;
    if (x >= 0x1p-126)
        return (bits(x) & 0x1FFFFFFF) == 0x10000000;
    return (halves + whole) - whole == halves && (0.5 * halves + whole) - whole != 0.5 * halves;
}

static double beside(double f, double second, double x, int64_t way)
{
    const double a = way == 1 ? second : f, b = way == 1 ? 1.0 : second;
    const double product = fma(-x, f, 1.0);
    if (a == b)
        return from_bits(bits(x) + (product > 0.0) - (product < 0.0));
    const int64_t where = side(f, a, b, x, false);
    return where != 0 ? from_bits(bits(x) + where) : NAN;
}

static float narrow(double x, int64_t way)
{
    const float y = (float)x;
    if (way == 3 && (double)y > x)
        return nextafterf(y, 0.0f);
    return way == 4 && (double)y < x ? nextafterf(y, INFINITY) : y;
}

static void singles(float **args, int64_t *sizes, int64_t *steps, int64_t *plan)
{
    typedef void Loop(double **, int64_t *, int64_t *, void *);
    Loop *const loop = (Loop *)(intptr_t)plan[0];
    const int64_t inputs = plan[1], gap = (int64_t)((intptr_t)args[inputs] - (intptr_t)args[0]);
    const int64_t ahead = steps[inputs] == 0 || gap == steps[inputs] ? 1 : 512;
    double room[5][512], *rooms[5];
    int64_t eights[5];
    for (int k = 0; k < 5; k++)
        rooms[k] = room[k], eights[k] = 8;
    for (int64_t first = 0, n; first < sizes[0]; first += n) {
        n = lesser_integer(ahead, sizes[0] - first);
        for (int64_t k = 0; k < inputs; k++)
            for (int64_t i = 0; i < n; i++)
                room[k][i] = args[k][(first + i) * (steps[k] >> 2)];
        loop(rooms, &n, eights, 0);
        for (int64_t k = inputs; k < inputs + plan[2]; k++)
            for (int64_t i = 0; i < n; i++) {
                const int64_t way = plan[3 + k - inputs];
                double x = room[k][i];
                if ((way == 1 || way == 2) && is_middle(x))
                    x = beside(room[0][i], room[1][i], x, way);
                args[k][(first + i) * (steps[k] >> 2)] = narrow(x, way);
            }
    }
}

ENTRY void riskcore_core_risk_single_loop_of_singles(float **args, int64_t *sizes, int64_t *steps, int64_t *plan)
{
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    singles(args, sizes, steps, plan);
    if (!is_usual(mode))
        write_mode(mode);
    clear_flags();
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
    "riskcore.core.compiled.signals.loop_in_stretches 47368f675cfe746a3eb60248429112ffab7c47adc2242dd308cb91245c3ea565\n"
    "riskcore.core.risk.bounds.individual_risk_bounds d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_bounds.arrays d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_down d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_down.arrays d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_down.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.bounds.individual_risk_down.scalar d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_up d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_up.arrays d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.bounds.individual_risk_up.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.bounds.individual_risk_up.scalar d9a80b7b8a87c239f14b409fea4ebef1bb6de53af72b50cd8bf81adba6754c2d\n"
    "riskcore.core.risk.individual.individual_risk 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk.arrays 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.individual.individual_risk.scalar 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.arrays 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.scalar 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk_gradient 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk_gradient.arrays 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.individual_risk_gradient.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.individual.individual_risk_gradient.scalar 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.log_individual_risk 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.log_individual_risk.arrays 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.individual.log_individual_risk.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.individual.log_individual_risk.scalar 2d4e5a5c1ed013e7d717672eaa22fe81937fa3a6e92c552eb3e15c4ae590a834\n"
    "riskcore.core.risk.posterior.individual_risk_deviation 3735e19f1be85d64fe0a42534176058f250a597740270ccc82dead446e65c009\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.arrays 3735e19f1be85d64fe0a42534176058f250a597740270ccc82dead446e65c009\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.scalar 3735e19f1be85d64fe0a42534176058f250a597740270ccc82dead446e65c009\n"
    "riskcore.core.risk.prior.individual_risk_poisson b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.individual_risk_poisson.arrays b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.individual_risk_poisson.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.prior.individual_risk_poisson.scalar b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.individual_risk_with_prior b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.arrays b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.scalar b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.arrays b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.integrand e86a27238bb540d5f507b74dad16fbd246cdcce36d61b2bda9ec4cbd2a2f1642\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.scalar b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.arrays b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.scalar b3f642eba362b758b3cd49305acf262ae9b6c0688fad1c45b99d5664366b207c\n"
    "riskcore.core.risk.single.loop_of_singles d0e7e7bdbbfd114b871e8d8ec30e4b5503e2fa5a0444510ff6e1cab7ff7752bd\n";
