# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a run's metrics go: functions of (step, values)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from shoal.errors import InputError, ShoalError
from shoal.files import replace_file
from shoal.laws import PATH, check_arguments

__all__ = ["JsonLines", "TensorBoard"]

Values = Mapping[str, Any]


class JsonLines:
    """A file with an object in each line: {"step": 10, "loss": 2.5, ...}; null is not finite.

    A run that goes on takes the place of what the file has from its first step on.
    """

    def __init__(self, path: str | os.PathLike[str]):
        check_arguments("JsonLines", path=(path, PATH))
        self._path = Path(path)
        self._file: IO[str] | None = None

    def __call__(self, step: int, values: Values) -> None:
        """Writes a line; the first call drops those that the file has from this step on.

        OSError, where the file keeps what it had; InputError where it has other lines.
        """
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._drop_from(step)
            self._file = self._path.open("a", encoding="utf-8")
        line = {"step": step} | {name: _finite(value) for name, value in values.items()}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def _drop_from(self, step: int) -> None:
        """A run's history is never cut: a file without some lines takes the place of the whole one."""
        if not self._path.is_file():
            return
        lines = self._path.read_text("utf-8").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] = ""  # one that was cut off
        kept = [line for number, line in enumerate(lines) if line and self._step_of(line, number) < step]
        if len(kept) < len(lines):
            replace_file(self._path, "".join(kept).encode())

    def _step_of(self, line: str, number: int) -> int:
        try:
            return int(json.loads(line)["step"])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f'JsonLines: {self._path}: line {number + 1} is no object with a "step"'
            ) from None

    def close(self) -> None:
        """Closes the file; another call opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None


class TensorBoard:
    """Event files of TensorBoard in a folder, by the package tensorboardX: a curve for each scalar and each
    element of a vector, a histogram for each row of a matrix, as of `shoal.moe.MoeMetrics`."""

    def __init__(self, folder: str | os.PathLike[str]):
        """ShoalError where the package is not there."""
        check_arguments("TensorBoard", folder=(folder, PATH))
        try:
            import tensorboardX
        except ImportError as error:
            raise ShoalError(
                "TensorBoard: needs the package tensorboardX: pip install tensorboardX"
            ) from error
        self._module = tensorboardX
        self._folder = os.fspath(folder)
        self._writer: Any = None

    def __call__(self, step: int, values: Values) -> None:
        """Adds a point to each curve; the first call drops those that the folder has from this step on."""
        if self._writer is None:
            self._writer = self._module.SummaryWriter(self._folder, purge_step=step)
        for name, value in values.items():
            self._add(name, value, step)
        self._writer.flush()

    def _add(self, name: str, value: Any, step: int) -> None:
        if isinstance(value, (int, float)):
            self._writer.add_scalar(name, value, step)
        elif isinstance(value, list) and value and isinstance(value[0], (int, float, list)):
            is_matrix = isinstance(value[0], list)
            for number, part in enumerate(value):
                if not is_matrix:
                    self._writer.add_scalar(f"{name}/{number}", part, step)
                elif np.ndim(part) == 1 and np.isfinite(part).all():
                    self._writer.add_histogram(f"{name}/{number}", np.asarray(part), step)

    def close(self) -> None:
        """Writes what is held back; another call goes on."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _finite(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
