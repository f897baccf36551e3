# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function that runs on devices that stay, compiled when it is called."""

from __future__ import annotations

import functools
import itertools
import threading
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from shoal.calls.compiling import compile_for
from shoal.calls.frontend import Frontend, Source, Traced
from shoal.calls.lowered import Lowered
from shoal.calls.moves import Moves
from shoal.devices import Array, Devices, Loaded, devices_of
from shoal.errors import ClosedError, InputError, TraceError
from shoal.executable import Executable
from shoal.frames import users_traceback
from shoal.mesh_sharding import MeshSharding, recall, remember, shardings_of


class Jitted:
    """A function whose calls run on many devices.

    A call gives what the function gives, with `shoal.Array`s, which stay on the devices: the
    next call takes them where they lie. A program is compiled for each combination of static
    values, of the arguments' trees and types, and of the placements of `shoal.Array`s among them;
    arrays of the host fit any. Results lie where the first program of their types has
    put them, so that a loop `state = step(state, batch)` compiles at most twice.

    Threads may call it; the devices run one step after the other.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        frontend: Frontend,
        options: Mapping[str, Any],
        devices: Devices | None = None,
    ):
        """options: fields of CompileOptions. devices: None for those of this process."""
        functools.update_wrapper(self, function)
        self._frontend = frontend
        self._options = options
        self._devices = devices
        self._calls: dict[Hashable, _Call] = {}
        self._families: dict[Hashable, _Family] = {}
        self._turn = threading.RLock()
        self._moves = Moves()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program of a call with such arguments, and makes it first where there is none."""
        try:
            return self._called(args, kwargs)
        except KeyboardInterrupt as error:
            # Of a call that waits: where in this package is of no interest.
            raise error.with_traceback(users_traceback(error.__traceback__)) from None
        except TraceError as error:
            raise error.with_traceback(users_traceback(error.__traceback__))

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        flat = self._frontend.flatten(args, kwargs)
        if flat is None:
            return self._frontend.within(args, kwargs)
        key, arrays = flat
        call = self._calls.get(key)
        if call is None:
            with self._turn:
                family = self._family(key, arrays, args, kwargs)
                if self._frontend.is_abstract(arrays):
                    return family.traced.shapes
                program = self._program(family, arrays)
                call = _Call(program, arrays, self._frontend.conversions(arrays), self._moves)
                self._calls[key] = call
        try:
            return call(arrays)
        except ClosedError:
            if self._devices is not None:
                raise
            self._load_again()
        return self._called(args, kwargs)

    def executable_for(self, *args: Any, **kwargs: Any) -> Executable:
        """The program of a call with these arguments, or abstract ones; compiles, does not run."""
        key, arrays = self._flat(args, kwargs)
        with self._turn:
            family = self._family(key, arrays, args, kwargs)
            return self._program(family, arrays).executable

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program of a call with these arguments before it is compiled, as jax.jit's `lower`."""
        key, arrays = self._flat(args, kwargs)
        with self._turn:
            source = self._family(key, arrays, args, kwargs).write(arrays, None)
        return Lowered(source, lambda: self._shown(self.executable_for(*args, **kwargs)))

    def _shown(self, executable: Executable) -> Any:
        """What users of the frontend take for a compiled function."""
        return executable

    @property
    def stats(self) -> dict[str, Any]:
        """Those of the program that was compiled last; `executable_for(*args).stats` are any call's.

        InputError where there is none yet.
        """
        programs = [program for family in self._families.values() for program in family.programs]
        if not programs:
            raise InputError(f"{self!r} has no program yet: call it, or executable_for(*args), which does not run")
        return max(programs, key=lambda program: program.number).executable.stats

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """What a call gives, in abstract arrays; compiles nothing."""
        key, arrays = self._flat(args, kwargs)
        with self._turn:
            return self._family(key, arrays, args, kwargs).traced.shapes

    def clear_cache(self) -> None:
        """Forgets all programs; arrays stay."""
        with self._turn:
            self._calls.clear()
            self._families.clear()

    def cache_size(self) -> int:
        """How many programs there are."""
        return sum(len(family.programs) for family in self._families.values())

    @property
    def moves(self) -> int:
        """How many arrays calls have moved so far, which lay where the program does not read them.

        More with each step of a loop: its results are not where its arguments are asked for.
        """
        return sum(
            program.loaded.moves
            for family in self._families.values()
            for program in family.programs
        )

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, Sequence[Any]]:
        flat = self._frontend.flatten(args, kwargs)
        if flat is None:
            raise InputError("a function that is traced has no program of its own to ask for")
        return flat

    def _program(self, family: _Family, arrays: Sequence[Any]) -> _Program:
        """One that takes the arrays where they lie, or a new one."""
        program = family.find(arrays)
        if program is None:
            source = family.write(arrays, None)
            program = family.find_text(source.text)
        if program is None:
            if family.programs:
                source = family.write(arrays, family.programs[0].outputs)
            program = self._load(source)
            family.programs.append(program)
        return program

    def _load_again(self) -> None:
        """On new devices of this process, as those were closed. What is compiled stays."""
        with self._turn:
            self._calls.clear()
            for family in self._families.values():
                for program in family.programs:
                    program.load(devices_of(program.source.devices))

    def _load(self, source: Source) -> _Program:
        devices = self._devices
        if devices is None:
            devices = devices_of(source.devices)
        elif devices.count != source.devices:
            raise InputError(
                f"devices: expected {source.devices}, as the program is for, but got {devices.count}"
            )
        return _Program(source, compile_for(devices, source, self._options), devices)

    def _family(
        self, key: Hashable, arrays: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _Family:
        types = self._frontend.types(key, arrays)
        family = self._families.get(types)
        if family is None:
            family = _Family(self._frontend.trace(args, kwargs))
            self._families[types] = family
        return family

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        name = getattr(self, "__qualname__", repr(self.__wrapped__))
        return f"<{type(self).__module__}.{type(self).__name__} {name}>"


class _Family:
    """The programs for calls of the same types, by where arguments lie."""

    def __init__(self, traced: Traced):
        self.traced = traced
        self.programs: list[_Program] = []

    def find(self, arrays: Sequence[Any]) -> _Program | None:
        """A program that takes the arrays where they lie."""
        return next((program for program in self.programs if program.fits(arrays)), None)

    def find_text(self, text: str) -> _Program | None:
        """Of functions that say themselves where arrays lie: these are moved."""
        return next((program for program in self.programs if program.source.text == text), None)

    def write(self, arrays: Sequence[Any], outputs: Sequence[MeshSharding] | None) -> Source:
        """A program for arrays that lie as these. outputs: where its results lie."""
        return self.traced.write([sharding_of(array) for array in arrays], outputs)


class _Program:
    """A program on its devices."""

    def __init__(self, source: Source, executable: Executable, devices: Devices):
        self.source = source
        self.executable = executable
        self.number = next(_numbers)
        self.outputs = shardings_of(executable.signature.description, "outputs")
        self.load(devices)

    def load(self, devices: Devices) -> None:
        self.loaded: Loaded = devices.load(self.executable)
        inputs = shardings_of(self.executable.signature.description, "inputs")
        for placement, sharding in zip(self.loaded.inputs, inputs):
            remember(placement, sharding)
        for placement, sharding in zip(self.loaded.outputs, self.outputs):
            remember(placement, sharding)

    def inputs_of(self, arrays: Sequence[Any]) -> list[Any]:
        kept = self.source.kept
        return list(arrays) if kept is None else [arrays[i] for i in kept]

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether no array would be moved."""
        return all(
            value.placement.bare is placement.bare
            for value, placement in zip(self.inputs_of(arrays), self.loaded.inputs)
            if isinstance(value, Array)
        )


_numbers = itertools.count()


class _Call:
    """What calls of a key do."""

    def __init__(
        self,
        program: _Program,
        arrays: Sequence[Any],
        conversions: Mapping[int, Callable[[Any], Any]],
        moves: Moves,
    ):
        """moves: what is watched over all calls of the function."""
        kept = program.source.kept
        inputs = range(len(arrays)) if kept is None else kept
        self._kept = kept
        self._conversions = [
            (number, conversions[array])
            for number, array in enumerate(inputs)
            if array in conversions
        ]
        # What is given away without lying on the devices: JAX's arrays.
        self._deleted = [
            array
            for array, tensor in zip(inputs, program.executable.signature.description["inputs"])
            if tensor.get("donated") and array in conversions and hasattr(arrays[array], "delete")
        ]
        self._loaded = program.loaded
        self._run = program.loaded.run
        self._moves = moves
        self._result = program.source.result

    def __call__(self, arrays: Sequence[Any]) -> Any:
        values = list(arrays) if self._kept is None else [arrays[i] for i in self._kept]
        for number, convert in self._conversions:
            values[number] = convert(values[number])
        results = self._run(values)
        if self._loaded.moved or self._moves.is_watching:
            self._moves.look(self._loaded, values, results)
        for array in self._deleted:
            arrays[array].delete()
        return self._result(results)


def sharding_of(array: Any) -> MeshSharding | None:
    """How an array is split; None: nobody has said it."""
    return recall(array.placement) if isinstance(array, Array) else None
