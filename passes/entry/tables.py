"""What the entry of one model has beside the code that all share: constant tables, and the call of main. Text in the LLVM dialect."""
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from ...dialects.dtypes import as_dtype
from ...mlir import ir
from ..boundary import ARENA, FUNCTIONS, OUT, SYMBOL, WEIGHT, Boundary, Requirement, Value, packed_functions, requirements

SHARED = ("declarations", "instance", "call", "results", "arenas", "check", "messages", "describe")
EXPORTED = ("__tvm_ffi_create", "legato_metadata", "legato_weights_digest")
DIGEST_SLOT = "legato weights digest: " + "0" * 32   # saving a model writes the digest of its weights over the zeros


def entry_text(main: ir.OpView, boundary: Boundary, metadata: str) -> str:
    """The module of the entry, with declarations of ``@main`` (already in the LLVM dialect) and ``@main_sizes``."""
    packed = packed_functions(main)
    shared = [(files(__package__) / f"{name}.mlir").read_text() for name in (*SHARED, *(["packed"] if packed else []))]
    types = [a.type for a in main.body.blocks[0].arguments]
    texts = [_constant("legato_metadata", metadata, "external")]
    if boundary.weights:
        texts.append(_constant("legato_weights_digest", DIGEST_SLOT, "external"))
    return "\n".join([
        *shared, *texts, *_tables(boundary, packed, requirements(main)), _call_of_main(main, boundary),
        f"llvm.func @main({', '.join(map(str, types))}) -> i32",
        "llvm.func @main_sizes(!llvm.ptr, !llvm.ptr)",
    ])


def _tables(boundary: Boundary, packed: Sequence[str], required: Sequence[Requirement]) -> list[str]:
    strings = _Strings()
    strings.add(f"main({', '.join(f'{v.name}: {v}' for v in boundary.inputs)})")
    inputs, axes, outputs, sizes = [], [], [], 1   # the first size is the arena's
    for value in boundary.inputs:
        texts = strings.add(value.name), strings.add(str(value))
        inputs.append((*texts, dlpack_dtype(value.dtype), len(value.shape), len(axes), _width(value)))
        for axis in boundary.axes(value):
            axes.append((-1 if axis.symbol is None else boundary.symbols.index(axis.symbol), axis.scale, axis.offset))
    for value in boundary.outputs:
        outputs.append((dlpack_dtype(value.dtype), len(value.shape), sizes, _width(value)))
        sizes += len(value.shape)
    counts = (len(inputs), len(outputs), len(boundary.symbols), sizes + len(required), len(boundary.weights), len(packed), len(required))
    return [
        _table("counts", [(n,) for n in counts], 1), _table("inputs", inputs, 6), _table("axes", axes, 3), _table("outputs", outputs, 4),
        _table("symbols", [(strings.add(name),) for name in boundary.symbols], 1),
        _table("requirements", [(strings.add(one.text),) for one in required], 1),
        _table("packed", [(strings.add(name), len(name.encode())) for name in packed], 2), _constant("legato.strings", strings.text),
    ]


class _Strings:
    """Texts one behind the other, each with a zero at its end."""

    def __init__(self) -> None:
        self.text = ""
        self._bytes = 0

    def add(self, text: str) -> int:
        """The offset in bytes at which the text stands."""
        at = self._bytes
        self.text += text + "\0"
        self._bytes += len(text.encode()) + 1
        return at


def dlpack_dtype(dtype: str) -> int:
    """A DLDataType as the integer that its four bytes are: code, bits, lanes."""
    if dtype == "bfloat16":
        code = 4
    else:
        code = {"i": 0, "u": 1, "f": 2, "b": 6}[np.dtype(dtype).kind]
    return code | as_dtype(dtype).itemsize * 8 << 8 | 1 << 16


def _width(value: Value) -> int:
    return as_dtype(value.dtype).itemsize


def _table(name: str, rows: Sequence[tuple[int, ...]], width: int) -> str:
    rows = rows or [(0,) * width]   # there are no empty constants; nobody reads this one
    return (f"llvm.mlir.global internal constant @legato.{name}(dense<{[list(r) for r in rows]}> : tensor<{len(rows)}x{width}xi64>) : "
            f"!llvm.array<{len(rows)} x array<{width} x i64>>")


def _constant(name: str, text: str, linkage: str = "internal") -> str:
    """A global of the text and a zero."""
    escaped = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in text.encode() + b"\0")
    return f'llvm.mlir.global {linkage} constant @{name}("{escaped}")'


def _call_of_main(main: ir.OpView, boundary: Boundary) -> str:
    """``@legato.main``: finds each argument of main in the table where it lies."""
    lines = ["llvm.func internal @legato.main(%weights: !llvm.ptr, %pointers: !llvm.ptr, %arena: !llvm.ptr, %symbols: !llvm.ptr) -> i32 {"]
    operands, inputs, weights, outputs = [], 0, 0, len(boundary.inputs)
    for number, attributes in enumerate(main.attributes["arg_attrs"]):
        marks = ir.DictAttr(attributes)
        if ARENA in marks:
            operands.append("%arena")
            continue
        if FUNCTIONS in marks:
            lines.append(f"  %a{number} = llvm.getelementptr %weights[{len(boundary.weights)}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr")
            operands.append(f"%a{number}")
            continue
        if SYMBOL in marks:
            table, at, type_ = "symbols", boundary.symbols.index(marks[SYMBOL].value), "i64"
        elif WEIGHT in marks:
            table, at, type_, weights = "weights", weights, "!llvm.ptr", weights + 1
        elif OUT in marks:
            table, at, type_, outputs = "pointers", outputs, "!llvm.ptr", outputs + 1
        else:
            table, at, type_, inputs = "pointers", inputs, "!llvm.ptr", inputs + 1
        lines.append(f"  %p{number} = llvm.getelementptr %{table}[{at}] : (!llvm.ptr) -> !llvm.ptr, {type_}")
        lines.append(f"  %a{number} = llvm.load %p{number} : !llvm.ptr -> {type_}")
        operands.append(f"%a{number}")
    types = ", ".join(str(a.type) for a in main.body.blocks[0].arguments)
    return "\n".join([*lines, f"  %rc = llvm.call @main({', '.join(operands)}) : ({types}) -> i32", "  llvm.return %rc : i32", "}"])
