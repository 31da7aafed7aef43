"""What the instructions of x86-64 do that our compilers emit for the kernels."""

import operator

from bench.proof import cases, graph
from bench.proof.graph import ALL, GREATER, LESS, word
from bench.proof.processor import (
    ARITHMETIC,
    BITWISE,
    COMPARED,
    FUSED,
    MOVES,
    OF_DOUBLES,
    OF_INTEGERS,
    PREDICATES,
    Operand,
    as_node,
    flag,
    half,
    join,
    right_32,
    signed,
    small,
    wide,
)

DOUBLES = {
    "add": graph.add,
    "sub": lambda a, b: graph.add(a, graph.negative(b)),
    "mul": graph.multiply,
    "div": graph.divide,
    "min": lambda a, b: graph.select(graph.compare(LESS, a, b), a, b),
    "max": lambda a, b: graph.select(graph.compare(GREATER, a, b), a, b),
    "sqrt": lambda a, b: graph.root(b),
}


def masked(kind, a, b):
    if kind == "andn":
        return graph.masked("and", graph.masked("xor", a, word(ALL)), b)
    return graph.masked(kind, a, b)


def run(cpu, name, operands, after):
    """Run an instruction; return where to go on, if not at the next one."""
    for rule in (vectors, moves, shuffles, integers, jumps):
        found = rule(cpu, name, operands, after)
        if found is not False:
            return found
    texts = ", ".join(f"{one.text or one.place}" for one in operands)
    raise NotImplementedError(f"{name} {texts}")


def binary(cpu, name, operands, after, operation, scalar):
    """Run an operation on lanes; in the old form the first operand is also read."""
    count = 1 if scalar else operands[0].size // 64
    legacy = not name.startswith("v")
    first = operands[0] if len(operands) == 2 else operands[1]
    whole = cpu.lanes(first, after, 2 if scalar else count)
    other = cpu.lanes(operands[-1], after, count)
    lanes = [operation(a, b) for a, b in zip(whole, other, strict=False)]
    cpu.put(operands[0], after, lanes + whole[len(lanes) :], legacy)


def vectors(cpu, name, operands, after):  # noqa: PLR0911
    """Run arithmetic on doubles."""
    if found := FUSED.fullmatch(name):
        return fused(cpu, found, operands, after)
    if found := ARITHMETIC.fullmatch(name):
        operation = DOUBLES[found.group(1)]
        return binary(cpu, name, operands, after, operation, found.group(2) == "s")
    if (found := COMPARED.fullmatch(name)) and name.strip("v") != "cmpxchgd":
        return compared(cpu, name, found, operands, after)
    if (found := BITWISE.fullmatch(name)) and operands[0].vector is not None:
        kind = found.group(1)
        return binary(
            cpu, name, operands, after, lambda a, b: masked(kind, a, b), False
        )
    if name in ("vucomisd", "ucomisd", "comisd", "vcomisd"):
        a, b = (cpu.lanes(one, after, 1)[0] for one in operands)
        cpu.flags = "doubles", a, b
        return None
    if name.strip("v") in ("paddq", "psubq"):
        operation = graph.plus if "add" in name else graph.minus
        return binary(cpu, name, operands, after, operation, False)
    return converted(cpu, name, operands, after)


def fused(cpu, found, operands, after):
    negated, kind, order, scalar = found.groups()
    count = 1 if scalar == "s" else operands[0].size // 64
    whole = cpu.lanes(operands[0], after, 2 if scalar == "s" else count)
    second = cpu.lanes(operands[1], after, count)
    third = cpu.lanes(operands[2], after, count)
    lanes = []
    for one, two, three in zip(whole, second, third, strict=False):
        numbers = {"1": one, "2": two, "3": three}
        a, b, c = (numbers[place] for place in order)
        a = graph.negative(a) if negated else a
        lanes.append(graph.fma(a, b, graph.negative(c) if kind == "sub" else c))
    return cpu.put(operands[0], after, lanes + whole[len(lanes) :])


