"""from_torch: losses as PyTorch computes them."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
cross_entropy = torch.nn.functional.cross_entropy
WEIGHT = torch.tensor([0.5, 2.0, 1.0, 3.0, 0.25])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"label_smoothing": 0.2}, {"weight": WEIGHT, "label_smoothing": 0.2}],
                         ids=["plain", "weights", "smoothed", "weights, smoothed"])
def test_cross_entropy(options, reduction):
    """Of classes, some of which are ignored, of probabilities, of images, and of one sample."""
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(6, 5, generator=generator)

    def losses(x):
        classes, images = torch.tensor([0, 3, -100, 1, 4, 3]), x.reshape(1, 5, 3, 2)
        return [cross_entropy(given, target, reduction=reduction, **options) for given, target in (
            (x, classes), (x, x.softmax(1)), (images, classes.reshape(1, 3, 2)), (images, images.softmax(1)), (x[0], classes[1]),
            (x[1], x[2].softmax(0)))]

    given = legato.compile(legato.from_torch(module_of(losses), (x,)))(x)
    torch.testing.assert_close(list(given), losses(x))
