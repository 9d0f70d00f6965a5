"""The ways in which an architecture is exported."""
from dataclasses import dataclass

EXPORTERS = {"dynamo": "torch.onnx.export", "script": "torch.onnx.export(dynamo=False)"}
SIZES = {"static": "no size may change", "batch": "the batch may change", "all": "batch, lengths, heights and widths may change"}


@dataclass(frozen=True)
class Way:
    """An exporter and a choice of the sizes that calls may change."""

    exporter: str
    sizes: str

    def __str__(self) -> str:
        return f"{self.exporter}-{self.sizes}"


WAYS = tuple(Way(exporter, sizes) for exporter in EXPORTERS for sizes in SIZES)
