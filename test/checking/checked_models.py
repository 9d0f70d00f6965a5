"""Small modules for the tests of checking, with a name for each op."""
import legato
from legato.compilable import own_copy
from legato.script import relax


@relax.function
def _rows(x: relax.Tensor(("n", 12), "float32"), w: relax.Tensor((12, 12), "float32"), b: relax.Tensor((12,), "float32")):
    with relax.dataflow():
        product = relax.matmul(x, w)
        biased = relax.add(product, b)
        gap = relax.subtract(biased, x)
        shares = relax.nn.softmax(gap)
        below = relax.negative(relax.abs(gap))
        highest = relax.max(below, axis=1, keepdims=True)
        mixed = relax.multiply(shares, highest)
        turned = relax.permute_dims(mixed, (1, 0))
        average = relax.mean(turned, axis=0)
        smaller = relax.where(relax.less(gap, x), gap, biased)
        relax.output(turned, average, smaller)
    return turned, average, smaller


@relax.function
def _square(x: relax.Tensor((12, 12), "float32"), w: relax.Tensor((12, 12), "float32"), b: relax.Tensor((12,), "float32")):
    with relax.dataflow():
        product = relax.matmul(x, w)
        biased = relax.add(product, b)
        gap = relax.subtract(biased, x)
        turned = relax.permute_dims(gap, (1, 0))
        doubled = relax.add(turned, turned)
        relax.output(gap, turned, doubled)
    return gap, turned, doubled


@relax.function
def _image(x: relax.Tensor((1, 3, 9, 9), "float32"), w: relax.Tensor((8, 3, 3, 3), "float32"), bytes: relax.Tensor((3, 20), "uint8"),
           more: relax.Tensor((20,), "uint8")):
    with relax.dataflow():
        seen = relax.nn.conv2d(x, w, padding=(1, 1, 1, 1))
        pooled = relax.nn.max_pool2d(seen, (2, 2), strides=(2, 2))
        greatest = relax.maximum(bytes, more)
        numbers = relax.astype(bytes, "float32")
        relax.output(pooled, greatest, numbers)
    return pooled, greatest, numbers


@relax.function
def _columns(x: relax.Tensor((12, "n"), "float32"), b: relax.Tensor((12, 1), "float32"), y: relax.Tensor(("n", 12), "float32")):
    with relax.dataflow():
        gap = relax.subtract(x, b)
        average = relax.mean(gap, axis=0)
        shares = relax.nn.softmax(y)
        relax.output(gap, average, shares)
    return gap, average, shares


def rows() -> legato.Module:
    """Products, broadcasts, reductions and a transpose of n rows."""
    return own_copy(_rows)


def square() -> legato.Module:
    """The same, of 12 rows and columns: what is the wrong way round fits, too."""
    return own_copy(_square)


def image() -> legato.Module:
    """A convolution, a pool, and unsigned bytes."""
    return own_copy(_image)


def columns() -> legato.Module:
    """What a GPU adds up in shared memory, along columns, and by shuffles, along rows."""
    return own_copy(_columns)
