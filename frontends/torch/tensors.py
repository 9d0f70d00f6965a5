"""PyTorch's tensors as numpy arrays on the same memory, and the reverse."""
from typing import TYPE_CHECKING, Any

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


def result_tensors(given: Any) -> "list[torch.Tensor]":
    """The results of an executable as torch tensors: they are arrays if no argument is a tensor, and then keep their memory."""
    results = given if isinstance(given, tuple) else (given,)
    return [_tensor_on(value) if isinstance(value, np.ndarray) else value for value in results]


def _tensor_on(array: np.ndarray) -> "torch.Tensor":
    import torch  # pyright: ignore[reportMissingImports]

    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)
