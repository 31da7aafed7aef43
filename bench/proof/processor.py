"""Run machine code of x86-64 on graphs: integers are numbers, doubles are nodes.

Pointers, counts and loops are concrete; a double is a node of ``graph.py``, also where
its bits are moved, masked or shifted as integers. A jump that depends on doubles asks
the oracle, and what chooses between lanes becomes a ``select``. An instruction that is
not listed here raises.
"""

import re

from bench.proof import cases, graph
from bench.proof.graph import ALL, EQUAL, GREATER, LESS, UNORDERED, word

STOP, STACK = 0xD00D, 0x7FFF_0000  # where the run ends; the first stack pointer
PREDICATES = {
    "eq": EQUAL, "lt": LESS, "le": LESS | EQUAL, "unord": UNORDERED,
    "neq": 15 ^ EQUAL, "nlt": 15 ^ LESS, "nle": GREATER | UNORDERED,
    "ord": 15 ^ UNORDERED, "neq_oq": LESS | GREATER, "eq_uq": EQUAL | UNORDERED,
    "nge": LESS | UNORDERED, "ngt": 15 ^ GREATER, "ge": GREATER | EQUAL, "gt": GREATER,
}  # fmt: skip
# What flags say after a comparison of doubles, or of integers (lower, same, ...).
OF_DOUBLES = {
    "a": GREATER, "ae": GREATER | EQUAL, "b": LESS | UNORDERED, "p": UNORDERED,
    "be": 15 ^ GREATER, "e": EQUAL | UNORDERED, "ne": LESS | GREATER,
    "np": 15 ^ UNORDERED,
}  # fmt: skip
OF_INTEGERS = {
    "e": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "b": lambda a, b: a % (1 << 64) < b % (1 << 64),
    "ae": lambda a, b: a % (1 << 64) >= b % (1 << 64),
    "be": lambda a, b: a % (1 << 64) <= b % (1 << 64),
    "a": lambda a, b: a % (1 << 64) > b % (1 << 64), "l": lambda a, b: a < b,
    "ge": lambda a, b: a >= b, "le": lambda a, b: a <= b, "g": lambda a, b: a > b,
    "s": lambda a, b: a - b < 0, "ns": lambda a, b: a - b >= 0,
}  # fmt: skip
NAMES = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    *(f"r{i}" for i in range(8, 16)),
]  # fmt: skip
GENERAL = {name: (name, 64) for name in NAMES}
for name in NAMES[:8]:
    GENERAL["e" + name[1:]] = name, 32
    GENERAL[name[1:]] = name, 16
    GENERAL[name[1] + "l" if name[2] == "x" else name[1:] + "l"] = name, 8
for name in NAMES[8:]:
    GENERAL |= {name + "d": (name, 32), name + "w": (name, 16), name + "b": (name, 8)}
ARITHMETIC = re.compile(r"v?(add|sub|mul|div|min|max|sqrt)([sp])d")
BITWISE = re.compile(r"v?p?(andn?|or|xor)(pd|ps|d|q|)$")
FUSED = re.compile(r"vf(n?)m(add|sub)(132|213|231)([sp])d")
COMPARED = re.compile(r"v?cmp(\w+?)([sp])d")
MOVES = re.compile(r"v?mov(apd|aps|upd|ups|dqa|dqu|dqa64|dqu64|dqa32|dqu32|nt\w+)")
SIZES = {"BYTE": 8, "WORD": 16, "DWORD": 32, "QWORD": 64, "XMMWORD": 128,
         "YMMWORD": 256, "ZMMWORD": 512}  # fmt: skip


def signed(number, size=64):
    number &= (1 << size) - 1
    return number - (1 << size) if number >> (size - 1) else number


def half(one, upper):
    """Return 32 bits of a pattern as a node."""
    if graph.constant(one):
        return word(one.args[0] >> 32 if upper else one.args[0] & 0xFFFFFFFF)
    if one.kind == "select":
        return graph.select(one.args[0], *(half(x, upper) for x in one.args[1:]))
    if one.kind == "join":
        return one.args[upper]
    return graph.make("half", one, upper)


