"""The dialect of coprocessor.py."""
from legato.core.mlir import ext


class Coprocessor(ext.Dialect, name="coprocessor"):
    """What the device has beyond upstream's ops."""


class Wait(Coprocessor.Operation, name="wait"):
    """Waits for the device."""
