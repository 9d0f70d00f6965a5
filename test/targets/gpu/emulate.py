"""GPU code on the CPU, with a thread for each thread of a block: what ``tir-map-threads`` has outlined is run block after block, each in an
OpenMP region of as many threads as the block has. ``gpu.barrier`` is OpenMP's barrier, shared memory one buffer for all of them.

Threads are held up at random before what they do with shared memory, so that a barrier that is missing is seen.
"""
import ctypes

import numpy as np
from emulate_matrices import MATRICES, rewrite_matrices
from standin import outlined

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import body, copy, find
from legato.core.mlir import arith, func, ir, memref, scf
from legato.runtime.threads import load_openmp
from legato.targets.catalog import Catalog

WARP = 32
DELAY = "usleep"
THREAD_NUMBER = "omp_get_thread_num"
IDS = {"gpu.block_id": 0, "gpu.thread_id": 3, "gpu.grid_dim": 6, "gpu.block_dim": 9}


def emulated(kernel, target="nvvm", without=(), seed=0):
    """A kernel of a script, or a module, as an executable whose launches run on the CPU. ``without``: the numbers of barriers that are
    taken out, in the order in which they are printed. ``seed``: which threads are held up, and where; None: none. A module may be at the
    stage outlined already."""
    lowered = outlined(kernel, target)
    lowered = lowered.clone() if lowered is kernel else lowered
    with lowered.context, ir.Location.unknown():
        declare(lowered.module)
        barriers = find(lowered.operation, "gpu.barrier")
        for number in without:
            barriers[number].erase()
        for launch in find(lowered.operation, "gpu.launch_func"):
            emulate(lowered.module, launch, seed)
        for module in find(lowered.operation, "gpu.module"):
            module.erase()
        del lowered.operation.attributes["gpu.container_module"]
        lowered.operation.verify()
    context = legato.PassContext(resolve_target=Catalog().resolve)
    legato.Pipeline(dict(Catalog().resolve("llvm{threads=2}").pipeline())["llvm"]).run(lowered, context)
    library = load_openmp("the emulation")
    ctypes.CDLL(library).kmp_set_blocktime(0)  # hundreds of threads on a few cores: who waits must not spin
    return jit(lowered.module, lowered.weights)


def barriers_of(kernel, target="nvvm"):
    """How many barriers a kernel has, in its text."""
    lowered = legato.lower(kernel, target, last="outlined")
    return len(find(lowered.operation, "gpu.barrier"))


def declare(module):
    i32 = ir.IntegerType.get_signless(32)
    with ir.InsertionPoint.at_block_begin(module.body):
        func.FuncOp(THREAD_NUMBER, ir.FunctionType.get([], [i32]), visibility="private")
        func.FuncOp(DELAY, ir.FunctionType.get([i32], [i32]), visibility="private")


def index(value):
    return arith.ConstantOp(ir.IndexType.get(), value).result


def number(value):
    return arith.ConstantOp(ir.IntegerType.get_signless(32), value).result


def loop(extent):
    """A loop at the insertion point: its variable, and the insertion point in it."""
    made = scf.ForOp(index(0), extent, index(1))
    with ir.InsertionPoint(made.body):
        end = scf.YieldOp([])
    return made.induction_variable, ir.InsertionPoint(end)


def emulate(module, launch, seed):
    """Puts loops over blocks, and threads, in the place of a launch."""
    outer, inner = str(launch.attributes["kernel"]).replace('"', "").split("::")
    holder = next(m for m in find(module.operation, "gpu.module") if f"@{m.attributes['sym_name'].value}" == outer)
    kernel = next(f for f in find(holder, "gpu.func") if f"@{f.attributes['sym_name'].value}" == inner)
    operands = list(launch.operands)
    sizes, given = operands[:6], operands[6:]
    entry = kernel.regions[0].blocks[0]
    names = {f.attributes["sym_name"].value for f in find(module.operation, "func.func") if f.parent.name == "builtin.module"}
    for declaration in find(holder, "func.func"):  # device functions, which stand for those of C here
        if declaration.attributes["sym_name"].value not in names:
            ir.InsertionPoint.at_block_begin(module.body).insert(declaration.clone())
    with ir.InsertionPoint(launch), launch.location:
        ids, place = [], ir.InsertionPoint(launch)
        for axis in reversed(range(3)):
            with place:
                variable, place = loop(sizes[axis])
            ids.insert(0, variable)
        with place:
            shared = [memref.AllocOp(ir.MemRefType.get(list(a.type.shape), a.type.element_type), [], []).result
                      for a in list(entry.arguments)[len(given):]]
            count = arith.MulIOp(arith.MulIOp(sizes[3], sizes[4]).result, sizes[5]).result
            type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], ir.IntegerType.get_signless(64))
            exchange = memref.AllocOp(type_, [count], []).result
            threads = arith.IndexCastOp(ir.IntegerType.get_signless(32), count).result
            segments = ir.DenseI32ArrayAttr.get([0, 0, 0, 1, 0, 0])
            region = ir.Operation.create("omp.parallel", [], [threads], {"operandSegmentSizes": segments}, regions=1)
            block = region.regions[0].blocks.append()
            with ir.InsertionPoint(block):
                end = ir.Operation.create("omp.terminator")
            for buffer in (*shared, exchange):
                memref.DeallocOp(buffer)
        with ir.InsertionPoint(end):
            me = func.CallOp([ir.IntegerType.get_signless(32)], ir.FlatSymbolRefAttr.get(THREAD_NUMBER), []).result
            thread = arith.IndexCastOp(ir.IndexType.get(), me).result
            rest = thread
            for axis in range(3):
                ids.append(arith.RemUIOp(rest, sizes[3 + axis]).result)
                rest = arith.DivUIOp(rest, sizes[3 + axis]).result
            ids += sizes
            copy(body(entry), dict(zip(entry.arguments, [*given, *shared])))
    rewrite(region, ids, me, thread, exchange, set(shared), seed)
    launch.erase()


