"""Graphs of torch.compile as models: functional FX graphs of ATen ops whose sizes are symbols of torch's own."""
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
import torch  # pyright: ignore[reportMissingImports]
from torch._guards import detect_fake_mode  # pyright: ignore[reportMissingImports]
from torch._higher_order_ops.effects import with_effects  # pyright: ignore[reportMissingImports]
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily  # pyright: ignore[reportMissingImports]
from torch.export import graph_signature as signatures  # pyright: ignore[reportMissingImports]

from legato.core.errors import LegatoError
from legato.frontends.onnx.model_file import mark_in_array
from legato.frontends.onnx.reader import ModelSource
from legato.frontends.onnx.tensors import code_of
from legato.frontends.torch.exporter import exported
from legato.frontends.torch.program import model_source
from legato.frontends.torch.strided import in_order, memory_order
from legato.frontends.torch.views import base_of, sizes_of, view_of

if TYPE_CHECKING:
    import sympy  # pyright: ignore[reportMissingImports]

Result = Callable[[Sequence[Any], Sequence[Any]], Any]   # of a call, from its arguments and the model's outputs


_NEGATIVE = ("torch.compile gave a graph the number {} as one that changes from call to call; Legato takes only numbers from 0 on, as "
             "sizes: give the function a tensor instead")


class SymbolPlace(NamedTuple):
    """Where a call tells a symbol: an axis of an argument, or, without an axis, the argument itself."""

    argument: int
    axis: int | None

    def read(self, arguments: Sequence[Any]) -> int:
        """The symbol's value."""
        return arguments[self.argument] if self.axis is None else arguments[self.argument].shape[self.axis]


