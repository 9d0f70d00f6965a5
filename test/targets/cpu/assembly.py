"""The machine code of saved models: its innermost loops, as ``objdump``, which comes with compilers, shows them."""
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

LINE = re.compile(r"\s+([0-9a-f]+):\t(.*)")
JUMP = re.compile(r"j\w+\s+([0-9a-f]+)\b")
STACK_STORE = re.compile(r"vmov\w+\s+%[xyz]mm\d+,-?(0x[0-9a-f]+)?\(%r[sb]p\)")


def innermost_loops(model: Path) -> Iterator[list[str]]:
    """The instructions of each innermost loop: from the target of a jump back to the jump, with no other between them."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(model)], capture_output=True, text=True, check=True).stdout
    found = [LINE.match(line) for line in text.splitlines()]
    code = [(int(match[1], 16), match[2]) for match in found if match is not None]
    places = {address: number for number, (address, _) in enumerate(code)}
    for number, (_, instruction) in enumerate(code):
        jump = JUMP.match(instruction)
        start = None if jump is None else places.get(int(jump[1], 16))
        if start is not None and start < number:
            body = [text for _, text in code[start:number]]
            if not any(JUMP.match(text) for text in body):
                yield body


def stack_stores(model: Path, sums: range) -> list[int]:
    """For each innermost loop of so many fused multiply-adds: how many vectors it writes to the stack."""
    loops = [loop for loop in innermost_loops(model) if sum(text.startswith("vfmadd") for text in loop) in sums]
    return [sum(STACK_STORE.match(text) is not None for text in loop) for loop in loops]
