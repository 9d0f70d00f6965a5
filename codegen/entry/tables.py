"""What the entry of one model has beside the code that all share: constant tables, and the call of main. Text in the LLVM dialect."""
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from legato.core.dtypes import as_dtype
from legato.core.mlir import ir
from legato.dialects.relax.dims import Size
from legato.dialects.relax.markers import LATE_SYMBOLS, PACKED_RESULTS, SYMBOL, WEIGHT
from legato.dialects.tir.markers import ARENA, FRAME, FUNCTIONS, HELD, LATE_ARENAS, OUT
from legato.passes.memory.signature import Axis, Boundary, Requirement, Value, linear_axis, packed_functions, requirements, value_of

SHARED = ("declarations", "instance", "call", "results", "arenas", "check", "messages", "describe")
EXPORTED = ("__tvm_ffi_create", "legato_metadata", "legato_weights_digest", "legato_artifacts_digest")


def entry_text(main: ir.OpView, boundary: Boundary, metadata: str) -> str:
    """The module of the entry, with declarations of ``@main`` (already in the LLVM dialect) and ``@main_sizes``."""
    packed, has_frame = packed_functions(main), HELD in main.attributes
    names = [*SHARED, *(["packed"] if packed or has_frame else []), *(["frame", "returned", "copies"] if has_frame else [])]
    shared = [(files(__package__) / f"{name}.mlir").read_text() for name in names]
    types = [a.type for a in main.body.blocks[0].arguments]
    texts = [_constant("legato_metadata", metadata, "external")]
    texts += [_digest_slot(what) for what, there in (("weights", boundary.weights), ("artifacts", packed)) if there]
    if has_frame:
        texts.append(_table("frame_counts", [(n,) for n in _frame_counts(main)], 1))
    return "\n".join([
        *shared, *texts, *_tables(main, boundary, packed, requirements(main)), _call_of_main(main, boundary),
        f"llvm.func @main({', '.join(map(str, types))}) -> i32",
        "llvm.func @main_sizes(!llvm.ptr, !llvm.ptr)",
    ])


def _digest_slot(what: str) -> str:
    """Saving a model writes the digest of a file that is saved beside it over the zeros."""
    return _constant(f"legato_{what}_digest", f"legato {what} digest: " + "0" * 32, "external")


def _frame_counts(main: ir.OpView) -> tuple[int, int]:
    """How many results of packed functions a call holds, and how many arenas it asks for late."""
    held, arenas = (main.attributes[name].value if name in main.attributes else 0 for name in (HELD, LATE_ARENAS))
    return held, arenas


def _tables(main: ir.OpView, boundary: Boundary, packed: Sequence[str], required: Sequence[Requirement]) -> list[str]:
    strings = _Strings()
    strings.add(f"main({', '.join(f'{v.name}: {v}' for v in boundary.inputs)})")
    late = [text.value for text in main.attributes[LATE_SYMBOLS]] if LATE_SYMBOLS in main.attributes else []
    symbols = [*boundary.symbols, *late]
    inputs, axes, outputs, sizes = [], [], [], 1   # the first size is the arena's

    def add_row(value: Value, expected: str, rules: Sequence[Axis]) -> None:
        texts = strings.add(value.name), strings.add(expected)
        inputs.append((*texts, dlpack_dtype(value.dtype), len(value.shape), len(axes), _width(value)))
        axes.extend((-1 if a.symbol is None else symbols.index(a.symbol), a.scale, a.offset) for a in rules)

    for value in boundary.inputs:
        add_row(value, str(value), boundary.axes(value))
    for name, type_, which in main.attributes[PACKED_RESULTS] if PACKED_RESULTS in main.attributes else ():
        value = value_of(name.value, type_.value)
        add_row(value, f"{value}{which.value}", result_axes(value.shape))
    for value in boundary.outputs:
        is_late = boundary.is_late(value.shape)
        outputs.append((dlpack_dtype(value.dtype), len(value.shape), -1 if is_late else sizes, _width(value)))
        sizes += 0 if is_late else len(value.shape)
    checks = []
    for one in required:
        is_early = one.known_by(boundary.symbols)
        checks.append((strings.add(one.text), sizes if is_early else -1, int(one.equal is not None)))
        sizes += len(one.sizes) if is_early else 0
    counts = (len(boundary.inputs), len(outputs), len(symbols), sizes, len(boundary.weights), len(packed), len(required))
    return [
        _table("counts", [(n,) for n in counts], 1), _table("inputs", inputs, 6), _table("axes", axes, 3), _table("outputs", outputs, 4),
        _table("symbols", [(strings.add(name),) for name in symbols], 1), _table("requirements", checks, 3),
        _table("packed", [(strings.add(name), len(name.encode())) for name in packed], 2), _constant("legato.strings", strings.text),
    ]


def result_axes(shape: Sequence[Size]) -> list[Axis]:
    """How the sizes of a packed function's result are checked: an expression that is no multiple of one symbol counts as a symbol."""
    rules = []
    for size in shape:
        linear = linear_axis(size)
        rules.append(Axis(str(size), 1, 0) if linear is None else linear)
    return rules


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
    lines = ["llvm.func internal @legato.main(%self: !llvm.ptr, %pointers: !llvm.ptr, %arena: !llvm.ptr, %symbols: !llvm.ptr, "
             "%blocks: !llvm.ptr) -> i32 {",
             "  %weights = llvm.getelementptr %self[0, 3] : (!llvm.ptr) -> !llvm.ptr, !state"]
    if HELD in main.attributes:
        held, arenas = _frame_counts(main)
        lines += [f"  %words = llvm.mlir.constant({3 + 2 * held + arenas} : i64) : i64",
                  "  %frame = llvm.alloca %words x !llvm.ptr : (i64) -> !llvm.ptr",
                  "  llvm.call @legato.open_frame(%frame, %words, %self, %blocks, %symbols) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, "
                  "!llvm.ptr) -> ()"]
    operands, inputs, weights, outputs = [], 0, 0, len(boundary.inputs)
    for number, attributes in enumerate(main.attributes["arg_attrs"]):
        marks = ir.DictAttr(attributes)
        if ARENA in marks:
            operands.append("%arena")
            continue
        if FRAME in marks:
            operands.append("%frame")
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
    lines.append(f"  %rc = llvm.call @main({', '.join(operands)}) : ({types}) -> i32")
    if HELD in main.attributes:
        lines.append("  llvm.call @legato.close_frame(%frame) : (!llvm.ptr) -> ()")
    return "\n".join([*lines, "  llvm.return %rc : i32", "}"])
