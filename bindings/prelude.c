/* The part of riskcore.c that is written by hand; bindings/write_c.py copies it. */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Every operation must be rounded once, as written: no fast-math, no registers of 80 bits, no
   products and sums joined to fused ones. */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "riskcore: compile without -ffast-math and its parts"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16 /* 16: just halves are wider */
#error "riskcore: doubles must be evaluated as doubles; on 32-bit x86 use -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno")
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3") /* else loops over cells run cell by cell */
#endif
_Pragma("GCC diagnostic ignored \"-Warray-bounds\"") /* of a loop that fills a block up */
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#if defined(__GNUC__)
#define RISKCORE_KERNEL static inline __attribute__((always_inline, unused))
#define RISKCORE_PLAIN static inline __attribute__((unused))
#define RISKCORE_SHARED static __attribute__((noinline, unused))
#elif defined(_MSC_VER)
#define RISKCORE_KERNEL static __forceinline
#define RISKCORE_PLAIN static inline
#define RISKCORE_SHARED static __declspec(noinline)
#else
#define RISKCORE_KERNEL static inline
#define RISKCORE_PLAIN static inline
#define RISKCORE_SHARED static
#endif
/* Before a loop that touches just element i of each array: they may coincide, not overlap. */
#if defined(__clang__)
_Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define RISKCORE_EACH _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define RISKCORE_EACH _Pragma("GCC ivdep")
#else
#define RISKCORE_EACH
#endif
/* Before a loop of few steps inside such loops. */
#if defined(__GNUC__) && !defined(__clang__)
#define RISKCORE_UNROLL _Pragma("GCC unroll 32")
#else
#define RISKCORE_UNROLL
#endif
/* riskcore_fma.c is this file for x86-64 processors that have FMA and AVX2. With RISKCORE_DISPATCH
   the functions hand over to it where the processor has them. */
#ifdef RISKCORE_FMA
#define RISKCORE_NAME(name) riskcore_##name##_fma
#else
#define RISKCORE_NAME(name) riskcore_##name
#endif
#if defined(RISKCORE_DISPATCH) && !defined(RISKCORE_FMA) && defined(__x86_64__) && \
    defined(__GNUC__) && !defined(__FMA__)
#define RISKCORE_HANDS_OVER
#define HAS_FMA (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
#endif

/* --- operations ------------------------------------------------------------------------------ */

RISKCORE_KERNEL int64_t bits(double x)
{
    union { double number; int64_t pattern; } both;
    both.number = x;
    return both.pattern;
}

RISKCORE_KERNEL double from_bits(int64_t pattern)
{
    union { double number; int64_t pattern; } both;
    both.pattern = pattern;
    return both.number;
}

/* Sums of bit patterns; past the end they go on at the other. */
RISKCORE_KERNEL int64_t pattern_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

RISKCORE_KERNEL int64_t pattern_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

RISKCORE_KERNEL double magnitude(double x) { return from_bits(bits(x) & INT64_MAX); }

RISKCORE_KERNEL int64_t size_of(int64_t x) { return x < 0 ? -x : x; }

/* Python's min and max. */
RISKCORE_KERNEL double lesser(double a, double b) { return b < a ? b : a; }
RISKCORE_KERNEL double greater(double a, double b) { return b > a ? b : a; }
RISKCORE_KERNEL int64_t lesser_integer(int64_t a, int64_t b) { return b < a ? b : a; }
RISKCORE_KERNEL int64_t greater_integer(int64_t a, int64_t b) { return b > a ? b : a; }

/* Division rounded down, and its rest, for b > 0. */
RISKCORE_KERNEL int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

RISKCORE_KERNEL int64_t floor_modulo(int64_t a, int64_t b)
{
    return a - floor_divide(a, b) * b;
}

RISKCORE_KERNEL int64_t shift_left(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a << b);
}

RISKCORE_KERNEL int64_t address(const double *pointer) { return (int64_t)(intptr_t)pointer; }

/* A mask of 64 bits, bit i set where codes[first + i] == code. */
RISKCORE_KERNEL int64_t matching(const uint8_t *codes, int64_t first, int64_t code)
{
    uint64_t mask = 0;
#ifdef __SSE2__
    const __m128i same = _mm_set1_epi8((char)code);
    for (int i = 0; i < 64; i += 16) {
        const __m128i found = _mm_loadu_si128((const __m128i *)(codes + first + i));
        mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(found, same)) << i;
    }
#else
    for (int i = 0; i < 64; i++)
        mask |= (uint64_t)(codes[first + i] == code) << i;
#endif
    return (int64_t)mask;
}

/* The position of the lowest bit set in a mask that is not 0. */
RISKCORE_KERNEL int64_t lowest(int64_t mask)
{
#ifdef __GNUC__
    return __builtin_ctzll((uint64_t)mask);
#else
    int64_t n = 0;
    for (uint64_t rest = (uint64_t)mask; !(rest & 1); rest >>= 1)
        n++;
    return n;
#endif
}

/* The number of bits set in a mask. */
RISKCORE_KERNEL int64_t size(int64_t mask)
{
    uint64_t n = (uint64_t)mask;
    n -= n >> 1 & 0x5555555555555555;
    n = (n & 0x3333333333333333) + (n >> 2 & 0x3333333333333333);
    n = (n + (n >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return (int64_t)(n * 0x0101010101010101 >> 56);
}

/* --- the floating-point mode ----------------------------------------------------------------- */

/* Kernels need rounding to nearest and subnormal numbers. Where the control register says
   otherwise it is set, and restored afterwards. */
#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
typedef unsigned int Mode;
RISKCORE_KERNEL Mode read_mode(void) { return _mm_getcsr(); }
RISKCORE_KERNEL void write_mode(Mode mode) { _mm_setcsr(mode); }
RISKCORE_KERNEL bool is_usual(Mode mode) { return (mode & 0xFFC0) == 0x1F80; }
RISKCORE_KERNEL Mode usual(Mode mode) { return (mode & ~(Mode)0xFFC0) | 0x1F80; }
#elif defined(__aarch64__) && defined(__GNUC__)
typedef uint64_t Mode;
RISKCORE_KERNEL Mode read_mode(void)
{
    Mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
RISKCORE_KERNEL void write_mode(Mode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
RISKCORE_KERNEL bool is_usual(Mode mode) { return mode == 0; }
RISKCORE_KERNEL Mode usual(Mode mode) { return mode & 0; }
#else
typedef int Mode;
RISKCORE_KERNEL Mode read_mode(void) { return 0; }
RISKCORE_KERNEL void write_mode(Mode mode) { (void)mode; }
RISKCORE_KERNEL bool is_usual(Mode mode) { return mode == 0; }
RISKCORE_KERNEL Mode usual(Mode mode) { return mode; }
#endif
