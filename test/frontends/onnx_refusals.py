"""Models that cannot be imported, and their errors."""
import numpy as np
import pytest
from onnx import helper
from onnx_check import imported, model, value

from legato import LegatoError

X = np.ones((2, 3), np.float32)


def node(op, inputs, outputs, name="/n", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **attributes)


def chain(*nodes, opset=20, constants=None, **options):
    return model(nodes, [value("x", X)], [nodes[-1].output[0]], opset, constants, **options)


def refuses(proto, *texts, kind=LegatoError, **options) -> LegatoError:
    """The error, which must be of exactly this kind and say all these texts."""
    with pytest.raises(LegatoError) as caught:
        imported(proto, **options)
    assert type(caught.value) is kind
    for text in texts:
        assert text in str(caught.value)
    return caught.value
