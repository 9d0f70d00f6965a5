"""The tools for lit tests, without the time that each takes to start: a server has their modules imported, and forks for each run.

``start(folder)`` puts commands of the tools' names into a folder. Each hands its arguments, environment, working folder and standard
streams to the server, and ends as the forked tool does, by exit status or signal. The tools start by themselves, in processes of their
own, in pytest's tests of them, in those of the wheel, and with LEGATO_LIT_COLD=1.
"""
import array
import gc
import marshal
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

TOOLS = {"legato-opt": "legato.tools.legato_opt", "legato-compile": "legato.tools.legato_compile", "legato-run": "legato.tools.legato_run",
         "filecheck": "filecheck.main"}
MORE = ("legato.tools.model_input", "legato.tools.opt_session", "legato.tools.opt_setup", "legato.tools.output", "legato.tools.user_file",
        "legato.tools.expected_diagnostics")    # what the tools import later
STREAMS = 3
# only what needs no import from a file; names are bytes, as the environment is
COMMAND = """#!{python} -IS
import _socket, marshal, posix, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
request = marshal.dumps(({tool!r}, sys.argv, posix.getcwd(), posix.environ))
streams = bytes().join(number.to_bytes(4, sys.byteorder) for number in range({streams}))
server.sendmsg([len(request).to_bytes(4, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(request)
status = server.recv(4)
if len(status) < 4:
    posix._exit(70)
status = int.from_bytes(status, "little", signed=True)
if status < 0:
    posix.kill(posix.getpid(), -status)
posix._exit(status)
"""


def start(folder: Path) -> Path:
    """Starts the server, which ends with this process, and returns the folder of commands."""
    folder.mkdir(parents=True, exist_ok=True)
    address = f"\0legato-tools-{os.getpid()}-{os.urandom(4).hex()}"    # of Linux's abstract names, which leave no file
    for tool in TOOLS:
        command = folder / tool
        command.write_text(COMMAND.format(python=sys.executable, address=address, tool=tool, streams=STREAMS))
        command.chmod(0o755)
    reading, writing = os.pipe()
    process = subprocess.Popen([sys.executable, __file__, address.lstrip("\0"), str(writing)], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, pass_fds=[writing])
    os.close(writing)
    if os.read(reading, 1) != b"1":
        raise RuntimeError("the server of tools did not start")
    os.close(reading)
    _kept.append(process)
    return folder


_kept: list[subprocess.Popen] = []


def serve(address: str, ready: int) -> None:
    """Imports the tools and answers until standard input ends, as it does with the process that started the server."""
    mains = {tool: import_module(module).main for tool, module in TOOLS.items()}
    for name in dir(legato := import_module("legato")):     # all of the API, which is imported when used
        getattr(legato, name)
    for module in MORE:
        import_module(module)
    gc.collect()
    gc.freeze()     # forked processes do not write to these objects' pages
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0{address}")
    listener.listen(128)
    os.write(ready, b"1")
    os.close(ready)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)   # forked processes leave no zombies
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if listener not in readable:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(connection, mains)
            os._exit(0)
        connection.close()


def _answer(connection: socket.socket, mains: dict[str, Callable]) -> None:
    """Runs one tool in a process of its own, and tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(STREAMS * streams.itemsize))
    for _, _, data in ancillary:
        streams.frombytes(data)
    size, request = struct.unpack("<I", head)[0], b""
    while len(request) < size and (part := connection.recv(size - len(request))):
        request += part
    tool, arguments, folder, environment = marshal.loads(request)
    process = os.fork()
    if process == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os._exit(_run(mains[tool], arguments, folder, environment))
    _, status = os.waitpid(process, 0)
    ended = os.waitstatus_to_exitcode(status)
    connection.sendall(struct.pack("<i", ended))


def _run(main: Callable, arguments: list[str], folder: str, environment: dict[bytes, bytes]) -> int:
    """The exit status of a tool's main function."""
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    sys.argv = arguments
    sys.stdin, sys.stdout = os.fdopen(0, "r", closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="backslashreplace")
    status: object = 1
    try:
        status = main()
    except SystemExit as end:
        status = end.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else 0 if status is None else 1


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
