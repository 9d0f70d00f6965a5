"""oneDNN 2.x through its C interface: a function's primitives are built when the model is loaded, and run on the caller's memory.

Intermediate values have the layouts that the library prefers; inputs and outputs are reordered if these differ from row-major.
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
F32, ANY, INFERENCE, CPU, IN_ORDER = 3, 1, 96, 1, 1   # constants of dnnl_types.h
CONVOLUTION, POOLING = 1, {"max": 0x1FF, True: 0x2FF, False: 0x3FF}
SRC, DST, WEIGHTS = 1, 17, 33
SRC_MD, WEIGHTS_MD, DST_MD = 129, 131, 133
ALLOCATE = ctypes.c_void_p(-1)
_DESCRIPTOR = 1 << 15   # bytes; larger than any descriptor of the library (a convolution's: 6 KB)


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Library:
    """The library, an engine and a stream. LegatoError if it is not installed, or is not 2.x."""

    def __init__(self) -> None:
        dll = next(filter(None, map(_open, NAMES)), None)
        if dll is None:
            raise LegatoError("the model has parts for oneDNN, and there is no libdnnl.so.2: install it (Debian: apt install libdnnl2)")
        self.dll = dll
        if not hasattr(self.dll, "dnnl_pooling_forward_desc_init"):
            raise LegatoError("the oneDNN that is installed is not 2.x, whose functions the model calls (Debian 12: apt install libdnnl2)")
        self.dll.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.engine, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("engine_create", ctypes.byref(self.engine), CPU, ctypes.c_size_t(0))
        self.call("stream_create", ctypes.byref(self.stream), self.engine, IN_ORDER)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls ``dnnl_<name>``. LegatoError if it fails."""
        status = getattr(self.dll, f"dnnl_{name}")(*arguments)
        if status:
            raise LegatoError(f"oneDNN: {name} failed with status {status}")

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """The handle that ``dnnl_<name>`` creates: its first argument, by reference."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def plain(self, shape: Sequence[int]) -> Any:
        """A memory descriptor of f32 values in row-major order."""
        found = ctypes.create_string_buffer(_DESCRIPTOR)
        self.call("memory_desc_init_by_strides", found, len(shape), _dims(shape), F32, None)
        return found

    def free(self, shape: Sequence[int]) -> Any:
        """A memory descriptor of f32 values in a layout that the library chooses."""
        found = ctypes.create_string_buffer(_DESCRIPTOR)
        self.call("memory_desc_init_by_tag", found, len(shape), _dims(shape), F32, ANY)
        return found

    def same(self, a: Any, b: Any) -> bool:
        """Whether two memory descriptors are equal."""
        return bool(self.dll.dnnl_memory_desc_equal(a, b))

    def memory(self, descriptor: Any, data: Any = ALLOCATE) -> ctypes.c_void_p:
        """A memory object on ``data``; by default the library allocates."""
        return self.made("memory_create", descriptor, self.engine, data)


def _open(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _dims(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * 12)(*values)


class OneDnnProgram:
    """The primitives of a function in order, and the memory of each value."""

    def __init__(self, library: Library, header: dict[str, Any], weights: np.ndarray):
        self.library, self.weights = library, weights
        self.run_list: list[tuple[ctypes.c_void_p, Any]] = []
        self.values: dict[int, tuple[Any, ctypes.c_void_p]] = {}   # descriptor and memory by value number
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
        """Adds the primitive of an op, and a reorder of its operand if necessary. Returns the result's descriptor and memory."""
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
        """The memory descriptor that a primitive requires for one of its arguments."""
        return ctypes.c_void_p(self.library.dll.dnnl_primitive_desc_query_md(description, which, 0))

    def brought(self, value: tuple[Any, ctypes.c_void_p], wanted: Any) -> ctypes.c_void_p:
        """The memory of a value in the required layout, reordered if necessary."""
        if self.library.same(value[0], wanted):
            return value[1]
        memory = self.library.memory(wanted)
        self.reorder(value, wanted, memory)
        return memory

    def packed(self, weight: dict[str, Any], shape: Sequence[int], wanted: Any) -> ctypes.c_void_p:
        """The memory of weights in the required layout; a reorder runs immediately."""
        descriptor = self.library.plain(shape)
        value = descriptor, self.library.memory(descriptor, ctypes.c_void_p(self.weights.ctypes.data + weight["at"]))
        memory = self.brought(value, wanted)
        if memory is not value[1]:
            self.execute(*self.run_list.pop())
        return memory

    def reorder(self, value: tuple[Any, ctypes.c_void_p], wanted: Any, memory: ctypes.c_void_p) -> None:
        """Appends a reorder of a value to another layout."""
        engine = self.library.engine
        description = self.library.made("reorder_primitive_desc_create", value[0], engine, wanted, engine, None)
        self.append(self.library.made("primitive_create", description), [(SRC, value[1]), (DST, memory)])

    def append(self, primitive: ctypes.c_void_p, arguments: Sequence[tuple[int, ctypes.c_void_p]]) -> None:
        """Appends a primitive with its arguments to the run list."""
        self.run_list.append((primitive, (Argument * len(arguments))(*((a, m.value) for a, m in arguments))))

    def execute(self, primitive: ctypes.c_void_p, arguments: Any) -> None:
        """Runs a primitive, and waits for it."""
        self.library.call("primitive_execute", primitive, self.library.stream, len(arguments), arguments)
        self.library.call("stream_wait", self.library.stream)


def load(data: memoryview, name: str) -> Callable[..., None]:
    """A function ``f(inputs..., outputs...)``. Concurrent calls are serialized, since they share the intermediate values' memory."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + size]))
    weights = np.frombuffer(bytes(data[8 + size :]), np.uint8)
    library = Library()
    program = OneDnnProgram(library, header, weights)
    lock = threading.Lock()

    def run(*arrays: np.ndarray) -> None:
        with lock:
            for memory, array in zip((*program.inputs, *program.outputs), arrays):
                library.call("memory_set_data_handle", memory, ctypes.c_void_p(array.ctypes.data))
            for primitive, arguments in program.run_list:
                library.call("primitive_execute", primitive, library.stream, len(arguments), arguments)
            library.call("stream_wait", library.stream)

    return run
