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

from shoal.errors import ShoalError

__all__ = ["JsonLines", "TensorBoard"]

Values = Mapping[str, Any]


class JsonLines:
    """A file with an object in each line: {"step": 10, "loss": 2.5, ...}; null is not finite.

    A run that goes on takes the place of what the file has from its first step on.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = Path(path)
        self._file: IO[str] | None = None

    def __call__(self, step: int, values: Values) -> None:
        """Writes a line; the first call drops those that the file has from this step on."""
        if self._file is None:
            kept = self._lines_before(step)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8")
            self._file.writelines(kept)
        line = {"step": step} | {name: _finite(value) for name, value in values.items()}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def _lines_before(self, step: int) -> list[str]:
        try:
            lines = self._path.read_text("utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [line for line in lines if line.endswith("\n") and json.loads(line)["step"] < step]

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
