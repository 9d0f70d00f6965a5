"""Compiled models as callables."""
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import tvm_ffi

from legato.core.errors import LegatoError
from legato.core.given import path_of
from legato.core.notebook import bytes_text, counted, html_table
from legato.core.reports import ExplanationLike, ReportLike
from legato.runtime.arrays import is_extended, is_padded, on_host, passable, resolved, to_numpy, unsupported, withheld
from legato.runtime.donated import check_donated
from legato.runtime.forms import flattened, folded
from legato.runtime.recorder import Recorder
from legato.runtime.signature import Parameter, Signature, weight_bytes

_ndarray = np.ndarray   # looked up at each call
_item = tvm_ffi.get_global_func("ffi.ArrayGetItem")


class Executable:
    """A compiled model: ``exe(x)``, ``exe(x, mask)`` or ``exe(ids=x, mask=m)``.

    Arguments are numpy arrays, or CPU tensors that support DLPack (torch, JAX), and ints for integers without dimensions. The result is a
    numpy array, or a tuple of them for several outputs, writable and owned by the caller; for torch tensors as arguments, tvm-ffi returns
    torch tensors. Inputs that have a default (``defaults``) may be left out. A sequence of an ONNX model is a list of arrays of fixed
    length, and an optional without a value None, in both directions. A model for a GPU takes host arrays, which it copies, and tensors of
    its device; with one of these, its results are tensors of the device. Raises TypeError for a wrong number or type of arguments or a
    wrong element type, ValueError for a wrong shape; the message names the argument, what was expected and what was given. numpy arrays
    that are not contiguous, not aligned or not in native byte order are copied; such tensors of other libraries are rejected. torch's lazy
    negation is applied; arrays with masked elements are rejected.

    Any number of threads may call it at once: each call has its own buffers. Their memory is kept for later calls, and so is that of large
    results (64 KB and more) once nobody holds them: of at most four of each output.

    An input that is donated (``legato.donate``) is written to: the result that takes its memory is the argument itself. ValueError if it is
    not writable, contiguous and aligned, or shares memory with another argument.
    """

    def __init__(self, signature: Signature, function: Callable[..., Any], save: Callable[[Path, str | None], Path],
                 recorder: Recorder | None = None, write_entry: Callable[[Path, Mapping[str, Any] | None], None] | None = None,
                 defaults: Mapping[str, np.ndarray] | None = None) -> None:
        self.recorder = recorder   # makes instances that record their calls, for ``legato.profile``
        self.write_entry = write_entry   # writes a just compiled model as an entry of the cache
        self._signature = signature
        self._function = function
        self._save = save
        self._defaults = dict(defaults or {})
        self._names = [p.name for p in signature.takes or signature.inputs]
        self._takes, self._gives = signature.takes, signature.gives
        self.report: ReportLike = cast(Any, None)   # the driver's Report; None for a model that was not compiled in this process
        self.explained: ExplanationLike | None = None   # its Explanation, likewise
        self._copies = False    # whether an array was refused before, which takes 20 times as long as to look at its flags
        self._count = len(signature.outputs)
        self._takes_extended = any(is_extended(p.dtype) for p in signature.inputs)
        convert = to_numpy if any(is_extended(p.dtype) for p in signature.outputs) else np.from_dlpack
        self._to_numpy = partial(on_host, convert=convert) if signature.device else convert
        self._donors = {output: number for output, number in enumerate(signature.donors) if number >= 0}
        self._padded = {number: p.dtype for number, p in enumerate(signature.outputs) if is_padded(p.dtype)}

    @property
    def signature(self) -> Signature:
        """The model's metadata: inputs, outputs, symbols, weights, CPU."""
        return self._signature

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Name, element type and shape of each input, in the order of the arguments."""
        return self._signature.inputs

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """Name, element type and shape of each output."""
        return self._signature.outputs

    @property
    def defaults(self) -> Mapping[str, np.ndarray]:
        """The array of each input that a call may leave out (``from_onnx(overridable=)``), read-only. ``function`` takes all inputs."""
        return MappingProxyType(self._defaults)

    @property
    def function(self) -> Callable[..., Any]:
        """The model as a tvm-ffi function: tensors in, a tensor or an Array of tensors out. It keeps code and weights alive."""
        return self._function

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or (self._defaults and len(args) < len(self._names)):
            args = self._in_order(args, named)
        if self._takes:
            args = tuple(flattened(self._takes, self.inputs, args))
        own = args
        if self._donors:
            check_donated(args, self.inputs, list(self._donors.values()))
        for arg in args:
            if type(arg) is not _ndarray:
                args = self._resolved(args)
                break
        converts = self._takes_extended
        if self._copies:
            for arg in args:
                if type(arg) is _ndarray and not arg.flags.carray:
                    converts = True
        if converts:
            return self._given(self._function(*self._passable(args)), own)
        try:
            return self._given(self._function(*args), own)
        except (BufferError, TypeError, ValueError) as error:
            ready = self._passable(args)
            if all(new is old for new, old in zip(ready, args)):
                raise self._refusal(args, error) from None
        except RuntimeError as error:
            raise self._refusal(args, error) from None
        self._copies = True
        return self._given(self._function(*ready), own)

    def _passable(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments as tvm-ffi accepts them; TypeError for elements of fewer than 8 bits that are not those of the parameter."""
        for number, (arg, parameter) in enumerate(zip(args, self.inputs)):
            given = arg.dtype if isinstance(arg, np.ndarray) else None
            if given is not None and given != parameter.dtype and (is_padded(given) or is_padded(parameter.dtype)):
                raise TypeError(f"main: argument {number} '{parameter.name}' must be {parameter}, but {given}{list(arg.shape)} was given")
        return tuple(map(passable, args))

    def _resolved(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments as memory that holds their values; ValueError where there is none. An int is an integer without dimensions."""
        try:
            return tuple(resolved([self._number(number, arg) if type(arg) is int else arg for number, arg in enumerate(args)]))
        except ValueError as error:
            number = next(i for i, arg in enumerate(args) if np.ma.is_masked(arg))
            raise ValueError(f"main: argument {number}{self._named(number)} {error}") from None

    def _number(self, number: int, value: int) -> Any:
        """An int as an array of the input's type, where that holds it."""
        if number < len(self.inputs) and not self.inputs[number].shape and self.inputs[number].dtype.kind in "iu":
            bounds, parameter = np.iinfo(self.inputs[number].dtype), self.inputs[number]
            if not bounds.min <= value <= bounds.max:
                raise TypeError(f"main: argument {number} '{parameter.name}' must be {parameter}, but {value} was given")
            return np.array(value, parameter.dtype)
        return value

    def _refusal(self, args: Sequence[Any], error: Exception) -> Exception:
        """The error for arguments that the compiled function did not take; one that names the argument where tvm-ffi's does not."""
        for number, (arg, parameter) in enumerate(zip(args, self._signature.inputs)):
            given = unsupported(arg) or withheld(arg)
            if given is not None:
                return TypeError(f"main: argument {number} '{parameter.name}' must be {parameter}, but {given} was given")
        return error

    def _named(self, number: int) -> str:
        return f" '{self.inputs[number].name}'" if number < len(self.inputs) else ""

    def with_function(self, function: Callable[..., Any]) -> "Executable":
        """The same model, run by another instance of its code."""
        return Executable(self._signature, function, self._save, self.recorder, defaults=self._defaults)

    def explain(self) -> ExplanationLike:
        """The rule applied to each op of the model: a value with ``str()`` (a table) and ``json()``. LegatoError for a loaded model."""
        if self.explained is None:
            raise LegatoError("only a model that was compiled in this process can be explained: legato.explain(module, target) "
                              "does it again")
        return self.explained

    @property
    def explanation(self) -> ExplanationLike | None:
        """The old name of ``explain()``; None for a loaded model."""
        warnings.warn("exe.explanation is called exe.explain() now", DeprecationWarning, stacklevel=2)
        return self.explained

    def save(self, path: str | PathLike[str], linker: str | None = None) -> Path:
        """Writes the model as a shared object under the name ``path``, and its weights beside it as ``<path>.<digest>.weights``. Returns
        the path. A name that ends in .so is warned of, since Python's ``import`` finds it; the suffix for models is .legato.

        linker: a program that links (``cc``, ``clang``, ``ld.lld``, ``zig``), by name or path; None: the first one found. LegatoError if
        there is no linker, if it fails, or if the files cannot be written.
        """
        path = path_of(path, "what a model is saved as")
        if path.is_dir():
            raise LegatoError(f"cannot save the model as {path}: that is a folder")
        if path.suffix == ".so":
            warnings.warn(f"{path}: Python's import takes a .so for an extension module, and prefers it to a .py of the same name; "
                          f"the suffix for models is .legato: {path.with_suffix('.legato')}", stacklevel=2)
        try:
            return self._save(path, linker)
        except OSError as error:
            raise LegatoError(f"cannot save the model as {path}: {error.strerror}") from error

    def __repr__(self) -> str:
        return f"<legato.Executable {self._signature}>"

    def _repr_html_(self) -> str:
        rows = [(kind, p.name, str(p.dtype), f"[{', '.join(map(str, p.shape))}]")
                for kind, parameters in (("input", self.inputs), ("output", self.outputs)) for p in parameters]
        weights = bytes_text(sum(map(weight_bytes, self._signature.weights)))
        about = (f"legato.Executable for {self._signature.cpu or 'any CPU'}, {counted(self._signature.threads, 'thread')}, "
                 f"{weights} of weights")
        return html_table(("", "name", "element type", "shape"), rows, about)

    def _given(self, result: Any, args: Sequence[Any]) -> Any:
        """The results of a call with these arguments, of which those that are donated are results themselves."""
        if self._count == 1 and not self._padded and not self._gives and not self._donors:
            return self._to_numpy(result) if isinstance(result, tvm_ffi.Tensor) else result
        items = [_item(result, i) for i in range(self._count)] if self._count > 1 else [result]   # 10 times as fast as iterating the Array
        arrays = [self._to_numpy(item) if isinstance(item, tvm_ffi.Tensor) else item for item in items]
        for number, dtype in self._padded.items():
            if isinstance(arrays[number], np.ndarray):
                arrays[number] = arrays[number].view(dtype)
        for number, donor in self._donors.items():
            arrays[number] = args[donor]
        if self._gives:
            arrays = folded(self._gives, arrays)
        return tuple(arrays) if len(arrays) > 1 else arrays[0]

    def _in_order(self, args: tuple, named: dict[str, Any]) -> tuple:
        names = self._names
        for name in named:
            if name in self._signature.constant_inputs:
                raise TypeError(f"the input '{name}' is a constant of this model, which has an initializer for it: to give it at calls, "
                                f"import the model by from_onnx(..., overridable=['{name}']) (legato-compile --overridable {name})")
            if name not in names:
                raise TypeError(f"no input '{name}': the model has {', '.join(names)}")
            if names.index(name) < len(args):
                raise TypeError(f"input '{name}' is given twice, by position and by name")
        named = {**self._defaults, **named}
        missing = [name for name in names[len(args):] if name not in named]
        if missing:
            raise TypeError(f"no value for the input{'s' if len(missing) > 1 else ''} {', '.join(missing)} of {self._signature}")
        return (*args, *(named[name] for name in names[len(args):]))
