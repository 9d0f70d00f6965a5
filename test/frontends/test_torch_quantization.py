"""Values that are rounded to integers of a scale, as quantization-aware training leaves them, by torch.compile and by from_torch, against
PyTorch itself."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
LIMITS = [(-8, 7), (0, 15), (-128, 127), (0, 255), (-127, 127), (-2048, 2047)]
SCALES, ZEROS = torch.tensor([0.1, 0.25, 0.05, 0.3]), torch.tensor([0, 1, -1, 3], dtype=torch.int32)
ROUNDED = {
    "numbers": lambda x, least, most: torch.fake_quantize_per_tensor_affine(x, 0.25, 3, least, most),
    "tensors": lambda x, least, most: torch.fake_quantize_per_tensor_affine(x, SCALES[0], ZEROS[1], least, most),
    "channels": lambda x, least, most: torch.fake_quantize_per_channel_affine(x, SCALES, ZEROS.clamp(least, most), 1, least, most),
    "last_channels": lambda x, least, most: torch.fake_quantize_per_channel_affine(x.mT, SCALES, ZEROS.clamp(least, most), 2, least, most),
}


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_to_limits(name, limits):
    x = torch.cat([torch.randn(2, 4, 40) * 3, torch.arange(-12, 12).mul(0.125).expand(2, 4, 24)], -1)    # with ties

    def function(x):
        return ROUNDED[name](x, *limits)

    imported = legato.compile(legato.from_torch(module_of(function), (x,)))
    for ours in (torch.compile(function, backend="legato")(x), imported(x)):
        torch.testing.assert_close(ours, function(x), rtol=1e-6, atol=0)
