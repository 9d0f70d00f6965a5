"""Results of data-dependent size: nonzero by two kernels (the first counts, then main allocates, the second fills the result), and sizes
that are elements of tensors."""
from collections.abc import Sequence

from legato.core.mlir import arith, ir, tensor
from legato.dialects.relax.markers import SYMBOL
from legato.dialects.tir.extern import call_extern
from legato.dialects.tir.markers import KEEP_SIZE, NAMED_SIZE
from legato.dialects.tir.plain import memory_element
from legato.targets.rule import rewrite

TEST = {"f": 'arith.cmpf une', "i": "arith.cmpi ne"}


@rewrite("relax.nonzero")
def nonzero(op, x):
    """A kernel that counts, an allocation, and a kernel that stores the indices."""
    type_ = op.plain(x).type
    rank, i64 = type_.rank, ir.IntegerType.get_signless(64)
    counted = op.call_kernel(_count(type_), [x], [ir.RankedTensorType.get([1], i64)], [[]])[0]
    size = counted_size(counted, op.attrs["size"])
    result = ir.RankedTensorType.get([rank, ir.ShapedType.get_dynamic_size()], i64)
    return op.call_kernel(_fill(type_, result), [x], [result], [[size]])


def counted_size(counted: ir.Value, symbol: str) -> ir.Value:
    """The value of a symbol, which a kernel has counted: the element of a vector of one i64."""
    index = ir.IndexType.get()
    size = arith.IndexCastOp(index, tensor.ExtractOp(counted, [arith.ConstantOp(index, 0).result]).result)
    size.operation.attributes[SYMBOL] = ir.StringAttr.get(symbol)
    return size.result


def _count(type_: ir.RankedTensorType) -> str:
    """The kernel that counts nonzero elements."""
    inner = [*_test(type_), "%one = arith.extui %is : i1 to i64", "%next = arith.addi %n, %one : i64", "scf.yield %next : i64"]
    return _function("nonzero_count", type_, "tensor<1xi64>", [
        "%none = arith.constant 0 : i64", *_loops(type_, {"n": ("%none", "i64")}, inner),
        "%r = tensor.insert %n_end into %out[%c0] : tensor<1xi64>", "return %r : tensor<1xi64>"])


def _fill(type_: ir.RankedTensorType, result: ir.RankedTensorType) -> str:
    """The kernel that stores the indices of nonzero elements."""
    inner = [*_test(type_), f"%put:2 = scf.if %is -> (index, {result}) {{"]
    last = "%o"
    for axis in range(type_.rank):
        inner += [f"%j{axis} = arith.index_cast %i{axis} : index to i64",
                  f"%w{axis} = tensor.insert %j{axis} into {last}[%axis{axis}, %p] : {result}"]
        last = f"%w{axis}"
    inner += ["%behind = arith.addi %p, %c1 : index", f"scf.yield %behind, {last} : index, {result}", "} else {",
              f"scf.yield %p, %o : index, {result}", "}", f"scf.yield %put#0, %put#1 : index, {result}"]
    loops = _loops(type_, {"p": ("%c0", "index"), "o": ("%out", str(result))}, inner)
    return _function("nonzero_fill", type_, str(result), [*loops, f"return %o_end : {result}"])


def _loops(type_: ir.RankedTensorType, carried: dict[str, tuple[str, str]], inner: Sequence[str]) -> list[str]:
    """Loops ``%i0``, ``%i1``, ... over all elements, around the lines ``inner``. ``carried``: name to initial value and type; the
    value is ``%name`` inside the last loop, and ``%name_end`` after all."""
    rank, types = type_.rank, ", ".join(t for _, t in carried.values())
    lines = []
    for axis in range(rank):
        lines += [f"%axis{axis} = arith.constant {axis} : index", f"%size{axis} = tensor.dim %x, %axis{axis} : {type_}"]

    def named(name: str, axis: int) -> str:
        return f"%{name}" if axis == rank - 1 else f"%{name}_{axis}"

    for axis in range(rank):
        begin = {name: first if axis == 0 else named(name, axis - 1) for name, (first, _) in carried.items()}
        results = ", ".join(f"%{name}_end" if axis == 0 else f"%{name}_end_{axis}" for name in carried)
        given = ", ".join(f"{named(name, axis)} = {value}" for name, value in begin.items())
        lines.append(f"{results} = scf.for %i{axis} = %c0 to %size{axis} step %c1 iter_args({given}) -> ({types}) {{")
    lines += inner
    for axis in reversed(range(rank)):
        lines.append("}")
        if axis:
            lines.append(f"scf.yield {', '.join(f'%{name}_end_{axis}' for name in carried)} : {types}")
    return lines


