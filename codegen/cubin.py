"""Cubins: machine code for one chip, which NVIDIA's assembler ptxas makes of PTX where it is installed, in the driver's stead."""
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from legato.codegen.ptx import TRITON

LOGGER = logging.getLogger(__name__)


def cubin(text: str, chip: str) -> bytes | None:
    """The machine code of PTX for a chip; None where there is no ptxas, and, with a warning, where it does not take the text: an older one
    does not know newer chips."""
    assembler = find_ptxas()
    if assembler is None:
        return None
    with tempfile.TemporaryDirectory(prefix="legato-ptxas-") as folder:
        source, made = Path(folder, "model.ptx"), Path(folder, "model.cubin")
        source.write_text(text)
        ran = subprocess.run([assembler, f"-arch={chip}", str(source), "-o", str(made)], capture_output=True, text=True)
        if ran.returncode == 0 and made.is_file():
            return made.read_bytes()
    said = (ran.stderr or ran.stdout).strip().splitlines()
    LOGGER.warning("%s makes no machine code for %s, so that the CUDA driver compiles the model's PTX each time it is loaded: %s",
                   assembler, chip, said[0] if said else f"it ended with code {ran.returncode}")
    return None


def find_ptxas() -> str | None:
    """NVIDIA's assembler: of the path, a CUDA installation, a package of NVIDIA's, or Triton; None if there is none."""
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    places = [*(Path(root, "bin", "ptxas") for root in roots if root),
              *(found for d in sys.path for found in Path(d, "nvidia").glob("*/bin/ptxas")),
              *(Path(d, TRITON, "bin", "ptxas") for d in sys.path)]
    return shutil.which("ptxas") or next((str(place) for place in places if os.access(place, os.X_OK)), None)
