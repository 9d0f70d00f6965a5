"""Random programs on sequences of tensors, in branches and loops that a call decides too, against onnxruntime."""
import io
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import TypeVar

import numpy as np
from contrib import oracle
from fuzzing import Arrays, Function, InvalidProgramError, typed
from onnx import TensorProto, helper, numpy_helper

import legato

CALLS = 3
Lengths = tuple[int, ...]   # of a sequence, at each call
Result = TypeVar("Result")


def sequences(seed: int) -> Function:
    """A program by its number."""
    made = Builder(seed)
    for _ in range(made.rng.randint(3, 8)):
        made.step()
    made.finish()
    graph = helper.make_graph(made.nodes, "g", made.inputs, [helper.make_empty_tensor_value_info(name) for name in made.outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def verify(call: int, given: Arrays, found: Arrays) -> str:
        del call
        try:
            wanted = dict(zip(made.outputs, oracle(model, given)))
        except Exception as error:   # its exceptions have no common class
            raise InvalidProgramError(str(error).splitlines()[0]) from error
        for name, array in found.items():
            if text := typed(name, array, wanted[name]):
                return text
            if not np.array_equal(array, wanted[name]):
                return f"output {name}: {array.tolist()}, expected {wanted[name].tolist()}"[:2000]
        return ""

    buffer = io.BytesIO()
    np.savez(buffer, **{f"{call}.{name}": array for call, arrays in enumerate(made.calls) for name, array in arrays.items()})
    return Function(lambda context: legato.from_onnx(model, context=context), made.calls, verify,
                    {"model.onnx": model.SerializeToString(), "inputs.npz": buffer.getvalue()}, made.features, True)


class Builder:
    """Nodes, the tensors and sequences that they have made, and what the inputs are at each call.

    All tensors are matrices of f32 of one width; ``alike``: of one number of rows, too. ``known``: positions, conditions and numbers of
    steps are constants.
    """

    def __init__(self, seed: int):
        self.rng, self.data = Random(seed), np.random.default_rng(seed)
        self.prefix, self.width = f"s{seed}_", self.rng.choice((1, 2, 3))
        self.alike, self.known, self.symbolic = (self.rng.random() < chance for chance in (0.5, 0.3, 0.6))
        self.nodes: list = []
        self.inputs: list = []
        self.outputs: list[str] = []
        self.calls: list[Arrays] = [{} for _ in range(CALLS)]
        self.features = Counter([f"sizes {'symbolic' if self.symbolic else 'static'}", f"decisions {'known' if self.known else 'by data'}"])
        self.rows = self._rows()
        self.tensors = [self.tensor() for _ in range(self.rng.randint(1, 3))]
        self.sequences: list[tuple[str, Lengths]] = []
        self.count = 0

    def _rows(self) -> Lengths:
        return tuple(self.rng.choice((1, 2, 3, 5)) for _ in range(CALLS)) if self.symbolic else (self.rng.choice((1, 2, 3, 5)),) * CALLS

    def tensor(self) -> str:
        """An input that is a matrix."""
        name = f"{self.prefix}x{len(self.inputs)}"
        rows = self.rows if self.alike else self._rows()
        for call, size in zip(self.calls, rows):
            call[name] = self.data.integers(-9, 9, (size, self.width)).astype(np.float32)
        size = (f"{self.prefix}n" if self.alike else f"{name}_n") if self.symbolic else rows[0]
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, self.width]))
        return name

    def scalar(self, values: Lengths, dtype: type = np.int64) -> str:
        """A number that is an input, or a constant of its value at the first call where ``known``, and all values are equal."""
        if self.known:
            name = self.add("Constant", [], value=numpy_helper.from_array(np.array(values[0], dtype)))
        else:
            name = f"{self.prefix}d{len(self.inputs)}"
            for call, value in zip(self.calls, values):
                call[name] = np.array(value, dtype)
            self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), []))
        return name

    def draw(self, *ranges: tuple[int, int]) -> Lengths:
        """A number for each call; the same for all where it is to be a constant."""
        if not self.known:
            return tuple(self.rng.randint(*one) for one in ranges)
        low, high = max(one[0] for one in ranges), min(one[1] for one in ranges)
        return (self.rng.randint(low, max(low, high)),) * len(ranges)

    def add(self, op: str, inputs: list[str], **attributes) -> str:
        self.count += 1
        name = f"{self.prefix}v{self.count}"
        self.features[f"op {op}"] += 1
        self.nodes.append(helper.make_node(op, inputs, [name], f"{self.prefix}{op}{self.count}", **attributes))
        return name

    def step(self) -> None:
        """One more value."""
        steps = [self.construct, self.construct]
        if self.sequences:
            steps += [self.edited, self.edited, self.branch, self.loop, self.loop, self.mapped]
        if any(min(lengths) > 0 for _, lengths in self.sequences):
            steps += [self.element, self.element, self.joined]
        self.rng.choice(steps)()

    def construct(self) -> None:
        kind = self.rng.choice(("several", "several", "empty", "split"))
        if kind == "empty":
            self.sequences.append((self.add("SequenceEmpty", []), (0,) * CALLS))
        elif kind == "split" and self.alike and not self.symbolic:
            self.sequences.append((self.add("SplitToSequence", [self.rng.choice(self.tensors)], axis=0), self.rows))
        else:
            chosen = self.rng.choices(self.tensors, k=self.rng.randint(1, 3))
            self.sequences.append((self.add("SequenceConstruct", chosen), (len(chosen),) * CALLS))

    def position(self, lengths: Lengths, more: int) -> str:
        """Of an element, or with ``more`` of a place for another one."""
        return self.scalar(self.draw(*((-length, length - 1 + more) for length in lengths)))

    def edit(self, sequence: str, lengths: Lengths) -> tuple[str, Lengths]:
        """A sequence with an element more, or less."""
        if min(lengths) > 0 and self.rng.random() < 0.4:
            at = [self.position(lengths, 0)] if self.rng.random() < 0.7 else []
            return self.add("SequenceErase", [sequence, *at]), tuple(length - 1 for length in lengths)
        at = [self.position(lengths, 1)] if self.rng.random() < 0.5 else []
        return self.add("SequenceInsert", [sequence, self.rng.choice(self.tensors), *at]), tuple(length + 1 for length in lengths)

    def edited(self) -> None:
        self.sequences.append(self.edit(*self.rng.choice(self.sequences)))

    def element(self) -> None:
        sequence, lengths = self.rng.choice([one for one in self.sequences if min(one[1]) > 0])
        found = self.add("SequenceAt", [sequence, self.position(lengths, 0)])
        self.tensors.append(self.add(self.rng.choice(("Neg", "Abs", "Identity")), [found]))
        self.outputs.append(self.tensors[-1])

    def joined(self) -> None:
        sequence, _ = self.rng.choice([one for one in self.sequences if min(one[1]) > 0])
        new = self.alike and self.rng.random() < 0.5
        self.outputs.append(self.add("ConcatFromSequence", [sequence], axis=self.rng.choice((0, -1)) if new else 0, new_axis=int(new)))

    def inside(self, work: Callable[[], Result]) -> tuple[list, Result]:
        """The nodes that ``work`` adds, and what it returns."""
        outer, self.nodes = self.nodes, []
        try:
            result = work()
            return self.nodes, result
        finally:
            self.nodes = outer

    def branch(self) -> None:
        """Two edits of one sequence, of which a call chooses."""
        sequence, lengths = self.rng.choice(self.sequences)
        chosen = self.draw(*((0, 1),) * CALLS)
        test = self.scalar(chosen, np.bool_)
        bodies, results = {}, []
        for name in ("else_branch", "then_branch"):
            nodes, (made, after) = self.inside(lambda: self.edit(sequence, lengths))
            bodies[name] = helper.make_graph(nodes, name, [], [helper.make_tensor_sequence_value_info(made, TensorProto.FLOAT, None)])
            results.append(after)
        self.sequences.append((self.add("If", [test], **bodies), tuple(results[which][call] for call, which in enumerate(chosen))))

    def loop(self) -> None:
        """Steps that append to a sequence, or bring an element from its front to its end."""
        sequence, lengths = self.rng.choice(self.sequences)
        steps = self.draw(*((0, 3),) * CALLS)
        count, turns = self.scalar(steps), min(lengths) > 0 and self.rng.random() < 0.4
        step, go, seen = (f"{self.prefix}{word}{self.count}" for word in ("step", "go", "seen"))

        def body() -> tuple[str, str]:
            again = self.add("Identity", [go])
            zero = self.add("Constant", [], value=numpy_helper.from_array(np.array(0)))
            if turns:
                first, rest = self.add("SequenceAt", [seen, zero]), self.add("SequenceErase", [seen, zero])
                return again, self.add("SequenceInsert", [rest, self.add("Neg", [first])])
            number = self.add("Cast", [step], to=TensorProto.FLOAT)
            added = self.add("Add", [self.rng.choice(self.tensors), number])
            return again, self.add("SequenceInsert", [seen, added, *([zero] if self.rng.random() < 0.3 else [])])

        nodes, (again, after) = self.inside(body)
        inputs = [helper.make_tensor_value_info(step, TensorProto.INT64, []), helper.make_tensor_value_info(go, TensorProto.BOOL, []),
                  helper.make_tensor_sequence_value_info(seen, TensorProto.FLOAT, None)]
        outputs = [helper.make_tensor_value_info(again, TensorProto.BOOL, []),
                   helper.make_tensor_sequence_value_info(after, TensorProto.FLOAT, None)]
        graph = helper.make_graph(nodes, "body", inputs, outputs)
        made = self.add("Loop", [count, "", sequence], body=graph)
        self.sequences.append((made, lengths if turns else tuple(a + b for a, b in zip(lengths, steps))))

    def mapped(self) -> None:
        """A function of each element."""
        sequence, lengths = self.rng.choice(self.sequences)
        one = f"{self.prefix}one{self.count}"
        nodes, made = self.inside(lambda: self.add("Add", [one, one]))
        graph = helper.make_graph(nodes, "body", [helper.make_tensor_value_info(one, TensorProto.FLOAT, None)],
                                  [helper.make_tensor_value_info(made, TensorProto.FLOAT, None)])
        self.sequences.append((self.add("SequenceMap", [sequence], body=graph), lengths))

    def finish(self) -> None:
        """The lengths of all sequences are outputs, and what is in the last ones."""
        for sequence, lengths in self.sequences[-3:]:
            self.outputs.append(self.add("SequenceLength", [sequence]))
            if min(lengths) > 0:
                self.outputs.append(self.add("ConcatFromSequence", [sequence], axis=0))
        if not self.sequences:
            self.outputs.append(self.add("Identity", [self.tensors[0]]))
