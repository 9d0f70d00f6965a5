"""The part of the entry that is generated for each model: tables, and the call of main. Text in the LLVM dialect."""
from collections.abc import Sequence

from legato.codegen.entry.cuda.tables import cuda_tables
from legato.codegen.entry.layouts import (
    AxisRow,
    Counts,
    Fault,
    Frame,
    FrameCounts,
    InputRow,
    Instance,
    OutputRow,
    Packed,
    Pool,
    RequirementRow,
    SymbolRow,
)
from legato.codegen.entry.metadata import target_of
from legato.codegen.entry.texts import Strings, table_text, zeros_text
from legato.codegen.native.body import constant_text
from legato.codegen.native.language import fields, size_of
from legato.core.cpu import REQUEST_TILES
from legato.core.dtypes import as_dtype, dlpack_dtype
from legato.core.mlir import ir
from legato.dialects.relax.dims import Size
from legato.dialects.relax.markers import LATE_SYMBOLS, PACKED_RESULTS, SYMBOL, WEIGHT
from legato.dialects.relax.requirements import requirements
from legato.dialects.tir.markers import ARENA, CHIP, FRAME, FUNCTIONS, HELD, LATE_ARENAS, OUT, RUN
from legato.passes.memory import signature
from legato.passes.memory.signature import Boundary, BoundaryValue, donors, linear_axis, packed_functions, value_of

MOST_SHOWN = 8      # inputs, in a message that lists them


def model_text(main: ir.OpView, boundary: Boundary, metadata: str, calls: str | None, threads: int,
               is_checked: bool = False, flushes: bool = False) -> str:
    """A module with the tables and ``@legato.main``, which calls ``@main`` (in the LLVM dialect already), and the declarations it
    needs. ``calls``: the description of the calls that ``@main_profiled`` records; None if there is no such function. ``threads``: of its
    parallel loops, 1 if it has none. ``is_checked``: whether kernels check their indices. ``flushes``: whether
    they take denormal numbers for zeros."""
    texts = [constant_text("legato_metadata", metadata, "external")]
    texts += [constant_text("legato_calls", calls, "external")] if calls is not None else []
    texts += [_digest_slot(what) for what, there in (("weights", boundary.weights), ("artifacts", packed_functions(main))) if there]
    if has_frame(main):
        texts.append(table_text(FrameCounts, "frame_counts", [_frame_counts(main)]))
    types = [str(a.type) for a in main.body.blocks[0].arguments]
    texts += [_request_of_tiles()] if "amx-tile" in target_of(main).get("features", "") else []
    texts += [zeros_text("pool", Pool)] if threads > 1 else []
    texts += [zeros_text("fault", Fault)] if is_checked else []
    declared = [f"llvm.func @main({', '.join(types)}) -> i32"]
    declared += [f"llvm.func @main_profiled({', '.join([*types, '!llvm.ptr'])}) -> i32"] if calls is not None else []
    texts += _tables(main, boundary, threads, is_checked, flushes)
    return "\n".join([*texts, _call_of_main(main, boundary, calls is not None), *declared])


def _request_of_tiles() -> str:
    """``@legato.request_tiles``: asks Linux for AMX's tile registers; 0 if the model may use them."""
    numbers = "".join(f"  %n{place} = llvm.mlir.constant({number} : i64) : i64\n" for place, number in enumerate(REQUEST_TILES))
    types = "(i64, !llvm.ptr, i64, i64, i64) -> i64"   # as the pool of threads calls it
    return (f"llvm.func @syscall(i64, !llvm.ptr, i64, i64, i64) -> i64\nllvm.func internal @legato.request_tiles() -> i64 {{\n{numbers}"
            "  %p = llvm.inttoptr %n1 : i64 to !llvm.ptr\n  %z = llvm.mlir.constant(0 : i64) : i64\n"
            f"  %done = llvm.call @syscall(%n0, %p, %n2, %z, %z) : {types}\n  llvm.return %done : i64\n}}")


def has_frame(main: ir.OpView) -> bool:
    """Whether a call has data-dependent sizes, and so a frame."""
    return HELD in main.attributes


def is_for_cuda(main: ir.OpView) -> bool:
    """Whether main launches kernels by the CUDA driver."""
    return CHIP in main.attributes