def join(low, high):
    """Return the pattern of two halves."""
    if graph.constant(low, high):
        return word(low.args[0] | high.args[0] << 32)
    halves = low.kind == high.kind == "half" and low.args[0] is high.args[0]
    if halves and (low.args[1], high.args[1]) == (0, 1):
        return low.args[0]
    return graph.make("join", low, high)


def right_32(one, places):
    if graph.constant(one):
        return word(signed(one.args[0], 32) >> places & 0xFFFFFFFF)
    return graph.make("sar_32", one, places)


def wide(one):
    """Return the signed integer of 32 bits as one of 64."""
    if graph.constant(one):
        return word(signed(one.args[0], 32))
    lower = one.kind == "half" and not one.args[1] and one.args[0].kind == "sar"
    if lower and one.args[0].args[1] >= 32:  # 32 bits hold it
        return one.args[0]
    if one.kind == "sar_32" and one.args[0].kind == "half" and one.args[0].args[1]:
        return graph.right(one.args[0].args[0], 32 + one.args[1])
    raise NotImplementedError(f"a part of {one}")


graph.BUILD |= {
    "half": half, "join": join, "sar_32": right_32,
    "part": lambda held, number, bits: below(held, number, bits),
}  # fmt: skip


def flag(test):
    """Return a condition as the integer 0 or 1."""
    chosen = graph.select(test, word(1), word(0))
    return chosen.args[0] if graph.constant(chosen) else chosen


class Operand:
    """An operand as it is written: a register, a place in memory, or a number."""

    def __init__(self, text):
        self.mask = re.search(r"\{(k\d)\}", text)
        self.zero = "{z}" in text
        text = re.sub(r"\{.*?\}", "", text)
        self.size = next((s for k, s in SIZES.items() if text.startswith(k + " ")), 0)
        self.repeated = " BCST " in text
        inside = re.search(r"\[(.*)\]", text)
        self.place = inside and re.findall(r"([+-]?)([^+-]+)", inside.group(1))
        self.text = text if not inside else None
        vector = re.fullmatch(r"([xyz])mm(\d+)", text)
        self.vector = int(vector.group(2)) if vector else None
        if vector:
            self.size = {"x": 128, "y": 256, "z": 512}[vector.group(1)]
        self.general = GENERAL.get(text)
        if self.general:
            self.size = self.general[1]
        number = re.fullmatch(r"-?0x[0-9a-f]+|\d+", text)
        self.number = int(text, 0) if number else None


