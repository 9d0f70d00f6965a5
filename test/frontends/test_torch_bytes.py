"""from_torch: images of bytes that are resized, against PyTorch itself, which rounds them."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
interpolate = torch.nn.functional.interpolate
SIZES = {"size": (13, 9)}
CASES = {
    "bilinear": {"mode": "bilinear", **SIZES}, "aligned": {"mode": "bilinear", "align_corners": True, **SIZES},
    "bicubic": {"mode": "bicubic", **SIZES}, "filtered": {"mode": "bicubic", "antialias": True, "size": (5, 6)},
    "scales": {"mode": "bilinear", "scale_factor": (1.7, 0.8)},
    "filtered scales": {"mode": "bilinear", "antialias": True, "scale_factor": 0.7},
}


@pytest.mark.parametrize("case", CASES)
def test_bytes(case):
    x = torch.randint(0, 256, (2, 3, 10, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
    given = legato.compile(legato.from_torch(module_of(lambda x: interpolate(x, **CASES[case])), (x,)))(x)
    expected = interpolate(x, **CASES[case])
    assert given.dtype == torch.uint8 and given.shape == expected.shape
    difference = (given.int() - expected.int()).abs()
    assert difference.max() <= 1
    assert (difference != 0).float().mean() < 0.15     # halves, by torch's weights of 16 bits; about 0.5 where bytes are cut off