def _digest_slot(what: str) -> str:
    """A global with zeros, which saving a model replaces by the digest of a file saved beside it."""
    return constant_text(f"legato_{what}_digest", f"legato {what} digest: " + "0" * 32, "external")


def _frame_counts(main: ir.OpView) -> dict[str, int]:
    held, arenas = (main.attributes[name].value if name in main.attributes else 0 for name in (HELD, LATE_ARENAS))
    return {"held": held, "arenas": arenas}


def _tables(main: ir.OpView, boundary: Boundary, threads: int, is_checked: bool, flushes: bool) -> list[str]:
    strings = Strings()
    strings.add(_signature(boundary.inputs))
    late = [text.value for text in main.attributes[LATE_SYMBOLS]] if LATE_SYMBOLS in main.attributes else []
    symbols = [*boundary.symbols, *late]
    inputs, axes, outputs, sizes = [], [], [], 1   # the first size is the arena's

    def add_row(value: BoundaryValue, expected: str, rules: Sequence[signature.LinearAxis]) -> None:
        inputs.append({"name": strings.add(value.name), "expected": strings.add(expected), "dtype": dlpack_dtype(value.dtype),
                       "rank": len(value.shape), "first_axis": len(axes), "width": _width(value)})
        axes.extend({"symbol": -1 if a.symbol is None else symbols.index(a.symbol), "scale": a.scale, "offset": a.offset} for a in rules)

    for value in boundary.inputs:
        add_row(value, str(value), boundary.axes(value))
    for name, type_, which in main.attributes[PACKED_RESULTS] if PACKED_RESULTS in main.attributes else ():
        value = value_of(name.value, type_.value)
        add_row(value, f"{value}{which.value}", result_axes(value.shape))
    for value, donor in zip(boundary.outputs, donors(main, boundary)):
        is_late = boundary.is_late(value.shape)
        outputs.append({"dtype": dlpack_dtype(value.dtype), "rank": len(value.shape), "first_size": -1 if is_late else sizes,
                        "width": _width(value), "donor": donor})
        sizes += 0 if is_late else len(value.shape)
    required = []
    for one in requirements(main):
        is_early = one.known_by(boundary.symbols)
        required.append({"text": strings.add(one.text), "size": sizes if is_early else -1, "equal": int(one.equal is not None)})
        sizes += len(one.sizes) if is_early else 0
    packed = [{"name": strings.add(name), "length": len(name.encode())} for name in packed_functions(main)]
    counts = {"inputs": len(boundary.inputs), "outputs": len(outputs), "symbols": len(symbols), "sizes": sizes,
              "weights": len(boundary.weights), "packed": len(packed), "requirements": len(required), "threads": threads,
              "checked": int(is_checked), "flushes": int(flushes)}
    return [
        table_text(Counts, "counts", [counts]), table_text(InputRow, "inputs", inputs), table_text(AxisRow, "axes", axes),
        table_text(OutputRow, "outputs", outputs),
        table_text(SymbolRow, "symbols", [{"name": strings.add(name)} for name in symbols]),
        table_text(RequirementRow, "requirements", required),
        table_text(Packed, "packed", packed), *(cuda_tables(main, boundary, strings) if is_for_cuda(main) else []),
        constant_text("legato.strings", strings.text),
    ]


def _signature(inputs: Sequence[BoundaryValue]) -> str:
    """What a call with another number of arguments is told; of many inputs the first ones."""
    shown = [f"{value.name}: {value}" for value in inputs]
    more = [f"and {len(shown) - MOST_SHOWN} more"] if len(shown) > MOST_SHOWN + 1 else []
    return f"main({', '.join([*shown[:MOST_SHOWN], *more] if more else shown)})"


def result_axes(shape: Sequence[Size]) -> list[signature.LinearAxis]:
    """The checks of a packed function's result sizes: an expression that is not a multiple of one symbol counts as a symbol."""
    rules = []
    for size in shape:
        linear = linear_axis(size)
        rules.append(signature.LinearAxis(str(size), 1, 0) if linear is None else linear)
    return rules


def _width(value: BoundaryValue) -> int:
    return as_dtype(value.dtype).itemsize


