"""relax-outline-external: moves functions marked for a backend into a nested module; the host calls declarations.

    func.func private @npu_conv_0(tensor<...>) -> tensor<...> attributes {relax.codegen = "npu"} { graph ops }

becomes ``module @npu attributes {relax.codegen = "npu"} { func.func @conv_0 ... }`` and a declaration in destination-passing style, marked
``relax.external = @npu::@conv_0``; each call of it passes a fresh ``tensor.empty`` for each output. A function whose results have sizes
that depend on data allocates them itself (``relax.returns``), where its backend can.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from legato.analysis.data_sizes import DataSizes, symbols_of_type
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find, text_of
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax.calls import call_dps, declare, fresh_name
from legato.dialects.relax.dims import UNKNOWN, Size, dims, given_symbols, symbol, symbols, tensor_type
from legato.dialects.relax.markers import COMPOSITE, EXTERNAL, RETURNS, VETO
from legato.passes.partition.groups import inline
from legato.passes.partition.marks import CODEGEN, backend_of_function, calls_of, check_marked, unique
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class OutlineExternal(ModulePass):
    """Moves the functions marked relax.codegen, and their callees, into a nested module per backend; the host calls declarations.

    A function with a veto (relax.veto) is inlined again. A public function is replaced by one that calls the declaration. A second run
    makes new modules.
    """

    name: ClassVar[str] = "relax-outline-external"
    rounding: ClassVar[Rounding] = EXACT
    sees_external: ClassVar[bool] = True
    backend: str = option("", "only functions of this backend (default: of all)")
    returns: bool = option(False, "functions of the backend may allocate results, whose sizes then may depend on data")

    def run(self, module: Module, context: PassContext) -> None:
        if self.backend:
            check_marked(self.backend, module, context)
        vetoed = [f for f in module.functions() if VETO in f.operation.attributes]
        merged = [f for f in vetoed if COMPOSITE not in f.operation.attributes]
        for functions in (merged, [f for f in vetoed if f not in merged]):    # composites after those that call them
            calls = calls_of(module) if functions else {}
            for function in functions:
                note_veto(function, context)
                put_back(function, calls.get(function.name.value, []))
        names = {op.operation.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.operation.attributes}
        by_backend: dict[str, list[func.FuncOp]] = {}
        for function in module.functions():
            backend = backend_of_function(function)
            if backend is not None and not function.is_external and (not self.backend or backend == self.backend):
                by_backend.setdefault(backend, []).append(function)
        copied: set[str] = set()
        for backend, functions in by_backend.items():
            calls = calls_of(module)
            for function in functions:
                if not (self.returns and is_public(function)):
                    check_sizes(function, calls.get(function.name.value, []))
            copied |= outline(module.module, backend, functions, calls, names)
        erase_uncalled(module, copied)


def note_veto(function: func.FuncOp, context: PassContext) -> None:
    """Tells the report that a match went back to the host, and why."""
    report = context.report.get("partition", [])
    for number, record in enumerate(report):
        if record.function == function.name.value:
            report[number] = replace(record, function=None, reason=f"vetoed: {text_of(function, VETO)}")


def put_back(function: func.FuncOp, calls: list[func.CallOp]) -> None:
    """Inlines a function where it is called, and erases it."""
    for call in calls:
        inline(call, function)
    function.operation.erase()


def check_sizes(function: func.FuncOp, calls: list[func.CallOp]) -> None:
    """PassFailed if a call of the function gives a size that nothing before it has: the caller allocates the results."""
    known = {name for type_ in function.type.inputs for name in symbols_of_type(type_)}
    named = {name for type_ in function.type.results for name in symbols_of_type(type_)} - known
    givers = [op for call in calls for name, op in (DataSizes(_enclosing(call)).given if named else {}).items() if name in named]
    if named and (is_public(function) or any(call.operation in givers for call in calls)):
        raise PassFailed(f"@{function.name.value} goes to the backend '{backend_of_function(function)}' and its results have the size "
                         f"{', '.join(sorted(named))}, which is known only after it has run: its caller allocates them before the call",
                         function)


def returned_types(function: func.FuncOp) -> list[ir.Type] | None:
    """The types of a function's results for a caller that does not allocate them, if a size of theirs depends on data; else None. A size
    that the caller could not compute from what it is given gets a name of its own."""
    given = {name for type_ in function.type.inputs for name in symbols_of_type(type_)}
    results = list(function.type.results)
    late = {name for type_ in results for name in symbols_of_type(type_)} - given
    if not late:
        return None
    taken = given | late
    found = []
    for number, type_ in enumerate(results):
        linear = {axis for _, axis, *_ in given_symbols(type_)}

        def known(axis: int, size: Size, linear: set[int] = linear, number: int = number) -> Size:
            is_known = axis in linear or (size is not UNKNOWN and not set(symbols(size)) & late)
            return size if is_known else symbol(fresh_name(f"size_{number}_{axis}", taken))

        found.append(tensor_type([known(axis, size) for axis, size in enumerate(dims(type_))], type_.element_type))
    return found


def is_public(function: func.FuncOp) -> bool:
    """Whether other modules see the function: that is the default."""
    return text_of(function, "sym_visibility") in (None, "public")


def outline(module: ir.Module, backend: str, functions: list[func.FuncOp], calls: dict[str, list[func.CallOp]],
            names: set[str]) -> set[str]:
    """Moves ``functions`` into a new module of the backend. ``names``: the host's symbols, to which new ones are added. Returns the names
    of the functions that were copied there."""
    home = unique(backend, names)
    with ir.InsertionPoint(module.body), functions[0].location:
        nested = ir.Operation.create("builtin.module", regions=1)
        nested.regions[0].blocks.append()
    nested.attributes["sym_name"] = ir.StringAttr.get(home)
    nested.attributes[CODEGEN] = ir.StringAttr.get(backend)
    inside: set[str] = set()
    for function in functions:
        _move(module, nested, function, home, calls.get(function.name.value, []), inside)
    return copy_callees(module, nested)


def _move(module: ir.Module, nested: ir.Operation, function: func.FuncOp, home: str, calls: list[func.CallOp], inside: set[str]) -> None:
    given = function.name.value
    name = unique(given.removeprefix(f"{ir.StringAttr(nested.attributes[CODEGEN]).value}_"), inside)
    attributes = function.operation.attributes
    stays = is_public(function)
    with ir.InsertionPoint(function), function.location:
        reference = ir.Attribute.parse(f"@{home}::@{name}")
        returned = returned_types(function) if stays else None
        if returned is None:
            declaration = declare(given, list(function.type.inputs), list(function.type.results), EXTERNAL, reference)
        else:
            declaration = func.FuncOp(given, ir.FunctionType.get(list(function.type.inputs), returned), visibility="private")
            declaration.attributes[EXTERNAL], declaration.attributes[RETURNS] = reference, ir.UnitAttr.get()
        if stays:
            declaration.attributes["sym_name"] = ir.StringAttr.get(f"{home}_{given}")
            _forward(function, declaration)
    for mark in (CODEGEN, "sym_visibility"):
        if mark in attributes:
            del attributes[mark]
    function.operation.detach_from_parent()
    attributes["sym_name"] = ir.StringAttr.get(name)
    nested.regions[0].blocks[0].append(function)
    if not stays:
        for call in calls:
            with ir.InsertionPoint(call), call.location:
                results = call_dps(declaration, list(call.operation.operands), _enclosing(call))
            for old, new in zip(call.operation.results, results):
                old.replace_all_uses_with(new)
            call.operation.erase()


def _forward(function: func.FuncOp, declaration: func.FuncOp) -> None:
    """Replaces a public function by one of the same name and type that calls the declaration. Of results that this allocates, the type is
    that of the declaration."""
    allocates = RETURNS in declaration.attributes
    stays = func.FuncOp(function.name.value, declaration.type if allocates else function.type)
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            stays.attributes[name] = function.attributes[name]
    with ir.InsertionPoint(stays.add_entry_block()):
        given = list(stays.arguments)
        func.ReturnOp(list(func.CallOp(declaration, given).results) if allocates else call_dps(declaration, given, stays))


def _enclosing(op: func.CallOp) -> func.FuncOp:
    parent = op.operation.parent
    while parent.name != "func.func":
        parent = parent.parent
    return parent.opview


def copy_callees(module: ir.Module, nested: ir.Operation) -> set[str]:
    """Adds copies of the callees of a nested module's functions to it, since others may call them. Returns their names."""
    block = nested.regions[0].blocks[0]
    there = {op.operation.attributes["sym_name"].value for op in block.operations}
    before = set(there)
    outside = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    queue = list(block.operations)
    while queue:
        for name in _callees(queue.pop()):
            if name in there:
                continue
            if name not in outside:
                home = ir.StringAttr(nested.attributes["sym_name"]).value
                raise PassFailed(f"@{name} is called in what goes into the external module @{home}, but is not there", nested)
            copied = outside[name].operation.clone(ip=False).opview
            if not tir.is_prim_func(copied):
                copied.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
            block.append(copied)
            there.add(name)
            queue.append(copied)
    return there - before


def erase_uncalled(module: Module, names: set[str]) -> None:
    """Erases those of the host's functions of these names that nothing calls any more: composites, and helpers. Kernels and public
    functions stay."""
    while names:
        called = calls_of(module)
        left = [f for f in module.functions() if f.name.value in names - called.keys() and not is_public(f) and not tir.is_prim_func(f)]
        if not left:
            return
        for function in left:
            function.operation.erase()


def _callees(function: ir.OpView) -> list[str]:
    return [call.attributes["callee"].value for call in find(function.operation, "func.call")]
