# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of this process that programs call while they run, and what they print.

A program that mpirun has started calls through a socket (`serve`), one in this
process by a pointer (`as_c_function`). Both end in `HostCalls`.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import math
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import RunError
from shoal.executable.dtypes import dtype_of

# By the codes of shoal_rt_type.
_ELEMENTS = ("f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "i1", "f8E4M3FN", "f8E5M2")
_PRINT = -1  # the number of what is printed


@dataclass(frozen=True)
class HostFunction:
    """What `shoal.host_call` with some number calls.

    call: takes the operands as arrays and returns a sequence of results.
    unsigned: the numbers of operands whose integers have no sign.
    """

    call: Callable[..., Sequence[Any]]
    unsigned: frozenset[int] = frozenset()


class ResultType(NamedTuple):
    element: str
    shape: tuple[int, ...]


class HostCalls:
    """Answers one program's calls, one at a time.

    error: the first exception of a function. is_answering: whether one runs.
    """

    def __init__(self, functions: Mapping[int, HostFunction]):
        self._functions = functions
        self._turn = threading.Lock()
        self.error: BaseException | None = None
        self.is_answering = False

    def answer(
        self, number: int, text: str, operands: Sequence[np.ndarray], types: Sequence[ResultType]
    ) -> list[np.ndarray]:
        """The results of a call; raises what the function does."""
        with self._turn:
            self.is_answering = True
            try:
                if number == _PRINT:
                    sys.stdout.write(text)
                    return []
                return self._call(self._functions[number], operands, types)
            except BaseException as error:
                self.error = self.error or error
                raise
            finally:
                self.is_answering = False

    @staticmethod
    def _call(
        function: HostFunction, operands: Sequence[np.ndarray], types: Sequence[ResultType]
    ) -> list[np.ndarray]:
        arguments = [
            array.view(f"u{array.dtype.itemsize}") if place in function.unsigned else array
            for place, array in enumerate(operands)
        ]
        results = function.call(*arguments)
        if len(results) != len(types):
            raise TypeError(f"expected {len(types)} results but got {len(results)}")
        return [_checked(result, type, place) for place, (result, type) in enumerate(zip(results, types))]


def _checked(result: Any, type: ResultType, place: int) -> np.ndarray:
    """The result as the program takes it."""
    array = np.asarray(result)
    expected = [dtype_of(type.element, unsigned) for unsigned in (False, True)]
    if array.shape != type.shape or array.dtype not in expected:
        raise TypeError(
            f"result {place}: expected {expected[0]}{list(type.shape)} "
            f"but got {array.dtype}{list(array.shape)}"
        )
    return np.ascontiguousarray(array)


def check_functions(description: Mapping[str, Any], functions: Mapping[int, HostFunction]) -> None:
    """RunError where a program calls what this process does not have."""
    for call in description.get("host_calls", ()):
        if call["number"] is not None and call["number"] not in functions:
            raise RunError(
                f'{call["loc"]}: "{call["name"]}" is a function of the process that compiled '
                "the program: files and other processes do not have it"
            )


def described(error: BaseException) -> str:
    """One line: the exception's class and text."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# A program in this process


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int64),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    )


class _Call(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_int64),
        ("text", ctypes.c_char_p),
        ("num_operands", ctypes.c_int64),
        ("operands", ctypes.POINTER(_Tensor)),
        ("num_results", ctypes.c_int64),
        ("results", ctypes.POINTER(_Tensor)),
    )


C_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(_Call),
    ctypes.POINTER(ctypes.c_char),
    ctypes.c_size_t,
)


def as_c_function(host_calls: HostCalls) -> Any:
    """The shoal_host_function that hands calls to them; keep it while it may be called."""

    def call(_context: Any, request: Any, error: Any, size: int) -> int:
        try:
            _answer_in_place(host_calls, request.contents)
        except BaseException as problem:  # pylint: disable=broad-exception-caught
            text = described(problem).encode()[: size - 1] + b"\0"
            ctypes.memmove(error, text, len(text))
            return 1
        return 0

    return C_FUNCTION(call)


def _answer_in_place(host_calls: HostCalls, call: _Call) -> None:
    operands = [_copied(call.operands[place]) for place in range(call.num_operands)]
    results = [call.results[place] for place in range(call.num_results)]
    types = [ResultType(_ELEMENTS[tensor.type], _shape_of(tensor)) for tensor in results]
    text = call.text.decode(errors="replace")
    for tensor, array in zip(results, host_calls.answer(call.number, text, operands, types)):
        ctypes.memmove(tensor.data, array.ctypes.data, array.nbytes)


def _shape_of(tensor: _Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape[: tensor.rank])


def _copied(tensor: _Tensor) -> np.ndarray:
    """A copy: the function may keep it."""
    array = np.empty(_shape_of(tensor), dtype_of(_ELEMENTS[tensor.type], False))
    ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
    return array


# A program that mpirun has started


@contextlib.contextmanager
def serve(host_calls: HostCalls, path: Path) -> Iterator[None]:
    """Answers calls at a socket of this name meanwhile; see lib/Runtime/Run/HostCallMessages.h."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(str(path))
        except OSError as error:
            raise RunError(f"{path}: no socket for the program's calls: {error}") from error
        listener.listen()
        threading.Thread(target=_accept, args=(host_calls, listener), daemon=True).start()
        try:
            yield
        finally:
            # Wakes the thread, which closing would not.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(host_calls: HostCalls, listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_converse, args=(host_calls, connection), daemon=True).start()


def _converse(host_calls: HostCalls, connection: socket.socket) -> None:
    """Answers one rank until it ends."""
    with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
        while head := stream.read(8):
            words = struct.unpack(f"{struct.unpack('q', head)[0]}q", _rest(stream, head))
            connection.sendall(_answered(host_calls, words, stream))


def answer_request(host_calls: HostCalls, request: bytes) -> bytes:
    """The answer to a call that came as a whole."""
    stream = io.BytesIO(request)
    head = stream.read(8)
    words = struct.unpack(f"{struct.unpack('q', head)[0]}q", _rest(stream, head))
    return _answered(host_calls, words, stream)


def _rest(stream: Any, head: bytes) -> bytes:
    return stream.read(8 * struct.unpack("q", head)[0])


def _answered(host_calls: HostCalls, words: Sequence[int], stream: Any) -> bytes:
    number, length, operands, results = words[:4]
    types = list(_types(words[4:]))
    text = stream.read(length).decode(errors="replace")
    arrays = [_read(stream, type) for type in types[:operands]]
    try:
        made = host_calls.answer(number, text, arrays, types[operands : operands + results])
    except BaseException as error:  # pylint: disable=broad-exception-caught
        message = described(error).encode()
        return struct.pack("2q", 1, len(message)) + message
    return b"".join([struct.pack("2q", 0, 0), *(array.tobytes() for array in made)])


def _types(words: Sequence[int]) -> Iterator[ResultType]:
    while words:
        element, rank = words[:2]
        yield ResultType(_ELEMENTS[element], tuple(words[2 : 2 + rank]))
        words = words[2 + rank :]


def _read(stream: Any, type: ResultType) -> np.ndarray:
    dtype = dtype_of(type.element, False)
    content = bytearray(stream.read(math.prod(type.shape) * dtype.itemsize))
    return np.frombuffer(content, dtype).reshape(type.shape)