class TorchGraph:
    """A graph that AOTAutograd gives to its compilers, as an ONNX model whose inputs and outputs are tensors.

    A number among the arguments is the size of a tensor that is an argument, too, or else of an input without elements, made for it.
    ``inputs``: for each input of the model the argument that it is, or stands for.
    """

    def __init__(self, module: torch.fx.GraphModule, label: str) -> None:
        """``label``: the graph's name in messages. LegatoError if torch cannot export it."""
        self.label, self._module = label, module
        _drop_checks(module.graph)
        self._arguments = [node for node in module.graph.nodes if node.op == "placeholder"]
        values = [node.meta.get("val") for node in self._arguments]
        self._places = _places(values)
        needed = {place.argument for i, node in enumerate(self._arguments) if isinstance(values[i], torch.SymInt) and node.users
                  for place in (self._place(i),)}
        self.inputs = [i for i, node in enumerate(self._arguments)
                       if i in needed or (isinstance(values[i], torch.Tensor) and any(user.op != "output" for user in node.users))]
        self._computed: list[torch.fx.Node] = []
        self._orders: list[list[int] | None] = []   # of the axes of the computed results in memory
        self.results = [self._result(value) for value in module.graph.output_node().args[0]]
        # at once, while torch collects what the graph asks of sizes; at the first call it could not trace, either
        self._source = self._exported() if self._computed else None

    @property
    def computes(self) -> bool:
        """Whether any result is computed; otherwise there is nothing to compile."""
        return bool(self._computed)

    @staticmethod
    def tensor(argument: Any) -> torch.Tensor:
        """The tensor that the model takes for an argument: complex numbers as pairs. LegatoError for a negative number."""
        if isinstance(argument, int) and argument < 0:
            raise LegatoError(_NEGATIVE.format(argument))
        if not isinstance(argument, torch.Tensor):
            return torch.empty((argument, 0))
        return torch.view_as_real(argument.resolve_conj()) if argument.is_complex() else argument

    def received(self, outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The model's outputs as the graph has them: pairs of numbers as complex ones, dense ones in the graph's order of memory, once for
        all results that are views of one. LegatoError where an output has another type or other sizes than the graph says: torch's
        exporter made something else of an op."""
        found = []
        for node, order, output in zip(self._computed, self._orders, outputs, strict=True):
            fake = node.meta["val"]
            dtype, sizes = (fake.dtype.to_real(), (*fake.shape, 2)) if fake.is_complex() else (fake.dtype, tuple(fake.shape))
            same = len(sizes) == output.ndim and all(a == b for a, b in zip(sizes, output.shape) if isinstance(a, int))
            if output.dtype != dtype or not same:
                raise LegatoError(f"{self.label}: torch's exporter to ONNX makes {output.dtype}{list(output.shape)} of '{node.name}', "
                                  f"which is {dtype}{list(sizes)}: the model that it writes computes something else. Write it in terms "
                                "of other ops")
            found.append(in_order(order, torch.view_as_complex(output.contiguous()) if fake.is_complex() else output))
        return found

    def model(self, constants: Mapping[int, np.ndarray]) -> ModelSource:
        """The model with some of its inputs as constants on the memory of these arrays."""
        if self._source is None:
            raise ValueError(f"{self.label} computes nothing")
        proto = onnx.ModelProto()
        proto.CopyFrom(self._source.proto)
        names = dict(zip(self.inputs, (value.name for value in proto.graph.input)))
        named = {names[argument]: array for argument, array in constants.items()}
        for name, array in named.items():
            proto.graph.initializer.append(mark_in_array(onnx.TensorProto(name=name, data_type=code_of(array.dtype), dims=array.shape)))
        return self._source._replace(proto=proto, arrays={**self._source.arrays, **named})

    def _exported(self) -> ModelSource:
        with unset_fake_temporarily():   # the tracer's own mode, in which nothing can be done with a constant
            graph, constants = self._pure()
            program = _as_program(torch.fx.GraphModule(self._module, graph), constants)
            return model_source(exported(program, self.label), self.label)

    def _place(self, argument: int) -> SymbolPlace:
        """Where a number among the arguments is told; a number that is no symbol of a size is told by itself."""
        expression = self._arguments[argument].meta["val"].node.expr
        return self._places.get(expression, SymbolPlace(argument, None))

    def _result(self, value: Any) -> Result:
        if not isinstance(value, torch.fx.Node):
            return lambda arguments, outputs: value
        if value in self._arguments:
            argument = self._arguments.index(value)
            return lambda arguments, outputs: arguments[argument]
        fake = value.meta["val"]
        if isinstance(fake, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            if isinstance(fake, torch.SymInt) and fake.node.expr.free_symbols.issubset(self._places):
                return lambda arguments, outputs: self._size(fake.node.expr, arguments)
            number = self._result(self._as_tensor(value))
            return lambda arguments, outputs: number(arguments, outputs).item()
        base = base_of(value)
        if base is not value:
            made = self._result(base)
            sizes = {size: self._result(size) for size in sizes_of(value, base)}
            return lambda arguments, outputs: view_of(value, base, made(arguments, outputs), lambda size: sizes[size](arguments, outputs))
        if value not in self._computed:
            self._computed.append(value)
            self._orders.append(_memory_order(fake))
        number = self._computed.index(value)
        return lambda arguments, outputs: outputs[number]

    def _as_tensor(self, value: torch.fx.Node) -> torch.fx.Node:
        """A number that is computed of data, as a tensor."""
        dtype = {torch.SymInt: torch.int64, torch.SymFloat: torch.float64, torch.SymBool: torch.bool}[type(value.meta["val"])]
        graph = self._module.graph
        for user in value.users:
            if user.target is torch.ops.aten.scalar_tensor.default and user.kwargs == {"dtype": dtype}:
                return user
        with graph.inserting_before(graph.output_node()):
            tensor = graph.call_function(torch.ops.aten.scalar_tensor.default, (value,), {"dtype": dtype})
        with self._fake_mode:
            tensor.meta["val"] = torch.empty((), dtype=dtype)
        return tensor

    def _size(self, expression: "sympy.Expr", arguments: Sequence[Any]) -> int:
        return int(expression.xreplace({symbol: place.read(arguments) for symbol, place in self._places.items()}))

    def _pure(self) -> tuple[torch.fx.Graph, dict[str, torch.Tensor]]:
        """The graph from tensors to the computed results, and the constants among its placeholders, which are the first of them."""
        graph = torch.fx.Graph()
        copies, constants = self._lifted(graph)
        for argument in self.inputs:
            node = self._arguments[argument]
            copies[node] = graph.placeholder(node.name)
            copies[node].meta["val"] = self._tensor_for(node.meta["val"])
        for argument, node in enumerate(self._arguments):
            if isinstance(node.meta.get("val"), torch.SymInt) and node.users:
                place = self._place(argument)
                tensor = copies[self._arguments[place.argument]]
                if isinstance(argument_value := tensor.meta["val"], torch.Tensor) and argument_value.is_complex():
                    tensor = graph.call_function(torch.ops.aten.view_as_real.default, (tensor,))
                    tensor.meta["val"] = torch.view_as_real(argument_value)
                copies[node] = graph.call_function(torch.ops.aten.sym_size.int, (tensor, place.axis or 0))
                copies[node].meta["val"] = node.meta["val"]
        for node in self._module.graph.nodes:
            if node.op in ("placeholder", "output") or node in copies:
                continue
            if _is_empty(node.meta.get("val")):
                copies[node] = _empty(graph, node.meta["val"])
            else:
                copies[node] = graph.node_copy(node, lambda old: copies[old])
        graph.output(tuple(copies[node] for node in self._computed))
        graph.eliminate_dead_code()
        return graph, constants

    def _lifted(self, graph: torch.fx.Graph) -> tuple[dict[torch.fx.Node, torch.fx.Node], dict[str, torch.Tensor]]:
        """A placeholder for each tensor that nodes read as an attribute of the module: by such nodes, and the tensors by its name. Exported
        programs have no other attributes than subgraphs."""
        copies: dict[torch.fx.Node, torch.fx.Node] = {}
        constants: dict[str, torch.Tensor] = {}
        made: dict[int, torch.fx.Node] = {}   # by the tensor's identity: two attributes may be one tensor
        for node in self._module.graph.find_nodes(op="get_attr"):
            tensor = attrgetter(node.target)(self._module)
            if not isinstance(tensor, torch.Tensor):
                continue
            if id(tensor) not in made:
                made[id(tensor)] = placeholder = graph.placeholder(node.name)
                placeholder.meta["val"] = self._fake_mode.from_tensor(tensor, static_shapes=True)
                constants[placeholder.name] = tensor.detach()
            copies[node] = made[id(tensor)]
        return copies, constants

    @cached_property
    def _fake_mode(self) -> FakeTensorMode:
        """That of the graph's tensors."""
        return detect_fake_mode([node.meta.get("val") for node in self._module.graph.nodes]) or FakeTensorMode()

    def _tensor_for(self, value: Any) -> torch.Tensor:
        """The fake tensor of an input: that of the argument, or one with a number as its size."""
        if isinstance(value, torch.Tensor):
            return value
        if value.node.has_hint() and value.node.hint < 0:
            raise LegatoError(_NEGATIVE.format(value.node.hint))
        with self._fake_mode:
            return torch.empty((value, 0))


def _places(values: Sequence[Any]) -> dict["sympy.Expr", SymbolPlace]:
    """Where a call tells each symbol: an axis of a tensor if there is one."""
    found: dict[sympy.Expr, SymbolPlace] = {}
    for argument, value in enumerate(values):
        for axis, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                found.setdefault(size.node.expr, SymbolPlace(argument, axis))
    for argument, value in enumerate(values):
        if isinstance(value, torch.SymInt) and value.node.expr.is_symbol:
            found.setdefault(value.node.expr, SymbolPlace(argument, None))
    return found


def _drop_checks(graph: torch.fx.Graph) -> None:
    """Removes the checks of factorizations, which are effects in the order of a token: a matrix without one makes infinities and NaN."""
    for node in list(graph.nodes):
        if node.target is with_effects and node.args[1] is torch.ops.aten._linalg_check_errors.default:
            for user in list(node.users):
                user.replace_all_uses_with(node.args[0])
                graph.erase_node(user)
            graph.erase_node(node)


def _is_empty(value: Any) -> bool:
    """Whether a value is a tensor of real numbers that is known to have no elements."""
    return isinstance(value, torch.Tensor) and not value.is_complex() and all(isinstance(size, int) for size in value.shape) and (
        0 in value.shape)


def _empty(graph: torch.fx.Graph, fake: torch.Tensor) -> torch.fx.Node:
    """A tensor without elements, whatever the op that makes it: the exporter writes some that are wrong for such."""
    node = graph.call_function(torch.ops.aten.full.default, (list(fake.shape), 0), {"dtype": fake.dtype})
    node.meta["val"] = fake
    return node


def _memory_order(fake: torch.Tensor) -> list[int] | None:
    """The axes of a dense result in the order of its memory; None if that is the order of the axes, or if it is not dense."""
    order = memory_order(fake)
    return None if order is None or order == sorted(order) else order


def _as_program(module: torch.fx.GraphModule, constants: Mapping[str, torch.Tensor]) -> torch.export.ExportedProgram:
    """The graph as torch's exporter takes it. ``constants``: those of its placeholders that are no inputs, by name."""
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    results = module.graph.output_node().args[0]
    kinds, tensor = signatures.InputKind, signatures.TensorArgument
    inputs = [signatures.InputSpec(kinds.CONSTANT_TENSOR, tensor(node.name), node.name) if node.name in constants
              else signatures.InputSpec(kinds.USER_INPUT, tensor(node.name), None) for node in nodes]
    outputs = [signatures.OutputSpec(signatures.OutputKind.USER_OUTPUT, tensor(node.name), None) for node in results]
    given = tuple(node for node in nodes if node.name not in constants)
    in_spec, out_spec = (torch.utils._pytree.tree_flatten(tree)[1] for tree in ((given, {}), tuple(results)))
    # without the names of nodes: torch does not follow those of getitem nodes through its decompositions, and then refuses the program
    call = torch.export.ModuleCallEntry("", torch.export.ModuleCallSignature([], [], in_spec, out_spec))
    return torch.export.ExportedProgram(module, module.graph, signatures.ExportGraphSignature(inputs, outputs), {}, {}, [call],
                                        constants=dict(constants))
