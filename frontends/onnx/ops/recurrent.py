"""RNN, GRU and LSTM of a length known at import, unrolled.

The inputs' contribution to the gates is one matrix product for all steps; each step adds the contribution of the previous state.
"""
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.onnx import regions
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.ops.unrolled import at, check_steps, stacked
from legato.frontends.onnx.problems import Malformed, Refused

_VERSIONS = (7, 14, 22)
_ACTIVATIONS: dict[str, tuple[dict[str, float], Callable]] = {  # defaults of its parameters, and the function of a tensor and these
    "Relu": ({}, relax.relu),
    "Tanh": ({}, relax.tanh),
    "Sigmoid": ({}, relax.sigmoid),
    "Softsign": ({}, relax.softsign),
    "Softplus": ({}, relax.softplus),
    "LeakyRelu": ({"alpha": 0.01}, relax.leaky_relu),
    "ThresholdedRelu": ({"alpha": 1.0}, relax.thresholded_relu),
    "Elu": ({"alpha": 1.0}, relax.elu),
    "HardSigmoid": ({"alpha": 0.2, "beta": 0.5}, relax.hard_sigmoid),
}
UNROLLED = 4    # longer layers become loops
_STEP_OPS = 10  # about: of a step of a layer
_SCALED = {"Affine": (1.0, 0.0), "ScaledTanh": (1.0, 1.0)}


# the product of rows and the weights of a direction: of the layer, the index of the weights among its inputs, the number of the
# direction, the rows and the weights, transposed
Product = Callable[[OnnxNode, int, int, ir.Value, ir.Value], ir.Value]


def _floats(_node: OnnxNode, _index: int, _number: int, x: ir.Value, w: ir.Value) -> ir.Value:
    return relax.matmul(x, w)


@dataclass
class _Layer:
    """One direction of a layer. ``hidden``: the hidden size H, ``gates``: the number of gates in the weights."""

    node: OnnxNode
    number: int
    dtype: np.dtype
    hidden: int
    gates: int
    activations: list[Callable]
    clip: float | None
    recurrent: ir.Value  # [H, gates * H]
    multiply: Product
    recurrent_bias: ir.Value | None  # [gates * H]
    peepholes: list[ir.Value] = field(default_factory=list)  # for the input, output and forget gate, each [H]

    def act(self, number: int, x: ir.Value) -> ir.Value:
        """One of the layer's activations; its argument is clipped if the layer has ``clip``."""
        x = x if self.clip is None else relax.clip(x, min=-self.clip, max=self.clip)
        return self.activations[number](x)

    def gate(self, x: ir.Value, number: int, count: int = 1) -> ir.Value:
        """The part of the last axis that belongs to ``count`` gates from ``number`` on."""
        rank = x.type.rank
        begin, end = number * self.hidden, (number + count) * self.hidden
        return x if (begin, end) == (0, x.type.shape[-1]) else relax.strided_slice(x, begin=[begin], end=[end], axes=[rank - 1])

    def one_minus(self, x: ir.Value) -> ir.Value:
        return relax.subtract(relax.constant(np.ones((), self.dtype)), x)

    def from_state(self, h: ir.Value, number: int = 0, count: int | None = None, bias: bool = True) -> ir.Value:
        """The state's contribution to ``count`` gates from ``number`` on (None: all from there)."""
        count = self.gates - number if count is None else count
        y = self.multiply(self.node, 2, self.number, h, self.gate(self.recurrent, number, count))
        return relax.add(y, self.gate(self.recurrent_bias, number, count)) if bias and self.recurrent_bias is not None else y


State = tuple[ir.Value, ...]


def _rnn_step(layer: _Layer, x: ir.Value, state: State) -> State:
    return (layer.act(0, relax.add(x, layer.from_state(state[0]))),)


