"""The module that scripts are parsed into: kernels once each, graphs, and the calls between them."""

from collections.abc import Mapping
from typing import Any

from legato.core.mlir import builtin, func, ir
from legato.dialects import Module, tir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import NAME
from legato.dialects.tir.markers import NAMES, SIGNATURE
from legato.frontends.script.language.functions import Function, PrimFunc, RelaxFunc
from legato.frontends.script.language.source import Problem

C_FUNCTIONS = frozenset("exp exp2 log log2 log10 log1p expm1 sqrt sin cos tan asin acos atan sinh cosh tanh erf floor ceil round trunc pow "
                        "fabs fmod fma abs malloc free memcpy memset".split())


class Program:
    """One module in the making. ``members``: the functions of the class that it is written as, by name; ``module``: one to add to."""

    def __init__(self, context: ir.Context, class_name: str = "", members: Mapping[str, Any] | None = None, module: Module | None = None):
        self.context, self.class_name = context, class_name
        self.members = {name: m for name, m in (members or {}).items() if isinstance(m, Function)}
        with context, ir.Location.unknown():
            self.module = module or Module(ir.Module.create())
            self.symbols = ir.SymbolTable(self.module.operation)
            self.scratch = ir.Module.create()
        self.kernels: dict[Any, func.FuncOp] = {}
        self.declared: dict[PrimFunc, func.FuncOp] = {}

    def signature(self, function: PrimFunc) -> func.FuncOp:
        """A kernel as it is written, outside of the module: for what its types and names say."""
        if function not in self.declared:
            with self.context, ir.Location.unknown():
                self.declared[function] = function.parse(self.scratch)
        return self.declared[function]

    def kernel(self, function: PrimFunc, sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """The prim_func of a kernel in the module, for sizes that are known where it is called. It is parsed at first use."""
        key = function, tuple(sorted((sizes or {}).items()))
        if key not in self.kernels:
            with self.context, ir.Location.unknown():
                # a bare @exp would be taken for the C library's
                name = f"kernel_{function.__name__}" if function.__name__ in ("main", *C_FUNCTIONS) else function.__name__
                self.kernels[key] = function.parse(self.module.module, name, self.symbols, sizes)
        return self.kernels[key]

    def has(self, function: PrimFunc) -> bool:
        """Whether the module has the kernel, for some sizes."""
        return any(f is function for f, _ in self.kernels)

    def graph(self, function: RelaxFunc, name: str) -> None:
        """Parses a graph into the module, as the function ``name``. The one graph of a program is its ``main``."""
        from legato.frontends.script.graph.parse import parse_graph

        with self.context, ir.Location.unknown():
            parse_graph(self, function, name)

    def member(self, base: str, name: str, known: Mapping[str, Any]) -> Function | None:
        """The function that ``cls.name`` is."""
        if name in self.members and (base in ("cls", self.class_name) or base not in known):
            return self.members[name]
        return None

    def wrap(self, kernel: func.FuncOp) -> func.FuncOp:
        """A graph ``main`` that calls the kernel: what makes one kernel a program."""
        with self.context, kernel.location:
            signature = kernel.attributes[SIGNATURE].value
            names = [a.value for a in kernel.attributes[NAMES]]
            count = len(signature.results)
            inputs = [(n, t) for n, t in list(zip(names, signature.inputs))[:-count] if not isinstance(t, ir.IndexType)]
            with ir.InsertionPoint.at_block_begin(self.module.body):
                main = func.FuncOp("main", ir.FunctionType.get([t for _, t in inputs], signature.results))
            named = [ir.DictAttr.get({NAME: ir.StringAttr.get(n)}) for n in [*(n for n, _ in inputs), *names[-count:]]]
            main.attributes["arg_attrs"], main.attributes["res_attrs"] = ir.ArrayAttr.get(named[:-count]), ir.ArrayAttr.get(named[-count:])
            block = main.add_entry_block()
            with ir.InsertionPoint(block):
                given = iter(block.arguments)
                operands = [symbol_value(n, main) if isinstance(t, ir.IndexType) else plain(next(given))
                            for n, t in list(zip(names, signature.inputs))[:-count]]
                results = call_kernel(kernel, operands, signature.results, main)
                func.ReturnOp(results)
        return main


def symbol_value(name: str, main: func.FuncOp) -> ir.Value:
    """The value of an integer parameter that is the size of an input."""
    symbol = dims.symbol(dims.symbol_name(name))
    if str(symbol) not in dims.symbol_table(main):
        raise Problem(f"the parameter '{name}' is not the size of an input: call the kernel from a graph, by R.call_tir(..., tir_vars=...)")
    return dims.materialize(symbol, main)


def call_kernel(kernel: func.FuncOp, operands: list[ir.Value], outputs: list[ir.Type], main: func.FuncOp) -> list[ir.Value]:
    """A call of a kernel on fresh outputs, with relax's types for its results."""
    sizes = [[dims.materialize(s, main) for s in dims.dims(t) if not isinstance(s, int)] for t in outputs]
    results = tir.call_tir(kernel.name.value, operands, outputs, sizes)
    return [cast(v, t) for v, t in zip(results, outputs)]


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The same tensor in relax's type or in the plain one."""
    return value if value.type == type_ else builtin.unrealized_conversion_cast([type_], [value])


def plain(value: ir.Value) -> ir.Value:
    return cast(value, tir.plain_type(value.type))
