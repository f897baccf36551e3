# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run by files: global arrays in, global arrays out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import RunError
from shoal.executable.dtypes import storage_of
from shoal.executable.host_calls import HostCalls, serve
from shoal.executable.launch import mpirun
from shoal.executable.signature import Signature, Tensor
from shoal.executable.storage import TemporaryFolder


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What `Executable.run` is asked for, checked."""

    timeout: float | None
    repeat: int
    warmup: int
    seed: int | None
    stats: MutableMapping[str, Any] | None
    threads: int | None


def run_by_files(
    program: Path,
    signature: Signature,
    arrays: Sequence[np.ndarray | None],
    options: RunOptions,
    host_calls: HostCalls | None,
) -> list[np.ndarray]:
    """Runs the executable on the whole inputs, of which None is made up from the seed.

    host_calls: who answers them, of a program that has some.
    """
    with TemporaryFolder(prefix="shoal-run-") as folder:
        results = folder / "results"
        flags = [f"--output-dir={results}", f"--repeat={options.repeat}"]
        flags.append(f"--warmup={options.warmup}")
        if options.seed is not None:
            flags.append(f"--random-inputs={options.seed}")
        if options.threads is not None:
            flags.append(f"--threads={options.threads}")
        for number, (tensor, array) in enumerate(zip(signature.inputs, arrays)):
            if array is not None:
                path = folder / f"input-{number}.npy"
                _write(path, array, tensor)
                flags += ["--input", f"{tensor.name}={path}"]
        measured = folder / "stats.json"
        if options.stats is not None:
            flags += ["--stats", str(measured)]
        with _serving(host_calls, folder, flags):
            mpirun(signature.devices, program, flags, options.timeout)
        if options.stats is not None:
            options.stats.update(json.loads(measured.read_text()))
        return [_read(results / f"{tensor.name}.npy", tensor) for tensor in signature.outputs]


@contextlib.contextmanager
def _serving(host_calls: HostCalls | None, folder: Path, flags: list[str]) -> Iterator[None]:
    """Errors of the program that host calls have caused have them as their cause."""
    if host_calls is None:
        yield
        return
    flags += ["--host-calls", str(folder / "calls")]
    try:
        with serve(host_calls, folder / "calls"):
            yield
    except RunError as error:
        raise error from host_calls.error


def _write(path: Path, array: np.ndarray, tensor: Tensor) -> None:
    native = array.astype(tensor.dtype, order="C", copy=False)
    np.save(path, native.view(storage_of(tensor.dtype)))


def _read(path: Path, tensor: Tensor) -> np.ndarray:
    try:
        array = np.load(path).view(tensor.dtype)
    except (OSError, ValueError) as error:
        raise RunError(f'the program wrote no output "{tensor.name}": {error}') from error
    if array.shape != tensor.shape:
        raise RunError(
            f'output "{tensor.name}": expected shape {list(tensor.shape)} '
            f"but the program wrote {list(array.shape)}"
        )
    return array