def _gru_step(before_reset: bool) -> Callable[[_Layer, ir.Value, State], State]:
    def step(layer: _Layer, x: ir.Value, state: State) -> State:
        (h,) = state
        both = layer.act(0, relax.add(layer.gate(x, 0, 2), layer.from_state(h, 0, 2)))
        update, reset = layer.gate(both, 0), layer.gate(both, 1)
        if before_reset:
            hidden = relax.multiply(reset, layer.from_state(h, 2))
        else:
            hidden = layer.from_state(relax.multiply(reset, h), 2)
        new = layer.act(1, relax.add(layer.gate(x, 2), hidden))
        return (relax.add(relax.multiply(layer.one_minus(update), new), relax.multiply(update, h)),)

    return step


def _lstm_step(input_forget: bool) -> Callable[[_Layer, ir.Value, State], State]:
    def step(layer: _Layer, x: ir.Value, state: State) -> State:
        h, c = state
        gates = relax.add(x, layer.from_state(h))

        def gate(number: int, peephole: int, cell: ir.Value) -> ir.Value:
            value = layer.gate(gates, number)
            return relax.add(value, relax.multiply(layer.peepholes[peephole], cell)) if layer.peepholes else value

        enter = layer.act(0, gate(0, 0, c))
        forget = layer.one_minus(enter) if input_forget else layer.act(0, gate(2, 2, c))
        new = relax.add(relax.multiply(forget, c), relax.multiply(enter, layer.act(1, layer.gate(gates, 3))))
        leave = layer.act(0, gate(1, 1, new))
        return relax.multiply(leave, layer.activations[2](new)), new

    return step


def _recurrent(op_type: str, gates: int, activations: tuple[str, ...], states: int, make_step: Callable) -> Entry:
    """The entry of a layer. ``activations``: the default ones; ``states``: the number of state tensors; ``make_step(node)`` returns
    the cell."""
    return Entry(op_type, _VERSIONS, _build(gates, activations, states, make_step, _floats))


def _build(gates: int, activations: tuple[str, ...], states: int, make_step: Callable, multiply: Product) -> Callable:
    """What imports a layer's node."""

    def build(node):
        step = make_step(node)
        batch_first = node.flag("layout") if node.version >= 14 else False
        direction = node.text("direction", "forward", "reverse", "bidirectional")
        backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        if node.rank() != 3 or node.rank(1) != 3 or node.rank(2) != 3:
            raise Malformed(f"its X, W and R must have rank 3, have {node.rank()}, {node.rank(1)} and {node.rank(2)}")
        hidden = node.dims(2)[2]
        if not isinstance(hidden, int):
            raise Refused(f"its hidden size, {hidden}, is known only at run time")
        if node.integer("hidden_size", hidden) != hidden:
            raise Malformed(f"hidden_size = {node.integer('hidden_size', hidden)}, but its R has the shape {list(node.dims(2))}")
        _check_shapes(node, len(backwards), gates, hidden, batch_first, states)
        x = relax.permute_dims(node.x(0), axes=[1, 0, 2]) if batch_first else node.x(0)
        functions = _activations(node, activations, len(backwards))
        lengths = _lengths(node, 4, x)
        ends, ys = [], []
        for number, back in enumerate(backwards):
            inputs, layer = _layer(node, number, x, hidden, gates, functions[number], multiply)
            start = tuple(_start(node, 5 + i, number, batch_first, x, hidden) for i in range(states))
            steps, end = _run(layer, step, inputs, start, back, lengths, node.used[0])
            ys.append(steps)
            ends.append(end)
        return _results(node, ys, ends, batch_first)

    return build


def lstm_by(multiply: Product) -> Callable:
    """What imports an LSTM whose products ``multiply`` makes."""
    return _build(4, ("Sigmoid", "Tanh", "Tanh"), 2, lambda node: _lstm_step(node.flag("input_forget")), multiply)


def _check_shapes(node: OnnxNode, directions: int, gates: int, hidden: int, batch_first: bool, states: int) -> None:
    """Malformed where an input has another shape than the layer's sizes say; where only a call can tell, it checks."""
    batch, width = node.dims()[0 if batch_first else 1], node.dims()[2]
    state = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    wanted = [(1, "W", (directions, gates * hidden, width)), (2, "R", (directions, gates * hidden, hidden)),
              (3, "B", (directions, 2 * gates * hidden)), (4, "sequence_lens", (batch,)), (7, "P", (directions, 3 * hidden))]
    for index, name, shape in [*wanted, *((5 + i, f"initial_{'hc'[i]}", state) for i in range(states))]:
        if node.given(index):
            node.require_shape(index, name, shape)


