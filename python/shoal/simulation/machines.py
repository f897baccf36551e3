# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine files: those that are shipped, by their names, and others."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.executable.native import native
from shoal.executable.storage import TemporaryFolder
from shoal.names import nearest

__all__ = ["Machine", "node_of", "shipped"]

# Beside the package's modules; of a build, the folder is a link there.
FOLDER = Path(__file__).parents[1] / "machines"
_SOURCES = Path(__file__).resolve().parents[3] / "machines"

# What a path has and a name has not.
_PATH = re.compile(r"[/\\]|\.toml$")


def _folder() -> Path:
    return FOLDER if FOLDER.is_dir() else _SOURCES


def shipped() -> list[str]:
    """The names of the machine files that come with the package."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def node_of(machine: Machine) -> int | None:
    """How many devices its fastest links join, where there are others; None where all are joined alike."""
    return machine.levels[0][1] if len(machine.levels) > 1 else None


# More than any program sends, of which seconds are still numbers.
_MOST = 1 << 50


def _check_count(what: str, number: float, least: int = 0) -> None:
    if not least <= number <= _MOST:
        raise InputError(f"machine: {what} {number}: expected {least} to 2^50")


class Machine:
    """A cluster as a machine file describes it; immutable, and equal where the files' contents are."""

    def __init__(self, text: str, name: str = "<machine>"):
        """text: of a machine file. name: what messages call it. InputError with the line and the key."""
        try:
            self._cluster = native().Cluster.parse(text, name)
        except ValueError as error:
            raise InputError(f"machine: {error}") from None
        self._text = text

    @staticmethod
    def read(machine: Machine | str | os.PathLike[str]) -> Machine:
        """A shipped machine by its name, "dgx-h100", the file of a path, or the machine itself.

        InputError names the one that is nearest where there is none of a name, and the key of a file that is wrong.
        """
        if isinstance(machine, Machine):
            return machine
        if not isinstance(machine, (str, os.PathLike)):
            raise InputError(f"machine: expected a shipped machine's name, a path or a Machine, got {machine!r:.60}")
        path = Path(machine)
        if isinstance(machine, str) and not _PATH.search(machine) and not path.exists():
            path = _folder() / f"{machine}.toml"
            if not path.exists():
                known = shipped()
                raise InputError(f'machine: "{machine}" is neither a file nor one of {known}{nearest(machine, known)}')
        try:
            return Machine(path.read_text(encoding="utf-8"), str(path))
        except (OSError, ValueError) as error:
            raise InputError(f"machine: cannot read {path}: {error}") from None

    @property
    def name(self) -> str:
        """What the file calls it."""
        return self._cluster.name

    @property
    def source(self) -> str:
        """What its numbers are from."""
        return self._cluster.source

    @property
    def devices(self) -> int:
        """How many it has."""
        return self._cluster.devices

    @property
    def levels(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes of what joins devices, innermost first."""
        return tuple(self._cluster.levels)

    @property
    def memory(self) -> float:
        """Bytes of a device that programs can have."""
        return self._cluster.memory

    @functools.cached_property
    def flops(self) -> Mapping[str, float]:
        """Operations a second of products, by element type."""
        return dict(self._cluster.flops)

    @property
    def attention(self) -> float:
        """The share of the peak that attention kernels reach."""
        return self._cluster.attention

    @property
    def overlaps(self) -> bool:
        """Whether collectives run beside kernels."""
        return self._cluster.overlaps

    @property
    def overlap_tax(self) -> float:
        """By what share kernels are slower beside a collective."""
        return self._cluster.overlap_tax

    def price(self, kind: str, axes: Sequence[tuple[int, int]], bytes: int) -> float:
        """Seconds of a collective of groups over axes, each a size and the stride of its device numbers.

        kind: all_gather, reduce_scatter, all_reduce, all_to_all or permute. bytes: what the busiest device sends.
        InputError for other kinds, and for numbers that no group or message has.
        """
        for size, stride in axes:
            _check_count("an axis' size and stride", min(size, stride), 1)
        _check_count("bytes", bytes)
        try:
            return self._cluster.price_collective(kind, list(axes), int(bytes))
        except ValueError as error:
            raise InputError(f"machine: {error}") from None

    def price_product(self, type: str, shape: tuple[int, int, int, int], bytes: int = 0, has_groups: bool = False) -> float:
        """Seconds of a product of batch, m, n and k.

        type: of its elements, as machine files name it. bytes: read and written. has_groups: the batch is groups of m
        rows, counted at run time.
        """
        _check_count("a product's sizes", min(shape))
        _check_count("bytes", bytes)
        return self._cluster.price_product(type, shape, int(bytes), has_groups)

    def price_kernel(self, bytes: int) -> float:
        """Seconds of a kernel that reads and writes so many bytes."""
        _check_count("bytes", bytes)
        return self._cluster.price_kernel(int(bytes))

    @functools.cached_property
    def path(self) -> str:
        """A file of it, for the compiler."""
        self._files = TemporaryFolder(prefix="shoal-machine-")
        path = self._files.path / "machine.toml"
        path.write_text(self._text, encoding="utf-8")
        return str(path)

    def __fspath__(self) -> str:
        return self.path

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Machine) and (self is other or self._contents == other._contents)

    def __hash__(self) -> int:
        return hash(self._contents)

    @functools.cached_property
    def _contents(self) -> str:
        return self._cluster.to_text()

    def __repr__(self) -> str:
        levels = " x ".join(f"{size} ({name})" for name, size in self.levels)
        return f"<Machine {self.name}: {self.devices} devices, {levels}>"
