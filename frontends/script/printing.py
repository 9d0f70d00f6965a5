"""Modules as the source of scripts: what ``parse`` reads."""

from typing import Any

import numpy as np

from ...dialects import Module, dtypes, relax, tir
from ...dialects.relax import dims
from ...mlir import func, ir
from .print_kernel import NotPrintable, print_kernel
from .types import spelled

ALIASES = ("builtin.unrealized_conversion_cast", "tensor.cast")
SKIPPED = ("tensor.empty", "tensor.dim", "arith.constant", "func.return")
OUT_OF_GRAPH = ("relax.packed",)


def print_script(module: Module) -> str:
    """The module as a Python class under ``@I.ir_module``. NotPrintable, naming the function and the op, for what has no words."""
    parts = []
    for function in module.functions():
        if tir.is_prim_func(function):
            parts.append(print_kernel(function, "    "))
        elif not function.is_external:
            parts.append(_Graph(module, function).text())
    head = "from legato.script import ir as I, relax as R, tir as T\n\n\n@I.ir_module\nclass Module:\n"
    return head + "\n".join("    " + p if not p.startswith("    ") else p for p in parts)


class _Graph:
    def __init__(self, module: Module, function: func.FuncOp):
        self.module, self.function = module, function
        self.names: dict[ir.Value, str] = {}
        self.returned: dict[ir.Value, str] = {}
        self.lines: list[str] = []
        self.callees = {f.name.value: f for f in module.functions()}

    def text(self) -> str:
        function = self.function
        parameters = []
        for number, argument in enumerate(function.arguments):
            given = function.attributes["arg_attrs"][number] if "arg_attrs" in function.attributes else {}
            name = self.fresh(given["relax.name"].value if "relax.name" in given else f"x{number}")
            self.names[argument] = name
            parameters.append(f"{name}: {tensor_text(argument.type)}")
        block = function.body.blocks[0]
        operations = [op.operation for op in block.operations]
        results = ", ".join(tensor_text(v.type) for v in operations[-1].operands)
        returns = results if len(operations[-1].operands) == 1 else f"R.Tuple({results})"
        hidden = "sym_visibility" in function.attributes and function.attributes["sym_visibility"].value == "private"
        private = "(private=True)" if hidden else ""
        for number, value in enumerate(operations[-1].operands):
            given = function.attributes["res_attrs"][number] if "res_attrs" in function.attributes else {}
            if "relax.name" in given and not given["relax.name"].value.startswith("output_"):
                self.returned[source_of(value)] = given["relax.name"].value
        for op in operations[:-1]:
            self.op(op)
        values = ", ".join(self.names[v] for v in operations[-1].operands)
        head = [f"    @R.function{private}", f"    def {function.name.value}({', '.join(parameters)}) -> {returns}:"]
        return "\n".join([*head, *(f"        {line}" for line in [*self.lines, f"return {values}"])]) + "\n"

    def fresh(self, name: str) -> str:
        name = dims.symbol_name(name)
        taken = set(self.names.values())
        return name if name not in taken else next(f"{name}_{n}" for n in range(1, 100000) if f"{name}_{n}" not in taken)

    def op(self, op: ir.Operation) -> None:
        if op.name in ALIASES:
            self.names[op.results[0]] = self.names[op.operands[0]]
        elif op.name in SKIPPED or op.name.split(".")[0] == "arith":
            return
        elif op.name == "func.call":
            self.call(op)
        elif op.name == "relax.constant":
            self.bind(op, self.constant(op))
        elif relax.op_class(op) is not None:
            self.bind(op, self.graph_op(op))
        else:
            raise NotPrintable(f"@{self.function.name.value} cannot be written as a script: it has {op.name}")

    def bind(self, op: ir.Operation, text: str) -> None:
        for result in op.results:
            self.names[result] = self.fresh(self.returned.get(result) or (location_name(op) if len(op.results) == 1 else None) or "lv")
        names = [self.names[r] for r in op.results]
        self.lines.append(f"{', '.join(names)} = {text}")

    def constant(self, op: ir.Operation) -> str:
        type_ = op.results[0].type
        dtype = spelled(dtypes.numpy_dtype(type_.element_type))
        if "weight" in op.attributes:
            return f'R.weight("{op.attributes["weight"].value}", {shape_text(type_)}, "{dtype}")'
        array = dtypes.array_of(op.attributes["value"])
        return f'R.const({nested(array)}, "{dtype}")'

    def graph_op(self, op: ir.Operation) -> str:
        name = op.name.partition(".")[2]
        values = [self.names[v] for v in op.operands]
        if op.name == "tensor.concat":
            return f"R.concat(({', '.join(values)},), axis={op.attributes['dim'].value})"
        attributes = relax.attributes_of(op)
        if name == "mod":  # TVM's words for the two remainders
            return f"R.{'mod' if attributes['fmod'] else 'floor_mod'}({', '.join(values)})"
        defaults = {n: a.default for n, a in relax.op_class(op).ATTRIBUTES.items()}
        given = [f"{n}={value_text(v)}" for n, v in attributes.items() if n in op.attributes or v != defaults[n]]
        return f"R.{name}({', '.join([*values, *given])})"

    def call(self, op: ir.Operation) -> None:
        callee = self.callees[op.attributes["callee"].value]
        count = len(op.results)
        operands = list(op.operands)[: len(op.operands) - count]
        integers = [v for v in operands if isinstance(v.type, ir.IndexType)]
        if integers:
            raise NotPrintable(f"@{self.function.name.value} cannot be written as a script: a call passes integers")
        tensors = "".join(f"{self.names[v]}, " for v in operands)
        outputs = [tensor_text(self.relax_type(v)) for v in op.results]
        types = outputs[0] if count == 1 else f"[{', '.join(outputs)}]"
        if "relax.packed" in callee.attributes:
            text = f'R.call_dps_packed("{callee.attributes["relax.packed"].value}", ({tensors}), {types})'
        elif tir.is_prim_func(callee):
            text = f"R.call_tir(Module.{callee.name.value}, ({tensors}), {types})"
        else:
            raise NotPrintable(f"@{self.function.name.value} cannot be written as a script: it calls @{callee.name.value}")
        self.bind(op, text)

    def relax_type(self, value: ir.Value) -> ir.Type:
        """The type with its symbols: the one that a result is cast to."""
        casts = [u.owner.operation for u in value.uses if u.owner.operation.name in ALIASES]
        return casts[0].results[0].type if casts else value.type


def source_of(value: ir.Value) -> ir.Value:
    """The value that casts were made of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in ALIASES:
        value = value.owner.operation.operands[0]
    return value


def location_name(op: ir.Operation) -> str | None:
    from ...dialects.locations import model_name

    name = model_name(op)
    return name if name is not None and name.isidentifier() else None


def size_text(size: Any) -> str:
    return str(size) if isinstance(size, int) else f'"{size}"'


def shape_text(type_: ir.RankedTensorType) -> str:
    sizes = [size_text(s) for s in dims.dims(type_)]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def tensor_text(type_: ir.RankedTensorType) -> str:
    return f'R.Tensor({shape_text(type_)}, "{spelled(dtypes.numpy_dtype(type_.element_type))}")'


def value_text(value: Any) -> str:
    if isinstance(value, np.dtype):
        return f'"{spelled(value)}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(size_text(v) if not isinstance(v, float) else repr(v) for v in value)}]"
    return repr(value)


def nested(array: np.ndarray) -> str:
    return repr(array.tolist())
