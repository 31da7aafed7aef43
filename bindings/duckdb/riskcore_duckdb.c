/* A loadable extension of DuckDB (1.2 or later): the individual risk as functions in SQL.

   A NULL argument gives NULL. Outside the domain the value is nan, which DuckDB sorts
   above all numbers: WHERE individual_risk(f, p) >= 0.01 selects such a row. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "riskcore.h"

/* The part of DuckDB's C API that is used, so that no header of DuckDB is needed. DuckDB
   hands over a struct of functions to which later versions only append. Places and types
   are those of duckdb_extension.h 1.2.0, where the names begin with duckdb_. */
typedef struct object *handle;

struct api {
    void *before_3[3];
    int (*connect)(handle database, handle *connection);
    void *before_6[2];
    void (*disconnect)(handle *connection);
    void *before_156[149];
    handle (*create_logical_type)(int type);
    void *before_184[27];
    void (*destroy_logical_type)(handle *type);
    void *before_190[5];
    handle (*data_chunk_get_vector)(handle chunk, uint64_t column);
    uint64_t (*data_chunk_get_size)(handle chunk);
    void *before_194[2];
    void *(*vector_get_data)(handle vector);
    uint64_t *(*vector_get_validity)(handle vector);
    void (*vector_ensure_validity_writable)(handle vector);
    void *before_209[12];
    handle (*create_scalar_function)(void);
    void (*destroy_scalar_function)(handle *function);
    void (*scalar_function_set_name)(handle function, const char *name);
    void *before_215[3];
    void (*scalar_function_add_parameter)(handle function, handle type);
    void (*scalar_function_set_return_type)(handle function, handle type);
    void (*scalar_function_set_extra_info)(handle function, void *extra, void (*free)(void *));
    void (*scalar_function_set_function)(handle function, void (*)(handle, handle, handle));
    int (*register_scalar_function)(handle connection, handle function);
    void *(*scalar_function_get_extra_info)(handle info);
};

struct access {
    void (*set_error)(handle info, const char *error);
    handle *(*get_database)(handle info);
    const struct api *(*get_api)(handle info, const char *version);
};

enum { DOUBLE = 11 };

static struct api duckdb;

static const struct function {
    const char *name;
    void (*of_two)(const double *, const double *, double *, int64_t);
    void (*of_three)(const double *, const double *, const double *, double *, int64_t);
} FUNCTIONS[] = {
    {"individual_risk", riskcore_individual_risk_array, 0},
    {"individual_risk_from_frequencies", riskcore_individual_risk_from_frequencies_array, 0},
    {"log_individual_risk", riskcore_log_individual_risk_array, 0},
    {"individual_risk_gradient", riskcore_individual_risk_gradient_array, 0},
    {"individual_risk_deviation", riskcore_individual_risk_deviation_array, 0},
    {"individual_risk_down", riskcore_individual_risk_down_array, 0},
    {"individual_risk_up", riskcore_individual_risk_up_array, 0},
    {"individual_risk_poisson", riskcore_individual_risk_poisson_array, 0},
    {"log_individual_risk_poisson", riskcore_log_individual_risk_poisson_array, 0},
    {"individual_risk_with_prior", 0, riskcore_individual_risk_with_prior_array},
    {"log_individual_risk_with_prior", 0, riskcore_log_individual_risk_with_prior_array},
};

/* Make a result NULL where an argument is; validity is one bit a row. */
static void keep_nulls(handle argument, handle result, int64_t n)
{
    const uint64_t *valid = duckdb.vector_get_validity(argument);
    if (!valid)
        return;
    duckdb.vector_ensure_validity_writable(result);
    uint64_t *kept = duckdb.vector_get_validity(result);
    for (int64_t word = 0; 64 * word < n; word++)
        kept[word] &= valid[word];
}

static void evaluate(handle info, handle chunk, handle result)
{
    const struct function *function = duckdb.scalar_function_get_extra_info(info);
    int64_t n = (int64_t)duckdb.data_chunk_get_size(chunk);
    double *out = duckdb.vector_get_data(result);
    const double *x[3];
    int arguments = function->of_two ? 2 : 3;
    for (int k = 0; k < arguments; k++) {
        handle argument = duckdb.data_chunk_get_vector(chunk, (uint64_t)k);
        x[k] = duckdb.vector_get_data(argument);
        keep_nulls(argument, result, n);
    }
    if (function->of_two)
        function->of_two(x[0], x[1], out, n);
    else
        function->of_three(x[0], x[1], x[2], out, n);
}

static bool add(handle connection, const struct function *from)
{
    handle function = duckdb.create_scalar_function();
    handle type = duckdb.create_logical_type(DOUBLE);
    duckdb.scalar_function_set_name(function, from->name);
    for (int k = 0; k < (from->of_two ? 2 : 3); k++)
        duckdb.scalar_function_add_parameter(function, type);
    duckdb.scalar_function_set_return_type(function, type);
    duckdb.scalar_function_set_extra_info(function, (void *)from, 0);
    duckdb.scalar_function_set_function(function, evaluate);
    int status = duckdb.register_scalar_function(connection, function);
    duckdb.destroy_logical_type(&type);
    duckdb.destroy_scalar_function(&function);
    return status == 0;
}

#ifdef _WIN32
__declspec(dllexport)
#endif
bool riskcore_init_c_api(handle info, const struct access *access)
{
    const struct api *api = access->get_api(info, "v1.2.0");
    if (!api)
        return false; /* get_api has set the error */
    duckdb = *api;
    handle *database = access->get_database(info), connection;
    if (!database || duckdb.connect(*database, &connection) != 0) {
        access->set_error(info, "riskcore: cannot connect to the database");
        return false;
    }
    bool added = true;
    for (size_t k = 0; k < sizeof FUNCTIONS / sizeof *FUNCTIONS; k++)
        added = added && add(connection, &FUNCTIONS[k]);
    duckdb.disconnect(&connection);
    if (!added)
        access->set_error(info, "riskcore: a function of this name is there already");
    return added;
}