def _call_of_main(main: ir.OpView, boundary: Boundary, is_profiled: bool) -> str:
    """``@legato.main``, as layouts.py declares it: loads each argument of main."""
    lines = ["llvm.func internal @legato.main(%instance: !llvm.ptr, %data: !llvm.ptr, %arena: !llvm.ptr, %symbols: !llvm.ptr, "
             "%results: !llvm.ptr) -> i32 {",
             f"  %handles = llvm.getelementptr %instance[{fields(Instance)['handles'].offset}] : (!llvm.ptr) -> !llvm.ptr, i8"]
    opening = "legato.cuda_open_frame" if is_for_cuda(main) else "legato.open_frame"
    if has_frame(main):
        counts = _frame_counts(main)
        words = size_of(Frame) // 8 + 2 * counts["held"] + counts["arenas"]
        lines += [f"  %words = llvm.mlir.constant({words} : i64) : i64",
                  "  %frame = llvm.alloca %words x i64 : (i64) -> !llvm.ptr",
                  f"  llvm.call @{opening}(%frame, %instance, %results, %symbols) : "
                  "(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()"]
    operands, inputs, weights, outputs = [], 0, 0, len(boundary.inputs)
    for number, attributes in enumerate(main.attributes["arg_attrs"]):
        marks = ir.DictAttr(attributes)
        if ARENA in marks or FRAME in marks:
            operands.append("%arena" if ARENA in marks else "%frame")
            continue
        at, type_ = f"%a{number}", "!llvm.ptr"
        if RUN in marks:    # what cuda/layouts.py has in the place of the results
            lines.append("  %run = llvm.ptrtoint %results : !llvm.ptr to i64")
            operands.append("%run")
            continue
        if FUNCTIONS in marks:
            lines.append(f"  {at} = llvm.getelementptr %handles[{len(boundary.weights)}] : (!llvm.ptr) -> !llvm.ptr, i64")
            operands.append(at)
            continue
        if SYMBOL in marks:
            place, type_ = f"%symbols[{boundary.symbols.index(marks[SYMBOL].value)}]", "i64"
        elif WEIGHT in marks:
            place, weights = f"%handles[{weights}]", weights + 1
        elif OUT in marks:
            place, outputs = f"%data[{outputs}]", outputs + 1
        else:
            place, inputs = f"%data[{inputs}]", inputs + 1
        lines += [f"  %p{number} = llvm.getelementptr {place} : (!llvm.ptr) -> !llvm.ptr, i64",
                  f"  {at} = llvm.load %p{number} : !llvm.ptr -> {type_}"]
        operands.append(at)
    types = [str(a.type) for a in main.body.blocks[0].arguments]
    lines += _either_main(operands, types, is_for_cuda(main)) if is_profiled else [_call("main", "code", operands, types)]
    declared = []
    if has_frame(main):
        declared = [f"llvm.func @{opening}(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)"]
    if has_frame(main) and not is_for_cuda(main):       # on a device the call owns what its frame has handed out
        lines.append("  llvm.call @legato.close_frame(%frame) : (!llvm.ptr) -> ()")
        declared.append("llvm.func @legato.close_frame(!llvm.ptr)")
    return "\n".join([*lines, "  llvm.return %code : i32", "}", *declared])


def _either_main(operands: Sequence[str], types: Sequence[str], on_device: bool) -> list[str]:
    """The call of ``@main_profiled`` where the instance has memory for events, else of ``@main``. ``on_device``: the call that is under way
    has that memory, and stands in its place."""
    return [
        f"  %place = llvm.getelementptr %instance[{fields(Instance)['events'].offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
        "  %events = llvm.load %place : !llvm.ptr -> !llvm.ptr",
        "  %null = llvm.mlir.zero : !llvm.ptr",
        '  %profiled = llvm.icmp "ne" %events, %null : !llvm.ptr',
        "  llvm.cond_br %profiled, ^recorded, ^plain",
        "^recorded:",
        _call("main_profiled", "recorded", [*operands, "%results" if on_device else "%events"], [*types, "!llvm.ptr"]),
        "  llvm.br ^end(%recorded : i32)",
        "^plain:",
        _call("main", "plain", operands, types),
        "  llvm.br ^end(%plain : i32)",
        "^end(%code: i32):",
    ]


def _call(function: str, result: str, operands: Sequence[str], types: Sequence[str]) -> str:
    return f"  %{result} = llvm.call @{function}({', '.join(operands)}) : ({', '.join(types)}) -> i32"
