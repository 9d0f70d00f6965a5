"""Networks that ``bench.others`` writes: small ones of kinds that model libraries have in sizes too large, or not at all."""
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]


def _convolved(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """Segmentation: images halved three times, and doubled again beside what they were."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        sizes = [width << level for level in range(4)]
        self.down = nn.ModuleList(nn.Sequential(_convolved(a, b), _convolved(b, b)) for a, b in zip([3, *sizes], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * b, b, 2, 2) for b in sizes[-2::-1])
        self.joined = nn.ModuleList(nn.Sequential(_convolved(2 * b, b), _convolved(b, b)) for b in sizes[-2::-1])
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two numbers for each pixel."""
        kept = []
        for level in self.down:
            x = level(x if not kept else functional.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, joined in zip(self.up, self.joined):
            x = joined(torch.cat([up(x), kept.pop()], 1))
        return self.last(x)


class Residual(nn.Module):
    """A block of diffusion models: group norms, SiLU and convolutions."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)])
        self.convolutions = nn.ModuleList([nn.Conv2d(inputs, outputs, 3, 1, 1), nn.Conv2d(outputs, outputs, 3, 1, 1)])
        self.beside = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An image of the same size."""
        y = x
        for norm, convolution in zip(self.norms, self.convolutions):
            y = convolution(functional.silu(norm(y)))
        return self.beside(x) + y


class Upscaler(nn.Module):
    """Super-resolution: dense blocks, and pixels from channels."""

    def __init__(self, width: int = 32, more: int = 16) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, 1, 1), nn.Conv2d(width, 3, 3, 1, 1)
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv2d(width + k * more, more if k < 3 else width, 3, 1, 1) for k in range(4))
                                    for _ in range(4))
        self.wide = nn.Conv2d(width, 4 * width, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An image of twice the size."""
        x = self.first(x)
        for *inner, last in self.blocks:
            found = [x]
            for convolution in inner:
                found.append(functional.leaky_relu(convolution(torch.cat(found, 1)), 0.2))
            x = x + 0.2 * last(torch.cat(found, 1))
        return self.last(functional.leaky_relu(functional.pixel_shuffle(self.wide(x), 2), 0.2))


class Vocoder(nn.Module):
    """Sound from a spectrogram: transposed and dilated convolutions of one dimension."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.first, self.up, self.inner = nn.Conv1d(80, width, 7, 1, 3), nn.ModuleList(), nn.ModuleList()
        for rate, size in ((8, 16), (8, 16), (2, 4)):
            self.up.append(nn.ConvTranspose1d(width, width // 2, size, rate, (size - rate) // 2))
            width //= 2
            self.inner.append(nn.ModuleList(nn.Conv1d(width, width, k, 1, (k - 1) * d // 2, d) for k in (3, 7, 11) for d in (1, 3)))
        self.last = nn.Conv1d(width, 1, 7, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """128 samples for each column."""
        x = self.first(x)
        for up, inner in zip(self.up, self.inner):
            x = up(functional.leaky_relu(x, 0.1))
            for convolution in inner:
                x = x + convolution(functional.leaky_relu(x, 0.1))
        return torch.tanh(self.last(functional.leaky_relu(x)))


class Temporal(nn.Module):
    """A temporal convolutional network: dilated convolutions with residuals."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.first = nn.Conv1d(12, width, 1)
        self.inner = nn.ModuleList(nn.Conv1d(width, width, 3, padding=2 ** d, dilation=2 ** d) for d in range(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As many columns."""
        x = self.first(x)
        for convolution in self.inner:
            x = x + functional.relu(convolution(x))
        return x


class First(nn.Module):
    """The first result of a module."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Without states."""
        return self.module(x)[0]


class VolumeUNet(nn.Module):
    """Segmentation of volumes: halved once, and doubled again beside what they were."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        def normed(inputs: int, outputs: int) -> nn.Module:
            return nn.Sequential(nn.Conv3d(inputs, outputs, 3, 1, 1), nn.InstanceNorm3d(outputs), nn.LeakyReLU())

        self.first, self.inner, self.joined = normed(1, width), normed(width, 2 * width), normed(2 * width, width)
        self.up, self.last = nn.ConvTranspose3d(2 * width, width, 2, 2), nn.Conv3d(width, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Three numbers for each voxel."""
        x = self.first(x)
        return self.last(self.joined(torch.cat([self.up(self.inner(functional.max_pool3d(x, 2))), x], 1)))


class GraphNetwork(nn.Module):
    """A graph's nodes add up what their neighbours have. ``repeated``: by indices for each feature, as PyTorch Geometric does."""

    def __init__(self, repeated: bool, width: int = 128) -> None:
        super().__init__()
        self.layers, self.repeated = nn.ModuleList([nn.Linear(64, width), nn.Linear(width, width), nn.Linear(width, 16)]), repeated

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """16 numbers for each node. ``edges``: from, and to."""
        for layer in self.layers:
            y = layer(functional.relu(x))
            read, to = y[edges[0]], edges[1]
            zeros = torch.zeros_like(y)
            x = zeros.scatter_add(0, to.view(-1, 1).expand_as(read), read) if self.repeated else zeros.index_add(0, to, read)
        return x


class Spectral(nn.Module):
    """Layers that filter signals by their Fourier transforms."""

    def __init__(self, length: int = 2048, width: int = 16) -> None:
        super().__init__()
        self.filters = nn.Parameter(torch.randn(3, width, length // 2 + 1))
        self.length, self.mixed = length, nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Signals of the same length."""
        for filters, mixed in zip(self.filters, self.mixed):
            x = functional.gelu(mixed(torch.fft.irfft(torch.fft.rfft(x) * filters, self.length)) + x)
        return x
