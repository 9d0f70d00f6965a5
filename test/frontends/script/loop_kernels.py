"""All kernels written as naive loops."""
import loop_chains
import loop_contractions
import loop_kept
import loop_movements
import loop_windows
from loop_table import KEPT, RAISED

__all__ = ["KEPT", "RAISED", "loop_chains", "loop_contractions", "loop_kept", "loop_movements", "loop_windows"]
