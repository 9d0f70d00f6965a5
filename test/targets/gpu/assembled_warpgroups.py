"""What ptxas says of kernels for Hopper."""
import re
import subprocess

from legato.codegen.cubin import find_ptxas


def check_assembly(text, registers=168):
    """Whether a kernel, where there is a ptxas, keeps its values in registers, of which two warpgroups that multiply and one that copies
    have 168 each on average, or so many ``registers``, and its products run one after the other without ptxas' warning (C75xx) that it
    serialized them."""
    if (assembler := find_ptxas()) is None:
        return
    done = subprocess.run([assembler, "-v", "-arch=sm_90a", "-o", "/dev/null", "/dev/stdin"], input=text, capture_output=True, text=True)
    assert done.returncode == 0 and "(C" not in done.stderr, done.stderr
    assert re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", done.stderr) == [("0", "0")], done.stderr
    assert int(re.findall(r"Used (\d+) registers", done.stderr)[0]) <= registers
