"""A dialect with intrinsics that targets know or do not know, and rules along the chain nvvm -> gpu -> generic."""
from typing import Any

import legato
from legato.core.mlir import arith, ext, ir, memref, scf
from legato.dialects import tir


class Toy(ext.Dialect, name="toy"):
    """Ops that upstream has never heard of."""


class Near(Toy.Operation, name="near"):
    x: ext.Operand[Any]
    y: ext.Result[Any]


class Far(Toy.Operation, name="far"):
    x: ext.Operand[Any]
    y: ext.Result[Any]


class Lost(Toy.Operation, name="lost"):
    x: ext.Operand[Any]
    y: ext.Result[Any]


class Sum(Toy.Operation, name="sum"):
    """The sum of x, x - 1, ..., 1."""

    x: ext.Operand[Any]
    y: ext.Result[Any]


def call(name):
    return lambda op, x: tir.call_extern(name, [x], [x.type])


legato.lower_intrinsic("toy.near", target="nvvm")(call("nvvm_near"))
legato.lower_intrinsic("toy.near", target="gpu")(call("gpu_near"))
legato.lower_intrinsic("toy.near", target="generic")(call("generic_near"))
legato.lower_intrinsic("toy.far", target="generic")(call("generic_far"))


@legato.lower_intrinsic("toy.far", target="nvvm", dtypes=("f64",))
def only_double(op, x):
    return tir.call_extern("nvvm_far", [x], [x.type])


@legato.lower_intrinsic("toy.lost", target="gpu")
def never(op, x):
    return legato.Refusal("the moon is not full")


@legato.legalize_intrinsic("toy.sum", target="generic")
def by_a_loop(op, x):
    """Statements: a cell of memory, and a loop over it."""
    index = ir.IndexType.get()
    zero, one = arith.ConstantOp(index, 0).result, arith.ConstantOp(index, 1).result
    cell = memref.AllocaOp(ir.MemRefType.get([1], x.type), [], [])
    memref.StoreOp(arith.ConstantOp(x.type, 0).result, cell, [zero])
    loop = scf.ForOp(zero, arith.IndexCastOp(index, x).result, one)
    with ir.InsertionPoint(loop.body):
        number = arith.IndexCastOp(x.type, arith.AddIOp(loop.induction_variable, one).result).result
        memref.StoreOp(arith.AddIOp(memref.LoadOp(cell, [zero]).result, number).result, cell, [zero])
        scf.YieldOp([])
    return memref.LoadOp(cell, [zero]).result
