"""Cubins: machine code for one chip, which NVIDIA's assembler ptxas makes of PTX where it is installed, in the driver's stead."""
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from legato.codegen.ptx import TRITON

LOGGER = logging.getLogger(__name__)
SPILLS = re.compile(r"Function properties for (\S+)\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads")
ENTRY = re.compile(r"\.entry (?P<name>[\w$]+)\([^)]*\)\n(?P<directives>(?:\.\w[^\n]*\n)*)")
ALONE = ".minnctapersm 1"


def assembled(text: str, chip: str) -> tuple[str, bytes | None]:
    """PTX, and its machine code for a chip: None where there is no ptxas, and, with a warning, where it does not take the text, as an
    older one that does not know the chip.

    ptxas gives a kernel fewer registers than it needs if more blocks fit on a multiprocessor so. Kernels of which it would keep some in
    memory for that ask for one block, in the text too, where this leaves less in memory.
    """
    if find_ptxas() is None:
        return text, None
    binary, said = _run(text, chip)
    if binary is None:
        LOGGER.warning("%s makes no machine code for %s, so that the CUDA driver compiles the model's PTX each time it is loaded: %s",
                       find_ptxas(), chip, said.strip().partition("\n")[0])
        return text, None
    spilling = spilled(said)
    if spilling and (other := alone(text, spilling)) != text:
        again, said = _run(other, chip)
        if again is not None and sum(spilled(said).values()) < sum(spilling.values()):
            return other, again
    return text, binary


def spilled(said: str) -> dict[str, int]:
    """The kernels of which ptxas keeps registers in memory, by what it said with ``-v``, and the bytes that they store and load."""
    found = {name: int(stores) + int(loads) for name, stores, loads in SPILLS.findall(said)}
    return {name: count for name, count in found.items() if count}


def alone(text: str, kernels: Collection[str]) -> str:
    """PTX in which these kernels ask for one block on a multiprocessor, but for those that ask for a number of them."""
    def changed(found: re.Match[str]) -> str:
        wanted = found["name"] in kernels and ALONE.split()[0] not in found["directives"]
        return f"{found[0]}{ALONE}\n" if wanted else found[0]

    return ENTRY.sub(changed, text)


def _run(text: str, chip: str) -> tuple[bytes | None, str]:
    """The machine code that ptxas makes of PTX, None if it fails, and what it says."""
    assembler = find_ptxas()
    assert assembler is not None
    with tempfile.TemporaryDirectory(prefix="legato-ptxas-") as folder:
        source, made = Path(folder, "model.ptx"), Path(folder, "model.cubin")
        source.write_text(text)
        ran = subprocess.run([assembler, f"-arch={chip}", str(source), "-o", str(made), "-v"], capture_output=True, text=True)
        binary = made.read_bytes() if ran.returncode == 0 and made.is_file() else None
    return binary, ran.stderr or ran.stdout or f"it ended with code {ran.returncode}"


def find_ptxas() -> str | None:
    """NVIDIA's assembler: of the path, a CUDA installation, a package of NVIDIA's, or Triton; None if there is none."""
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    places = [*(Path(root, "bin", "ptxas") for root in roots if root),
              *(found for d in sys.path for found in Path(d, "nvidia").glob("*/bin/ptxas")),
              *(Path(d, TRITON, "bin", "ptxas") for d in sys.path)]
    return shutil.which("ptxas") or next((str(place) for place in places if os.access(place, os.X_OK)), None)
