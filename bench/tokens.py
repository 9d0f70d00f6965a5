"""A token of a language model beside onnxruntime: ``python -m bench.tokens [--model 1b,7b] [--weights 4,8,f16,f32] [--tokens 128,2000]``.

Models of the Llama kind with random weights, written as onnxruntime's own exporter does it: ``GroupQueryAttention`` with rotary embeddings
inside, ``SkipSimplifiedLayerNormalization``, and ``MatMulNBits`` in blocks of 32 with ``accuracy_level`` 4 for weights of 4 and 8 bits. A
call computes one token behind so many others: with caches as values, and in place, in arrays with room for 2,048, by Legato and by
onnxruntime. Medians of alternating calls. The difference is max|a-b| / max|b| of the logits.
"""
import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import legato

from .timing import in_turns

Array = np.ndarray
PLACES, BLOCK, NUMBERS = 4096, 32, 1 << 20     # places of the angles' tables; of the weight; random numbers, which repeat
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Sizes:
    """Of a model: ``width`` features in ``heads``, ``shared`` of keys and values, ``inner`` ones between."""

    layers: int
    width: int
    heads: int
    shared: int
    inner: int
    vocabulary: int = 32000

    @property
    def depth(self) -> int:
        """Of a head."""
        return self.width // self.heads


MODELS = {"small": Sizes(4, 1024, 16, 4, 2816), "1b": Sizes(22, 2048, 32, 4, 5632), "7b": Sizes(32, 4096, 32, 32, 11008)}