def compared(cpu, name, found, operands, after):
    relations = PREDICATES[found.group(1)]
    scalar = found.group(2) == "s"
    if operands[0].text.startswith("k"):
        count = 1 if scalar else max(operands[1].size // 64, 1)
        one, two = (cpu.lanes(x, after, count) for x in operands[1:])
        tests = [graph.compare(relations, *x) for x in zip(one, two, strict=True)]
        if operands[0].mask:
            held = cpu.masks[operands[0].mask.group(1)]
            tests = [graph.both(*x) for x in zip(tests, held, strict=False)]
        cpu.masks[operands[0].text] = tests + [graph.FALSE] * (8 - count)
        return None

    def mask(a, b):
        return graph.select(graph.compare(relations, a, b), word(ALL), word(0))

    return binary(cpu, name, operands, after, mask, scalar)


def converted(cpu, name, operands, after):  # noqa: PLR0911
    """Run conversions and shifts of lanes."""
    plain = name.removeprefix("v")
    if plain == "cvtsi2sd":
        number = cpu.get(operands[-1], after)
        if operands[-1].size == 32:
            number = signed(number, 32) if isinstance(number, int) else wide(number)
        first = operands[0] if len(operands) == 2 else operands[1]
        rest = cpu.lanes(first, after, 2)[1:]
        lanes = [graph.to_double(as_node(number)), *rest]
        return cpu.put(operands[0], after, lanes, plain == name)
    if plain == "cvttsd2si":
        number = graph.to_integer(cpu.lanes(operands[1], after, 1)[0])
        return cpu.set(operands[0], after, number)
    if plain == "roundsd" and operands[-1].number & 7 == 3:
        first = operands[0] if len(operands) == 3 else operands[1]
        rest = cpu.lanes(first, after, 2)[1:]
        lane = graph.truncated(cpu.lanes(operands[-2], after, 1)[0])
        return cpu.put(operands[0], after, [lane, *rest], plain == name)
    if plain in ("cvtqq2pd", "cvttpd2qq"):
        change = graph.to_double if plain == "cvtqq2pd" else graph.to_integer
        lanes = cpu.lanes(operands[1], after, operands[0].size // 64)
        return cpu.put(operands[0], after, [change(one) for one in lanes])
    if plain == "cvtdq2pd":
        count = operands[0].size // 64
        halves = cut(cpu.lanes(operands[1], after, (count + 1) // 2))
        lanes = [graph.to_double(wide(one)) for one in halves[:count]]
        return cpu.put(operands[0], after, lanes, plain == name)
    if plain in ("psllq", "psraq", "psrad"):
        places = operands[-1].number
        source = operands[0] if len(operands) == 2 else operands[1]
        lanes = cpu.lanes(source, after, operands[0].size // 64)
        if plain == "psrad":
            lanes = joined([right_32(one, places) for one in cut(lanes)])
        else:
            shift = graph.left if plain == "psllq" else graph.right
            lanes = [shift(one, places) for one in lanes]
        return cpu.put(operands[0], after, lanes, plain == name)
    return False


def cut(lanes):
    return [half(one, upper) for one in lanes for upper in (0, 1)]


def joined(halves):
    pairs = zip(halves[::2], halves[1::2], strict=True)
    return [join(*one) for one in pairs]


def moves(cpu, name, operands, after):  # noqa: PLR0911
    """Run moves of doubles."""
    plain = name.removeprefix("v")
    legacy = plain == name
    if MOVES.fullmatch(name):
        size = max(one.size for one in operands)
        lanes = cpu.lanes(operands[1], after, size // 64)
        return cpu.put(operands[0], after, lanes, legacy)
    if plain == "movsd" or (plain == "movq" and operands[0].vector is not None):
        return single(cpu, plain, operands, after, legacy)
    if plain == "movq":  # to a general register or to memory
        return cpu.set(operands[0], after, cpu.lanes(operands[1], after, 1)[0])
    if plain in ("movlpd", "movhpd", "movlps", "movhps"):
        return of_half(cpu, plain, operands, after, legacy)
    if plain in ("movhlps", "movlhps"):
        first = cpu.lanes(operands[-2], after, 2)
        second = cpu.lanes(operands[-1], after, 2)
        lanes = [first[0], second[0]] if plain == "movlhps" else [second[1], first[1]]
        return cpu.put(operands[0], after, lanes, legacy)
    if plain in ("broadcasti128", "broadcastf128"):
        return cpu.put(operands[0], after, cpu.lanes(operands[1], after, 2) * 2)
    if plain in ("movddup", "broadcastsd", "pbroadcastq"):
        if operands[1].general:
            number = as_node(cpu.get(operands[1], after))
        else:
            number = cpu.lanes(operands[1], after, 1)[0]
        if plain == "movddup" and operands[0].size > 128:
            raise NotImplementedError(name)
        return cpu.put(operands[0], after, [number] * (operands[0].size // 64), legacy)
    return False


def single(cpu, plain, operands, after, legacy):
    """Move one double."""
    if operands[0].place:
        return cpu.put(operands[0], after, cpu.lanes(operands[1], after, 1))
    if operands[-1].general:
        lane = as_node(cpu.get(operands[-1], after))
    else:
        lane = cpu.lanes(operands[-1], after, 1)[0]
    rest = word(0)
    if plain == "movsd" and operands[-1].vector is not None:
        rest = cpu.lanes(operands[0 if len(operands) == 2 else 1], after, 2)[1]
    return cpu.put(operands[0], after, [lane, rest], legacy)


def of_half(cpu, plain, operands, after, legacy):
    """Move one of two doubles from or to memory."""
    upper = plain.startswith("movh")
    if operands[0].place:
        return cpu.put(operands[0], after, [cpu.lanes(operands[1], after, 2)[upper]])
    lanes = list(cpu.lanes(operands[0 if len(operands) == 2 else 1], after, 2))
    lanes[upper] = cpu.lanes(operands[-1], after, 1)[0]
    return cpu.put(operands[0], after, lanes, legacy)


def shuffles(cpu, name, operands, after):  # noqa: PLR0911
    """Run what reorders or chooses lanes."""
    plain = name.removeprefix("v")
    legacy = plain == name
    count = operands[0].size // 64 if operands else 0
    if plain in ("unpcklpd", "unpckhpd", "punpcklqdq", "punpckhqdq", "shufpd"):
        places = operands[-1].number if plain == "shufpd" else None
        sources = operands[:-1] if plain == "shufpd" else operands
        first = sources[0] if len(sources) == 2 else sources[1]
        one = cpu.lanes(first, after, count)
        two = cpu.lanes(sources[-1], after, count)
        if places is None:
            places = ALL if "ckh" in plain else 0
        lanes = [
            (two if i % 2 else one)[i - i % 2 + (places >> i & 1)] for i in range(count)
        ]
        return cpu.put(operands[0], after, lanes, legacy)
    if plain in ("pshufd", "permilpd", "permpd", "permq", "permd", "shufps"):
        return permuted(cpu, plain, operands, after, legacy)
    if plain in ("blendvpd", "blendmpd", "blendmq"):
        if plain == "blendvpd":
            *sources, chooser = operands
            tests = [graph.bit(one) for one in cpu.lanes(chooser, after, count)]
        else:
            sources = operands
            tests = cpu.masks[operands[0].mask.group(1)]
        one, two = (cpu.lanes(x, after, count) for x in sources[-2:])
        lanes = [graph.select(*x) for x in zip(tests, two, one, strict=False)]
        return cpu.put(operands[0], after, lanes, legacy, masked=False)
    if plain in ("insertf128", "inserti128"):
        lanes = cpu.lanes(operands[1], after, 4)
        place = 2 * operands[-1].number
        lanes[place : place + 2] = cpu.lanes(operands[2], after, 2)
        return cpu.put(operands[0], after, lanes)
    if plain in ("extractf128", "extracti128"):
        place = 2 * operands[-1].number
        lanes = cpu.lanes(operands[1], after, 4)[place : place + 2]
        return cpu.put(operands[0], after, lanes)
    if plain == "zeroupper":
        cpu.vectors = [one[:2] + [word(0)] * 6 for one in cpu.vectors]
        return None
    return False


def permuted(cpu, plain, operands, after, legacy):
    count = operands[0].size // 64
    if plain == "permd":
        chosen = cut(cpu.lanes(operands[1], after, count))
        halves = cut(cpu.lanes(operands[2], after, count))
        lanes = joined([halves[one.args[0] % (2 * count)] for one in chosen])
    elif plain == "pshufd":
        halves = cut(cpu.lanes(operands[1], after, count))
        order = [operands[2].number >> 2 * i & 3 for i in range(4)]
        lanes = joined([halves[i - i % 4 + order[i % 4]] for i in range(2 * count)])
    elif plain == "shufps":
        first, second = (cut(cpu.lanes(one, after, count)) for one in operands[-3:-1])
        order = [operands[-1].number >> 2 * i & 3 for i in range(4)]
        lanes = joined(
            [
                (second if i % 4 > 1 else first)[i - i % 4 + order[i % 4]]
                for i in range(2 * count)
            ]
        )
    elif plain == "permilpd":
        old = cpu.lanes(operands[1], after, count)
        order = operands[2].number
        lanes = [old[i - i % 2 + (order >> i & 1)] for i in range(count)]
    else:
        old = cpu.lanes(operands[1], after, count)
        order = operands[2].number
        lanes = [old[i - i % 4 + (order >> 2 * (i % 4) & 3)] for i in range(count)]
    return cpu.put(operands[0], after, lanes, legacy)


# --- integers

INTEGERS = {
    "add": operator.add, "sub": operator.sub, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "imul": operator.mul,
}  # fmt: skip
NODES = {"add": graph.plus, "sub": graph.minus}


def integers(cpu, name, operands, after):  # noqa: C901, PLR0912
    """Run moves and arithmetic of general registers."""
    if name in ("nop", "data16", "cs", "endbr64", "xchg"):
        if name == "xchg" and operands[0].text != operands[1].text:
            return False
        return None
    if name in ("mov", "movabs"):
        cpu.set(operands[0], after, cpu.get(operands[1], after, operands[0].size))
    elif name == "lea":
        cpu.set(operands[0], after, cpu.sum_of(operands[1], after))
    elif name in INTEGERS:
        arithmetic(cpu, name, operands, after)
    elif name in ("inc", "dec"):
        one = Operand("0x1")
        arithmetic(cpu, "add" if name == "inc" else "sub", [*operands, one], after)
    elif name in ("neg", "not"):
        number = cpu.concrete(cpu.get(operands[0], after))
        cpu.set(operands[0], after, -number if name == "neg" else ~number)
    elif name in ("shl", "sar", "shr"):
        shifted(cpu, name, operands, after)
    elif name in ("cmp", "test"):
        one, two = (cpu.get(x, after, operands[0].size) for x in operands)
        cpu.flags = name, one, two, operands[0].size
    elif name == "cdqe":
        number = cpu.get(Operand("eax"), after)
        cpu.general["rax"] = (
            signed(number, 32) & ALL if isinstance(number, int) else (wide(number))
        )
    elif name == "cqo":
        cpu.general["rdx"] = ALL if signed(cpu.concrete(cpu.general["rax"])) < 0 else 0
    elif name == "idiv" and operands[0].size == 64:
        above, below = signed(cpu.general["rax"]), signed(cpu.get(operands[0], after))
        whole = abs(above) // abs(below) * (1 if (above < 0) == (below < 0) else -1)
        cpu.general["rax"] = whole & ALL
        cpu.general["rdx"] = (above - whole * below) & ALL
    elif name in ("movsxd", "movzx", "movsx"):
        number = cpu.get(operands[1], after)
        if isinstance(number, int) and name != "movzx":
            number = signed(number, operands[1].size)
        elif not isinstance(number, int) and not small(number):
            number = wide(number)
        cpu.set(operands[0], after, number)
    elif name in ("push", "pop"):
        if name == "push":
            cpu.push(cpu.get(operands[0], after))
        else:
            cpu.set(operands[0], after, cpu.pop())
    elif name.startswith("kmov"):
        return of_masks(cpu, operands, after)
    elif name.strip("v") in ("stmxcsr", "ldmxcsr"):
        if "st" in name:
            cpu.store(cpu.address(operands[0], after), 32, 0x1F80)
    else:
        return False
    return None


def arithmetic(cpu, name, operands, after):
    size = operands[0].size
    one, two = (cpu.get(x, after, size) for x in operands[-2:])
    if operands[0].text == operands[1].text and name in ("xor", "sub"):
        one = two = 0
    if isinstance(one, int) and isinstance(two, int):
        result = INTEGERS[name](one, two) & (1 << size) - 1
    else:
        one, two = as_node(one), as_node(two)
        result = NODES[name](one, two) if name in NODES else masked(name, one, two)
        if size < 64 and not small(result):
            one, two = cpu.concrete(one), cpu.concrete(two)
            result = INTEGERS[name](one, two) & (1 << size) - 1
    cpu.set(operands[0], after, result)
    cpu.flags = ("cmp", one, two, size) if name == "sub" else ("cmp", result, 0, size)


def shifted(cpu, name, operands, after):
    size = operands[0].size
    number = cpu.get(operands[0], after)
    if size < 64 or name == "shr":
        number = cpu.concrete(number)
    places = operands[1].number if len(operands) > 1 else 1
    if places is None:
        places = cpu.concrete(cpu.get(operands[1], after))
    if isinstance(number, int):
        left, right = number << places, signed(number, size) >> places
        result = (
            left if name == "shl" else (right if name == "sar" else number >> places)
        )
    else:
        result = (graph.left if name == "shl" else graph.right)(number, places)
    cpu.set(operands[0], after, result)
    cpu.flags = "cmp", result, 0, size


def of_masks(cpu, operands, after):
    """Move between a mask and a general register."""
    if operands[0].text.startswith("k"):
        if operands[1].text and operands[1].text.startswith("k"):
            cpu.masks[operands[0].text] = cpu.masks[operands[1].text]
            return
        number = as_node(cpu.get(operands[1], after))
        number = number.args[1] if number.kind == "part" else number
        tests = [graph.bit(number, i) for i in range(8)]  # the others are not read
        cpu.masks[operands[0].text] = tests
        return
    tests = cpu.masks[operands[1].text]
    number = word(0)
    for i, test in enumerate(tests):
        number = graph.masked("or", number, graph.select(test, word(1 << i), word(0)))
    cpu.set(operands[0], after, number)


# --- jumps


def holds(cpu, suffix):
    """Return the condition of a jump, as a node or a truth value."""
    kind, one, two, *rest = cpu.flags
    suffix = {"z": "e", "nz": "ne", "c": "b", "nc": "ae"}.get(suffix, suffix)
    if kind == "doubles":
        return graph.compare(OF_DOUBLES[suffix], one, two)
    size = rest[0]
    one, two = (signed(cpu.concrete(x), size) for x in (one, two))
    if kind == "test":
        one, two = signed(one & two, size), 0
    return OF_INTEGERS[suffix](one, two)


def jumps(cpu, name, operands, after):  # noqa: PLR0911
    """Run jumps, calls and what depends on flags."""
    if name == "ret":
        return cpu.pop()
    if name in ("call", "jmp"):
        target = operands[0].number
        if target is None:
            target = cpu.concrete(cpu.get(operands[0], after, 64))
        if target == cpu.program.fma:
            a, b, c = (cpu.vectors[i][0] for i in range(3))
            cpu.vectors[0] = [graph.fma(a, b, c), *cpu.vectors[0][1:]]
            target = after
        elif name == "call":
            cpu.push(after)
        return target
    if name == "leave":
        cpu.general["rsp"] = cpu.general["rbp"]
        cpu.general["rbp"] = cpu.pop()
        return None
    if name.startswith("cmov"):
        if cases.Oracle.current.answer(graph.condition(holds(cpu, name[4:]))):
            cpu.set(operands[0], after, cpu.get(operands[1], after))
        return None
    if name.startswith("set"):
        return cpu.set(operands[0], after, flag(graph.condition(holds(cpu, name[3:]))))
    if name.startswith("j"):
        test = graph.condition(holds(cpu, name[1:]))
        return operands[0].number if cases.Oracle.current.answer(test) else None
    return False
