"""Small modules for the tests of checking."""
import legato
from legato.driver import own_copy
from legato.script import relax


@relax.function
def _layers(x: relax.Tensor(("n", 12), "float32"), w: relax.Tensor((12, 20), "float32"), b: relax.Tensor((20,), "float32")):
    with relax.dataflow():
        y = relax.matmul(x, w)
        z = relax.add(y, b)
        s = relax.nn.softmax(z)
        t = relax.permute_dims(s, (1, 0))
        relax.output(t)
    return t


def layers() -> legato.Module:
    """A product, a broadcast sum, a softmax and a transpose, of n rows."""
    return own_copy(_layers)
