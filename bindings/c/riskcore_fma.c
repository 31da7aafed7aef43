/* riskcore 0.1.0: the individual risk of re-identification. BSD-3-Clause, see LICENSE.

   Written by bindings/write_c.py from the kernels in riskcore/core; never edit it. */

#ifdef __x86_64__
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("arch=haswell"))), \
                             apply_to = function)
#else
#pragma GCC target("arch=haswell")
#endif
#define RISKCORE_FMA
#include "riskcore.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int riskcore_has_one_version; /* a file must not be empty */
#endif
