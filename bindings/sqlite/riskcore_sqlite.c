/* A loadable extension of SQLite: the individual risk as functions in SQL.

   A NULL argument gives NULL. Outside the domain the value is nan, which SQLite turns
   into NULL. An argument that is text or a blob is an error. */
#include <stddef.h>

#include <sqlite3ext.h>

#include "riskcore.h"

SQLITE_EXTENSION_INIT1

static const struct function {
    const char *name;
    int arguments;
    double (*of_two)(double, double);
    double (*of_three)(double, double, double);
} FUNCTIONS[] = {
    {"individual_risk", 2, riskcore_individual_risk, 0},
    {"individual_risk_from_frequencies", 2, riskcore_individual_risk_from_frequencies, 0},
    {"log_individual_risk", 2, riskcore_log_individual_risk, 0},
    {"individual_risk_gradient", 2, riskcore_individual_risk_gradient, 0},
    {"individual_risk_deviation", 2, riskcore_individual_risk_deviation, 0},
    {"individual_risk_down", 2, riskcore_individual_risk_down, 0},
    {"individual_risk_up", 2, riskcore_individual_risk_up, 0},
    {"individual_risk_poisson", 2, riskcore_individual_risk_poisson, 0},
    {"log_individual_risk_poisson", 2, riskcore_log_individual_risk_poisson, 0},
    {"individual_risk_with_prior", 3, 0, riskcore_individual_risk_with_prior},
    {"log_individual_risk_with_prior", 3, 0, riskcore_log_individual_risk_with_prior},
};

/* Refuse an argument that is not a number. */
static void refuse(sqlite3_context *context, const char *name)
{
    char *message = sqlite3_mprintf(
        "%s: an argument is text or a blob; write CAST(... AS REAL)", name);
    sqlite3_result_error(context, message, -1);
    sqlite3_free(message);
}

static void evaluate(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct function *function = sqlite3_user_data(context);
    double x[3];
    for (int i = 0; i < n; i++) {
        int type = sqlite3_value_type(values[i]);
        if (type == SQLITE_NULL)
            return; /* a result that is not set is NULL */
        if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
            refuse(context, function->name);
            return;
        }
        x[i] = sqlite3_value_double(values[i]);
    }
    sqlite3_result_double(context, n == 2 ? function->of_two(x[0], x[1])
                                          : function->of_three(x[0], x[1], x[2]));
}

#ifdef _WIN32
__declspec(dllexport)
#endif
int sqlite3_riskcoresqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)error;
    for (size_t k = 0; k < sizeof FUNCTIONS / sizeof *FUNCTIONS; k++) {
        const struct function *function = &FUNCTIONS[k];
        int status = sqlite3_create_function(
            db, function->name, function->arguments,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, (void *)function,
            evaluate, 0, 0);
        if (status != SQLITE_OK)
            return status;
    }
    return SQLITE_OK;
}
