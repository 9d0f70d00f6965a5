"""Conversion of layouts changes how values are held, not what is computed, and leaves few permutations."""
import numpy as np
import pytest
from graphs import build, check, names, weights

from legato.dialects import relax
from legato.passes.graph.canonicalize.canonicalize import Canonicalize
from legato.passes.graph.fold_constants import FoldConstants
from legato.passes.graph.layout import layout
from legato.passes.graph.layout.convert_layout import ConvertLayout


def conv(x, out, inputs, size=1, **attributes):
    return relax.conv2d(x, weights(out, inputs, size, size), **attributes)


def as_groups(y, groups, shape):
    return relax.reshape(relax.instance_norm(relax.reshape(y, groups), weights(groups[1]), weights(groups[1])), shape)


CONVERT = (ConvertLayout(in_place=True, norms=True), FoldConstants())


def converted(body, shape=(2, 4, 8, 8), passes=CONVERT):
    return check(build([list(shape)], body), passes)


def permutations(module):
    return names(module).count("permute_dims")


THROUGH = {
    "unary": lambda y: relax.clip(relax.tanh(relax.astype(y, "f32")), min=-0.5, max=0.5),
    "channel constant": lambda y: relax.multiply(y, weights(8, 1, 1)),
    "image constant": lambda y: relax.multiply(y, weights(8, 6, 6)),
    "column constant": lambda y: relax.add(y, weights(6)),
    "number": lambda y: relax.add(relax.constant(np.float32(2)), y),
    "two of them": lambda y: relax.subtract(relax.exp(y), y),
    "where": lambda y: relax.where(relax.less(y, relax.mean(y, axis=[1], keepdims=True)), y, weights(8, 1, 1)),
    "prelu": lambda y: relax.prelu(y, weights(8, 1, 1)),
    "mean over pixels": lambda y: relax.multiply(y, relax.sigmoid(relax.mean(y, axis=[-1, -2], keepdims=True))),
    "sum over channels": lambda y: relax.sum(y, axis=[1]),
    "all": lambda y: relax.max(y),
    "channels of all pixels": lambda y: relax.mean(y, axis=[2, 3]),
    "argmax": lambda y: relax.astype(relax.argmax(y, axis=1), "f32"),
    "cumsum": lambda y: relax.cumsum(y, axis=1),
    "topk": lambda y: relax.topk(y, k=2, axis=1),
    "softmax": lambda y: relax.softmax(y, axis=-3),
    "lrn": lambda y: relax.lrn(y, 3),
    "batch norm": lambda y: relax.batch_norm(y, weights(8), weights(8), relax.constant(np.ones(8, "f")), relax.constant(np.ones(8, "f"))),
    "group norm": lambda y: relax.group_norm(y, weights(8), weights(8), num_groups=4),
    "group norm of one": lambda y: relax.group_norm(y, weights(8), weights(8), num_groups=1, epsilon=0.25),
    "instance norm": lambda y: relax.instance_norm(y, weights(8), weights(8)),
    "groups as instances": lambda y: as_groups(y, [2, 4, 72], [2, 8, 6, 6]),
    "layer norm": lambda y: relax.layer_norm(y, weights(8), weights(8), axes=[1]),
    "concat": lambda y: relax.concat([y, relax.relu(y), y], 1),
    "concat of rows": lambda y: relax.concat([y, y], -2),
    "pad": lambda y: relax.pad(y, [0, 1, 2, 0, 0, 3, 0, 4]),
    "slice": lambda y: relax.strided_slice(y, [1, 0], [7, 5], strides=[2, 1], axes=[1, -1]),
    "slice of leading axes": lambda y: relax.strided_slice(y, [0, 2], [1, 6]),
    "squeeze": lambda y: relax.squeeze(relax.mean(y, axis=[2], keepdims=True), [2]),
    "expand": lambda y: relax.expand_dims(y, [1, 3]),
    "pixels in a row": lambda y: relax.reshape(y, [2, 8, 36]),
    "split channels": lambda y: relax.reshape(y, [2, 2, 4, 6, 6]),
    "shuffle": lambda y: relax.reshape(relax.permute_dims(relax.reshape(y, [2, 2, 4, 6, 6]), [0, 2, 1, 3, 4]), [2, 8, 6, 6]),
    "blocks to channels": lambda y: relax.space_to_depth(y, block=3),
    "channels to blocks": lambda y: relax.depth_to_space(y, block=2),
    "channels to blocks of a channel": lambda y: relax.depth_to_space(y, block=2, mode="CRD"),
    "patches": lambda y: relax.permute_dims(relax.reshape(y, [2, 8, 36]), [0, 2, 1]),
    "own transposition": lambda y: relax.matmul(relax.permute_dims(y, [0, 2, 3, 1]), weights(8, 5)),
    "pools": lambda y: relax.avg_pool2d(relax.max_pool2d(y, [2, 2], padding=[1, 0, 0, 1]), [3, 2], strides=[2, 1], ceil_mode=True),
    "grouped": lambda y: conv(y, 8, 4, groups=2),
    "depthwise": lambda y: conv(y, 16, 1, 3, groups=8, strides=[2, 1], padding=[1, 1, 1, 1], dilations=[1, 2]),
}


