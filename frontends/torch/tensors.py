"""PyTorch's tensors as numpy arrays on the same memory."""
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


def shared_array(tensor: "torch.Tensor") -> np.ndarray:
    """The tensor as a dense numpy array: on its own memory if it is dense and on the CPU, else a copy."""
    import torch  # pyright: ignore[reportMissingImports]

    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if dense.dtype == torch.bfloat16:
        return dense.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return dense.numpy()
