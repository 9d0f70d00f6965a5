"""What an NVIDIA GPU says about itself, asked of the CUDA driver: its name, and what it can do at most."""
import ctypes
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from legato.core.errors import LegatoError

CLOCK, MULTIPROCESSORS, MEMORY_CLOCK, BUS_BITS, MAJOR, MINOR = 13, 16, 36, 37, 75, 76      # of CUdevice_attribute; clocks in kHz
FEW_LANES = (60, 62, 70, 72, 75, 80)    # chips with 64 units for f32 in a multiprocessor; others have 128


@dataclass(frozen=True)
class CudaFigures:
    """``chip``: 90 for sm_90. ``memory``: bytes. ``gflops``: f32 fused multiply-adds without tensor cores, in GFLOP/s; ``bandwidth``: of
    the device's memory, in GB/s; both by its highest clocks."""

    name: str
    chip: int
    multiprocessors: int
    memory: int
    gflops: float
    bandwidth: float


@cache
def cuda_figures() -> CudaFigures:
    """The device that models run on in this process: the first, or LEGATO_CUDA_DEVICE. LegatoError if the driver does not say."""
    try:
        driver = ctypes.CDLL(os.environ.get("LEGATO_LIBCUDA") or "libcuda.so.1")
    except OSError as error:
        raise LegatoError(f"the CUDA driver cannot be loaded: {error}. Install NVIDIA's driver, or say where it is "
                          "(LEGATO_LIBCUDA)") from error
    handle, name, memory = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()

    def asked(doing: str, code: int) -> None:
        if code:
            raise LegatoError(f"CUDA: {doing} failed (error {code})")

    def attribute(which: int) -> int:
        found = ctypes.c_int()
        asked(f"asking for the device's attribute {which}", driver.cuDeviceGetAttribute(ctypes.byref(found), which, handle))
        return found.value

    asked("starting the driver", driver.cuInit(0))
    asked("finding the device", driver.cuDeviceGet(ctypes.byref(handle), _ordinal()))
    asked("asking for the device's name", driver.cuDeviceGetName(name, len(name), handle))
    asked("asking for the device's memory", driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle))
    chip, count = 10 * attribute(MAJOR) + attribute(MINOR), attribute(MULTIPROCESSORS)
    lanes = 64 if chip in FEW_LANES else 128
    return CudaFigures(name.value.decode(), chip, count, memory.value, 2e-6 * count * lanes * attribute(CLOCK),
                       2e-6 * attribute(MEMORY_CLOCK) * attribute(BUS_BITS) / 8)


def _ordinal() -> Any:
    """The number of the device."""
    given = os.environ.get("LEGATO_CUDA_DEVICE", "") or "0"
    if not given.isdigit():
        raise LegatoError(f"LEGATO_CUDA_DEVICE={given} is no device: it takes a number from 0")
    return int(given)
