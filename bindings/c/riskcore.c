/* riskcore 0.1.0: the individual risk of re-identification. BSD-3-Clause, see LICENSE.

   Written by bindings/write_c.py from the kernels in riskcore/core; never edit it. */

#include "riskcore.h"
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

typedef struct { double a; double b; } Pair;
typedef struct { double a; double b; double c; } Triple;
typedef struct { double a; double b; double c; double d; } Tuple_dddd;
typedef struct { double a; double b; double c; double d; double e; double f; } Tuple_dddddd;
typedef struct { double a; double b; int64_t c; } Tuple_ddi;
typedef struct { double a; int64_t b; } Tuple_di;
typedef struct { double a; Triple b; } Tuple_d_ddd;
typedef struct { Pair a; Pair b; } Tuple_dd__dd;
typedef struct { Triple a; Triple b; } Tuple_ddd__ddd;
typedef struct { Triple a; int64_t b; } Tuple_ddd_i;

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

static const double TWO_52 = 0x1p52;
static const int64_t fast_integer_ONE = 0;
static const int64_t SMALL = 1;
static const int64_t FORWARD_15 = 2;
static const double P_NEAR_ONE = 0.75;
static const double P_HALF = 0.5;
static const int64_t fast_integer_NEAR_ONE = 3;
static const int64_t fast_integer_LEVELS = 4;
static const double F_BACKWARD = 4.0;
static const int64_t LEVELS_REAL = 7;
static const int64_t BACKWARD_REAL = 9;
static const double P_FORWARD = 0.3;
static const int64_t FORWARD_REAL = 8;
static const int64_t FROM_16 = 5;
static const int64_t FROM_32 = 6;
static const double fast_integer_RARE = 0x1p-900;
static const double fast_integer_F_HUGE = 0x1p50;
static const int64_t fast_integer_OTHER = 10;

/* Return the number of the region of (f, p). */
RISKCORE_KERNEL int64_t fast_integer_region(double f, double p)
{
    /* Branchless, so that a loop over it vectorizes. */
    bool integer = (f + TWO_52 - TWO_52 == f) & (f >= 1.0);
    bool few = f <= 4.0;
    int64_t upwards = f == 1.0 ? fast_integer_ONE : (few ? SMALL : FORWARD_15);
    double below = few ? P_NEAR_ONE : P_HALF;
    int64_t whole = p < below ? upwards : (f <= 3.0 ? fast_integer_NEAR_ONE
        : fast_integer_LEVELS);
    bool levels = (f >= F_BACKWARD) | ((f >= 2.0) & (p >= P_HALF));
    int64_t real = levels ? LEVELS_REAL : BACKWARD_REAL;
    real = p < P_FORWARD ? FORWARD_REAL : real;
    int64_t where = integer ? whole : real;
    where = f < 16.0 ? where : FROM_16;
    where = f < 32.0 ? where : FROM_32;
    bool inside = (p >= fast_integer_RARE) & (p <= 1.0) & (f >= fast_integer_RARE) & (f <=
        fast_integer_F_HUGE);
    return inside ? where : fast_integer_OTHER;
}

/* --- riskcore/core/special/floats.py -------------------------------------------- */

/* Return a + b rounded and its rounding error, for |a| >= |b| (Dekker). */
RISKCORE_KERNEL Pair fast_two_sum(double a, double b)
{
    double s = a + b;
    return (Pair){s, b - (s - a)};
}

/* --- riskcore/core/special/elementary.py ---------------------------------------- */

static const int64_t LOWER_END_BITS = INT64_C(4604367669032910848);
static const double TO_QUARTERS = 0x1.8p50;
static const double LOG_3_4 = -0x1.269621134ep-2;
static const double LOG_5_4 = 0x1.c8ff7c79aap-3;
static const double LOG_3_4_LOW = 0x1.1b61f10522625p-44;
static const double LOG_5_4_LOW = -0x1.7794f689f8434p-45;
static const double P5 = 0x1.1563274487784p-3;
static const double P4 = 0x1.3b0c4de54996dp-3;
static const double P3 = 0x1.745d1d15de7f9p-3;
static const double P2 = 0x1.c71c71c50ba18p-3;
static const double P1 = 0x1.24924924926b8p-2;
static const double P0 = 0.4;
static const double TWO_THIRDS_LOW = 0x1.5555555555555p-55;
static const double LN2_HIGH = 0x1.62e42fefa38p-1;
static const double elementary_LN2_LOW = 0x1.ef35793c7673p-45;

/* Return log x as a head and a tail, for a normal x. */
RISKCORE_KERNEL Pair log_pair(double x)
{
    int64_t pattern = bits(x);
    int64_t exponent = pattern_difference(pattern, LOWER_END_BITS) >> 52;
    double z = from_bits(pattern_difference(pattern, shift_left(exponent, 52)));
    double k = (double)exponent;
    double c = z + TO_QUARTERS - TO_QUARTERS;
    bool few = c < 1.0;
    bool many = c > 1.0;
    double log_c = few ? LOG_3_4 : (many ? LOG_5_4 : 0.0);
    double log_c_low = few ? LOG_3_4_LOW : (many ? LOG_5_4_LOW : 0.0);
    double u = z - c;
    double d = z + c;
    double d_low = z - (d - c);
    double reciprocal = 1.0 / d;
    double s = u * reciprocal;
    double s_low = fma(-s, d_low, fma(-s, d, u)) * reciprocal;
    double s2 = s + s;
    double w = s * s;
    double w_low = fma(s2, s_low, fma(s, s, -w));
    double t = fma(fma(fma(fma(fma(P5, w, P4), w, P3), w, P2), w, P1), w, P0);
    t = fma(w, t, TWO_THIRDS_LOW);
    double a = s * w;
    double a_low = fma(s, w_low, fma(s_low, w, fma(s, w, -a)));
    double b = a * (2.0 / 3.0);
    double b_low = fma(a, 2.0 / 3.0, -b) + fma(a_low, 2.0 / 3.0, a * t);
    /* k log 2 + log c is exact in its first parts, and 0 or larger than 2s. */
    const Pair t1 = fast_two_sum(fma(k, LN2_HIGH, log_c), s2);
    double high = t1.a, low = t1.b;
    const Pair t2 = fast_two_sum(high, b);
    high = t2.a;
    double rest = t2.b;
    return (Pair){high, low + rest + (b_low + fma(2.0, s_low, fma(k, elementary_LN2_LOW,
        log_c_low)))};
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

/* Return v = p/q as a pair. */
RISKCORE_KERNEL Pair ratio(double p)
{
    double q = 1.0 - p;
    double q_low = 1.0 - q - p;
    double reciprocal = 1.0 / q;
    double v = p * reciprocal;
    return (Pair){v, fma(-v, q_low, fma(-v, q, p)) * reciprocal};
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a b as a double and the rest, which may exceed half an ulp. */
RISKCORE_KERNEL Pair product_pair(double a, double a_low, double b, double b_low)
{
    double high = a * b;
    return (Pair){high, fma(a, b, -high) + fma(a, b_low, a_low * b)};
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

static const double BY_LOGARITHM = 0x1p-67;

/* Return r for f = 1, v L, given log p = high + low. */
RISKCORE_KERNEL Triple by_logarithm_one(double p, double high, double low)
{
    const Pair t1 = ratio(p);
    double v = t1.a, v_low = t1.b;
    const Pair t2 = product_pair(v, v_low, -high, -low);
    double r = t2.a, r_low = t2.b;
    return (Triple){r, r_low, BY_LOGARITHM * r};
}

RISKCORE_KERNEL Pair to_4(double f, double v, double v_low, double r, double r_low)
{
    /* The steps past f are taken and dropped: branchless, so the loop vectorizes. */
    RISKCORE_UNROLL
    for (int64_t n = 1; n < 4; n++) {
        double m = (double)n;
        double c = 1.0 / m;
        double c_low = fma(-m, c, 1.0) / m;
        double s = c - r;
        double s_low = c - s - r + (c_low - r_low);
        double x = v * s;
        double x_low = fma(v, s, -x) + fma(v, s_low, v_low * s);
        bool more = f > m;
        r = more ? x : r;
        r_low = more ? x_low : r_low;
    }
    return (Pair){r, r_low};
}

/* Return r for f = 1, ..., 4, given log p = high + low. */
RISKCORE_KERNEL Triple by_logarithm_4(double f, double p, double high, double low)
{
    const Pair t1 = ratio(p);
    double v = t1.a, v_low = t1.b;
    const Pair t2 = product_pair(v, v_low, -high, -low);
    double r = t2.a, r_low = t2.b;
    const Pair t3 = to_4(f, v, v_low, r, r_low);
    r = t3.a;
    r_low = t3.b;
    double v2 = v * v;
    return (Triple){r, r_low, BY_LOGARITHM * fma(v2, v2, r)};
}

RISKCORE_KERNEL Pair to_8(double f, double v, double v_low, double r, double r_low)
{
    /* The steps past f are taken and dropped: branchless, so the loop vectorizes. */
    RISKCORE_UNROLL
    for (int64_t n = 4; n < 8; n++) {
        double m = (double)n;
        double c = 1.0 / m;
        double c_low = fma(-m, c, 1.0) / m;
        double s = c - r;
        double s_low = c - s - r + (c_low - r_low);
        double x = v * s;
        double x_low = fma(v, s, -x) + fma(v, s_low, v_low * s);
        bool more = f > m;
        r = more ? x : r;
        r_low = more ? x_low : r_low;
    }
    return (Pair){r, r_low};
}

/* Return v and r(min(f, 8)) as pairs, f = 1, ..., 15, given log p = high + low. */
RISKCORE_KERNEL Tuple_dddd by_logarithm_8(double f, double p, double high, double low)
{
    const Pair t1 = ratio(p);
    double v = t1.a, v_low = t1.b;
    const Pair t2 = product_pair(v, v_low, -high, -low);
    double r = t2.a, r_low = t2.b;
    const Pair t3 = to_4(f, v, v_low, r, r_low);
    r = t3.a;
    r_low = t3.b;
    const Pair t4 = to_8(f, v, v_low, r, r_low);
    r = t4.a;
    r_low = t4.b;
    return (Tuple_dddd){v, v_low, r, r_low};
}

RISKCORE_KERNEL Pair to_12(double f, double v, double v_low, double r, double r_low)
{
    /* The steps past f are taken and dropped: branchless, so the loop vectorizes. */
    RISKCORE_UNROLL
    for (int64_t n = 8; n < 12; n++) {
        double m = (double)n;
        double c = 1.0 / m;
        double c_low = fma(-m, c, 1.0) / m;
        double s = c - r;
        double s_low = c - s - r + (c_low - r_low);
        double x = v * s;
        double x_low = fma(v, s, -x) + fma(v, s_low, v_low * s);
        bool more = f > m;
        r = more ? x : r;
        r_low = more ? x_low : r_low;
    }
    return (Pair){r, r_low};
}

RISKCORE_KERNEL Pair to_15(double f, double v, double v_low, double r, double r_low)
{
    /* The steps past f are taken and dropped: branchless, so the loop vectorizes. */
    RISKCORE_UNROLL
    for (int64_t n = 12; n < 15; n++) {
        double m = (double)n;
        double c = 1.0 / m;
        double c_low = fma(-m, c, 1.0) / m;
        double s = c - r;
        double s_low = c - s - r + (c_low - r_low);
        double x = v * s;
        double x_low = fma(v, s, -x) + fma(v, s_low, v_low * s);
        bool more = f > m;
        r = more ? x : r;
        r_low = more ? x_low : r_low;
    }
    return (Pair){r, r_low};
}

static const double BY_LOGARITHM_15 = 0x1p-65;

/* Return r for f = 1, ..., 15, given the results of by_logarithm_8. */
RISKCORE_KERNEL Triple by_logarithm_15(double f, double v, double v_low, double r, double r_low)
{
    const Pair t1 = to_12(f, v, v_low, r, r_low);
    r = t1.a;
    r_low = t1.b;
    const Pair t2 = to_15(f, v, v_low, r, r_low);
    r = t2.a;
    r_low = t2.b;
    return (Triple){r, r_low, BY_LOGARITHM_15 * r};
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a + b as a double and the rest; |a| >= |b|, or a and b differ in sign. */
RISKCORE_KERNEL Pair sum_pair(double a, double a_low, double b, double b_low)
{
    const Pair t1 = fast_two_sum(a, b);
    double high = t1.a, low = t1.b;
    return (Pair){high, low + (a_low + b_low)};
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

static const double fast_integer_T6 = 0x1.cc292e0d0d89dp-5;
static const double fast_integer_T5 = 0x1.e10ed2f5f2bd8p-5;
static const double fast_integer_T4 = 0x1.11128b4f08b5fp-4;
static const double fast_integer_T3 = 0x1.3b13ae8511095p-4;
static const double fast_integer_T2 = 0x1.745d17482ef02p-4;
static const double fast_integer_T1 = 0x1.c71c71c71babep-4;
static const double fast_integer_T0 = 0x1.2492492492493p-3;
static const double FIFTH_LOW = -0x1.999999999999ap-57;
static const double THIRD_LOW = 0x1.5555555555555p-56;
static const double OF_SERIES = 0x1p-51;
static const double IN_PAIRS = 0x1p-97;

/* Return r for f = 1, 2, 3 and p >= 3/4, where contiguity upwards cancels. */
RISKCORE_KERNEL Triple near_one(double f, double p)
{
    double q = 1.0 - p;
    double d = 1.0 + p;
    double d_low = p - (d - 1.0);
    double reciprocal = 1.0 / d;
    double z = q * reciprocal;
    double z_low = fma(-z, d_low, fma(-z, d, q)) * reciprocal;
    double w = z * z;
    double w_low = fma(z + z, z_low, fma(z, z, -w));
    double w2 = w * w;
    double t = fma(w2, fma(w, fast_integer_T6, fast_integer_T5), fma(w, fast_integer_T4,
        fast_integer_T3));
    t = fma(w2, fma(w, t, fast_integer_T2), fma(w, fast_integer_T1, fast_integer_T0));
    const Pair t1 = fast_two_sum(0.2, w * t);
    double b = t1.a, b_low = t1.b;
    const Pair t2 = product_pair(w, w_low, b, b_low + FIFTH_LOW);
    b = t2.a;
    b_low = t2.b;
    const Pair t3 = sum_pair(1.0 / 3.0, THIRD_LOW, b, b_low);
    double a = t3.a, a_low = t3.b;
    double m = 1.0 - z;
    double m_low = 1.0 - m - z - z_low;
    bool first = f == 1.0;
    bool second = f == 2.0;
    double x = f > 2.0 ? m : z;
    double x_low = f > 2.0 ? m_low : z_low;
    double y = first ? z : m;
    double y_low = first ? z_low : m_low;
    x = second ? -x : x;
    x_low = second ? -x_low : x_low;
    const Pair t4 = product_pair(a, a_low, x, x_low);
    a = t4.a;
    a_low = t4.b;
    const Pair t5 = product_pair(a, a_low, y, y_low);
    a = t5.a;
    a_low = t5.b;
    const Pair t6 = sum_pair(1.0, 0.0, a, a_low);
    a = t6.a;
    a_low = t6.b;
    double share = first ? 1.0 : (second ? 0.5 : 0.25);
    const Pair t7 = product_pair(a, a_low, share * m, share * m_low);
    double r = t7.a, r_low = t7.b;
    return (Triple){r, r_low, r * fma(w2, OF_SERIES, IN_PAIRS)};
}

RISKCORE_KERNEL Pair downwards(double f, double q, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 10; m > 6 - 1; m--) {
        double kbq = ((double)m + 1.0) * q * (f + (double)m);
        const double t1 = fma(f + (2.0 * (double)m + 1.0), x, -(kbq * y));
        const double t2 = x;
        x = t1;
        y = t2;
        const double t3 = fma(f + 2.0 * (double)m, x, -(kbq * y));
        const double t4 = x;
        x = t3;
        y = t4;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair fast_integer_downwards(double f, double q, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 5; m > 2 - 1; m--) {
        double kbq = ((double)m + 1.0) * q * (f + (double)m);
        const double t1 = fma(f + (2.0 * (double)m + 1.0), x, -(kbq * y));
        const double t2 = x;
        x = t1;
        y = t2;
        const double t3 = fma(f + 2.0 * (double)m, x, -(kbq * y));
        const double t4 = x;
        x = t3;
        y = t4;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair tail_23(double f, double p)
{
    double q = 1.0 - p;
    double k = 11.0 + 1.0;
    double b = f + 11.0;
    double y = fma(-k, q, b);
    double x = b * fma(-k, q, fma(k, p, b));
    const Pair t1 = downwards(f, q, fma(b + 11.0, x, -(k * q * b * y)), x);
    return fast_integer_downwards(f, q, t1.a, t1.b);
}

/* Return a x - kb q y as a pair, for doubles a and kb. */
RISKCORE_KERNEL Pair fast_integer_level(double a, double kb, double q, double q_low, double x,
    double x_low, double y, double y_low)
{
    double g = kb * q;
    double g_low = fma(kb, q_low, fma(kb, q, -g));
    double s = a * x;
    double s_low = fma(a, x_low, fma(a, x, -s));
    const Pair t1 = product_pair(g, g_low, y, y_low);
    double t = t1.a, t_low = t1.b;
    return sum_pair(s, s_low, -t, -t_low);
}

/* Return r = p u/t. */
RISKCORE_KERNEL Triple last(double p, double u, double u_low, double t, double t_low,
    double bound)
{
    double n = p * u;
    double n_low = fma(p, u_low, fma(p, u, -n));
    double reciprocal = 1.0 / t;
    double r = n * reciprocal;
    double rest = fma(-r, t_low, fma(-r, t, n) + n_low);
    return (Triple){r, rest * reciprocal, bound * r};
}

static const double BY_LEVELS = 0x1p-65;

/* Return r for integer f from 4 to 15 and p >= 1/2: p U(2)/U(1). */
RISKCORE_KERNEL Triple by_levels(double f, double p, double x, double y)
{
    double q = 1.0 - p;
    double f_1 = f + 1.0;
    /* U(4), U(3), U(2), U(1) */
    const Pair t1 = fast_integer_level(f + 3.0, 2.0 * f_1, q, 0.0, x, 0.0, y, 0.0);
    double u = t1.a, u_low = t1.b;
    const Pair t2 = fast_integer_level(f + 2.0, 2.0 * f_1, q, 0.0, u, u_low, x, 0.0);
    double t = t2.a, t_low = t2.b;
    const Pair t3 = fast_integer_level(f_1, f, q, 0.0, t, t_low, u, u_low);
    u = t3.a;
    u_low = t3.b;
    const Pair t4 = fast_integer_level(f, f, q, 0.0, u, u_low, t, t_low);
    t = t4.a;
    t_low = t4.b;
    return last(p, u, u_low, t, t_low, BY_LEVELS);
}

RISKCORE_KERNEL Pair fast_integer_downwards_2(double f, double q, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 7; m > 5 - 1; m--) {
        double kbq = ((double)m + 1.0) * q * (f + (double)m);
        const double t1 = fma(f + (2.0 * (double)m + 1.0), x, -(kbq * y));
        const double t2 = x;
        x = t1;
        y = t2;
        const double t3 = fma(f + 2.0 * (double)m, x, -(kbq * y));
        const double t4 = x;
        x = t3;
        y = t4;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair fast_integer_downwards_3(double f, double q, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 4; m > 2 - 1; m--) {
        double kbq = ((double)m + 1.0) * q * (f + (double)m);
        const double t1 = fma(f + (2.0 * (double)m + 1.0), x, -(kbq * y));
        const double t2 = x;
        x = t1;
        y = t2;
        const double t3 = fma(f + 2.0 * (double)m, x, -(kbq * y));
        const double t4 = x;
        x = t3;
        y = t4;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair tail_17(double f, double p)
{
    double q = 1.0 - p;
    double k = 8.0 + 1.0;
    double b = f + 8.0;
    double y = fma(-k, q, b);
    double x = b * fma(-k, q, fma(k, p, b));
    const Pair t1 = fast_integer_downwards_2(f, q, fma(b + 8.0, x, -(k * q * b * y)), x);
    return fast_integer_downwards_3(f, q, t1.a, t1.b);
}

RISKCORE_KERNEL Pair fast_integer_levels_32(double f, double p, double x, double y)
{
    double b = (f + (2.0 - 1.0)) * y;
    double u = fma(-(f + (2.0 - 1.0)), y, x);
    double above = fma(p, b, u);
    double below = x;
    RISKCORE_UNROLL
    for (int64_t n = 2 * 2 - 2; n > 0; n--) {
        b = (f + (double)floor_divide(n, 2)) * below;
        u = (1.0 + (double)floor_divide(n + 1, 2)) * above;
        above = fma(p, b, u);
        below = b + u;
    }
    return (Pair){above, fma(f, below, above)};
}

RISKCORE_KERNEL Triple by_e_32(double f, double p, double x, double y)
{
    double q = 1.0 - p;
    const Pair t1 = fast_integer_levels_32(f, p, x, y);
    double above = t1.a, below = t1.b;
    double part = q * above / below;
    const Pair t2 = fast_two_sum(f - 1.0, p);
    double D = t2.a, D_low = t2.b;
    const Pair t3 = fast_two_sum(D, part);
    D = t3.a;
    double rest = t3.b;
    D_low += rest;
    double reciprocal = 1.0 / D;
    double r = p * reciprocal;
    double low = fma(-r, D_low, fma(-r, D, p)) * reciprocal;
    return (Triple){r, low, r * fma(0x1.2p-49 * part, reciprocal, 0x1p-69)};
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return r = a/b, the rest a + a_low - r (b + b_low), and 1/b. */
RISKCORE_KERNEL Triple division(double a, double a_low, double b, double b_low)
{
    double reciprocal = 1.0 / b;
    double r = a * reciprocal;
    return (Triple){r, fma(-r, b_low, fma(-r, b, a) + a_low), reciprocal};
}

/* Return (a + a_low)/(b + b_low) as a double and the rest, by one division. */
RISKCORE_KERNEL Pair quotient_pair(double a, double a_low, double b, double b_low)
{
    const Triple t1 = division(a, a_low, b, b_low);
    double r = t1.a, rest = t1.b, reciprocal = t1.c;
    return (Pair){r, rest * reciprocal};
}

/* --- riskcore/core/special/gauss/fast_real.py ----------------------------------- */

/* Return the logarithm of a pair. */
RISKCORE_KERNEL Pair log_of_odds(double v, double v_low)
{
    const Pair t1 = log_pair(v);
    double high = t1.a, low = t1.b;
    return (Pair){high, low + v_low / v};
}

/* --- riskcore/core/special/floats.py -------------------------------------------- */

/* Return a * b rounded and its rounding error. */
RISKCORE_KERNEL Pair two_product(double a, double b)
{
    double s = a * b;
    return (Pair){s, fma(a, b, -s)};
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a b for a double b; relative error below 3 UNIT^2. */
RISKCORE_KERNEL Pair dd_multiply_double(double a, double a_low, double b)
{
    const Pair t1 = two_product(a, b);
    double high = t1.a, low = t1.b;
    return fast_two_sum(high, fma(a_low, b, low));
}

/* --- riskcore/core/special/floats.py -------------------------------------------- */

/* Return a + b rounded and its rounding error (Knuth). */
RISKCORE_KERNEL Pair two_sum(double a, double b)
{
    double s = a + b;
    double t = s - a;
    return (Pair){s, a - (s - t) + (b - t)};
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a b without the product of the low parts; error below 8 UNIT^2. */
RISKCORE_KERNEL Pair dd_multiply_positive(double a, double a_low, double b, double b_low)
{
    const Pair t1 = two_product(a, b);
    double high = t1.a, low = t1.b;
    return fast_two_sum(high, low + fma(a, b_low, a_low * b));
}

/* --- riskcore/core/special/near_one.py ------------------------------------------ */

RISKCORE_KERNEL Pair end(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.a01a01a01a01ap-13, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + 0x1.a01a01a01a01ap-73)};
}

RISKCORE_KERNEL Pair near_one_end(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.6c16c16c16c17p-10, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + -0x1.f49f49f49f49fp-65)};
}

RISKCORE_KERNEL Pair near_one_end_2(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.1111111111111p-7, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + 0x1.1111111111111p-63)};
}

RISKCORE_KERNEL Pair near_one_end_3(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.5555555555555p-5, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + 0x1.5555555555555p-59)};
}

RISKCORE_KERNEL Pair near_one_end_4(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.5555555555555p-3, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + 0x1.5555555555555p-57)};
}

RISKCORE_KERNEL Pair near_one_end_5(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0.5, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + 0.0)};
}

RISKCORE_KERNEL Pair near_one_horner(Pair t, Pair s)
{
    return near_one_end_5(t, near_one_end_4(t, s));
}

RISKCORE_KERNEL Pair near_one_horner_2(Pair t, Pair s)
{
    return near_one_horner(t, near_one_end_3(t, s));
}

RISKCORE_KERNEL Pair near_one_horner_3(Pair t, Pair s)
{
    return near_one_horner_2(t, near_one_end_2(t, s));
}

RISKCORE_KERNEL Pair near_one_horner_4(Pair t, Pair s)
{
    return near_one_horner_3(t, near_one_end(t, s));
}

RISKCORE_KERNEL Pair near_one_exp_first(Pair t, Pair s)
{
    return near_one_horner_4(t, end(t, s));
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a + b; the error is relative even where a and b cancel. */
RISKCORE_KERNEL Pair dd_add(double a, double a_low, double b, double b_low)
{
    const Pair t1 = two_sum(a, b);
    double high = t1.a, low = t1.b;
    const Pair t2 = two_sum(a_low, b_low);
    double rest = t2.a, rest_low = t2.b;
    const Pair t3 = fast_two_sum(high, low + rest);
    high = t3.a;
    low = t3.b;
    return fast_two_sum(high, low + rest_low);
}

/* --- riskcore/core/special/near_one.py ------------------------------------------ */

static const double INVERSE_LN2 = 0x1.71547652b8501p0;

/* Return exp(x) and exp(x) - 1 for -690 <= x <= 709, to 2^-70 of themselves. */
RISKCORE_KERNEL Tuple_dddd exponentials(double x, double x_low)
{
    double k = (double)(int64_t)(x * INVERSE_LN2 + (x > 0.0 ? 0.5 : -0.5));
    const Pair t1 = two_product(k, elementary_LN2_LOW);
    double shift = t1.a, shift_low = t1.b;
    const Pair t2 = two_sum(fma(-k, LN2_HIGH, x), -shift);
    double t = t2.a, t_low = t2.b;
    const Pair t3 = fast_two_sum(t, t_low + (x_low - shift_low));
    t = t3.a;
    t_low = t3.b;
    double tail = 1.0 / 0x1.6beecca73p52;
    tail = fma(tail, t, 1.0 / 0x1.437eeecd8p48);
    tail = fma(tail, t, 1.0 / 0x1.30777758p44);
    tail = fma(tail, t, 1.0 / 0x1.30777758p40);
    tail = fma(tail, t, 1.0 / 0x1.44c3b28p36);
    tail = fma(tail, t, 1.0 / 0x1.7328ccp32);
    tail = fma(tail, t, 1.0 / 0x1.c8cfcp28);
    tail = fma(tail, t, 1.0 / 39916800.0);
    tail = fma(tail, t, 1.0 / 3628800.0);
    tail = fma(tail, t, 1.0 / 362880.0);
    tail = fma(tail, t, 1.0 / 40320.0);
    Pair pair = (Pair){t, t_low};
    const Pair t4 = near_one_exp_first(pair, (Pair){tail, 0.0});
    const Pair t5 = dd_multiply_positive(t4.a, t4.b, pair.a, pair.b);
    double high = t5.a, low = t5.b;
    const Pair t6 = dd_multiply_positive(high, low, pair.a, pair.b);
    high = t6.a;
    low = t6.b;
    const Pair t7 = fast_two_sum(t, high);
    high = t7.a;
    double rest = t7.b;
    const Pair t8 = fast_two_sum(high, low + (rest + t_low));
    high = t8.a;
    low = t8.b;
    double power = from_bits(shift_left((int64_t)k + 1023, 52));
    const Pair t9 = two_sum(power, -1.0);
    double less = t9.a, less_low = t9.b;
    const Pair t10 = dd_add(less, less_low, high * power, low * power);
    less = t10.a;
    less_low = t10.b;
    const Pair t11 = fast_two_sum(1.0, high);
    high = t11.a;
    rest = t11.b;
    return (Tuple_dddd){high * power, (rest + low) * power, less, less_low};
}

RISKCORE_KERNEL Pair near_one_end_6(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(-0x1.ac6805cf350a6p-6, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + -0x1.7494ad340e176p-61)};
}

RISKCORE_KERNEL Pair near_one_end_7(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.86a8e4720db67p-3, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + -0x1.461b9cb783f4cp-58)};
}

RISKCORE_KERNEL Pair near_one_end_8(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(-0x1.9f9cb402bc46cp-1, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + -0x1.487acd8cd312cp-55)};
}

RISKCORE_KERNEL Pair near_one_end_9(Pair t, Pair s)
{
    const Pair t1 = dd_multiply_positive(s.a, s.b, t.a, t.b);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = fast_two_sum(0x1.a51a6625307d3p0, product);
    double total = t2.a, rest = t2.b;
    return (Pair){total, rest + (product_low + 0x1.1873d8912200cp-55)};
}

RISKCORE_KERNEL Pair near_one_horner_5(Pair t, Pair s)
{
    return near_one_end_9(t, near_one_end_8(t, s));
}

RISKCORE_KERNEL Pair near_one_horner_6(Pair t, Pair s)
{
    return near_one_horner_5(t, near_one_end_7(t, s));
}

RISKCORE_KERNEL Pair near_one_sine_first(Pair t, Pair s)
{
    return near_one_horner_6(t, near_one_end_6(t, s));
}

/* --- riskcore/core/special/gauss/fast_real.py ----------------------------------- */

static const double S11 = -0x1.f0115b37351ebp-45;
static const double S10 = 0x1.d7353939082fep-39;
static const double S9 = -0x1.79788684225eap-33;
static const double S8 = 0x1.f5f9d970ca6dfp-28;
static const double S7 = -0x1.0fc992ff39e13p-22;
static const double S6 = 0x1.d42498d1ce099p-18;
static const double S5 = -0x1.374719fab3915p-13;
static const double S4 = 0x1.33816aa4607abp-9;

/* Return (1 - s)/d^2, s = sin(pi d)/(pi d). */
RISKCORE_KERNEL Pair sine_deficit(double d)
{
    const Pair t1 = two_product(d, d);
    double w = t1.a, w_low = t1.b;
    double tail = fma(S11, w, S10);
    tail = fma(tail, w, S9);
    tail = fma(tail, w, S8);
    tail = fma(tail, w, S7);
    tail = fma(tail, w, S6);
    tail = fma(tail, w, S5);
    tail = fma(tail, w, S4);
    return near_one_sine_first((Pair){w, w_low}, (Pair){tail, 0.0});
}

RISKCORE_KERNEL Pair doubles_20(double f, double p, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 10; m > 3 - 1; m--) {
        double k = (double)m + 1.0;
        double t = (f + (double)m) * y;
        double u = k * x;
        x = fma(p, t, u);
        y = t + u;
        t = (f + ((double)m - 1.0)) * y;
        u = k * x;
        x = fma(p, t, u);
        y = t + u;
    }
    return (Pair){x, y};
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

/* Return f + m. */
RISKCORE_KERNEL Pair plus(Pair f, double m)
{
    double f_high = f.a, f_low = f.b;
    const Pair t1 = two_sum(f_high, m);
    double s = t1.a, s_low = t1.b;
    return fast_two_sum(s, s_low + f_low);
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a + b for a, b of one sign; relative error below 4 UNIT^2. */
RISKCORE_KERNEL Pair dd_add_positive(double a, double a_low, double b, double b_low)
{
    const Pair t1 = two_sum(a, b);
    double high = t1.a, low = t1.b;
    return fast_two_sum(high, low + (a_low + b_low));
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

/* Return (p b y + k x, b y + k x). */
RISKCORE_KERNEL Tuple_dd__dd enclosure_level(double k, Pair b, Pair p, Pair x, Pair y)
{
    Pair t = dd_multiply_positive(b.a, b.b, y.a, y.b);
    Pair u = dd_multiply_double(x.a, x.b, k);
    const Pair t1 = dd_multiply_positive(p.a, p.b, t.a, t.b);
    Pair above = dd_add_positive(t1.a, t1.b, u.a, u.b);
    return (Tuple_dd__dd){above, dd_add_positive(t.a, t.b, u.a, u.b)};
}

/* --- riskcore/core/special/gauss/fast_real.py ----------------------------------- */

RISKCORE_KERNEL Tuple_dd__dd pairs(Pair f, Pair p, Pair x, Pair y)
{
    Pair b = plus(f, 2.0 - 1.0);
    double k = 2.0 + 1.0;
    const Tuple_dd__dd t1 = enclosure_level(k, plus(f, (double)2), p, x, y);
    x = t1.a;
    y = t1.b;
    return enclosure_level(k, b, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd fast_real_pairs(Pair f, Pair p, Pair x, Pair y)
{
    Pair b = plus(f, 1.0 - 1.0);
    double k = 1.0 + 1.0;
    const Tuple_dd__dd t1 = enclosure_level(k, plus(f, (double)1), p, x, y);
    x = t1.a;
    y = t1.b;
    return enclosure_level(k, b, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd pairs_4(Pair f, Pair p, Pair x, Pair y)
{
    const Tuple_dd__dd t1 = pairs(f, p, x, y);
    x = t1.a;
    y = t1.b;
    return fast_real_pairs(f, p, x, y);
}

/* Return S = p/D(1-d, q) for |d| <= 1/2, p < 0.3, given q = 1 - p as a pair. */
RISKCORE_KERNEL Pair reflected_fraction(double d, double p, double q, double q_low)
{
    /* S = p e/((q-d) e + p x), E(1-d, q) = x/e */
    const Pair t1 = two_sum(1.0, -d);
    double g = t1.a, g_low = t1.b;
    const Pair t2 = doubles_20(g, q, q, 1.0);
    double x = t2.a, y = t2.b;
    const Tuple_dd__dd t3 = pairs_4((Pair){g, g_low}, (Pair){q, q_low}, (Pair){x / y, 0.0},
        (Pair){1.0, 0.0});
    Pair above = t3.a, below = t3.b;
    const Pair t4 = dd_multiply_positive(g, g_low, below.a, below.b);
    double e = t4.a, e_low = t4.b;
    const Pair t5 = dd_add_positive(e, e_low, above.a, above.b);
    e = t5.a;
    e_low = t5.b;
    const Pair t6 = two_sum(q, -d);
    double h = t6.a, h_low = t6.b;
    const Pair t7 = dd_multiply_positive(h, h_low + q_low, e, e_low);
    h = t7.a;
    h_low = t7.b;
    const Pair t8 = dd_multiply_double(above.a, above.b, p);
    x = t8.a;
    double x_low = t8.b;
    const Pair t9 = dd_add_positive(h, h_low, x, x_low);
    h = t9.a;
    h_low = t9.b;
    const Pair t10 = dd_multiply_double(e, e_low, p);
    e = t10.a;
    e_low = t10.b;
    return quotient_pair(e, e_low, h, h_low);
}

/* Return 1/g as a pair. */
RISKCORE_KERNEL Pair inverse_pair(double g)
{
    double inverse = 1.0 / g;
    return (Pair){inverse, fma(-inverse, g, 1.0) * inverse};
}

RISKCORE_KERNEL Pair to_5(double n, double d, double v, double v_low, double T, double T_low)
{
    RISKCORE_UNROLL
    for (int64_t step = 1; step < 5; step++) {
        const Pair t1 = inverse_pair(d + (double)step);
        double inverse = t1.a, inverse_low = t1.b;
        const Pair t2 = product_pair(v, v_low, T, T_low);
        double t = t2.a, t_low = t2.b;
        const Pair t3 = sum_pair(inverse, inverse_low, -t, -t_low);
        t = t3.a;
        t_low = t3.b;
        bool further = n > (double)step;
        T = further ? t : T;
        T_low = further ? t_low : T_low;
    }
    return (Pair){T, T_low};
}

RISKCORE_KERNEL Pair to_9(double n, double d, double v, double v_low, double T, double T_low)
{
    RISKCORE_UNROLL
    for (int64_t step = 5; step < 9; step++) {
        const Pair t1 = inverse_pair(d + (double)step);
        double inverse = t1.a, inverse_low = t1.b;
        const Pair t2 = product_pair(v, v_low, T, T_low);
        double t = t2.a, t_low = t2.b;
        const Pair t3 = sum_pair(inverse, inverse_low, -t, -t_low);
        t = t3.a;
        t_low = t3.b;
        bool further = n > (double)step;
        T = further ? t : T;
        T_low = further ? t_low : T_low;
    }
    return (Pair){T, T_low};
}

RISKCORE_KERNEL Pair to_13(double n, double d, double v, double v_low, double T, double T_low)
{
    RISKCORE_UNROLL
    for (int64_t step = 9; step < 13; step++) {
        const Pair t1 = inverse_pair(d + (double)step);
        double inverse = t1.a, inverse_low = t1.b;
        const Pair t2 = product_pair(v, v_low, T, T_low);
        double t = t2.a, t_low = t2.b;
        const Pair t3 = sum_pair(inverse, inverse_low, -t, -t_low);
        t = t3.a;
        t_low = t3.b;
        bool further = n > (double)step;
        T = further ? t : T;
        T_low = further ? t_low : T_low;
    }
    return (Pair){T, T_low};
}

RISKCORE_KERNEL Pair to_16(double n, double d, double v, double v_low, double T, double T_low)
{
    RISKCORE_UNROLL
    for (int64_t step = 13; step < 16; step++) {
        const Pair t1 = inverse_pair(d + (double)step);
        double inverse = t1.a, inverse_low = t1.b;
        const Pair t2 = product_pair(v, v_low, T, T_low);
        double t = t2.a, t_low = t2.b;
        const Pair t3 = sum_pair(inverse, inverse_low, -t, -t_low);
        t = t3.a;
        t_low = t3.b;
        bool further = n > (double)step;
        T = further ? t : T;
        T_low = further ? t_low : T_low;
    }
    return (Pair){T, T_low};
}

static const double fast_real_REFLECTED = 0x1p-63;

/* Return r for f = n + d, n an integer up to 16, |d| <= 1/2, and p < 0.3. */
RISKCORE_KERNEL Triple fast_real_by_reflection(double n, double d, double p)
{
    const Pair t1 = fast_two_sum(1.0, -p);
    double q = t1.a, q_low = t1.b;
    const Pair t2 = quotient_pair(p, 0.0, q, q_low);
    double v = t2.a, v_low = t2.b;
    const Pair t3 = log_of_odds(v, v_low);
    const Pair t4 = dd_multiply_double(t3.a, t3.b, d);
    double y = t4.a, y_low = t4.b;
    const Tuple_dddd t5 = exponentials(y, y_low);
    double power = t5.a, power_low = t5.b, less = t5.c, less_low = t5.d;
    const Pair t6 = sine_deficit(d);
    const Pair t7 = dd_multiply_double(t6.a, t6.b, d);
    double c = t7.a, c_low = t7.b;
    const Pair t8 = dd_multiply_double(c, c_low, d);
    double C = t8.a, C_low = t8.b;
    const Pair t9 = sum_pair(1.0, 0.0, -C, -C_low);
    double s = t9.a, s_low = t9.b;
    const Pair t10 = reflected_fraction(d, p, q, q_low);
    double S = t10.a, S_low = t10.b;
    const Pair t11 = quotient_pair(-less, -less_low, d, 0.0);
    double T = t11.a, T_low = t11.b;
    const Pair t12 = dd_add(T, T_low, -c, -c_low);
    T = t12.a;
    T_low = t12.b;
    const Pair t13 = quotient_pair(T, T_low, s, s_low);
    T = t13.a;
    T_low = t13.b;
    const Pair t14 = dd_add(T, T_low, S, S_low);
    T = t14.a;
    T_low = t14.b;
    const Pair t15 = to_5(n, d, v, v_low, T, T_low);
    T = t15.a;
    T_low = t15.b;
    const Pair t16 = to_9(n, d, v, v_low, T, T_low);
    T = t16.a;
    T_low = t16.b;
    const Pair t17 = to_13(n, d, v, v_low, T, T_low);
    T = t17.a;
    T_low = t17.b;
    const Pair t18 = to_16(n, d, v, v_low, T, T_low);
    T = t18.a;
    T_low = t18.b;
    const Pair t19 = product_pair(v, v_low, T, T_low);
    double r = t19.a, r_low = t19.b;
    /* n = 0 */
    const Pair t20 = quotient_pair(power, power_low, s, s_low);
    power = t20.a;
    power_low = t20.b;
    const Pair t21 = dd_multiply_double(S, S_low, d);
    S = t21.a;
    S_low = t21.b;
    const Pair t22 = dd_add(power, power_low, -S, -S_low);
    double R = t22.a, R_low = t22.b;
    const Pair t23 = quotient_pair(R, R_low, d, 0.0);
    R = t23.a;
    R_low = t23.b;
    bool least = n == 0.0;
    const Pair t24 = fast_two_sum(least ? R : r, least ? R_low : r_low);
    double high = t24.a, low = t24.b;
    return (Triple){high, low, fast_real_REFLECTED * high};
}

/* Return r for f < 16 that is not an integer and p < 0.3. */
RISKCORE_KERNEL Triple forward_real(double f, double p)
{
    double n = f + TWO_52 - TWO_52;
    return fast_real_by_reflection(n, f - n, p);
}

RISKCORE_KERNEL Pair doubles_38(double f, double p, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 19; m > 12 - 1; m--) {
        double k = (double)m + 1.0;
        double t = (f + (double)m) * y;
        double u = k * x;
        x = fma(p, t, u);
        y = t + u;
        t = (f + ((double)m - 1.0)) * y;
        u = k * x;
        x = fma(p, t, u);
        y = t + u;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair doubles_22(double f, double p, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 11; m > 5 - 1; m--) {
        double k = (double)m + 1.0;
        double t = (f + (double)m) * y;
        double u = k * x;
        x = fma(p, t, u);
        y = t + u;
        t = (f + ((double)m - 1.0)) * y;
        u = k * x;
        x = fma(p, t, u);
        y = t + u;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Tuple_dd__dd fast_real_pairs_2(Pair f, Pair p, Pair x, Pair y)
{
    Pair b = plus(f, 4.0 - 1.0);
    double k = 4.0 + 1.0;
    const Tuple_dd__dd t1 = enclosure_level(k, plus(f, (double)4), p, x, y);
    x = t1.a;
    y = t1.b;
    return enclosure_level(k, b, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd fast_real_pairs_3(Pair f, Pair p, Pair x, Pair y)
{
    Pair b = plus(f, 3.0 - 1.0);
    double k = 3.0 + 1.0;
    const Tuple_dd__dd t1 = enclosure_level(k, plus(f, (double)3), p, x, y);
    x = t1.a;
    y = t1.b;
    return enclosure_level(k, b, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd fast_real_pairs_4(Pair f, Pair p, Pair x, Pair y)
{
    Pair b = plus(f, 2.0 - 1.0);
    double k = 2.0 + 1.0;
    const Tuple_dd__dd t1 = enclosure_level(k, plus(f, (double)2), p, x, y);
    x = t1.a;
    y = t1.b;
    return enclosure_level(k, b, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd fast_real_pairs_5(Pair f, Pair p, Pair x, Pair y)
{
    Pair b = plus(f, 1.0 - 1.0);
    double k = 1.0 + 1.0;
    const Tuple_dd__dd t1 = enclosure_level(k, plus(f, (double)1), p, x, y);
    x = t1.a;
    y = t1.b;
    return enclosure_level(k, b, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd more(Pair f, Pair p, Pair x, Pair y)
{
    const Tuple_dd__dd t1 = fast_real_pairs_4(f, p, x, y);
    x = t1.a;
    y = t1.b;
    return fast_real_pairs_5(f, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd fast_real_more(Pair f, Pair p, Pair x, Pair y)
{
    const Tuple_dd__dd t1 = fast_real_pairs_3(f, p, x, y);
    x = t1.a;
    y = t1.b;
    return more(f, p, x, y);
}

RISKCORE_KERNEL Tuple_dd__dd pairs_8(Pair f, Pair p, Pair x, Pair y)
{
    const Tuple_dd__dd t1 = fast_real_pairs_2(f, p, x, y);
    x = t1.a;
    y = t1.b;
    return fast_real_more(f, p, x, y);
}

static const double BACKWARD = 0x1p-64;

/* Return r for f < 4, p >= 0.3. */
RISKCORE_KERNEL Triple backward_real(double f, double p)
{
    bool below_one = f < 1.0;
    double q = 1.0 - p;
    double q_low = 1.0 - q - p;
    const Pair t1 = two_sum(f, below_one ? 1.0 : 0.0);
    double g = t1.a, g_low = t1.b;
    const Pair t2 = doubles_38(g, p, p, 1.0);
    double x = t2.a, y = t2.b;
    const Pair t3 = doubles_22(g, p, x, y);
    x = t3.a;
    y = t3.b;
    const Tuple_dd__dd t4 = pairs_8((Pair){g, g_low}, (Pair){p, 0.0}, (Pair){x / y, 0.0},
        (Pair){1.0, 0.0});
    Pair above = t4.a, below = t4.b;
    /* E = above/e; all that follows is multiplied by e. */
    const Pair t5 = dd_multiply_positive(g, g_low, below.a, below.b);
    double e = t5.a, e_low = t5.b;
    const Pair t6 = dd_add_positive(e, e_low, above.a, above.b);
    e = t6.a;
    e_low = t6.b;
    const Pair t7 = dd_multiply_double(e, e_low, p);
    double pe = t7.a, pe_low = t7.b;
    const Pair t8 = dd_multiply_positive(q, q_low, above.a, above.b);
    double w = t8.a, w_low = t8.b;
    const Pair t9 = dd_add_positive(pe, pe_low, w, w_low);
    w = t9.a;
    w_low = t9.b;
    const Pair t10 = dd_multiply_double(pe, pe_low, f);
    double t = t10.a, t_low = t10.b;
    const Pair t11 = dd_add_positive(w, w_low, t, t_low);
    double N = t11.a, N_low = t11.b;
    const Pair t12 = dd_multiply_double(e, e_low, below_one ? f : f - 1.0);
    t = t12.a;
    t_low = t12.b;
    const Pair t13 = dd_add_positive(w, w_low, t, t_low);
    double M = t13.a, M_low = t13.b;
    const Pair t14 = dd_multiply_double(M, M_low, f);
    t = t14.a;
    t_low = t14.b;
    N = below_one ? N : pe;
    N_low = below_one ? N_low : pe_low;
    M = below_one ? t : M;
    M_low = below_one ? t_low : M_low;
    const Pair t15 = quotient_pair(N, N_low, M, M_low);
    double high = t15.a, low = t15.b;
    return (Triple){high, low, BACKWARD * high};
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

RISKCORE_KERNEL Pair fast_integer_downwards_4(double f, double q, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 16; m > 10 - 1; m--) {
        double kbq = ((double)m + 1.0) * q * (f + (double)m);
        const double t1 = fma(f + (2.0 * (double)m + 1.0), x, -(kbq * y));
        const double t2 = x;
        x = t1;
        y = t2;
        const double t3 = fma(f + 2.0 * (double)m, x, -(kbq * y));
        const double t4 = x;
        x = t3;
        y = t4;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair fast_integer_downwards_5(double f, double q, double x, double y)
{
    RISKCORE_UNROLL
    for (int64_t m = 9; m > 3 - 1; m--) {
        double kbq = ((double)m + 1.0) * q * (f + (double)m);
        const double t1 = fma(f + (2.0 * (double)m + 1.0), x, -(kbq * y));
        const double t2 = x;
        x = t1;
        y = t2;
        const double t3 = fma(f + 2.0 * (double)m, x, -(kbq * y));
        const double t4 = x;
        x = t3;
        y = t4;
    }
    return (Pair){x, y};
}

RISKCORE_KERNEL Pair tail_35(double f, double p)
{
    double q = 1.0 - p;
    double k = 17.0 + 1.0;
    double b = f + 17.0;
    double y = fma(-k, q, b);
    double x = b * fma(-k, q, fma(k, p, b));
    const Pair t1 = fast_integer_downwards_4(f, q, fma(b + 17.0, x, -(k * q * b * y)), x);
    return fast_integer_downwards_5(f, q, t1.a, t1.b);
}

RISKCORE_KERNEL Pair levels_16(double f, double p, double x, double y)
{
    double b = (f + (3.0 - 1.0)) * y;
    double u = fma(-(f + (3.0 - 1.0)), y, x);
    double above = fma(p, b, u);
    double below = x;
    RISKCORE_UNROLL
    for (int64_t n = 2 * 3 - 2; n > 0; n--) {
        b = (f + (double)floor_divide(n, 2)) * below;
        u = (1.0 + (double)floor_divide(n + 1, 2)) * above;
        above = fma(p, b, u);
        below = b + u;
    }
    return (Pair){above, fma(f, below, above)};
}

RISKCORE_KERNEL Triple by_e_16(double f, double p, double x, double y)
{
    double q = 1.0 - p;
    const Pair t1 = levels_16(f, p, x, y);
    double above = t1.a, below = t1.b;
    double part = q * above / below;
    const Pair t2 = fast_two_sum(f - 1.0, p);
    double D = t2.a, D_low = t2.b;
    const Pair t3 = fast_two_sum(D, part);
    D = t3.a;
    double rest = t3.b;
    D_low += rest;
    double reciprocal = 1.0 / D;
    double r = p * reciprocal;
    double low = fma(-r, D_low, fma(-r, D, p)) * reciprocal;
    return (Triple){r, low, r * fma(0x1.4p-50 * part, reciprocal, 0x1p-70)};
}

/* Return (f + n) x - k b q y as a pair. */
RISKCORE_KERNEL Pair level_real(double f, double n, double k, double b, double b_low, double q,
    double q_low, double x, double x_low, double y, double y_low)
{
    const Pair t1 = two_sum(f, n);
    double a = t1.a, a_low = t1.b;
    const Pair t2 = product_pair(a, a_low, x, x_low);
    double s = t2.a, s_low = t2.b;
    const Pair t3 = product_pair(b, b_low, k, 0.0);
    double g = t3.a, g_low = t3.b;
    const Pair t4 = product_pair(g, g_low, q, q_low);
    g = t4.a;
    g_low = t4.b;
    const Pair t5 = product_pair(g, g_low, y, y_low);
    double t = t5.a, t_low = t5.b;
    return sum_pair(s, s_low, -t, -t_low);
}

static const double BY_LEVELS_REAL = 0x1p-64;

/* Return r for f < 16 and f >= 4, p >= 0.3 or f >= 2, p >= 1/2: p U(2)/U(1). */
RISKCORE_KERNEL Triple by_levels_real(double f, double p, double x, double y)
{
    double q = 1.0 - p;
    double q_low = 1.0 - q - p;
    const Pair t1 = two_sum(f, 2.0);
    double b = t1.a, b_low = t1.b;
    const Pair t2 = two_sum(f, 1.0);
    double c = t2.a, c_low = t2.b;
    /* U(6) to U(1) */
    const Pair t3 = level_real(f, 5.0, 3.0, b, b_low, q, q_low, x, 0.0, y, 0.0);
    double u = t3.a, u_low = t3.b;
    const Pair t4 = level_real(f, 4.0, 3.0, b, b_low, q, q_low, u, u_low, x, 0.0);
    double t = t4.a, t_low = t4.b;
    const Pair t5 = level_real(f, 3.0, 2.0, c, c_low, q, q_low, t, t_low, u, u_low);
    u = t5.a;
    u_low = t5.b;
    const Pair t6 = level_real(f, 2.0, 2.0, c, c_low, q, q_low, u, u_low, t, t_low);
    t = t6.a;
    t_low = t6.b;
    const Pair t7 = level_real(f, 1.0, 1.0, f, 0.0, q, q_low, t, t_low, u, u_low);
    u = t7.a;
    u_low = t7.b;
    const Pair t8 = level_real(f, 0.0, 1.0, f, 0.0, q, q_low, u, u_low, t, t_low);
    t = t8.a;
    t_low = t8.b;
    return last(p, u, u_low, t, t_low, BY_LEVELS_REAL);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

/* Return r(f, p) as a pair with its error, for a region below OTHER. */
RISKCORE_PLAIN Triple pair_of_region(int64_t where, double f, double p)
{
    if (where <= FORWARD_15) {
        const Pair t1 = log_pair(p);
        double log_ = t1.a, log_low = t1.b;
        if (where == fast_integer_ONE) {
            return by_logarithm_one(p, log_, log_low);
        }
        if (where == SMALL) {
            return by_logarithm_4(f, p, log_, log_low);
        }
        const Tuple_dddd t2 = by_logarithm_8(f, p, log_, log_low);
        double v = t2.a, v_low = t2.b, r = t2.c, r_low = t2.d;
        return by_logarithm_15(f, v, v_low, r, r_low);
    }
    if (where == fast_integer_NEAR_ONE) {
        return near_one(f, p);
    }
    double x, y;
    if (where == fast_integer_LEVELS) {
        const Pair t3 = tail_23(f, p);
        x = t3.a;
        y = t3.b;
        return by_levels(f, p, x, y);
    }
    if (where == FROM_32) {
        const Pair t4 = tail_17(f, p);
        x = t4.a;
        y = t4.b;
        return by_e_32(f, p, x, y);
    }
    if (where == FORWARD_REAL) {
        return forward_real(f, p);
    }
    if (where == BACKWARD_REAL) {
        return backward_real(f, p);
    }
    const Pair t5 = tail_35(f, p);
    x = t5.a;
    y = t5.b;
    if (where == FROM_16) {
        return by_e_16(f, p, x, y);
    }
    return by_levels_real(f, p, x, y);
}

/* --- riskcore/core/special/gauss/rounding_test.py ------------------------------- */

/* Return the double nearest high + low + d for all |d| <= error, else nan. */
RISKCORE_KERNEL double rounding_test_rounded(double high, double low, double error)
{
    double below = high + (low - error);
    double above = high + (low + error);
    return below == above ? below : NAN;
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

RISKCORE_KERNEL double risk(double f, double p, double excess, double high, double low,
    double error)
{
    (void)f;
    (void)p;
    (void)excess;
    return rounding_test_rounded(high, low, error);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN double value(double f, double p, double excess)
{
    int64_t where = fast_integer_region(f, p);
    if (where == fast_integer_OTHER) {
        return NAN;
    }
    const Triple t1 = pair_of_region(where, f, p);
    double high = t1.a, low = t1.b, error = t1.c;
    if (where == FROM_16) {
        return risk(f, p, excess, high, low, error);
    }
    if (where == FROM_32) {
        return risk(f, p, excess, high, low, error);
    }
    return risk(f, p, excess, high, low, error);
}

/* --- riskcore/core/special/gauss/ball_step.py ----------------------------------- */

RISKCORE_PLAIN bool ball_step_inside(double f, double a, double b)
{
    return (f > 0.0) & (f < INFINITY) & (a > 0.0) & (a <= b) & (b < INFINITY);
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

static const double enclosure_TINY = 0x1p-400;
static const double HUGE = 0x1p400;

/* Return k such that the factor 2^(600 k) brings f near 1. */
RISKCORE_PLAIN int64_t scaling(double f)
{
    return (f < enclosure_TINY) - (f > HUGE);
}

static const double enclosure_UP = 0x1p600;
static const double DOWN = 0x1p-600;

/* Return x 2^(600 k) for k = -2, ..., 2. */
RISKCORE_PLAIN double scaled(double x, int64_t k)
{
    double factor = k > 0 ? enclosure_UP : (k < 0 ? DOWN : 1.0);
    return x * factor * (size_of(k) > 1 ? factor : 1.0);
}

/* Return q = 1 - p, exactly. */
RISKCORE_PLAIN Triple complement(double p)
{
    const Pair t1 = two_sum(1.0, -p);
    double q = t1.a, q_low = t1.b;
    return (Triple){q, q_low, 0.0};
}

/* Return (p b y + k x, b y + k x), in doubles. */
RISKCORE_PLAIN Pair level_in_doubles(double k, double b, double p, double x, double y)
{
    double t = b * y;
    double u = k * x;
    return (Pair){fma(p, t, u), t + u};
}

/* --- riskcore/core/special/balls.py --------------------------------------------- */

static const double balls_UNIT = 0x1p-53;
static const double balls_OUTWARD = 0x1.000000000001p0;
static const double UNDERFLOW = 8.095e-320;

/* Return a ball that contains x y for all x in a, y in b. */
RISKCORE_PLAIN Triple balls_multiply(Triple a, Triple b)
{
    double a_high = a.a, a_low = a.b, a_radius = a.c;
    double b_high = b.a, b_low = b.b, b_radius = b.c;
    const Pair t1 = two_product(a_high, b_high);
    double product = t1.a, rest = t1.b;
    double t = a_low * b_high;
    double m = fma(a_high, b_low, t);
    double c = rest + m;
    const Pair t2 = two_sum(product, c);
    double high = t2.a, low = t2.b;
    double spread = (magnitude(a_high) + magnitude(a_low)) * b_radius;
    spread += (magnitude(b_high) + magnitude(b_low) + b_radius) * a_radius;
    double lost = balls_UNIT * (magnitude(t) + magnitude(m) + magnitude(c)) + magnitude(a_low *
        b_low);
    return (Triple){high, low, balls_OUTWARD * (spread + lost + UNDERFLOW)};
}

/* Return a ball that contains x + y for all x in a, y in b. */
RISKCORE_PLAIN Triple balls_add(Triple a, Triple b)
{
    double a_high = a.a, a_low = a.b, a_radius = a.c;
    double b_high = b.a, b_low = b.b, b_radius = b.c;
    const Pair t1 = two_sum(a_high, b_high);
    double s = t1.a, s_low = t1.b;
    const Pair t2 = two_sum(a_low, b_low);
    double t = t2.a, t_low = t2.b;
    const Pair t3 = two_sum(s_low, t);
    double c = t3.a, c_lost = t3.b;
    const Pair t4 = two_sum(s, c);
    double v = t4.a, v_low = t4.b;
    const Pair t5 = two_sum(t_low, v_low);
    double w = t5.a, w_lost = t5.b;
    const Pair t6 = two_sum(v, w);
    double high = t6.a, low = t6.b;
    return (Triple){high, low,
        balls_OUTWARD * (a_radius + b_radius + magnitude(c_lost) + magnitude(w_lost))};
}

static const double balls_SMALLEST = 0x1p-1020;

/* Return a ball that contains x/y for all x in a, y in b. */
RISKCORE_PLAIN Triple balls_divide(Triple a, Triple b)
{
    double a_high = a.a, a_low = a.b, a_radius = a.c;
    double b_high = b.a, b_low = b.b, b_radius = b.c;
    double z = a_high / b_high;
    /* With m = b_high + b_low: x/y - z = (x - z y)/y, and y is at least |m| - b_radius. */
    double rest = fma(-z, b_high, a_high);
    const Pair t1 = two_product(z, b_low);
    double product = t1.a, product_low = t1.b;
    const Pair t2 = two_sum(rest, -product);
    double c = t2.a, c_lost = t2.b;
    const Pair t3 = two_sum(c, a_low);
    double d = t3.a, d_lost = t3.b;
    const Pair t4 = two_sum(d, -product_low);
    double numerator = t4.a, lost = t4.b;
    double z_low = numerator / b_high;
    double further = fma(-z_low, b_high, numerator);
    double left = fma(-z_low, b_low, further);
    double z_last = left / b_high;
    const Pair t5 = two_sum(z, z_low);
    double high = t5.a, middle = t5.b;
    const Pair t6 = two_sum(middle, z_last);
    double low = t6.a, low_lost = t6.b;
    const Pair t7 = two_sum(high, low);
    high = t7.a;
    low = t7.b;
    double least = magnitude(b_high) * (1.0 - 4.0 * balls_UNIT) - b_radius;
    /* |x/y| is at most |z| (1 + 3 u), apart from a_radius. */
    double spread = a_radius + magnitude(z) * (1.0 + 4.0 * balls_UNIT) * b_radius;
    spread += magnitude(c_lost) + magnitude(d_lost) + magnitude(lost);
    spread += balls_UNIT * (magnitude(further) + magnitude(left)) + UNDERFLOW;
    double radius = spread / least + magnitude(low_lost) + 3.0 * balls_UNIT * magnitude(z_last);
    bool narrow = 4.0 * b_radius + balls_SMALLEST <= magnitude(b_high);
    return (Triple){high, low, narrow ? balls_OUTWARD * (radius + UNDERFLOW) : INFINITY};
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

RISKCORE_PLAIN Triple levels_near(Pair f, Pair p)
{
    double f_high = f.a, f_low = f.b;
    double p_high = p.a;
    double x = p_high;
    double y = 1.0;
    double k;
    RISKCORE_UNROLL
    for (int64_t m = 16; m > 9; m--) {
        k = (double)m + 1.0;
        const Pair t1 = level_in_doubles(k, f_high + (double)m, p_high, x, y);
        x = t1.a;
        y = t1.b;
        const Pair t2 = level_in_doubles(k, f_high + ((double)m - 1.0), p_high, x, y);
        x = t2.a;
        y = t2.b;
    }
    Pair above = (Pair){x / y, 0.0};
    Pair below = (Pair){1.0, 0.0};
    RISKCORE_UNROLL
    for (int64_t m = 9; m > 0; m--) {
        k = (double)m + 1.0;
        const Tuple_dd__dd t3 = enclosure_level(k, plus(f, k - 1.0), p, above, below);
        above = t3.a;
        below = t3.b;
        const Tuple_dd__dd t4 = enclosure_level(k, plus(f, k - 2.0), p, above, below);
        above = t4.a;
        below = t4.b;
    }
    x = above.a;
    double x_low = above.b;
    y = below.a;
    double y_low = below.b;
    Triple X = (Triple){x, x_low, 0.0};
    return balls_divide(X, balls_add(balls_multiply((Triple){f_high, f_low, 0.0}, (Triple){y,
        y_low, 0.0}), X));
}

RISKCORE_PLAIN Triple levels_far(Pair f, Pair p)
{
    double f_high = f.a, f_low = f.b;
    double p_high = p.a;
    double x = p_high;
    double y = 1.0;
    double k;
    RISKCORE_UNROLL
    for (int64_t m = 31; m > 16; m--) {
        k = (double)m + 1.0;
        const Pair t1 = level_in_doubles(k, f_high + (double)m, p_high, x, y);
        x = t1.a;
        y = t1.b;
        const Pair t2 = level_in_doubles(k, f_high + ((double)m - 1.0), p_high, x, y);
        x = t2.a;
        y = t2.b;
    }
    Pair above = (Pair){x / y, 0.0};
    Pair below = (Pair){1.0, 0.0};
    RISKCORE_UNROLL
    for (int64_t m = 16; m > 0; m--) {
        k = (double)m + 1.0;
        const Tuple_dd__dd t3 = enclosure_level(k, plus(f, k - 1.0), p, above, below);
        above = t3.a;
        below = t3.b;
        const Tuple_dd__dd t4 = enclosure_level(k, plus(f, k - 2.0), p, above, below);
        above = t4.a;
        below = t4.b;
    }
    x = above.a;
    double x_low = above.b;
    y = below.a;
    double y_low = below.b;
    Triple X = (Triple){x, x_low, 0.0};
    return balls_divide(X, balls_add(balls_multiply((Triple){f_high, f_low, 0.0}, (Triple){y,
        y_low, 0.0}), X));
}

RISKCORE_PLAIN Triple widen(Triple a, double radius)
{
    double high = a.a, low = a.b, own = a.c;
    return (Triple){high, low, (1.0 + 4.0 * balls_UNIT) * (own + radius)};
}

static const double P_LEVELS = 0.3;
static const double P_SHORT = 0.7;
static const double E_RELATIVE = 0x1p-100;

/* Return a ball that contains E(f, p), p >= P_LEVELS. */
RISKCORE_PLAIN Triple e_by_p(Pair f, Pair p)
{
    double p_high = p.a;
    Triple E = p_high >= P_SHORT ? levels_near(f, p) : levels_far(f, p);
    return widen(E, E_RELATIVE * E.a);
}

/* --- riskcore/core/special/balls.py --------------------------------------------- */

/* Return a ball that contains x + b for all x in a. */
RISKCORE_PLAIN Triple add_double(Triple a, double b)
{
    double a_high = a.a, a_low = a.b, a_radius = a.c;
    const Pair t1 = two_sum(a_high, b);
    double s = t1.a, s_low = t1.b;
    const Pair t2 = two_sum(s_low, a_low);
    double c = t2.a, c_lost = t2.b;
    const Pair t3 = two_sum(s, c);
    double high = t3.a, low = t3.b;
    return (Triple){high, low, balls_OUTWARD * (a_radius + magnitude(c_lost))};
}

/* Return a ball that contains x b for all x in a. */
RISKCORE_PLAIN Triple multiply_double(Triple a, double b)
{
    double a_high = a.a, a_low = a.b, a_radius = a.c;
    const Pair t1 = two_product(a_high, b);
    double product = t1.a, rest = t1.b;
    double c = fma(a_low, b, rest);
    const Pair t2 = two_sum(product, c);
    double high = t2.a, low = t2.b;
    double radius = balls_OUTWARD * (magnitude(b) * a_radius + balls_UNIT * magnitude(c) +
        UNDERFLOW);
    return (Triple){high, low, radius};
}

/* Return the ball of all -x. */
RISKCORE_PLAIN Triple balls_negate(Triple a)
{
    double high = a.a, low = a.b, radius = a.c;
    return (Triple){-high, -low, radius};
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

/* Return f r = 1 - q f/(f + w), w = p + q E(f+1), for f < 1 and p >= P_LEVELS. */
RISKCORE_PLAIN Triple enclosure_below_one(double f, double p)
{
    Triple q = complement(p);
    Triple E = e_by_p(two_sum(f, 1.0), (Pair){p, 0.0});
    Triple w = add_double(balls_multiply(q, E), p);
    Triple part = balls_divide(multiply_double(q, f), add_double(w, f));
    return add_double(balls_negate(part), 1.0);
}

RISKCORE_PLAIN double enclosure_exponent(double down)
{
    return down < 1.0 ? -600.0 : 0.0;
}

/* --- riskcore/core/special/balls.py --------------------------------------------- */

/* Return a ball that contains x 2^k for all x in a; power is 2^k. */
RISKCORE_PLAIN Triple balls_shift(Triple a, double power)
{
    double a_high = a.a, a_low = a.b, a_radius = a.c;
    const Pair t1 = two_sum(a_high * power, a_low * power);
    double high = t1.a, low = t1.b;
    return (Triple){high, low, balls_OUTWARD * (a_radius * power + UNDERFLOW)};
}

static const double TAIL = 0x1p-49;

RISKCORE_PLAIN Triple log_last(Triple w)
{
    double x = w.a;
    double total = 0.0;
    static const double numbers[] = {0x1.8f9c18f9c18fap-6, 0x1.a41a41a41a41ap-6,
        0x1.bacf914c1badp-6, 0x1.d41d41d41d41dp-6, 0x1.f07c1f07c1f08p-6, 0x1.0842108421084p-5,
        0x1.1a7b9611a7b96p-5, 0x1.2f684bda12f68p-5, 0.04, 0x1.642c8590b2164p-5};
    for (int64_t place = 0; place < 10; place++) {
        const double number = numbers[place];
        total = fma(total, x, number);
    }
    return (Triple){total, 0.0,
        balls_OUTWARD * (TAIL * magnitude(total) + 0x1.cac083126e978p-5 * w.c)};
}

RISKCORE_PLAIN Triple rest(Triple w, Triple t)
{
    (void)w;
    return t;
}

RISKCORE_PLAIN Triple balls_horner(Triple w, Triple t)
{
    return rest(w, balls_add(balls_multiply(w, t), (Triple){0x1.5555555555555p-2,
        0x1.5555555555555p-56, 0x1.7777777777778p-108}));
}

RISKCORE_PLAIN Triple balls_horner_2(Triple w, Triple t)
{
    return balls_horner(w, balls_add(balls_multiply(w, t), (Triple){0.2,
        -0x1.999999999999ap-57, 0x1.c28f5c28f5c2ap-109}));
}

RISKCORE_PLAIN Triple balls_horner_3(Triple w, Triple t)
{
    return balls_horner_2(w, balls_add(balls_multiply(w, t), (Triple){0x1.2492492492492p-3,
        0x1.2492492492492p-57, 0x1.41d41d41d41d4p-109}));
}

RISKCORE_PLAIN Triple balls_horner_4(Triple w, Triple t)
{
    return balls_horner_3(w, balls_add(balls_multiply(w, t), (Triple){0x1.c71c71c71c71cp-4,
        0x1.c71c71c71c71cp-58, 0x1.f49f49f49f4ap-110}));
}

RISKCORE_PLAIN Triple balls_horner_5(Triple w, Triple t)
{
    return balls_horner_4(w, balls_add(balls_multiply(w, t), (Triple){0x1.745d1745d1746p-4,
        -0x1.745d1745d1746p-59, 0x1.999999999999ap-110}));
}

RISKCORE_PLAIN Triple balls_horner_6(Triple w, Triple t)
{
    return balls_horner_5(w, balls_add(balls_multiply(w, t), (Triple){0x1.3b13b13b13b14p-4,
        -0x1.3b13b13b13b14p-58, 0x1.5a95a95a95a96p-110}));
}

RISKCORE_PLAIN Triple balls_horner_7(Triple w, Triple t)
{
    return balls_horner_6(w, balls_add(balls_multiply(w, t), (Triple){0x1.1111111111111p-4,
        0x1.1111111111111p-60, 0x1.2c5f92c5f92c6p-110}));
}

RISKCORE_PLAIN Triple balls_horner_8(Triple w, Triple t)
{
    return balls_horner_7(w, balls_add(balls_multiply(w, t), (Triple){0x1.e1e1e1e1e1e1ep-5,
        0x1.e1e1e1e1e1e1ep-61, 0x1.0909090909091p-110}));
}

RISKCORE_PLAIN Triple balls_horner_9(Triple w, Triple t)
{
    return balls_horner_8(w, balls_add(balls_multiply(w, t), (Triple){0x1.af286bca1af28p-5,
        0x1.af286bca1af28p-59, 0x1.da46102b1da46p-111}));
}

RISKCORE_PLAIN Triple log_first(Triple w, Triple t)
{
    return balls_horner_9(w, balls_add(balls_multiply(w, t), (Triple){0x1.8618618618618p-5,
        0x1.8618618618618p-59, 0x1.ad1ad1ad1ad1bp-111}));
}

static const double LN2_MIDDLE = 0x1.ef35793c768p-45;
static const double balls_LN2_LOW = -0x1.9ff0342542fc3p-90;

/* Return a ball that contains k log 2, for an integer |k| <= 2^11. */
RISKCORE_PLAIN Triple ln2_times(double k)
{
    const Pair t1 = two_sum(k * LN2_HIGH, k * LN2_MIDDLE);
    double high = t1.a, low = t1.b;
    /* The third part is below 2^-84; it and its product are rounded. */
    return balls_add((Triple){high, low, 0.0}, (Triple){k * balls_LN2_LOW, 0.0,
        magnitude(k) * 0x1p-135});
}

static const double NARROW = 0x1p-50;
static const int64_t SQRT_HALF_BITS = INT64_C(4604544269498187776);

/* Return a ball that contains log(x 2^exponent) for all x in a. */
RISKCORE_PLAIN Triple balls_log(Triple a, double exponent)
{
    double high = a.a, low = a.b, radius = a.c;
    radius = radius <= NARROW * high ? radius : INFINITY;
    int64_t k = pattern_difference(bits(high), SQRT_HALF_BITS) >> 52;
    Triple z = balls_shift((Triple){high, low, radius},
        from_bits(shift_left(pattern_difference(1023, k), 52)));
    Triple s = balls_divide(add_double(z, -1.0), add_double(z, 1.0));
    Triple w = balls_multiply(s, s);
    Triple series = balls_multiply(w, log_first(w, log_last(w)));
    s = multiply_double(s, 2.0);
    Triple of_z = balls_add(s, balls_multiply(s, series));
    return balls_add(ln2_times((double)k + exponent), of_z);
}

/* Return a ball that contains x - y for all x in a, y in b. */
RISKCORE_PLAIN Triple balls_subtract(Triple a, Triple b)
{
    return balls_add(a, balls_negate(b));
}

RISKCORE_PLAIN Triple exp_last(Triple w)
{
    double x = w.a;
    double total = 0.0;
    static const double numbers[] = {0x1.761b41316381ap-75, 0x1.0ce396db7f853p-70,
        0x1.71b8ef6dcf572p-66, 0x1.e542ba4020225p-62, 0x1.2f49b46814157p-57, 0x1.6827863b97d97p-53,
        0x1.952c77030ad4ap-49, 0x1.ae7f3e733b81fp-45, 0x1.ae7f3e733b81fp-41, 0x1.93974a8c07c9dp-37};
    for (int64_t place = 0; place < 10; place++) {
        const double number = numbers[place];
        total = fma(total, x, number);
    }
    return (Triple){total, 0.0,
        balls_OUTWARD * (TAIL * magnitude(total) + 0x1.2d59121d76749p-40 * w.c)};
}

RISKCORE_PLAIN Triple balls_horner_10(Triple w, Triple t)
{
    return rest(w, balls_add(balls_multiply(w, t), (Triple){1.0, 0.0, 0x1.199999999999ap-106}));
}

RISKCORE_PLAIN Triple balls_horner_11(Triple w, Triple t)
{
    return balls_horner_10(w, balls_add(balls_multiply(w, t), (Triple){0.5, 0.0,
        0x1.199999999999ap-107}));
}

RISKCORE_PLAIN Triple balls_horner_12(Triple w, Triple t)
{
    return balls_horner_11(w, balls_add(balls_multiply(w, t), (Triple){0x1.5555555555555p-3,
        0x1.5555555555555p-57, 0x1.7777777777778p-109}));
}

RISKCORE_PLAIN Triple balls_horner_13(Triple w, Triple t)
{
    return balls_horner_12(w, balls_add(balls_multiply(w, t), (Triple){0x1.5555555555555p-5,
        0x1.5555555555555p-59, 0x1.7777777777778p-111}));
}

RISKCORE_PLAIN Triple balls_horner_14(Triple w, Triple t)
{
    return balls_horner_13(w, balls_add(balls_multiply(w, t), (Triple){0x1.1111111111111p-7,
        0x1.1111111111111p-63, 0x1.2c5f92c5f92c6p-113}));
}

RISKCORE_PLAIN Triple balls_horner_15(Triple w, Triple t)
{
    return balls_horner_14(w, balls_add(balls_multiply(w, t), (Triple){0x1.6c16c16c16c17p-10,
        -0x1.f49f49f49f49fp-65, 0x1.907f6e5d4c3b3p-116}));
}

RISKCORE_PLAIN Triple balls_horner_16(Triple w, Triple t)
{
    return balls_horner_15(w, balls_add(balls_multiply(w, t), (Triple){0x1.a01a01a01a01ap-13,
        0x1.a01a01a01a01ap-73, 0x1.c9b634fce9684p-119}));
}

RISKCORE_PLAIN Triple balls_horner_17(Triple w, Triple t)
{
    return balls_horner_16(w, balls_add(balls_multiply(w, t), (Triple){0x1.a01a01a01a01ap-16,
        0x1.a01a01a01a01ap-76, 0x1.c9b634fce9684p-122}));
}

RISKCORE_PLAIN Triple balls_horner_18(Triple w, Triple t)
{
    return balls_horner_17(w, balls_add(balls_multiply(w, t), (Triple){0x1.71de3a556c734p-19,
        -0x1.c154f8ddc6cp-73, 0x1.96dad9c45db2p-125}));
}

RISKCORE_PLAIN Triple balls_horner_19(Triple w, Triple t)
{
    return balls_horner_18(w, balls_add(balls_multiply(w, t), (Triple){0x1.27e4fb7789f5cp-22,
        0x1.cbbc05b4fa99ap-76, 0x1.457be169e48e6p-128}));
}

RISKCORE_PLAIN Triple balls_horner_20(Triple w, Triple t)
{
    return balls_horner_19(w, balls_add(balls_multiply(w, t), (Triple){0x1.ae64567f544e4p-26,
        -0x1.c062e06d1f209p-80, 0x1.d96e5f25a9895p-132}));
}

RISKCORE_PLAIN Triple balls_horner_21(Triple w, Triple t)
{
    return balls_horner_20(w, balls_add(balls_multiply(w, t), (Triple){0x1.1eed8eff8d898p-29,
        -0x1.2aec959e14c06p-83, 0x1.3b9eea191bb0ep-135}));
}

RISKCORE_PLAIN Triple balls_exp_first(Triple w, Triple t)
{
    return balls_horner_21(w, balls_add(balls_multiply(w, t), (Triple){0x1.6124613a86d09p-33,
        0x1.f28e0cc748ebep-87, 0x1.8474d159fab24p-139}));
}

static const double SHORT = 0x1p-10;

/* Return (2^k, m) with 2^k (1 + m) around exp x for all x in a, |x| <= 600. */
RISKCORE_PLAIN Tuple_d_ddd scaled_exp(Triple a)
{
    double high = a.a, low = a.b, radius = a.c;
    radius = radius <= SHORT ? radius : INFINITY;
    int64_t k = (int64_t)(high / LN2_HIGH + (high > 0.0 ? 0.5 : -0.5));
    Triple t = balls_subtract((Triple){high, low, radius}, ln2_times((double)k));
    return (Tuple_d_ddd){from_bits(shift_left(k + 1023, 52)), balls_multiply(t,
        balls_exp_first(t, exp_last(t)))};
}

RISKCORE_PLAIN Triple sine_last(Triple w)
{
    double x = w.a;
    double total = 0.0;
    static const double numbers[] = {-0x1.1c10b5c034007p-84, 0x1.2b82cb5c79173p-77,
        -0x1.1a216298364b3p-70, 0x1.d7aa5d6c0d77fp-64, -0x1.5b38da2f2e943p-57,
        0x1.be5bbb762c2f9p-51, -0x1.f0115b37351ebp-45, 0x1.d7353939082fep-39};
    for (int64_t place = 0; place < 8; place++) {
        const double number = numbers[place];
        total = fma(total, x, number);
    }
    return (Triple){total, 0.0,
        balls_OUTWARD * (TAIL * magnitude(total) + 0x1.5b3f597371fbep-44 * w.c)};
}

RISKCORE_PLAIN Triple balls_horner_22(Triple w, Triple t)
{
    return rest(w, balls_add(balls_multiply(w, t), (Triple){0x1.a51a6625307d3p0,
        0x1.1873d8912200cp-55, 0x1.cf36a38f4ef02p-106}));
}

RISKCORE_PLAIN Triple balls_horner_23(Triple w, Triple t)
{
    return balls_horner_22(w, balls_add(balls_multiply(w, t), (Triple){-0x1.9f9cb402bc46cp-1,
        -0x1.487acd8cd312cp-55, 0x1.c92c5f9c9be77p-107}));
}

RISKCORE_PLAIN Triple balls_horner_24(Triple w, Triple t)
{
    return balls_horner_23(w, balls_add(balls_multiply(w, t), (Triple){0x1.86a8e4720db67p-3,
        -0x1.461b9cb783f4cp-58, 0x1.adb9c8170f158p-109}));
}

RISKCORE_PLAIN Triple balls_horner_25(Triple w, Triple t)
{
    return balls_horner_24(w, balls_add(balls_multiply(w, t), (Triple){-0x1.ac6805cf350a6p-6,
        -0x1.7494ad340e176p-61, 0x1.d73f399720beap-112}));
}

RISKCORE_PLAIN Triple balls_horner_26(Triple w, Triple t)
{
    return balls_horner_25(w, balls_add(balls_multiply(w, t), (Triple){0x1.33816aa4607abp-9,
        0x1.9073895b4c74dp-63, 0x1.52418ee803ba3p-115}));
}

RISKCORE_PLAIN Triple balls_horner_27(Triple w, Triple t)
{
    return balls_horner_26(w, balls_add(balls_multiply(w, t), (Triple){-0x1.374719fab3915p-13,
        -0x1.0e61a9828f8c2p-67, 0x1.5667cfc6f8b98p-119}));
}

RISKCORE_PLAIN Triple balls_horner_28(Triple w, Triple t)
{
    return balls_horner_27(w, balls_add(balls_multiply(w, t), (Triple){0x1.d42498d1ce099p-18,
        -0x1.1ababb65fecf3p-72, 0x1.017a874031521p-123}));
}

RISKCORE_PLAIN Triple balls_horner_29(Triple w, Triple t)
{
    return balls_horner_28(w, balls_add(balls_multiply(w, t), (Triple){-0x1.0fc992ff39e13p-22,
        -0x1.c9302ba499e77p-76, 0x1.2af754e58c77cp-128}));
}

RISKCORE_PLAIN Triple balls_horner_30(Triple w, Triple t)
{
    return balls_horner_29(w, balls_add(balls_multiply(w, t), (Triple){0x1.f5f9d970ca6dfp-28,
        -0x1.aaa1a2bd821cbp-83, 0x1.14163797a2895p-133}));
}

RISKCORE_PLAIN Triple balls_sine_first(Triple w, Triple t)
{
    return balls_horner_30(w, balls_add(balls_multiply(w, t), (Triple){-0x1.79788684225eap-33,
        -0x1.50c98c7a1a08cp-87, 0x1.9f37c72af29b5p-139}));
}

/* Return a ball that contains pi e/sin(pi e) - 1, for |e| <= 0.51. */
RISKCORE_PLAIN Triple sine_excess(double e)
{
    const Pair t1 = two_product(e, e);
    double square = t1.a, square_low = t1.b;
    Triple w = (Triple){square, square_low, UNDERFLOW};
    Triple deficit = balls_multiply(w, balls_sine_first(w, sine_last(w)));
    return balls_divide(deficit, add_double(balls_negate(deficit), 1.0));
}

/* Return a ball around the exponential with the given parts, minus 1. */
RISKCORE_PLAIN Triple balls_expm1(double power, Triple m)
{
    const Pair t1 = two_sum(power, -1.0);
    double above = t1.a, above_low = t1.b;
    return balls_add((Triple){above, above_low, 0.0}, balls_shift(m, power));
}

/* Return a ball around the exponential with the given parts. */
RISKCORE_PLAIN Triple balls_exp(double power, Triple m)
{
    return balls_shift(add_double(m, 1.0), power);
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

/* Return a ball around e r(e), or if less around e r(e) - 1 = -e r(1+e)/v. */
RISKCORE_PLAIN Triple enclosure_reflected(double e, double p, double down, bool less)
{
    Triple q = complement(p * down);
    double q_high = q.a, q_low = q.b;
    Triple log_v = balls_log(balls_divide((Triple){p, 0.0, 0.0}, q), enclosure_exponent(down));
    const Tuple_d_ddd t1 = scaled_exp(multiply_double(log_v, e));
    double power = t1.a;
    Triple m = t1.b;
    Triple excess = sine_excess(e);
    Triple first;
    if (less) {
        Triple b = balls_expm1(power, m);
        first = balls_add(balls_add(b, excess), balls_multiply(b, excess));
    } else {
        first = balls_multiply(balls_exp(power, m), add_double(excess, 1.0));
    }
    Triple E = e_by_p(two_sum(1.0, -e), (Pair){q_high, q_low});
    Triple D = balls_add(add_double(q, -e), multiply_double(E, p * down));
    Triple second = balls_divide(multiply_double((Triple){p, 0.0, 0.0}, e), D);
    return balls_subtract(first, balls_shift(second, down));
}

/* --- riskcore/core/special/balls.py --------------------------------------------- */

/* Return a ball that contains 1/b; its radius is infinite for b = 0. */
RISKCORE_PLAIN Triple reciprocal(double b)
{
    double z = 1.0 / b;
    double z_low = fma(-z, b, 1.0) / b;
    const Pair t1 = two_sum(z, z_low);
    double high = t1.a, low = t1.b;
    return (Triple){high, low,
        balls_OUTWARD * (3.0 * balls_UNIT * magnitude(z_low) + UNDERFLOW)};
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

/* Return r(f, p)/down as a quotient, for 1/2 < f < F_LEVELS, p < P_LEVELS. */
RISKCORE_PLAIN Tuple_ddd__ddd small(double f, double p, double down)
{
    Triple q = complement(p * down);
    int64_t steps = (int64_t)(f + 0.5) - 1;
    double e = f - (double)steps - 1.0;
    Triple T, e_T;
    double divisor;
    if (e == 0.0) {
        T = balls_negate(balls_log((Triple){p, 0.0, 0.0}, enclosure_exponent(down)));
        e_T = T;
        divisor = 1.0;
    } else {
        e_T = balls_negate(enclosure_reflected(e, p, down, true));
        divisor = e;
        T = e_T;
    }
    if (steps == 0) {
        return (Tuple_ddd__ddd){multiply_double(e_T, p), multiply_double(q, divisor)};
    }
    /* r = v T: T(g+1) = 1/g - v T(g), in the last step as a quotient of two numbers that are
       next to doubles for tiny p: r = p (1 - (f-1) r(f-1))/(q (f-1)). */
    T = balls_divide(e_T, (Triple){divisor, 0.0, 0.0});
    Triple v = balls_divide((Triple){p, 0.0, 0.0}, q);
    for (int64_t step = 1; step < steps; step++) {
        T = balls_subtract(reciprocal(e + (double)step), balls_shift(balls_multiply(v, T),
            down));
    }
    Triple before = multiply_double(balls_shift(balls_multiply(v, T), down), f - 1.0);
    Triple above = multiply_double(add_double(balls_negate(before), 1.0), p);
    return (Tuple_ddd__ddd){above, multiply_double(q, f - 1.0)};
}

RISKCORE_PLAIN Triple levels_1000(Pair f, Pair p)
{
    double f_high = f.a, f_low = f.b;
    double p_high = p.a;
    double x = p_high;
    double y = 1.0;
    double k;
    RISKCORE_UNROLL
    for (int64_t m = 7; m > 4; m--) {
        k = (double)m + 1.0;
        const Pair t1 = level_in_doubles(k, f_high + (double)m, p_high, x, y);
        x = t1.a;
        y = t1.b;
        const Pair t2 = level_in_doubles(k, f_high + ((double)m - 1.0), p_high, x, y);
        x = t2.a;
        y = t2.b;
    }
    Pair above = (Pair){x / y, 0.0};
    Pair below = (Pair){1.0, 0.0};
    RISKCORE_UNROLL
    for (int64_t m = 4; m > 0; m--) {
        k = (double)m + 1.0;
        const Tuple_dd__dd t3 = enclosure_level(k, plus(f, k - 1.0), p, above, below);
        above = t3.a;
        below = t3.b;
        const Tuple_dd__dd t4 = enclosure_level(k, plus(f, k - 2.0), p, above, below);
        above = t4.a;
        below = t4.b;
    }
    x = above.a;
    double x_low = above.b;
    y = below.a;
    double y_low = below.b;
    Triple X = (Triple){x, x_low, 0.0};
    return balls_divide(X, balls_add(balls_multiply((Triple){f_high, f_low, 0.0}, (Triple){y,
        y_low, 0.0}), X));
}

RISKCORE_PLAIN Triple levels_128(Pair f, Pair p)
{
    double f_high = f.a, f_low = f.b;
    double p_high = p.a;
    double x = p_high;
    double y = 1.0;
    double k;
    RISKCORE_UNROLL
    for (int64_t m = 12; m > 6; m--) {
        k = (double)m + 1.0;
        const Pair t1 = level_in_doubles(k, f_high + (double)m, p_high, x, y);
        x = t1.a;
        y = t1.b;
        const Pair t2 = level_in_doubles(k, f_high + ((double)m - 1.0), p_high, x, y);
        x = t2.a;
        y = t2.b;
    }
    Pair above = (Pair){x / y, 0.0};
    Pair below = (Pair){1.0, 0.0};
    RISKCORE_UNROLL
    for (int64_t m = 6; m > 0; m--) {
        k = (double)m + 1.0;
        const Tuple_dd__dd t3 = enclosure_level(k, plus(f, k - 1.0), p, above, below);
        above = t3.a;
        below = t3.b;
        const Tuple_dd__dd t4 = enclosure_level(k, plus(f, k - 2.0), p, above, below);
        above = t4.a;
        below = t4.b;
    }
    x = above.a;
    double x_low = above.b;
    y = below.a;
    double y_low = below.b;
    Triple X = (Triple){x, x_low, 0.0};
    return balls_divide(X, balls_add(balls_multiply((Triple){f_high, f_low, 0.0}, (Triple){y,
        y_low, 0.0}), X));
}

RISKCORE_PLAIN Triple enclosure_levels_32(Pair f, Pair p)
{
    double f_high = f.a, f_low = f.b;
    double p_high = p.a;
    double x = p_high;
    double y = 1.0;
    double k;
    RISKCORE_UNROLL
    for (int64_t m = 29; m > 11; m--) {
        k = (double)m + 1.0;
        const Pair t1 = level_in_doubles(k, f_high + (double)m, p_high, x, y);
        x = t1.a;
        y = t1.b;
        const Pair t2 = level_in_doubles(k, f_high + ((double)m - 1.0), p_high, x, y);
        x = t2.a;
        y = t2.b;
    }
    Pair above = (Pair){x / y, 0.0};
    Pair below = (Pair){1.0, 0.0};
    RISKCORE_UNROLL
    for (int64_t m = 11; m > 0; m--) {
        k = (double)m + 1.0;
        const Tuple_dd__dd t3 = enclosure_level(k, plus(f, k - 1.0), p, above, below);
        above = t3.a;
        below = t3.b;
        const Tuple_dd__dd t4 = enclosure_level(k, plus(f, k - 2.0), p, above, below);
        above = t4.a;
        below = t4.b;
    }
    x = above.a;
    double x_low = above.b;
    y = below.a;
    double y_low = below.b;
    Triple X = (Triple){x, x_low, 0.0};
    return balls_divide(X, balls_add(balls_multiply((Triple){f_high, f_low, 0.0}, (Triple){y,
        y_low, 0.0}), X));
}

static const double enclosure_F_HUGE = 0x1p60;
static const double E_ABSOLUTE = 0x1p-100;

/* Return a ball that contains E(f, p), f >= F_LEVELS. */
RISKCORE_PLAIN Triple e_by_f(double f, double p)
{
    if (f >= enclosure_F_HUGE) {
        double half = 0.5 / f;
        return (Triple){half, 0.0, half * (1.0 + 8.0 * balls_UNIT) + UNDERFLOW};
    }
    Pair g = (Pair){f, 0.0};
    Pair x = (Pair){p, 0.0};
    Triple E;
    if (f >= 1000.0) {
        E = levels_1000(g, x);
    } else {
        if (f >= 128.0) {
            E = levels_128(g, x);
        } else {
            E = enclosure_levels_32(g, x);
        }
    }
    return widen(E, E_ABSOLUTE / f);
}

static const double enclosure_F_LEVELS = 32.0;

/* Return D = (f - 1) + p + q E for f >= 1 and p >= P_LEVELS, or for large f. */
RISKCORE_PLAIN Triple resolvent(double f, double p)
{
    Triple E = f >= enclosure_F_LEVELS ? e_by_f(f, p) : e_by_p((Pair){f, 0.0}, (Pair){p, 0.0});
    const Pair t1 = two_sum(f, -1.0);
    double base = t1.a, base_low = t1.b;
    Triple lower = add_double(balls_multiply(complement(p), E), p);
    return balls_add((Triple){base, base_low, 0.0}, lower);
}

/* Return a ball that contains r(f, p) 2^(600 n), and n; nan outside the domain. */
RISKCORE_PLAIN Tuple_ddd_i risk_ball(double f, double p)
{
    if (!((f > 0.0) & (f < INFINITY) & (p > 0.0) & (p <= 1.0))) {
        return (Tuple_ddd_i){(Triple){NAN, NAN, NAN}, 0};
    }
    int64_t k = scaling(f);
    Triple above;
    double x, down;
    if (f < 1.0 && (p >= P_LEVELS || f <= 0.5)) {
        int64_t tiny = scaling(p);
        x = scaled(p, tiny);
        down = scaled(1.0, -tiny);
        above = p >= P_LEVELS ? enclosure_below_one(f, p) : enclosure_reflected(f, x, down,
            false);
        return (Tuple_ddd_i){balls_divide(above, (Triple){scaled(f, k), 0.0, 0.0}), -k};
    }
    int64_t n = scaling(p);
    x = scaled(p, n);
    down = scaled(1.0, -n);
    Triple below;
    if (p < P_LEVELS && f < enclosure_F_LEVELS) {
        const Tuple_ddd__ddd t1 = small(f, x, down);
        above = t1.a;
        below = t1.b;
    } else {
        Triple D = resolvent(f, p);
        above = (Triple){x, 0.0, 0.0};
        below = balls_shift(D, scaled(1.0, k));
    }
    return (Tuple_ddd_i){balls_divide(above, below), n - k};
}

/* --- riskcore/core/special/gauss/ball_step.py ----------------------------------- */

/* Return the double above x >= 0. */
RISKCORE_KERNEL double double_above(double x)
{
    return from_bits(pattern_sum(bits(x), 1));
}

/* Return the double below x > 0, for infinity the largest double. */
RISKCORE_PLAIN double double_below(double x)
{
    return from_bits(pattern_difference(bits(x), 1));
}

static const double ball_step_SMALLEST = 5e-324;
static const double NEARLY_ALL = 0x1.fffffffffep-1;
static const double COARSE = 0x1p-1021;

/* Return whether high 2^(-600 n) rounded, result, is nearest to all of a ball. */
RISKCORE_PLAIN bool is_nearest(Triple ball, int64_t n, double result)
{
    double high = ball.a, low = ball.b, radius = ball.c;
    double up = 0.5 * (double_above(high) - high);
    double down = 0.5 * (high - double_below(high));
    /* high - back is exact: back is high rounded to fewer bits. */
    double back = scaled(result, n);
    double most = magnitude(high - back) + (magnitude(low) + radius);
    double half = 0.5 * scaled(ball_step_SMALLEST, n);
    bool coarse = most < half * NEARLY_ALL;
    bool fine = (low + radius < up) & (radius - low < down);
    return result < COARSE ? coarse : fine;
}

/* Return the largest double not above x 2^(-600 n). */
RISKCORE_PLAIN double towards_zero(double x, int64_t n)
{
    int64_t step = n > 0 ? 1 : -1;
    const int64_t t1 = size_of(n);
    for (int64_t unused_ = 0; unused_ < t1; unused_++) {
        double y = scaled(x, -step);
        x = scaled(y, step) > x ? double_below(y) : y;
    }
    return x;
}

/* --- riskcore/core/special/fixed_point.py --------------------------------------- */

/* Let z be the integer k, |k| < 2^27. */
RISKCORE_PLAIN void set_integer(int64_t *z, int64_t n, int64_t k)
{
    const int64_t t1 = n + 1;
    RISKCORE_EACH
    for (int64_t i = 1; i < t1; i++) {
        z[i] = 0;
    }
    z[0] = k;
}

/* --- riskcore/core/special/gauss/fixed_point_step.py ---------------------------- */

static const int64_t FIRST_MANTISSA = INT64_C(4503599627370496);
static const int64_t TOP = INT64_C(9007199254740992);

/* Let z 2^s be the double x >= 0, or the midpoint of x and the next double. */
RISKCORE_PLAIN int64_t boundary(int64_t *z, double x, bool middle, int64_t n)
{
    int64_t pattern = bits(x);
    int64_t e = pattern >> 52;
    int64_t number_of_units = pattern_sum(2 * (pattern & (FIRST_MANTISSA - 1)), middle ? 1 : 0);
    if (e > 0) {
        number_of_units += TOP;
        e -= 1;
    }
    int64_t s = e - 1075 + 54;
    while (number_of_units < TOP) {
        number_of_units *= 2;
        s -= 1;
    }
    set_integer(z, n, 0);
    z[1] = number_of_units >> 26;
    z[2] = shift_left(number_of_units & (shift_left(1, 26) - 1), 2);
    return s;
}

/* --- riskcore/core/special/fixed_point.py --------------------------------------- */

static const double SMALLEST_NORMAL = 0x1p-1022;
static const double TWO_54 = 0x1p54;

/* Return m and e with x = m 2^e, 1/2 <= m < 1, for a double x > 0. */
RISKCORE_PLAIN Tuple_di mantissa(double x)
{
    bool subnormal = x < SMALLEST_NORMAL;
    int64_t pattern = bits(subnormal ? x * TWO_54 : x);
    int64_t e = pattern_difference(pattern >> 52, 1022);
    return (Tuple_di){from_bits(pattern_difference(pattern, shift_left(e, 52))),
        subnormal ? e - 54 : e};
}

static const double fixed_point_OUTWARD = 0x1.0000000001p0;

/* Set the bound of a number's error. */
RISKCORE_PLAIN void set_error(int64_t *x, int64_t n, double units)
{
    x[n] = bits(units * fixed_point_OUTWARD);
}

static const int64_t BASE = 268435456;

/* Let z be the double 0 <= x < 2^27, as far as n words hold it. */
RISKCORE_PLAIN void set_double(int64_t *z, int64_t n, double x)
{
    double rest = x;
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        int64_t whole = (int64_t)rest;
        z[i] = whole;
        rest = (rest - (double)whole) * (double)BASE;
    }
    set_error(z, n, rest > 0.0 ? 1.0 : 0.0);
}

/* Return the bound of a number's error, in units. */
RISKCORE_PLAIN double error(int64_t *x, int64_t n)
{
    return from_bits(x[n]);
}

static const double fixed_point_UNIT = 0x1p-28;

/* Return a number as a double, to 2^-50 of itself and 2^-79; if negative, 2^-51. */
RISKCORE_PLAIN double fixed_point_rounded(int64_t *x)
{
    double low = (double)x[2] + (double)x[3] * fixed_point_UNIT;
    return (double)x[0] + ((double)x[1] + low * fixed_point_UNIT) * fixed_point_UNIT;
}

/* Return an upper bound of |x|. */
RISKCORE_PLAIN double fixed_point_size(int64_t *x)
{
    return magnitude(fixed_point_rounded(x)) * fixed_point_OUTWARD + 0x1p-50;
}

/* Return 2^(-28 (n-1)), the weight of the last word. */
RISKCORE_PLAIN double units(int64_t n)
{
    double unit = 1.0;
    for (int64_t unused_ = 1; unused_ < n; unused_++) {
        unit *= fixed_point_UNIT;
    }
    return unit;
}

static const int64_t MASK = 268435455;
static const int64_t fixed_point_WORD = 28;

/* Let z be x y. */
RISKCORE_SHARED void fixed_point_multiply(int64_t *z, int64_t *x, int64_t *y, int64_t n)
{
    double x_lost = error(x, n);
    double y_lost = error(y, n);
    double lost = fixed_point_size(x) * y_lost + fixed_point_size(y) * x_lost + x_lost *
        (y_lost * units(n)) + 1.0;
    int64_t room[38];
    int64_t total = 0;
    for (int64_t k = 2 * n - 2; k > 0; k--) {
        const int64_t t1 = lesser_integer(k, n - 1) + 1;
        for (int64_t i = greater_integer(0, k - n + 1); i < t1; i++) {
            total += x[i] * y[k - i];
        }
        if (k < n) {
            room[k] = total & MASK;
        }
        total >>= fixed_point_WORD;
    }
    z[0] = total + x[0] * y[0];
    RISKCORE_EACH
    for (int64_t i = 1; i < n; i++) {
        z[i] = room[i];
    }
    set_error(z, n, lost);
}

/* Let z be x k for an integer |k| < 2^30. */
RISKCORE_PLAIN void fixed_point_times(int64_t *z, int64_t *x, int64_t k, int64_t n)
{
    double lost = error(x, n) * (double)size_of(k);
    int64_t carry = 0;
    RISKCORE_EACH
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t t = x[i] * k + carry;
        z[i] = t & MASK;
        carry = t >> fixed_point_WORD;
    }
    z[0] = x[0] * k + carry;
    set_error(z, n, lost);
}

/* Let z be x/k for an integer 0 < k < 2^30. */
RISKCORE_PLAIN void over(int64_t *z, int64_t *x, int64_t k, int64_t n)
{
    double lost = error(x, n) / (double)k + 1.0;
    int64_t rest = 0;
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        int64_t t = rest * BASE + x[i];
        int64_t whole = floor_divide(t, k);
        rest = t - whole * k;
        z[i] = whole;
    }
    set_error(z, n, lost);
}

/* Let z be x 2^s for s < 28 n; numbers must stay below 2^27 to the left, too. */
RISKCORE_PLAIN void fixed_point_shift(int64_t *z, int64_t *x, int64_t s, int64_t n)
{
    int64_t size_ = s < 0 ? -s : s;
    int64_t words = floor_divide(size_, fixed_point_WORD);
    int64_t rest = floor_modulo(size_, fixed_point_WORD);
    double lost = error(x, n);
    int64_t top;
    if (s >= 0) {
        top = x[0];
        for (int64_t i = 0; i < words; i++) {
            top = top * BASE + x[i + 1];
            lost *= (double)BASE;
        }
        z[0] = top;
        for (int64_t i = 1; i < n; i++) {
            z[i] = i + words < n ? x[i + words] : 0;
        }
        set_error(z, n, lost);
        fixed_point_times(z, z, shift_left(1, rest), n);
    } else {
        top = x[0];
        for (int64_t i = n - 1; i > words; i--) {
            z[i] = x[i - words];
        }
        RISKCORE_EACH
        for (int64_t i = lesser_integer(words, n - 1); i > 0; i--) {
            /* The word before the point goes to place ``words``, its sign before it. */
            z[i] = (i == words ? top : top >> fixed_point_WORD) & MASK;
        }
        z[0] = words == 0 ? top : top >> fixed_point_WORD;
        const int64_t t1 = lesser_integer(words, n);
        for (int64_t unused_ = 0; unused_ < t1; unused_++) {
            lost *= fixed_point_UNIT;
        }
        set_error(z, n, words > 0 ? lost + 1.0 : lost);
        if (rest > 0) {
            over(z, z, shift_left(1, rest), n);
        }
    }
}

/* Let z be x - y. */
RISKCORE_PLAIN void fixed_point_subtract(int64_t *z, int64_t *x, int64_t *y, int64_t n)
{
    double lost = error(x, n) + error(y, n);
    int64_t carry = 0;
    RISKCORE_EACH
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t t = x[i] - y[i] + carry;
        z[i] = t & MASK;
        carry = t >> fixed_point_WORD;
    }
    z[0] = x[0] - y[0] + carry;
    set_error(z, n, lost);
}

/* Return whether all words are 0, whatever the error. */
RISKCORE_PLAIN bool is_zero(int64_t *x, int64_t n)
{
    bool nothing = true;
    for (int64_t i = 0; i < n; i++) {
        nothing &= x[i] == 0;
    }
    return nothing;
}

/* --- riskcore/core/special/gauss/fixed_point_step.py ---------------------------- */

/* Return whether x 2^s = y for exact numbers between 1/32 and 32. */
RISKCORE_PLAIN bool equal(int64_t *x, int64_t s, int64_t *y, int64_t n)
{
    int64_t t[38];
    bool same = false;
    if (-6 < s && s < 6) {
        fixed_point_shift(t, x, s, n);
        fixed_point_subtract(t, t, y, n);
        same = is_zero(t, n);
    }
    return same;
}

/* Return the sign of r - B 2^s if B 2^s is p/(f-1), p/f or 1/f, else 0. */
RISKCORE_PLAIN int64_t at_a_limit(double f, double a, double b, int64_t *B, int64_t s,
    int64_t n)
{
    int64_t t[38];
    int64_t u[38];
    int64_t w[38];
    const Tuple_di t1 = mantissa(f);
    double f_mantissa = t1.a;
    int64_t s_f = t1.b;
    const Tuple_di t2 = mantissa(a);
    double m = t2.a;
    int64_t s_a = t2.b;
    set_double(w, n, m);
    const Tuple_di t3 = mantissa(b);
    m = t3.a;
    int64_t s_b = t3.b;
    set_double(u, n, m);
    fixed_point_multiply(u, u, B, n);
    set_double(t, n, f_mantissa);
    fixed_point_multiply(u, u, t, n);
    if (equal(u, s + s_b + s_f - s_a, w, n)) {
        return 1;
    }
    fixed_point_multiply(t, t, B, n);
    set_integer(u, n, 1);
    if (equal(t, s + s_f, u, n)) {
        return -1;
    }
    if (f > 1.0 && s_f <= 54) {
        set_double(t, n, f_mantissa);
        set_integer(u, n, 1);
        fixed_point_shift(u, u, -s_f, n);
        fixed_point_subtract(t, t, u, n);
        /* f - 1 may be as small as 2^-52: back to the size of 1. */
        while (fixed_point_rounded(t) < 0.5) {
            fixed_point_times(t, t, 2, n);
            s_f -= 1;
        }
        fixed_point_multiply(t, t, B, n);
        set_double(u, n, m);
        fixed_point_multiply(t, t, u, n);
        if (equal(t, s + s_b + s_f - s_a, w, n)) {
            return -1;
        }
    }
    return 0;
}

/* --- riskcore/core/special/fixed_point.py --------------------------------------- */

/* Return the integer next to a double. */
RISKCORE_PLAIN int64_t fixed_point_nearest(double x)
{
    return (int64_t)(x + (x > 0.0 ? 0.5 : -0.5));
}

/* Let z be x/y for 2^-20 < y < 2^20 and |x/y| < 2^27. */
RISKCORE_SHARED void fixed_point_divide(int64_t *z, int64_t *x, int64_t *y, int64_t n)
{
    int64_t rest[38];
    int64_t digits[38];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        rest[i] = x[i];
    }
    double divisor = fixed_point_rounded(y);
    int64_t carry, u;
    for (int64_t i = 0; i < n; i++) {
        int64_t digit = fixed_point_nearest(fixed_point_rounded(rest) / divisor);
        digits[i] = digit;
        carry = 0;
        RISKCORE_EACH
        for (int64_t j = n - 1; j > 0; j--) {
            u = rest[j] - digit * y[j] + carry;
            rest[j] = u & MASK;
            carry = u >> fixed_point_WORD;
        }
        int64_t top = rest[0] - digit * y[0] + carry;
        rest[0] = top * BASE + rest[1];
        const int64_t t1 = n - 1;
        for (int64_t j = 1; j < t1; j++) {
            rest[j] = rest[j + 1];
        }
        rest[n - 1] = 0;
    }
    double x_lost = error(x, n);
    double y_lost = error(y, n);
    carry = 0;
    u = 0;
    RISKCORE_EACH
    for (int64_t i = n - 1; i > -1; i--) {
        u = digits[i] + carry;
        z[i] = u & MASK;
        carry = u >> fixed_point_WORD;
    }
    z[0] = u;
    double least = divisor * (1.0 - 0x1p-40) - y_lost * units(n);
    double lost = (x_lost + fixed_point_size(z) * y_lost) / least + 2.0;
    set_error(z, n, least > 0.0 ? lost : INFINITY);
}

/* --- riskcore/core/special/gauss/fixed_point_step.py ---------------------------- */

/* Return how many steps leave about the last bit of an error of 1/2, times v each. */
RISKCORE_PLAIN int64_t last_steps(int64_t p_scale, int64_t n)
{
    /* v is below 2^-1.2, and below 2^1.6 2^p_scale. */
    return (int64_t)((double)(fixed_point_WORD * n) / greater(1.2, -1.6 - (double)p_scale)) + 1;
}

/* --- riskcore/core/special/fixed_point.py --------------------------------------- */

/* Let z be x + k. */
RISKCORE_PLAIN void add_integer(int64_t *z, int64_t *x, int64_t k, int64_t n)
{
    const int64_t t1 = n + 1;
    RISKCORE_EACH
    for (int64_t i = 1; i < t1; i++) {
        z[i] = x[i];
    }
    z[0] = x[0] + k;
}

/* Let z be x + y. */
RISKCORE_PLAIN void fixed_point_add(int64_t *z, int64_t *x, int64_t *y, int64_t n)
{
    double lost = error(x, n) + error(y, n);
    int64_t carry = 0;
    RISKCORE_EACH
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t t = x[i] + y[i] + carry;
        z[i] = t & MASK;
        carry = t >> fixed_point_WORD;
    }
    z[0] = x[0] + y[0] + carry;
    set_error(z, n, lost);
}

RISKCORE_PLAIN void add_to_error(int64_t *z, int64_t n, double more)
{
    set_error(z, n, error(z, n) + more);
}

static const double LN2[] = {0.0, 0x1.62e42fep27, 0x1.f473de4p26, 0x1.5793c76p27, 60294130.0,
    0x1.ed5e81ep27, 54732402.0, 0x1.316c5bp27, 0x1.41a2eb6p27, 0x1.1755f44p27, 0x1.7cf70ecp27,
    34004666.0, 0x1.930ab2ap27, 87012527.0, 0x1.43621dap27, 48948060.0, 20455748.0, 41251762.0,
    0x1.222d37p27, 39053676.0, 0x1.42c4494p27, 0x1.d18a358p27, 0x1.7b42262p27, 0x1.f0e1facp26,
    0x1.3d53786p27, 0x1.626cc06p27, 0x1.64adf4p27, 0x1.d8ecafep27, 0x1.d2dcb38p26,
    0x1.0f633acp27, 88656629.0, 0x1.bf4d7a6p27, 0x1.060649p27, 0x1.957e86p26, 0x1.cbc838cp26,
    0x1.45b45b2p27, 0x1.f143cfcp26};

/* Let z be log 2. */
RISKCORE_PLAIN void ln2(int64_t *z, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        z[i] = (int64_t)LN2[i];
    }
    set_error(z, n, 1.0);
}

static const double SQRT_HALF = 0.70703125;

/* Let z be log(x 2^exponent), 1/4 < x < 4, |exponent| < 2^12. */
RISKCORE_SHARED void fixed_point_log(int64_t *z, int64_t *x, int64_t exponent, int64_t n)
{
    int64_t y[38];
    int64_t s[38];
    int64_t w[38];
    int64_t term[38];
    int64_t total[38];
    fixed_point_shift(y, x, 0, n);
    int64_t k = exponent;
    while (fixed_point_rounded(y) < SQRT_HALF) {
        fixed_point_times(y, y, 2, n);
        k -= 1;
    }
    while (fixed_point_rounded(y) > 2.0 * SQRT_HALF) {
        over(y, y, 2, n);
        k += 1;
    }
    add_integer(s, y, -1, n);
    add_integer(y, y, 1, n);
    fixed_point_divide(s, s, y, n);
    fixed_point_multiply(w, s, s, n);
    fixed_point_times(s, s, 2, n);
    set_integer(total, n, 0);
    const int64_t t1 = floor_divide(fixed_point_WORD * n, 5) + 2;
    for (int64_t j = 0; j < t1; j++) {
        over(term, s, 2 * j + 1, n);
        fixed_point_add(total, total, term, n);
        fixed_point_multiply(s, s, w, n);
    }
    add_to_error(total, n, 2.0);
    ln2(y, n);
    fixed_point_times(y, y, k, n);
    fixed_point_add(z, y, total, n);
}

/* Let z be -x. */
RISKCORE_PLAIN void fixed_point_negate(int64_t *z, int64_t *x, int64_t n)
{
    double lost = error(x, n);
    int64_t carry = 0;
    RISKCORE_EACH
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t t = carry - x[i];
        z[i] = t & MASK;
        carry = t >> fixed_point_WORD;
    }
    z[0] = carry - x[0];
    set_error(z, n, lost);
}

/* Return the integer e with 2^e <= x < 2^(e+1), for a normal x. */
RISKCORE_PLAIN int64_t fixed_point_exponent(double x)
{
    return pattern_difference(bits(x) >> 52, 1023);
}

/* Let z be exp(x)/2^k for |x| < 2^11, and return k, by Taylor's series. */
RISKCORE_SHARED int64_t fixed_point_exp(int64_t *z, int64_t *x, int64_t n)
{
    int64_t t[38];
    int64_t term[38];
    ln2(t, n);
    int64_t k = fixed_point_nearest(fixed_point_rounded(x) / fixed_point_rounded(t));
    fixed_point_times(t, t, k, n);
    fixed_point_subtract(t, x, t, n);
    set_integer(term, n, 1);
    set_integer(z, n, 1);
    int64_t small = 0;
    int64_t j = 0;
    while (small < fixed_point_WORD * n + 2) {
        j += 1;
        fixed_point_multiply(term, term, t, n);
        over(term, term, j, n);
        fixed_point_add(z, z, term, n);
        small += fixed_point_exponent((double)j / 0.37);
    }
    add_to_error(z, n, 2.0);
    return k;
}

static const double PI[] = {3.0, 38008488.0, 0x1.10b461p27, 0x1.a62633p27, 0x1.45c06ep27,
    0x1.cd129p26, 0x1.2704452p27, 0x1.3e63ap27, 0x1.05df53p27, 0x1.d89cd9p27, 0x1.28a5042p27,
    0x1.cc71a02p27, 58179156.0, 0x1.9b3cd38p26, 0x1.218d98p27, 0x1.58536f8p27, 0x1.2f8a1bap27,
    66604379.0, 95766281.0, 24715629.0, 98142585.0, 0x1.f637a26p27, 17540760.0, 0x1.bf6b584p27,
    0x1.ffae5b6p27, 0x1.a035bf6p27, 0x1.ee386bcp26, 0x1.dad44cep27, 0x1.d2d74f8p27,
    0x1.208be24p27, 0x1.8ff3248p27, 0x1.43328f6p27, 59862263.0, 8396590.0, 42307324.0,
    23475858.0, 14184791.0};

/* Let z be pi. */
RISKCORE_PLAIN void pi(int64_t *z, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        z[i] = (int64_t)PI[i];
    }
    set_error(z, n, 1.0);
}

/* Let z be sin(pi x)/(pi x) for |x| <= 1/2, by Taylor's series. */
RISKCORE_SHARED void sinc(int64_t *z, int64_t *x, int64_t n)
{
    int64_t w[38];
    int64_t term[38];
    pi(w, n);
    fixed_point_multiply(w, w, x, n);
    fixed_point_multiply(w, w, w, n);
    set_integer(term, n, 1);
    set_integer(z, n, 1);
    int64_t small = 0;
    int64_t j = 0;
    while (small < fixed_point_WORD * n + 2) {
        j += 1;
        fixed_point_multiply(term, term, w, n);
        over(term, term, 2 * j * (2 * j + 1), n);
        if (floor_modulo(j, 2) == 1) {
            fixed_point_subtract(z, z, term, n);
        } else {
            fixed_point_add(z, z, term, n);
        }
        small += fixed_point_exponent(2.0 * (double)j * (double)(2 * j + 1) / 2.5);
    }
    add_to_error(z, n, 2.0);
}

/* --- riskcore/core/special/gauss/fixed_point_step.py ---------------------------- */

static const double SMALLEST_Q = 0x1p-54;
static const int64_t MOST_LEVELS = 4000;

/* Return the number of levels that leave about the last bit, for p or for f. */
RISKCORE_PLAIN int64_t levels(double f, double p, int64_t n)
{
    double needed = (double)(fixed_point_WORD * n);
    /* A level shrinks the error by (1 + sqrt p)^2/q, from p = 0.3 on by 2.39/q. */
    const Tuple_di t1 = mantissa(1.0 - p + SMALLEST_Q);
    int64_t by_q = t1.b;
    int64_t by_p = (int64_t)(needed / greater(1.7, 1.2 - (double)by_q)) + 4;
    double gained = 0.0;
    int64_t m = 0;
    while (gained < needed && 2 * m < by_p) {
        m += 1;
        const Tuple_di t2 = mantissa((f + (double)m) / ((double)m + 1.0));
        int64_t e = t2.b;
        gained += 2.0 * (double)(e - 1);
    }
    int64_t levels = p >= P_LEVELS ? by_p : MOST_LEVELS;
    return lesser_integer(levels, 2 * m + 4);
}

/* Let z be E(f, p) 2^s for f = g 2^s, s >= 0, g >= 1/4. */
RISKCORE_SHARED void e(int64_t *z, double f, double p_double, int64_t *g, int64_t s,
    int64_t *p, int64_t *q, int64_t n)
{
    int64_t x[38];
    int64_t b[38];
    int64_t t[38];
    add_integer(x, p, 1, n);
    over(x, x, 2, n);
    double half = 0.5 * (1.0 - p_double) + 0x1p-40;
    set_error(x, n, error(x, n) + half / units(n));
    for (int64_t m = levels(f, p_double, n); m > 0; m--) {
        int64_t k = 1 + floor_divide(m + 1, 2);
        set_integer(b, n, floor_divide(m, 2));
        fixed_point_shift(b, b, -s, n);
        fixed_point_add(b, b, g, n);
        fixed_point_times(t, x, k, n);
        fixed_point_shift(t, t, -s, n);
        fixed_point_add(t, t, b, n);
        fixed_point_multiply(b, q, b, n);
        fixed_point_divide(t, b, t, n);
        set_integer(b, n, 1);
        fixed_point_subtract(x, b, t, n);
    }
    /* E = X/(f + X) */
    fixed_point_shift(t, x, -s, n);
    fixed_point_add(t, t, g, n);
    fixed_point_divide(z, x, t, n);
}

/* Let z 2^s be r(e), if itself, or (1 - e r(e))/e, and return s; |e| <= 1/2. */
RISKCORE_PLAIN int64_t fixed_point_step_reflected(int64_t *z, double e_, bool itself,
    int64_t p_scale, int64_t *p_mantissa, int64_t *p, int64_t *q, int64_t *v, int64_t n)
{
    int64_t t[38];
    int64_t u[38];
    int64_t size_e[38];
    int64_t E[38];
    bool below = e_ < 0.0;
    const Tuple_di t1 = mantissa(below ? -e_ : e_);
    double m = t1.a;
    int64_t s = t1.b;
    set_double(size_e, n, m);
    fixed_point_shift(t, size_e, s, n);
    fixed_point_log(u, v, p_scale, n);
    fixed_point_multiply(u, u, t, n);
    if (below) {
        fixed_point_negate(u, u, n);
    }
    int64_t k = fixed_point_exp(z, u, n);
    sinc(u, t, n);
    fixed_point_divide(z, z, u, n);
    /* D(1-e, q) = q - e + p E(1-e, q) */
    if (below) {
        fixed_point_negate(t, t, n);
    }
    set_integer(u, n, 1);
    fixed_point_subtract(u, u, t, n);
    e(E, 1.0 - e_, fixed_point_rounded(q), u, 0, q, p, n);
    fixed_point_multiply(u, E, p, n);
    fixed_point_add(u, u, q, n);
    fixed_point_subtract(u, u, t, n);
    fixed_point_multiply(t, t, p_mantissa, n);
    fixed_point_divide(t, t, u, n);
    int64_t scaled_by = k > 0 || itself ? k : 0;
    fixed_point_shift(z, z, k - scaled_by, n);
    fixed_point_shift(t, t, p_scale - scaled_by, n);
    fixed_point_subtract(z, z, t, n);
    if (itself) {
        fixed_point_divide(z, z, size_e, n);
        return scaled_by - s;
    }
    set_integer(u, n, 1);
    fixed_point_shift(u, u, -scaled_by, n);
    fixed_point_subtract(z, u, z, n);
    fixed_point_shift(z, z, -s, n);
    fixed_point_divide(z, z, size_e, n);
    if (below) {
        fixed_point_negate(z, z, n);
    }
    return scaled_by;
}

/* Let z 2^s be r, return s, for small p and f < 1024. */
RISKCORE_PLAIN int64_t by_contiguity(int64_t *z, double f, int64_t p_scale,
    int64_t *p_mantissa, int64_t *p, int64_t *q, int64_t n)
{
    int64_t v[38];
    int64_t t[38];
    int64_t u[38];
    fixed_point_divide(v, p_mantissa, q, n);
    int64_t steps = f > 0.5 ? (int64_t)(f + 0.5) - 1 : -1;
    double e = steps < 0 ? f : f - (double)steps - 1.0;
    int64_t first = steps - last_steps(p_scale, n);
    int64_t scaled_by = 0;
    if (first >= 2) {
        set_integer(z, n, 1);
        over(z, z, 2, n);
        set_error(z, n, 0.5 / units(n));
    } else {
        if (e == 0.0) {
            fixed_point_log(z, p_mantissa, p_scale, n);
            fixed_point_negate(z, z, n);
        } else {
            scaled_by = fixed_point_step_reflected(z, e, steps < 0, p_scale, p_mantissa, p, q,
                v, n);
            if (steps < 0) {
                return scaled_by;
            }
        }
    }
    /* T = z 2^scaled_by */
    const int64_t t1 = steps + 1;
    for (int64_t step = first >= 2 ? first + 1 : 1; step < t1; step++) {
        fixed_point_multiply(z, z, v, n);
        fixed_point_shift(z, z, p_scale + scaled_by, n);
        scaled_by = 0;
        set_double(t, n, e + (double)step);
        set_integer(u, n, 1);
        fixed_point_divide(u, u, t, n);
        fixed_point_subtract(z, u, z, n);
    }
    fixed_point_multiply(z, z, v, n);
    return p_scale + scaled_by;
}

/* Let z 2^s be r, return s: for f < 1, r = (p f + w)/(f (f + w)). */
RISKCORE_PLAIN int64_t fixed_point_step_below_one(int64_t *z, double f, int64_t *p,
    int64_t *q, int64_t n)
{
    int64_t g[38];
    int64_t g_small[38];
    int64_t t[38];
    const Tuple_di t1 = mantissa(f);
    double m = t1.a;
    int64_t s = t1.b;
    set_double(g, n, m);
    fixed_point_shift(g_small, g, s, n);
    add_integer(t, g_small, 1, n);
    e(z, f + 1.0, fixed_point_rounded(p), t, 0, p, q, n);
    fixed_point_multiply(z, z, q, n);
    fixed_point_add(z, z, p, n);
    fixed_point_add(t, z, g_small, n);
    fixed_point_multiply(g_small, g_small, p, n);
    fixed_point_add(z, z, g_small, n);
    fixed_point_divide(z, z, t, n);
    fixed_point_divide(z, z, g, n);
    return -s;
}

/* Let z 2^s be r, return s: for f >= 1 with p not small or f large, r = p/D. */
RISKCORE_PLAIN int64_t by_fraction(int64_t *z, double f, int64_t p_scale, int64_t *p_mantissa,
    int64_t *p, int64_t *q, int64_t n)
{
    int64_t g[38];
    int64_t one[38];
    int64_t t[38];
    const Tuple_di t1 = mantissa(f);
    double m = t1.a;
    int64_t s = t1.b;
    set_double(g, n, m);
    e(z, f, fixed_point_rounded(p), g, s, p, q, n);
    /* D 2^-s = g - 2^-s + (p + q E) 2^-s, E = z 2^-s */
    fixed_point_multiply(z, z, q, n);
    fixed_point_shift(z, z, -s, n);
    fixed_point_add(z, z, p, n);
    set_integer(one, n, 1);
    fixed_point_subtract(z, z, one, n);
    fixed_point_shift(t, z, -s, n);
    fixed_point_add(t, t, g, n);
    fixed_point_divide(z, p_mantissa, t, n);
    return p_scale - s;
}

static const double fixed_point_step_F_LEVELS = 1024.0;

/* Let z 2^s be r(f, a/b) for 0 < a < b, with its error, and return s. */
RISKCORE_SHARED int64_t risk_in_words(int64_t *z, double f, double a, double b, int64_t n)
{
    int64_t p_mantissa[38];
    int64_t p[38];
    int64_t q[38];
    int64_t t[38];
    const Tuple_di t1 = mantissa(a);
    double m = t1.a;
    int64_t s = t1.b;
    set_double(p_mantissa, n, m);
    const Tuple_di t2 = mantissa(b);
    m = t2.a;
    int64_t s_b = t2.b;
    set_double(t, n, m);
    fixed_point_divide(p_mantissa, p_mantissa, t, n);
    int64_t p_scale = s - s_b;
    fixed_point_shift(p, p_mantissa, p_scale, n);
    set_integer(q, n, 1);
    fixed_point_subtract(q, q, p, n);
    if (fixed_point_rounded(p) < P_LEVELS && f < fixed_point_step_F_LEVELS) {
        return by_contiguity(z, f, p_scale, p_mantissa, p, q, n);
    }
    if (f < 1.0) {
        return fixed_point_step_below_one(z, f, p, q, n);
    }
    return by_fraction(z, f, p_scale, p_mantissa, p, q, n);
}

/* --- riskcore/core/special/fixed_point.py --------------------------------------- */

static const int64_t MANY = 1073741824;

/* Return the sign of a number, 0 if its error leaves it open. */
RISKCORE_PLAIN int64_t sign(int64_t *x, int64_t n)
{
    /* The first words tell the size to 2^-30 of itself. */
    int64_t total = 0;
    int64_t words = 0;
    while (words < n && size_of(total) < MANY) {
        total = total * BASE + x[words];
        words += 1;
    }
    double least = (double)(size_of(total) - 1);
    for (int64_t unused_ = words; unused_ < n; unused_++) {
        least *= (double)BASE;
    }
    if (least > error(x, n) * fixed_point_OUTWARD) {
        return total > 0 ? 1 : -1;
    }
    return 0;
}

/* --- riskcore/core/special/gauss/fixed_point_step.py ---------------------------- */

static const int64_t FEW_WORDS = 7;
static const int64_t WORDS = 37;
static const int64_t MORE_WORDS = 12;

/* Return the sign of r(f, a/b) - x, or of r minus the midpoint above x. */
RISKCORE_SHARED int64_t side(double f, double a, double b, double x, bool middle)
{
    if (x == 0.0 && !middle) {
        return 1;
    }
    int64_t B[38];
    int64_t z[38];
    int64_t n = FEW_WORDS;
    int64_t s = boundary(B, x, middle, n);
    int64_t at = at_a_limit(f, a, b, B, s, n);
    if (at != 0) {
        return at;
    }
    while (true) {
        int64_t size_ = risk_in_words(z, f, a, b, n);
        /* The nearer their sizes, the more bits are left; far apart is decided. */
        if (s - size_ > 26) {
            return -1;
        }
        if (s - size_ < -60) {
            return 1;
        }
        boundary(B, x, middle, n);
        fixed_point_shift(B, B, s - size_, n);
        fixed_point_subtract(z, z, B, n);
        int64_t found = sign(z, n);
        if (found != 0 || n == WORDS) {
            return found;
        }
        n = n < MORE_WORDS ? MORE_WORDS : WORDS;
    }
}

/* --- riskcore/core/special/gauss/ball_step.py ----------------------------------- */

static const double WIDEST = 0x1p-60;

/* Return the double nearest r(f, a/b), a < b, where a ball contains r 2^(600 n). */
RISKCORE_PLAIN double ball_step_nearest(double f, double a, double b, Triple ball, int64_t n)
{
    double high = ball.a, low = ball.b, radius = ball.c;
    if (!(radius <= WIDEST * high && WIDEST * high < INFINITY)) {
        return NAN;
    }
    double result = scaled(high, -n);
    if (is_nearest(ball, n, result)) {
        return result;
    }
    /* r is nearest to x, which is finite, or the double above: a ball holds one midpoint at
       most. */
    double x = towards_zero(low < 0.0 ? double_below(high) : high, n);
    int64_t where = side(f, a, b, x, true);
    return where < 0 ? x : (where > 0 ? double_above(x) : NAN);
}

/* Return the double nearest r(f, p), or nan; nan outside the domain. */
RISKCORE_SHARED double nearest_slow(double f, double p)
{
    if (!ball_step_inside(f, p, 1.0)) {
        return NAN;
    }
    if (p == 1.0) {
        return 1.0 / f;
    }
    const Tuple_ddd_i t1 = risk_ball(f, p);
    Triple ball = t1.a;
    int64_t n = t1.b;
    return ball_step_nearest(f, p, 1.0, ball, n);
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Return the double nearest r(f, p (1 + excess)), or nan. */
RISKCORE_PLAIN double nearest_of_cell(double f, double p, double excess)
{
    double r = value(f, p, excess);
    return r == r ? r : nearest_slow(f, p);
}

RISKCORE_PLAIN double individual_risk_of_one(double f, double p)
{
    return nearest_of_cell(f, p, 0.0);
}

static const int64_t BLOCK = 512;

/* Return whether a block may read argument k in place. */
RISKCORE_PLAIN bool in_place(double **args, int64_t *steps, int64_t k)
{
    int64_t gap = address(args[2]) - address(args[k]);
    return (bool)((steps[k] == 8) & ((steps[2] != 8) | (size_of(gap) >= 8 * BLOCK)));
}

/* --- riskcore/core/special/loops.py --------------------------------------------- */

/* Return how many cells may be read before the first result is written. */
RISKCORE_PLAIN int64_t cells_ahead(double *first, int64_t step, double *out)
{
    return ((step == 0) | (address(out) - address(first) == step)) ? 1 : BLOCK;
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Return n contiguous doubles: in place, or copied to the stack. */
RISKCORE_PLAIN double *column(double *array, int64_t first, int64_t step, double *room,
    int64_t n, bool in_place)
{
    if (!in_place) {
        for (int64_t i = 0; i < n; i++) {
            room[i] = array[(first + i) * (step >> 3)];
        }
    }
    return in_place ? array + first : room;
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

static const int64_t blocks_WORD = 64;
static const int64_t NOTHING = 255;

/* Fill the codes after n up to whole masks; return the number of masks. */
RISKCORE_PLAIN int64_t padded(uint8_t *codes, int64_t n)
{
    int64_t words = floor_divide(n + blocks_WORD - 1, blocks_WORD);
    const int64_t t1 = words * blocks_WORD;
    RISKCORE_EACH
    for (int64_t i = n; i < t1; i++) {
        codes[i] = (uint8_t)(NOTHING);
    }
    return words;
}

RISKCORE_PLAIN int64_t classify_cells(double *f, double *p, uint8_t *codes, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]));
    }
    return padded(codes, n);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

static const int64_t risk_blocks_REGIONS = 11;

/* Return the region to try on a whole block; REGIONS if none is common enough. */
RISKCORE_PLAIN int64_t prevailing(double *f, double *p, uint8_t *codes, int64_t n)
{
    n = lesser_integer(n, 64);
    classify_cells(f, p, codes, n);
    int64_t ones = size(matching(codes, 0, fast_integer_ONE));
    int64_t small = size(matching(codes, 0, SMALL));
    if (2 * (ones + small) > n) {
        return small > 0 ? SMALL : fast_integer_ONE;
    }
    {
        const int64_t w = 3;
        if (2 * size(matching(codes, 0, w)) > n) {
            return w;
        }
    }
    {
        const int64_t w = 6;
        if (2 * size(matching(codes, 0, w)) > n) {
            return w;
        }
    }
    {
        const int64_t w = 2;
        if (2 * size(matching(codes, 0, w)) > n) {
            return w;
        }
    }
    return risk_blocks_REGIONS;
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

/* Return whether the region is ONE. */
RISKCORE_KERNEL bool is_one(double f, double p)
{
    return (f == 1.0) & (p < P_NEAR_ONE) & (p >= fast_integer_RARE);
}

/* Return whether the region is ONE or SMALL. */
RISKCORE_KERNEL bool is_small(double f, double p)
{
    bool integer = f + TWO_52 - TWO_52 == f;
    return integer & (f >= 1.0) & (f <= 4.0) & (p < P_NEAR_ONE) & (p >= fast_integer_RARE);
}

/* Return whether the region is NEAR_ONE. */
RISKCORE_KERNEL bool is_near_one(double f, double p)
{
    bool integer = f + TWO_52 - TWO_52 == f;
    return integer & (f >= 1.0) & (f <= 3.0) & (p >= P_NEAR_ONE) & (p <= 1.0);
}

/* Return whether the region is FROM_32. */
RISKCORE_KERNEL bool is_from_32(double f, double p)
{
    return (f >= 32.0) & (f <= fast_integer_F_HUGE) & (p >= fast_integer_RARE) & (p <= 1.0);
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

/* List the cells that have a code; return their number. */
RISKCORE_PLAIN int64_t pick(uint8_t *codes, int64_t words, int64_t code, int64_t *picked)
{
    int64_t m = 0;
    for (int64_t j = 0; j < words; j++) {
        int64_t mask = matching(codes, j * blocks_WORD, code);
        while (mask != 0) {
            picked[m] = pattern_sum(j * blocks_WORD, lowest(mask));
            mask &= pattern_difference(mask, 1);
            m += 1;
        }
    }
    return m;
}

/* List the cells among n that have a code; return their number. */
RISKCORE_PLAIN int64_t list_of(uint8_t *codes, int64_t n, int64_t code, int64_t *picked)
{
    return pick(codes, padded(codes, n), code, picked);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

/* List the cells that the method of region w does not serve. */
RISKCORE_PLAIN int64_t set_apart(int64_t w, double *f, double *p, uint8_t *codes, int64_t n,
    int64_t *rest)
{
    if (w == fast_integer_ONE) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (uint8_t)(is_one(f[i], p[i]));
        }
    } else {
        if (w == SMALL) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                codes[i] = (uint8_t)(is_small(f[i], p[i]));
            }
        } else {
            if (w == fast_integer_NEAR_ONE) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    codes[i] = (uint8_t)(is_near_one(f[i], p[i]));
                }
            } else {
                if (w == FROM_32) {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        codes[i] = (uint8_t)(is_from_32(f[i], p[i]));
                    }
                } else {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]) == w);
                    }
                }
            }
        }
    }
    return list_of(codes, n, 0, rest);
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

static const int64_t VECTOR = 8;

/* Repeat the first cell up to whole vectors; return the new length. */
RISKCORE_PLAIN int64_t filled_up(int64_t *picked, int64_t m)
{
    int64_t full = floor_divide(m + VECTOR - 1, VECTOR) * VECTOR;
    for (int64_t j = m; j < full; j++) {
        picked[j] = picked[0];
    }
    return full;
}

/* Copy the n cells listed. */
RISKCORE_PLAIN void gather(double *f, double *p, double *excess, int64_t *picked,
    double *to_f, double *to_p, double *to_e, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        int64_t i = picked[j];
        to_f[j] = f[i];
        to_p[j] = p[i];
        to_e[j] = excess[i];
    }
}

RISKCORE_PLAIN int64_t classify(double *f, double *p, uint8_t *codes, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]));
    }
    return padded(codes, n);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_fill(int64_t w, double *f, double *p, double *excess,
    double *out, int64_t n)
{
    /* Short loops that pass results on the stack: a processor runs more of their iterations at
       once than of one long loop. */
    double a[512];
    double b[512];
    double high, low, error;
    if (w <= FORWARD_15) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = log_pair(p[i]);
            a[i] = t1.a;
            b[i] = t1.b;
        }
        if (w == fast_integer_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t2 = by_logarithm_one(p[i], a[i], b[i]);
                high = t2.a;
                low = t2.b;
                error = t2.c;
                out[i] = risk(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == SMALL) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t3 = by_logarithm_4(f[i], p[i], a[i], b[i]);
                    high = t3.a;
                    low = t3.b;
                    error = t3.c;
                    out[i] = risk(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                double v[512];
                double v_low[512];
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Tuple_dddd t4 = by_logarithm_8(f[i], p[i], a[i], b[i]);
                    v[i] = t4.a;
                    v_low[i] = t4.b;
                    a[i] = t4.c;
                    b[i] = t4.d;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t5 = by_logarithm_15(f[i], v[i], v_low[i], a[i], b[i]);
                    high = t5.a;
                    low = t5.b;
                    error = t5.c;
                    out[i] = risk(f[i], p[i], excess[i], high, low, error);
                }
            }
        }
    } else {
        if (w == fast_integer_NEAR_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t6 = near_one(f[i], p[i]);
                high = t6.a;
                low = t6.b;
                error = t6.c;
                out[i] = risk(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == fast_integer_LEVELS) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Pair t7 = tail_23(f[i], p[i]);
                    a[i] = t7.a;
                    b[i] = t7.b;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t8 = by_levels(f[i], p[i], a[i], b[i]);
                    high = t8.a;
                    low = t8.b;
                    error = t8.c;
                    out[i] = risk(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                if (w == FROM_32) {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Pair t9 = tail_17(f[i], p[i]);
                        a[i] = t9.a;
                        b[i] = t9.b;
                    }
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Triple t10 = by_e_32(f[i], p[i], a[i], b[i]);
                        high = t10.a;
                        low = t10.b;
                        error = t10.c;
                        out[i] = risk(f[i], p[i], excess[i], high, low, error);
                    }
                } else {
                    if (w == FROM_16) {
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Pair t11 = tail_35(f[i], p[i]);
                            a[i] = t11.a;
                            b[i] = t11.b;
                        }
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Triple t12 = by_e_16(f[i], p[i], a[i], b[i]);
                            high = t12.a;
                            low = t12.b;
                            error = t12.c;
                            out[i] = risk(f[i], p[i], excess[i], high, low, error);
                        }
                    } else {
                        if (w == LEVELS_REAL) {
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Pair t13 = tail_35(f[i], p[i]);
                                a[i] = t13.a;
                                b[i] = t13.b;
                            }
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Triple t14 = by_levels_real(f[i], p[i], a[i], b[i]);
                                high = t14.a;
                                low = t14.b;
                                error = t14.c;
                                out[i] = risk(f[i], p[i], excess[i], high, low, error);
                            }
                        } else {
                            if (w == FORWARD_REAL) {
                                RISKCORE_EACH
                                for (int64_t i = 0; i < n; i++) {
                                    const Triple t15 = forward_real(f[i], p[i]);
                                    high = t15.a;
                                    low = t15.b;
                                    error = t15.c;
                                    out[i] = risk(f[i], p[i], excess[i], high, low, error);
                                }
                            } else {
                                if (w == BACKWARD_REAL) {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        const Triple t16 = backward_real(f[i], p[i]);
                                        high = t16.a;
                                        low = t16.b;
                                        error = t16.c;
                                        out[i] = risk(f[i], p[i], excess[i], high, low, error);
                                    }
                                } else {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        out[i] = NAN;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

/* Copy n values to the cells listed. */
RISKCORE_PLAIN void scatter(double *source, int64_t *picked, double *target, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        target[picked[j]] = source[j];
    }
}

RISKCORE_PLAIN void blocks_block(double *f, double *p, double *excess, double *out, int64_t n)
{
    uint8_t codes[512];
    int64_t rest[513];
    int64_t picked[513];
    double f_rest[512];
    double p_rest[512];
    double excess_rest[512];
    double out_rest[512];
    double f_picked[512];
    double p_picked[512];
    double excess_picked[512];
    double out_picked[512];
    bool alone = n == 1;
    int64_t first = alone ? fast_integer_region(f[0], p[0]) : prevailing(f, p, codes, n);
    bool in_place = first < 11;
    int64_t left = alone ? 0 : n;
    if (in_place && !alone) {
        left = filled_up(rest, set_apart(first, f, p, codes, n, rest));
        gather(f, p, excess, rest, f_rest, p_rest, excess_rest, left);
    }
    double *x = in_place ? f_rest : f;
    double *y = in_place ? p_rest : p;
    double *z = in_place ? excess_rest : excess;
    double *value = in_place ? out_rest : out;
    int64_t words = classify(x, y, codes, left);
    /* One turn for the cells in place, then one for each region among the rest, in a loop with
       a single call of ``fill``, which is long. */
    const int64_t t1 = left == 0 ? 1 : 11 + 1;
    for (int64_t turn = 0; turn < t1; turn++) {
        int64_t w = first;
        int64_t m = in_place ? n : 0;
        int64_t full = n;
        if (turn > 0) {
            w = turn - 1;
            m = pick(codes, words, w, picked);
            full = w < 11 - 1 ? filled_up(picked, m) : m;
            gather(x, y, z, picked, f_picked, p_picked, excess_picked, full);
        }
        if (m > 0) {
            risk_blocks_fill(w, turn > 0 ? f_picked : f, turn > 0 ? p_picked : p,
                turn > 0 ? excess_picked : excess, turn > 0 ? out_picked : out, full);
        }
        if (turn > 0) {
            scatter(out_picked, picked, value, full);
        }
    }
    if (in_place) {
        scatter(out_rest, rest, out, left);
    }
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

/* Return whether one of n values is nan; branchless, as most often none is. */
RISKCORE_PLAIN bool missing(double *out, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        count += out[i] != out[i];
    }
    return count > 0;
}

RISKCORE_PLAIN void complete(double *f, double *x, double *out, int64_t n)
{
    if (missing(out, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (out[i] != out[i]) {
                out[i] = nearest_slow(f[i], x[i]);
            }
        }
    }
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Fill out with what nearest_of_cell returns for each of n cells. */
RISKCORE_PLAIN void nearest_of_block(double *f, double *p, double *excess, double *out,
    int64_t n)
{
    blocks_block(f, p, excess, out, n);
    complete(f, p, out, n);
}

/* Copy n doubles from the stack to a strided array. */
RISKCORE_PLAIN void store(double *room, double *array, int64_t first, int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        array[(first + i) * (step >> 3)] = room[i];
    }
}

RISKCORE_PLAIN void individual_risk_of_many(double **args, int64_t *sizes, int64_t *steps,
    int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double out_room[512];
    bool f_is = in_place(args, steps, 0);
    bool p_is = in_place(args, steps, 1);
    bool out_is = steps[2] == 8;
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, f_is);
        double *p = column(args[1], first, steps[1], p_room, n, p_is);
        double *out = out_is ? args[2] + first : out_room;
        nearest_of_block(f, p, f, out, n);
        if (!out_is) {
            store(out_room, args[2], first, steps[2], n);
        }
        first += n;
    }
}

RISKCORE_KERNEL bool individual_inside(double f, double F)
{
    return (f > 0.0) & (f <= F) & (INFINITY > F);
}

/* Return p and excess with f/F = p (1 + excess); 0 for p outside the domain. */
RISKCORE_KERNEL Pair fraction(double f, double F)
{
    double p = individual_inside(f, F) ? f / F : 0.0;
    return (Pair){p, fma(-p, F, f) / f};
}

static const double CLOSE = 0x1p-12;

/* Return the double nearest r(f, p (1 + d)) = r (1 + C d), up to d^2. */
RISKCORE_KERNEL double moved_risk(double f, double p, double excess, double high, double low,
    double error)
{
    double q = 1.0 - p;
    bool far = (q > CLOSE) & (f < 1.0 / CLOSE);
    double C = (far ? f - p / high : f) / (far ? q : f + 1.0);
    low = fma(high, C * excess, low);
    return rounding_test_rounded(high, low, fma(CLOSE * magnitude(excess), high, error));
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN double moved_value(double f, double p, double excess)
{
    int64_t where = fast_integer_region(f, p);
    if (where == fast_integer_OTHER) {
        return NAN;
    }
    const Triple t1 = pair_of_region(where, f, p);
    double high = t1.a, low = t1.b, error = t1.c;
    if (where == FROM_16) {
        return moved_risk(f, p, excess, high, low, error);
    }
    if (where == FROM_32) {
        return moved_risk(f, p, excess, high, low, error);
    }
    return moved_risk(f, p, excess, high, low, error);
}

/* --- riskcore/core/special/gauss/extremes.py ------------------------------------ */

/* Return r(f, f/F) 2^(600 n) up to a factor 1 + O(p log p), p = f/F, and n. */
RISKCORE_PLAIN Tuple_ddd_i rare_risk(double f, double F)
{
    Triple size_ = (Triple){scaled(F, -1), 0.0, 0.0};
    if (f > 1.5) {
        const Pair t1 = two_sum(f, -1.0);
        double base = t1.a, base_low = t1.b;
        return (Tuple_ddd_i){balls_divide(balls_divide((Triple){f, 0.0, 0.0}, (Triple){base,
            base_low, 0.0}), size_), 1};
    }
    int64_t k = scaling(f);
    double x = scaled(f, k);
    Triple log_p = balls_subtract(balls_log((Triple){x, 0.0, 0.0}, -600.0 * (double)k),
        balls_log(size_, 600.0));
    double power;
    Triple m;
    if (f <= 0.5) {
        const Tuple_d_ddd t2 = scaled_exp(multiply_double(log_p, f));
        power = t2.a;
        m = t2.b;
        Triple limit = balls_multiply(balls_exp(power, m), add_double(sine_excess(f), 1.0));
        return (Tuple_ddd_i){balls_divide(limit, (Triple){scaled(x, k - 1), 0.0, 0.0}),
            1 - 2 * k};
    }
    double e = f - 1.0;
    if (e == 0.0) {
        return (Tuple_ddd_i){balls_divide(balls_negate(log_p), size_), 1};
    }
    const Tuple_d_ddd t3 = scaled_exp(multiply_double(log_p, e));
    power = t3.a;
    m = t3.b;
    Triple b = balls_expm1(power, m);
    Triple c = sine_excess(e);
    Triple above = balls_negate(balls_add(balls_add(b, c), balls_multiply(b, c)));
    return (Tuple_ddd_i){balls_divide(multiply_double(above, f), multiply_double(size_, e)), 1};
}

/* --- riskcore/core/special/gauss/ball_step.py ----------------------------------- */

/* Return C = (p/r) dr/dp and a bound of its error, given D = p/r to 4 units. */
RISKCORE_PLAIN Pair condition(double f, double p, double D)
{
    double q = 1.0 - p;
    double least = p / (f + p);
    double most = 1.0 / (f + 1.0);
    double C = 1.0 - 0.5 * (least + most);
    double error = 0.5 * (most - least) + 8.0 * balls_UNIT;
    double by_risk = 8.0 * balls_UNIT * f;
    bool better = by_risk < q * error;
    return (Pair){better ? (f - D) / q : C, better ? by_risk / q + 8.0 * balls_UNIT : error};
}

static const double ball_step_RARE = 0x1p-960;
static const double RARE_ERROR = 0x1p-470;
static const double ball_step_UP = 0x1p460;

/* Return a ball that contains r(f, f/F) 2^(600 n), and n, for 0 < f < F. */
RISKCORE_PLAIN Tuple_ddd_i frequencies_ball(double f, double F)
{
    double p = f / F;
    Triple ball;
    int64_t n;
    if (p < ball_step_RARE) {
        const Tuple_ddd_i t1 = rare_risk(f, F);
        ball = t1.a;
        n = t1.b;
        return (Tuple_ddd_i){widen(ball, RARE_ERROR * ball.a), n};
    }
    double up = f < enclosure_TINY ? ball_step_UP : 1.0;
    double d = fma(-p, F * up, f * up) / (f * up);
    const Tuple_ddd_i t2 = risk_ball(f, p);
    ball = t2.a;
    n = t2.b;
    double r = ball.a;
    const Pair t3 = condition(f, p, scaled(p, n) / r);
    double C = t3.a, error = t3.b;
    double lost = magnitude(d) * (error + magnitude(d) + 12.0 * balls_UNIT);
    return (Tuple_ddd_i){widen(balls_add(ball, multiply_double(ball, C * d)), r * lost), n};
}

/* Return the double nearest r(f, f/F), or nan; nan outside the domain. */
RISKCORE_SHARED double nearest_slow_of(double f, double F)
{
    if (!ball_step_inside(f, f, F)) {
        return NAN;
    }
    if (f == F) {
        return 1.0 / f;
    }
    const Tuple_ddd_i t1 = frequencies_ball(f, F);
    Triple ball = t1.a;
    int64_t n = t1.b;
    return ball_step_nearest(f, f, F, ball, n);
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Return the double nearest r(f, f/F), or nan. */
RISKCORE_PLAIN double individual_risk_from_frequencies_of_one(double f, double F)
{
    const Pair t1 = fraction(f, F);
    double p = t1.a, excess = t1.b;
    double r = moved_value(f, p, excess);
    return r == r ? r : nearest_slow_of(f, F);
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN int64_t blocks_classify(double *f, double *p, uint8_t *codes, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]));
    }
    return padded(codes, n);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_fill_2(int64_t w, double *f, double *p, double *excess,
    double *out, int64_t n)
{
    /* Short loops that pass results on the stack: a processor runs more of their iterations at
       once than of one long loop. */
    double a[512];
    double b[512];
    double high, low, error;
    if (w <= FORWARD_15) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = log_pair(p[i]);
            a[i] = t1.a;
            b[i] = t1.b;
        }
        if (w == fast_integer_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t2 = by_logarithm_one(p[i], a[i], b[i]);
                high = t2.a;
                low = t2.b;
                error = t2.c;
                out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == SMALL) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t3 = by_logarithm_4(f[i], p[i], a[i], b[i]);
                    high = t3.a;
                    low = t3.b;
                    error = t3.c;
                    out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                double v[512];
                double v_low[512];
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Tuple_dddd t4 = by_logarithm_8(f[i], p[i], a[i], b[i]);
                    v[i] = t4.a;
                    v_low[i] = t4.b;
                    a[i] = t4.c;
                    b[i] = t4.d;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t5 = by_logarithm_15(f[i], v[i], v_low[i], a[i], b[i]);
                    high = t5.a;
                    low = t5.b;
                    error = t5.c;
                    out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
                }
            }
        }
    } else {
        if (w == fast_integer_NEAR_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t6 = near_one(f[i], p[i]);
                high = t6.a;
                low = t6.b;
                error = t6.c;
                out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == fast_integer_LEVELS) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Pair t7 = tail_23(f[i], p[i]);
                    a[i] = t7.a;
                    b[i] = t7.b;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t8 = by_levels(f[i], p[i], a[i], b[i]);
                    high = t8.a;
                    low = t8.b;
                    error = t8.c;
                    out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                if (w == FROM_32) {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Pair t9 = tail_17(f[i], p[i]);
                        a[i] = t9.a;
                        b[i] = t9.b;
                    }
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Triple t10 = by_e_32(f[i], p[i], a[i], b[i]);
                        high = t10.a;
                        low = t10.b;
                        error = t10.c;
                        out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
                    }
                } else {
                    if (w == FROM_16) {
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Pair t11 = tail_35(f[i], p[i]);
                            a[i] = t11.a;
                            b[i] = t11.b;
                        }
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Triple t12 = by_e_16(f[i], p[i], a[i], b[i]);
                            high = t12.a;
                            low = t12.b;
                            error = t12.c;
                            out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
                        }
                    } else {
                        if (w == LEVELS_REAL) {
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Pair t13 = tail_35(f[i], p[i]);
                                a[i] = t13.a;
                                b[i] = t13.b;
                            }
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Triple t14 = by_levels_real(f[i], p[i], a[i], b[i]);
                                high = t14.a;
                                low = t14.b;
                                error = t14.c;
                                out[i] = moved_risk(f[i], p[i], excess[i], high, low, error);
                            }
                        } else {
                            if (w == FORWARD_REAL) {
                                RISKCORE_EACH
                                for (int64_t i = 0; i < n; i++) {
                                    const Triple t15 = forward_real(f[i], p[i]);
                                    high = t15.a;
                                    low = t15.b;
                                    error = t15.c;
                                    out[i] = moved_risk(f[i], p[i], excess[i], high, low,
                                        error);
                                }
                            } else {
                                if (w == BACKWARD_REAL) {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        const Triple t16 = backward_real(f[i], p[i]);
                                        high = t16.a;
                                        low = t16.b;
                                        error = t16.c;
                                        out[i] = moved_risk(f[i], p[i], excess[i], high, low,
                                            error);
                                    }
                                } else {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        out[i] = NAN;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN void moved_block(double *f, double *p, double *excess, double *out, int64_t n)
{
    uint8_t codes[512];
    int64_t rest[513];
    int64_t picked[513];
    double f_rest[512];
    double p_rest[512];
    double excess_rest[512];
    double out_rest[512];
    double f_picked[512];
    double p_picked[512];
    double excess_picked[512];
    double out_picked[512];
    bool alone = n == 1;
    int64_t first = alone ? fast_integer_region(f[0], p[0]) : prevailing(f, p, codes, n);
    bool in_place = first < 11;
    int64_t left = alone ? 0 : n;
    if (in_place && !alone) {
        left = filled_up(rest, set_apart(first, f, p, codes, n, rest));
        gather(f, p, excess, rest, f_rest, p_rest, excess_rest, left);
    }
    double *x = in_place ? f_rest : f;
    double *y = in_place ? p_rest : p;
    double *z = in_place ? excess_rest : excess;
    double *value = in_place ? out_rest : out;
    int64_t words = blocks_classify(x, y, codes, left);
    /* One turn for the cells in place, then one for each region among the rest, in a loop with
       a single call of ``fill``, which is long. */
    const int64_t t1 = left == 0 ? 1 : 11 + 1;
    for (int64_t turn = 0; turn < t1; turn++) {
        int64_t w = first;
        int64_t m = in_place ? n : 0;
        int64_t full = n;
        if (turn > 0) {
            w = turn - 1;
            m = pick(codes, words, w, picked);
            full = w < 11 - 1 ? filled_up(picked, m) : m;
            gather(x, y, z, picked, f_picked, p_picked, excess_picked, full);
        }
        if (m > 0) {
            risk_blocks_fill_2(w, turn > 0 ? f_picked : f, turn > 0 ? p_picked : p,
                turn > 0 ? excess_picked : excess, turn > 0 ? out_picked : out, full);
        }
        if (turn > 0) {
            scatter(out_picked, picked, value, full);
        }
    }
    if (in_place) {
        scatter(out_rest, rest, out, left);
    }
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void complete_moved(double *f, double *x, double *out, int64_t n)
{
    if (missing(out, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (out[i] != out[i]) {
                out[i] = nearest_slow_of(f[i], x[i]);
            }
        }
    }
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Fill out with what from_frequencies_of_cell returns for n cells. */
RISKCORE_PLAIN void from_frequencies_of_block(double *f, double *F, double *unused_,
    double *out, int64_t n)
{
    (void)unused_;
    double p[512];
    double excess[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = fraction(f[i], F[i]);
        p[i] = t1.a;
        excess[i] = t1.b;
    }
    moved_block(f, p, excess, out, n);
    complete_moved(f, F, out, n);
}

RISKCORE_PLAIN void individual_risk_from_frequencies_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double out_room[512];
    bool f_is = in_place(args, steps, 0);
    bool p_is = in_place(args, steps, 1);
    bool out_is = steps[2] == 8;
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, f_is);
        double *p = column(args[1], first, steps[1], p_room, n, p_is);
        double *out = out_is ? args[2] + first : out_room;
        from_frequencies_of_block(f, p, f, out, n);
        if (!out_is) {
            store(out_room, args[2], first, steps[2], n);
        }
        first += n;
    }
}

static const double P_TO_ONE = 0x1.ffffep-1;
static const double individual_NEAR_ONE = 0.015625;

RISKCORE_KERNEL double log_risk(double f, double p, double excess, double high, double low,
    double error)
{
    (void)excess;
    (void)error;
    const Pair t1 = fast_two_sum(high, low);
    high = t1.a;
    low = t1.b;
    /* Left to slow steps: r so near 1 that the pair has too few digits, for f = 1 later. */
    bool near = f == 1.0 ? (p > P_TO_ONE) & (p < 1.0)
        : magnitude(high - 1.0) < individual_NEAR_ONE;
    const Pair t2 = log_pair(high);
    double log_ = t2.a, log_low = t2.b;
    double value = log_ + (log_low + low / high);
    return near ? NAN : value;
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN double scalar(double f, double p, double excess)
{
    int64_t where = fast_integer_region(f, p);
    if (where == fast_integer_OTHER) {
        return NAN;
    }
    const Triple t1 = pair_of_region(where, f, p);
    double high = t1.a, low = t1.b, error = t1.c;
    if (where == FROM_16) {
        return log_risk(f, p, excess, high, low, error);
    }
    if (where == FROM_32) {
        return log_risk(f, p, excess, high, low, error);
    }
    return log_risk(f, p, excess, high, low, error);
}

/* --- riskcore/core/special/gauss/enclosure.py ----------------------------------- */

/* Return the midpoint of `risk_ball`, a double-double, and n. */
RISKCORE_SHARED Tuple_ddi risk_midpoint(double f, double p)
{
    const Tuple_ddd_i t1 = risk_ball(f, p);
    double high = t1.a.a, low = t1.a.b;
    int64_t n = t1.b;
    return (Tuple_ddi){high, low, n};
}

/* --- riskcore/core/special/gauss/fixed_point_step.py ---------------------------- */

static const double FAR_ENOUGH = 0x1p-60;
static const double LARGE_ENOUGH = 0x1p-20;

/* Return log r(f, p) to a unit in the last place, for p < 1 and |r - 1| < 2^-34. */
RISKCORE_SHARED double log_near_one(double f, double p)
{
    int64_t z[38];
    int64_t t[38];
    int64_t n = FEW_WORDS;
    bool enough = false;
    while (!enough) {
        int64_t s = risk_in_words(z, f, p, 1.0, n);
        fixed_point_shift(z, z, s, n);
        set_integer(t, n, 1);
        fixed_point_subtract(z, z, t, n);
        enough = n == MORE_WORDS || magnitude(fixed_point_rounded(z)) > FAR_ENOUGH;
        n = enough ? n : MORE_WORDS;
    }
    fixed_point_multiply(t, z, z, n);
    fixed_point_shift(t, t, -1, n);
    fixed_point_subtract(z, z, t, n);
    /* ``rounded`` keeps the digits of what is positive and not small. */
    bool negative = z[0] < 0;
    if (negative) {
        fixed_point_negate(z, z, n);
    }
    double unit = negative ? -1.0 : 1.0;
    const int64_t t1 = n - 4;
    for (int64_t unused_ = 0; unused_ < t1; unused_++) {
        if (fixed_point_rounded(z) < LARGE_ENOUGH) {
            fixed_point_shift(z, z, fixed_point_WORD, n);
            unit *= 0x1p-28;
        }
    }
    return unit * fixed_point_rounded(z);
}

/* --- riskcore/core/special/elementary.py ---------------------------------------- */

static const double elementary_T3 = 0x1.c71c720160b47p-3;
static const double elementary_T2 = 0x1.2492492476c87p-2;
static const double elementary_T1 = 0x1.9999999999a38p-2;
static const double elementary_T0 = 0x1.5555555555555p-1;
static const double T7 = 0x1.0c04595972ab8p-3;
static const double elementary_T6 = 0x1.0fbe83c2cbcf3p-3;
static const double elementary_T5 = 0x1.3b1c360763b8ap-3;
static const double elementary_T4 = 0x1.745cf901605f7p-3;

/* Return t with 2 atanh s = 2s + s^3 t, w = s^2 <= 0.0295. */
RISKCORE_KERNEL double atanh_series(double w)
{
    /* Two terms at a time (Estrin), for the sake of a short chain of operations. */
    double w2 = w * w;
    double low_half = fma(w2, fma(w, elementary_T3, elementary_T2), fma(w, elementary_T1,
        elementary_T0));
    double high_half = fma(w2, fma(w, T7, elementary_T6), fma(w, elementary_T5, elementary_T4));
    return fma(w2 * w2, high_half, low_half);
}

/* Return log x - scaled_by log 2 as a head and a tail, for a normal x. */
RISKCORE_KERNEL Pair log_high_low(double x, double scaled_by)
{
    int64_t pattern = bits(x);
    int64_t exponent = pattern_difference(pattern, SQRT_HALF_BITS) >> 52;
    double z = from_bits(pattern_difference(pattern, shift_left(exponent, 52)));
    double k = (double)exponent - scaled_by;
    double u = z - 1.0;
    double d = z + 1.0;
    double d_low = u - (d - 2.0);
    double reciprocal = 1.0 / d;
    double s = u * reciprocal;
    double s_low = fma(-s, d_low, fma(-s, d, u)) * reciprocal;
    double w = s * s;
    const Pair t1 = fast_two_sum(k * LN2_HIGH, s + s);
    double high = t1.a, low = t1.b;
    return (Pair){high, low + fma(k, elementary_LN2_LOW, fma(s * w, atanh_series(w),
        s_low + s_low))};
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

static const double AT_ONE = 0x1p-35;

RISKCORE_PLAIN double log_risk_slow(double f, double p)
{
    if (f == 1.0 && (P_TO_ONE < p && p <= 1.0)) {
        /* r = (1-z) atanh(z)/z, log r = -z - z^2/6 - z^3/3 - ..., z = q/(1 + p). */
        const Pair t1 = fast_two_sum(1.0, p);
        const Pair t2 = quotient_pair(1.0 - p, 0.0, t1.a, t1.b);
        double z = t2.a, z_low = t2.b;
        return -z - fma(z * z, 1.0 / 6.0 + z / 3.0, z_low);
    }
    const Tuple_ddi t3 = risk_midpoint(f, p);
    double r = t3.a, r_low = t3.b;
    int64_t n = t3.c;
    if (magnitude(r - 1.0 + r_low) < AT_ONE) {
        return log_near_one(f, p);
    }
    const Pair t4 = log_high_low(r, 600.0 * (double)n);
    double high = t4.a, low = t4.b;
    return high + (low + r_low / r);
}

RISKCORE_PLAIN double log_individual_risk_of_one(double f, double p)
{
    double found = scalar(f, p, 0.0);
    return found == found ? found : log_risk_slow(f, p);
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN int64_t blocks_classify_2(double *f, double *p, uint8_t *codes, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]));
    }
    return padded(codes, n);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_fill_3(int64_t w, double *f, double *p, double *excess,
    double *out, int64_t n)
{
    /* Short loops that pass results on the stack: a processor runs more of their iterations at
       once than of one long loop. */
    double a[512];
    double b[512];
    double high, low, error;
    if (w <= FORWARD_15) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = log_pair(p[i]);
            a[i] = t1.a;
            b[i] = t1.b;
        }
        if (w == fast_integer_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t2 = by_logarithm_one(p[i], a[i], b[i]);
                high = t2.a;
                low = t2.b;
                error = t2.c;
                out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == SMALL) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t3 = by_logarithm_4(f[i], p[i], a[i], b[i]);
                    high = t3.a;
                    low = t3.b;
                    error = t3.c;
                    out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                double v[512];
                double v_low[512];
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Tuple_dddd t4 = by_logarithm_8(f[i], p[i], a[i], b[i]);
                    v[i] = t4.a;
                    v_low[i] = t4.b;
                    a[i] = t4.c;
                    b[i] = t4.d;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t5 = by_logarithm_15(f[i], v[i], v_low[i], a[i], b[i]);
                    high = t5.a;
                    low = t5.b;
                    error = t5.c;
                    out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                }
            }
        }
    } else {
        if (w == fast_integer_NEAR_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t6 = near_one(f[i], p[i]);
                high = t6.a;
                low = t6.b;
                error = t6.c;
                out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == fast_integer_LEVELS) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Pair t7 = tail_23(f[i], p[i]);
                    a[i] = t7.a;
                    b[i] = t7.b;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t8 = by_levels(f[i], p[i], a[i], b[i]);
                    high = t8.a;
                    low = t8.b;
                    error = t8.c;
                    out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                if (w == FROM_32) {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Pair t9 = tail_17(f[i], p[i]);
                        a[i] = t9.a;
                        b[i] = t9.b;
                    }
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Triple t10 = by_e_32(f[i], p[i], a[i], b[i]);
                        high = t10.a;
                        low = t10.b;
                        error = t10.c;
                        out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                    }
                } else {
                    if (w == FROM_16) {
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Pair t11 = tail_35(f[i], p[i]);
                            a[i] = t11.a;
                            b[i] = t11.b;
                        }
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Triple t12 = by_e_16(f[i], p[i], a[i], b[i]);
                            high = t12.a;
                            low = t12.b;
                            error = t12.c;
                            out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                        }
                    } else {
                        if (w == LEVELS_REAL) {
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Pair t13 = tail_35(f[i], p[i]);
                                a[i] = t13.a;
                                b[i] = t13.b;
                            }
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Triple t14 = by_levels_real(f[i], p[i], a[i], b[i]);
                                high = t14.a;
                                low = t14.b;
                                error = t14.c;
                                out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                            }
                        } else {
                            if (w == FORWARD_REAL) {
                                RISKCORE_EACH
                                for (int64_t i = 0; i < n; i++) {
                                    const Triple t15 = forward_real(f[i], p[i]);
                                    high = t15.a;
                                    low = t15.b;
                                    error = t15.c;
                                    out[i] = log_risk(f[i], p[i], excess[i], high, low, error);
                                }
                            } else {
                                if (w == BACKWARD_REAL) {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        const Triple t16 = backward_real(f[i], p[i]);
                                        high = t16.a;
                                        low = t16.b;
                                        error = t16.c;
                                        out[i] = log_risk(f[i], p[i], excess[i], high, low,
                                            error);
                                    }
                                } else {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        out[i] = NAN;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN void blocks_block_2(double *f, double *p, double *excess, double *out,
    int64_t n)
{
    uint8_t codes[512];
    int64_t rest[513];
    int64_t picked[513];
    double f_rest[512];
    double p_rest[512];
    double excess_rest[512];
    double out_rest[512];
    double f_picked[512];
    double p_picked[512];
    double excess_picked[512];
    double out_picked[512];
    bool alone = n == 1;
    int64_t first = alone ? fast_integer_region(f[0], p[0]) : prevailing(f, p, codes, n);
    bool in_place = first < 11;
    int64_t left = alone ? 0 : n;
    if (in_place && !alone) {
        left = filled_up(rest, set_apart(first, f, p, codes, n, rest));
        gather(f, p, excess, rest, f_rest, p_rest, excess_rest, left);
    }
    double *x = in_place ? f_rest : f;
    double *y = in_place ? p_rest : p;
    double *z = in_place ? excess_rest : excess;
    double *value = in_place ? out_rest : out;
    int64_t words = blocks_classify_2(x, y, codes, left);
    /* One turn for the cells in place, then one for each region among the rest, in a loop with
       a single call of ``fill``, which is long. */
    const int64_t t1 = left == 0 ? 1 : 11 + 1;
    for (int64_t turn = 0; turn < t1; turn++) {
        int64_t w = first;
        int64_t m = in_place ? n : 0;
        int64_t full = n;
        if (turn > 0) {
            w = turn - 1;
            m = pick(codes, words, w, picked);
            full = w < 11 - 1 ? filled_up(picked, m) : m;
            gather(x, y, z, picked, f_picked, p_picked, excess_picked, full);
        }
        if (m > 0) {
            risk_blocks_fill_3(w, turn > 0 ? f_picked : f, turn > 0 ? p_picked : p,
                turn > 0 ? excess_picked : excess, turn > 0 ? out_picked : out, full);
        }
        if (turn > 0) {
            scatter(out_picked, picked, value, full);
        }
    }
    if (in_place) {
        scatter(out_rest, rest, out, left);
    }
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_complete(double *f, double *x, double *out, int64_t n)
{
    if (missing(out, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (out[i] != out[i]) {
                out[i] = log_risk_slow(f[i], x[i]);
            }
        }
    }
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

RISKCORE_PLAIN void whole(double *f, double *p, double *excess, double *out, int64_t n)
{
    blocks_block_2(f, p, excess, out, n);
    risk_blocks_complete(f, p, out, n);
}

RISKCORE_PLAIN void log_individual_risk_of_many(double **args, int64_t *sizes, int64_t *steps,
    int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double out_room[512];
    bool f_is = in_place(args, steps, 0);
    bool p_is = in_place(args, steps, 1);
    bool out_is = steps[2] == 8;
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, f_is);
        double *p = column(args[1], first, steps[1], p_room, n, p_is);
        double *out = out_is ? args[2] + first : out_room;
        whole(f, p, f, out, n);
        if (!out_is) {
            store(out_room, args[2], first, steps[2], n);
        }
        first += n;
    }
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

/* Return E for 16 <= f < 32. */
RISKCORE_KERNEL double e_16(double f, double p)
{
    const Pair t1 = tail_35(f, p);
    const Pair t2 = levels_16(f, p, t1.a, t1.b);
    double above = t2.a, below = t2.b;
    return above / below;
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return (a + a_low)/(b + b_low), rounded little more than once. */
RISKCORE_KERNEL double quotient(double a, double a_low, double b, double b_low)
{
    const Triple t1 = division(a, a_low, b, b_low);
    double r = t1.a, rest = t1.b, reciprocal = t1.c;
    return fma(rest, reciprocal, r);
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Return C/D, D = f - q C, C = 1 - E, for f >= 16, where E is small. */
RISKCORE_KERNEL double gradient(double f, double p, double excess, double high, double low,
    double error)
{
    (void)excess;
    (void)high;
    (void)low;
    (void)error;
    double E = e_16(f, p);
    double q = 1.0 - p;
    double C = 1.0 - E;
    double D = fma(-q, C, f);
    return quotient(C, 1.0 - C - E, D, fma(-q, C, f - D));
}

/* --- riskcore/core/special/gauss/fast_integer.py -------------------------------- */

/* Return E for f >= 32. */
RISKCORE_KERNEL double e_32(double f, double p)
{
    const Pair t1 = tail_17(f, p);
    const Pair t2 = fast_integer_levels_32(f, p, t1.a, t1.b);
    double above = t2.a, below = t2.b;
    return above / below;
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

/* Return C/D, D = f - q C, C = 1 - E, for f >= 16, where E is small. */
RISKCORE_KERNEL double individual_gradient(double f, double p, double excess, double high,
    double low, double error)
{
    (void)excess;
    (void)high;
    (void)low;
    (void)error;
    double E = e_32(f, p);
    double q = 1.0 - p;
    double C = 1.0 - E;
    double D = fma(-q, C, f);
    return quotient(C, 1.0 - C - E, D, fma(-q, C, f - D));
}

/* Return 1/(f+1) (1 + 2q/(f+2) (1 + 3q/(f+3))), for q/(f+1) < 2^-22. */
RISKCORE_KERNEL double gradient_by_series(double f, double q)
{
    double s = 2.0 * q / (f + 2.0) * (1.0 + 3.0 * q / (f + 3.0));
    const Pair t1 = fast_two_sum(1.0, s);
    double a = t1.a, a_low = t1.b;
    const Pair t2 = two_sum(f, 1.0);
    return quotient(a, a_low, t2.a, t2.b);
}

static const double Q_SMALL = 0x1p-22;

/* Return (f r - p)/(p q), or its limit for q -> 0, for f < 16. */
RISKCORE_KERNEL double individual_gradient_2(double f, double p, double excess, double high,
    double low, double error)
{
    (void)excess;
    (void)error;
    double q = 1.0 - p;
    const Pair t1 = fast_two_sum(high, low);
    high = t1.a;
    low = t1.b;
    double n = f * high;
    double n_low = fma(f, low, fma(f, high, -n));
    const Pair t2 = two_sum(n, -p);
    double a = t2.a, a_low = t2.b;
    double b = p * q;
    double b_low = fma(p, 1.0 - q - p, fma(p, q, -b));
    double far = quotient(a, a_low + n_low, b, b_low);
    return q < Q_SMALL ? gradient_by_series(f, q) : far;
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN double risk_blocks_scalar(double f, double p, double excess)
{
    int64_t where = fast_integer_region(f, p);
    if (where == fast_integer_OTHER) {
        return NAN;
    }
    const Triple t1 = pair_of_region(where, f, p);
    double high = t1.a, low = t1.b, error = t1.c;
    if (where == FROM_16) {
        return gradient(f, p, excess, high, low, error);
    }
    if (where == FROM_32) {
        return individual_gradient(f, p, excess, high, low, error);
    }
    return individual_gradient_2(f, p, excess, high, low, error);
}

/* --- riskcore/core/special/gauss/extremes.py ------------------------------------ */

/* Return G(f, q) = f r/p as a double-double; infinite beyond the largest double. */
RISKCORE_PLAIN Triple extremes_gauss(double f, double p)
{
    const Tuple_ddi t1 = risk_midpoint(f, p);
    double high = t1.a, low = t1.b;
    int64_t n = t1.c;
    int64_t k = scaling(f);
    double x = scaled(p, n + k);
    Triple above = multiply_double((Triple){high, low, 0.0}, scaled(f, k));
    if (above.a / x == INFINITY) {
        return (Triple){INFINITY, 0.0, 0.0};
    }
    return balls_divide(above, (Triple){x, 0.0, 0.0});
}

/* Return (G(f, q) - 1)/q = C/D for f < 32 or p < 2^-960; nan outside the domain. */
RISKCORE_PLAIN double extremes_gauss_excess(double f, double p)
{
    if (!((f > 0.0) & (f < INFINITY) & (p > 0.0) & (p <= 1.0))) {
        return NAN;
    }
    const Pair t1 = two_sum(1.0, -p);
    double q = t1.a, q_low = t1.b;
    double value;
    if (p < P_LEVELS && f >= enclosure_F_LEVELS) {
        const Pair t2 = two_sum(f, -1.0);
        double base = t2.a, base_low = t2.b;
        const Triple t3 = balls_divide((Triple){1.0, 0.0, 0.0}, (Triple){base, base_low, 0.0});
        value = t3.a;
        return value;
    }
    if (p < P_LEVELS) {
        Triple G = extremes_gauss(f, p);
        if (G.a == INFINITY) {
            return INFINITY;
        }
        const Triple t4 = balls_divide(add_double(G, -1.0), (Triple){q, q_low, 0.0});
        value = t4.a;
        return value;
    }
    if (f >= 1.0) {
        Triple C = add_double(balls_negate(e_by_p((Pair){f, 0.0}, (Pair){p, 0.0})), 1.0);
        Triple D = add_double(balls_negate(balls_multiply((Triple){q, q_low, 0.0}, C)), f);
        const Triple t5 = balls_divide(C, D);
        value = t5.a;
        return value;
    }
    /* D = p f (f + w)/(p f + w), C = f w/(p f + w) with w = p + q E(f+1). */
    Triple E = e_by_p(two_sum(f, 1.0), (Pair){p, 0.0});
    Triple w = add_double(balls_multiply((Triple){q, q_low, 0.0}, E), p);
    const Triple t6 = balls_divide(w, multiply_double(add_double(w, f), p));
    value = t6.a;
    return value;
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

RISKCORE_PLAIN double gradient_slow(double f, double p)
{
    if ((fast_integer_F_HUGE < f && f < INFINITY) && (fast_integer_RARE <= p && p <= 1.0)) {
        return gradient_by_series(f, 1.0 - p);
    }
    return extremes_gauss_excess(f, p);
}

RISKCORE_PLAIN double individual_risk_gradient_of_one(double f, double p)
{
    double found = risk_blocks_scalar(f, p, 0.0);
    return found == found ? found : gradient_slow(f, p);
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN int64_t blocks_classify_3(double *f, double *p, uint8_t *codes, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]));
    }
    return padded(codes, n);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_fill_4(int64_t w, double *f, double *p, double *excess,
    double *out, int64_t n)
{
    /* Short loops that pass results on the stack: a processor runs more of their iterations at
       once than of one long loop. */
    double a[512];
    double b[512];
    double high, low, error;
    if (w <= FORWARD_15) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = log_pair(p[i]);
            a[i] = t1.a;
            b[i] = t1.b;
        }
        if (w == fast_integer_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t2 = by_logarithm_one(p[i], a[i], b[i]);
                high = t2.a;
                low = t2.b;
                error = t2.c;
                out[i] = individual_gradient_2(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == SMALL) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t3 = by_logarithm_4(f[i], p[i], a[i], b[i]);
                    high = t3.a;
                    low = t3.b;
                    error = t3.c;
                    out[i] = individual_gradient_2(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                double v[512];
                double v_low[512];
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Tuple_dddd t4 = by_logarithm_8(f[i], p[i], a[i], b[i]);
                    v[i] = t4.a;
                    v_low[i] = t4.b;
                    a[i] = t4.c;
                    b[i] = t4.d;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t5 = by_logarithm_15(f[i], v[i], v_low[i], a[i], b[i]);
                    high = t5.a;
                    low = t5.b;
                    error = t5.c;
                    out[i] = individual_gradient_2(f[i], p[i], excess[i], high, low, error);
                }
            }
        }
    } else {
        if (w == fast_integer_NEAR_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t6 = near_one(f[i], p[i]);
                high = t6.a;
                low = t6.b;
                error = t6.c;
                out[i] = individual_gradient_2(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == fast_integer_LEVELS) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Pair t7 = tail_23(f[i], p[i]);
                    a[i] = t7.a;
                    b[i] = t7.b;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t8 = by_levels(f[i], p[i], a[i], b[i]);
                    high = t8.a;
                    low = t8.b;
                    error = t8.c;
                    out[i] = individual_gradient_2(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                if (w == FROM_32) {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Pair t9 = tail_17(f[i], p[i]);
                        a[i] = t9.a;
                        b[i] = t9.b;
                    }
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Triple t10 = by_e_32(f[i], p[i], a[i], b[i]);
                        high = t10.a;
                        low = t10.b;
                        error = t10.c;
                        out[i] = individual_gradient(f[i], p[i], excess[i], high, low, error);
                    }
                } else {
                    if (w == FROM_16) {
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Pair t11 = tail_35(f[i], p[i]);
                            a[i] = t11.a;
                            b[i] = t11.b;
                        }
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Triple t12 = by_e_16(f[i], p[i], a[i], b[i]);
                            high = t12.a;
                            low = t12.b;
                            error = t12.c;
                            out[i] = gradient(f[i], p[i], excess[i], high, low, error);
                        }
                    } else {
                        if (w == LEVELS_REAL) {
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Pair t13 = tail_35(f[i], p[i]);
                                a[i] = t13.a;
                                b[i] = t13.b;
                            }
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Triple t14 = by_levels_real(f[i], p[i], a[i], b[i]);
                                high = t14.a;
                                low = t14.b;
                                error = t14.c;
                                out[i] = individual_gradient_2(f[i], p[i], excess[i], high,
                                    low, error);
                            }
                        } else {
                            if (w == FORWARD_REAL) {
                                RISKCORE_EACH
                                for (int64_t i = 0; i < n; i++) {
                                    const Triple t15 = forward_real(f[i], p[i]);
                                    high = t15.a;
                                    low = t15.b;
                                    error = t15.c;
                                    out[i] = individual_gradient_2(f[i], p[i], excess[i], high,
                                        low, error);
                                }
                            } else {
                                if (w == BACKWARD_REAL) {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        const Triple t16 = backward_real(f[i], p[i]);
                                        high = t16.a;
                                        low = t16.b;
                                        error = t16.c;
                                        out[i] = individual_gradient_2(f[i], p[i], excess[i],
                                            high, low, error);
                                    }
                                } else {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        out[i] = NAN;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN void blocks_block_3(double *f, double *p, double *excess, double *out,
    int64_t n)
{
    uint8_t codes[512];
    int64_t rest[513];
    int64_t picked[513];
    double f_rest[512];
    double p_rest[512];
    double excess_rest[512];
    double out_rest[512];
    double f_picked[512];
    double p_picked[512];
    double excess_picked[512];
    double out_picked[512];
    bool alone = n == 1;
    int64_t first = alone ? fast_integer_region(f[0], p[0]) : prevailing(f, p, codes, n);
    bool in_place = first < 11;
    int64_t left = alone ? 0 : n;
    if (in_place && !alone) {
        left = filled_up(rest, set_apart(first, f, p, codes, n, rest));
        gather(f, p, excess, rest, f_rest, p_rest, excess_rest, left);
    }
    double *x = in_place ? f_rest : f;
    double *y = in_place ? p_rest : p;
    double *z = in_place ? excess_rest : excess;
    double *value = in_place ? out_rest : out;
    int64_t words = blocks_classify_3(x, y, codes, left);
    /* One turn for the cells in place, then one for each region among the rest, in a loop with
       a single call of ``fill``, which is long. */
    const int64_t t1 = left == 0 ? 1 : 11 + 1;
    for (int64_t turn = 0; turn < t1; turn++) {
        int64_t w = first;
        int64_t m = in_place ? n : 0;
        int64_t full = n;
        if (turn > 0) {
            w = turn - 1;
            m = pick(codes, words, w, picked);
            full = w < 11 - 1 ? filled_up(picked, m) : m;
            gather(x, y, z, picked, f_picked, p_picked, excess_picked, full);
        }
        if (m > 0) {
            risk_blocks_fill_4(w, turn > 0 ? f_picked : f, turn > 0 ? p_picked : p,
                turn > 0 ? excess_picked : excess, turn > 0 ? out_picked : out, full);
        }
        if (turn > 0) {
            scatter(out_picked, picked, value, full);
        }
    }
    if (in_place) {
        scatter(out_rest, rest, out, left);
    }
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_complete_2(double *f, double *x, double *out, int64_t n)
{
    if (missing(out, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (out[i] != out[i]) {
                out[i] = gradient_slow(f[i], x[i]);
            }
        }
    }
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

RISKCORE_PLAIN void individual_whole(double *f, double *p, double *excess, double *out,
    int64_t n)
{
    blocks_block_3(f, p, excess, out, n);
    risk_blocks_complete_2(f, p, out, n);
}

RISKCORE_PLAIN void individual_risk_gradient_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double out_room[512];
    bool f_is = in_place(args, steps, 0);
    bool p_is = in_place(args, steps, 1);
    bool out_is = steps[2] == 8;
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, f_is);
        double *p = column(args[1], first, steps[1], p_room, n, p_is);
        double *out = out_is ? args[2] + first : out_room;
        individual_whole(f, p, f, out, n);
        if (!out_is) {
            store(out_room, args[2], first, steps[2], n);
        }
        first += n;
    }
}

/* --- riskcore/core/special/gauss/rounding_test.py ------------------------------- */

/* Return the double below all high + low + d for |d| <= error, else nan. */
RISKCORE_KERNEL double rounded_down(double high, double low, double error)
{
    const Pair t1 = fast_two_sum(high, low);
    high = t1.a;
    low = t1.b;
    double below = low < 0.0 ? from_bits(pattern_difference(bits(high), 1)) : high;
    return magnitude(low) > error ? below : NAN;
}

/* --- riskcore/core/risk/bounds.py ----------------------------------------------- */

RISKCORE_KERNEL double down(double f, double p, double excess, double high, double low,
    double error)
{
    (void)f;
    (void)p;
    (void)excess;
    return rounded_down(high, low, error);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN double risk_blocks_value(double f, double p, double excess)
{
    int64_t where = fast_integer_region(f, p);
    if (where == fast_integer_OTHER) {
        return NAN;
    }
    const Triple t1 = pair_of_region(where, f, p);
    double high = t1.a, low = t1.b, error = t1.c;
    if (where == FROM_16) {
        return down(f, p, excess, high, low, error);
    }
    if (where == FROM_32) {
        return down(f, p, excess, high, low, error);
    }
    return down(f, p, excess, high, low, error);
}

/* --- riskcore/core/special/gauss/ball_step.py ----------------------------------- */

/* Return whether r(f, p) 2^(600 n) >= x follows from r >= p/f. */
RISKCORE_PLAIN bool not_below(double f, double p, double x, int64_t n)
{
    int64_t k = scaling(f);
    return fma(x, scaled(f, k), -scaled(p, n + k)) <= 0.0;
}

/* Return whether r(f, p) 2^(600 n) <= x follows from r <= 1/f, p/(f-1+p). */
RISKCORE_PLAIN bool not_above(double f, double p, double x, int64_t n)
{
    int64_t k = scaling(f);
    if (f < 1.0) {
        return fma(x, scaled(f, k), -scaled(1.0, n + k)) >= 0.0;
    }
    const Pair t1 = two_sum(f, -1.0);
    double base = t1.a, base_low = t1.b;
    const Pair t2 = two_sum(base, p);
    double s = t2.a, s_low = t2.b;
    double over = fma(x, scaled(s, k), -scaled(p, n + k));
    return (over >= 0.0) & (s_low + base_low >= 0.0);
}

/* Return the smallest double not below x 2^(-600 n). */
RISKCORE_PLAIN double from_zero(double x, int64_t n)
{
    int64_t step = n > 0 ? 1 : -1;
    const int64_t t1 = size_of(n);
    for (int64_t unused_ = 0; unused_ < t1; unused_++) {
        double y = scaled(x, -step);
        x = scaled(y, step) < x ? double_above(y) : y;
    }
    return x;
}

/* Return neighbors around r(f, p), or r twice if it is a double; else nan. */
RISKCORE_SHARED Pair sides_slow(double f, double p)
{
    const Tuple_ddd_i t1 = risk_ball(f, p);
    double high = t1.a.a, low = t1.a.b, radius = t1.a.c;
    int64_t n = t1.b;
    if (!((radius <= WIDEST * high && WIDEST * high < INFINITY) & (magnitude(low) < high))) {
        return (Pair){NAN, NAN};
    }
    bool low_open = low <= radius && !not_below(f, p, high, n);
    bool high_open = low >= -radius && !not_above(f, p, high, n);
    if (low_open && high_open && p < 1.0) {
        /* A scaled double that is not representable is rounded outwards below. */
        double x = scaled(high, -n);
        if (scaled(x, n) == high) {
            int64_t where = side(f, p, 1.0, x, false);
            low_open = where <= 0;
            high_open = where >= 0;
        }
    }
    double lower = low_open ? double_below(high) : high;
    double upper = high_open ? double_above(high) : high;
    return (Pair){towards_zero(lower, n), from_zero(upper, n)};
}

/* --- riskcore/core/risk/bounds.py ----------------------------------------------- */

/* Return the doubles around r(f, p); nan outside the domain. */
RISKCORE_SHARED Pair individual_risk_bounds_of_one(double f, double p)
{
    double lower = risk_blocks_value(f, p, 0.0);
    if (lower == lower) {
        return (Pair){lower, double_above(lower)};
    }
    return sides_slow(f, p);
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN int64_t blocks_classify_4(double *f, double *p, uint8_t *codes, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(fast_integer_region(f[i], p[i]));
    }
    return padded(codes, n);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_fill_5(int64_t w, double *f, double *p, double *excess,
    double *out, int64_t n)
{
    /* Short loops that pass results on the stack: a processor runs more of their iterations at
       once than of one long loop. */
    double a[512];
    double b[512];
    double high, low, error;
    if (w <= FORWARD_15) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = log_pair(p[i]);
            a[i] = t1.a;
            b[i] = t1.b;
        }
        if (w == fast_integer_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t2 = by_logarithm_one(p[i], a[i], b[i]);
                high = t2.a;
                low = t2.b;
                error = t2.c;
                out[i] = down(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == SMALL) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t3 = by_logarithm_4(f[i], p[i], a[i], b[i]);
                    high = t3.a;
                    low = t3.b;
                    error = t3.c;
                    out[i] = down(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                double v[512];
                double v_low[512];
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Tuple_dddd t4 = by_logarithm_8(f[i], p[i], a[i], b[i]);
                    v[i] = t4.a;
                    v_low[i] = t4.b;
                    a[i] = t4.c;
                    b[i] = t4.d;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t5 = by_logarithm_15(f[i], v[i], v_low[i], a[i], b[i]);
                    high = t5.a;
                    low = t5.b;
                    error = t5.c;
                    out[i] = down(f[i], p[i], excess[i], high, low, error);
                }
            }
        }
    } else {
        if (w == fast_integer_NEAR_ONE) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Triple t6 = near_one(f[i], p[i]);
                high = t6.a;
                low = t6.b;
                error = t6.c;
                out[i] = down(f[i], p[i], excess[i], high, low, error);
            }
        } else {
            if (w == fast_integer_LEVELS) {
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Pair t7 = tail_23(f[i], p[i]);
                    a[i] = t7.a;
                    b[i] = t7.b;
                }
                RISKCORE_EACH
                for (int64_t i = 0; i < n; i++) {
                    const Triple t8 = by_levels(f[i], p[i], a[i], b[i]);
                    high = t8.a;
                    low = t8.b;
                    error = t8.c;
                    out[i] = down(f[i], p[i], excess[i], high, low, error);
                }
            } else {
                if (w == FROM_32) {
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Pair t9 = tail_17(f[i], p[i]);
                        a[i] = t9.a;
                        b[i] = t9.b;
                    }
                    RISKCORE_EACH
                    for (int64_t i = 0; i < n; i++) {
                        const Triple t10 = by_e_32(f[i], p[i], a[i], b[i]);
                        high = t10.a;
                        low = t10.b;
                        error = t10.c;
                        out[i] = down(f[i], p[i], excess[i], high, low, error);
                    }
                } else {
                    if (w == FROM_16) {
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Pair t11 = tail_35(f[i], p[i]);
                            a[i] = t11.a;
                            b[i] = t11.b;
                        }
                        RISKCORE_EACH
                        for (int64_t i = 0; i < n; i++) {
                            const Triple t12 = by_e_16(f[i], p[i], a[i], b[i]);
                            high = t12.a;
                            low = t12.b;
                            error = t12.c;
                            out[i] = down(f[i], p[i], excess[i], high, low, error);
                        }
                    } else {
                        if (w == LEVELS_REAL) {
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Pair t13 = tail_35(f[i], p[i]);
                                a[i] = t13.a;
                                b[i] = t13.b;
                            }
                            RISKCORE_EACH
                            for (int64_t i = 0; i < n; i++) {
                                const Triple t14 = by_levels_real(f[i], p[i], a[i], b[i]);
                                high = t14.a;
                                low = t14.b;
                                error = t14.c;
                                out[i] = down(f[i], p[i], excess[i], high, low, error);
                            }
                        } else {
                            if (w == FORWARD_REAL) {
                                RISKCORE_EACH
                                for (int64_t i = 0; i < n; i++) {
                                    const Triple t15 = forward_real(f[i], p[i]);
                                    high = t15.a;
                                    low = t15.b;
                                    error = t15.c;
                                    out[i] = down(f[i], p[i], excess[i], high, low, error);
                                }
                            } else {
                                if (w == BACKWARD_REAL) {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        const Triple t16 = backward_real(f[i], p[i]);
                                        high = t16.a;
                                        low = t16.b;
                                        error = t16.c;
                                        out[i] = down(f[i], p[i], excess[i], high, low, error);
                                    }
                                } else {
                                    RISKCORE_EACH
                                    for (int64_t i = 0; i < n; i++) {
                                        out[i] = NAN;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/* --- riskcore/core/special/gauss/blocks.py -------------------------------------- */

RISKCORE_PLAIN void blocks_block_4(double *f, double *p, double *excess, double *out,
    int64_t n)
{
    uint8_t codes[512];
    int64_t rest[513];
    int64_t picked[513];
    double f_rest[512];
    double p_rest[512];
    double excess_rest[512];
    double out_rest[512];
    double f_picked[512];
    double p_picked[512];
    double excess_picked[512];
    double out_picked[512];
    bool alone = n == 1;
    int64_t first = alone ? fast_integer_region(f[0], p[0]) : prevailing(f, p, codes, n);
    bool in_place = first < 11;
    int64_t left = alone ? 0 : n;
    if (in_place && !alone) {
        left = filled_up(rest, set_apart(first, f, p, codes, n, rest));
        gather(f, p, excess, rest, f_rest, p_rest, excess_rest, left);
    }
    double *x = in_place ? f_rest : f;
    double *y = in_place ? p_rest : p;
    double *z = in_place ? excess_rest : excess;
    double *value = in_place ? out_rest : out;
    int64_t words = blocks_classify_4(x, y, codes, left);
    /* One turn for the cells in place, then one for each region among the rest, in a loop with
       a single call of ``fill``, which is long. */
    const int64_t t1 = left == 0 ? 1 : 11 + 1;
    for (int64_t turn = 0; turn < t1; turn++) {
        int64_t w = first;
        int64_t m = in_place ? n : 0;
        int64_t full = n;
        if (turn > 0) {
            w = turn - 1;
            m = pick(codes, words, w, picked);
            full = w < 11 - 1 ? filled_up(picked, m) : m;
            gather(x, y, z, picked, f_picked, p_picked, excess_picked, full);
        }
        if (m > 0) {
            risk_blocks_fill_5(w, turn > 0 ? f_picked : f, turn > 0 ? p_picked : p,
                turn > 0 ? excess_picked : excess, turn > 0 ? out_picked : out, full);
        }
        if (turn > 0) {
            scatter(out_picked, picked, value, full);
        }
    }
    if (in_place) {
        scatter(out_rest, rest, out, left);
    }
}

/* --- riskcore/core/risk/bounds.py ----------------------------------------------- */

/* Fill in the doubles below r, n <= BLOCK; nan where the pairs do not decide. */
RISKCORE_SHARED void lower_block(double *f, double *p, double *lower, int64_t n)
{
    blocks_block_4(f, p, f, lower, n);
}

/* Fill in the doubles around r(f, p) for n <= BLOCK cells; no array may overlap. */
RISKCORE_PLAIN void bounds_bounds_block(double *f, double *p, double *lower, double *upper,
    int64_t n)
{
    lower_block(f, p, lower, n);
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        upper[i] = double_above(lower[i]);
    }
    if (missing(lower, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (lower[i] != lower[i]) {
                const Pair t1 = sides_slow(f[i], p[i]);
                lower[i] = t1.a;
                upper[i] = t1.b;
            }
        }
    }
}

RISKCORE_PLAIN void individual_risk_bounds_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double lower[512];
    double upper[512];
    int64_t first = 0;
    while (first < sizes[0]) {
        int64_t n = lesser_integer(BLOCK, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, false);
        double *p = column(args[1], first, steps[1], p_room, n, false);
        bounds_bounds_block(f, p, lower, upper, n);
        store(lower, args[2], first, steps[2], n);
        store(upper, args[3], first, steps[3], n);
        first += n;
    }
}

/* Return one of the bounds, nan if they are not equal or neighbors. */
RISKCORE_PLAIN double slow(double f, double p)
{
    const Pair t1 = sides_slow(f, p);
    double lower = t1.a, upper = t1.b;
    bool decided = upper <= double_above(lower);
    return decided ? (false ? upper : lower) : NAN;
}

RISKCORE_PLAIN double individual_risk_down_of_one(double f, double p)
{
    double lower = risk_blocks_value(f, p, 0.0);
    if (lower == lower) {
        return false ? double_above(lower) : lower;
    }
    return slow(f, p);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_complete_3(double *f, double *x, double *out, int64_t n)
{
    if (missing(out, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (out[i] != out[i]) {
                out[i] = slow(f[i], x[i]);
            }
        }
    }
}

/* --- riskcore/core/risk/bounds.py ----------------------------------------------- */

RISKCORE_PLAIN void bounds_block(double *f, double *p, double *excess, double *out, int64_t n)
{
    (void)excess;
    lower_block(f, p, out, n);
    if (false) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            out[i] = double_above(out[i]);
        }
    }
    risk_blocks_complete_3(f, p, out, n);
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

RISKCORE_PLAIN void individual_risk_down_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double out_room[512];
    bool f_is = in_place(args, steps, 0);
    bool p_is = in_place(args, steps, 1);
    bool out_is = steps[2] == 8;
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, f_is);
        double *p = column(args[1], first, steps[1], p_room, n, p_is);
        double *out = out_is ? args[2] + first : out_room;
        bounds_block(f, p, f, out, n);
        if (!out_is) {
            store(out_room, args[2], first, steps[2], n);
        }
        first += n;
    }
}

/* --- riskcore/core/risk/bounds.py ----------------------------------------------- */

/* Return one of the bounds, nan if they are not equal or neighbors. */
RISKCORE_PLAIN double bounds_slow(double f, double p)
{
    const Pair t1 = sides_slow(f, p);
    double lower = t1.a, upper = t1.b;
    bool decided = upper <= double_above(lower);
    return decided ? (true ? upper : lower) : NAN;
}

RISKCORE_PLAIN double individual_risk_up_of_one(double f, double p)
{
    double lower = risk_blocks_value(f, p, 0.0);
    if (lower == lower) {
        return true ? double_above(lower) : lower;
    }
    return bounds_slow(f, p);
}

/* --- riskcore/core/special/gauss/risk_blocks.py --------------------------------- */

RISKCORE_PLAIN void risk_blocks_complete_4(double *f, double *x, double *out, int64_t n)
{
    if (missing(out, n)) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            if (out[i] != out[i]) {
                out[i] = bounds_slow(f[i], x[i]);
            }
        }
    }
}

/* --- riskcore/core/risk/bounds.py ----------------------------------------------- */

RISKCORE_PLAIN void bounds_block_2(double *f, double *p, double *excess, double *out,
    int64_t n)
{
    (void)excess;
    lower_block(f, p, out, n);
    if (true) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            out[i] = double_above(out[i]);
        }
    }
    risk_blocks_complete_4(f, p, out, n);
}

/* --- riskcore/core/risk/individual.py ------------------------------------------- */

RISKCORE_PLAIN void individual_risk_up_of_many(double **args, int64_t *sizes, int64_t *steps,
    int64_t unused_)
{
    (void)unused_;
    double f_room[512];
    double p_room[512];
    double out_room[512];
    bool f_is = in_place(args, steps, 0);
    bool p_is = in_place(args, steps, 1);
    bool out_is = steps[2] == 8;
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        double *f = column(args[0], first, steps[0], f_room, n, f_is);
        double *p = column(args[1], first, steps[1], p_room, n, p_is);
        double *out = out_is ? args[2] + first : out_room;
        bounds_block_2(f, p, f, out, n);
        if (!out_is) {
            store(out_room, args[2], first, steps[2], n);
        }
        first += n;
    }
}

/* --- riskcore/core/risk/prior.py ------------------------------------------------ */

static const double prior_SMALLEST_F = 0x1p-10;
static const double prior_LARGEST = 0x1p60;

RISKCORE_KERNEL bool is_frequency(double f)
{
    return (f >= prior_SMALLEST_F) & (f <= prior_LARGEST);
}

static const double SMALLEST_P = 0x1p-200;

RISKCORE_KERNEL bool is_law(double shape, double p)
{
    bool inside = (shape > 0.0) & (shape <= prior_LARGEST);
    return inside & (p >= SMALLEST_P) & (p <= 1.0);
}

RISKCORE_KERNEL bool prior_inside(double f, double shape, double p)
{
    return (int)is_frequency(f) & (int)is_law(shape, p);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

static const int64_t NOERLUND_60 = 12;
static const int64_t NOERLUND_52 = 9;
static const int64_t NOERLUND_36 = 8;
static const int64_t NOERLUND_3 = 5;
static const double B_LARGE = 30.0;
static const int64_t NOERLUND_16 = 6;
static const double B_HUGE = 64.0;
static const int64_t NOERLUND_22 = 7;
static const double B_VAST = 0x1p30;

/* Return the region whose levels leave less than 2^-54 of D. */
RISKCORE_KERNEL int64_t noerlund_region(double b, bool few, bool moderate, bool small,
    bool tiny)
{
    int64_t deep = few ? NOERLUND_60 : NOERLUND_52;
    deep = small ? NOERLUND_36 : deep;
    deep = tiny ? NOERLUND_3 : deep;
    deep = (moderate & (b >= B_LARGE)) ? NOERLUND_16 : deep;
    deep = b >= B_HUGE ? NOERLUND_22 : deep;
    return b >= B_VAST ? NOERLUND_3 : deep;
}

static const double F_SMALL = 4.0;
static const int64_t FORWARD_PAIRS = 1;
static const int64_t FORWARD_31 = 2;
static const int64_t inverse_mean_REFLECTED = 10;
static const int64_t inverse_mean_OTHER = 13;
static const double A_SMALL = 4.0;
static const int64_t GAUSS_31 = 3;
static const int64_t GAUSS_41 = 4;
static const double F_PAIRS = 2.0;
static const int64_t GAUSS_23 = 11;
static const double P_SMALL = 0.5;
static const double A_LARGE = 20.0;
static const double P_TINY = 0x1p-30;
static const double F_SMALLEST = 0.5;
static const double A_SMALLEST = -0.5;

/* Return the number of the region, for p < 1. */
RISKCORE_KERNEL int64_t inverse_mean_region(double f, double s, double p)
{
    /* Branchless, so that a loop over it vectorizes. */
    double a = s - f;
    double b = fma(f, p, (s - 1.0) * (1.0 - p));
    double near = f + TWO_52 - TWO_52;
    int64_t upwards = f <= F_SMALL ? FORWARD_PAIRS : FORWARD_31;
    /* The reflection begins at f - n in [1/2, 3/2], its shape must not be below 1/2. A shape
       just below it may round to it, so that shape itself is left out too. */
    bool begins = f - greater(near, 1.0) + a > -0.5;
    int64_t ladder = near == f ? upwards : (begins ? inverse_mean_REFLECTED
        : inverse_mean_OTHER);
    int64_t levels = a < A_SMALL ? GAUSS_31 : GAUSS_41;
    levels = f < F_PAIRS ? GAUSS_23 : levels;
    double below = f <= F_SMALL ? P_SMALL : P_FORWARD;
    int64_t where = p < below ? ladder : levels;
    int64_t deep = noerlund_region(b, f < F_PAIRS, a < A_LARGE, p < P_SMALL, p < P_TINY);
    where = ((a >= A_LARGE) | (b >= B_LARGE)) ? deep : where;
    int64_t rest = b >= B_HUGE ? deep : inverse_mean_OTHER;
    where = ((f >= F_SMALLEST) & (a >= A_SMALLEST)) ? where : rest;
    return f == 1.0 ? fast_integer_ONE : where;
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return (u, e, g, n): f = 1 + u + g, s = 1 + e + g + n, |u|, |e| <= 1/2. */
RISKCORE_KERNEL Tuple_dddd places(double f, double s)
{
    double whole = greater(f + TWO_52 - TWO_52, 1.0);
    double above = s - (whole - 1.0);
    double shape = greater(above + TWO_52 - TWO_52, 1.0);
    return (Tuple_dddd){f - whole, above - shape, whole - 1.0, shape - 1.0};
}

/* Return the last k of the series: later terms are below 2^-58. */
RISKCORE_KERNEL double series_end(double log_p)
{
    return 2.0 + (double)(int64_t)(-38.0 / log_p);
}

/* Return numerator and denominator of G(k) from those of G(k+1). */
RISKCORE_KERNEL Pair inverse_mean_fractions_series_step(double k, double last, double u,
    double e, double p, double N, double M)
{
    double c = (k - u) * (p * (1.0 / (k + 1.0)));
    double d = k - e;
    N = fma(c * d, N, M);
    M = d * M;
    return (Pair){k <= last ? N : 0.0, k <= last ? M : 1.0};
}

/* Return numerator and denominator of G(3). */
RISKCORE_PLAIN Pair series(double u, double e, double p, double last)
{
    double N = 0.0;
    double M = 1.0;
    for (int64_t k = (int64_t)last; k > 2; k--) {
        const Pair t1 = inverse_mean_fractions_series_step((double)k, last, u, e, p, N, M);
        N = t1.a;
        M = t1.b;
    }
    return (Pair){N, M};
}

static const double log_gamma_at_two[] = {0x1.51322ac7d84f8p-6, -0x1.e404fc218f681p-8,
    0x1.7add6eadaf0f8p-9, -0x1.38ac5c2bf33b3p-10, 0x1.0b36af88614b4p-11,
    -0x1.d3fd4c7a44115p-13, 0x1.a127b035812fbp-14, -0x1.78de5b39eb797p-15,
    0x1.580de40e5116ap-16, -0x1.3cbca89c7504fp-17, 0x1.2595fb723617fp-18,
    -0x1.11b17223922e1p-19, 0x1.007cb56dd9ef7p-20, -0x1.e28b5a08a169dp-22,
    0x1.c5711d8785f83p-23, -0x1.ad8925ecef2ebp-24, 0x1.a94a705dcbe16p-25,
    -0x1.94a199598b072p-26, 0x1.196153808911dp-27, -0x1.0ee226c4bf7c8p-28,
    0x1.6edb44cb0239bp-28, -0x1.5d21617b76fc5p-29, -0x1.c43a3ffb7d46bp-30,
    0x1.abf3d803edf45p-31, 0x1.6bd5b91bb8a0dp-30, -0x1.5c2a45e85c1f8p-31, -0x1.9ac45319996p-32,
    0x1.8a642af60faf6p-33, 0x1.55439fb1794f4p-34, -0x1.497fad5250677p-35};

/* Return (U, V, W) of degree k + 3 from those of degree k + 4. */
RISKCORE_KERNEL Triple gammas_step(int64_t k, double u, double v, double U, double V, double W)
{
    double c = log_gamma_at_two[k];
    return (Triple){fma(u, U, c), fma(v, V, c), fma(u + v, W, U + V)};
}

static const double THRICE_A3 = -0x1.9dd002780310ap-3;
static const double THRICE_A3_LOW = 0x1.52a91ccfccf29p-57;
static const double TWICE_A2 = 0x1.4a34cc4a60fa6p-1;
static const double TWICE_A2_LOW = 0x1.8268c7211b5f3p-56;

/* Return gammas from U, V, W of degree 3. */
RISKCORE_KERNEL Pair gammas_end(double u, double v, double U, double V, double W)
{
    const Pair t1 = two_sum(u, v);
    double w = t1.a, w_low = t1.b;
    double of_u = u * U;
    double of_v = v * V;
    W = fma(w, W, U + V);
    double rest = fma(w, fma(w, W, of_u + of_v), fma(u, of_u, v * of_v));
    const Pair t2 = two_product(THRICE_A3, w);
    double part = t2.a, part_low = t2.b;
    part_low = fma(THRICE_A3, w_low, fma(THRICE_A3_LOW, w, part_low));
    const Pair t3 = fast_two_sum(TWICE_A2, part);
    double high = t3.a, low = t3.b;
    return fast_two_sum(high, low + (rest + (part_low + TWICE_A2_LOW)));
}

/* Return log(Gamma(2+u+v)/(Gamma(2+u) Gamma(2+v)))/(u v). */
RISKCORE_PLAIN Pair gammas(double u, double v)
{
    double U = 0.0;
    double V = 0.0;
    double W = 0.0;
    RISKCORE_UNROLL
    for (int64_t k = 30 - 1; k > -1; k--) {
        const Triple t1 = gammas_step(k, u, v, U, V, W);
        U = t1.a;
        V = t1.b;
        W = t1.c;
    }
    return gammas_end(u, v, U, V, W);
}

/* Return the sum over k > 1 of (1-u)(2-u)...(k-1-u) p^k/(k! (k-e)). */
RISKCORE_KERNEL Pair end_of_series(double u, double e, double p, double N, double M)
{
    const Pair t1 = two_sum(2.0, -e);
    double d = t1.a, d_low = t1.b;
    const Pair t2 = two_sum(2.0, -u);
    double x = t2.a, x_low = t2.b;
    const Pair t3 = two_product(p, N);
    const Pair t4 = dd_multiply_positive(x, x_low, t3.a, t3.b);
    x = t4.a;
    x_low = t4.b;
    const Pair t5 = dd_multiply_positive(x, x_low, d, d_low);
    x = t5.a;
    x_low = t5.b;
    const Pair t6 = two_product(3.0, M);
    double y = t6.a, y_low = t6.b;
    const Pair t7 = dd_add(x, x_low, y, y_low);
    x = t7.a;
    x_low = t7.b;
    const Pair t8 = dd_multiply_positive(y, y_low, d, d_low);
    y = t8.a;
    y_low = t8.b;
    const Pair t9 = two_sum(1.0, -u);
    double c = t9.a, c_low = t9.b;
    const Pair t10 = two_product(0.5 * p, p);
    const Pair t11 = dd_multiply_positive(c, c_low, t10.a, t10.b);
    c = t11.a;
    c_low = t11.b;
    const Pair t12 = dd_multiply_positive(x, x_low, c, c_low);
    x = t12.a;
    x_low = t12.b;
    return quotient_pair(x, x_low, y, y_low);
}

/* --- riskcore/core/special/near_one.py ------------------------------------------ */

static const double LOWEST = -80.0;
static const double SIXTH = 0x1.5555555555555p-3;
static const double SIXTH_LOW = 0x1.5555555555555p-57;

/* Return exp(x) - 1 for x <= 709, to 2^-60, in half the time of dd_expm1. */
RISKCORE_KERNEL Pair expm1_pair(double x, double x_low)
{
    x_low = x > LOWEST ? x_low : 0.0;
    x = greater(x, LOWEST);
    double k = (double)(int64_t)(x * INVERSE_LN2 + (x > 0.0 ? 0.5 : -0.5));
    const Pair t1 = fast_two_sum(fma(-k, LN2_HIGH, x), fma(-k, elementary_LN2_LOW, x_low));
    double t = t1.a, t_low = t1.b;
    double series = 1.0 / 0x1.30777758p40;
    series = fma(series, t, 1.0 / 0x1.44c3b28p36);
    series = fma(series, t, 1.0 / 0x1.7328ccp32);
    series = fma(series, t, 1.0 / 0x1.c8cfcp28);
    series = fma(series, t, 1.0 / 39916800.0);
    series = fma(series, t, 1.0 / 3628800.0);
    series = fma(series, t, 1.0 / 362880.0);
    series = fma(series, t, 1.0 / 40320.0);
    series = fma(series, t, 1.0 / 5040.0);
    series = fma(series, t, 1.0 / 720.0);
    series = fma(series, t, 1.0 / 120.0);
    series = fma(series, t, 1.0 / 24.0);
    const Pair t2 = fast_two_sum(SIXTH, series * t);
    double high = t2.a, low = t2.b;
    const Pair t3 = dd_multiply_positive(high, low + SIXTH_LOW, t, t_low);
    high = t3.a;
    low = t3.b;
    const Pair t4 = fast_two_sum(0.5, high);
    high = t4.a;
    double rest = t4.b;
    const Pair t5 = two_product(t, t);
    double square = t5.a, square_low = t5.b;
    square_low = fma(2.0 * t, t_low, square_low);
    const Pair t6 = dd_multiply_positive(high, low + rest, square, square_low);
    high = t6.a;
    low = t6.b;
    const Pair t7 = fast_two_sum(t, high);
    high = t7.a;
    rest = t7.b;
    const Pair t8 = fast_two_sum(high, low + (rest + t_low));
    high = t8.a;
    low = t8.b;
    double power = from_bits(shift_left((int64_t)k + 1023, 52));
    const Pair t9 = two_sum(power, -1.0);
    double above = t9.a, above_low = t9.b;
    return dd_add(above, above_low, high * power, low * power);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return r/p for f = 1 + u and the shape 1 + e. */
RISKCORE_KERNEL Pair reflect(double u, double e, double p, double high, double low, double W,
    double W_low, double above, double below)
{
    double f = 1.0 + u;
    const Pair t1 = end_of_series(u, e, p, above, below);
    double total = t1.a, total_low = t1.b;
    const Pair t2 = fast_two_sum(high, low);
    high = t2.a;
    low = t2.b;
    const Pair t3 = two_product(u, W);
    double Y = t3.a, Y_low = t3.b;
    Y_low = fma(u, W_low, Y_low);
    const Pair t4 = two_sum(high, Y);
    Y = t4.a;
    double rest = t4.b;
    const Pair t5 = fast_two_sum(Y, rest + (low + Y_low));
    Y = t5.a;
    Y_low = t5.b;
    const Pair t6 = two_product(e, Y);
    double x = t6.a, x_low = t6.b;
    const Pair t7 = expm1_pair(x, fma(e, Y_low, x_low));
    double X = t7.a, X_low = t7.b;
    bool zero = e == 0.0;
    double reciprocal = 1.0 / (zero ? 1.0 : e);
    double T = X * reciprocal;
    double T_low = (fma(-T, e, X) + X_low) * reciprocal;
    T = zero ? -Y : -T;
    T_low = zero ? -Y_low : -T_low;
    const Pair t8 = two_sum(1.0, X);
    X = t8.a;
    rest = t8.b;
    const Pair t9 = two_product(p, f);
    double N = t9.a, N_low = t9.b;
    const Pair t10 = two_sum(N, -X);
    N = t10.a;
    double more = t10.b;
    N_low += more - (rest + X_low);
    const Pair t11 = two_sum(1.0, -e);
    double shape = t11.a, shape_low = t11.b;
    const Pair t12 = two_product(f, shape);
    double M = t12.a, M_low = t12.b;
    M_low = fma(f, shape_low, M_low);
    const Pair t13 = quotient_pair(N, N_low, M, M_low);
    x = t13.a;
    x_low = t13.b;
    const Pair t14 = two_sum(x, total);
    x = t14.a;
    rest = t14.b;
    x_low += rest + total_low;
    const Pair t15 = two_product(u, x);
    N = t15.a;
    N_low = t15.b;
    N_low = fma(u, x_low, N_low);
    const Pair t16 = two_sum(T, N);
    T = t16.a;
    rest = t16.b;
    const Pair t17 = fast_two_sum(T, rest + (T_low + N_low));
    T = t17.a;
    T_low = t17.b;
    double q = 1.0 - p;
    const Pair t18 = log_high_low(q, 0.0);
    high = t18.a;
    low = t18.b;
    low += (1.0 - q - p) / q;
    const Pair t19 = fast_two_sum(high, low);
    high = t19.a;
    low = t19.b;
    const Pair t20 = two_product(-f, high);
    x = t20.a;
    x_low = t20.b;
    const Pair t21 = expm1_pair(x, fma(-f, low, x_low));
    X = t21.a;
    X_low = t21.b;
    const Pair t22 = two_sum(1.0, X);
    X = t22.a;
    rest = t22.b;
    return dd_multiply_positive(T, T_low, X, rest + X_low);
}

/* Return N and M for the shape + k + 1 from those for the shape + k, if k < n. */
RISKCORE_KERNEL Tuple_dddd inverse_mean_fractions_rise(double k, double n, double shape,
    double a, double a_low, double p, Tuple_dddd ratio)
{
    double N = ratio.a, N_low = ratio.b, M = ratio.c, M_low = ratio.d;
    const Pair t1 = two_sum(k, a);
    double x = t1.a, x_low = t1.b;
    const Pair t2 = two_product(x, p);
    double y = t2.a, y_low = t2.b;
    y_low = fma(x_low + a_low, p, y_low);
    const Pair t3 = two_product(y, N);
    double z = t3.a, z_low = t3.b;
    z_low = fma(y, N_low, fma(y_low, N, z_low));
    const Pair t4 = two_sum(M, z);
    double above = t4.a, above_low = t4.b;
    const Pair t5 = fast_two_sum(above, above_low + (M_low + z_low));
    above = t5.a;
    above_low = t5.b;
    const Pair t6 = dd_multiply_double(M, M_low, shape + k);
    double below = t6.a, below_low = t6.b;
    bool done = k >= n;
    return (Tuple_dddd){done ? N : above, done ? N_low : above_low, done ? M : below,
        done ? M_low : below_low};
}

/* Return p N/M. */
RISKCORE_KERNEL Pair of_ratio(double p, Tuple_dddd ratio)
{
    double N = ratio.a, N_low = ratio.b, M = ratio.c, M_low = ratio.d;
    const Pair t1 = dd_multiply_double(N, N_low, p);
    return quotient_pair(t1.a, t1.b, M, M_low);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return f p + (less + less_low) q. */
RISKCORE_KERNEL Pair mixture(double f, double less, double less_low, double p)
{
    double q = 1.0 - p;
    double q_low = 1.0 - q - p;
    const Pair t1 = two_product(f, p);
    double first = t1.a, first_low = t1.b;
    const Pair t2 = two_product(less, q);
    double second = t2.a, second_low = t2.b;
    const Pair t3 = two_sum(first, second);
    double high = t3.a, low = t3.b;
    double rest = fma(less, q_low, less_low * q);
    return fast_two_sum(high, low + (first_low + second_low + rest));
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return A and B with D = b + p A/B for f = 2 + u, from N and M for 1 + u. */
RISKCORE_KERNEL Tuple_dddd to_next(double u, double shape, double p, Tuple_dddd ratio)
{
    double N = ratio.a, N_low = ratio.b, M = ratio.c, M_low = ratio.d;
    double f = 1.0 + u;
    const Pair t1 = dd_multiply_double(N, N_low, f);
    double x = t1.a, x_low = t1.b;
    const Pair t2 = mixture(f + 1.0, shape, 0.0, p);
    double b = t2.a, b_low = t2.b;
    const Pair t3 = dd_multiply_double(x, x_low, p);
    double y = t3.a, y_low = t3.b;
    const Pair t4 = dd_add(M, M_low, -y, -y_low);
    double B = t4.a, B_low = t4.b;
    const Pair t5 = dd_multiply_positive(x, x_low, b, b_low);
    x = t5.a;
    x_low = t5.b;
    const Pair t6 = dd_multiply_double(M, M_low, f + 1.0);
    y = t6.a;
    y_low = t6.b;
    const Pair t7 = dd_add(x, x_low, -y, -y_low);
    double A = t7.a, A_low = t7.b;
    return (Tuple_dddd){A, A_low, B, B_low};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return upwards times q, from pairs A and B. */
RISKCORE_KERNEL Tuple_dddd pair_upwards(double g, double f, double a, double a_low, double p,
    Tuple_dddd ratio)
{
    double A = ratio.a, A_low = ratio.b, B = ratio.c, B_low = ratio.d;
    double q = 1.0 - p;
    double q_low = 1.0 - q - p;
    const Pair t1 = two_sum(1.0, -a);
    double less = t1.a, less_low = t1.b;
    const Pair t2 = dd_multiply_positive(less, less_low - a_low, q, q_low);
    double c = t2.a, c_low = t2.b;
    const Pair t3 = dd_multiply_double(q, q_low, g);
    double d = t3.a, d_low = t3.b;
    const Pair t4 = dd_add(d, d_low, -c, -c_low);
    d = t4.a;
    d_low = t4.b;
    const Pair t5 = dd_multiply_double(A, A_low, p);
    double t = t5.a, t_low = t5.b;
    const Pair t6 = dd_multiply_positive(d, d_low, B, B_low);
    double x = t6.a, x_low = t6.b;
    const Pair t7 = dd_add(x, x_low, t, t_low);
    x = t7.a;
    x_low = t7.b;
    const Pair t8 = dd_multiply_positive(c, c_low, B, B_low);
    c = t8.a;
    c_low = t8.b;
    const Pair t9 = dd_multiply_double(t, t_low, g + 1.0);
    t = t9.a;
    t_low = t9.b;
    const Pair t10 = dd_add(c, c_low, -t, -t_low);
    double y = t10.a, y_low = t10.b;
    bool done = g >= f;
    return (Tuple_dddd){done ? A : y, done ? A_low : y_low, done ? B : x, done ? B_low : x_low};
}

static const int64_t PAIR_STEPS = 4;

/* Return A and B as doubles if more steps follow than run in pairs. */
RISKCORE_KERNEL Tuple_dddd cut(double steps, Tuple_dddd ratio)
{
    double A = ratio.a, A_low = ratio.b, B = ratio.c, B_low = ratio.d;
    bool kept = steps < (double)PAIR_STEPS;
    return (Tuple_dddd){A, kept ? A_low : 0.0, B, kept ? B_low : 0.0};
}

/* Return (A, B) for g + 1 from those for g, unchanged for g >= f. */
RISKCORE_KERNEL Pair inverse_mean_parts_upwards(double g, double f, double a, double p,
    double A, double B)
{
    double t = p / (1.0 - p) * A;
    double A_next = fma(1.0 - a, B, -((g + 1.0) * t));
    double B_next = fma(g + (a - 1.0), B, t);
    return (Pair){g < f ? A_next : A, g < f ? B_next : B};
}

/* Return b = f p + (s - 1) q. */
RISKCORE_KERNEL Pair base(double f, double s, double p)
{
    const Pair t1 = two_sum(s, -1.0);
    return mixture(f, t1.a, t1.b, p);
}

/* Return p/(b + h A/B) for positive b and B, from pairs A and B. */
RISKCORE_KERNEL Pair of_pairs(double p, double b, double b_low, double h, Tuple_dddd ratio)
{
    double A = ratio.a, A_low = ratio.b, B = ratio.c, B_low = ratio.d;
    double N = p * B;
    double N_low = fma(p, B_low, fma(p, B, -N));
    double product = b * B;
    double M = fma(h, A, product);
    double M_low = fma(h, A, product - M) + fma(b_low, B, fma(b, B, -product));
    return quotient_pair(N, N_low, M, M_low + fma(h, A_low, b * B_low));
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return r and its low part for f >= 1/2, p < 1/2, s >= f - 1/2. */
RISKCORE_PLAIN Pair inverse_mean_fractions_reflected(double f, double s, double p)
{
    const Tuple_dddd t1 = places(f, s);
    double u = t1.a, e = t1.b, g = t1.c, n = t1.d;
    const Pair t2 = log_high_low(p, 0.0);
    double high = t2.a, low = t2.b;
    const Pair t3 = series(u, e, p, series_end(high + low));
    double above = t3.a, below = t3.b;
    const Pair t4 = gammas(u, -e);
    const Pair t5 = reflect(u, e, p, high, low, t4.a, t4.b, above, below);
    double R = t5.a, R_low = t5.b;
    Tuple_dddd ratio = (Tuple_dddd){R, R_low, 1.0, 0.0};
    const Pair t6 = two_sum(e, -u);
    double a = t6.a, a_low = t6.b;
    const int64_t t7 = (int64_t)n;
    for (int64_t k = 0; k < t7; k++) {
        ratio = inverse_mean_fractions_rise((double)k, n, 1.0 + e, a, a_low, p, ratio);
    }
    if (g == 0.0) {
        return of_ratio(p, ratio);
    }
    ratio = to_next(u, 1.0 + e + n, p, ratio);
    const Pair t8 = two_sum(s, -f);
    a = t8.a;
    a_low = t8.b;
    RISKCORE_UNROLL
    for (int64_t k = 2; k < PAIR_STEPS; k++) {
        ratio = pair_upwards(u + (double)k, f, a, a_low, p, ratio);
    }
    const Tuple_dddd t9 = cut(g, ratio);
    above = t9.a;
    below = t9.c;
    double above_low = t9.b, below_low = t9.d;
    const int64_t t10 = 1 + (int64_t)g;
    for (int64_t k = PAIR_STEPS; k < t10; k++) {
        const Pair t11 = inverse_mean_parts_upwards(u + (double)k, f, a, p, above, below);
        above = t11.a;
        below = t11.b;
    }
    const Pair t12 = base(f, s, p);
    double b = t12.a, b_low = t12.b;
    return of_pairs(p, b, b_low, p, (Tuple_dddd){above, above_low, below, below_low});
}

/* Return (n, s - n, s - n - f as a pair), the last from -1/2 to 1, n an integer. */
RISKCORE_KERNEL Tuple_dddd inverse_mean_fractions_gauss_start(double f, double s)
{
    double n = (double)(int64_t)greater(s - f, 0.0);
    double shape = s - n;
    const Pair t1 = two_sum(shape, -f);
    double a = t1.a, a_low = t1.b;
    return (Tuple_dddd){n, shape, a, a_low};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return (U(2m+1), U(2m+2)) of Gauss's fraction, the second a guess. */
RISKCORE_KERNEL Pair gauss_tail(double f, double a, double q, double m)
{
    double y = f + 2.0 * m + 1.0 - (m + 1.0) * q;
    return (Pair){fma(f + 2.0 * m, y, -((m + 1.0 - a) * q * (f + m))), y};
}

/* Return (U(2m-1), U(2m)) from (U(2m+1), U(2m+2)). */
RISKCORE_KERNEL Pair inverse_mean_parts_gauss_step(double f, double s, double a, double q,
    double m, double x, double y)
{
    double z = fma(f + (2.0 * m - 1.0), x, -(m * q * (s + (m - 1.0)) * y));
    double less = m - 1.0;
    return (Pair){fma(f + 2.0 * less, z, -((m - a) * q * (f + less) * x)), z};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return U(2m-1) and U(2m) from U(2m+1) and U(2m+2), as pairs, for exact q. */
RISKCORE_KERNEL Tuple_dddd inverse_mean_fractions_gauss_pair_step(double f, double s, double a,
    double a_low, double q, double m, Tuple_dddd ratio)
{
    double x = ratio.a, x_low = ratio.b, y = ratio.c, y_low = ratio.d;
    const Pair t1 = two_sum(s, m - 1.0);
    double c = t1.a, c_low = t1.b;
    const Pair t2 = dd_multiply_double(c, c_low, -m * q);
    c = t2.a;
    c_low = t2.b;
    const Pair t3 = dd_multiply_positive(y, y_low, c, c_low);
    y = t3.a;
    y_low = t3.b;
    const Pair t4 = two_sum(f, 2.0 * m - 1.0);
    c = t4.a;
    c_low = t4.b;
    const Pair t5 = dd_multiply_positive(x, x_low, c, c_low);
    double z = t5.a, z_low = t5.b;
    const Pair t6 = dd_add(z, z_low, y, y_low);
    z = t6.a;
    z_low = t6.b;
    const Pair t7 = dd_add(a, a_low, -m, 0.0);
    c = t7.a;
    c_low = t7.b;
    const Pair t8 = dd_multiply_double(c, c_low, q);
    c = t8.a;
    c_low = t8.b;
    const Pair t9 = dd_multiply_positive(x, x_low, c, c_low);
    x = t9.a;
    x_low = t9.b;
    const Pair t10 = two_sum(f, m - 1.0);
    c = t10.a;
    c_low = t10.b;
    const Pair t11 = dd_multiply_positive(x, x_low, c, c_low);
    x = t11.a;
    x_low = t11.b;
    const Pair t12 = two_sum(f, 2.0 * m - 2.0);
    c = t12.a;
    c_low = t12.b;
    const Pair t13 = dd_multiply_positive(z, z_low, c, c_low);
    c = t13.a;
    c_low = t13.b;
    const Pair t14 = dd_add(c, c_low, x, x_low);
    x = t14.a;
    x_low = t14.b;
    return (Tuple_dddd){x, x_low, z, z_low};
}

/* Return N and M from U(5) and U(6). */
RISKCORE_KERNEL Tuple_dddd gauss_pair_end(double f, double s, double a, double a_low, double q,
    double x, double y)
{
    Tuple_dddd ratio = inverse_mean_fractions_gauss_pair_step(f, s, a, a_low, q, 2.0,
        (Tuple_dddd){x, 0.0, y, 0.0});
    const Tuple_dddd t1 = inverse_mean_fractions_gauss_pair_step(f, s, a, a_low, q, 1.0, ratio);
    double M = t1.a, M_low = t1.b, N = t1.c, N_low = t1.d;
    return (Tuple_dddd){N, N_low, M, M_low};
}

static const int64_t inverse_mean_fractions_GAUSS_PAIRS = 11;

/* Return r and its low part for f >= 1/2, p >= 1/2, s >= f - 1/2. */
RISKCORE_PLAIN Pair by_gauss(double f, double s, double p)
{
    double q = 1.0 - p;
    const Tuple_dddd t1 = inverse_mean_fractions_gauss_start(f, s);
    double n = t1.a, shape = t1.b, a = t1.c, a_low = t1.d;
    const Pair t2 = gauss_tail(f, a, q, (double)inverse_mean_fractions_GAUSS_PAIRS);
    double x = t2.a, y = t2.b;
    RISKCORE_UNROLL
    for (int64_t m = inverse_mean_fractions_GAUSS_PAIRS; m > 2; m--) {
        const Pair t3 = inverse_mean_parts_gauss_step(f, shape, a, q, (double)m, x, y);
        x = t3.a;
        y = t3.b;
    }
    Tuple_dddd ratio = gauss_pair_end(f, shape, a, a_low, q, x, y);
    const int64_t t4 = (int64_t)n;
    for (int64_t k = 0; k < t4; k++) {
        ratio = inverse_mean_fractions_rise((double)k, n, shape, a, a_low, p, ratio);
    }
    return of_ratio(p, ratio);
}

/* Return p q and (1 - a) p q as pairs, for exact q = 1 - p. */
RISKCORE_KERNEL Tuple_dddd noerlund_parts(double f, double s, double p)
{
    const Pair t1 = two_product(p, 1.0 - p);
    double square = t1.a, square_low = t1.b;
    const Pair t2 = two_sum(s, -f);
    double a = t2.a, a_low = t2.b;
    const Pair t3 = two_sum(1.0, -a);
    double less = t3.a, less_low = t3.b;
    const Pair t4 = dd_multiply_positive(less, less_low - a_low, square, square_low);
    double first = t4.a, first_low = t4.b;
    return (Tuple_dddd){square, square_low, first, first_low};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return a guess of V(k). */
RISKCORE_KERNEL double noerlund_tail(double b, double step, double k)
{
    return greater(fma(k, step, b), 0.5 * b);
}

/* Return numerator and denominator of V(k) from those of V(k+1). */
RISKCORE_KERNEL Pair inverse_mean_parts_noerlund_step(double b, double p, double step,
    double square, double first, double k, double x, double y)
{
    double above = fma(fma(k, step, b), x, (k + 1.0) * fma(k, square, first) * y);
    return (Pair){greater(above, k * p * x), x};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return numerator and denominator of V(k) from those of V(k+1), as pairs. */
RISKCORE_KERNEL Tuple_dddd noerlund_pair_step(double b, double b_low, double step,
    double square, double square_low, double first, double first_low, double k,
    Tuple_dddd ratio)
{
    double x = ratio.a, x_low = ratio.b, y = ratio.c, y_low = ratio.d;
    const Pair t1 = dd_multiply_double(square, square_low, k);
    double c = t1.a, c_low = t1.b;
    const Pair t2 = dd_add(first, first_low, c, c_low);
    c = t2.a;
    c_low = t2.b;
    const Pair t3 = dd_multiply_double(c, c_low, k + 1.0);
    c = t3.a;
    c_low = t3.b;
    const Pair t4 = dd_multiply_positive(y, y_low, c, c_low);
    y = t4.a;
    y_low = t4.b;
    const Pair t5 = two_product(k, step);
    double shift = t5.a, shift_low = t5.b;
    const Pair t6 = dd_add(b, b_low, shift, shift_low);
    c = t6.a;
    c_low = t6.b;
    const Pair t7 = dd_multiply_positive(c, c_low, x, x_low);
    c = t7.a;
    c_low = t7.b;
    const Pair t8 = dd_add(c, c_low, y, y_low);
    c = t8.a;
    c_low = t8.b;
    return (Tuple_dddd){c, c_low, x, x_low};
}

static const int64_t NOERLUND_EXACT = 5;

/* Return numerator and denominator of V(last), V(0) = D, from those of V(5). */
RISKCORE_PLAIN Tuple_dddd noerlund_pair_end(double b, double b_low, double step,
    double square, double square_low, double first, double first_low, int64_t last, double x,
    double y)
{
    Tuple_dddd ratio = (Tuple_dddd){x, 0.0, y, 0.0};
    const int64_t t1 = last - 1;
    for (int64_t k = NOERLUND_EXACT - 1; k > t1; k--) {
        ratio = noerlund_pair_step(b, b_low, step, square, square_low, first, first_low,
            (double)k, ratio);
    }
    return ratio;
}

static const int64_t inverse_mean_fractions_NOERLUND_LEVELS = 60;

/* Return numerator and denominator of V(last), for p >= 1/2. */
RISKCORE_PLAIN Tuple_dddd noerlund_pairs(double f, double s, double p, int64_t last)
{
    const Pair t1 = base(f, s, p);
    double b = t1.a, b_low = t1.b;
    double step = p - (1.0 - p);
    const Tuple_dddd t2 = noerlund_parts(f, s, p);
    double square = t2.a, square_low = t2.b, first = t2.c, first_low = t2.d;
    double x = noerlund_tail(b, step, (double)inverse_mean_fractions_NOERLUND_LEVELS);
    double y = 1.0;
    RISKCORE_UNROLL
    for (int64_t k = inverse_mean_fractions_NOERLUND_LEVELS - 1; k > NOERLUND_EXACT - 1; k--) {
        const Pair t3 = inverse_mean_parts_noerlund_step(b, p, step, square, first, (double)k,
            x, y);
        x = t3.a;
        y = t3.b;
    }
    return noerlund_pair_end(b, b_low, step, square, square_low, first, first_low, last, x, y);
}

/* Return p/D from numerator and denominator of D. */
RISKCORE_KERNEL Pair inverse_of(double p, Tuple_dddd ratio)
{
    double M = ratio.a, M_low = ratio.b, N = ratio.c, N_low = ratio.d;
    return of_ratio(p, (Tuple_dddd){N, N_low, M, M_low});
}

/* Return r and its low part for f >= 1/2, p >= 1/2, s - f >= A_LARGE. */
RISKCORE_PLAIN Pair by_noerlund(double f, double s, double p)
{
    return inverse_of(p, noerlund_pairs(f, s, p, 0));
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a / b. */
RISKCORE_KERNEL Pair dd_divide(double a, double a_low, double b, double b_low)
{
    double high = a / b;
    const Pair t1 = two_product(b, high);
    double product = t1.a, product_low = t1.b;
    double low = (a - product + (a_low - fma(b_low, high, product_low))) / b;
    return fast_two_sum(high, low);
}

/* --- riskcore/core/special/gamma/digamma.py ------------------------------------- */

/* Return 1/y - 1/(y+m). */
RISKCORE_PLAIN Pair gap(double y, double y_low, double m)
{
    const Pair t1 = dd_add(y, y_low, m, 0.0);
    const Pair t2 = dd_divide(m, 0.0, t1.a, t1.b);
    double high = t2.a, low = t2.b;
    return dd_divide(high, low, y, y_low);
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return a * b. */
RISKCORE_KERNEL Pair dd_multiply(double a, double a_low, double b, double b_low)
{
    const Pair t1 = two_product(a, b);
    double high = t1.a, low = t1.b;
    return fast_two_sum(high, low + fma(a, b_low, fma(a_low, b, a_low * b_low)));
}

/* --- riskcore/core/special/gamma/digamma.py ------------------------------------- */

/* Return 1/y^2 - 1/(y+m)^2. */
RISKCORE_PLAIN Pair gap_of_squares(double y, double y_low, double m)
{
    const Pair t1 = gap(y, y_low, m);
    double high = t1.a, low = t1.b;
    const Pair t2 = dd_divide(1.0, 0.0, y, y_low);
    double a = t2.a, a_low = t2.b;
    const Pair t3 = dd_add(y, y_low, m, 0.0);
    const Pair t4 = dd_divide(1.0, 0.0, t3.a, t3.b);
    double c = t4.a, c_low = t4.b;
    const Pair t5 = dd_add(a, a_low, c, c_low);
    return dd_multiply(high, low, t5.a, t5.b);
}

static const double digamma_LARGE = 16.0;

/* Return the sum of gaps from y to below LARGE as a pair, and their number. */
RISKCORE_PLAIN Triple up(double y, double y_low, double m, bool squares)
{
    double high = 0.0;
    double low = 0.0;
    double k = 0.0;
    double z = y;
    double z_low = y_low;
    while (z < digamma_LARGE) {
        const Pair t1 = squares ? gap_of_squares(z, z_low, m) : gap(z, z_low, m);
        double part = t1.a, part_low = t1.b;
        const Pair t2 = dd_add(high, low, part, part_low);
        high = t2.a;
        low = t2.b;
        k += 1.0;
        const Pair t3 = dd_add(y, y_low, k, 0.0);
        z = t3.a;
        z_low = t3.b;
    }
    return (Triple){high, low, k};
}

/* --- riskcore/core/special/double_double.py ------------------------------------- */

/* Return 1/11 + w/13 + w^2/15 + ... for 0 <= w <= 0.0296. */
RISKCORE_KERNEL double tail(double w)
{
    double t = fma(w, 1.0 / 35.0, 1.0 / 33.0);
    t = fma(w, t, 1.0 / 31.0);
    t = fma(w, t, 1.0 / 29.0);
    t = fma(w, t, 1.0 / 27.0);
    t = fma(w, t, 1.0 / 25.0);
    t = fma(w, t, 1.0 / 23.0);
    t = fma(w, t, 1.0 / 21.0);
    t = fma(w, t, 1.0 / 19.0);
    t = fma(w, t, 1.0 / 17.0);
    t = fma(w, t, 1.0 / 15.0);
    t = fma(w, t, 1.0 / 13.0);
    return fma(w, t, 1.0 / 11.0);
}

static const double NINTH_LOW = 0x1.c71c71c71c71cp-58;
static const double SEVENTH_LOW = 0x1.2492492492492p-57;

/* Return atanh s - s = s^3/3 + s^5/5 + ... for |s| < 0.172, to 2^-75 of itself. */
RISKCORE_KERNEL Pair atanh_excess(double s, double s_low)
{
    const Pair t1 = dd_multiply(s, s_low, s, s_low);
    double w = t1.a, w_low = t1.b;
    const Pair t2 = dd_multiply(w, w_low, tail(w), 0.0);
    double high = t2.a, low = t2.b;
    const Pair t3 = dd_add(1.0 / 9.0, NINTH_LOW, high, low);
    high = t3.a;
    low = t3.b;
    const Pair t4 = dd_multiply(w, w_low, high, low);
    high = t4.a;
    low = t4.b;
    const Pair t5 = dd_add(1.0 / 7.0, SEVENTH_LOW, high, low);
    high = t5.a;
    low = t5.b;
    const Pair t6 = dd_multiply(w, w_low, high, low);
    high = t6.a;
    low = t6.b;
    const Pair t7 = dd_add(1.0 / 5.0, FIFTH_LOW, high, low);
    high = t7.a;
    low = t7.b;
    const Pair t8 = dd_multiply(w, w_low, high, low);
    high = t8.a;
    low = t8.b;
    const Pair t9 = dd_add(1.0 / 3.0, THIRD_LOW, high, low);
    high = t9.a;
    low = t9.b;
    const Pair t10 = dd_multiply(w, w_low, high, low);
    high = t10.a;
    low = t10.b;
    return dd_multiply(s, s_low, high, low);
}

static const double double_double_TINY = 0x1p-1022;

/* Return log x for finite x > 0, to 2^-80 of itself. */
RISKCORE_KERNEL Pair dd_log(double x, double x_low)
{
    bool subnormal = x < double_double_TINY;
    double scaled = x * (subnormal ? TWO_52 : 1.0);
    int64_t pattern = bits(scaled);
    int64_t exponent = pattern_difference(pattern, SQRT_HALF_BITS) >> 52;
    double z = from_bits(pattern_difference(pattern, shift_left(exponent, 52)));
    double z_low = z * (x_low / x);
    double k = (double)exponent - (subnormal ? 52.0 : 0.0);
    const Pair t1 = two_sum(z - 1.0, z_low);
    double above = t1.a, above_low = t1.b;
    const Pair t2 = dd_add(1.0, 0.0, z, z_low);
    double below = t2.a, below_low = t2.b;
    const Pair t3 = dd_divide(above, above_low, below, below_low);
    double s = t3.a, s_low = t3.b;
    const Pair t4 = atanh_excess(s, s_low);
    double rest = t4.a, rest_low = t4.b;
    const Pair t5 = dd_add(2.0 * s, 2.0 * s_low, 2.0 * rest, 2.0 * rest_low);
    double high = t5.a, low = t5.b;
    const Pair t6 = two_product(k, elementary_LN2_LOW);
    double shift = t6.a, shift_low = t6.b;
    const Pair t7 = dd_add(shift, shift_low, high, low);
    high = t7.a;
    low = t7.b;
    return dd_add(k * LN2_HIGH, 0.0, high, low);
}

/* --- riskcore/core/special/near_one.py ------------------------------------------ */

static const double near_one_SMALLEST = -0.29;
static const double near_one_LARGEST = 0.41;

/* Return log(1 + v) for v > -1, to 2^-75 of itself. */
RISKCORE_PLAIN Pair dd_log1p(double v, double v_low)
{
    if (near_one_SMALLEST < v && v < near_one_LARGEST) {
        const Pair t1 = dd_add(2.0, 0.0, v, v_low);
        const Pair t2 = dd_divide(v, v_low, t1.a, t1.b);
        double s = t2.a, s_low = t2.b;
        const Pair t3 = atanh_excess(s, s_low);
        double rest = t3.a, rest_low = t3.b;
        return dd_add(2.0 * s, 2.0 * s_low, 2.0 * rest, 2.0 * rest_low);
    }
    const Pair t4 = dd_add(1.0, 0.0, v, v_low);
    return dd_log(t4.a, t4.b);
}

/* --- riskcore/core/special/gamma/stirling.py ------------------------------------ */

/* Return the sum of coefficient times (a^j - c^j)/(a - c), j = i, i+2, i+4, ... */
RISKCORE_PLAIN double fall(const double *coefficients, double a, double c, double quotient,
    double power)
{
    double total = 0.0;
    for (int64_t place = 0; place < 7; place++) {
        const double coefficient = coefficients[place];
        total += coefficient * quotient;
        quotient = a * a * quotient + (a + c) * power;
        power *= c * c;
    }
    return total;
}

static const double DIGAMMA_TERMS[] = {0x1.5555555555555p-4, -0x1.1111111111111p-7,
    0x1.041041041041p-8, -0x1.1111111111111p-8, 0x1.f07c1f07c1f08p-8, -0x1.5995995995996p-6,
    0x1.5555555555555p-4};

/* Return S'(x+m) - S'(x) for x, x+m >= LARGE. */
RISKCORE_PLAIN double rise_of_slope(double x, double m)
{
    double a = 1.0 / x;
    double c = 1.0 / (x + m);
    return m * a * c * fall(DIGAMMA_TERMS, a, c, a + c, c * c);
}

/* --- riskcore/core/special/gamma/digamma.py ------------------------------------- */

/* Return psi(y+m) - psi(y) - log((y+m)/y) for y >= LARGE. */
RISKCORE_PLAIN Pair beyond_log(double y, double y_low, double m)
{
    const Pair t1 = gap(y, y_low, m);
    double high = t1.a, low = t1.b;
    return dd_add(0.5 * high, 0.5 * low, rise_of_slope(y, m), 0.0);
}

/* Return dd_digamma_difference for a pair x. */
RISKCORE_PLAIN Pair dd_digamma_difference_at_pair(double x, double x_low, double m)
{
    if (m == 0.0) {
        return (Pair){0.0, 0.0};
    }
    const Triple t1 = up(x, x_low, m, false);
    double high = t1.a, low = t1.b, k = t1.c;
    const Pair t2 = dd_add(x, x_low, k, 0.0);
    double Y = t2.a, Y_low = t2.b;
    const Pair t3 = dd_divide(m, 0.0, Y, Y_low);
    const Pair t4 = dd_log1p(t3.a, t3.b);
    double part = t4.a, part_low = t4.b;
    const Pair t5 = dd_add(high, low, part, part_low);
    high = t5.a;
    low = t5.b;
    const Pair t6 = beyond_log(Y, Y_low, m);
    part = t6.a;
    part_low = t6.b;
    return dd_add(high, low, part, part_low);
}

/* Return psi(x+m) - psi(x) for x > 0, m >= 0, to 2^-60 of itself. */
RISKCORE_PLAIN Pair dd_digamma_difference(double x, double m)
{
    return dd_digamma_difference_at_pair(x, 0.0, m);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_pairs.py -------------- */

/* Return -log p - psi(f) + psi(1), the limit of (1 - p^e g)/e for e = 0. */
RISKCORE_PLAIN Pair slope(double f, double p)
{
    const Pair t1 = dd_digamma_difference(1.0, f);
    double high = t1.a, low = t1.b;
    const Pair t2 = dd_log(p, 0.0);
    const Pair t3 = dd_add(high, low, t2.a, t2.b);
    high = t3.a;
    low = t3.b;
    const Pair t4 = dd_divide(1.0, 0.0, f, 0.0);
    double v = t4.a, v_low = t4.b;
    const Pair t5 = dd_add(v, v_low, -high, -low);
    high = t5.a;
    low = t5.b;
    return (Pair){high, low};
}

/* --- riskcore/core/special/gamma/ratio.py --------------------------------------- */

/* Return y (y+s+t)/((y+s)(y+t)) and 1 minus it, two positive double-doubles. */
RISKCORE_PLAIN Tuple_dddd quotients(double y, double y_low, double s, double t)
{
    const Pair t1 = dd_add(y, y_low, s, 0.0);
    double ys = t1.a, ys_low = t1.b;
    const Pair t2 = dd_add(y, y_low, t, 0.0);
    double yt = t2.a, yt_low = t2.b;
    const Pair t3 = dd_divide(y, y_low, ys, ys_low);
    double q = t3.a, q_low = t3.b;
    const Pair t4 = dd_add(ys, ys_low, t, 0.0);
    const Pair t5 = dd_divide(t4.a, t4.b, yt, yt_low);
    double r = t5.a, r_low = t5.b;
    const Pair t6 = dd_multiply(q, q_low, r, r_low);
    double p = t6.a, p_low = t6.b;
    const Pair t7 = dd_divide(s, 0.0, ys, ys_low);
    q = t7.a;
    q_low = t7.b;
    const Pair t8 = dd_divide(t, 0.0, yt, yt_low);
    r = t8.a;
    r_low = t8.b;
    const Pair t9 = dd_multiply(q, q_low, r, r_low);
    double d = t9.a, d_low = t9.b;
    return (Tuple_dddd){p, p_low, d, d_low};
}

/* --- riskcore/core/special/gamma/products.py ------------------------------------ */

/* Return log q for q > 0, where d is 1 - q, to 2^-75 of itself. */
RISKCORE_PLAIN Pair log_of_quotient(double q, double q_low, double d, double d_low)
{
    if (near_one_SMALLEST < -d && -d < near_one_LARGEST) {
        return dd_log1p(-d, -d_low);
    }
    return dd_log(q, q_low);
}

/* --- riskcore/core/special/gamma/stirling.py ------------------------------------ */

/* Return the sum of coefficient times a^j - b^j - c^j + d^j, j = 1, 3, 5, ... */
RISKCORE_PLAIN double second_fall(const double *coefficients, bool slope, double x, double s,
    double t)
{
    double a = 1.0 / x;
    double b = 1.0 / (x + s);
    double c = 1.0 / (x + t);
    double d = 1.0 / (x + s + t);
    double ab = s * a * b;
    double ac = t * a * c;
    double bd = t * b * d;
    double cd = s * c * d;
    double first = ab * t * (2.0 * x + s + t) * c * d;
    double squares = (a + d) * first + bd * ab + cd * ac;
    bd *= b + d;
    cd *= c + d;
    double second, power, power_b, power_c;
    if (slope) {
        second = squares;
        ab = ab * (a + b);
        ac = ac * (a + c);
        power = a * a;
        power_b = b * b;
        power_c = c * c;
    } else {
        second = first;
        power = a;
        power_b = b;
        power_c = c;
    }
    double total = 0.0;
    for (int64_t place = 0; place < 7; place++) {
        const double coefficient = coefficients[place];
        total += coefficient * second;
        second = d * d * second + squares * power + bd * ab + cd * ac;
        ab = a * a * ab + s * a * b * (a + b) * power_b;
        ac = a * a * ac + t * a * c * (a + c) * power_c;
        power *= a * a;
        power_b *= b * b;
        power_c *= c * c;
    }
    return total;
}

static const double LOG_GAMMA_TERMS[] = {0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9,
    0x1.a01a01a01a01ap-11, -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11,
    -0x1.f6ab0d9993c7dp-10, 0x1.a41a41a41a41ap-8};

/* Return S(x) - S(x+s) - S(x+t) + S(x+s+t) for x >= LARGE, s, t >= 0. */
RISKCORE_PLAIN double stirling_second_difference(double x, double s, double t)
{
    return second_fall(LOG_GAMMA_TERMS, false, x, s, t);
}

/* --- riskcore/core/special/gamma/ratio.py --------------------------------------- */

/* Return f for x >= LARGE. */
RISKCORE_PLAIN Pair ratio_second_difference(double x, double x_low, double s, double t)
{
    const Tuple_dddd t1 = quotients(x, x_low, s, t);
    double p = t1.a, p_low = t1.b, d = t1.c, d_low = t1.d;
    const Pair t2 = log_of_quotient(p, p_low, d, d_low);
    double high = t2.a, low = t2.b;
    const Pair t3 = dd_add(x, x_low, -0.5, 0.0);
    const Pair t4 = dd_multiply(high, low, t3.a, t3.b);
    high = t4.a;
    low = t4.b;
    const Pair t5 = dd_add(x, x_low, s, 0.0);
    const Pair t6 = dd_divide(t, 0.0, t5.a, t5.b);
    double v = t6.a, v_low = t6.b;
    const Pair t7 = dd_log1p(v, v_low);
    double part = t7.a, part_low = t7.b;
    const Pair t8 = dd_multiply(part, part_low, s, 0.0);
    part = t8.a;
    part_low = t8.b;
    const Pair t9 = dd_add(high, low, part, part_low);
    high = t9.a;
    low = t9.b;
    const Pair t10 = dd_add(x, x_low, t, 0.0);
    const Pair t11 = dd_divide(s, 0.0, t10.a, t10.b);
    v = t11.a;
    v_low = t11.b;
    const Pair t12 = dd_log1p(v, v_low);
    part = t12.a;
    part_low = t12.b;
    const Pair t13 = dd_multiply(part, part_low, t, 0.0);
    part = t13.a;
    part_low = t13.b;
    const Pair t14 = dd_add(high, low, part, part_low);
    high = t14.a;
    low = t14.b;
    return dd_add(high, low, stirling_second_difference(x, s, t), 0.0);
}

/* --- riskcore/core/special/gamma/products.py ------------------------------------ */

/* Return the logarithm of the product. */
RISKCORE_PLAIN Pair products_log_of(Tuple_dddddd product)
{
    double p = product.a, p_low = product.b, e = product.c, e_low = product.d,
        log_ = product.e, log_low = product.f;
    const Pair t1 = log_of_quotient(p, p_low, e, e_low);
    double q = t1.a, q_low = t1.b;
    return dd_add(log_, log_low, q, q_low);
}

static const double FAINT = 0x1p-300;

/* Return the product times q, where d is 1 - q. */
RISKCORE_PLAIN Tuple_dddddd products_times(Tuple_dddddd product, double q, double q_low,
    double d, double d_low)
{
    double p = product.a, p_low = product.b, e = product.c, e_low = product.d,
        log_ = product.e, log_low = product.f;
    const Pair t1 = dd_multiply(d, d_low, p, p_low);
    d = t1.a;
    d_low = t1.b;
    const Pair t2 = dd_add(e, e_low, d, d_low);
    e = t2.a;
    e_low = t2.b;
    const Pair t3 = dd_multiply(p, p_low, q, q_low);
    p = t3.a;
    p_low = t3.b;
    if (p < FAINT) {
        const Pair t4 = dd_log(p, p_low);
        q = t4.a;
        q_low = t4.b;
        const Pair t5 = dd_add(log_, log_low, q, q_low);
        log_ = t5.a;
        log_low = t5.b;
        return (Tuple_dddddd){1.0, 0.0, 0.0, 0.0, log_, log_low};
    }
    return (Tuple_dddddd){p, p_low, e, e_low, log_, log_low};
}

/* --- riskcore/core/special/gamma/ratio.py --------------------------------------- */

/* Return dd_log_gamma_ratio for a pair x. */
RISKCORE_PLAIN Pair dd_log_gamma_ratio_at_pair(double x, double x_low, double s, double t)
{
    Tuple_dddddd product = (Tuple_dddddd){1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    double y = x;
    double y_low = x_low;
    double k = 0.0;
    while (y < digamma_LARGE) {
        const Tuple_dddd t1 = quotients(y, y_low, s, t);
        double q = t1.a, q_low = t1.b, d = t1.c, d_low = t1.d;
        product = products_times(product, q, q_low, d, d_low);
        k += 1.0;
        const Pair t2 = dd_add(x, x_low, k, 0.0);
        y = t2.a;
        y_low = t2.b;
    }
    const Pair t3 = ratio_second_difference(y, y_low, s, t);
    double high = t3.a, low = t3.b;
    const Pair t4 = products_log_of(product);
    return dd_add(t4.a, t4.b, -high, -low);
}

/* Return -f = log(Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t))), x, s, t > 0. */
RISKCORE_PLAIN Pair dd_log_gamma_ratio(double x, double s, double t)
{
    return dd_log_gamma_ratio_at_pair(x, 0.0, s, t);
}

static const double ratio_NEAR_ONE = 0.41;

/* Return log of Gamma(f) Gamma(1-e)/Gamma(f-e) for e < f, e from -1 to 1/2. */
RISKCORE_PLAIN Pair dd_log_gamma_quotient(double f, double e, double e_low)
{
    double high, low;
    if (e > 0.0) {
        const Pair t1 = dd_log_gamma_ratio(1.0 - e, e, f);
        high = t1.a;
        low = t1.b;
        high = -high;
        low = -low;
    } else {
        const Pair t2 = dd_log_gamma_ratio(1.0, -e, f);
        high = t2.a;
        low = t2.b;
    }
    if (e_low != 0.0) {
        const Pair t3 = dd_digamma_difference(1.0 - e, f);
        double slope = t3.a;
        low += e_low * slope;
    }
    const Pair t4 = dd_divide(-e, -e_low, f, 0.0);
    double v = t4.a, v_low = t4.b;
    if (near_one_SMALLEST < v && v < ratio_NEAR_ONE) {
        const Pair t5 = dd_log1p(v, v_low);
        v = t5.a;
        v_low = t5.b;
    } else {
        const Pair t6 = dd_add(f, 0.0, -e, -e_low);
        const Pair t7 = dd_divide(t6.a, t6.b, f, 0.0);
        const Pair t8 = dd_log(t7.a, t7.b);
        v = t8.a;
        v_low = t8.b;
    }
    return dd_add(high, low, v, v_low);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_pairs.py -------------- */

/* Return log(g p^e). */
RISKCORE_PLAIN Pair log_of_gammas(double f, double p, double e, double e_low)
{
    const Pair t1 = dd_log(p, 0.0);
    const Pair t2 = dd_multiply(t1.a, t1.b, e, e_low);
    double x = t2.a, x_low = t2.b;
    const Pair t3 = dd_log_gamma_quotient(f, e, e_low);
    return dd_add(x, x_low, t3.a, t3.b);
}

/* --- riskcore/core/special/near_one.py ------------------------------------------ */

/* Return exp(x) - 1 for x <= 709, to 2^-70 of itself; -1 below -80. */
RISKCORE_PLAIN Pair dd_expm1(double x, double x_low)
{
    x_low = x > LOWEST ? x_low : 0.0;
    const Tuple_dddd t1 = exponentials(greater(x, LOWEST), x_low);
    double high = t1.c, low = t1.d;
    return (Pair){high, low};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_pairs.py -------------- */

static const double END = 0x1p-80;

/* Return r for 0 < s < 3/2, s < f + 1 and f p <= 1. */
RISKCORE_PLAIN Pair inverse_mean_pairs_reflected(double f, double s, double p)
{
    const Pair t1 = two_sum(s, -1.0);
    double e = t1.a, e_low = t1.b;
    double high, low, x, x_low;
    if (e == 0.0) {
        const Pair t2 = slope(f, p);
        high = t2.a;
        low = t2.b;
    } else {
        const Pair t3 = log_of_gammas(f, p, e, e_low);
        const Pair t4 = dd_expm1(t3.a, t3.b);
        x = t4.a;
        x_low = t4.b;
        const Pair t5 = dd_divide(-x, -x_low, e, e_low);
        high = t5.a;
        low = t5.b;
    }
    double c = 1.0;
    double c_low = 0.0;
    double k = 0.0;
    while (magnitude(c) > END) {
        k += 1.0;
        const Pair t6 = two_sum(k, -f);
        double part = t6.a, part_low = t6.b;
        const Pair t7 = dd_multiply(c, c_low, part, part_low);
        c = t7.a;
        c_low = t7.b;
        const Pair t8 = dd_multiply_double(c, c_low, p);
        c = t8.a;
        c_low = t8.b;
        const Pair t9 = dd_divide(c, c_low, k, 0.0);
        c = t9.a;
        c_low = t9.b;
        const Pair t10 = dd_add(k, 0.0, -e, -e_low);
        const Pair t11 = dd_divide(c, c_low, t10.a, t10.b);
        part = t11.a;
        part_low = t11.b;
        const Pair t12 = dd_add(high, low, -part, -part_low);
        high = t12.a;
        low = t12.b;
    }
    const Pair t13 = dd_log1p(-p, 0.0);
    x = t13.a;
    x_low = t13.b;
    const Pair t14 = dd_multiply_double(x, x_low, -f);
    const Pair t15 = dd_expm1(t14.a, t14.b);
    x = t15.a;
    x_low = t15.b;
    const Pair t16 = dd_add(1.0, 0.0, x, x_low);
    const Pair t17 = dd_multiply(high, low, t16.a, t16.b);
    high = t17.a;
    low = t17.b;
    return dd_multiply_double(high, low, p);
}

/* Return r(f, s + steps) from r(f, s). */
RISKCORE_PLAIN Pair inverse_mean_pairs_upwards(double f, double s, double p, double steps,
    double r, double r_low)
{
    double k = 0.0;
    while (k < steps) {
        const Pair t1 = two_sum(s, k);
        double shape = t1.a, shape_low = t1.b;
        const Pair t2 = dd_add(shape, shape_low, -f, 0.0);
        double part = t2.a, part_low = t2.b;
        const Pair t3 = dd_multiply(r, r_low, part, part_low);
        r = t3.a;
        r_low = t3.b;
        const Pair t4 = dd_add(1.0, 0.0, r, r_low);
        const Pair t5 = dd_multiply_double(t4.a, t4.b, p);
        r = t5.a;
        r_low = t5.b;
        const Pair t6 = dd_divide(r, r_low, shape, shape_low);
        r = t6.a;
        r_low = t6.b;
        k += 1.0;
    }
    return (Pair){r, r_low};
}

static const int64_t inverse_mean_pairs_LEVELS = 140;

/* Return r for f < 1 from D at f + 1, whose b and parts are given. */
RISKCORE_PLAIN Pair inverse_mean_pairs_below_one(double f, double p, Pair b, Pair step,
    Pair square, Pair first)
{
    double k = (double)inverse_mean_pairs_LEVELS;
    double step_high = step.a, step_low = step.b;
    double first_high = first.a, first_low = first.b;
    double V = greater(b.a + k * step_high, b.a);
    double V_low = 0.0;
    double part, part_low;
    while (k > 0.0) {
        k -= 1.0;
        const Pair t1 = dd_multiply_double(square.a, square.b, k);
        part = t1.a;
        part_low = t1.b;
        const Pair t2 = dd_add(first_high, first_low, part, part_low);
        part = t2.a;
        part_low = t2.b;
        const Pair t3 = dd_multiply_double(part, part_low, k + 1.0);
        part = t3.a;
        part_low = t3.b;
        const Pair t4 = dd_divide(part, part_low, V, V_low);
        part = t4.a;
        part_low = t4.b;
        const Pair t5 = dd_multiply_double(step_high, step_low, k);
        double shift = t5.a, shift_low = t5.b;
        if (k == 0.0) {
            break;
        }
        const Pair t6 = dd_add(b.a, b.b, shift, shift_low);
        const Pair t7 = dd_add(t6.a, t6.b, part, part_low);
        V = t7.a;
        V_low = t7.b;
    }
    const Pair t8 = dd_add(b.a, b.b, part, part_low);
    double D = t8.a, D_low = t8.b;
    const Pair t9 = two_sum(f, 1.0);
    const Pair t10 = dd_multiply_double(t9.a, t9.b, p);
    double above = t10.a, above_low = t10.b;
    const Pair t11 = dd_add(above, above_low, part, part_low);
    above = t11.a;
    above_low = t11.b;
    const Pair t12 = dd_multiply_double(D, D_low, f);
    return dd_divide(above, above_low, t12.a, t12.b);
}

/* Return f p + s q. */
RISKCORE_PLAIN Pair gauss_sum(double f, double s, double p)
{
    const Pair t1 = base(f, s, p);
    const Pair t2 = two_sum(1.0, -p);
    return dd_add(t1.a, t1.b, t2.a, t2.b);
}

/* Return the number of levels that leave less than 2^-60 of D, for s < f + 1. */
RISKCORE_PLAIN int64_t gauss_levels(double f, double p)
{
    double x = f * p;
    double by_p = 23.0 / sqrt(p);
    double by_x = 16.0 + 220.0 / sqrt(x * sqrt(x));
    return 10 + (int64_t)lesser(by_p, by_x);
}

/* Return a guess of W(m), as if W(m+1) were the same. */
RISKCORE_PLAIN double gauss_guess(double f, double s, double p, double m)
{
    double q = 1.0 - p;
    double e = (m + 1.0) * (s + m) / (f + (2.0 * m + 1.0));
    double less = m * (s + (m - 1.0)) / (f + (2.0 * m - 1.0));
    double half = 0.5 * (gauss_sum(f, s, p).a + 2.0 * m - q * (e + less));
    return half + sqrt(greater(half * half - q * q * e * (e + (f - s)), 0.0));
}

/* Return e(m) = m (s + m - 1)/(f + 2 m - 1). */
RISKCORE_PLAIN Pair gauss_part(double f, double s, double m)
{
    if (m == 0.0) {
        return (Pair){0.0, 0.0};
    }
    const Pair t1 = two_sum(s, m - 1.0);
    const Pair t2 = dd_multiply_double(t1.a, t1.b, m);
    double above = t2.a, above_low = t2.b;
    const Pair t3 = two_sum(f, 2.0 * m - 1.0);
    return dd_divide(above, above_low, t3.a, t3.b);
}

/* Return D by Gauss's fraction for s < f + 1. */
RISKCORE_PLAIN Pair gauss_in_pairs(double f, double s, double p)
{
    const Pair t1 = two_sum(1.0, -p);
    double q = t1.a, q_low = t1.b;
    const Pair t2 = two_sum(s, -f);
    double a = t2.a, a_low = t2.b;
    const Pair t3 = gauss_sum(f, s, p);
    double total = t3.a, total_low = t3.b;
    double m = (double)((gauss_levels(f, p) + 1) >> 1);
    double W = gauss_guess(f, s, p, m);
    double W_low = 0.0;
    const Pair t4 = gauss_part(f, s, m);
    double e = t4.a, e_low = t4.b;
    while (m > 0.0) {
        m -= 1.0;
        const Pair t5 = dd_add(e, e_low, -a, -a_low);
        const Pair t6 = dd_multiply(e, e_low, t5.a, t5.b);
        double c = t6.a, c_low = t6.b;
        const Pair t7 = dd_multiply(c, c_low, q, q_low);
        const Pair t8 = dd_divide(t7.a, t7.b, W, W_low);
        c = t8.a;
        c_low = t8.b;
        const Pair t9 = dd_add(c, c_low, e, e_low);
        c = t9.a;
        c_low = t9.b;
        const Pair t10 = gauss_part(f, s, m);
        e = t10.a;
        e_low = t10.b;
        const Pair t11 = dd_add(c, c_low, e, e_low);
        const Pair t12 = dd_multiply(t11.a, t11.b, q, q_low);
        c = t12.a;
        c_low = t12.b;
        const Pair t13 = dd_add(total, total_low, 2.0 * m, 0.0);
        W = t13.a;
        W_low = t13.b;
        const Pair t14 = dd_add(W, W_low, -c, -c_low);
        W = t14.a;
        W_low = t14.b;
    }
    return (Pair){W, W_low};
}

static const double P_REFLECTED = 0.5;
static const double FP_REFLECTED = 1.0;
static const double A_NOERLUND = 64.0;

/* Return r(f, s, p) in the region OTHER of inverse_mean. */
RISKCORE_SHARED Pair inverse_mean_pair(double f, double s, double p)
{
    double a = s - f;
    double steps, r, r_low;
    if ((p < P_REFLECTED) & (f * p <= FP_REFLECTED)) {
        steps = s >= 0.5 ? (double)(int64_t)(s - 0.5) : 0.0;
        if (s - steps >= f + 1.0) {
            steps += 1.0;
        }
        const Pair t1 = inverse_mean_pairs_reflected(f, s - steps, p);
        r = t1.a;
        r_low = t1.b;
        return inverse_mean_pairs_upwards(f, s - steps, p, steps, r, r_low);
    }
    if (a >= A_NOERLUND) {
        const Pair t2 = two_sum(1.0, -p);
        double q = t2.a, q_low = t2.b;
        const Pair t3 = two_sum(f, 1.0);
        const Pair t4 = dd_add(t3.a, t3.b, -s, 0.0);
        double rest = t4.a, rest_low = t4.b;
        const Pair t5 = dd_multiply_double(q, q_low, p);
        double square = t5.a, square_low = t5.b;
        const Pair t6 = dd_multiply(rest, rest_low, square, square_low);
        double first = t6.a, first_low = t6.b;
        const Pair t7 = two_sum(f, 1.0);
        const Pair t8 = dd_multiply_double(t7.a, t7.b, p);
        double b = t8.a, b_low = t8.b;
        const Pair t9 = dd_multiply_double(q, q_low, s);
        const Pair t10 = dd_add(b, b_low, t9.a, t9.b);
        b = t10.a;
        b_low = t10.b;
        Pair step = dd_add(p, 0.0, -q, -q_low);
        return inverse_mean_pairs_below_one(f, p, (Pair){b, b_low}, step, (Pair){square,
            square_low}, (Pair){first, first_low});
    }
    steps = a >= 1.0 ? (double)(int64_t)a : 0.0;
    const Pair t11 = gauss_in_pairs(f, s - steps, p);
    double D = t11.a, D_low = t11.b;
    const Pair t12 = dd_divide(p, 0.0, D, D_low);
    r = t12.a;
    r_low = t12.b;
    return inverse_mean_pairs_upwards(f, s - steps, p, steps, r, r_low);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return T = (1 - p^a)/a for a != 0, given log p = high + low. */
RISKCORE_KERNEL Pair less_power(double a, double a_low, double high, double low)
{
    const Pair t1 = fast_two_sum(high, low);
    high = t1.a;
    low = t1.b;
    const Pair t2 = two_product(a, high);
    double x = t2.a, x_low = t2.b;
    x_low = fma(a, low, fma(a_low, high, x_low));
    const Pair t3 = fast_two_sum(x, x_low);
    const Pair t4 = expm1_pair(t3.a, t3.b);
    double power = t4.a, power_low = t4.b;
    double T = power / -a;
    return (Pair){T, (fma(T, a, power) + fma(T, a_low, power_low)) / -a};
}

/* Return r for f = 1: p T/q. */
RISKCORE_KERNEL Pair of_one(double p, double T, double T_low)
{
    double q = 1.0 - p;
    double N = p * T;
    return quotient_pair(N, fma(p, T_low, fma(p, T, -N)), q, 1.0 - q - p);
}

/* Return A and B with D = b + p A/B for f = 2, as pairs. */
RISKCORE_KERNEL Tuple_dddd of_two(double a, double a_low, double p, double T, double T_low)
{
    double q = 1.0 - p;
    double q_low = 1.0 - q - p;
    const Pair t1 = two_product(a, q);
    double aq = t1.a, aq_low = t1.b;
    const Pair t2 = two_sum(1.0 + p, aq);
    double c = t2.a, c_low = t2.b;
    c_low += p - (1.0 + p - 1.0) + (aq_low + fma(a, q_low, a_low * q));
    const Pair t3 = two_product(T, c);
    double product = t3.a, product_low = t3.b;
    product_low = fma(T, c_low, fma(T_low, c, product_low));
    const Pair t4 = two_sum(product, -2.0 * q);
    double A = t4.a, A_low = t4.b;
    const Pair t5 = fast_two_sum(A, A_low + (product_low - 2.0 * q_low));
    A = t5.a;
    A_low = t5.b;
    const Pair t6 = two_product(p, T);
    product = t6.a;
    product_low = t6.b;
    const Pair t7 = two_sum(q, -product);
    double B = t7.a, B_low = t7.b;
    return (Tuple_dddd){A, A_low, B, B_low + (q_low - fma(p, T_low, product_low))};
}

/* Return p/(b + h above/below) for positive b, below, by one division. */
RISKCORE_KERNEL Pair of_parts(double p, double b, double b_low, double h, double above,
    double below)
{
    return of_pairs(p, b, b_low, h, (Tuple_dddd){above, 0.0, below, 0.0});
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

/* Return half the levels, minus one half, of a region of Gauss's fraction. */
RISKCORE_PLAIN int64_t pairs_of(int64_t where)
{
    return where == GAUSS_31 ? 15 : 20;
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return (A, B) with D = b + (1 - a) q A/B from (U(3), U(4)). */
RISKCORE_KERNEL Pair inverse_mean_parts_gauss_end(double f, double s, double q, double x,
    double y)
{
    double above = fma(-(s * q), y, x);
    return (Pair){above, fma(f, x, above)};
}

/* Return (A, B) with D = b + (1 - a) q A/B, by 2 pairs + 1 levels. */
RISKCORE_PLAIN Pair inverse_mean_parts_gauss(double f, double s, double a, double q,
    int64_t pairs)
{
    const Pair t1 = gauss_tail(f, a, q, (double)pairs);
    double x = t1.a, y = t1.b;
    for (int64_t m = pairs; m > 1; m--) {
        const Pair t2 = inverse_mean_parts_gauss_step(f, s, a, q, (double)m, x, y);
        x = t2.a;
        y = t2.b;
    }
    return inverse_mean_parts_gauss_end(f, s, q, x, y);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

/* Return the levels of a region of Noerlund's fraction. */
RISKCORE_PLAIN int64_t levels_of(int64_t where)
{
    if (where == NOERLUND_3) {
        return 3;
    }
    if (where == NOERLUND_16) {
        return 16;
    }
    if (where == NOERLUND_22) {
        return 22;
    }
    return where == NOERLUND_36 ? 36 : 52;
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

/* Return (A, B) with D = b + first A/B, B/A = V(1). */
RISKCORE_PLAIN Pair noerlund(double b, double p, double step, double square, double first,
    int64_t levels)
{
    double x = noerlund_tail(b, step, (double)levels);
    double y = 1.0;
    for (int64_t k = levels - 1; k > 0; k--) {
        const Pair t1 = inverse_mean_parts_noerlund_step(b, p, step, square, first, (double)k,
            x, y);
        x = t1.a;
        y = t1.b;
    }
    return (Pair){y, x};
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

/* Return r(f, s, p) and its low part, for f, s > 0 and 0 < p <= 1. */
RISKCORE_PLAIN Pair inverse_mean(double f, double s, double p)
{
    const Pair t1 = two_sum(s, -f);
    double a = t1.a, a_low = t1.b;
    if ((p == 1.0) | ((a == 1.0) & (a_low == 0.0))) {
        return quotient_pair(p, 0.0, f, 0.0);
    }
    int64_t where = inverse_mean_region(f, s, p);
    if (where == inverse_mean_REFLECTED) {
        return inverse_mean_fractions_reflected(f, s, p);
    }
    if (where == GAUSS_23) {
        return by_gauss(f, s, p);
    }
    if (where == NOERLUND_60) {
        return by_noerlund(f, s, p);
    }
    if (where == inverse_mean_OTHER) {
        return inverse_mean_pair(f, s, p);
    }
    double q = 1.0 - p;
    const Pair t2 = base(f, s, p);
    double b = t2.a, b_low = t2.b;
    double above, below;
    if (where <= FORWARD_31) {
        const Pair t3 = log_high_low(p, 0.0);
        const Pair t4 = less_power(a, a_low, t3.a, t3.b);
        double T = t4.a, T_low = t4.b;
        if (where == fast_integer_ONE) {
            return of_one(p, T, T_low);
        }
        Tuple_dddd ratio = of_two(a, a_low, p, T, T_low);
        if (where == FORWARD_PAIRS) {
            const int64_t t5 = (int64_t)F_SMALL;
            for (int64_t g = 2; g < t5; g++) {
                ratio = pair_upwards((double)g, f, a, a_low, p, ratio);
            }
            return of_pairs(p, b, b_low, p, ratio);
        }
        above = ratio.a;
        below = ratio.c;
        const int64_t t6 = (int64_t)f;
        for (int64_t g = 2; g < t6; g++) {
            const Pair t7 = inverse_mean_parts_upwards((double)g, f, a, p, above, below);
            above = t7.a;
            below = t7.b;
        }
        return of_parts(p, b, b_low, p, above, below);
    }
    if (where <= GAUSS_41) {
        const Pair t8 = inverse_mean_parts_gauss(f, s, a, q, pairs_of(where));
        above = t8.a;
        below = t8.b;
        return of_parts(p, b, b_low, (1.0 - a) * q, above, below);
    }
    double square = p * q;
    double first = (1.0 - a) * square;
    const Pair t9 = noerlund(b, p, p - q, square, first, levels_of(where));
    above = t9.a;
    below = t9.b;
    return of_parts(p, b, b_low, first, above, below);
}

/* --- riskcore/core/risk/prior.py ------------------------------------------------ */

RISKCORE_PLAIN double individual_risk_with_prior_of_one(double f, double shape, double p)
{
    if (!prior_inside(f, shape, p)) {
        return NAN;
    }
    if (shape == f) {
        double without = individual_risk_of_one(f, p);
        return without;
    }
    const Pair t1 = inverse_mean(f, shape, p);
    double r = t1.a, r_low = t1.b;
    return r + r_low;
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_blocks.py ------------- */

RISKCORE_KERNEL int64_t code(double f, double s, double p)
{
    double a = s - f;
    bool regular = (int)prior_inside(f, s, p) & (a != 0.0) & (a != 1.0) & (p < 1.0);
    return regular ? inverse_mean_region(f, s, p) : inverse_mean_OTHER;
}

/* Fill T = (1 - p^a)/a of the n cells. */
RISKCORE_PLAIN void powers(double *f, double *s, double *p, double *T, double *T_low,
    int64_t n)
{
    double high[512];
    double low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = log_high_low(p[i], 0.0);
        high[i] = t1.a;
        low[i] = t1.b;
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t2 = two_sum(s[i], -f[i]);
        double a = t2.a, a_low = t2.b;
        const Pair t3 = less_power(a, a_low, high[i], low[i]);
        T[i] = t3.a;
        T_low[i] = t3.b;
    }
}

RISKCORE_PLAIN void fill_forward(int64_t w, double *f, double *s, double *p, double *out,
    int64_t n)
{
    double A[512];
    double B[512];
    powers(f, s, p, A, B, n);
    double r, r_low;
    if (w == fast_integer_ONE) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = of_one(p[i], A[i], B[i]);
            r = t1.a;
            r_low = t1.b;
            out[i] = r + r_low;
        }
        return;
    }
    double A_low[512];
    double B_low[512];
    double a, a_low;
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t2 = two_sum(s[i], -f[i]);
        a = t2.a;
        a_low = t2.b;
        const Tuple_dddd t3 = of_two(a, a_low, p[i], A[i], B[i]);
        A[i] = t3.a;
        A_low[i] = t3.b;
        B[i] = t3.c;
        B_low[i] = t3.d;
    }
    double b, b_low;
    if (w == FORWARD_PAIRS) {
        const int64_t t4 = (int64_t)F_SMALL;
        for (int64_t g = 2; g < t4; g++) {
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Pair t5 = two_sum(s[i], -f[i]);
                a = t5.a;
                a_low = t5.b;
                const Tuple_dddd t6 = pair_upwards((double)g, f[i], a, a_low, p[i],
                    (Tuple_dddd){A[i], A_low[i], B[i], B_low[i]});
                A[i] = t6.a;
                A_low[i] = t6.b;
                B[i] = t6.c;
                B_low[i] = t6.d;
            }
        }
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t7 = base(f[i], s[i], p[i]);
            b = t7.a;
            b_low = t7.b;
            Tuple_dddd ratio = (Tuple_dddd){A[i], A_low[i], B[i], B_low[i]};
            const Pair t8 = of_pairs(p[i], b, b_low, p[i], ratio);
            r = t8.a;
            r_low = t8.b;
            out[i] = r + r_low;
        }
        return;
    }
    RISKCORE_UNROLL
    for (int64_t g = 2; g < 31; g++) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t9 = inverse_mean_parts_upwards((double)g, f[i], s[i] - f[i], p[i],
                A[i], B[i]);
            A[i] = t9.a;
            B[i] = t9.b;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t10 = base(f[i], s[i], p[i]);
        b = t10.a;
        b_low = t10.b;
        const Pair t11 = of_parts(p[i], b, b_low, p[i], A[i], B[i]);
        r = t11.a;
        r_low = t11.b;
        out[i] = r + r_low;
    }
}

RISKCORE_PLAIN void inverse_mean_blocks_fill_gauss(int64_t w, double *f, double *s, double *p,
    double *out, int64_t n)
{
    double x[512];
    double y[512];
    int64_t pairs = pairs_of(w);
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = gauss_tail(f[i], s[i] - f[i], 1.0 - p[i], (double)pairs);
        x[i] = t1.a;
        y[i] = t1.b;
    }
    for (int64_t m = pairs; m > 1; m--) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t2 = inverse_mean_parts_gauss_step(f[i], s[i], s[i] - f[i], 1.0 - p[i],
                (double)m, x[i], y[i]);
            x[i] = t2.a;
            y[i] = t2.b;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        double q = 1.0 - p[i];
        const Pair t3 = inverse_mean_parts_gauss_end(f[i], s[i], q, x[i], y[i]);
        double above = t3.a, below = t3.b;
        const Pair t4 = base(f[i], s[i], p[i]);
        double b = t4.a, b_low = t4.b;
        double h = (1.0 - (s[i] - f[i])) * q;
        const Pair t5 = of_parts(p[i], b, b_low, h, above, below);
        double r = t5.a, r_low = t5.b;
        out[i] = r + r_low;
    }
}

/* Fill V(last) = x/y of the n cells. */
RISKCORE_PLAIN void noerlund_levels(double *b, double *p, double *first, double *x, double *y,
    int64_t levels, int64_t last, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        x[i] = noerlund_tail(b[i], p[i] - (1.0 - p[i]), (double)levels);
        y[i] = 1.0;
    }
    const int64_t t1 = last - 1;
    for (int64_t j = levels - 1; j > t1; j--) {
        double k = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            double q = 1.0 - p[i];
            const Pair t2 = inverse_mean_parts_noerlund_step(b[i], p[i], p[i] - q, p[i] * q,
                first[i], k, x[i], y[i]);
            x[i] = t2.a;
            y[i] = t2.b;
        }
    }
}

RISKCORE_PLAIN void inverse_mean_blocks_fill_noerlund(int64_t w, double *f, double *s,
    double *p, double *out, int64_t n)
{
    double x[512];
    double y[512];
    double b[512];
    double b_low[512];
    double first[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = base(f[i], s[i], p[i]);
        b[i] = t1.a;
        b_low[i] = t1.b;
        first[i] = (1.0 - (s[i] - f[i])) * (p[i] * (1.0 - p[i]));
    }
    noerlund_levels(b, p, first, x, y, levels_of(w), 1, n);
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t2 = of_parts(p[i], b[i], b_low[i], first[i], y[i], x[i]);
        double r = t2.a, r_low = t2.b;
        out[i] = r + r_low;
    }
}

/* Return the largest of n numbers. */
RISKCORE_PLAIN double largest(double *x, int64_t n)
{
    double largest = x[0];
    for (int64_t i = 0; i < n; i++) {
        largest = greater(largest, x[i]);
    }
    return largest;
}

/* Take N and M of the n cells upwards in the shape. */
RISKCORE_PLAIN void inverse_mean_blocks_rise(double *shape, double *a, double *a_low,
    double *p, double *steps, double *N, double *N_low, double *M, double *M_low, int64_t n)
{
    const int64_t t1 = (int64_t)largest(steps, n);
    for (int64_t k = 0; k < t1; k++) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Tuple_dddd t2 = inverse_mean_fractions_rise((double)k, steps[i], shape[i],
                a[i], a_low[i], p[i], (Tuple_dddd){N[i], N_low[i], M[i], M_low[i]});
            N[i] = t2.a;
            N_low[i] = t2.b;
            M[i] = t2.c;
            M_low[i] = t2.d;
        }
    }
}

RISKCORE_PLAIN void inverse_mean_blocks_fill_reflected(double *f, double *s, double *p,
    double *out, int64_t n)
{
    double u[512];
    double e[512];
    double whole[512];
    double steps[512];
    double N[512];
    double N_low[512];
    double M[512];
    double M_low[512];
    double high[512];
    double low[512];
    double last[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t1 = places(f[i], s[i]);
        u[i] = t1.a;
        e[i] = t1.b;
        whole[i] = t1.c;
        steps[i] = t1.d;
        N[i] = 0.0;
        N_low[i] = 0.0;
        M[i] = 0.0;
        M_low[i] = 0.0;
    }
    RISKCORE_UNROLL
    for (int64_t k = 30 - 1; k > -1; k--) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Triple t2 = gammas_step(k, u[i], -e[i], N[i], N_low[i], M[i]);
            N[i] = t2.a;
            N_low[i] = t2.b;
            M[i] = t2.c;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t3 = gammas_end(u[i], -e[i], N[i], N_low[i], M[i]);
        N[i] = t3.a;
        N_low[i] = t3.b;
        const Pair t4 = log_high_low(p[i], 0.0);
        high[i] = t4.a;
        low[i] = t4.b;
        last[i] = series_end(high[i] + low[i]);
        M[i] = 0.0;
        M_low[i] = 1.0;
    }
    double g;
    for (int64_t j = (int64_t)largest(last, n); j > 2; j--) {
        g = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t5 = inverse_mean_fractions_series_step(g, last[i], u[i], e[i], p[i],
                M[i], M_low[i]);
            M[i] = t5.a;
            M_low[i] = t5.b;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t6 = reflect(u[i], e[i], p[i], high[i], low[i], N[i], N_low[i], M[i],
            M_low[i]);
        N[i] = t6.a;
        N_low[i] = t6.b;
        M[i] = 1.0;
        M_low[i] = 0.0;
    }
    double shape[512];
    double a[512];
    double a_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        shape[i] = 1.0 + e[i];
        const Pair t7 = two_sum(e[i], -u[i]);
        a[i] = t7.a;
        a_low[i] = t7.b;
    }
    inverse_mean_blocks_rise(shape, a, a_low, p, steps, N, N_low, M, M_low, n);
    double r, r_low;
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t8 = of_ratio(p[i], (Tuple_dddd){N[i], N_low[i], M[i], M_low[i]});
        r = t8.a;
        r_low = t8.b;
        out[i] = r + r_low;
    }
    int64_t most = (int64_t)largest(whole, n);
    if (most > 0) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Tuple_dddd t9 = to_next(u[i], shape[i] + steps[i], p[i], (Tuple_dddd){N[i],
                N_low[i], M[i], M_low[i]});
            N[i] = t9.a;
            N_low[i] = t9.b;
            M[i] = t9.c;
            M_low[i] = t9.d;
            const Pair t10 = two_sum(s[i], -f[i]);
            a[i] = t10.a;
            a_low[i] = t10.b;
        }
        const int64_t t11 = lesser_integer(PAIR_STEPS, 1 + most);
        for (int64_t k = 2; k < t11; k++) {
            g = (double)k;
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Tuple_dddd t12 = pair_upwards(u[i] + g, f[i], a[i], a_low[i], p[i],
                    (Tuple_dddd){N[i], N_low[i], M[i], M_low[i]});
                N[i] = t12.a;
                N_low[i] = t12.b;
                M[i] = t12.c;
                M_low[i] = t12.d;
            }
        }
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Tuple_dddd t13 = cut(whole[i], (Tuple_dddd){N[i], N_low[i], M[i], M_low[i]});
            N[i] = t13.a;
            N_low[i] = t13.b;
            M[i] = t13.c;
            M_low[i] = t13.d;
        }
        const int64_t t14 = 1 + most;
        for (int64_t k = PAIR_STEPS; k < t14; k++) {
            g = (double)k;
            RISKCORE_EACH
            for (int64_t i = 0; i < n; i++) {
                const Pair t15 = inverse_mean_parts_upwards(u[i] + g, f[i], a[i], p[i], N[i],
                    M[i]);
                N[i] = t15.a;
                M[i] = t15.b;
            }
        }
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t16 = base(f[i], s[i], p[i]);
            double b = t16.a, b_low = t16.b;
            Tuple_dddd ratio = (Tuple_dddd){N[i], N_low[i], M[i], M_low[i]};
            const Pair t17 = of_pairs(p[i], b, b_low, p[i], ratio);
            r = t17.a;
            r_low = t17.b;
            out[i] = whole[i] > 0.0 ? r + r_low : out[i];
        }
    }
}

RISKCORE_PLAIN void fill_gauss_pairs(double *f, double *s, double *p, double *out, int64_t n)
{
    double shape[512];
    double a[512];
    double a_low[512];
    double steps[512];
    double N[512];
    double N_low[512];
    double M[512];
    double M_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t1 = inverse_mean_fractions_gauss_start(f[i], s[i]);
        steps[i] = t1.a;
        shape[i] = t1.b;
        a[i] = t1.c;
        a_low[i] = t1.d;
        const Pair t2 = gauss_tail(f[i], a[i], 1.0 - p[i],
            (double)inverse_mean_fractions_GAUSS_PAIRS);
        N[i] = t2.a;
        M[i] = t2.b;
    }
    RISKCORE_UNROLL
    for (int64_t m = inverse_mean_fractions_GAUSS_PAIRS; m > 2; m--) {
        double k = (double)m;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t3 = inverse_mean_parts_gauss_step(f[i], shape[i], a[i], 1.0 - p[i], k,
                N[i], M[i]);
            N[i] = t3.a;
            M[i] = t3.b;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t4 = gauss_pair_end(f[i], shape[i], a[i], a_low[i], 1.0 - p[i], N[i],
            M[i]);
        N[i] = t4.a;
        N_low[i] = t4.b;
        M[i] = t4.c;
        M_low[i] = t4.d;
    }
    inverse_mean_blocks_rise(shape, a, a_low, p, steps, N, N_low, M, M_low, n);
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t5 = of_ratio(p[i], (Tuple_dddd){N[i], N_low[i], M[i], M_low[i]});
        double r = t5.a, r_low = t5.b;
        out[i] = r + r_low;
    }
}

/* Fill p/D of the n cells from V(5) = x/y. */
RISKCORE_PLAIN void noerlund_ends(double *b, double *b_low, double *p, double *square_low,
    double *first, double *first_low, double *x, double *y, double *out, int64_t n)
{
    double x_low[512];
    double y_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        x_low[i] = 0.0;
        y_low[i] = 0.0;
    }
    RISKCORE_UNROLL
    for (int64_t j = NOERLUND_EXACT - 1; j > -1; j--) {
        double k = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            double q = 1.0 - p[i];
            const Tuple_dddd t1 = noerlund_pair_step(b[i], b_low[i], p[i] - q, p[i] * q,
                square_low[i], first[i], first_low[i], k, (Tuple_dddd){x[i], x_low[i], y[i],
                y_low[i]});
            x[i] = t1.a;
            x_low[i] = t1.b;
            y[i] = t1.c;
            y_low[i] = t1.d;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t2 = inverse_of(p[i], (Tuple_dddd){x[i], x_low[i], y[i], y_low[i]});
        double r = t2.a, r_low = t2.b;
        out[i] = r + r_low;
    }
}

RISKCORE_PLAIN void fill_noerlund_pairs(double *f, double *s, double *p, double *out,
    int64_t n)
{
    double x[512];
    double y[512];
    double b[512];
    double b_low[512];
    double square_low[512];
    double first[512];
    double first_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = base(f[i], s[i], p[i]);
        b[i] = t1.a;
        b_low[i] = t1.b;
        const Tuple_dddd t2 = noerlund_parts(f[i], s[i], p[i]);
        square_low[i] = t2.b;
        first[i] = t2.c;
        first_low[i] = t2.d;
    }
    noerlund_levels(b, p, first, x, y, inverse_mean_fractions_NOERLUND_LEVELS, NOERLUND_EXACT,
        n);
    noerlund_ends(b, b_low, p, square_low, first, first_low, x, y, out, n);
}

/* Fill the n cells of a region that is not OTHER. */
RISKCORE_PLAIN void inverse_mean_blocks_fill(int64_t w, double *f, double *s, double *p,
    double *out, int64_t n)
{
    if (w <= FORWARD_31) {
        fill_forward(w, f, s, p, out, n);
    } else {
        if (w <= GAUSS_41) {
            inverse_mean_blocks_fill_gauss(w, f, s, p, out, n);
        } else {
            if (w <= NOERLUND_52) {
                inverse_mean_blocks_fill_noerlund(w, f, s, p, out, n);
            } else {
                if (w == inverse_mean_REFLECTED) {
                    inverse_mean_blocks_fill_reflected(f, s, p, out, n);
                } else {
                    if (w == GAUSS_23) {
                        fill_gauss_pairs(f, s, p, out, n);
                    } else {
                        fill_noerlund_pairs(f, s, p, out, n);
                    }
                }
            }
        }
    }
}

static const int64_t inverse_mean_blocks_REGIONS = 14;

RISKCORE_PLAIN void inverse_mean_blocks_block(double *f, double *s, double *p, double *out,
    int64_t n)
{
    if (n == 1) {
        out[0] = individual_risk_with_prior_of_one(f[0], s[0], p[0]);
        return;
    }
    uint8_t codes[512];
    int64_t picked[513];
    double f_picked[512];
    double s_picked[512];
    double p_picked[512];
    double out_picked[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(code(f[i], s[i], p[i]));
    }
    int64_t words = padded(codes, n);
    RISKCORE_UNROLL
    for (int64_t w = 0; w < inverse_mean_blocks_REGIONS; w++) {
        int64_t m = pick(codes, words, w, picked);
        if (m > 0) {
            int64_t full = w < inverse_mean_OTHER ? filled_up(picked, m) : m;
            gather(f, s, p, picked, f_picked, s_picked, p_picked, full);
            if (w < inverse_mean_OTHER) {
                inverse_mean_blocks_fill(w, f_picked, s_picked, p_picked, out_picked, full);
            } else {
                RISKCORE_EACH
                for (int64_t i = 0; i < full; i++) {
                    out_picked[i] = individual_risk_with_prior_of_one(f_picked[i], s_picked[i],
                        p_picked[i]);
                }
            }
            scatter(out_picked, picked, out, full);
        }
    }
}

/* --- riskcore/core/special/loops.py --------------------------------------------- */

RISKCORE_PLAIN void individual_risk_with_prior_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double x[512];
    double y[512];
    double z[512];
    double out[512];
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[3], args[3]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        for (int64_t i = 0; i < n; i++) {
            x[i] = args[0][(first + i) * (steps[0] >> 3)];
            y[i] = args[1][(first + i) * (steps[1] >> 3)];
            z[i] = args[2][(first + i) * (steps[2] >> 3)];
        }
        inverse_mean_blocks_block(x, y, z, out, n);
        for (int64_t i = 0; i < n; i++) {
            args[3][(first + i) * (steps[3] >> 3)] = out[i];
        }
        first += n;
    }
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

RISKCORE_PLAIN double inverse_mean_log_of(double r, double r_low)
{
    double high, low;
    if (magnitude(r - 1.0) < 0.25) {
        const Pair t1 = dd_log1p(r - 1.0, r_low);
        high = t1.a;
        low = t1.b;
        return high + low;
    }
    const Pair t2 = log_high_low(r, 0.0);
    high = t2.a;
    low = t2.b;
    return high + (low + r_low / r);
}

/* Return log(p/D) from D - p. */
RISKCORE_PLAIN double log_by_excess(double excess, double excess_low, double p)
{
    const Pair t1 = dd_divide(excess, excess_low, p, 0.0);
    const Pair t2 = dd_log1p(t1.a, t1.b);
    double high = t2.a, low = t2.b;
    return -(high + low);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return D - p for f >= 1, p >= 1/2, r >= 1/2, s - f from -1/2 to A_LARGE. */
RISKCORE_PLAIN Pair inverse_mean_fractions_gauss_excess(double f, double s, double p)
{
    double q = 1.0 - p;
    const Pair t1 = two_sum(s, -f);
    double a = t1.a, a_low = t1.b;
    const Pair t2 = gauss_tail(f, a, q, (double)inverse_mean_fractions_GAUSS_PAIRS);
    double x = t2.a, y = t2.b;
    RISKCORE_UNROLL
    for (int64_t m = inverse_mean_fractions_GAUSS_PAIRS; m > 2; m--) {
        const Pair t3 = inverse_mean_parts_gauss_step(f, s, a, q, (double)m, x, y);
        x = t3.a;
        y = t3.b;
    }
    Tuple_dddd ratio = inverse_mean_fractions_gauss_pair_step(f, s, a, a_low, q, 2.0,
        (Tuple_dddd){x, 0.0, y, 0.0});
    double third = ratio.a, third_low = ratio.b;
    const Tuple_dddd t4 = inverse_mean_fractions_gauss_pair_step(f, s, a, a_low, q, 1.0, ratio);
    double second = t4.c, second_low = t4.d;
    const Pair t5 = dd_add(a, a_low, -1.0, 0.0);
    double less = t5.a, less_low = t5.b;
    const Pair t6 = dd_multiply(third, third_low, less, less_low);
    const Pair t7 = dd_multiply_double(t6.a, t6.b, f);
    x = t7.a;
    double x_low = t7.b;
    const Pair t8 = dd_add(x, x_low, second, second_low);
    x = t8.a;
    x_low = t8.b;
    const Pair t9 = dd_multiply_double(x, x_low, q);
    x = t9.a;
    x_low = t9.b;
    const Pair t10 = dd_divide(x, x_low, second, second_low);
    x = t10.a;
    x_low = t10.b;
    return dd_add(x, x_low, f - 1.0, 0.0);
}

/* Return D - p for f >= 1, p >= 1/2, r >= 1/2, s - f >= A_LARGE. */
RISKCORE_PLAIN Pair noerlund_excess(double f, double s, double p)
{
    const Tuple_dddd t1 = noerlund_pairs(f, s, p, 1);
    double x = t1.a, x_low = t1.b, y = t1.c, y_low = t1.d;
    const Pair t2 = dd_multiply_double(y, y_low, p);
    const Pair t3 = dd_divide(t2.a, t2.b, x, x_low);
    y = t3.a;
    y_low = t3.b;
    const Pair t4 = two_sum(s, -f);
    double a = t4.a, a_low = t4.b;
    const Pair t5 = dd_add(1.0, 0.0, -a, -a_low);
    const Pair t6 = dd_multiply(y, y_low, t5.a, t5.b);
    x = t6.a;
    x_low = t6.b;
    const Pair t7 = dd_add(x, x_low, a, a_low);
    const Pair t8 = dd_multiply_double(t7.a, t7.b, 1.0 - p);
    x = t8.a;
    x_low = t8.b;
    return dd_add(x, x_low, f - 1.0, 0.0);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

static const double R_NEAR_ONE = 0.5;

/* Return log r(f, s, p). */
RISKCORE_PLAIN double log_inverse_mean(double f, double s, double p)
{
    const Pair t1 = inverse_mean(f, s, p);
    double r = t1.a, r_low = t1.b;
    const Pair t2 = two_sum(s, -f);
    double a = t2.a, a_low = t2.b;
    if ((r < R_NEAR_ONE) | (f < 1.0) | (p < P_SMALL) | (a < A_SMALLEST)) {
        return inverse_mean_log_of(r, r_low);
    }
    if ((p == 1.0) | ((a == 1.0) & (a_low == 0.0))) {
        const Pair t3 = two_sum(f, -p);
        return log_by_excess(t3.a, t3.b, p);
    }
    if (a < A_LARGE) {
        const Pair t4 = inverse_mean_fractions_gauss_excess(f, s, p);
        return log_by_excess(t4.a, t4.b, p);
    }
    const Pair t5 = noerlund_excess(f, s, p);
    return log_by_excess(t5.a, t5.b, p);
}

/* --- riskcore/core/risk/prior.py ------------------------------------------------ */

/* Natural logarithm of the individual risk with a prior; right also near r = 1. */
RISKCORE_PLAIN double log_individual_risk_with_prior_of_one(double f, double shape, double p)
{
    if (!prior_inside(f, shape, p)) {
        return NAN;
    }
    if (shape == f) {
        double without = log_individual_risk_of_one(f, p);
        return without;
    }
    return log_inverse_mean(f, shape, p);
}

/* --- riskcore/core/compiled/ufunc_maker.py -------------------------------------- */

RISKCORE_PLAIN void log_individual_risk_with_prior_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    const int64_t t1 = sizes[0];
    for (int64_t i = 0; i < t1; i++) {
        args[3][i * (steps[3] >> 3)] = log_individual_risk_with_prior_of_one(args[0][i *
            (steps[0] >> 3)], args[1][i * (steps[1] >> 3)], args[2][i * (steps[2] >> 3)]);
    }
}

/* --- riskcore/core/risk/prior.py ------------------------------------------------ */

static const double LARGEST_MEAN = 0x1p100;

RISKCORE_KERNEL bool inside_poisson(double f, double mu)
{
    return (int)is_frequency(f) & (mu >= 0.0) & (mu <= LARGEST_MEAN);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

/* Return the number of the region of the Poisson law, for mu > 0. */
RISKCORE_KERNEL int64_t poisson_region(double f, double mu)
{
    double b = f + mu;
    int64_t where = noerlund_region(b, f < F_PAIRS, f >= B_LARGE, false, false);
    where = f == 1.0 ? fast_integer_ONE : where;
    return ((f >= F_SMALLEST) | (b >= B_HUGE)) ? where : inverse_mean_OTHER;
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_parts.py -------------- */

static const double SMALLEST_MEAN = 0x1p-200;

/* Return r = (1 - exp(-mu))/mu of the Poisson law for f = 1. */
RISKCORE_KERNEL Pair poisson_of_one(double mu)
{
    mu = greater(mu, SMALLEST_MEAN);
    const Pair t1 = expm1_pair(-mu, 0.0);
    double less = t1.a, less_low = t1.b;
    return quotient_pair(-less, -less_low, mu, 0.0);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return numerator and denominator of V(last) of the Poisson law. */
RISKCORE_PLAIN Tuple_dddd poisson_pairs(double f, double mu, int64_t last)
{
    const Pair t1 = two_sum(f, mu);
    double b = t1.a, b_low = t1.b;
    double x = noerlund_tail(b, 1.0, (double)inverse_mean_fractions_NOERLUND_LEVELS);
    double y = 1.0;
    RISKCORE_UNROLL
    for (int64_t k = inverse_mean_fractions_NOERLUND_LEVELS - 1; k > NOERLUND_EXACT - 1; k--) {
        const Pair t2 = inverse_mean_parts_noerlund_step(b, 1.0, 1.0, 0.0, -mu, (double)k, x,
            y);
        x = t2.a;
        y = t2.b;
    }
    return noerlund_pair_end(b, b_low, 1.0, 0.0, 0.0, -mu, 0.0, last, x, y);
}

/* Return r and its low part of the Poisson law for f >= 1/2. */
RISKCORE_PLAIN Pair poisson_by_noerlund(double f, double mu)
{
    return inverse_of(1.0, poisson_pairs(f, mu, 0));
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

/* Return E[1/(f + X)] and its low part, X Poisson of mean mu >= 0. */
RISKCORE_PLAIN Pair inverse_mean_poisson(double f, double mu)
{
    if (mu == 0.0) {
        return quotient_pair(1.0, 0.0, f, 0.0);
    }
    int64_t where = poisson_region(f, mu);
    if (where == fast_integer_ONE) {
        return poisson_of_one(mu);
    }
    if (where == NOERLUND_60) {
        return poisson_by_noerlund(f, mu);
    }
    const Pair t1 = two_sum(f, mu);
    double b = t1.a, b_low = t1.b;
    if (where == inverse_mean_OTHER) {
        const Pair t2 = dd_add(b, b_low, 1.0, 0.0);
        b = t2.a;
        b_low = t2.b;
        return inverse_mean_pairs_below_one(f, 1.0, (Pair){b, b_low}, (Pair){1.0, 0.0},
            (Pair){0.0, 0.0}, (Pair){-mu, 0.0});
    }
    const Pair t3 = noerlund(b, 1.0, 1.0, 0.0, -mu, levels_of(where));
    double above = t3.a, below = t3.b;
    return of_parts(1.0, b, b_low, -mu, above, below);
}

/* --- riskcore/core/risk/prior.py ------------------------------------------------ */

RISKCORE_PLAIN double individual_risk_poisson_of_one(double f, double mu)
{
    if (!inside_poisson(f, mu)) {
        return NAN;
    }
    const Pair t1 = inverse_mean_poisson(f, mu);
    double r = t1.a, r_low = t1.b;
    return r + r_low;
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_blocks.py ------------- */

RISKCORE_PLAIN double one(double f, double mu, double p)
{
    (void)p;
    return individual_risk_poisson_of_one(f, mu);
}

RISKCORE_KERNEL int64_t inverse_mean_blocks_code(double f, double mu, double p)
{
    (void)p;
    return ((int)inside_poisson(f, mu) & (mu > 0.0)) ? poisson_region(f,
        mu) : inverse_mean_OTHER;
}

/* Fill the n cells of a region of the Poisson law that is not OTHER. */
RISKCORE_PLAIN void fill_poisson(int64_t w, double *f, double *mu, double *p, double *out,
    int64_t n)
{
    double r, r_low;
    if (w == fast_integer_ONE) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t1 = poisson_of_one(mu[i]);
            r = t1.a;
            r_low = t1.b;
            out[i] = r + r_low;
        }
        return;
    }
    double x[512];
    double y[512];
    double b[512];
    double b_low[512];
    double first[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t2 = two_sum(f[i], mu[i]);
        b[i] = t2.a;
        b_low[i] = t2.b;
        first[i] = -mu[i];
    }
    if (w == NOERLUND_60) {
        double zero[512];
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            zero[i] = 0.0;
        }
        noerlund_levels(b, p, first, x, y, inverse_mean_fractions_NOERLUND_LEVELS,
            NOERLUND_EXACT, n);
        noerlund_ends(b, b_low, p, zero, first, zero, x, y, out, n);
    } else {
        noerlund_levels(b, p, first, x, y, levels_of(w), 1, n);
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t3 = of_parts(1.0, b[i], b_low[i], first[i], y[i], x[i]);
            r = t3.a;
            r_low = t3.b;
            out[i] = r + r_low;
        }
    }
}

RISKCORE_PLAIN void inverse_mean_blocks_block_2(double *f, double *s, double *p, double *out,
    int64_t n)
{
    if (n == 1) {
        out[0] = one(f[0], s[0], p[0]);
        return;
    }
    uint8_t codes[512];
    int64_t picked[513];
    double f_picked[512];
    double s_picked[512];
    double p_picked[512];
    double out_picked[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(inverse_mean_blocks_code(f[i], s[i], p[i]));
    }
    int64_t words = padded(codes, n);
    RISKCORE_UNROLL
    for (int64_t w = 0; w < inverse_mean_blocks_REGIONS; w++) {
        int64_t m = pick(codes, words, w, picked);
        if (m > 0) {
            int64_t full = w < inverse_mean_OTHER ? filled_up(picked, m) : m;
            gather(f, s, p, picked, f_picked, s_picked, p_picked, full);
            if (w < inverse_mean_OTHER) {
                fill_poisson(w, f_picked, s_picked, p_picked, out_picked, full);
            } else {
                RISKCORE_EACH
                for (int64_t i = 0; i < full; i++) {
                    out_picked[i] = one(f_picked[i], s_picked[i], p_picked[i]);
                }
            }
            scatter(out_picked, picked, out, full);
        }
    }
}

RISKCORE_PLAIN void with_p(double *f, double *mu, double *p, double *out, int64_t n)
{
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        p[i] = 1.0;
    }
    inverse_mean_blocks_block_2(f, mu, p, out, n);
}

/* --- riskcore/core/special/loops.py --------------------------------------------- */

RISKCORE_PLAIN void individual_risk_poisson_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double x[512];
    double y[512];
    double z[512];
    double out[512];
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        for (int64_t i = 0; i < n; i++) {
            x[i] = args[0][(first + i) * (steps[0] >> 3)];
            y[i] = args[1][(first + i) * (steps[1] >> 3)];
            z[i] = args[2][(first + i) * (steps[2] >> 3)];
        }
        with_p(x, y, z, out, n);
        for (int64_t i = 0; i < n; i++) {
            args[2][(first + i) * (steps[2] >> 3)] = out[i];
        }
        first += n;
    }
}

/* --- riskcore/core/special/negative_binomial/inverse_mean_fractions.py ---------- */

/* Return D - 1 of the Poisson law for f >= 1: (f - 1) + mu (1 - 1/V(1)). */
RISKCORE_PLAIN Pair poisson_excess(double f, double mu)
{
    const Tuple_dddd t1 = poisson_pairs(f, mu, 1);
    double x = t1.a, x_low = t1.b, y = t1.c, y_low = t1.d;
    const Pair t2 = dd_add(x, x_low, -y, -y_low);
    const Pair t3 = dd_divide(t2.a, t2.b, x, x_low);
    y = t3.a;
    y_low = t3.b;
    const Pair t4 = dd_multiply_double(y, y_low, mu);
    return dd_add(t4.a, t4.b, f - 1.0, 0.0);
}

/* --- riskcore/core/special/negative_binomial/inverse_mean.py -------------------- */

/* Return log E[1/(f + X)]; for r near 1 from D - 1. */
RISKCORE_PLAIN double log_inverse_mean_poisson(double f, double mu)
{
    const Pair t1 = inverse_mean_poisson(f, mu);
    double r = t1.a, r_low = t1.b;
    if ((r < R_NEAR_ONE) | (f < 1.0)) {
        return inverse_mean_log_of(r, r_low);
    }
    const Pair t2 = poisson_excess(f, mu);
    return log_by_excess(t2.a, t2.b, 1.0);
}

/* --- riskcore/core/risk/prior.py ------------------------------------------------ */

/* Natural logarithm of the individual risk with a Poisson law; right near r = 1. */
RISKCORE_PLAIN double log_individual_risk_poisson_of_one(double f, double mu)
{
    if (!inside_poisson(f, mu)) {
        return NAN;
    }
    return log_inverse_mean_poisson(f, mu);
}

/* --- riskcore/core/compiled/ufunc_maker.py -------------------------------------- */

RISKCORE_PLAIN void log_individual_risk_poisson_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    const int64_t t1 = sizes[0];
    for (int64_t i = 0; i < t1; i++) {
        args[2][i * (steps[2] >> 3)] = log_individual_risk_poisson_of_one(args[0][i * (steps[0]
            >> 3)], args[1][i * (steps[1] >> 3)]);
    }
}

/* --- riskcore/core/risk/posterior.py -------------------------------------------- */

RISKCORE_KERNEL bool posterior_inside(double f, double p)
{
    return (f > 0.0) & (f < INFINITY) & (p > 0.0) & (p <= 1.0);
}

static const double posterior_SMALLEST_F = 0x1p-320;
static const double posterior_LARGE = 0x1p64;

RISKCORE_KERNEL bool has_moments(double f, double p)
{
    bool inside = (int)posterior_inside(f, p) & (f >= posterior_SMALLEST_F);
    return inside & ((f <= posterior_LARGE) | (f / p < INFINITY));
}

/* --- riskcore/core/special/negative_binomial/inverse_moments.py ----------------- */

static const double P_LARGE = 0.2;
static const int64_t GAUSS = 1;
static const int64_t inverse_moments_REFLECTED = 2;
static const double F_LARGE = 20.0;
static const int64_t NOERLUND = 0;

/* Return the number of the region, for f > 0 and 0 < p <= 1. */
RISKCORE_KERNEL int64_t inverse_moments_region(double f, double p)
{
    int64_t below = p >= P_LARGE ? GAUSS : inverse_moments_REFLECTED;
    return f >= F_LARGE ? NOERLUND : below;
}

static const int64_t inverse_moments_NOERLUND_LEVELS = 14;

/* Return a guess of V(k), and its slope, for k = NOERLUND_LEVELS. */
RISKCORE_KERNEL Pair noerlund_start(double f, double p)
{
    return (Pair){f - (1.0 - p) + ((double)inverse_moments_NOERLUND_LEVELS * (2.0 * p) + 1.0),
        p};
}

/* Return V(k) and its slope from those of k + 1. */
RISKCORE_KERNEL Pair inverse_moments_noerlund_step(double k, double f, double p, double V,
    double slope)
{
    double q = 1.0 - p;
    double part = (k + 1.0) * (p * q) / V;
    slope = fma(part, 1.0 - (k + 1.0) * slope / V, p);
    return (Pair){fma(k, p - q, f - q) + (k + 1.0) * part, slope};
}

/* Return the moments from V(2) and its slope. */
RISKCORE_KERNEL Tuple_dddd noerlund_end(double f, double p, double V, double slope)
{
    double q = 1.0 - p;
    const Pair t1 = two_sum(f, -1.0);
    double b = t1.a, b_low = t1.b;
    const Pair t2 = two_sum(b, p);
    b = t2.a;
    double rest = t2.b;
    b_low += rest;
    double part = 4.0 * (p * q) / V;
    slope = fma(2.0 * (p * q) / V, 1.0 - 2.0 * slope / V, p);
    const Pair t3 = two_sum(b, p - q);
    V = t3.a;
    double V_low = t3.b;
    V += V_low + (b_low + part);
    const Pair t4 = two_sum(b, p * q / V);
    b = t4.a;
    rest = t4.b;
    double r = p / b;
    r = fma(fma(-r, b, p) - r * (rest + b_low), 1.0 / b, r);
    double spread = q / V * (1.0 - slope / V);
    return (Tuple_dddd){r, r * (r * spread), r, spread};
}

static const int64_t GAUSS_LEVELS = 44;

/* Return a guess of S(n), and its slope, for n = GAUSS_LEVELS + 1. */
RISKCORE_KERNEL Pair inverse_moments_gauss_start(double f, double p)
{
    double rise = 0.5 * (1.0 + sqrt(p));
    return (Pair){fma((double)GAUSS_LEVELS, rise, f), rise};
}

/* Return S(n) and its slope from those of n + 1. */
RISKCORE_KERNEL Pair inverse_moments_gauss_step(int64_t n, double f, double p, double S,
    double slope)
{
    double m = (double)(n >> 1);
    bool odd = (n & 1) == 1;
    double q = (1.0 - p) / S;
    double c = odd ? (m + 1.0) * (f + m) : m * (f + (m - 1.0));
    double rise = odd ? f + (2.0 * m + 1.0) : 0.0;
    double part = c * q;
    slope = fma(part, slope / S, 1.0) - rise * q;
    return (Pair){f + ((double)n - 1.0) - part, slope};
}

/* Return gauss_step in pairs. */
RISKCORE_PLAIN Tuple_dddd inverse_moments_gauss_pair_step(int64_t n, double f, double p,
    Tuple_dddd fraction)
{
    double S = fraction.a, S_low = fraction.b, slope = fraction.c, slope_low = fraction.d;
    double m = (double)(n >> 1);
    bool odd = (n & 1) == 1;
    const Pair t1 = two_sum(1.0, -p);
    double q = t1.a, q_low = t1.b;
    const Pair t2 = dd_divide(q, q_low, S, S_low);
    q = t2.a;
    q_low = t2.b;
    const Pair t3 = two_sum(f, odd ? m : m - 1.0);
    double c = t3.a, c_low = t3.b;
    const Pair t4 = dd_multiply_double(c, c_low, odd ? m + 1.0 : m);
    c = t4.a;
    c_low = t4.b;
    const Pair t5 = dd_multiply(c, c_low, q, q_low);
    double part = t5.a, part_low = t5.b;
    const Pair t6 = dd_divide(slope, slope_low, S, S_low);
    slope = t6.a;
    slope_low = t6.b;
    const Pair t7 = dd_multiply(slope, slope_low, part, part_low);
    slope = t7.a;
    slope_low = t7.b;
    const Pair t8 = dd_add(slope, slope_low, 1.0, 0.0);
    slope = t8.a;
    slope_low = t8.b;
    if (odd) {
        const Pair t9 = two_sum(f, 2.0 * m + 1.0);
        c = t9.a;
        c_low = t9.b;
        const Pair t10 = dd_multiply(c, c_low, q, q_low);
        c = t10.a;
        c_low = t10.b;
        const Pair t11 = dd_add(slope, slope_low, -c, -c_low);
        slope = t11.a;
        slope_low = t11.b;
    }
    const Pair t12 = two_sum(f, (double)n - 1.0);
    double base = t12.a, base_low = t12.b;
    const Pair t13 = dd_add(base, base_low, -part, -part_low);
    S = t13.a;
    S_low = t13.b;
    return (Tuple_dddd){S, S_low, slope, slope_low};
}

/* Return the moments from S(3) and its slope. */
RISKCORE_KERNEL Tuple_dddd inverse_moments_gauss_end(double f, double p, Tuple_dddd fraction)
{
    double S = fraction.a, S_low = fraction.b, slope = fraction.c, slope_low = fraction.d;
    const Pair t1 = two_sum(1.0, -p);
    double q = t1.a, q_low = t1.b;
    const Pair t2 = dd_divide(q, q_low, S, S_low);
    double w = t2.a, w_low = t2.b;
    const Pair t3 = dd_multiply_double(w, w_low, f);
    double part = t3.a, part_low = t3.b;
    const Pair t4 = dd_divide(slope, slope_low, S, S_low);
    slope = t4.a;
    slope_low = t4.b;
    const Pair t5 = dd_multiply(slope, slope_low, part, part_low);
    slope = t5.a;
    slope_low = t5.b;
    const Pair t6 = dd_add(slope, slope_low, 1.0, 0.0);
    slope = t6.a;
    slope_low = t6.b;
    const Pair t7 = two_sum(f, 1.0);
    double base = t7.a, base_low = t7.b;
    const Pair t8 = dd_add(base, base_low, -part, -part_low);
    S = t8.a;
    S_low = t8.b;
    const Pair t9 = dd_divide(slope, slope_low, S, S_low);
    slope = t9.a;
    slope_low = t9.b;
    const Pair t10 = dd_add(slope, slope_low, -w, -w_low);
    double bend = t10.a, bend_low = t10.b;
    const Pair t11 = dd_multiply(bend, bend_low, q, q_low);
    bend = t11.a;
    bend_low = t11.b;
    const Pair t12 = two_sum(f, p);
    base = t12.a;
    base_low = t12.b;
    const Pair t13 = dd_add(base, base_low, -part, -part_low);
    double D = t13.a, D_low = t13.b;
    const Pair t14 = dd_multiply_double(D, D_low, f);
    D = t14.a;
    D_low = t14.b;
    const Pair t15 = dd_multiply_double(S, S_low, p);
    double above = t15.a, above_low = t15.b;
    const Pair t16 = dd_divide(above, above_low, D, D_low);
    double r = t16.a, r_low = t16.b;
    r += r_low;
    const Pair t17 = dd_divide(bend, bend_low, above, above_low);
    bend = t17.a;
    bend_low = t17.b;
    double spread = f * (bend + bend_low);
    return (Tuple_dddd){r, r * (r * spread), r, spread};
}

/* Return d and n with f = 1 + d + n: an integer n, |d| <= 1/2, or n = -1, d = f. */
RISKCORE_KERNEL Pair place(double f)
{
    double whole = f + TWO_52 - TWO_52;
    return (Pair){f - whole, whole - 1.0};
}

/* Return z = p/q. */
RISKCORE_KERNEL Pair odds_of(double p)
{
    const Pair t1 = two_sum(1.0, -p);
    return dd_divide(p, 0.0, t1.a, t1.b);
}

/* Return tau(m) and omega(m) from those of m + 1. */
RISKCORE_KERNEL Pair inverse_moments_series_step(double m, double d, double z, double tau,
    double omega)
{
    double h = 1.0 / (m - d);
    omega = fma(h, fma(z, tau, 1.0 / m), -z * omega);
    return (Pair){fma(-z, tau, h), omega};
}

/* Return series_step in pairs. */
RISKCORE_KERNEL Tuple_dddd series_pair_step(double m, double d, double z, double z_low,
    Tuple_dddd sums)
{
    double tau = sums.a, tau_low = sums.b, omega = sums.c, omega_low = sums.d;
    const Pair t1 = two_sum(m, -d);
    const Pair t2 = dd_divide(1.0, 0.0, t1.a, t1.b);
    double h = t2.a, h_low = t2.b;
    const Pair t3 = dd_multiply(tau, tau_low, z, z_low);
    tau = t3.a;
    tau_low = t3.b;
    const Pair t4 = dd_divide(1.0, 0.0, m, 0.0);
    double part = t4.a, part_low = t4.b;
    const Pair t5 = dd_add(part, part_low, tau, tau_low);
    part = t5.a;
    part_low = t5.b;
    const Pair t6 = dd_multiply(part, part_low, h, h_low);
    part = t6.a;
    part_low = t6.b;
    const Pair t7 = dd_multiply(omega, omega_low, z, z_low);
    omega = t7.a;
    omega_low = t7.b;
    const Pair t8 = dd_add(part, part_low, -omega, -omega_low);
    omega = t8.a;
    omega_low = t8.b;
    const Pair t9 = dd_add(h, h_low, -tau, -tau_low);
    tau = t9.a;
    tau_low = t9.b;
    return (Tuple_dddd){tau, tau_low, omega, omega_low};
}

/* --- riskcore/core/special/elementary.py ---------------------------------------- */

RISKCORE_KERNEL double constant(double x)
{
    (void)x;
    return 0x1.0106d088fc137p-1;
}

RISKCORE_KERNEL double elementary_horner(double x)
{
    return fma(constant(x), x, -0x1.e41a3404fd15dp-2);
}

RISKCORE_KERNEL double elementary_horner_2(double x)
{
    return fma(elementary_horner(x), x, 0x1.a568f1cbee466p-2);
}

RISKCORE_KERNEL double elementary_horner_3(double x)
{
    return fma(elementary_horner_2(x), x, -0x1.dc2a23a936792p-5);
}

RISKCORE_KERNEL double elementary_horner_4(double x)
{
    return fma(elementary_horner_3(x), x, 0x1.eb92dac7891fbp-4);
}

RISKCORE_KERNEL double elementary_horner_5(double x)
{
    return fma(elementary_horner_4(x), x, 0x1.5750d060d0c5ap-4);
}

RISKCORE_KERNEL double elementary_horner_6(double x)
{
    return fma(elementary_horner_5(x), x, 0x1.9dac32f3b7144p-4);
}

RISKCORE_KERNEL double elementary_horner_7(double x)
{
    return fma(elementary_horner_6(x), x, 0x1.c6b27158a7797p-4);
}

RISKCORE_KERNEL double elementary_horner_8(double x)
{
    return fma(elementary_horner_7(x), x, 0x1.0004eed57e7dp-3);
}

RISKCORE_KERNEL double elementary_horner_9(double x)
{
    return fma(elementary_horner_8(x), x, 0x1.2496aab15e19ap-3);
}

RISKCORE_KERNEL double elementary_horner_10(double x)
{
    return fma(elementary_horner_9(x), x, 0x1.556ad81ac9eeap-3);
}

RISKCORE_KERNEL double elementary_horner_11(double x)
{
    return fma(elementary_horner_10(x), x, 0x1.9a01e37a4909ap-3);
}

RISKCORE_KERNEL double elementary_horner_12(double x)
{
    return fma(elementary_horner_11(x), x, 0x1.010b36af9b4fp-2);
}

RISKCORE_KERNEL double eta_rest(double x)
{
    return fma(elementary_horner_12(x), x, 0x1.5b40cb100c081p-2);
}

/* --- riskcore/core/special/negative_binomial/inverse_moments.py ----------------- */

/* Return log(pi d/sin(pi d))/d. */
RISKCORE_KERNEL Pair eta_of_reflection(double d)
{
    const Pair t1 = two_product(d, d);
    double w = t1.a, w_low = t1.b;
    const Pair t2 = two_sum(0x1.151322ac7d849p-1, eta_rest(w) * w);
    double high = t2.a, low = t2.b;
    const Pair t3 = dd_multiply(high, low + 0x1.52113afd730c5p-56, w, w_low);
    high = t3.a;
    low = t3.b;
    const Pair t4 = dd_add(0x1.a51a6625307d3p0, 0x1.17fa08959e912p-55, high, low);
    high = t4.a;
    low = t4.b;
    return dd_multiply_double(high, low, d);
}

/* Return X = (pi d/sin(pi d)) z^d and Y = -(X - 1)/d as pairs. */
RISKCORE_KERNEL Tuple_dddd power(double d, double p)
{
    const Pair t1 = dd_log(p, 0.0);
    double high = t1.a, low = t1.b;
    const Pair t2 = two_sum(1.0, -p);
    const Pair t3 = dd_log(t2.a, t2.b);
    double part = t3.a, part_low = t3.b;
    const Pair t4 = dd_add(high, low, -part, -part_low);
    high = t4.a;
    low = t4.b;
    const Pair t5 = eta_of_reflection(d);
    part = t5.a;
    part_low = t5.b;
    const Pair t6 = dd_add(high, low, part, part_low);
    high = t6.a;
    low = t6.b;
    const Pair t7 = dd_multiply_double(high, low, d);
    double x = t7.a, x_low = t7.b;
    const Tuple_dddd t8 = exponentials(x, x_low);
    double X = t8.a, X_low = t8.b, Y = t8.c, Y_low = t8.d;
    bool zero = d == 0.0;
    const Pair t9 = dd_divide(Y, Y_low, zero ? 1.0 : d, 0.0);
    Y = t9.a;
    Y_low = t9.b;
    return (Tuple_dddd){X, X_low, zero ? -high : -Y, zero ? -low : -Y_low};
}

/* --- riskcore/core/special/elementary.py ---------------------------------------- */

RISKCORE_KERNEL double elementary_constant(double x)
{
    (void)x;
    return -0x1.6c1230ae59a47p-23;
}

RISKCORE_KERNEL double elementary_horner_13(double x)
{
    return fma(elementary_constant(x), x, 0x1.6c159b22c4707p-22);
}

RISKCORE_KERNEL double elementary_horner_14(double x)
{
    return fma(elementary_horner_13(x), x, -0x1.dde8f66307ce5p-22);
}

RISKCORE_KERNEL double elementary_horner_15(double x)
{
    return fma(elementary_horner_14(x), x, 0x1.ddf604085a8b9p-21);
}

RISKCORE_KERNEL double elementary_horner_16(double x)
{
    return fma(elementary_horner_15(x), x, -0x1.01987df631bc9p-19);
}

RISKCORE_KERNEL double elementary_horner_17(double x)
{
    return fma(elementary_horner_16(x), x, 0x1.01a76859b73ap-18);
}

RISKCORE_KERNEL double elementary_horner_18(double x)
{
    return fma(elementary_horner_17(x), x, -0x1.002eeebe41de1p-17);
}

RISKCORE_KERNEL double elementary_horner_19(double x)
{
    return fma(elementary_horner_18(x), x, 0x1.0050b55d0a461p-16);
}

RISKCORE_KERNEL double elementary_horner_20(double x)
{
    return fma(elementary_horner_19(x), x, -0x1.00986ae9f6177p-15);
}

RISKCORE_KERNEL double elementary_horner_21(double x)
{
    return fma(elementary_horner_20(x), x, 0x1.00e55d56ee60ep-14);
}

RISKCORE_KERNEL double elementary_horner_22(double x)
{
    return fma(elementary_horner_21(x), x, -0x1.0159364bce0c4p-13);
}

RISKCORE_KERNEL double elementary_horner_23(double x)
{
    return fma(elementary_horner_22(x), x, 0x1.020a576725459p-12);
}

RISKCORE_KERNEL double elementary_horner_24(double x)
{
    return fma(elementary_horner_23(x), x, -0x1.0318df315ae81p-11);
}

RISKCORE_KERNEL double elementary_horner_25(double x)
{
    return fma(elementary_horner_24(x), x, 0x1.04b8cea3efc04p-10);
}

RISKCORE_KERNEL double elementary_horner_26(double x)
{
    return fma(elementary_horner_25(x), x, -0x1.073e7b02bc92p-9);
}

RISKCORE_KERNEL double elementary_horner_27(double x)
{
    return fma(elementary_horner_26(x), x, 0x1.0b36af861f527p-8);
}

RISKCORE_KERNEL double elementary_horner_28(double x)
{
    return fma(elementary_horner_27(x), x, -0x1.1196d0a679df4p-7);
}

RISKCORE_KERNEL double elementary_horner_29(double x)
{
    return fma(elementary_horner_28(x), x, 0x1.1c261302492d1p-6);
}

RISKCORE_KERNEL double elementary_horner_30(double x)
{
    return fma(elementary_horner_29(x), x, -0x1.2e831d94f99b6p-5);
}

RISKCORE_KERNEL double psi_rest(double x)
{
    return fma(elementary_horner_30(x), x, 0x1.51322ac7d8483p-4);
}

/* --- riskcore/core/special/negative_binomial/inverse_moments.py ----------------- */

/* Return (psi(1+d) - psi(1))/d. */
RISKCORE_KERNEL Pair slope_of_psi(double d)
{
    const Pair t1 = two_sum(-0x1.9dd002780310ap-3, psi_rest(d) * d);
    double high = t1.a, low = t1.b;
    const Pair t2 = dd_multiply_double(high, low + 0x1.f1df36f5212fdp-58, d);
    high = t2.a;
    low = t2.b;
    const Pair t3 = dd_add(0x1.4a34cc4a60fa6p-1, 0x1.188a998fc3477p-55, high, low);
    high = t3.a;
    low = t3.b;
    const Pair t4 = two_sum(1.0, d);
    const Pair t5 = dd_divide(1.0, 0.0, t4.a, t4.b);
    double part = t5.a, part_low = t5.b;
    return dd_add(high, low, part, part_low);
}

/* Return r/z and Var(1/F)/z at f = 1 + d as pairs. */
RISKCORE_KERNEL Tuple_dddd first(double d, double p, double z, double z_low, Tuple_dddd powers,
    Tuple_dddd sums)
{
    double X = powers.a, X_low = powers.b, Y = powers.c, Y_low = powers.d;
    double tau = sums.a, tau_low = sums.b, omega = sums.c, omega_low = sums.d;
    const Pair t1 = dd_multiply(tau, tau_low, z, z_low);
    double part = t1.a, part_low = t1.b;
    const Pair t2 = dd_add(Y, Y_low, part, part_low);
    double r = t2.a, r_low = t2.b;
    const Pair t3 = slope_of_psi(d);
    const Pair t4 = dd_multiply(X, X_low, t3.a, t3.b);
    double V = t4.a, V_low = t4.b;
    const Pair t5 = two_sum(1.0, -p);
    const Pair t6 = dd_log(t5.a, t5.b);
    part = t6.a;
    part_low = t6.b;
    const Pair t7 = dd_multiply(part, part_low, Y, Y_low);
    part = t7.a;
    part_low = t7.b;
    const Pair t8 = dd_add(V, V_low, part, part_low);
    V = t8.a;
    V_low = t8.b;
    const Pair t9 = dd_multiply(omega, omega_low, z, z_low);
    part = t9.a;
    part_low = t9.b;
    const Pair t10 = dd_add(V, V_low, -part, -part_low);
    V = t10.a;
    V_low = t10.b;
    const Pair t11 = dd_multiply(r, r_low, z, z_low);
    part = t11.a;
    part_low = t11.b;
    const Pair t12 = dd_multiply(part, part_low, r, r_low);
    part = t12.a;
    part_low = t12.b;
    const Pair t13 = dd_add(V, V_low, -part, -part_low);
    V = t13.a;
    V_low = t13.b;
    return (Tuple_dddd){r, r_low, V, V_low};
}

/* Return r/z and Var(1/F)/z^2 at 1 + d + k from those at d + k, if k <= n. */
RISKCORE_KERNEL Tuple_dddd inverse_moments_upwards(double k, double d, double n, double z,
    double z_low, Tuple_dddd moments)
{
    double r = moments.a, r_low = moments.b, V = moments.c, V_low = moments.d;
    const Pair t1 = dd_multiply(r, r_low, z, z_low);
    double below = t1.a, below_low = t1.b;
    const Pair t2 = two_sum(k, d);
    const Pair t3 = dd_divide(1.0, 0.0, t2.a, t2.b);
    double above = t3.a, above_low = t3.b;
    const Pair t4 = dd_add(above, above_low, -below, -below_low);
    above = t4.a;
    above_low = t4.b;
    const Pair t5 = dd_add(r, r_low, -above, -above_low);
    double fall = t5.a, fall_low = t5.b;
    const Pair t6 = dd_multiply(fall, fall_low, above, above_low);
    fall = t6.a;
    fall_low = t6.b;
    const Pair t7 = dd_multiply(V, V_low, k == 1.0 ? 1.0 : z, k == 1.0 ? 0.0 : z_low);
    double v = t7.a, v_low = t7.b;
    const Pair t8 = dd_add(fall, fall_low, -v, -v_low);
    v = t8.a;
    v_low = t8.b;
    bool more = k <= n;
    return (Tuple_dddd){more ? above : r, more ? above_low : r_low, more ? v : V,
        more ? v_low : V_low};
}

/* Return the moments at 1 + d + n from the results of upwards. */
RISKCORE_KERNEL Tuple_dddd reflected_end(double d, double n, double z, double z_low, double X,
    double X_low, double tau, double tau_low, Tuple_dddd moments)
{
    double r = moments.a, r_low = moments.b, V = moments.c, V_low = moments.d;
    const Pair t1 = dd_multiply(r, r_low, z, z_low);
    double above = t1.a, above_low = t1.b;
    bool down = n < 0.0;
    const Pair t2 = dd_divide(X, X_low, down ? d : 1.0, 0.0);
    double x = t2.a, x_low = t2.b;
    const Pair t3 = dd_multiply(tau, tau_low, z, z_low);
    double y = t3.a, y_low = t3.b;
    const Pair t4 = dd_add(x, x_low, -y, -y_low);
    x = t4.a;
    x_low = t4.b;
    const Pair t5 = dd_add(x, x_low, -above, -above_low);
    y = t5.a;
    y_low = t5.b;
    const Pair t6 = dd_multiply(y, y_low, r, r_low);
    y = t6.a;
    y_low = t6.b;
    y = dd_add(y, y_low, -V, -V_low).a;
    double b = n == 0.0 ? sqrt(z) : z;
    double variance = z * (n == 0.0 ? V : z * V);
    return (Tuple_dddd){down ? x + x_low : above + above_low, down ? y : variance,
        down ? 1.0 : b, down ? y : V};
}

static const int64_t SERIES_TERMS = 31;
static const int64_t SERIES_PAIRS = 6;

/* Return the moments of 1/F by the reflection of psi. */
RISKCORE_PLAIN Tuple_dddd inverse_moments_by_reflection(double f, double p)
{
    const Pair t1 = place(f);
    double d = t1.a, n = t1.b;
    const Pair t2 = odds_of(p);
    double z = t2.a, z_low = t2.b;
    double tau = 0.0;
    double omega = 0.0;
    RISKCORE_UNROLL
    for (int64_t m = SERIES_TERMS; m > SERIES_PAIRS; m--) {
        const Pair t3 = inverse_moments_series_step((double)m, d, z, tau, omega);
        tau = t3.a;
        omega = t3.b;
    }
    Tuple_dddd sums = (Tuple_dddd){tau, 0.0, omega, 0.0};
    RISKCORE_UNROLL
    for (int64_t m = SERIES_PAIRS; m > 0; m--) {
        sums = series_pair_step((double)m, d, z, z_low, sums);
    }
    Tuple_dddd powers = power(d, p);
    Tuple_dddd moments = first(d, p, z, z_low, powers, sums);
    const int64_t t4 = (int64_t)n + 1;
    for (int64_t k = 1; k < t4; k++) {
        moments = inverse_moments_upwards((double)k, d, n, z, z_low, moments);
    }
    return reflected_end(d, n, z, z_low, powers.a, powers.b, sums.a, sums.b, moments);
}

static const int64_t inverse_moments_GAUSS_PAIRS = 5;

/* Return E[1/F], Var(1/F), b and I with Var(1/F) = b^2 I; f > 0, 0 < p <= 1. */
RISKCORE_PLAIN Tuple_dddd moments(double f, double p)
{
    int64_t where = inverse_moments_region(f, p);
    double slope;
    if (where == NOERLUND) {
        const Pair t1 = noerlund_start(f, p);
        slope = t1.b;
        double V = t1.a;
        RISKCORE_UNROLL
        for (int64_t k = inverse_moments_NOERLUND_LEVELS - 1; k > 1; k--) {
            const Pair t2 = inverse_moments_noerlund_step((double)k, f, p, V, slope);
            V = t2.a;
            slope = t2.b;
        }
        return noerlund_end(f, p, V, slope);
    }
    if (where == GAUSS) {
        const Pair t3 = inverse_moments_gauss_start(f, p);
        slope = t3.b;
        double S = t3.a;
        RISKCORE_UNROLL
        for (int64_t n = GAUSS_LEVELS; n > inverse_moments_GAUSS_PAIRS; n--) {
            const Pair t4 = inverse_moments_gauss_step(n, f, p, S, slope);
            S = t4.a;
            slope = t4.b;
        }
        Tuple_dddd fraction = (Tuple_dddd){S, 0.0, slope, 0.0};
        RISKCORE_UNROLL
        for (int64_t n = inverse_moments_GAUSS_PAIRS; n > 2; n--) {
            fraction = inverse_moments_gauss_pair_step(n, f, p, fraction);
        }
        return inverse_moments_gauss_end(f, p, fraction);
    }
    return inverse_moments_by_reflection(f, p);
}

/* --- riskcore/core/risk/posterior.py -------------------------------------------- */

RISKCORE_KERNEL double deviation(double r, double variance, double b, double spread)
{
    (void)r;
    (void)variance;
    return b * sqrt(spread);
}

/* Return the standard deviation of 1/F given f; its mean is the individual risk. */
RISKCORE_PLAIN double individual_risk_deviation_of_one(double f, double p)
{
    if (!has_moments(f, p)) {
        return NAN;
    }
    const Tuple_dddd t1 = moments(f, p);
    return deviation(t1.a, t1.b, t1.c, t1.d);
}

/* --- riskcore/core/special/negative_binomial/inverse_moments_blocks.py ---------- */

RISKCORE_PLAIN void inverse_moments_blocks_fill_noerlund(double *f, double *p, double *r,
    double *var, double *b, double *spread, int64_t n)
{
    double V[512];
    double slope[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = noerlund_start(f[i], p[i]);
        V[i] = t1.a;
        slope[i] = t1.b;
    }
    RISKCORE_UNROLL
    for (int64_t j = inverse_moments_NOERLUND_LEVELS - 1; j > 1; j--) {
        double k = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t2 = inverse_moments_noerlund_step(k, f[i], p[i], V[i], slope[i]);
            V[i] = t2.a;
            slope[i] = t2.b;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t3 = noerlund_end(f[i], p[i], V[i], slope[i]);
        r[i] = t3.a;
        var[i] = t3.b;
        b[i] = t3.c;
        spread[i] = t3.d;
    }
}

RISKCORE_PLAIN void inverse_moments_blocks_fill_gauss(double *f, double *p, double *r,
    double *var, double *b, double *spread, int64_t n)
{
    double S[512];
    double S_low[512];
    double slope[512];
    double slope_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = inverse_moments_gauss_start(f[i], p[i]);
        S[i] = t1.a;
        slope[i] = t1.b;
        S_low[i] = 0.0;
        slope_low[i] = 0.0;
    }
    RISKCORE_UNROLL
    for (int64_t k = GAUSS_LEVELS; k > inverse_moments_GAUSS_PAIRS; k--) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t2 = inverse_moments_gauss_step(k, f[i], p[i], S[i], slope[i]);
            S[i] = t2.a;
            slope[i] = t2.b;
        }
    }
    RISKCORE_UNROLL
    for (int64_t k = inverse_moments_GAUSS_PAIRS; k > 2; k--) {
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Tuple_dddd t3 = inverse_moments_gauss_pair_step(k, f[i], p[i],
                (Tuple_dddd){S[i], S_low[i], slope[i], slope_low[i]});
            S[i] = t3.a;
            S_low[i] = t3.b;
            slope[i] = t3.c;
            slope_low[i] = t3.d;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t4 = inverse_moments_gauss_end(f[i], p[i], (Tuple_dddd){S[i],
            S_low[i], slope[i], slope_low[i]});
        r[i] = t4.a;
        var[i] = t4.b;
        b[i] = t4.c;
        spread[i] = t4.d;
    }
}

RISKCORE_PLAIN void inverse_moments_blocks_fill_reflected(double *f, double *p, double *r,
    double *var, double *b, double *spread, int64_t n)
{
    double d[512];
    double steps[512];
    double z[512];
    double z_low[512];
    double tau[512];
    double tau_low[512];
    double omega[512];
    double omega_low[512];
    double most = 0.0;
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Pair t1 = place(f[i]);
        d[i] = t1.a;
        steps[i] = t1.b;
        const Pair t2 = odds_of(p[i]);
        z[i] = t2.a;
        z_low[i] = t2.b;
        tau[i] = 0.0;
        tau_low[i] = 0.0;
        omega[i] = 0.0;
        omega_low[i] = 0.0;
    }
    for (int64_t i = 0; i < n; i++) {
        most = greater(most, steps[i]);
    }
    double m;
    RISKCORE_UNROLL
    for (int64_t j = SERIES_TERMS; j > SERIES_PAIRS; j--) {
        m = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Pair t3 = inverse_moments_series_step(m, d[i], z[i], tau[i], omega[i]);
            tau[i] = t3.a;
            omega[i] = t3.b;
        }
    }
    RISKCORE_UNROLL
    for (int64_t j = SERIES_PAIRS; j > 0; j--) {
        m = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Tuple_dddd t4 = series_pair_step(m, d[i], z[i], z_low[i],
                (Tuple_dddd){tau[i], tau_low[i], omega[i], omega_low[i]});
            tau[i] = t4.a;
            tau_low[i] = t4.b;
            omega[i] = t4.c;
            omega_low[i] = t4.d;
        }
    }
    double X[512];
    double X_low[512];
    double Y[512];
    double Y_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t5 = power(d[i], p[i]);
        X[i] = t5.a;
        X_low[i] = t5.b;
        Y[i] = t5.c;
        Y_low[i] = t5.d;
    }
    double V[512];
    double V_low[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t6 = first(d[i], p[i], z[i], z_low[i], (Tuple_dddd){X[i], X_low[i],
            Y[i], Y_low[i]}, (Tuple_dddd){tau[i], tau_low[i], omega[i], omega_low[i]});
        Y[i] = t6.a;
        Y_low[i] = t6.b;
        V[i] = t6.c;
        V_low[i] = t6.d;
    }
    const int64_t t7 = (int64_t)most + 1;
    for (int64_t j = 1; j < t7; j++) {
        double k = (double)j;
        RISKCORE_EACH
        for (int64_t i = 0; i < n; i++) {
            const Tuple_dddd t8 = inverse_moments_upwards(k, d[i], steps[i], z[i], z_low[i],
                (Tuple_dddd){Y[i], Y_low[i], V[i], V_low[i]});
            Y[i] = t8.a;
            Y_low[i] = t8.b;
            V[i] = t8.c;
            V_low[i] = t8.d;
        }
    }
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        const Tuple_dddd t9 = reflected_end(d[i], steps[i], z[i], z_low[i], X[i], X_low[i],
            tau[i], tau_low[i], (Tuple_dddd){Y[i], Y_low[i], V[i], V_low[i]});
        r[i] = t9.a;
        var[i] = t9.b;
        b[i] = t9.c;
        spread[i] = t9.d;
    }
}

static const int64_t OUTSIDE = 3;
static const int64_t inverse_moments_blocks_REGIONS = 4;

RISKCORE_PLAIN void inverse_moments_blocks_block(double *f, double *p, double *unused_,
    double *out, int64_t n)
{
    (void)unused_;
    if (n == 1) {
        out[0] = individual_risk_deviation_of_one(f[0], p[0]);
        return;
    }
    uint8_t codes[512];
    int64_t picked[513];
    double x[512];
    double y[512];
    double r[512];
    double var[512];
    double b[512];
    double spread[512];
    RISKCORE_EACH
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(has_moments(f[i], p[i]) ? inverse_moments_region(f[i],
            p[i]) : OUTSIDE);
    }
    int64_t words = padded(codes, n);
    RISKCORE_UNROLL
    for (int64_t w = 0; w < inverse_moments_blocks_REGIONS; w++) {
        int64_t m = pick(codes, words, w, picked);
        if (m > 0) {
            int64_t full = filled_up(picked, m);
            gather(f, p, p, picked, x, y, b, full);
            if (w == NOERLUND) {
                inverse_moments_blocks_fill_noerlund(x, y, r, var, b, spread, full);
            } else {
                if (w == GAUSS) {
                    inverse_moments_blocks_fill_gauss(x, y, r, var, b, spread, full);
                } else {
                    if (w == inverse_moments_REFLECTED) {
                        inverse_moments_blocks_fill_reflected(x, y, r, var, b, spread, full);
                    }
                }
            }
            RISKCORE_EACH
            for (int64_t i = 0; i < full; i++) {
                double value = deviation(r[i], var[i], b[i], spread[i]);
                x[i] = w == OUTSIDE ? NAN : value;
            }
            scatter(x, picked, out, full);
        }
    }
}

/* --- riskcore/core/special/loops.py --------------------------------------------- */

RISKCORE_PLAIN void individual_risk_deviation_of_many(double **args, int64_t *sizes,
    int64_t *steps, int64_t unused_)
{
    (void)unused_;
    double x[512];
    double y[512];
    double z[512];
    double out[512];
    int64_t first = 0;
    int64_t ahead = cells_ahead(args[0], steps[2], args[2]);
    while (first < sizes[0]) {
        int64_t n = lesser_integer(ahead, sizes[0] - first);
        for (int64_t i = 0; i < n; i++) {
            x[i] = args[0][(first + i) * (steps[0] >> 3)];
            y[i] = args[1][(first + i) * (steps[1] >> 3)];
            z[i] = args[2][(first + i) * (steps[2] >> 3)];
        }
        inverse_moments_blocks_block(x, y, z, out, n);
        for (int64_t i = 0; i < n; i++) {
            args[2][(first + i) * (steps[2] >> 3)] = out[i];
        }
        first += n;
    }
}

/* --- public functions ---------------------------------------------------------------------- */

RISKCORE_SHARED double individual_risk_in_mode(double f, double p)
{
    return individual_risk_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_fma(double f, double p);
#endif
double RISKCORE_NAME(individual_risk)(double f, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_fma(f, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_array_fma(const double *f, const double *p, double *out,
    int64_t n);
#endif
void RISKCORE_NAME(individual_risk_array)(const double *f, const double *p, double *out,
    int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_array_fma(f, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_from_frequencies_in_mode(double f, double F)
{
    return individual_risk_from_frequencies_of_one(f, F);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_from_frequencies_fma(double f, double F);
#endif
double RISKCORE_NAME(individual_risk_from_frequencies)(double f, double F)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_from_frequencies_fma(f, F);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_from_frequencies_in_mode(f, F);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_from_frequencies_array_fma(const double *f, const double *F,
    double *out, int64_t n);
#endif
void RISKCORE_NAME(individual_risk_from_frequencies_array)(const double *f, const double *F,
    double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_from_frequencies_array_fma(f, F, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)F, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_from_frequencies_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double log_individual_risk_in_mode(double f, double p)
{
    return log_individual_risk_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_log_individual_risk_fma(double f, double p);
#endif
double RISKCORE_NAME(log_individual_risk)(double f, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_log_individual_risk_fma(f, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = log_individual_risk_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_log_individual_risk_array_fma(const double *f, const double *p, double *out,
    int64_t n);
#endif
void RISKCORE_NAME(log_individual_risk_array)(const double *f, const double *p, double *out,
    int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_log_individual_risk_array_fma(f, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    log_individual_risk_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_gradient_in_mode(double f, double p)
{
    return individual_risk_gradient_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_gradient_fma(double f, double p);
#endif
double RISKCORE_NAME(individual_risk_gradient)(double f, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_gradient_fma(f, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_gradient_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_gradient_array_fma(const double *f, const double *p, double *out,
    int64_t n);
#endif
void RISKCORE_NAME(individual_risk_gradient_array)(const double *f, const double *p,
    double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_gradient_array_fma(f, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_gradient_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED Pair individual_risk_bounds_in_mode(double f, double p)
{
    return individual_risk_bounds_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_bounds_fma(double f, double p, double *lower, double *upper);
#endif
void RISKCORE_NAME(individual_risk_bounds)(double f, double p, double *lower, double *upper)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_bounds_fma(f, p, lower, upper); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const Pair value = individual_risk_bounds_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    *lower = value.a;
    *upper = value.b;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_bounds_array_fma(const double *f, const double *p, double *lower,
    double *upper, int64_t n);
#endif
void RISKCORE_NAME(individual_risk_bounds_array)(const double *f, const double *p,
    double *lower, double *upper, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_bounds_array_fma(f, p, lower, upper, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, lower, upper};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8, 8};
    individual_risk_bounds_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_down_in_mode(double f, double p)
{
    return individual_risk_down_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_down_fma(double f, double p);
#endif
double RISKCORE_NAME(individual_risk_down)(double f, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_down_fma(f, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_down_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_down_array_fma(const double *f, const double *p, double *out,
    int64_t n);
#endif
void RISKCORE_NAME(individual_risk_down_array)(const double *f, const double *p, double *out,
    int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_down_array_fma(f, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_down_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_up_in_mode(double f, double p)
{
    return individual_risk_up_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_up_fma(double f, double p);
#endif
double RISKCORE_NAME(individual_risk_up)(double f, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_up_fma(f, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_up_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_up_array_fma(const double *f, const double *p, double *out,
    int64_t n);
#endif
void RISKCORE_NAME(individual_risk_up_array)(const double *f, const double *p, double *out,
    int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_up_array_fma(f, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_up_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_with_prior_in_mode(double f, double shape, double p)
{
    return individual_risk_with_prior_of_one(f, shape, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_with_prior_fma(double f, double shape, double p);
#endif
double RISKCORE_NAME(individual_risk_with_prior)(double f, double shape, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_with_prior_fma(f, shape, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_with_prior_in_mode(f, shape, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_with_prior_array_fma(const double *f, const double *shape,
    const double *p, double *out, int64_t n);
#endif
void RISKCORE_NAME(individual_risk_with_prior_array)(const double *f, const double *shape,
    const double *p, double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_with_prior_array_fma(f, shape, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)shape, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8, 8};
    individual_risk_with_prior_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double log_individual_risk_with_prior_in_mode(double f, double shape, double p)
{
    return log_individual_risk_with_prior_of_one(f, shape, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_log_individual_risk_with_prior_fma(double f, double shape, double p);
#endif
double RISKCORE_NAME(log_individual_risk_with_prior)(double f, double shape, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_log_individual_risk_with_prior_fma(f, shape, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = log_individual_risk_with_prior_in_mode(f, shape, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_log_individual_risk_with_prior_array_fma(const double *f, const double *shape,
    const double *p, double *out, int64_t n);
#endif
void RISKCORE_NAME(log_individual_risk_with_prior_array)(const double *f, const double *shape,
    const double *p, double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_log_individual_risk_with_prior_array_fma(f, shape, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)shape, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8, 8};
    log_individual_risk_with_prior_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_poisson_in_mode(double f, double mu)
{
    return individual_risk_poisson_of_one(f, mu);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_poisson_fma(double f, double mu);
#endif
double RISKCORE_NAME(individual_risk_poisson)(double f, double mu)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_poisson_fma(f, mu);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_poisson_in_mode(f, mu);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_poisson_array_fma(const double *f, const double *mu, double *out,
    int64_t n);
#endif
void RISKCORE_NAME(individual_risk_poisson_array)(const double *f, const double *mu,
    double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_poisson_array_fma(f, mu, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)mu, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_poisson_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double log_individual_risk_poisson_in_mode(double f, double mu)
{
    return log_individual_risk_poisson_of_one(f, mu);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_log_individual_risk_poisson_fma(double f, double mu);
#endif
double RISKCORE_NAME(log_individual_risk_poisson)(double f, double mu)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_log_individual_risk_poisson_fma(f, mu);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = log_individual_risk_poisson_in_mode(f, mu);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_log_individual_risk_poisson_array_fma(const double *f, const double *mu,
    double *out, int64_t n);
#endif
void RISKCORE_NAME(log_individual_risk_poisson_array)(const double *f, const double *mu,
    double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_log_individual_risk_poisson_array_fma(f, mu, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)mu, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    log_individual_risk_poisson_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}

RISKCORE_SHARED double individual_risk_deviation_in_mode(double f, double p)
{
    return individual_risk_deviation_of_one(f, p);
}

#ifdef RISKCORE_HANDS_OVER
double riskcore_individual_risk_deviation_fma(double f, double p);
#endif
double RISKCORE_NAME(individual_risk_deviation)(double f, double p)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        return riskcore_individual_risk_deviation_fma(f, p);
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    const double value = individual_risk_deviation_in_mode(f, p);
    if (!is_usual(mode))
        write_mode(mode);
    return value;
}

#ifdef RISKCORE_HANDS_OVER
void riskcore_individual_risk_deviation_array_fma(const double *f, const double *p,
    double *out, int64_t n);
#endif
void RISKCORE_NAME(individual_risk_deviation_array)(const double *f, const double *p,
    double *out, int64_t n)
{
#ifdef RISKCORE_HANDS_OVER
    if (HAS_FMA)
        { riskcore_individual_risk_deviation_array_fma(f, p, out, n); return; }
#endif
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    double *args[] = {(double *)f, (double *)p, out};
    int64_t sizes[] = {n}, steps[] = {8, 8, 8};
    individual_risk_deviation_of_many(args, sizes, steps, 0);
    if (!is_usual(mode))
        write_mode(mode);
}
