"""Packed functions that main calls: those of artifacts and of this process, called as the compiled model calls them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm_ffi

from legato.checking.buffers import Memory
from legato.checking.errors import NotEvaluated
from legato.checking.native import digest_of
from legato.core.dtypes import numpy_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.dims import Dim, from_attribute, substitute
from legato.dialects.relax.markers import ARGUMENTS, PACKED, RETURNS
from legato.passes.partition.artifacts import listed
from legato.runtime import packed
from legato.runtime.arrays import passable, to_numpy


class PackedFunctions:
    """The packed functions of one state of a module. A function is called once for equal arguments; ``kept`` holds the results over all
    states, so that side effects happen once."""

    def __init__(self, module: Module, kept: dict[tuple[str, bytes], list[np.ndarray]]):
        self.module, self.kept = module, kept
        self._found: dict[str, Any] = {}

    def call(self, declaration: func.FuncOp, operands: Sequence[Any], symbols: dict[str, int]) -> list[Any]:
        """The results of a call: arrays, or none where operands are memory. NotEvaluated for a function that is not there, or refuses."""
        if PACKED not in declaration.attributes:
            raise NotEvaluated(f"main calls @{declaration.name.value}, a declaration without a packed function")
        name = declaration.attributes[PACKED].value
        outputs = 0 if RETURNS in declaration.attributes else len(declaration.type.results)
        in_memory = [one for one in operands if isinstance(one, Memory)]
        if in_memory and not outputs:
            outputs = sum(1 for of in declaration.attributes["arg_attrs"] if any(one.name == "tir.out" for one in ir.DictAttr(of)))
        arrays = [np.ascontiguousarray(one.array() if isinstance(one, Memory) else one) for one in operands]
        given, made = arrays[:len(arrays) - outputs], arrays[len(arrays) - outputs:]
        arguments = self._arguments(declaration, given, symbols)
        key = (name, digest_of([np.asarray(one) if not isinstance(one, str) else np.frombuffer(one.encode(), np.uint8)
                                for one in _flat(arguments)]))
        if key not in self.kept:
            self.kept[key] = self._called(name, arguments, [np.zeros_like(one) for one in made])
        results = self.kept[key]
        types = list(declaration.type.results)
        if in_memory:
            if RETURNS in declaration.attributes:
                return [Memory.holding(one) for one in results]
            for into, array in zip(operands[len(operands) - outputs:], results):
                into.array()[...] = array.view(into.dtype) if array.dtype != into.dtype else array
            return list(operands[len(operands) - outputs:]) if types else []
        return [_as_type(array, type_) for array, type_ in zip(results, types)]

    def _called(self, name: str, arguments: Sequence[Any], outputs: list[np.ndarray]) -> list[np.ndarray]:
        try:
            if name not in self._found:
                self._found[name] = packed.resolve([name], listed(self.module), "the model")[0]
            returned = self._found[name](*(passable(one) for one in (*arguments, *outputs)))
        except LegatoError as error:
            raise NotEvaluated(str(error)) from error
        except Exception as error:
            raise NotEvaluated(f"the packed function '{name}' raised {type(error).__name__}: {error}") from error
        if outputs:
            return outputs
        several = [returned] if isinstance(returned, tvm_ffi.Tensor | np.ndarray) else list(returned or [])
        return [np.array(to_numpy(one) if isinstance(one, tvm_ffi.Tensor) else one) for one in several]

    def _arguments(self, declaration: func.FuncOp, arrays: Sequence[np.ndarray], symbols: dict[str, int]) -> list[Any]:
        if ARGUMENTS not in declaration.attributes:
            return list(arrays)
        tensors, made = iter(arrays), []
        for one in declaration.attributes[ARGUMENTS]:
            if isinstance(one, ir.UnitAttr):
                made.append(next(tensors))
            elif isinstance(one, ir.StringAttr | ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
                made.append(one.value)
            elif isinstance(one, ir.ArrayAttr):
                made.append(_number(from_attribute(one[0])[0], symbols))
            else:
                made.append([_number(size, symbols) for size in from_attribute(one)])
        return made


def _number(size: Any, symbols: dict[str, int]) -> int:
    value = substitute(size, symbols) if isinstance(size, Dim) else size
    if not isinstance(value, int):
        raise NotEvaluated(f"an argument of a packed function is the size {size}, which is not known there")
    return value


def _flat(arguments: Sequence[Any]) -> list[Any]:
    return [item for one in arguments for item in (one if isinstance(one, list) else [one])]


def _as_type(array: np.ndarray, type_: ir.Type) -> np.ndarray:
    dtype = numpy_dtype(type_.element_type)
    return array.view(dtype) if array.dtype != dtype and array.dtype.itemsize == dtype.itemsize else array