@dataclass
class Writer:
    """Writes a model. ``weights``: "4", "8", "f16" or "f32"."""

    sizes: Sizes
    weights: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    @property
    def dtype(self) -> np.dtype:
        """Of what is computed."""
        return np.dtype(np.float16 if self.weights == "f16" else np.float32)

    def model(self) -> onnx.ModelProto:
        """The model: tokens, the mask of all of them and the caches to logits and caches."""
        sizes, element = self.sizes, helper.np_dtype_to_tensor_dtype(self.dtype)
        inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "rows"]),
                  helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "total"])]
        outputs = [helper.make_tensor_value_info("logits", element, ["batch", "rows", sizes.vocabulary])]
        for name, size in ((f"{layer}.{part}", size) for layer in range(sizes.layers) for part in "kv" for size in ("past", "total")):
            (inputs if size == "past" else outputs).append(helper.make_tensor_value_info(
                f"{'past' if size == 'past' else 'present'}.{name}", element, ["batch", sizes.shared, size, sizes.depth]))
        self.lengths()
        x = self.node("Gather", [self.random("table", sizes.vocabulary, sizes.width), "ids"], "x")
        normal = self.node("SimplifiedLayerNormalization", [x, self.scale("first")], "normal", axis=-1, epsilon=1e-5)
        for layer in range(sizes.layers):
            x, normal = self.layer(f"{layer}.", x, normal)
        self.product(normal, sizes.width, sizes.vocabulary, "logits")
        graph = helper.make_graph(self.nodes, "llama", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def lengths(self) -> None:
        """The numbers of keys, from the mask, and the tables of angles."""
        self.constants += [numpy_helper.from_array(np.array(1), "one"), numpy_helper.from_array(np.array([1]), "axis")]
        self.node("ReduceSum", ["mask", "axis"], "lengths", keepdims=0)
        self.node("Cast", [self.node("Sub", ["lengths", "one"], "places")], "last", to=TensorProto.INT32)
        self.node("Cast", [self.node("Gather", [self.node("Shape", ["mask"], "shape"), "one"], "size")], "total", to=TensorProto.INT32)
        angles = np.arange(PLACES)[:, None] / 10000 ** (np.arange(0, self.sizes.depth, 2) / self.sizes.depth)
        for name, table in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
            self.constants.append(numpy_helper.from_array(table.astype(self.dtype), name))

    def layer(self, name: str, x: str, normal: str) -> tuple[str, str]:
        """One layer: the sum so far, and what the next one reads."""
        sizes = self.sizes
        q, k, v = (self.product(normal, sizes.width, columns * sizes.depth, name + part)
                   for part, columns in (("q", sizes.heads), ("key", sizes.shared), ("value", sizes.shared)))
        past, present = ([f"{of}.{name}{part}" for part in "kv"] for of in ("past", "present"))
        self.nodes.append(helper.make_node(
            "GroupQueryAttention", [q, k, v, *past, "last", "total", "cos", "sin"], [name + "y", *present], domain="com.microsoft",
            num_heads=sizes.heads, kv_num_heads=sizes.shared, do_rotary=1))
        x, normal = self.skip(x, self.product(name + "y", sizes.width, sizes.width, name + "out"), name + "a")
        gate, up = (self.product(normal, sizes.width, sizes.inner, name + part) for part in ("gate", "up"))
        opened = self.node("Mul", [gate, self.node("Sigmoid", [gate], name + "sigmoid")], name + "silu")
        down = self.product(self.node("Mul", [opened, up], name + "inner"), sizes.inner, sizes.width, name + "down")
        return self.skip(x, down, name + "b")

    def skip(self, x: str, y: str, name: str) -> tuple[str, str]:
        """The sum of two, and it normalized."""
        self.nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [x, y, self.scale(name)], [name + "n", "", "", name + "x"],
                                           domain="com.microsoft", epsilon=1e-5))
        return name + "x", name + "n"

    def product(self, x: str, depth: int, columns: int, name: str) -> str:
        """A product by a weight."""
        if self.weights.startswith("f"):
            return self.node("MatMul", [x, self.random(name + ".weight", depth, columns)], name)
        bits, blocks = int(self.weights), depth // BLOCK
        integers = RNG.integers(0, 256, (columns, blocks, BLOCK * bits // 8), dtype=np.uint8)
        scales = RNG.uniform(0.5, 1.5, (columns, blocks)).astype(np.float32) / (2 ** (bits - 2) * depth ** 0.5)
        for array, part in ((integers, ".integers"), (scales, ".scales")):
            self.constants.append(numpy_helper.from_array(array, name + part))
        return self.node("MatMulNBits", [x, name + ".integers", name + ".scales"], name, domain="com.microsoft", K=depth, N=columns,
                         bits=bits, block_size=BLOCK, accuracy_level=4)

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """A node of one output."""
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def scale(self, name: str) -> str:
        """A norm's scales."""
        self.constants.append(numpy_helper.from_array(np.ones(self.sizes.width, self.dtype), name + ".scale"))
        return name + ".scale"

    def random(self, name: str, rows: int, columns: int) -> str:
        """A weight of random numbers."""
        numbers = (RNG.standard_normal(NUMBERS - 1) / rows ** 0.5 if name != "table" else RNG.standard_normal(NUMBERS - 1))
        self.constants.append(numpy_helper.from_array(np.resize(numbers.astype(self.dtype), (rows, columns)), name))
        return name


def compiled(path: Path, sizes: Sizes, room: bool, threads: int) -> legato.Executable:
    """A model with caches as values, or in place in arrays with ``room`` for as many keys as the mask has."""
    caches = [f"past.{layer}.{part}" for layer in range(sizes.layers) for part in "kv"]
    shape = ["batch", sizes.shared, "total", sizes.depth]
    module = legato.from_onnx(path, shapes=dict.fromkeys(caches, shape) if room else None)
    return legato.compile(legato.donate(module, caches) if room else module, f"llvm{{threads={threads}}}", cache=False)


def measured(path: Path, sizes: Sizes, dtype: np.dtype, options: argparse.Namespace) -> None:
    """Prints a line for each number of tokens."""
    started = time.perf_counter()
    values = compiled(path, sizes, False, options.threads)
    seconds = time.perf_counter() - started
    in_place = compiled(path, sizes, True, options.threads)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")    # its threads would take ours' processors
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    for tokens in options.tokens:
        calls = in_turn(values, in_place, session, sizes, dtype, tokens, options.room)
        *others, theirs = (np.asarray(call()[0], np.float32) for call in calls)
        difference = max(np.abs(one - theirs).max() for one in others) / np.abs(theirs).max()
        times = [f"{1000 * one:9.2f}" for one in in_turns(calls, options.seconds, 5)]
        print(f"{tokens:8d}  {times[0]}  {times[1]}  {times[2]:>16}{times[3]}  {difference:10.1e}  {seconds:9.1f}", flush=True)


def in_turn(values: legato.Executable, in_place: legato.Executable, session: onnxruntime.InferenceSession, sizes: Sizes, dtype: np.dtype,
            tokens: int, room: int) -> list[Callable[[], Any]]:
    """The calls that compute one token, the last of so many."""
    ids, shape = np.array([[1]]), (1, sizes.shared, tokens - 1, sizes.depth)
    past = {f"past.{layer}.{part}": RNG.standard_normal(shape).astype(dtype) for layer in range(sizes.layers) for part in "kv"}
    rooms = [np.zeros((1, sizes.shared, room, sizes.depth), dtype) for _ in past]
    for one, cache in zip(rooms, past.values()):
        one[:, :, :tokens - 1] = cache
    mask = (np.arange(room) < tokens).astype(np.int64)[None]
    given = {"ids": ids, "mask": np.ones((1, tokens), np.int64), **past}
    binding = bound(session, ids, given["mask"], dict(zip(past, rooms)))

    def theirs_in_place() -> list[Array]:
        session.run_with_iobinding(binding)
        return [binding.get_outputs()[0].numpy()]

    return [lambda: values(**given), lambda: in_place(ids, mask, *rooms), theirs_in_place, lambda: session.run(None, given)]


def bound(session: onnxruntime.InferenceSession, ids: Array, mask: Array, rooms: dict[str, Array]) -> onnxruntime.IOBinding:
    """A call of onnxruntime with each cache and its result in one buffer, of its own."""
    binding = session.io_binding()
    binding.bind_cpu_input("ids", ids)
    binding.bind_cpu_input("mask", mask)
    binding.bind_output("logits", "cpu")
    for name, room in rooms.items():
        buffer = onnxruntime.OrtValue.ortvalue_from_numpy(room.copy())
        binding.bind_ortvalue_input(name, buffer)
        binding.bind_ortvalue_output(name.replace("past", "present"), buffer)
    return binding


def main(argv: list[str] | None = None) -> int:
    """Writes each model to a temporary folder, and measures it."""
    options = parser().parse_args(argv)
    for model in options.model:
        for weights in options.weights:
            print(f"{model}, weights of {weights}, {options.threads} thread(s), ms a token")
            print("  tokens     values   in place   theirs in place   values  difference  compile s")
            writer = Writer(MODELS[model], weights)
            with TemporaryDirectory() as folder:
                path = Path(folder) / "model.onnx"
                onnx.save(writer.model(), path, save_as_external_data=True)
                writer.constants.clear()
                measured(path, writer.sizes, writer.dtype, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.tokens", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", type=lambda text: text.split(","), default=["1b"], help=f"of {', '.join(MODELS)} (default: 1b)")
    p.add_argument("--weights", type=lambda text: text.split(","), default=["4"], help="of 4, 8, f16, f32 (default: 4)")
    p.add_argument("--tokens", type=lambda text: [*map(int, text.split(","))], default=[128, 2000], help="behind which one comes")
    p.add_argument("--room", type=int, default=2048, help="of caches in place (default: 2048)")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seconds", type=float, default=3.0, help="that each line takes at least (default: 3)")
    return p


if __name__ == "__main__":
    sys.exit(main())
