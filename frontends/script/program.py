"""The module that scripts are parsed into, with a kernel for each set of sizes, and calls of kernels."""

from collections.abc import Mapping
from typing import Any

from legato.core.mlir import builtin, func, ir
from legato.dialects import Module, tir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import NAME
from legato.dialects.tir.markers import NAMES, SIGNATURE
from legato.frontends.script.language.functions import Function
from legato.frontends.script.language.source import Misuse

C_FUNCTIONS = frozenset("exp exp2 log log2 log10 log1p expm1 sqrt sin cos tan asin acos atan sinh cosh tanh erf floor ceil round trunc pow "
                        "fabs fmod fma abs malloc free memcpy memset".split())


class Program:
    """A module that is being built. ``class_name``, ``members``: of the class it is written as; ``module``: an existing one to add to."""

    def __init__(self, context: ir.Context, class_name: str = "", members: Mapping[str, Any] | None = None, module: Module | None = None):
        self.context, self.class_name = context, class_name
        self.members = {name: m for name, m in (members or {}).items() if isinstance(m, Function)}
        with context, ir.Location.unknown():
            self.module = module or Module(ir.Module.create())
            self.symbols = ir.SymbolTable(self.module.operation)
            self.scratch = ir.Module.create()
        self.kernels: dict[Any, func.FuncOp] = {}
        self.declared: dict[Function, func.FuncOp] = {}

    def signature(self, function: Function) -> func.FuncOp:
        """The prim_func of a kernel without known sizes, outside of the module: its attributes are the kernel's signature."""
        if function not in self.declared:
            with self.context, ir.Location.unknown():
                self.declared[function] = function.build(self.scratch)
        return self.declared[function]

    def kernel(self, function: Function, sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """The prim_func of a kernel in the module, for the size symbols that are known at a call. Built at the first use."""
        key = function, tuple(sorted((sizes or {}).items()))
        if key not in self.kernels:
            with self.context, ir.Location.unknown():
                # a kernel @exp would collide with the C library's exp
                name = f"kernel_{function.__name__}" if function.__name__ in ("main", *C_FUNCTIONS) else function.__name__
                self.kernels[key] = function.build(self.module.module, name, self.symbols, sizes)
        return self.kernels[key]

    def has(self, function: Function) -> bool:
        """Whether the module has the kernel, for any sizes."""
        return any(f is function for f, _ in self.kernels)

    def member(self, base: str, name: str, known: Mapping[str, Any]) -> Function | None:
        """The function that ``cls.name``, or ``Module.name``, refers to; None where ``base``, a name among ``known``, is something
        else."""
        if name in self.members and (base in ("cls", self.class_name) or base not in known):
            return self.members[name]
        return None

    def wrap(self, kernel: func.FuncOp) -> func.FuncOp:
        """Adds a graph ``main`` that calls the kernel. Misuse for an integer parameter that is not a size of an input."""
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
    """The value of an integer parameter, which has to be a size of an input."""
    symbol = dims.symbol(dims.symbol_name(name))
    if str(symbol) not in dims.symbol_table(main):
        raise Misuse(f"the parameter '{name}' is not the size of an input: call the kernel from a graph, by R.call_tir(..., tir_vars=...)")
    return dims.materialize(symbol, main)


def call_kernel(kernel: func.FuncOp, operands: list[ir.Value], outputs: list[ir.Type], main: func.FuncOp,
                starts: Mapping[int, ir.Value] | None = None) -> list[ir.Value]:
    """A call of a kernel; the results have the relax types ``outputs``. ``starts``: what outputs hold before it, by their numbers."""
    sizes = [[dims.materialize(s, main) for s in dims.dims(t) if not isinstance(s, int)] for t in outputs]
    results = tir.call_tir(kernel.name.value, operands, outputs, sizes, {n: plain(v) for n, v in (starts or {}).items()})
    return [cast(v, t) for v, t in zip(results, outputs)]


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The tensor with another type of the same layout: with relax's dims, or without."""
    return value if value.type == type_ else builtin.unrealized_conversion_cast([type_], [value])


def plain(value: ir.Value) -> ir.Value:
    """The tensor with its type without relax's dims."""
    return cast(value, tir.plain_type(value.type))