MOVING = [THROUGH[name] for name in ("shuffle", "blocks to channels", "channels to blocks", "channels to blocks of a channel")]


@pytest.mark.parametrize("after", THROUGH.values(), ids=THROUGH.keys())
def test_layout_goes_through(after):
    """Between a convolution and a pool after it, or the result, nothing is permuted but what shuffles and blocks themselves move."""
    module = converted(lambda x: after(conv(x, 8, 4, 3)))
    result = module.function().type.results[0]
    held_to_the_end = result.rank > 2
    allowed = 1 + held_to_the_end + (after in MOVING)
    assert permutations(module) <= allowed, str(module)


BARRIERS = {
    "matmul": lambda y: relax.matmul(y, weights(6, 5)),
    "flatten": lambda y: relax.reshape(y, [2, 8 * 36]),
    "groups that stay": lambda y: relax.instance_norm(relax.reshape(y, [2, 4, 72]), weights(4), weights(4)),
    "groups across images": lambda y: as_groups(y, [1, 4, 144], [2, 8, 6, 6]),
    "groups to other sizes": lambda y: as_groups(y, [2, 4, 72], [2, 8, 4, 9]),
    "take": lambda y: relax.take(y, relax.constant(np.array([1, 0], np.int64)), axis=1),
    "norm over two axes": lambda y: relax.layer_norm(y, weights(6, 6), weights(6, 6), axes=[2, 3]),
}


@pytest.mark.parametrize("after", BARRIERS.values(), ids=BARRIERS.keys())
def test_other_ops_get_their_own_order(after):
    module = converted(lambda x: after(conv(x, 8, 4, 3)))
    assert permutations(module) == 2


def test_a_flattened_column_of_channels_needs_no_permutation():
    module = converted(lambda x: relax.matmul(relax.reshape(relax.avg_pool2d(conv(x, 8, 4, 3), [6, 6]), [2, 8]), weights(8, 3)),
                       passes=(ConvertLayout(in_place=True), FoldConstants(), Canonicalize()))  # fmt: skip
    assert names(module) == ["permute_dims", "conv2d", "mean", "reshape", "matmul"]


def test_residual_network_has_one_permutation():
    def body(x):
        y = conv(x, 8, 4, 3, padding=[1, 1, 1, 1])
        for _ in range(3):
            y = relax.relu(relax.add(y, relax.add(conv(relax.relu(y), 8, 8, 3, padding=[1, 1, 1, 1]), weights(8, 1, 1))))
        return relax.mean(y, axis=[2, 3])

    assert permutations(converted(body)) == 1


def test_convolutions_of_one_and_three_axes():
    def body(x):
        y = relax.conv1d(relax.reshape(x, [2, 4, 64]), weights(16, 4, 3))
        z = relax.conv3d(relax.reshape(x, [2, 4, 4, 4, 4]), weights(16, 4, 2, 2, 2))
        return relax.add(relax.mean(relax.max_pool1d(y, [2]), axis=[2]), relax.mean(relax.avg_pool3d(z, [2, 2, 2]), axis=[2, 3, 4]))

    module = converted(body)
    operations = module.function().body.blocks[0].operations
    assert [relax.attributes_of(op)["data_layout"] for op in operations if "conv" in op.operation.name] == ["NWC", "NDHWC"]


def test_channels_first_and_back():
    def body(x):
        y = relax.conv2d(x, weights(3, 3, 8, 8), data_layout="NHWC", kernel_layout="HWIO")
        return relax.max_pool2d(relax.relu(y), [2, 2], layout="NHWC")

    module = converted(body, (2, 8, 8, 8), [ConvertLayout(data_layout="NCHW", kernel_layout="OIHW"), FoldConstants()])
    assert permutations(module) == 2
    check(module, [ConvertLayout(in_place=True), FoldConstants()])
    assert permutations(module) == 0


