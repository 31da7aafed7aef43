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

ENTRY void <STRETCHES>(int64_t *args, int64_t *sizes, int64_t *steps, int64_t *plan)
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

ENTRY void <SINGLE>(float **args, int64_t *sizes, int64_t *steps, int64_t *plan)
{
    const Mode mode = read_mode();
    if (!is_usual(mode))
        write_mode(usual(mode));
    singles(args, sizes, steps, plan);
    if (!is_usual(mode))
        write_mode(mode);
    clear_flags();
}