def _activations(node, default: tuple[str, ...], directions: int) -> list[list[Callable]]:
    """The functions of each direction, with their parameters bound."""
    names = node.strings("activations", list(default) * directions)
    if len(names) != len(default) * directions:
        raise Malformed(f"activations = {names}: expected {len(default) * directions}")
    alphas, betas = iter(node.numbers("activation_alpha", [])), iter(node.numbers("activation_beta", []))
    functions = []
    for name in names:
        if name in _SCALED:
            alpha, beta = (next(given, default) for given, default in zip((alphas, betas), _SCALED[name]))
            functions.append(_affine(alpha, beta) if name == "Affine" else _scaled_tanh(alpha, beta))
            continue
        if name not in _ACTIVATIONS:
            raise Malformed(f"there is no activation '{name}': it is one of {', '.join((*_ACTIVATIONS, *_SCALED))}")
        defaults, function = _ACTIVATIONS[name]
        factors = {factor: next(alphas if factor == "alpha" else betas, value) for factor, value in defaults.items()}
        functions.append(_bound(function, factors))
    return [functions[i * len(default) : (i + 1) * len(default)] for i in range(directions)]


def _bound(function: Callable, factors: dict[str, float]) -> Callable:
    return lambda x: function(x, **factors)


def _scalar_like(x: ir.Value, value: float) -> ir.Value:
    return relax.constant(np.asarray(value, relax.TensorType.of(x.type).dtype))


def _affine(alpha: float, beta: float) -> Callable:
    return lambda x: relax.add(relax.multiply(x, _scalar_like(x, alpha)), _scalar_like(x, beta))


def _scaled_tanh(alpha: float, beta: float) -> Callable:
    return lambda x: relax.multiply(relax.tanh(relax.multiply(x, _scalar_like(x, beta))), _scalar_like(x, alpha))


def _layer(node, number: int, x: ir.Value, hidden: int, gates: int, functions: list[Callable], multiply: Product,
           ) -> tuple[ir.Value, _Layer]:
    """One direction: the inputs' contribution to the gates, [length, batch, gates * H], and the layer."""
    transposed = [relax.permute_dims(at(node.x(index), 0, number), axes=[1, 0]) for index in (1, 2)]
    inputs, bias = multiply(node, 1, number, x, transposed[0]), None
    if node.given(3):
        both = at(node.x(3), 0, number)
        of_inputs, bias = (relax.strided_slice(both, begin=[i * gates * hidden], end=[(i + 1) * gates * hidden], axes=[0]) for i in (0, 1))
        inputs = relax.add(inputs, of_inputs)
    peepholes = []
    if node.given(7):
        both = at(node.x(7), 0, number)
        peepholes = [relax.strided_slice(both, begin=[i * hidden], end=[(i + 1) * hidden], axes=[0]) for i in range(3)]
    clip = node.number("clip") if node.has("clip") else None
    return inputs, _Layer(node, number, node.dtype(), hidden, gates, functions, clip, transposed[1], multiply, bias, peepholes)


def _start(node, index: int, number: int, batch_first: bool, x: ir.Value, hidden: int) -> ir.Value:
    """The initial state, [batch, H], as the states after the steps are: given, or zeros."""
    shape = [relax.TensorType.of(x.type).dims[1], hidden]
    if node.given(index):
        state = at(node.x(index), 1 if batch_first else 0, number)
        return state if list(dims.dims(state.type)) == shape else relax.reshape(state, shape)
    return relax.broadcast_to(relax.constant(np.zeros((), node.dtype())), shape=shape)


def _lengths(node, index: int, x: ir.Value) -> ir.Value | None:
    """The length of each sequence, [batch, 1], as the states are; None if all are as long as the input."""
    if not node.given(index):
        return None
    batch = relax.TensorType.of(x.type).dims[1]
    known = node.value(index).known()
    if known is not None and known.dtype != object and (known == relax.TensorType.of(x.type).dims[0]).all():
        return None
    return relax.reshape(node.x(index), shape=[batch, 1])


