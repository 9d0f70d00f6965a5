"""Runs the transform scripts of many kernels in few runs of the interpreter.

``transform.apply_patterns`` builds its pattern sets anew for each op that it is applied to (0.3 ms with canonicalization), which is half
of the time of a small kernel's script. Scripts that apply the same pattern sets to their kernels in the same order are merged into one:
the steps between two pattern sets run kernel by kernel, a pattern set runs once on a module of these kernels.
"""
from collections.abc import Iterator, Sequence

from legato.core.mlir import func, ir
from legato.core.upstream import run_script, run_sequence, sequence

# Kernels in a run: the interpreter's checks of each consumed handle take time in proportion to the number of handles alive.
BATCH = 32
PATTERNS = "transform.apply_patterns"
ANY = "!transform.any_op"

Script = tuple[str, func.FuncOp]  # the body of a sequence on %root, and the kernel


def apply_scripts(scripts: Sequence[Script]) -> None:
    """Runs each script on its kernel, which may be replaced by a new op. PassFailed, with the line, where one fails."""
    parsed = {body: _parsed(body) for body in {body: None for body, _ in scripts}}
    applied = {body: _pattern_sets(script) if script else () for body, script in parsed.items()}
    groups: dict[tuple[str, ...], list[Script]] = {}
    for body, kernel in scripts:
        groups.setdefault(applied[body], []).append((body, kernel))
    for pattern_sets, members in groups.items():
        for start in range(0, len(members), BATCH):
            batch = members[start:start + BATCH]
            if len(batch) == 1 or not pattern_sets or not _apply_merged([(parsed[body], kernel) for body, kernel in batch]):
                for body, kernel in batch:
                    run_script(body, kernel.operation, f"the schedule of @{kernel.name.value}")


def _parsed(body: str) -> ir.Operation | None:
    """The transform module of a script; None for text that does not parse, which ``run_script`` reports."""
    try:
        return ir.Module.parse(sequence(body)).operation
    except ir.MLIRError:
        return None


def _sequence(script: ir.Operation) -> ir.Operation:
    return script.regions[0].blocks[0].operations[0].operation


def _block(script: ir.Operation) -> ir.Block:
    return _sequence(script).regions[0].blocks[0]


def _is_barrier(op: ir.Operation, root: ir.Value) -> bool:
    """Whether a step of a script applies patterns to the whole kernel."""
    return op.name == PATTERNS and op.operands[0] == root


def _pattern_sets(script: ir.Operation) -> tuple[str, ...]:
    """What a script applies to its whole kernel, in order."""
    block = _block(script)
    return tuple(str(op) for op in block.operations if _is_barrier(op.operation, block.arguments[0]))


def _segments(script: ir.Operation, root: ir.Value) -> Iterator[list[ir.Operation]]:
    """The steps of a script up to each pattern set on the whole kernel, with it; at the end, the steps after the last one."""
    segment: list[ir.Operation] = []
    for op in list(_block(script).operations)[:-1]:
        segment.append(op.operation)
        if _is_barrier(op.operation, root):
            yield segment
            segment = []
    yield segment


def _merged(scripts: Sequence[ir.Operation]) -> ir.Operation:
    """One script for a module of as many kernels, of scripts with the same pattern sets."""
    count = len(scripts)
    match = f'%kernels = transform.structured.match ops{{["func.func"]}} in %module : ({ANY}) -> {ANY}'
    split = f"%root:{count} = transform.split_handle %kernels : ({ANY}) -> ({', '.join([ANY] * count)})"
    merged = ir.Module.parse(sequence(f"{match}\n{split}", "%module")).operation
    block = _block(merged)
    module, (_, split_op, end) = block.arguments[0], [op.operation for op in block.operations]
    for script, handle in zip(scripts, split_op.results, strict=True):
        _block(script).arguments[0].replace_all_uses_with(handle)
    for segments in zip(*(list(_segments(s, h)) for s, h in zip(scripts, split_op.results)), strict=True):
        shared: ir.Operation | None = None
        for segment, handle in zip(segments, split_op.results):
            for op in segment:
                if not _is_barrier(op, handle):
                    op.move_before(end)
                elif shared is None:
                    shared = op
                else:
                    op.erase()
        if shared is not None:
            shared.operands[0] = module
            shared.move_before(end)
    return merged


def _apply_merged(scripts: Sequence[tuple[ir.Operation, func.FuncOp]]) -> bool:
    """Runs scripts with the same pattern sets together, on copies that then replace the kernels. False, without an effect, if one fails."""
    copies = ir.Module.create()
    with ir.InsertionPoint(copies.body):
        for _, kernel in scripts:
            kernel.operation.clone()
    merged = _merged([script.clone() for script, _ in scripts])
    try:
        run_sequence(merged, copies.operation)
    except (ir.MLIRError, ValueError):
        return False
    for (_, kernel), copy in zip(scripts, list(copies.body.operations), strict=True):
        copy.operation.move_before(kernel.operation)
        kernel.operation.erase()
    return True
