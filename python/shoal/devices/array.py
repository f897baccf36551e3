# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that live on devices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from shoal.devices.memory import Block, Memory
from shoal.devices.placement import Placement, Slices
from shoal.errors import RunError


class Home(ABC):
    """What arrays need of the devices that they live on.

    count: how many devices there are.
    memory: that which this process reaches.
    ranks: the devices whose parts are in it.
    """

    count: int
    memory: Memory
    ranks: range

    @property
    def reaches_all(self) -> bool:
        """Whether this process has all devices' parts: a rank of a job has its own alone."""
        return len(self.ranks) == self.count

    @property
    def lies_here(self) -> bool:
        """Whether all devices' parts lie in one piece of memory of this process."""
        return self.reaches_all

    def read(self, array: Array, rank: int, begin: int, size: int) -> np.ndarray:
        """Bytes of a device's part, which cannot be written to: a view, if it lies here."""
        return array.live().view(begin, size)

    @abstractmethod
    def gather(self, array: Array) -> np.ndarray:
        """The whole array; a view where there is one piece of memory that has it."""


class Kind:
    """A placement on some devices. There is one object for equal ones."""

    __slots__ = ("__weakref__", "home", "placement")

    def __init__(self, home: Home | None, placement: Placement | None):
        self.home = home
        self.placement = placement


_DELETED = Kind(None, None)


@dataclass(frozen=True)
class Shard:
    """A device's part of an array: `data` cannot be written to."""

    device: int
    slices: Slices
    data: np.ndarray

    @property
    def index(self) -> Slices:
        """`slices`, as JAX calls them."""
        return self.slices


class PrintedSharding(str):
    """A sharding as the compiler prints it, and what it says."""

    _placement: Placement

    def __new__(cls, placement: Placement) -> PrintedSharding:
        made = super().__new__(cls, placement.sharding)
        made._placement = placement
        return made

    @property
    def mesh(self) -> Any:
        """The program's `shoal.Mesh`; None where no program has said it."""
        known = self._known()
        return known and known.mesh

    @property
    def spec(self) -> Any:
        """The `shoal.P`; None where no program has said it."""
        from shoal.frontend.annotations import P  # frontends stand on this package

        known = self._known()
        return known and P(*(_entry(axes) for axes in known.dims[: len(self._placement.shape)]))

    def _known(self) -> Any:
        from shoal.mesh_sharding import recall

        return recall(self._placement)

    def __reduce__(self) -> Any:
        return str, (str(self),)


def _entry(axes: Sequence[Any]) -> Any:
    listed = tuple(axis if axis.size else axis.name for axis in axes)
    return listed[0] if len(listed) == 1 else listed or None


