"""Links object files to a shared object with a linker of the system."""
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import tvm_ffi.libinfo

from legato.core.errors import LegatoError
from legato.core.given import check_text

DRIVERS = ("cc", "gcc", "clang")      # compiler drivers, which find the system's libraries themselves
LINKERS = ("ld.lld", "ld.mold", "ld")
VARIABLE = "LEGATO_LINKER"
SHOWN = "{ global: __tvm_ffi_create; legato_*; local: *; };"    # a version script
_SYSTEM = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")


@dataclass(frozen=True)
class Linker:
    """A program that links. ``command``: its command line; ``is_driver``: it accepts a compiler's options."""

    command: tuple[str, ...]
    is_driver: bool


def find_linker(asked: str | None = None) -> Linker:
    """The requested linker (argument or $LEGATO_LINKER), else the first one found.

    Search order: cc, gcc, clang, ld.lld, ld.mold, ld, zig, the wheel ziglang. LegatoError if there is none.
    """
    check_text(asked, "linker=")
    asked = asked or os.environ.get(VARIABLE)
    if asked:
        program, *options = shlex.split(asked)
        if shutil.which(program) is None:
            raise LegatoError(f"cannot link: there is no program '{program}'")
        if os.path.basename(program) == "zig":
            options = options or ["cc"]
        return Linker((program, *options), os.path.basename(program) not in LINKERS)
    for name in (*DRIVERS, *LINKERS):
        if shutil.which(name):
            return Linker((name,), name in DRIVERS)
    if shutil.which("zig"):
        return Linker(("zig", "cc"), True)
    if importlib.util.find_spec("ziglang"):
        return Linker((sys.executable, "-m", "ziglang", "cc"), True)
    raise LegatoError(f"a saved model needs a linker, and none of {', '.join((*DRIVERS, *LINKERS))}, zig was found: install one "
                      f"(Debian: apt install gcc; anywhere: pip install ziglang), or name one in ${VARIABLE}")


def link(objects: list[Path], output: Path, linker: Linker) -> None:
    """Links a shared object that needs libtvm_ffi by name, without a path: the process that loads it has loaded that library already.

    It shows the symbols of docs/c.md and no others. OpenMP's stay undefined. LegatoError, with the linker's message, if it fails.
    """
    listed = output.with_name(f"{output.name}.symbols")
    listed.write_text(SHOWN)
    ffi = Path(tvm_ffi.libinfo.find_libtvm_ffi())
    if linker.is_driver:
        libraries = [f"-L{ffi.parent}", f"-l{ffi.stem.removeprefix('lib')}", "-lm"]
    else:
        libraries = [str(ffi), *(found for name in ("libm.so.6", "libc.so.6") if (found := _system_library(name)))]
    command = [*linker.command, "-shared", f"{'-Wl,' if linker.is_driver else ''}--version-script={listed}", "-o", str(output),
               *map(str, objects), *libraries]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise LegatoError(f"cannot start the linker: {' '.join(command)}: {error}") from error
    finally:
        listed.unlink()
    if done.returncode:
        raise LegatoError(f"linking failed: {' '.join(command)}\n{done.stderr.strip() or done.stdout.strip()}")


def _system_library(name: str) -> str | None:
    return next((path for folder in _SYSTEM if os.path.exists(path := os.path.join(folder, name))), None)
