/* What the processor and the system can run, asked by the Python package. BSD-3-Clause. */

#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>

#if defined(_WIN32)
#define ENTRY __declspec(dllexport)
#else
#define ENTRY __attribute__((visibility("default")))
#endif

uint32_t riskcore_cpuid(uint32_t leaf, uint32_t number);
uint32_t riskcore_registers(void);

/* A register after CPUID of a leaf: 0 is EAX, 1 EBX, 2 ECX. */
ENTRY uint32_t riskcore_cpuid(uint32_t leaf, uint32_t number)
{
    uint32_t a, b, c, d;
    __cpuid_count(leaf, 0, a, b, c, d);
    return number == 0 ? a : number == 1 ? b : c;
}

/* The registers that the system keeps, XCR0; only for a processor with OSXSAVE. */
ENTRY uint32_t riskcore_registers(void)
{
    uint32_t a, d;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}
#else
typedef int riskcore_asks_nothing; /* a file must not be empty */
#endif
