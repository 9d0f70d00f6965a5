"""``torch.compile(model, backend="legato")`` beside PyTorch itself."""
import time
import warnings

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from legato.torch_backend import torch_backend

from .check import TOLERANCE, error_of
from .models import arguments, model


def attempt(name: str) -> bool:
    """Prints the largest error over calls of three sizes, or why they fail. Whether they run."""
    warnings.simplefilter("ignore")
    if "legato" not in torch._dynamo.list_backends():   # the package is not installed
        torch._dynamo.backends.registry.register_backend(torch_backend, name="legato")
    torch._dynamo.reset()
    started, worst = time.perf_counter(), 0.0
    try:
        with torch.no_grad():
            whole = model(name)
            compiled = torch.compile(whole, backend="legato")
            for size, length in ((2, 12), (3, 19), (5, 9)):
                given = tuple(arguments(name, size, length).values())
                for ours, theirs in zip(compiled(*given), whole(*given), strict=True):
                    worst = max(worst, error_of(np.asarray(ours), np.asarray(theirs)))
        text = f"{worst:.1e}" + ("" if worst < TOLERANCE else "  WRONG")
    except Exception as reason:
        worst, text = float("inf"), f"{type(reason).__name__}: {' '.join(str(reason).split())[:300]}"
    print(f"{name:16} {time.perf_counter() - started:6.1f} s  {text}", flush=True)
    return worst < TOLERANCE
