"""depth_to_space and space_to_depth: a reshape, a permutation, a reshape."""
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.targets.rule import rewrite


@rewrite("relax.depth_to_space")
def depth_to_space(op, x):
    """Channels to spatial blocks."""
    n, c, h, w = dims.dims(x.type)
    block = op.attrs["block"]
    left = dims.floor_divide(c, block * block)
    split, order = ([block, block, left], [0, 3, 4, 1, 5, 2]) if op.attrs["mode"] == "DCR" else ([left, block, block], [0, 1, 4, 2, 5, 3])
    spread = relax.permute_dims(relax.reshape(x, [n, *split, h, w]), order)
    return relax.reshape(spread, [n, left, h * block, w * block])


@rewrite("relax.space_to_depth")
def space_to_depth(op, x):
    """Spatial blocks to channels."""
    n, c, h, w = dims.dims(x.type)
    block = op.attrs["block"]
    height, width = dims.floor_divide(h, block), dims.floor_divide(w, block)
    gathered = relax.permute_dims(relax.reshape(x, [n, c, height, block, width, block]), [0, 3, 5, 1, 2, 4])
    return relax.reshape(gathered, [n, c * (block * block), height, width])


RULES = (depth_to_space, space_to_depth)