class Array(NDArrayOperatorsMixin):
    """An array whose parts live on devices.

    Steps take and make them without copies; NumPy and others read them as they
    read arrays. Nobody writes to one, but a step that is given its memory: it is
    deleted from then on.

    key: what functions that are compiled when they are called tell it apart from
      others by: its placement, unless a frontend has put more there.
    """

    __slots__ = ("__weakref__", "_block", "address", "key", "kind", "placement")

    def __init__(self, placement: Placement, kind: Kind, block: Block, address: tuple[int, int]):
        """For devices. kind: the placement on these.

        address: where the first part begins in their memory, and how far apart the
          parts are; 0 where there is one for all.
        """
        self.placement = placement
        self.key: Hashable = placement
        self.kind = kind
        self._block: Block | None = block
        self.address = address

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole array."""
        return self.placement.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.placement.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.placement.shape)

    @property
    def size(self) -> int:
        """The number of elements of the whole array."""
        return int(np.prod(self.placement.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Of the whole array."""
        return self.size * self.dtype.itemsize

    @property
    def sharding(self) -> str:
        """As the compiler prints it, "" where all devices have the whole; `mesh` and `spec` of it are a Mesh and a P."""
        return PrintedSharding(self.placement)

    @property
    def devices(self) -> Any:
        """The `Devices` that it lives on. Called they are the set of their numbers, as of arrays of JAX's."""
        self.live()
        return self.kind.home

    @property
    def is_deleted(self) -> bool:
        """Whether its memory was given up, to a step or by `delete`."""
        return self._block is None

    def delete(self) -> None:
        """Gives its memory up, now or when views of it are gone."""
        self.kind = _DELETED
        self._block = None

    @property
    def has_views(self) -> bool:
        """Whether somebody sees its memory, or what lies beside it in one piece."""
        return self._block is not None and self._block.has_views

    def block_until_ready(self) -> Array:
        """Steps are done when they return."""
        self.live()
        return self

    def numpy(self) -> np.ndarray:
        """The whole array, which cannot be written to.

        No copy where one device has all of it, or where the parts lie behind each
        other in memory. In a job (`Job`) that has parts on several ranks, this is
        collective.
        """
        self.live()
        assert self.kind.home is not None
        return self.kind.home.gather(self)

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The parts in this process' memory: all of a pool's, this rank's of a job's."""
        self.live()
        assert self.kind.home is not None
        return tuple(
            Shard(rank, self.placement.slices[rank], self.part(rank))
            for rank in self.kind.home.ranks
        )

    @property
    def addressable_shards(self) -> tuple[Shard, ...]:
        """`shards`, as JAX calls them."""
        return self.shards

    @property
    def is_fully_addressable(self) -> bool:
        """Whether `shards` are all: not of a job of several ranks."""
        self.live()
        return self.kind.home is not None and self.kind.home.reaches_all

    def part(self, rank: int) -> np.ndarray:
        """The rows of a device that this process reaches: a view."""
        placement = self.placement
        return self.view(rank, placement.local_shape)[placement.extents[rank]]

    def view(self, rank: int, shape: tuple[int, ...]) -> np.ndarray:
        """From the begin of a device's part on, as an array of this shape."""
        self.live()
        assert self.kind.home is not None
        size = math.prod(shape) * self.dtype.itemsize
        content = self.kind.home.read(self, rank, self.begin(rank), size)
        return content.view(self.dtype).reshape(shape)

    def begin(self, rank: int) -> int:
        """Where a device's part begins in the memory that this process reaches."""
        assert self.kind.home is not None
        begin, stride = self.address
        return begin + (rank - self.kind.home.ranks[0]) * stride

    def stacked(self) -> np.ndarray | None:
        """A view of the whole, where it lies so."""
        placement = self.placement
        assert self.kind.home is not None
        if placement.is_whole:
            return self.view(self.kind.home.ranks[0], placement.shape)
        lies_so = self.kind.home.lies_here and self.address[1] == placement.local_bytes
        if placement.is_stacked and lies_so:
            return self.view(0, placement.shape)
        return None

    def live(self) -> Block:
        """Its memory; RunError where it has none any more."""
        if self._block is None:
            raise RunError(
                f"the array {self.placement} was deleted: a step was given its memory (donated), "
                "or delete() was called"
            )
        return self._block

    # As other libraries read arrays.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy) if copy else (
            np.asarray(self.numpy(), dtype=dtype)
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(array, Array) for array in options.get("out", ())):
            return NotImplemented  # nobody writes to one
        arrays = [array.numpy() if isinstance(array, Array) else array for array in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the host's memory

    def item(self) -> Any:
        """The one element as a number of Python."""
        return self.numpy().item()

    def tolist(self) -> Any:
        """The whole array as nested lists."""
        return self.numpy().tolist()

    def __float__(self) -> float:
        return float(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __index__(self) -> int:
        return self.numpy().__index__()

    def __complex__(self) -> complex:
        return complex(self.numpy())

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.numpy()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and not self.shape else format(str(self), spec)

    def __reduce__(self) -> Any:
        """An array of NumPy: devices stay where they are."""
        return np.array, (self.numpy(),)

    def __str__(self) -> str:
        """The numbers, where this process has them: a job's ranks may print at different times."""
        home = self.kind.home
        is_here = home is not None and (self.placement.is_whole or home.reaches_all)
        return str(self.numpy()) if is_here else repr(self)

    def __repr__(self) -> str:
        if self.is_deleted:
            return f"<Array {self.placement}, deleted>"
        return f"<Array {self.placement}{self._number()} on {self.placement.count} devices>"

    def _number(self) -> str:
        """Of a scalar, which each process has; "" where its devices are closed, and their memory with them."""
        try:
            return "" if self.shape else f" {self.numpy()}"
        except RunError:
            return ""


# `total += loss` makes another array.
for _name in ("add", "sub", "mul", "truediv"):
    setattr(Array, f"__i{_name}__", getattr(NDArrayOperatorsMixin, f"__{_name}__"))


def give_up(arrays: Sequence[Array]) -> list[tuple[Block, tuple[int, int]]]:
    """The memory of arrays, and their addresses in it; they are deleted."""
    given = [(array.live(), array.address) for array in arrays]
    for array in arrays:
        array.delete()
    return given
