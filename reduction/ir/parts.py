"""Makes what ops hold smaller: attributes, regions, sizes, locations."""
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.reduction.ir.ops import cut_weights
from legato.reduction.ir.program import IrProgram, numbers_of, ops_of, printed
from legato.reduction.search import Search

KEPT = ("sym_name", "function_type", "operandSegmentSizes")
REGIONS = ("scf.if", "scf.for", "scf.execute_region")
SIZE = re.compile(r"(?<=[<x])\d+(?=x)")
NAMED_SHAPE = re.compile(r"tensor<((?:[?\d]+x)+)([^,<>]+), #relax\.dims<\[([^\]]*)\]>>")


def drop_locations(search: Search[IrProgram]) -> None:
    """Prints the program without locations."""
    if "loc(" in search.best.text:
        base = search.best
        search.accepts(IrProgram.of(base.module(), base.dialects, debug=False))


def drop_attributes(search: Search[IrProgram]) -> None:
    """Drops attributes of ops that they do not need."""
    base = search.best
    places = numbers_of(base, lambda op: [name for name in op.attributes if name not in KEPT])

    def build(kept: list[tuple[int, str]]) -> IrProgram | None:
        module, chosen = base.module(), set(kept)
        for n, op in enumerate(ops_of(module)):
            for name in [name for at, name in places if at == n and (at, name) not in chosen]:
                del op.attributes[name]
        # printers of dialects read properties that are not there any more; parsing sets the defaults
        generic = module.operation.get_asm(print_generic_op_form=True, assume_verified=True, enable_debug_info="loc(" in base.text)
        return _reparsed(base, generic)

    search.minimize(places, build)


def inline_regions(search: Search[IrProgram]) -> None:
    """Puts one branch of an scf.if, or one iteration of an scf.for, in its place."""
    while True:
        places = numbers_of(search.best, lambda op: range(len(op.regions)) if op.name in REGIONS else [])
        if search.first((True, _inlined(search.best, n, number)) for n, number in places) is None:
            return


def _inlined(base: IrProgram, place: int, number: int) -> IrProgram | None:
    module = base.module()
    op = ops_of(module)[place]
    if len(op.regions[number].blocks) != 1:
        return None
    block = op.regions[number].blocks[0]
    values = [op.operands[0], *list(op.operands)[3:]] if op.name == "scf.for" else []
    inside = [one.operation for one in block.operations]
    if len(values) != len(block.arguments) or len(inside[-1].operands) != len(op.results):
        return None
    with module.context, ir.Location.unknown():
        for old, new in zip(block.arguments, values):
            old.replace_all_uses_with(new)
        for one in inside[:-1]:
            one.move_before(op)
        for old, new in zip(op.results, list(inside[-1].operands)):
            old.replace_all_uses_with(new)
        op.erase()
    return printed(base, module)


def fix_symbols(search: Search[IrProgram]) -> None:
    """Gives each symbol of sizes a small value."""
    found = {word for match in NAMED_SHAPE.finditer(search.best.text) for word in re.findall(r"[A-Za-z_]\w*", match[3])}

    def variants(base: IrProgram, symbol: str) -> Iterable[IrProgram | None]:
        for size in (1, 2, 3):
            yield _reparsed(base, NAMED_SHAPE.sub(partial(_fixed, symbol=symbol, size=size), base.text))

    search.greedy(sorted(found), variants)


def _fixed(match: re.Match[str], symbol: str, size: int) -> str:
    entries = [_value(entry.strip(), symbol, size) for entry in match[3].split(",")]
    shape = "".join(f"{e}x" if e.isdigit() else d + "x" for e, d in zip(entries, match[1].split("x")))
    if all(entry.isdigit() for entry in entries):
        return f"tensor<{shape}{match[2]}>"
    return f"tensor<{shape}{match[2]}, #relax.dims<[{', '.join(entries)}]>>"


def _value(entry: str, symbol: str, size: int) -> str:
    """An entry of a shape, with a number for the symbol; sums and products of numbers are computed."""
    text = re.sub(rf"\b{re.escape(symbol)}\b", str(size), entry.strip('"'))
    if re.fullmatch(r"[\d\s*+-]+", text):
        total = 0
        for sign, term in re.findall(r"([+-]?)\s*([\d\s*]+)", text):
            product = 1
            for factor in term.split("*"):
                product *= int(factor)
            total += -product if sign == "-" else product
        return str(max(total, 0))
    return f'"{text}"' if entry.startswith('"') else text


def shrink_sizes(search: Search[IrProgram]) -> None:
    """Replaces each size of types by 1, 2, or half of it: in types alone, or wherever the number stands."""
    def variants(base: IrProgram, old: int) -> Iterable[IrProgram | None]:
        for new in dict.fromkeys((1, 2, 3, old // 4, old // 2, old - 1)):
            if 0 < new < old:
                yield _reparsed(base, re.sub(rf"(?<=[<x]){old}(?=x)", str(new), base.text))
                yield _reparsed(base, re.sub(rf"(?<![\w.%#@]){old}(?![\d.])|(?<=x){old}(?=x)", str(new), base.text))

    for _ in range(12):
        sizes = sorted({int(text) for text in SIZE.findall(search.best.text) if int(text) > 1}, reverse=True)
        if not search.greedy(sizes, variants):
            return


def _reparsed(base: IrProgram, text: str) -> IrProgram | None:
    """The program of a changed text, its weights cut to the shapes of their constants; None if it is invalid."""
    changed = IrProgram(text, base.weights, base.dialects)
    try:
        module = changed.module()
        module.weights = cut_weights(base.weights, module)
        return IrProgram.of(module, base.dialects, debug="loc(" in base.text)
    except (LegatoError, ir.MLIRError):
        return None
