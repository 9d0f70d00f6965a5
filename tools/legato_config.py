"""``legato-config``: the flags by which a program in C or C++ that calls saved models is compiled and linked."""
import sys
from collections.abc import Sequence
from pathlib import Path

import tvm_ffi

from legato import runtime
from legato.tools.command_line import Parser

HEADERS = Path(runtime.__file__).parent / "include"
TEXT = """Prints the flags by which a program in C or C++ that calls saved models is compiled and linked:

  cc $(legato-config --cflags) host.c $(legato-config --ldflags) -o host"""


def compile_flags() -> list[str]:
    """The folders of ``legato.h`` and of tvm-ffi's headers, as compilers take them."""
    folders = (HEADERS, tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path())
    return [f"-I{folder}" for folder in dict.fromkeys(map(str, folders))]


def link_flags() -> list[str]:
    """tvm-ffi's library and dlopen's, as linkers take them. The program finds the library where it is now."""
    folder = Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent
    return [f"-L{folder}", "-ltvm_ffi", "-ldl", f"-Wl,-rpath,{folder}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the flags that are asked for. Returns the exit code."""
    parser = Parser("legato-config", description=TEXT)
    parser.add_argument("--cflags", action="store_true", help="for the compiler: where legato.h and the headers it includes are")
    parser.add_argument("--ldflags", action="store_true", help="for the linker: tvm-ffi's library")
    parser.add_argument("--includedir", action="store_true", help="the folder of legato.h")
    options = parser.parse_args(arguments)
    if not (options.cflags or options.ldflags or options.includedir):
        parser.error("say what to print: --cflags, --ldflags, --includedir")
    words = [*(compile_flags() if options.cflags else ()), *(link_flags() if options.ldflags else ()),
             *([str(HEADERS)] if options.includedir else ())]
    print(" ".join(words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
