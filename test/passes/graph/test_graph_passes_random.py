"""The graph passes on random graphs of images: whatever they do must not change what is computed."""
import numpy as np
import pytest
from graphs import build, check, weights
from thoroughly import sampled

from legato.dialects import relax
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.fold_constants import FoldConstants
from legato.passes.graph.infer_shapes import InferShapes
from legato.passes.graph.layout.convert_layout import ConvertLayout

PASSES = (InferShapes(), FoldConstants(), Canonicalize(), ConvertLayout(), FoldConstants(), Canonicalize(), FoldConstants())


def broadcast_shape(random, shape):
    """A shape that broadcasts to this one."""
    kept = shape[random.integers(0, len(shape) + 1) :]
    return [1 if random.random() < 0.5 else size for size in kept]


def split_shape(random, shape):
    """The same elements in another shape: neighbours merged, then some divided."""
    merged = []
    for size in shape:
        if merged and random.random() < 0.4:
            merged[-1] *= size
        else:
            merged.append(size)
    made = []
    for size in merged:
        if size % 2 == 0 and random.random() < 0.5:
            made += [2, size // 2] if random.random() < 0.5 else [size // 2, 2]
        else:
            made.append(size)
        if random.random() < 0.1:
            made.append(1)
    return made[:6] if np.prod(made[:6]) == np.prod(shape) else list(shape)


def step(random, values):
    """One more value, made of those there are."""
    x = values[random.integers(max(0, len(values) - 3), len(values))]
    shape = list(x.type.shape)
    rank = len(shape)
    choice = random.integers(0, 16)
    if choice == 0 and rank == 4:
        attributes = {"padding": [1, 0, 0, 1]} if random.random() < 0.5 else {}
        groups = 2 if shape[1] % 2 == 0 and random.random() < 0.4 else 1
        size = int(min(2, shape[2], shape[3]))
        return relax.conv2d(x, weights(4, shape[1] // groups, size, size), groups=groups, **attributes)
    if choice == 1 and rank == 4:
        pool = relax.max_pool2d if random.random() < 0.5 else relax.avg_pool2d
        return pool(x, [min(2, shape[2]), min(3, shape[3])])
    if choice == 2 and rank == 4:
        c = shape[1]
        return relax.batch_norm(x, weights(c), weights(c), weights(c), weights(c))
    if choice in (3, 4):
        op = relax.OPS[random.choice(["add", "multiply", "subtract", "maximum"])].build
        other = weights(*broadcast_shape(random, shape))
        return op(x, other) if random.random() < 0.7 else op(other, x)
    if choice == 5:
        return relax.divide(x, weights(*broadcast_shape(random, shape)))
    if choice == 6:
        others = [value for value in values if list(value.type.shape) == shape]
        return relax.add(x, others[random.integers(len(others))])
    if choice == 7:
        return relax.OPS[random.choice(["relu", "tanh", "sigmoid", "square", "abs", "negative"])].build(x)
    if choice == 8:
        return relax.permute_dims(x, random.permutation(rank).tolist())
    if choice in (9, 10):
        return relax.reshape(x, split_shape(random, shape))
    if choice == 11:
        axes = sorted(random.choice(rank, random.integers(1, rank + 1), replace=False).tolist())
        return relax.OPS[random.choice(["mean", "sum", "max"])].build(x, axis=axes, keepdims=bool(random.random() < 0.7))
    if choice == 12:
        return relax.softmax(x, axis=int(random.integers(rank)))
    if choice == 13:
        others = [value for value in values if list(value.type.shape) == shape]
        return relax.concat([x, others[random.integers(len(others))]], int(random.integers(rank)))
    if choice == 14:
        axis = int(random.integers(rank))
        return relax.strided_slice(x, [0], [max(1, shape[axis] // 2)], axes=[axis])
    return relax.matmul(x, weights(shape[-1], 3))


def graph(random):
    def body(x):
        values = [x]
        while len(values) < 14:
            value = step(random, values)
            if 0 < np.prod(value.type.shape) < 5000 and value.type.rank > 0:
                values.append(value)
        flat = [relax.reshape(value, [int(np.prod(value.type.shape))]) for value in values[-4:]]
        # Sums of many, or of products of many, would hide an error in one of them.
        return relax.tanh(relax.concat(flat, 0))

    return build([[2, 4, 6, 6]], body)


@pytest.mark.parametrize("start", sampled(range(0, 120, 20), 2))
def test_random_graphs(start):
    for seed in range(start, start + 20):
        check(graph(np.random.default_rng(seed)), PASSES, tolerance=1e-4)