def test_positions_in_another_order():
    """A Resize works on columns as rows: of tokens that become an image, no permutation is left but that of the result."""
    def body(x):
        y = relax.permute_dims(relax.reshape(relax.permute_dims(x, [0, 2, 1]), [2, 8, 6, 5]), [0, 1, 3, 2])
        rows = relax.take(y, relax.constant(np.array([0, 1, 1, 4, 3], np.int64)), axis=2)
        return conv(relax.permute_dims(rows, [0, 1, 3, 2]), 4, 8, 3)

    assert permutations(converted(body, (2, 30, 8), (Canonicalize(), *CONVERT, Canonicalize()))) == 1


def test_no_groups_of_no_channels():
    module = converted(lambda x: as_groups(relax.max_pool2d(relax.permute_dims(x, [0, 3, 1, 2]), [2, 2]), [2, 0, 49], [2, 0, 7, 7]),
                       (2, 8, 8, 0))
    assert "instance_norm" in names(module)


def test_dynamic_sizes():
    module = build([["n", 4, "h", "h"]], lambda x: relax.reshape(relax.relu(conv(x, 8, 4, 3)), ["n", 2, 4, "h - 2", "h - 2"]))
    check(module, [ConvertLayout(in_place=True), FoldConstants()], [[3, 4, 7, 7]])
    assert permutations(module) == 2


def test_reshapes_seen_through_layouts():
    """The arithmetic alone, against numpy: any reshape of any permutation."""
    random = np.random.default_rng(0)

    def split(factors):
        cuts = np.sort(random.choice(len(factors) + 1, random.integers(0, len(factors) + 1)))
        return [int(part.prod()) for part in np.split(np.array(factors), cuts)]

    for _ in range(500):
        factors = random.choice([1, 1, 2, 3, 5], random.integers(1, 7))
        old, new = split(factors), split(factors)
        perm = tuple(random.permutation(len(old)).tolist())
        how = layout.reshape(perm, old, new)
        assert how is not None
        value = np.arange(np.prod(old)).reshape(old)
        made = value.transpose(how.before).reshape([new[axis] for axis in how.after])
        assert np.array_equal(made, value.reshape(new).transpose(how.after))


def test_what_a_convolution_steps_over_is_not_permuted():
    """Of an image with channels first; of one that is held with channels last already, it steps over elements itself."""
    module = converted(lambda x: conv(conv(x, 8, 4, strides=[2, 1]), 8, 8, strides=[3, 2]))
    assert names(module)[:4] == ["strided_slice", "permute_dims", "conv2d", "conv2d"]
    assert "strided_slice" not in names(converted(lambda x: conv(x, 8, 4, 3, strides=[2, 2])))
    assert "strided_slice" not in names(converted(lambda x: conv(x, 8, 4, strides=[2, 2], padding=[1, 1, 1, 1])))


def test_convolutions_by_one_element_into_few_features_are_products():
    """Of images with channels first; neither of those that are held with channels last, or for others
    that are, nor into more features than there are pixels or
    channels."""
    passes = (ConvertLayout(in_place=True, products=True), FoldConstants())

    def ops(body, shape=(2, 4, 8, 8)):
        return [name for name in names(converted(body, shape, passes)) if name in ("matmul", "conv2d", "permute_dims")]

    assert ops(lambda x: conv(x, 3, 4)) == ["matmul"]
    assert ops(lambda x: conv(x, 4, 2, groups=2, strides=[2, 1])) == ["matmul"]
    assert ops(lambda x: conv(relax.relu(conv(x, 4, 4)), 8, 4, 3))[:3] == ["permute_dims", "conv2d", "conv2d"]
    assert ops(lambda x: conv(conv(x, 8, 4, 3), 4, 8))[:3] == ["permute_dims", "conv2d", "conv2d"]
    for other in (lambda x: conv(x, 8, 4), lambda x: conv(x, 4, 4, strides=[4, 8]), lambda x: conv(x, 3, 4, padding=[1, 1, 1, 1])):
        assert "matmul" not in ops(other)


MIXED = {
    "a bias": lambda y, w: relax.add(relax.matmul(y, w), weights(5)),
    "activations": lambda y, w: relax.multiply(relax.gelu(relax.matmul(y, w)), weights(8, 5)),
    "nothing": relax.matmul,
}


@pytest.mark.parametrize("shape", [(2, 7, 8), (2, 3, 7, 8)])
@pytest.mark.parametrize("name", MIXED)
def test_products_along_rows(name, shape):
    """Nothing is transposed but constants."""
    turned = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    passes = (ConvertLayout(in_place=True, mixes=True), FoldConstants())

    def body(x):
        return relax.permute_dims(MIXED[name](relax.permute_dims(x, turned), weights(7, 5)), turned)

    assert permutations(converted(body, shape, passes)) == 0
