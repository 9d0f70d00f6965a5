"""pad by the mirror image, the edge or a repetition: what is padded is copied by rows, and the border alone has computed indices."""
from math import prod

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.sizes import dims, plus
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, extract, inserted, is_empty, loop_index, names, put, window
from legato.targets.generic.movement import folded
from legato.targets.rule import kernel

ROW = 32    # neighbouring elements that are copied at once, at least: fewer take as long as computed indices


@kernel("relax.pad", priority=1)
def mirrored_pad(k, x, out):
    """The input in the middle of the output, and around it windows of the border: the first axis's as wide as the output."""
    pads, mode, rank = k.attrs["pads"], k.attrs["mode"], x.type.rank
    padded = [axis for axis in range(rank) if pads[axis] or pads[rank + axis]]
    if mode == "constant" or min(pads, default=0) < 0 or not padded or is_empty(x):
        return Refusal("it is padded by a constant, or cut")
    behind = x.type.shape[padded[-1]:]
    if ir.ShapedType.get_dynamic_size() not in behind and prod(behind) < ROW:
        return Refusal(f"its rows have fewer than {ROW} elements")
    begins, sizes, whole = pads[:rank], dims(x), dims(out)
    k.writes_all()
    out = put(x, out, begins)

    def border(out: ir.Value, first: list, extents: list) -> ir.Value:
        """``out`` with the window that begins at ``first``."""
        def pick(_) -> ir.Value:
            places = []
            for axis in range(rank):
                place = arith.addi(loop_index(axis), index_value(first[axis]))
                if axis in padded:
                    place = folded(arith.subi(place, index_value(begins[axis])), sizes[axis], mode, max(pads[axis], pads[rank + axis]))
                places.append(place)
            return extract(x, places)

        return inserted(compute(window(out, first, extents), ", ".join(names(rank)), [], pick), out, first)

    for axis in padded:
        first = [*begins[:axis], *[0] * (rank - axis)]
        extents = [*sizes[:axis], None, *whole[axis + 1:]]
        for begin, count in ((0, pads[axis]), (plus(sizes[axis], begins[axis]), pads[rank + axis])):
            if count:
                out = border(out, [*first[:axis], begin, *first[axis + 1:]], [*extents[:axis], count, *extents[axis + 1:]])
    return out


RULES = (mirrored_pad,)
