/* Calls of the functions of riskcore.c from R.

   Each entry takes its arguments as doubles and a template, the sum of the arguments,
   for the length and the attributes of the result. Shorter arguments are recycled. */

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include "riskcore.h"

enum { BLOCK = 4096, BLOCKS_BETWEEN_CHECKS = 16, MOST_INPUTS = 3, MOST_OUTPUTS = 2 };

typedef void (*Kernel)(const double *const *x, double *const *y, int64_t n);

typedef struct {
    const double *values;
    R_xlen_t length;
    R_xlen_t next;  /* the first value that is not used yet */
    double block[BLOCK];
} Input;

/* Return the next m values of an argument, those of a shorter one recycled. */
static const double *take(Input *input, R_xlen_t m, R_xlen_t n)
{
    R_xlen_t next = input->next;
    if (input->length == n) {
        input->next += m;
        return input->values + next;
    }
    for (R_xlen_t i = 0; i < m; i++) {
        input->block[i] = input->values[next];
        next = next + 1 == input->length ? 0 : next + 1;
    }
    input->next = next;
    return input->block;
}

/* Keep NA and NaN of the arguments; return how many other results are nan. */
static R_xlen_t keep_missing(const double *const *x, int inputs, double *const *y,
                             int outputs, R_xlen_t m)
{
    R_xlen_t produced = 0;
    for (R_xlen_t i = 0; i < m; i++) {
        if (!ISNAN(y[0][i]))
            continue;
        int na = 0, nan = 0;
        for (int k = 0; k < inputs; k++) {
            na |= ISNA(x[k][i]);
            nan |= ISNAN(x[k][i]);
        }
        produced += !nan;
        for (int k = 0; k < outputs; k++)
            y[k][i] = na ? NA_REAL : R_NaN;
    }
    return produced;
}

/* Fill in n results in blocks; return how many are nan outside the domain. */
static R_xlen_t fill(Kernel kernel, Input *input, int inputs, double *const *result,
                     int outputs, R_xlen_t n)
{
    R_xlen_t produced = 0, blocks = 0;
    for (R_xlen_t first = 0, m; first < n; first += m) {
        const double *x[MOST_INPUTS];
        double *y[MOST_OUTPUTS];
        m = n - first < BLOCK ? n - first : BLOCK;
        for (int k = 0; k < inputs; k++)
            x[k] = take(&input[k], m, n);
        for (int k = 0; k < outputs; k++)
            y[k] = result[k] + first;
        kernel(x, y, m);
        produced += keep_missing(x, inputs, y, outputs, m);
        if (++blocks % BLOCKS_BETWEEN_CHECKS == 0)
            R_CheckUserInterrupt();
    }
    return produced;
}

/* Return doubles with the length and the attributes of a template. */
static SEXP like(SEXP template)
{
    SEXP result = PROTECT(Rf_allocVector(REALSXP, XLENGTH(template)));
    SHALLOW_DUPLICATE_ATTRIB(result, template);
    UNPROTECT(1);
    return result;
}

/* Evaluate a kernel over all cells; args are its arguments and the template. */
static void evaluate(Kernel kernel, const SEXP *args, int inputs, const SEXP *results,
                     int outputs)
{
    Input input[MOST_INPUTS];
    double *y[MOST_OUTPUTS];
    R_xlen_t n = XLENGTH(results[0]);
    for (int k = 0; k < inputs; k++) {
        input[k].values = REAL(args[k]);
        input[k].length = XLENGTH(args[k]);
        input[k].next = 0;
        if (n > 0 && input[k].length == 0)
            Rf_error("an argument is empty, but the sum of the arguments is not");
    }
    for (int k = 0; k < outputs; k++)
        y[k] = REAL(results[k]);
    R_xlen_t produced = fill(kernel, input, inputs, y, outputs, n);
    if (produced > 0)
        Rf_warning("NaNs produced: %.0f of %.0f cells are outside the domain",
                   (double) produced, (double) n);
}