def rewrite(region, ids, me, thread, exchange, shared, seed):
    """Puts what the CPU has in the places of the GPU's ops."""
    for op in find(region, *IDS):
        axis = "xyz".index(str(op.attributes["dimension"])[-2])
        op.results[0].replace_all_uses_with(ids[IDS[op.name] + axis])
        op.erase()
    for op in find(region, "gpu.shuffle"):
        with ir.InsertionPoint(op), op.location:
            replace_shuffle(op, thread, exchange)
        op.erase()
    for op in find(region, "gpu.barrier"):
        with ir.InsertionPoint(op), op.location:
            ir.Operation.create("omp.barrier")
        op.erase()
    sites = [op for op in find(region, "memref.load", "memref.store", "vector.load", "vector.store", *MATRICES)
             if any(v in shared for v in op.operands)]
    for site, op in enumerate(sites if seed is not None else []):
        with ir.InsertionPoint(op), op.location:
            hold_up(me, site + 1000 * (seed or 0))
    rewrite_matrices(region)


def replace_shuffle(op, thread, exchange):
    """All threads write down their value, and read their partner's."""
    type_ = op.results[0].type
    i64, i32 = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(32)
    value, offset = op.operands[0], op.operands[1]
    assert "xor" in str(op.attributes["mode"])
    bits = value if isinstance(type_, ir.IntegerType) else arith.BitcastOp(ir.IntegerType.get_signless(type_.width), value).result
    memref.StoreOp(bits if bits.type == i64 else arith.ExtUIOp(i64, bits).result, exchange, [thread])
    ir.Operation.create("omp.barrier")
    partner = arith.XOrIOp(arith.IndexCastOp(i32, thread).result, offset).result
    got = memref.LoadOp(exchange, [arith.IndexCastOp(ir.IndexType.get(), partner).result]).result
    ir.Operation.create("omp.barrier")
    narrow = got if bits.type == i64 else arith.TruncIOp(bits.type, got).result
    op.results[0].replace_all_uses_with(narrow if isinstance(type_, ir.IntegerType) else arith.BitcastOp(type_, narrow).result)
    op.results[1].replace_all_uses_with(arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result)


def hold_up(me, site):
    """Some threads wait here, at each place others, up to a quarter of a millisecond."""
    mixed = arith.MulIOp(arith.AddIOp(me, number(site * 7919 + 13)).result, number(-1640531527)).result
    mixed = arith.XOrIOp(mixed, arith.ShRUIOp(mixed, number(15)).result).result
    chosen = arith.CmpIOp(arith.CmpIPredicate.eq, arith.AndIOp(mixed, number(7)).result, number(0)).result
    waits = scf.IfOp(chosen)
    with ir.InsertionPoint(waits.then_block):
        time = arith.AndIOp(arith.ShRUIOp(mixed, number(3)).result, number(255)).result
        func.CallOp([ir.IntegerType.get_signless(32)], ir.FlatSymbolRefAttr.get(DELAY), [time])
        scf.YieldOp([])


def inputs(exe, seed=0, **symbols):
    """Random arrays for an executable's inputs; ``symbols``: sizes."""
    random = np.random.default_rng(seed)
    arrays = []
    for parameter in exe.inputs:
        shape = [s if isinstance(s, int) else symbols[str(s)] for s in parameter.shape]
        if parameter.dtype.kind in "iu":
            arrays.append(random.integers(0, 10, shape).astype(parameter.dtype))
        else:
            arrays.append((random.random(shape) - 0.3).astype(parameter.dtype))
    return arrays
