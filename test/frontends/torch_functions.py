"""Functions of tensors as modules, which is what exporters take."""


def module_of(function):
    """A module whose call is that of a function of tensors."""
    import torch  # pyright: ignore[reportMissingImports]

    class Function(torch.nn.Module):
        def forward(self, *x):
            return function(*x)

    return Function().eval()
