"""legato.from_torch: images of bytes that are resized, bit by bit as PyTorch does it."""
import pytest
from torch_functions import module_of

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("fresh_torch")
ANY = torch.export.Dim.DYNAMIC


@pytest.mark.parametrize("how", [
    {"mode": "bicubic", "antialias": True, "size": (18, 5)}, {"mode": "bilinear", "antialias": True, "scale_factor": 0.3},
    {"mode": "bicubic", "align_corners": True, "scale_factor": 1.7}, {"mode": "bilinear", "size": (18, 7)},
], ids=str)
@pytest.mark.parametrize("sizes", ["known", "free"])
def test_bytes(how, sizes):
    """Black and white pixels overshoot by cubic weights, which is cut off between the two axes."""
    def resized(x):
        return torch.nn.functional.interpolate(x, **how)

    images = [torch.randint(0, 256, (1, 3, 9, 7), dtype=torch.uint8), torch.randint(0, 2, (2, 3, 21, 30), dtype=torch.uint8) * 255]
    for image in images[:1] if sizes == "free" else images:
        dynamic = ({0: ANY, 2: ANY, 3: ANY},) if sizes == "free" else None
        module = legato.from_torch(module_of(resized), (image,), dynamic_shapes=dynamic and (dynamic,))
        exe = legato.compile(module)
        for given in images if sizes == "free" else [image]:
            torch.testing.assert_close(torch.as_tensor(exe(given)), resized(given), rtol=0, atol=0)
