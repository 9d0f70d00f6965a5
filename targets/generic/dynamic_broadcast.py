"""Broadcasting of axes of which only a call can tell whether they have size 1."""
from legato.core.mlir import arith, bufferization, ir, memref, scf
from legato.dialects.relax import dims
from legato.dialects.tir.plain import plain_type
from legato.targets.rule import rewrite

DYNAMIC = ir.ShapedType.get_dynamic_size()


@rewrite("relax.dynamic_broadcast_to")
def dynamic_broadcast_to(op, x):
    """Where all sizes are the wanted ones already, x itself: nothing is copied. Else a kernel clamps the indices of these axes."""
    x, result = op.plain(x), plain_type(op.output_types[0])
    shape, given = dims.dims(op.output_types[0]), dims.dims(op.input_types[0])
    sizes = op.sizes(op.output_types[0])
    known = [1 if size == 1 else 2 if size == wanted else 0 for size, wanted in zip(given, shape[len(shape) - len(given):])]
    if len(given) != len(shape) or any(is_one == 1 and wanted != 1 for is_one, wanted in zip(known, shape)):
        return op.call_kernel(_clamped(x.type, result, known), [x], [result], [sizes])
    is_same = None
    for size, wanted, kind in zip(given, shape, known):
        if kind == 0:
            equal = arith.CmpIOp(arith.CmpIPredicate.eq, op.index(size), op.index(wanted)).result
            is_same = equal if is_same is None else arith.AndIOp(is_same, equal).result
    if is_same is None:
        return x
    either = scf.IfOp(is_same, [result], has_else=True)
    with ir.InsertionPoint(either.then_block):
        scf.YieldOp([_resized(x, result, [op.index(size) for size in shape])])
    with ir.InsertionPoint(either.else_block):
        scf.YieldOp(op.call_kernel(_clamped(x.type, result, known), [x], [result], [sizes]))
    return either.results


def _resized(x: ir.Value, type_: ir.RankedTensorType, sizes: list[ir.Value]) -> ir.Value:
    """The memory of ``x``, whose sizes are these, with them as the sizes of its type, so that they can be read off both branches."""
    one = arith.ConstantOp(ir.IndexType.get(), 1).result
    strides, static = [one], [1]
    for size, number in zip(reversed(sizes[1:]), reversed(type_.shape[1:])):
        strides.insert(0, arith.MulIOp(size, strides[0]).result)
        static.insert(0, DYNAMIC if DYNAMIC in (number, static[0]) else number * static[0])
    buffer = bufferization.ToBufferOp(ir.MemRefType.get(x.type.shape, x.type.element_type), x, read_only=True).result
    shaped = ir.MemRefType.get(type_.shape, type_.element_type)
    again = memref.ReinterpretCastOp(shaped, buffer, [], [s for s, n in zip(sizes, type_.shape) if n == DYNAMIC],
                                     [s for s, n in zip(strides, static) if n == DYNAMIC], [0], list(type_.shape), static).result
    return bufferization.ToTensorOp(type_, again, restrict=True).result


def _clamped(type_: ir.RankedTensorType, result: ir.RankedTensorType, known: list[int]) -> str:
    """The kernel. ``known``: for each axis of x whether its size is 1 (1), the result's (2), or one of these (0)."""
    rank, before = result.rank, result.rank - type_.rank
    loops = ", ".join(f"d{i}" for i in range(rank))
    lines, places = [], []
    for axis, kind in enumerate(known):
        if kind == 1:
            places.append("%c0")
            continue
        lines.append(f"%i{axis} = linalg.index {before + axis} : index")
        places.append(f"%i{axis}" if kind == 2 else f"%j{axis}")
        if kind == 0:
            lines.append(f"%j{axis} = arith.minsi %i{axis}, %last{axis} : index")
    ends = [f"%n{a} = arith.constant {a} : index\n%s{a} = tensor.dim %x, %n{a} : {type_}\n%last{a} = arith.subi %s{a}, %c1 : index"
            for a, kind in enumerate(known) if kind == 0]
    iterators = ", ".join(['"parallel"'] * rank)
    return "\n".join([
        f"func.func @dynamic_broadcast_to(%x: {type_}, %out: {result}) -> {result} {{", "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index", *ends,
        f"%r = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>], iterator_types = [{iterators}]}} "
        f"outs(%out : {result}) {{", f"^bb0(%o: {result.element_type}):", *lines,
        f"%v = tensor.extract %x[{', '.join(places)}] : {type_}", f"linalg.yield %v : {result.element_type}", f"}} -> {result}",
        f"return %r : {result}", "}"])


RULES = (dynamic_broadcast_to,)
