"""Growth by branches, loops and recurrent nodes."""
import numpy as np
from graph_builder import BOOL, F32, I64, Graph, Value, weighted
from onnx import helper


def _info(name: str, dtype: np.dtype, rank: int | None = None):
    shape = None if rank is None else [None] * rank
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def branch(g: Graph) -> None:
    """Both branches read what is around them."""
    value = g.float_value()
    if not value:
        return
    arrays = [np.array(g.rng.random() < 0.5) for _ in range(g.calls)]
    test = g.constant(arrays[0]) if g.rng.random() < 0.3 else g.input(BOOL, [], arrays)
    other = g.of_shape(value, broadcast=False)
    bodies = []
    for number in range(2):
        op = g.rng.choice(("Add", "Mul", "Max", "Neg", "Tanh", "Identity"))
        reads = [value.name, other.name] if op in ("Add", "Mul", "Max") else [g.rng.choice((value, other)).name]
        out = g.name()
        bodies.append(helper.make_graph([helper.make_node(op, reads, [out])], f"b{number}", [], [_info(out, value.dtype)]))
    g.add("If", [test], value.dtype, captured=[value, other], then_branch=bodies[0], else_branch=bodies[1])


def loop(g: Graph) -> None:
    """A value carried through a few steps, and perhaps each step's."""
    value = g.float_value()
    if not value:
        return
    step, go, x, again, y, seen = (g.name() for _ in range(6))
    nodes = [helper.make_node("Identity", [go], [again]), helper.make_node(g.rng.choice(("Add", "Sub", "Max")), [x, value.name], [y])]
    outputs = [_info(again, BOOL, 0), _info(y, value.dtype, value.rank)]
    scans = g.rng.random() < 0.5 and value.rank == 1   # the reference is wrong for others (onnx 1.23)
    if scans:
        nodes.append(helper.make_node("Tanh", [y], [seen]))
        outputs.append(_info(seen, value.dtype, value.rank))
    body = helper.make_graph(nodes, "body", [_info(step, I64, 0), _info(go, BOOL, 0), _info(x, value.dtype, value.rank)], outputs)
    trips = g.constant(np.array(g.rng.choice((1, 2, 3))))
    start = g.of_shape(value, broadcast=False)
    g.add("Loop", [trips, g.constant(np.array(True)), start], *[value.dtype] * (2 if scans else 1), captured=[value], body=body)


def scan(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 1 and v.fixed(0) and 0 < v.shape[0] < 9)
    if not value:
        return
    state, x, after, y = (g.name() for _ in range(4))
    nodes = [helper.make_node(g.rng.choice(("Add", "Max", "Sub")), [state, x], [after]), helper.make_node("Identity", [after], [y])]
    rank = value.rank - 1
    body = helper.make_graph(nodes, "body", [_info(state, value.dtype, rank), _info(x, value.dtype, rank)],
                             [_info(after, value.dtype, rank), _info(y, value.dtype, rank)])
    start = g.fresh(value.dtype, value.sizes[1:])
    g.add("Scan", [start, value], value.dtype, value.dtype, body=body, num_scan_inputs=1)


def recurrent(g: Graph) -> None:
    """LSTM, GRU or RNN over a few steps."""
    op = g.rng.choice(("LSTM", "GRU", "RNN"))
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    value = g.float_value(lambda v: v.rank == 3 and v.dtype == F32 and v.fixed(0, 2) and not v.empty() and v.shape[0] < 9)
    if not value:
        value = g.input(F32, [(g.rng.choice((1, 3, 4)),) * g.calls, g.size(), (g.rng.choice((1, 3, 5)),) * g.calls])
        if value.empty():
            return
    hidden, features = g.rng.choice((1, 3, 4)), value.shape[2]
    directions = 2 if g.rng.random() < 0.3 else 1
    direction = "bidirectional" if directions == 2 else "forward"   # the reference has no reverse
    more: list[Value | None] = [g.weight(F32, directions, gates * hidden, features), g.weight(F32, directions, gates * hidden, hidden)]
    if g.rng.random() < 0.6:
        more.append(g.weight(F32, directions, 2 * gates * hidden))
    attributes = {"linear_before_reset": g.rng.randint(0, 1)} if op == "GRU" else {}
    g.add(op, [value, *more], *[F32] * (3 if op == "LSTM" else 2), hidden_size=hidden, direction=direction, **attributes)


CONTROL = weighted({branch: 2, loop: 1, scan: 1, recurrent: 2})