def _test(type_: ir.RankedTensorType) -> list[str]:
    """The test whether an element is nonzero; NaN is."""
    places = [f"%i{axis}" for axis in range(type_.rank)]
    element = memory_element(type_.element_type)
    is_float = isinstance(element, ir.FloatType)
    return [f"%v = tensor.extract %x[{', '.join(places)}] : {type_}", f"%zero = arith.constant {'0.0' if is_float else '0'} : {element}",
            f"%is = {TEST['f' if is_float else 'i']}, %v, %zero : {element}"]


def _function(name: str, type_: ir.RankedTensorType, result: str, body: Sequence[str]) -> str:
    head = f"func.func @{name}(%x: {type_}, %out: {result}) -> {result} attributes {{tir.writes_all}} {{"
    return "\n".join([head, "%c0 = arith.constant 0 : index",
                      "%c1 = arith.constant 1 : index", *body, "}"])


@rewrite("relax.size_of")
def size_of(op, x):
    """A kernel that reads the elements, so that no later pass folds them; main has them as index values."""
    type_, index = op.plain(x).type, ir.IndexType.get()
    count = len(op.attrs["sizes"])
    if count == 0:
        return tensor.EmptyOp([0], ir.IntegerType.get_signless(8)).result
    read = op.call_kernel(_read(type_, count, op.input_types[0].element_type), [x],
                          [ir.RankedTensorType.get([count], ir.IntegerType.get_signless(64))], [[]])[0]
    sizes = []
    for number, size in enumerate(op.attrs["sizes"]):
        element = tensor.ExtractOp(read, [arith.ConstantOp(index, number).result]).result
        sizes.append(arith.IndexCastOp(index, element))
        sizes[-1].operation.attributes[SYMBOL] = ir.StringAttr.get(str(size))
        call_extern(KEEP_SIZE, [sizes[-1].result])      # it is checked, though nothing else may need it
    return tensor.EmptyOp([*(size.result for size in sizes), 0], ir.IntegerType.get_signless(8)).result


@rewrite("relax.name_sizes")
def name_sizes(op, x):
    """The tensor as it is; a function that no code has takes each of its sizes that the type in memory does not know, until memory is
    planned."""
    value, index = op.plain(x), ir.IndexType.get()
    for axis, size in enumerate(op.attrs["sizes"]):
        if not isinstance(size, int):
            extent = tensor.DimOp(value, arith.ConstantOp(index, axis).result).result
            (named,) = call_extern(NAMED_SIZE, [extent], [index])
            named.owner.attributes[SYMBOL] = ir.StringAttr.get(str(size))
    return value


def _read(type_: ir.RankedTensorType, count: int, element: ir.Type) -> str:
    """The kernel that widens the elements to i64. ``element``: their type, with its sign."""
    lines, width = [], type_.element_type.width
    extend = "extui" if element.is_unsigned else "extsi"
    for i in range(count):
        place = f"%p{i}" if type_.rank else ""
        lines += [f"%p{i} = arith.constant {i} : index", f"%v{i} = tensor.extract %x[{place}] : {type_}"]
        wide = f"%v{i}"
        if width < 64:
            wide = f"%w{i}"
            lines.append(f"{wide} = arith.{extend} %v{i} : i{width} to i64")
        lines.append(f"%o{i} = tensor.insert {wide} into {f'%o{i - 1}' if i else '%out'}[%p{i}] : tensor<{count}xi64>")
    return _function("size_of", type_, f"tensor<{count}xi64>", [*lines, f"return %o{count - 1} : tensor<{count}xi64>"])


RULES = (nonzero, size_of, name_sizes)
