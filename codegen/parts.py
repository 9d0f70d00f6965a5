"""A model's module in parts that LLVM compiles side by side: groups of kernels, the tables that they share with the rest, and the rest.
A large @main_profiled, which only ``legato.profile`` runs, is a part that nothing needs at once.

Kernels that call one another, as a kernel and the body of its parallel loop do, stay together. What a model is cut into does not depend on
the machine that compiles it.
"""
from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from legato.codegen.entry.layouts import OF_MODEL
from legato.codegen.entry.library import HIDDEN
from legato.codegen.entry.links import MODEL, is_defined, list_text, needs_wrapper
from legato.core.ir_helpers import count, find, kinds
from legato.core.mlir import ir, llvm
from legato.dialects.tir.markers import MAIN_PROFILED, PRIM_FUNC

PART = 3000      # ops: LLVM takes some 0.2 s for them, a part of its own 0.01
INTERNAL = "#llvm.linkage<internal>"
MOST = 16        # parts
PREFIX = "legato.kernel."     # of the symbols of kernels outside their part; a kernel may have the name of a function of C
PROFILED_SLOT = PREFIX + "profiled_slot"     # of the variable with the address of @main_profiled
REFERENCES = {"llvm.call": "callee", "llvm.invoke": "callee", "llvm.mlir.addressof": "global_name"}


@dataclass
class Division:
    """Modules in the LLVM dialect. ``main``: what is not in the others; ``kernels``: as MLIR's bytecode, each with the symbols that main
    calls, made one by one as they are asked for; ``tables``: what both name of the model's list, None without such; ``profiled``:
    @main_profiled as bytecode with its symbol, if it is a part, which main calls by the address in ``PROFILED_SLOT``."""

    main: ir.Module
    kernels: Iterable[tuple[bytes, list[str]]] = ()
    profiled: tuple[bytes, list[str]] | None = None
    tables: ir.Module | None = None
    table_symbols: list[str] = field(default_factory=list)


def divided(module: ir.Module) -> Division:
    """The parts of a module with an entry, which is not changed, also later; one that is small is its own main."""
    symbols = _Symbols(module)
    groups = _groups(symbols)
    if not groups:
        return Division(module)
    with module.context, ir.Location.unknown():
        moved = {name for group in groups for name in group}
        called = sorted(moved & {used for name in symbols.ops.keys() - moved for used in symbols.uses(name)})
        outer = {name: PREFIX + name for name in called}
        later = [MAIN_PROFILED] if symbols.is_later(MAIN_PROFILED, moved) else []
        blocks = {name for root in later for name in symbols.blocks_of(root)}
        outer |= {name: PREFIX + name for name in later}
        tables = symbols.tables() if any(MODEL in symbols.needs(group, outer) for group in [*groups, later]) else []
        main = symbols.module_of(symbols.ops.keys() - moved - {*later, *blocks}, outer, external=tables)
        shared = symbols.module_of(tables, {}, exported=tables) if tables else None
        profiled = _part(module, symbols, later, outer, tables, _slot_text(outer[MAIN_PROFILED])) if later else None
        for name in later:
            _call_by_slot(main, outer[name])
    return Division(main, (_part(module, symbols, group, outer, tables) for group in groups), profiled, shared, tables)