static SEXP one_result(Kernel kernel, const SEXP *args, int inputs)
{
    SEXP result = PROTECT(like(args[inputs]));
    evaluate(kernel, args, inputs, &result, 1);
    UNPROTECT(1);
    return result;
}

static SEXP two_results(Kernel kernel, const SEXP *args, int inputs)
{
    const char *names[] = {"lower", "upper", ""};
    SEXP both = PROTECT(Rf_mkNamed(VECSXP, names));
    for (int k = 0; k < 2; k++)
        SET_VECTOR_ELT(both, k, like(args[inputs]));
    SEXP results[] = {VECTOR_ELT(both, 0), VECTOR_ELT(both, 1)};
    evaluate(kernel, args, inputs, results, 2);
    UNPROTECT(1);
    return both;
}

#define FUNCTION_OF_2(name)                                                          \
    static void name##_block(const double *const *x, double *const *y, int64_t n)    \
    {                                                                                \
        riskcore_##name##_array(x[0], x[1], y[0], n);                                \
    }                                                                                \
    static SEXP name##_call(SEXP a, SEXP b, SEXP template)                           \
    {                                                                                \
        return one_result(name##_block, (SEXP[]){a, b, template}, 2);                \
    }

#define FUNCTION_OF_3(name)                                                          \
    static void name##_block(const double *const *x, double *const *y, int64_t n)    \
    {                                                                                \
        riskcore_##name##_array(x[0], x[1], x[2], y[0], n);                          \
    }                                                                                \
    static SEXP name##_call(SEXP a, SEXP b, SEXP c, SEXP template)                   \
    {                                                                                \
        return one_result(name##_block, (SEXP[]){a, b, c, template}, 3);             \
    }

#define BOUNDS_OF_2(name)                                                            \
    static void name##_block(const double *const *x, double *const *y, int64_t n)    \
    {                                                                                \
        riskcore_##name##_array(x[0], x[1], y[0], y[1], n);                          \
    }                                                                                \
    static SEXP name##_call(SEXP a, SEXP b, SEXP template)                           \
    {                                                                                \
        return two_results(name##_block, (SEXP[]){a, b, template}, 2);               \
    }

FUNCTION_OF_2(individual_risk)
FUNCTION_OF_2(individual_risk_from_frequencies)
FUNCTION_OF_2(log_individual_risk)
FUNCTION_OF_2(individual_risk_gradient)
BOUNDS_OF_2(individual_risk_bounds)
FUNCTION_OF_2(individual_risk_down)
FUNCTION_OF_2(individual_risk_up)
FUNCTION_OF_2(individual_risk_deviation)
FUNCTION_OF_3(individual_risk_with_prior)
FUNCTION_OF_3(log_individual_risk_with_prior)
FUNCTION_OF_2(individual_risk_poisson)
FUNCTION_OF_2(log_individual_risk_poisson)

/* How many arguments an entry has, with its template. */
#define ENTRY(name, arguments) {"C_" #name, (DL_FUNC) &name##_call, arguments}

static const R_CallMethodDef entries[] = {
    ENTRY(individual_risk, 3),
    ENTRY(individual_risk_from_frequencies, 3),
    ENTRY(log_individual_risk, 3),
    ENTRY(individual_risk_gradient, 3),
    ENTRY(individual_risk_bounds, 3),
    ENTRY(individual_risk_down, 3),
    ENTRY(individual_risk_up, 3),
    ENTRY(individual_risk_deviation, 3),
    ENTRY(individual_risk_with_prior, 4),
    ENTRY(log_individual_risk_with_prior, 4),
    ENTRY(individual_risk_poisson, 3),
    ENTRY(log_individual_risk_poisson, 3),
    {NULL, NULL, 0}
};

void R_init_riskcore(DllInfo *dll)
{
    R_registerRoutines(dll, NULL, entries, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
}
