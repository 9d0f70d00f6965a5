"""oneDNN 2.x by its C symbols: the primitives of a function are built when the model is loaded, and run on the caller's memory.

Between primitives, values lie as the library likes them; what comes in and goes out is reordered where that is something else.
"""
from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from legato.core.errors import LegatoError

NAMES = ("libdnnl.so.2", "libdnnl.so")
F32, ANY, INFERENCE, CPU, IN_ORDER = 3, 1, 96, 1, 1   # of dnnl_types.h
CONVOLUTION, POOLING = 1, {"max": 0x1FF, True: 0x2FF, False: 0x3FF}
SRC, DST, WEIGHTS = 1, 17, 33
SRC_MD, WEIGHTS_MD, DST_MD = 129, 131, 133
ALLOCATE = ctypes.c_void_p(-1)
_DESCRIPTOR = 1 << 15   # bytes: more than any descriptor of the library has (a convolution's: 6 KB)


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Library:
    """The library, an engine and a stream. LegatoError if it is not installed, or is not 2.x."""

    def __init__(self) -> None:
        self.dll = next(filter(None, map(_open, NAMES)), None)
        if self.dll is None:
            raise LegatoError("the model has parts for oneDNN, and there is no libdnnl.so.2: install it (Debian: apt install libdnnl2)")
        if not hasattr(self.dll, "dnnl_pooling_forward_desc_init"):
            raise LegatoError("the oneDNN that is installed is not 2.x, whose functions the model calls (Debian 12: apt install libdnnl2)")
        self.dll.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.engine, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("engine_create", ctypes.byref(self.engine), CPU, ctypes.c_size_t(0))
        self.call("stream_create", ctypes.byref(self.stream), self.engine, IN_ORDER)

    def call(self, name: str, *arguments: Any) -> None:
        """A function of the library. LegatoError if it fails."""
        status = getattr(self.dll, f"dnnl_{name}")(*arguments)
        if status:
            raise LegatoError(f"oneDNN: {name} failed with status {status}")

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """What a function writes to the handle that is its first argument."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def plain(self, shape: Sequence[int]) -> Any:
        """The descriptor of f32 values in row-major order."""
        found = ctypes.create_string_buffer(_DESCRIPTOR)
        self.call("memory_desc_init_by_strides", found, len(shape), _dims(shape), F32, None)
        return found

    def free(self, shape: Sequence[int]) -> Any:
        """The descriptor of f32 values in whatever order is best."""
        found = ctypes.create_string_buffer(_DESCRIPTOR)
        self.call("memory_desc_init_by_tag", found, len(shape), _dims(shape), F32, ANY)
        return found

    def same(self, a: Any, b: Any) -> bool:
        return bool(self.dll.dnnl_memory_desc_equal(a, b))

    def memory(self, descriptor: Any, data: Any = ALLOCATE) -> ctypes.c_void_p:
        return self.made("memory_create", descriptor, self.engine, data)


def _open(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _dims(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * 12)(*values)


class Program:
    """Primitives in order, and the memory of each value."""

    def __init__(self, library: Library, header: dict[str, Any], weights: np.ndarray):
        self.library, self.weights = library, weights
        self.run_list: list[tuple[ctypes.c_void_p, Any]] = []
        self.values: dict[int, tuple[Any, ctypes.c_void_p]] = {}   # descriptor and memory
        self.inputs: list[ctypes.c_void_p] = []
        shapes = {step["x"]: step["x_shape"] for step in header["steps"]}
        for number in range(header["inputs"]):
            descriptor = library.plain(shapes[number])
            self.values[number] = descriptor, library.memory(descriptor, None)
            self.inputs.append(self.values[number][1])
        for number, step in enumerate(header["steps"], header["inputs"]):
            self.values[number] = self.add(step)
            shapes[number] = step["shape"]
        self.outputs = []
        for number in header["results"]:
            descriptor = library.plain(shapes[number])
            output = library.memory(descriptor, None)
            self.reorder(self.values[number], descriptor, output)
            self.outputs.append(output)

    def add(self, step: dict[str, Any]) -> tuple[Any, ctypes.c_void_p]:
        """One op: reorders its operand if need be, and runs its primitive."""
        library, operation = self.library, ctypes.create_string_buffer(_DESCRIPTOR)
        given, source = self.values[step["x"]][0], library.free(step["x_shape"])
        target, attrs, weight_shape = library.free(step["shape"]), step["attrs"], None
        if step["op"] == "conv2d":
            weight_shape = step["weight"]["shape"]
            if attrs["groups"] > 1:
                weight_shape = [attrs["groups"], weight_shape[0] // attrs["groups"], *weight_shape[1:]]
            library.call("dilated_convolution_forward_desc_init", operation, INFERENCE, CONVOLUTION, source, library.free(weight_shape),
                         None, target, _dims(attrs["strides"]), _dims([d - 1 for d in attrs["dilations"]]), _dims(attrs["padding"][:2]),
                         _dims(attrs["padding"][2:]))
        elif step["op"] == "matmul":
            source, target, weight_shape = library.plain(step["x_shape"]), library.plain(step["shape"]), step["weight"]["shape"]
            library.call("matmul_desc_init", operation, source, library.free(weight_shape), None, target)
        else:
            kind = POOLING["max" if step["op"] == "max_pool2d" else attrs["count_include_pad"]]
            library.call("pooling_forward_desc_init", operation, INFERENCE, kind, given, target, _dims(attrs["strides"]),
                         _dims(attrs["kernel"]), _dims(attrs["padding"][:2]), _dims(attrs["padding"][2:]))
        description = library.made("primitive_desc_create", operation, None, library.engine, None)
        arguments = [(SRC, self.brought(self.values[step["x"]], self.wants(description, SRC_MD)))]
        if weight_shape is not None:
            arguments.append((WEIGHTS, self.packed(step["weight"], weight_shape, self.wants(description, WEIGHTS_MD))))
        made = self.wants(description, DST_MD)
        memory = library.memory(made)
        self.append(library.made("primitive_create", description), [*arguments, (DST, memory)])
        return made, memory

    def wants(self, description: ctypes.c_void_p, which: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.library.dll.dnnl_primitive_desc_query_md(description, which, 0))

    def brought(self, value: tuple[Any, ctypes.c_void_p], wanted: Any) -> ctypes.c_void_p:
        """A value as a primitive wants it."""
        if self.library.same(value[0], wanted):
            return value[1]
        memory = self.library.memory(wanted)
        self.reorder(value, wanted, memory)
        return memory

    def packed(self, weight: dict[str, Any], shape: Sequence[int], wanted: Any) -> ctypes.c_void_p:
        """Weights as a primitive wants them, reordered now."""
        descriptor = self.library.plain(shape)
        value = descriptor, self.library.memory(descriptor, ctypes.c_void_p(self.weights.ctypes.data + weight["at"]))
        memory = self.brought(value, wanted)
        if memory is not value[1]:
            self.execute(*self.run_list.pop())
        return memory

    def reorder(self, value: tuple[Any, ctypes.c_void_p], wanted: Any, memory: ctypes.c_void_p) -> None:
        engine = self.library.engine
        description = self.library.made("reorder_primitive_desc_create", value[0], engine, wanted, engine, None)
        self.append(self.library.made("primitive_create", description), [(SRC, value[1]), (DST, memory)])

    def append(self, primitive: ctypes.c_void_p, arguments: Sequence[tuple[int, ctypes.c_void_p]]) -> None:
        self.run_list.append((primitive, (Argument * len(arguments))(*((a, m.value) for a, m in arguments))))

    def execute(self, primitive: ctypes.c_void_p, arguments: Any) -> None:
        self.library.call("primitive_execute", primitive, self.library.stream, len(arguments), arguments)
        self.library.call("stream_wait", self.library.stream)


def load(data: memoryview, name: str) -> Callable[..., None]:
    """A function ``f(inputs..., outputs...)``. Calls of it wait for one another: its values lie in memory of its own."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + size]))
    weights = np.frombuffer(bytes(data[8 + size :]), np.uint8)
    library = Library()
    program = Program(library, header, weights)
    lock = threading.Lock()

    def run(*arrays: np.ndarray) -> None:
        with lock:
            for memory, array in zip((*program.inputs, *program.outputs), arrays):
                library.call("memory_set_data_handle", memory, ctypes.c_void_p(array.ctypes.data))
            for primitive, arguments in program.run_list:
                library.call("primitive_execute", primitive, library.stream, len(arguments), arguments)
            library.call("stream_wait", library.stream)

    return run
