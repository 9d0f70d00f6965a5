"""Write a file with one weight, w."""
import sys

import numpy as np

from legato.core.weights import WeightStore

store = WeightStore()
store.add("w", np.arange(4, dtype=np.float32))
store.save(sys.argv[1])
