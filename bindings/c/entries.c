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
    "riskcore.core.compiled.signals.loop_in_stretches 73c77fae5b38a4bcfad4fab69c71eb8c14b45a9e1398aba3ca6678f70322967b\n"
    "riskcore.core.risk.bounds.individual_risk_bounds c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_bounds.arrays c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_down c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_down.arrays c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_down.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.bounds.individual_risk_down.scalar c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_up c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_up.arrays c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.bounds.individual_risk_up.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.bounds.individual_risk_up.scalar c474e6d9961a1697bef3ccb75f5cb612c73edd661bb423d2f9255f0bddbb5508\n"
    "riskcore.core.risk.individual.individual_risk 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk.arrays 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.individual.individual_risk.scalar 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.arrays 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.individual.individual_risk_from_frequencies.scalar 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk_gradient 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk_gradient.arrays 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.individual_risk_gradient.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.individual.individual_risk_gradient.scalar 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.log_individual_risk 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.log_individual_risk.arrays 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.individual.log_individual_risk.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.individual.log_individual_risk.scalar 7c1a8043cd75dabfea02c8fd88323ecb5ee6f803dc016b3d0dde79ca0c09b79b\n"
    "riskcore.core.risk.posterior.individual_risk_deviation 88d47bafd53768cb53482661bee3e1a49b2e07fa13302f6b4f3de6814e6a020a\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.arrays 88d47bafd53768cb53482661bee3e1a49b2e07fa13302f6b4f3de6814e6a020a\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.posterior.individual_risk_deviation.scalar 88d47bafd53768cb53482661bee3e1a49b2e07fa13302f6b4f3de6814e6a020a\n"
    "riskcore.core.risk.prior.individual_risk_poisson 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.individual_risk_poisson.arrays 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.individual_risk_poisson.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.prior.individual_risk_poisson.scalar 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.individual_risk_with_prior 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.arrays 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.individual_risk_with_prior.scalar 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.arrays 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.integrand 84b4291b0127b79cfd11b72c3aea398bd9852a8385d4fa76e692b290bcc76bf9\n"
    "riskcore.core.risk.prior.log_individual_risk_poisson.scalar 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.arrays 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.prior.log_individual_risk_with_prior.scalar 0aaaeaf9045d15e74fcc9a1591ebbe04c0d9600f116e9eba316c8b1207588591\n"
    "riskcore.core.risk.single.loop_of_singles 609e141a0ae856c435d0af907660a04ede86c74487cb0053f060817b4f427e80\n";
