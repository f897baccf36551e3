# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that devices have loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, NamedTuple

from shoal.devices.array import Array, Kind, give_up
from shoal.devices.memory import Block, round_up
from shoal.devices.placement import Placement, Slices
from shoal.devices.store import Store
from shoal.errors import InputError
from shoal.executable.arguments import check_timeout
from shoal.executable.signature import Signature, Tensor


class Results(NamedTuple):
    """Where a program's results lie.

    shared_bytes: of the piece of memory that the larger ones share on a device.
    own_bytes: of the one that the others share.
    own_offsets: of each result, its offset in the latter, or -1.
    """

    shared_bytes: int
    own_bytes: int
    own_offsets: tuple[int, ...]


class _Result(NamedTuple):
    """A result: that of a donor, or at an offset of the shared piece or of the own one.

    donor: its number among the donated inputs.
    """

    placement: Placement
    kind: Kind
    donor: int | None
    is_shared: bool
    offset: int


class Loaded(ABC):
    """A program on devices. `Devices.load` makes it.

    inputs, outputs: where it has its arrays, in the program's order.
    donated: which inputs' memory a step takes.
    moves: how many arrays came from elsewhere so far: of another placement or of
      other devices. Those of NumPy do not count.
    moved: which inputs of the last step did.
    copies: how many were copied because a step would have written to what others see.
    seconds: what the last step took, on the device that took longest.
    """

    def __init__(
        self,
        devices: Store,
        signature: Signature,
        inputs: Sequence[Sequence[Slices]],
        outputs: Sequence[Sequence[Slices]],
    ):
        """inputs, outputs: of each, the slices of each device."""
        self.name = signature.name
        self.inputs = _placements(signature.inputs, inputs)
        self.outputs = _placements(signature.outputs, outputs)
        entries = signature.description["inputs"]
        self.donated = tuple(bool(entry.get("donated", False)) for entry in entries)
        self.moves = 0
        self.moved: list[int] = []
        self.copies = 0
        self.seconds = 0.0
        self._devices = devices
        self._tensors = signature.inputs
        self._kinds = [devices.kind_of(placement) for placement in self.inputs]
        self._donated = [number for number, donated in enumerate(self.donated) if donated]
        results = results_of(signature)
        self._shared_stride = round_up(results.shared_bytes)
        self._own_stride = round_up(results.own_bytes)
        self._results = [
            _Result(
                placement,
                devices.kind_of(placement),
                self._donated.index(entry["donor"]) if "donor" in entry else None,
                "offset" in entry,
                entry.get("offset", offset),
            )
            for placement, entry, offset in zip(
                self.outputs, signature.description["outputs"], results.own_offsets
            )
        ]

    def run(
        self, values: Sequence[Any], *, donate: bool = True, timeout: float | None = None
    ) -> list[Array]:
        """One step. Returns the results in the program's order.

        values: of each input an array of these devices, or anything that NumPy takes
          as one of the program's type and shape. Arrays that are elsewhere are moved.
        donate: whether inputs that the program marks as donated are given away. They
          are deleted then, also if the step fails; else it works on copies of them.
        timeout: seconds after which the step is ended, in a job with the job.

        Raises InputError before anything has happened, and RunError.
        """
        timeout = check_timeout(timeout)
        # First: a thread that the child of a fork does not have may have had the turn.
        self._devices.check_owner()
        with self._devices.turn:
            self._devices.turn.expect_no_step()
            with self._together():
                self._ready()
                values = self._checked(values)
            with self._together():
                arrays = self._arrange(values, donate)
                shared, own = self._allocate(self._shared_stride), self._allocate(self._own_stride)
            addresses = [shared.begin, self._shared_stride, own.begin, self._own_stride]
            addresses.extend(chain.from_iterable([array.address for array in arrays]))
            donors = give_up([arrays[number] for number in self._donated])
            if donate and arrays is not values:
                self._delete_given(values)
            self.seconds = self._step(addresses, timeout)
            return self._wrap(shared, own, donors)

    def input_name(self, number: int) -> str:
        """What messages call an input."""
        return self._tensors[number].name

    @abstractmethod
    def _ready(self) -> None:
        """Sees to it that a step can be run; RunError."""

    def _together(self) -> AbstractContextManager[None]:
        """Around what may be wrong before a step, where several processes have to agree on it."""
        return _ALONE

    @abstractmethod
    def _step(self, addresses: list[int], timeout: float | None) -> float:
        """Runs it with addresses, the places of lib/Runtime/Worker/Messages.h; the seconds that it took."""

    def _checked(self, values: Sequence[Any]) -> list[Any]:
        """The values, of which there are enough; InputError."""
        checked = list(values)
        if len(checked) != len(self._kinds):
            names = ", ".join(tensor.name for tensor in self._tensors[:_FEW])
            rest = ", ..." if len(self._tensors) > _FEW else ""
            raise InputError(
                f"{self.name}: expected {len(self._kinds)} inputs ({names}{rest}) "
                f"but got {len(checked)}"
            )
        return checked

    def _arrange(self, arrays: list[Any], donate: bool) -> list[Array]:
        """The values where the program reads them, and may write to those it is given."""
        self.moved = []
        if not self._fit(arrays):
            arrays = [self._bring(number, array) for number, array in enumerate(arrays)]
        return self._own(arrays, donate) if self._donated else arrays

    def _fit(self, values: list[Any]) -> bool:
        """Whether all are arrays, not deleted, that lie where the program reads them."""
        try:
            return [array.kind for array in values] == self._kinds
        except AttributeError:
            return False

    def _bring(self, number: int, value: Any) -> Array:
        array, moved = self._devices.bring(
            value, self.inputs[number], self._tensors[number], writable=self.donated[number]
        )
        if moved:
            self.moves += 1
            self.moved.append(number)
        return array

    def _own(self, arrays: list[Array], donate: bool) -> list[Array]:
        """Copies what a step would write to and somebody else sees."""
        given = [arrays[number] for number in self._donated]
        seen_twice = len(set(map(id, arrays))) < len(arrays)
        if donate and not seen_twice and not any([self._is_seen(array) for array in given]):
            return arrays
        own = list(arrays)
        for number, array in zip(self._donated, given):
            is_twice = seen_twice and sum(other is array for other in arrays) > 1
            if not donate or is_twice or self._is_seen(array):
                own[number] = self._devices.copy(array)
                self.copies += 1
        return own

    def _delete_given(self, values: Sequence[Any]) -> None:
        """Those that were moved or copied are as gone as the others."""
        for number in self._donated:
            if isinstance(values[number], Array):
                values[number].delete()

    def _is_seen(self, array: Array) -> bool:
        return array.has_views or self._devices.shares_memory(array)

    def _allocate(self, stride: int) -> Block:
        return self._devices.memory.allocate(stride * len(self._devices.ranks))

    def _wrap(
        self, shared: Block, own: Block, donors: Sequence[tuple[Block, tuple[int, int]]]
    ) -> list[Array]:
        results = []
        for placement, kind, donor, is_shared, offset in self._results:
            if donor is not None:
                block, address = donors[donor]
            elif is_shared:
                block, address = shared, (shared.begin + offset, self._shared_stride)
            else:
                block, address = own, (own.begin + offset, self._own_stride)
            results.append(Array(placement, kind, block, address))
        return results

    def __repr__(self) -> str:
        return f"<Loaded {self.name} on {self._devices.count} devices>"


_ALONE = nullcontext()
_FEW = 4  # names in a message


def results_of(signature: Signature) -> Results:
    own_bytes, own_offsets = 0, []
    for tensor, entry in zip(signature.outputs, signature.description["outputs"]):
        if "donor" in entry or "offset" in entry:
            own_offsets.append(-1)
        else:
            own_offsets.append(own_bytes)
            own_bytes += round_up(tensor.local_bytes)
    shared_bytes = signature.description.get("shared_bytes", 0)
    return Results(shared_bytes, own_bytes, tuple(own_offsets))


def _placements(
    tensors: Sequence[Tensor], slices: Sequence[Sequence[Slices]]
) -> tuple[Placement, ...]:
    return tuple(
        Placement(tensor.shape, tensor.local_shape, tensor.dtype, _words(tensor), parts)
        for tensor, parts in zip(tensors, slices)
    )


def _words(tensor: Tensor) -> str:
    """The sharding; also of addends, which are another array than one that is split like them."""
    return f"{tensor.sharding} of addends" if tensor.is_addends else tensor.sharding