def _run(layer: _Layer, step: Callable, inputs: ir.Value, state: State, backwards: bool, lengths: ir.Value | None,
         wanted: bool) -> tuple[list[ir.Value] | ir.Value | None, State]:  # fmt: skip
    """The first state tensor after each step (if wanted), in the order of the inputs, and the last state.

    After its end a sequence has zeros as outputs and keeps its state; backwards it begins at its end.
    """
    length = relax.TensorType.of(inputs.type).dims[0]
    if not isinstance(length, int) or length > UNROLLED:
        return _loop(layer, step, inputs, state, backwards, lengths, wanted)
    count = check_steps(length)
    outputs = []
    with layer.node.expansion.loop(count, _STEP_OPS):
        for place in reversed(range(count)) if backwards else range(count):
            new = step(layer, at(inputs, 0, place), state)
            output = new[0]
            if lengths is not None:
                inside = relax.greater(lengths, relax.constant(np.asarray(place, relax.TensorType.of(lengths.type).dtype)))
                new = tuple(relax.where(inside, a, b) for a, b in zip(new, state))
                output = relax.where(inside, output, _scalar_like(output, 0)) if wanted else output
            outputs.append(output)
            state = new
    return outputs[::-1] if backwards else outputs, state


def _loop(layer: _Layer, step: Callable, inputs: ir.Value, state: State, backwards: bool, lengths: ir.Value | None,
          wanted: bool) -> tuple[ir.Value | None, State]:  # fmt: skip
    """``_run`` as a loop of main: the step's kernels are compiled once. The outputs are one tensor, [length, batch, H]."""
    length = relax.TensorType.of(inputs.type).dims[0]

    def turn(at: regions.Turn, before: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        new = step(layer, regions.slice_at(inputs, at.left if backwards else at.index), tuple(before))
        output = new[0]
        if lengths is not None:
            place = relax.astype(at.number, dtype=relax.TensorType.of(lengths.type).dtype)
            if backwards:
                ends = relax.constant(np.asarray(1, relax.TensorType.of(lengths.type).dtype))
                place = relax.subtract(relax.subtract(total, ends), place)
            inside = relax.greater(lengths, place)
            new = tuple(relax.where(inside, a, b) for a, b in zip(new, before))
            output = relax.where(inside, output, _scalar_like(output, 0))
        return list(new), [output] if wanted else []

    if lengths is not None and backwards:
        total = layer.node.emit(layer.node.elements(np.array(length), relax.TensorType.of(lengths.type).dtype))
    slices = [relax.TensorType.of(state[0].type)] if wanted else []
    ends, stacks = regions.loop(layer.node.emitter, length, state, turn, stacked=slices, backwards=[backwards] * len(slices))
    return (stacks[0] if wanted else None), tuple(ends)


def _results(node, ys: list[list[ir.Value]], ends: list[State], batch_first: bool) -> list[ir.Value | None]:
    """Y, [length, directions, batch, H], and the last states, each [directions, batch, H]; with ``batch_first`` the batch is axis 0."""
    if node.used[0] and isinstance(ys[0], list) and not ys[0]:
        raise Refused("a layer of no steps is not supported")
    results: list[ir.Value | None] = [None]
    if node.used[0]:
        loops = isinstance(ys[0], ir.Value)
        y = stacked(ys, 1) if loops else stacked([stacked(both, 0) for both in zip(*ys)], 0)
        results = [relax.permute_dims(y, axes=[2, 0, 1, 3]) if batch_first else y]
    return results + [stacked(both, 1 if batch_first else 0) for both in zip(*ends)]


ENTRIES = (
    _recurrent("RNN", 1, ("Tanh",), 1, lambda node: _rnn_step),
    _recurrent("GRU", 3, ("Sigmoid", "Tanh"), 1, lambda node: _gru_step(node.flag("linear_before_reset"))),
    Entry("LSTM", _VERSIONS, lstm_by(_floats)),
)
