"""Machine code as a list of instructions, by the disassembler objdump."""

import re
import struct
import subprocess
import tempfile
from pathlib import Path

from bench.proof.processor import ARITHMETIC, FUSED, Operand

LINE = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
# Stands for the function of the C library that code without the instruction calls.
FMA = ".globl fma\nfma: ret\n"


def output(*command, **options):
    """Return what a program writes."""
    done = subprocess.run(command, capture_output=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()[-2000:]}")
    return done.stdout.decode()


class Program:
    """Linked machine code: instructions by address, functions by name, constants."""

    def __init__(self, content):
        with tempfile.TemporaryDirectory() as folder:
            self._read(Path(folder), content)
        self.fma = self.functions.get("fma")

    def _read(self, folder, content):
        code, fma, linked = (folder / name for name in ("code.o", "fma.o", "linked"))
        code.write_bytes(content)
        output("as", "-o", str(fma), "-", input=FMA.encode())
        options = ("-e", "fma", "-o", str(linked))
        output("ld", *options, str(code), str(fma))
        self.image = linked.read_bytes()
        self.segments = list(segments(self.image))
        text = output("objdump", "-d", "-M", "intel", "--no-show-raw-insn", linked)
        self.instructions = dict(instructions(text))
        self.arithmetic = [
            address
            for address, (name, _, _) in self.instructions.items()
            if ARITHMETIC.fullmatch(name) or FUSED.fullmatch(name)
        ]
        table = output("nm", str(linked))
        self.functions = {
            name: int(place, 16)
            for place, kind, name in map(str.split, table.splitlines())
        }

    def constant(self, address, count):
        """Return an integer of the code's own memory."""
        for start, offset, size in self.segments:
            if start <= address and address + count <= start + size:
                first = offset + address - start
                return int.from_bytes(self.image[first : first + count], "little")
        raise NotImplementedError(f"memory at {address:#x} that was not written")


def segments(image):
    """Yield (address, place in the file, size) of what is loaded."""
    first, size, count = (
        *struct.unpack_from("<Q", image, 32),
        *struct.unpack_from("<HH", image, 54),
    )
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", image, first + i * size
        )
        if kind == 1:
            yield address, offset, length


def instructions(text):
    """Yield (address, (name, operands, next address)) of a disassembly."""
    found = [LINE.match(line) for line in text.splitlines()]
    found = [(int(one.group(1), 16), one.group(2)) for one in found if one]
    after = [address for address, _ in found[1:]] + [None]
    for (address, line), end in zip(found, after, strict=True):
        name, _, rest = line.partition("#")[0].partition("<")[0].strip().partition(" ")
        while name in ("bnd", "notrack", "data16", "cs", "rep", "repz"):
            name, _, rest = rest.strip().partition(" ")
        parts = [part for part in rest.strip().split(",") if part]
        if name in ("nop", ""):
            name, parts = "nop", []
        if name == "call" or name.startswith("j"):
            parts = [re.sub(r"^([0-9a-f]+)$", r"0x\1", part) for part in parts]
        yield address, (name, [Operand(part) for part in parts], end)
