"""relax-integer-contractions: matrix products and convolutions of quantized values by constant quantized weights, as sums of integers.

``((x - zx) * sx) @ ((w - zw) * sw)`` becomes ``(x @ w - zx * sums of w's columns - ...) * (sx * sw)``: the product of bytes is summed
exactly in i32, zero points are corrected by sums of the weight, which are constants, and the scales are applied once. x becomes unsigned
and w signed, as instructions of CPUs take them.

On CPUs without such an instruction both are widened to 16 bits, by the kernel that computes x and at compile time: one instruction sums
pairs of products of these, where a step on bytes would widen them in registers, again for each row and each column that they meet.

Products of two values that are not constant become sums of integers, too (``pairs``). Instructions of GPUs sum along rows of both factors:
the depth is the last axis of weights there. Images are padded in the kernel that reads them.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.interfaces import CpuMachine
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.graph.integers.groups import by_groups, takes_groups
from legato.passes.graph.integers.pairs import FactorForms, product
from legato.passes.graph.integers.quantized import Quantized, Reader, Weight, dtype_of, is_quantized
from legato.passes.graph.integers.raised import Raised
from legato.passes.graph.integers.shorts import Shorts
from legato.passes.graph.plane_convolutions import slices, volume
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

I16, I32, F32 = np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.float32)
LIMIT = 1 << 31
CONVOLUTIONS = {f"relax.conv{rank}d": rank for rank in (1, 2, 3)}
LEAST, GREATEST = -128, 255     # of bytes, signed or not
LANES = 8       # of f32 in the vectors of CPUs that take 16 bits
FEW_ROWS = 4    # of a product: up to so many, reading the weight is what takes time


@dataclass(frozen=True)
class IntegerContractions(ModulePass):
    """Products of quantized values by constant quantized weights become sums of products of bytes.

    Products of integers stay exact. Those of dequantized values, which f32 would round in each step, are summed exactly and rounded when
    they are scaled: results differ from those in f32 by its rounding errors.
    """

    name: ClassVar[str] = "relax-integer-contractions"
    target: TargetText = option("llvm", "the target whose machine may have instructions for bytes")

    def run(self, module: Module, context: PassContext) -> None:
        depth_last = context.target(self.target).cpu is None
        if depth_last and not context.gpu(self.target).multiplies_bytes:
            return
        machine = None if depth_last else context.cpu(self.target)
        in_shorts = machine is not None and not machine.multiplies_bytes and machine.has("sse4.1")
        constants = Constants(module)
        for function in relax_functions(module):
            raised = Raised(signed=depth_last and context.gpu(self.target).multiplies_signed_bytes)
            rewrite(function, Reader(constants), Shorts() if in_shorts else None, raised, machine)
            erase_dead(function, constants)


def rewrite(function: func.FuncOp, reader: Reader, shorts: Shorts | None, raised: Raised, machine: CpuMachine | None) -> None:
    """Rewrites the contractions of one function. ``shorts``: widens factors; None where bytes are multiplied; ``raised``: gives these the
    signs that instructions take; ``machine``: None for GPUs, where the depth is the last axis of weights."""
    lowered = None if machine is None else Raised(signed=True)
    forms = FactorForms(raised, lowered, shorts)
    for op in graph_ops(function):
        if op.name in ("relax.matmul", *CONVOLUTIONS):
            with ir.InsertionPoint(op), op.location:
                made = Contraction(op, reader, raised, shorts, machine).integer()
                if made is None and (machine is None or machine.multiplies_bytes or shorts is not None):
                    made = product(op, reader, forms)
            if made is not None:
                replace(op, made)
    if shorts is None:
        raised.share(reader)
        if lowered is not None:
            lowered.share(reader)
    else:
        shorts.share()


def replace(op: ir.Operation, made: tuple[ir.Value, ir.Value]) -> None:
    """Replaces a contraction by its scaled sums; where these are cast to i32, by the sums in i32."""
    sums, scaled = made
    for use in list(op.results[0].uses):
        user = use.owner.operation
        if sums is not scaled and dtype_of(op.results[0]) != F32 and user.name == "relax.astype" and dtype_of(user.results[0]) == I32:
            replace_uses(user.results[0], sums)
    replace_uses(op.results[0], scaled)


class Contraction:
    """A matmul or a convolution, and how it reads a quantized input and weight."""

    def __init__(self, op: ir.Operation, reader: Reader, raised: Raised, shorts: Shorts | None, machine: CpuMachine | None):
        self.op, self.reader, self.raised, self.machine, self.depth_last = op, reader, raised, machine, machine is None
        self.attrs = relax.attributes_of(op)
        self.is_matmul = op.name == "relax.matmul"
        self.rank = CONVOLUTIONS.get(op.name, 0)    # spatial axes
        self.shorts = shorts if self._rows() > FEW_ROWS else None

    def integer(self) -> tuple[ir.Value, ir.Value] | None:
        """The sums in i32, and what replaces the op's result; None where it is not quantized, or sums in i32 might not be exact."""
        if not self._takes() or not is_quantized(self.op.operands[0]):    # before a weight is computed, which may be large
            return None
        weight = self.reader.weight(self.op.operands[1])
        if weight is None or not self._per_column(weight.zero) or (weight.scale is not None and not self._per_column(weight.scale)):
            return None
        result = dtype_of(self.op.results[0])
        if result != I32 and self._may_overflow(weight):
            return None
        x = self.reader.activation(self.op.operands[0])
        if x is None or (result != F32 and (x.scale is not None or weight.scale is not None)):
            return None
        integers, zeros = weight.signed() if self.shorts is None else (weight.differences(), np.zeros_like(weight.zero))
        if not self.is_matmul and zeros.any() and not self._sums_windows():
            return None
        if not self.is_matmul and any(self.attrs["padding"]) and self.depth_last and not self._has_constant_zero(x):
            return None
        return self._build(x, integers, zeros, weight.scale)

    def _takes(self) -> bool:
        """Whether the op has a form that is rewritten."""
        x, w = (operand.type for operand in self.op.operands)
        if dims.UNKNOWN in dims.dims(x) or not w.has_static_shape:
            return False
        if self.is_matmul:
            return x.rank >= 2 and w.rank == 2 and not x.is_dynamic_dim(x.rank - 1)
        if not all(isinstance(size, int) for size in dims.dims(x)[1:]) and not self._copies_windows():
            return False
        if self.rank == 3 and self.attrs["groups"] == 1 and self.shorts is not None and self._is_transformed_in_floats():
            return False
        in_order = self.attrs["data_layout"].startswith("NC") and self.attrs["kernel_layout"].startswith("OI")
        return self._takes_groups() and in_order and 0 not in self.op.results[0].type.shape

    def _copies_windows(self) -> bool:
        """Whether a convolution of images of sizes known only at run time becomes a product of their windows: of one group, on CPUs."""
        channels = dims.dims(self.op.operands[0].type)[1]
        return self.machine is not None and self.rank < 3 and self.attrs["groups"] == 1 and isinstance(channels, int)

    def _sums_windows(self) -> bool:
        """Whether the elements of windows are summed, as zero points of weights ask for: by one more filter, which costs little beside many
        of them."""
        return self.machine is not None and self.attrs["groups"] == 1 and self.rank < 3

    def _takes_groups(self) -> bool:
        """Whether integers of the convolution's groups are multiplied."""
        groups = self.attrs["groups"]
        if groups == 1 or self.machine is None:
            return groups == 1 or self.rank < 3
        return takes_groups(self.op.operands[1].type.shape, groups, 8 if self.shorts is None else 16, self.machine)

    def _is_transformed_in_floats(self) -> bool:
        """Whether Winograd's algorithm computes the convolution in f32 alone, which takes half the time of products of 16 bits: channels
        and features fill vectors of f32, but those of three slices, or the features, are no whole vectors of integers."""
        features, channels, *taps = self.op.operands[1].type.shape
        if {*taps} != {3} or {*self.attrs["strides"], *self.attrs["dilations"]} != {1} or self.machine is None:
            return False
        in_integers = taps[0] * channels % self.machine.lanes(16) == 0 and features % self.machine.lanes(32) == 0
        return min(features, channels) >= 2 * LANES and channels % LANES == 0 and not in_integers

    def _rows(self) -> float:
        """The rows that each element of the weight meets: many, where only the call knows."""
        if not self.is_matmul:
            return math.inf
        return math.prod(size if isinstance(size, int) else math.inf for size in dims.dims(self.op.operands[0].type)[:-1])

    def _summed(self) -> tuple[int, ...]:
        """The weight's axes that are summed."""
        return (0,) if self.is_matmul else tuple(range(1, self.rank + 2))

    def _may_overflow(self, weight: Weight) -> bool:
        """Whether a sum of unsigned bytes times the weight may not fit in i32."""
        if 255 * 255 * math.prod(weight.integers.shape[axis] for axis in self._summed()) < LIMIT:   # of any bytes
            return False
        return 255 * np.abs(weight.differences()).sum(axis=self._summed(), dtype=np.int64).max(initial=0) >= LIMIT

    def _per_column(self, array: np.ndarray) -> bool:
        """Whether a scale or zero point of the weight is the same along all summed axes."""
        return all(array.shape[axis] == 1 for axis in self._summed())

    def _has_constant_zero(self, x: Quantized) -> bool:
        return x.zero is None or self.reader.few(x.zero) is not None

    def _along_columns(self, array: np.ndarray) -> np.ndarray:
        """An array of the weight's rank with one number per column, shaped to broadcast to the result."""
        return array.reshape(-1, *[1] * self.rank)

    def _build(self, x: Quantized, w: np.ndarray, zeros: np.ndarray, scale: np.ndarray | None) -> tuple[ir.Value, ir.Value]:
        bytes_, zero = self._factor(x)
        w = w if self.shorts is None else w.astype(I16)
        flat = None
        if self.is_matmul:
            shape = list(dims.dims(bytes_.type))
            if len(shape) > 2:
                flat = [*shape[:-1], w.shape[1]]
                bytes_ = relax.reshape(bytes_, [dims.product(shape[:-1]), shape[-1]])
            sums = relax.matmul_integer(bytes_, self._constant(np.ascontiguousarray(w.T) if self.depth_last else w),
                                        kernel_layout="OI" if self.depth_last else "IO")
        else:
            sums = self._convolved(bytes_, zero, w)
        sums = self._corrected(sums, bytes_, zero, w, zeros)
        result = dtype_of(self.op.results[0])
        scaled = sums if result == I32 else relax.astype(sums, dtype=result)
        for factor in self._scales(x.scale, scale):
            scaled = relax.multiply(scaled, factor)
        return sums if flat is None else relax.reshape(sums, flat), scaled if flat is None else relax.reshape(scaled, flat)

    def _constant(self, w: np.ndarray) -> ir.Value:
        """The weight's integers."""
        return self.reader.constants.build(w, self.reader.constants.name_of(self.op.operands[1], self.op.results[0], default="integers"))

    def _convolved(self, x: ir.Value, zero: ir.Value | int, w: np.ndarray) -> ir.Value:
        """The convolution of padded images; of one or three dimensions, that of images of two."""
        strides, dilations, sizes = self.attrs["strides"], self.attrs["dilations"], dims.dims(self.op.results[0].type)
        of_bytes = self.shorts is not None and (not isinstance(zero, int) or LEAST <= zero <= GREATEST)    # as what pads the images
        padding, in_kernel = [0] * 4, self.depth_last and self.rank < 3
        if in_kernel:
            amounts = self.attrs["padding"]
            padding = [*[0] * (2 - self.rank), *amounts[:self.rank], *[0] * (2 - self.rank), *amounts[self.rank:]]
        else:
            x = self._padded(x, zero)
        if self.rank == 3:
            features, channels, *taps = w.shape
            images, strides = slices(x, taps, strides, [0] * 6, dilations)
            images = by_groups(images, taps[0], self.attrs["groups"])
            filters = w.swapaxes(1, 2).reshape(features, taps[0] * channels, *taps[1:])
            made = relax.conv2d_integer(images, self._constant(filters), strides=strides, dilations=dilations[1:],
                                        groups=self.attrs["groups"], data_layout="NHWC", of_bytes=of_bytes)
            return volume(made, sizes)
        if self.rank == 1:
            batch, channels, width = dims.dims(x.type)
            x, w, strides, dilations = relax.reshape(x, [batch, channels, 1, width]), w[:, :, None], [1, *strides], [1, *dilations]
        made = relax.conv2d_integer(x, self._constant(w), strides=strides, padding=padding, dilations=dilations,
                                    groups=self.attrs["groups"], pad_value=zero if in_kernel and isinstance(zero, int) else 0,
                                    of_bytes=of_bytes)
        return made if self.rank == 2 else relax.reshape(made, [sizes[0], w.shape[0], *sizes[2:]])

    def _factor(self, x: Quantized) -> tuple[ir.Value, ir.Value | int]:
        """The input as bytes of the signs that instructions take, or widened, and its zero point: a number where it is constant."""
        zero: ir.Value | int = 0
        if x.zero is not None:
            array = self.reader.few(x.zero)
            zero = x.zero if array is None else int(array)
        if self.shorts is not None:
            return self.shorts.of(x.integers), zero
        if dtype_of(x.integers) == self.raised.dtype:
            return x.integers, zero
        return self.raised.of(x.integers), self.raised.zero(zero)

    def _padded(self, x: ir.Value, zero: ir.Value | int) -> ir.Value:
        padding = self.attrs["padding"]
        if not any(padding):
            return x
        pads = [0, 0, *padding[:self.rank], 0, 0, *padding[self.rank:]]
        if isinstance(zero, int):
            return relax.pad(x, pads=pads, value=zero)
        inside = relax.broadcast_to(relax.constant(np.ones((), np.uint8)), shape=[1, 1, *dims.dims(x.type)[2:]])
        is_inside = relax.equal(relax.pad(inside, pads=pads), relax.constant(np.ones((), np.uint8)))
        return relax.where(is_inside, relax.pad(x, pads=pads), relax.astype(zero, dtype=dtype_of(x)))

    def _corrected(self, sums: ir.Value, x: ir.Value, zero: ir.Value | int, w: np.ndarray, zeros: np.ndarray) -> ir.Value:
        """The sums less those of the zero points: sum((x - zx)(w - zw)) = sum(x w) - zx sum(w) - zw sum(x) + n zx zw."""
        of_columns = w.sum(axis=self._summed(), dtype=np.int64).reshape(-1)
        zeros = np.broadcast_to(zeros.reshape(-1), of_columns.shape)
        count = math.prod(w.shape[axis] for axis in self._summed())
        per_zero = self._along_columns(of_columns - zeros.astype(np.int64) * count if zeros.any() else of_columns).astype(I32)
        if isinstance(zero, int):
            if zero:
                sums = relax.subtract(sums, relax.constant((per_zero.astype(np.int64) * zero).astype(I32)))
        else:
            of_all = relax.constant(per_zero)
            if self.depth_last:     # a kernel that writes one number for each column would be a launch of its own
                of_all = relax.broadcast_to(of_all, shape=list(dims.dims(sums.type)))
            sums = relax.subtract(sums, relax.multiply(of_all, zero))
        if zeros.any():
            of_columns = relax.constant(self._along_columns(zeros).astype(I32))
            sums = relax.subtract(sums, relax.multiply(self._summed_rows(x, zero, w), of_columns))
        return sums

    def _summed_rows(self, x: ir.Value, zero: ir.Value | int, w: np.ndarray) -> ir.Value:
        """The sums of the elements of x that each element of the result is made of, the same for all columns or features."""
        if self.is_matmul:
            return relax.sum(relax.astype(x, dtype=I32), axis=[-1], keepdims=True)
        return self._convolved(x, zero, np.ones((1, *w.shape[1:]), w.dtype))

    def _scales(self, of_x: ir.Value | None, of_w: np.ndarray | None) -> list[ir.Value]:
        """What the sums are multiplied by: one factor, where the input's scale is constant."""
        known = None if of_x is None else self.reader.few(of_x)
        if of_w is None:
            return [] if of_x is None else [of_x]
        factor = self._along_columns(of_w).astype(F32)
        if of_x is None or known is None:
            return [*([] if of_x is None else [of_x]), relax.constant(factor)]
        return [relax.constant((known.astype(F32) * factor).astype(F32))]