class Processor:
    """One run of a program's function."""

    def __init__(self, program, step):
        self.program, self.step = program, step
        self.general = dict.fromkeys(NAMES, 0)
        self.general["rsp"] = STACK
        self.vectors = [[word(0)] * 8 for _ in range(32)]
        self.masks = {f"k{i}": [graph.FALSE] * 8 for i in range(8)}
        self.memory, self.flags = {}, None
        self.visited = set()

    def call(self, address, limit=10**6):
        """Run a function until it returns."""
        self.push(STOP)
        for _ in range(limit):
            if address == STOP:
                return
            self.visited.add(address)
            name, operands, after = self.program.instructions[address]
            jumped = self.step(self, name, operands, after)
            address = after if jumped is None else jumped
        raise NotImplementedError("a run that does not end")

    # --- where values are

    def push(self, number):
        self.general["rsp"] -= 8
        self.store(self.general["rsp"], 64, number)

    def pop(self):
        self.general["rsp"] += 8
        return self.load(self.general["rsp"] - 8, 64)

    def store(self, address, size, number):
        for near in range(address - 7, address + size // 8):
            held = self.memory.get(near)
            if held and near + held[0] // 8 > address:
                self.memory[near] = (held[0], graph.make("torn", near))
        self.memory[address] = size, self.plain(number)

    def load(self, address, size):
        for start in range(address, address - 8, -1):
            if start in self.memory and start + self.memory[start][0] // 8 > address:
                held, number = self.memory[start]
                if start == address and held == size:
                    return number
                if isinstance(number, int) and start + held // 8 >= address + size // 8:
                    return number >> 8 * (address - start) & (1 << size) - 1
                raise NotImplementedError("a part of a number in memory")
        return self.program.constant(address, size // 8)

    def plain(self, number):
        """Return constants as integers."""
        if isinstance(number, graph.Node) and graph.constant(number):
            return number.args[0]
        return number

    def address(self, operand, after):
        return self.concrete(self.sum_of(operand, after))

    def sum_of(self, operand, after):
        """Return the sum that a place in memory is written as."""
        total = 0
        for sign, part in operand.place:
            register, _, scale = part.partition("*")
            if register == "rip":
                number = after
            elif register in GENERAL:
                number, scale = self.general[register], int(scale or 1)
                if isinstance(number, graph.Node):
                    number = graph.left(number, scale.bit_length() - 1)
                else:
                    number *= scale
            else:
                number = 0 if ":" in part else int(part, 0)
            if isinstance(number, graph.Node) or isinstance(total, graph.Node):
                total = self.plain(graph.plus(as_node(total), as_node(number)))
            else:
                total += -number if sign == "-" else number
                total &= ALL
        return total

    def concrete(self, number):
        """Return an integer, by what the oracle knows if need be."""
        if isinstance(number, graph.Node):
            number = self.plain(cases.Oracle.current.under(number))
        if isinstance(number, graph.Node):
            raise NotImplementedError(f"an integer that depends on doubles: {number}")
        return number

    def get(self, operand, after, size=None):
        """Return a number: an integer, or a node."""
        if operand.general:
            name, bits = operand.general
            number = self.general[name]
            if bits == 64:
                return number
            if isinstance(number, int):
                return number & (1 << bits) - 1
            if number.kind == "part":
                return self.plain(number.args[1]) if number.args[2] == bits else number
            return number if small(number) else self.cut(number, bits)
        if operand.place:
            return self.load(self.address(operand, after), size or operand.size)
        if operand.number is None:
            raise NotImplementedError(operand.text)
        return operand.number

    def cut(self, number, bits):
        if bits == 32:
            return half(number, 0)
        raise NotImplementedError("a part of a number")

    def set(self, operand, after, number):
        number = self.plain(number)
        if operand.place:
            return self.store(self.address(operand, after), operand.size, number)
        name, bits = operand.general
        if isinstance(number, int):
            number &= (1 << bits) - 1
        if bits < 32:
            held = self.general[name]
            number = self.plain(below(held, as_node(number), bits))
        self.general[name] = number
        return None

    def lanes(self, operand, after, count):
        """Return lanes of 64 bits."""
        if operand.vector is not None:
            return self.vectors[operand.vector][:count]
        if operand.place:
            first = self.address(operand, after)
            step = 0 if operand.repeated else 8
            return [as_node(self.load(first + step * i, 64)) for i in range(count)]
        raise NotImplementedError(operand.text)

    def put(self, operand, after, lanes, legacy=False, masked=True):
        """Write lanes, those of the operand's mask."""
        if operand.mask and masked:
            mask = self.masks[operand.mask.group(1)]
            old = [word(0)] * 8
            if not operand.zero:
                old = self.lanes(operand, after, len(lanes))
            lanes = [graph.select(*one) for one in zip(mask, lanes, old, strict=False)]
        if operand.place:
            first = self.address(operand, after)
            for i, lane in enumerate(lanes):
                self.store(first + 8 * i, 64, lane)
            return
        rest = self.vectors[operand.vector][len(lanes) :] if legacy else [word(0)] * 8
        self.vectors[operand.vector] = [*lanes, *rest][:8]


def small(number):
    """Return whether a node is an integer of 0 and 1s."""
    if graph.constant(number):
        return number.args[0] < 128
    if number.kind == "select":
        return small(number.args[1]) and small(number.args[2])
    every = any if number.kind == "and" else all
    return number.kind in ("and", "or", "xor") and every(map(small, number.args))


def below(held, number, bits):
    """Return a register with new lowest bits, the others kept."""
    if isinstance(held, int):
        held = word(held)
    if graph.constant(held):
        held = word(held.args[0] & ALL << bits)
    if graph.constant(held, number):
        return word(held.args[0] | number.args[0])
    if (graph.constant(held) and held.args[0] == 0) or (small(held) and small(number)):
        return number
    return graph.make("part", held, number, bits)


def as_node(number):
    return number if isinstance(number, graph.Node) else word(number)