def _call_by_slot(main: ir.Module, symbol: str) -> None:
    """Makes main read the address of a function that it calls from ``PROFILED_SLOT``."""
    pointer = ir.Type.parse("!llvm.ptr")
    for call in find(main, "llvm.call"):
        if "callee" not in call.attributes or call.attributes["callee"].value != symbol:
            continue
        kept = {name: call.attributes[name] for name in call.attributes if name != "callee"}
        kept["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(call.operands) + 1, 0])
        with ir.InsertionPoint(call):
            named = {"global_name": ir.FlatSymbolRefAttr.get(PROFILED_SLOT)}
            slot = ir.Operation.create("llvm.mlir.addressof", [pointer], attributes=named).result
            function = llvm.LoadOp(pointer, slot).result
            new = ir.Operation.create("llvm.call", [result.type for result in call.results], [function, *call.operands], kept)
        for old, result in zip(call.results, new.results):
            old.replace_all_uses_with(result)
        call.erase()
    for op in list(main.body.operations):
        if op.attributes["sym_name"].value == symbol:
            op.operation.erase()
    _append(main, f"llvm.mlir.global external @{PROFILED_SLOT}() : !llvm.ptr")


def _slot_text(symbol: str) -> str:
    """``PROFILED_SLOT`` of a saved model."""
    return (f"llvm.mlir.global external hidden constant @{PROFILED_SLOT}() : !llvm.ptr {{\n"
            f"  %0 = llvm.mlir.addressof @{symbol} : !llvm.ptr\n  llvm.return %0 : !llvm.ptr\n}}\nllvm.func @{symbol}()")


def bytecode(module: ir.Module) -> bytes:
    """A module as MLIR's bytecode."""
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    return data.getvalue()


def _part(module: ir.Module, symbols: _Symbols, group: list[str], outer: dict[str, str], tables: list[str],
          text: str = "") -> tuple[bytes, list[str]]:
    """A group of kernels as bytecode, with the ops of a text, and their symbols of ``outer``."""
    with module.context, ir.Location.unknown():
        needed = symbols.needs(group, outer)
        part = symbols.module_of([*group, *sorted(needed - {MODEL})], outer, exported=[name for name in group if name in outer])
        if MODEL in needed:
            _append(part, list_text(tables))
        _append(part, text)
        data = bytecode(part)
    return data, [outer[name] for name in group if name in outer]


def _groups(symbols: _Symbols) -> list[list[str]]:
    """The kernels that can leave the module, in groups of about as many ops; none where that is not worth it."""
    movable = [name for name in symbols.ops if symbols.is_movable(name)]
    home = {name: name for name in movable}

    def root(name: str) -> str:
        while home[name] != name:
            name = home[name]
        return name

    for name in movable:
        for used in symbols.uses(name):
            if used in home:
                home[root(used)] = root(name)
    together: dict[str, list[str]] = {}
    for name in movable:
        together.setdefault(root(name), []).append(name)
    sizes = {name: sum(symbols.sizes[one] for one in names) for name, names in together.items()}
    total = sum(sizes.values())
    if symbols.is_later(MAIN_PROFILED, movable) and sizes:
        total = max(total, PART // 2)
    elif total < PART // 2 or len(sizes) < 2:
        return []
    count = min(MOST, max(2, total // PART))
    count += count % 2      # nearly all machines have an even number of processors
    groups: list[list[str]] = [[] for _ in range(count)]
    totals = [0] * count
    for name in sorted(together, key=lambda name: -sizes[name]):
        place = totals.index(min(totals))
        groups[place] += together[name]
        totals[place] += sizes[name]
    return [group for group in groups if group]


class _Symbols:
    """The functions and globals of a module by symbol. ``sizes``: in ops."""

    def __init__(self, module: ir.Module):
        self.ops = {op.attributes["sym_name"].value: op.operation for op in module.body.operations if "sym_name" in op.attributes}
        self.sizes: dict[str, int] = {}
        self._uses: dict[str, set[str]] = {}
        self._foreign: set[str] = set()    # whose bodies have more than the LLVM dialect, which may name symbols elsewhere
        for name, op in self.ops.items():
            self._read(name, op)

    def _read(self, name: str, op: ir.Operation) -> None:
        names = [(inner, REFERENCES[inner.name]) for inner in find(op, *REFERENCES)]
        self.sizes[name] = count(op)
        self._uses[name] = {inner.attributes[reference].value for inner, reference in names if reference in inner.attributes}
        if not all(inner.name.startswith("llvm.") for inner in kinds(op)):
            self._foreign.add(name)

    def uses(self, name: str) -> set[str]:
        """The symbols that a function or global names."""
        return self._uses[name]

    def is_movable(self, name: str) -> bool:
        """Whether a function is a kernel that can be compiled away from the entry."""
        op = self.ops[name]
        return (op.name == "llvm.func" and PRIM_FUNC in op.attributes and is_defined(op) and name not in self._foreign
                and all(self._is_free(used) for used in self.uses(name)))

    def _is_free(self, name: str) -> bool:
        """Whether what a kernel uses can be in the kernel's part, or in several."""
        op = self.ops.get(name)
        if op is None:
            return False
        if not is_defined(op) or needs_wrapper(name) is not None:
            return True
        if op.name == "llvm.func":
            return PRIM_FUNC in op.attributes and name not in self._foreign
        return "constant" in op.attributes and not self.uses(name)

    def is_later(self, name: str, moved: Collection[str]) -> bool:
        """Whether there is a function of this name, which need not be compiled at once, and is so large that it is worth that."""
        op = self.ops.get(name)
        return (op is not None and is_defined(op) and name not in self._foreign
                and sum(self.sizes[one] for one in [name, *self.blocks_of(name)]) >= PART // 2
                and all(used in moved or self._is_copyable(used) for used in self.uses(name)))

    def blocks_of(self, name: str) -> list[str]:
        """The functions that tir-split-blocks has made of blocks of a function: internal ones, which nothing else uses."""
        own = [used for used in self.uses(name) if self._is_internal(used) and PRIM_FUNC not in self.ops[used].attributes]
        return [used for used in own if not any(used in uses for other, uses in self._uses.items() if other != name)]

    def _is_copyable(self, name: str) -> bool:
        """Whether several modules may have a function or global: it is free, or a function that uses only what is."""
        return self._is_free(name) or (self._is_internal(name) and name not in self._foreign
                                       and all(map(self._is_copyable, self.uses(name) - {name})))

    def _is_internal(self, name: str) -> bool:
        """Whether a name is that of an internal function."""
        op = self.ops.get(name)
        return op is not None and op.name == "llvm.func" and is_defined(op) and str(op.attributes["linkage"]) == INTERNAL

    def needs(self, group: Collection[str], elsewhere: Collection[str]) -> set[str]:
        """What functions use that is not ``elsewhere``, and what that uses, without the functions: the model's list is itself only."""
        found: set[str] = set()
        pending = [used for name in group for used in self.uses(name) - set(group)]
        while pending:
            name = pending.pop()
            if name not in found and name not in elsewhere:
                found.add(name)
                pending += [] if name == MODEL else self.uses(name)
        return found

    def tables(self) -> list[str]:
        """The tables and variables of the model's list."""
        return [name for name in OF_MODEL.places if name in self.ops and self.ops[name].name == "llvm.mlir.global"]

    def module_of(self, names: Iterable[str], outer: dict[str, str], exported: Iterable[str] = (),
                  external: Iterable[str] = ()) -> ir.Module:
        """A module with copies of what has these names, and declarations of the kernels that it calls elsewhere, in their order here.
        ``outer``: the symbols of kernels that other modules call; ``exported``: what others use; ``external``: what is elsewhere."""
        made, wanted, shown, elsewhere = ir.Module.create(), set(names), set(exported), set(external)
        named = {used for name in wanted for used in self.uses(name)}
        with ir.InsertionPoint(made.body):
            for name, op in self.ops.items():
                if name in elsewhere or (name in named and name not in wanted and name in outer):
                    _declare(op, outer.get(name, name))
                elif name in wanted:
                    copy = op.clone()
                    if name in shown:
                        copy.attributes["sym_name"] = ir.StringAttr.get(outer.get(name, name))
                        copy.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
                        copy.attributes["visibility_"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), HIDDEN)
                    if not self.uses(name).isdisjoint(outer):
                        _rename(copy, outer)
        return made


def _rename(op: ir.Operation, outer: dict[str, str]) -> None:
    """Names kernels as other modules do."""
    for inner in find(op, *REFERENCES):
        attribute = REFERENCES[inner.name]
        if attribute in inner.attributes and (name := inner.attributes[attribute].value) in outer:
            inner.attributes[attribute] = ir.FlatSymbolRefAttr.get(outer[name])


def _declare(op: ir.Operation, symbol: str) -> None:
    """A declaration, at the insertion point, of a function or global."""
    is_function = op.name == "llvm.func"
    kept = ("function_type", "CConv") if is_function else ("global_type", "constant", "addr_space", "alignment")
    attributes = {name: op.attributes[name] for name in kept if name in op.attributes}
    ir.Operation.create(op.name, attributes={
        **attributes, "sym_name": ir.StringAttr.get(symbol), "linkage": ir.Attribute.parse("#llvm.linkage<external>")}, regions=1)


def _append(module: ir.Module, text: str) -> None:
    """Appends the ops of a text whose symbols the module does not have."""
    there = {op.attributes["sym_name"].value for op in module.body.operations}
    for op in ir.Module.parse(text).body.operations:
        if op.attributes["sym_name"].value not in there:
            op.operation.clone(ir.InsertionPoint(module.body))
