# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled program."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import InputError
from shoal.executable import saving
from shoal.executable.beside import interruptible
from shoal.executable.arguments import check_count, check_stats, check_timeout
from shoal.executable.call_structure import CallStructure
from shoal.executable.files import RunOptions, run_by_files
from shoal.executable.host_calls import HostCalls, HostFunction, check_functions
from shoal.executable.launch import Nodes, nodes_by_default
from shoal.executable.native import native
from shoal.executable.options import CompileOptions
from shoal.executable.program import Program
from shoal.executable.session import Session
from shoal.executable.signature import Signature, Tensor, arrange, check_global
from shoal.executable.shown import Page, Stats, html_of
from shoal.executable.storage import TemporaryFolder
from shoal.files import replace_file

if TYPE_CHECKING:
    from mpi4py import MPI


class Executable(Program):
    """A program that a number of processes run, one for each device.

    `compile_text` and the frontends make them; `load` reads one from a file.
    They pickle, so that one rank may compile and broadcast.

    text: the program as written, in MLIR.
    options: how it was compiled.
    stats: what `shoalc --stats` writes: collectives, bytes sent, memory, flops.
    """

    def __init__(
        self,
        text: str,
        signature: Signature,
        stats: dict[str, Any],
        options: CompileOptions,
        folder: TemporaryFolder,
        *,
        source: str = "<program>",
        structure: CallStructure | None = None,
        host_functions: Mapping[int, HostFunction] | None = None,
    ):
        self.text = text
        self.stats = Stats(stats)
        self.options = options
        self.source = source
        self.structure = structure
        self._signature = signature
        # What the program calls in this process; files do not hold it.
        self._host_functions = dict(host_functions or {})
        # `program` and `program.so`; it goes away with this object.
        self._folder = folder

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a call takes, in the program's order."""
        return self._signature.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What a call gives, in the program's order."""
        return self._signature.outputs

    @property
    def signature(self) -> Signature:
        """Inputs, outputs and devices, as the compiled program describes itself."""
        return self._signature

    @property
    def folder(self) -> TemporaryFolder:
        """Where `program` and `library` are; it goes away with this object."""
        return self._folder

    @property
    def program(self) -> Path:
        """The executable file, for `mpirun -n {devices}`; see its --help."""
        self._link()
        return self._program_path

    @property
    def _program_path(self) -> Path:
        return self._folder.path / "program"

    def _link(self) -> None:
        """Makes the executable file, if only the library was asked for before."""
        if self._program_path.exists():
            return
        made = self._program_path.with_name(f"program-{secrets.token_hex(4)}")
        self._compiled(executable=str(made))
        made.replace(self._program_path)

    @property
    def library(self) -> Path:
        """The shared library that sessions and devices load (shoal/Runtime/Session.h)."""
        return self._folder.path / "program.so"

    def run(
        self,
        inputs: Any = (),
        *,
        timeout: float | None = None,
        repeat: int = 1,
        warmup: int = 0,
        random_inputs: int | None = None,
        stats: dict[str, Any] | None = None,
        threads: int | None = None,
        nodes: Nodes | None = None,
    ) -> Any:
        """Runs the program on whole arrays, in processes that mpirun starts.

        inputs: a list, tuple or dict of arrays by order or name, or as the
          call's structure nests them. Numbers of Python do for scalars.
        timeout: seconds after which all is ended.
        repeat, warmup: steps that are timed, and steps before those; all have
          the same inputs.
        random_inputs: a seed, from which inputs come that a dict leaves out.
        stats: a dict that is filled with times, bytes sent and memory.
        threads: of each process, on CPUs; else SHOAL_NUM_THREADS, or its part of
          the cores (docs/guide/Threads.md).
        nodes: where, as `shoal.launch` takes them; by default what SHOAL_NODES says, else
          this machine. Nodes are sent the program and their parts of the inputs
          (docs/guide/Nodes.md); `stats` has times alone then.

        Returns the whole outputs, as the call's structure nests them, or a dict
        by name. Raises InputError, and RunError with what processes wrote.
        """
        seed = random_inputs
        if seed is not None:
            seed = check_count("random_inputs", seed, 0, 2**64 - 1)
        options = RunOptions(
            timeout=check_timeout(timeout),
            repeat=check_count("repeat", repeat, 1),
            warmup=check_count("warmup", warmup, 0),
            seed=seed,
            stats=check_stats(stats),
            threads=None if threads is None else check_count("threads", threads, 1, 1024),
        )
        arrays = self._arrays(inputs, seed is not None)
        nodes = nodes or nodes_by_default()
        if nodes is None:
            return self._result(
                run_by_files(self.program, self._signature, arrays, options, self.host_calls())
            )
        from shoal.devices.elsewhere import run_on_nodes  # devices stand on this package

        return self._result(run_on_nodes(self, arrays, nodes, options))

    def host_calls(self) -> HostCalls | None:
        """What answers the program's calls of functions of this process; None where it has none."""
        description = self._signature.description
        check_functions(description, self._host_functions)
        return HostCalls(self._host_functions) if description.get("host_calls") else None

    def _arrays(self, inputs: Any, fills_others: bool) -> list[np.ndarray | None]:
        """One for each input; None for those that a seed fills."""
        if not fills_others:
            values = self.flatten(inputs)
            return [check_global(value, tensor) for value, tensor in zip(values, self.inputs)]
        if inputs and not isinstance(inputs, Mapping):
            raise InputError("expected a dict by name beside random_inputs")
        given = dict(inputs)
        arrange(given, [tensor for tensor in self.inputs if tensor.name in given])
        return [
            check_global(given[tensor.name], tensor) if tensor.name in given else None
            for tensor in self.inputs
        ]

    def flatten(self, inputs: Any) -> list[Any]:
        """A call's inputs in the program's order; InputError.

        They nest as the structure says, if there is one and they can be read so; else
        they are a dict by name, or as many as there are inputs.
        """
        if self.structure is not None:
            try:
                inputs = self.structure.flatten(inputs)
            except InputError:
                if not self._is_flat(inputs):
                    raise
        return arrange(inputs, self.inputs)

    def _is_flat(self, inputs: Any) -> bool:
        """Whether these look like arrays by name or in the program's order."""
        if isinstance(inputs, Mapping):
            names = {tensor.name for tensor in self.inputs}
            return bool(inputs) and all(name in names for name in inputs)
        return (
            isinstance(inputs, (list, tuple))
            and len(inputs) == len(self.inputs)
            and not any(
                value is None or isinstance(value, (list, tuple, Mapping)) for value in inputs
            )
        )

    def _result(self, outputs: Sequence[np.ndarray]) -> Any:
        if self.structure is not None:
            return self.structure.unflatten(outputs)
        return {tensor.name: array for tensor, array in zip(self.outputs, outputs)}

    def open(self, comm: MPI.Comm | None = None) -> Session:
        """The program in this process, which is one of an MPI job; collective.

        comm: of mpi4py, with as many ranks as the program has devices; its rank
        i is device i. By default COMM_WORLD. Raises RunError on every rank.
        """
        host_calls = self.host_calls()
        return Session(self.library, self._signature, comm, self.flatten, self._result, host_calls)

    def spmd(self, *, locations: bool = False) -> str:
        """The program of one device, in MLIR."""
        options = self.options.to_native()
        return interruptible(
            lambda on_stage: native().partition(
                self.text, options, self.source, locations=locations, on_stage=on_stage
            )
        )

    def _compiled(self, **files: Any) -> Any:
        """The text once more, for what was not asked for before."""
        options = self.options.to_native()
        return interruptible(
            lambda on_stage: native().compile(
                self.text, options, self.source, on_stage=on_stage, **files
            )
        )

    def summary(self) -> str:
        """What `shoalc --emit=summary` prints: inputs and outputs, collectives with their reasons,
        arithmetic, the largest buffers. It is compiled once more for that."""
        made = self._folder.path / f"summary-{secrets.token_hex(4)}"
        self._compiled(executable=str(made), summary=True)
        text = made.read_text()
        made.unlink()
        return text

    def report(self, path: str | Path | None = None) -> Page | Path:
        """A page of HTML that shows the partitioned program: each value's sharding,
        collectives with their reasons and bytes, memory over time. It stands alone, for any
        browser, and a notebook shows it.

        path: where to write it, as by `save`; then it is that which is returned.
        """
        page = Page(self._compiled(report=True).report)
        if path is None:
            return page
        replace_file(path, page.encode())
        return Path(path)

    def save(self, path: str | Path) -> None:
        """Writes all of it to one file, for `shoal.load`; see `saving`.

        A file that was there is replaced by a whole one, or left as it was.
        """
        replace_file(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        self._link()
        return saving.pack(
            saving.Contents(
                self.text,
                self._signature,
                self.stats,
                self.options,
                self._folder,
                self.source,
                self.structure,
            )
        )

    def __reduce__(self) -> Any:
        return from_bytes, (self.to_bytes(),)

    def _repr_html_(self) -> str:
        title = f"{self.name} on {self.devices} devices"
        return html_of(title, {"input": self.inputs, "output": self.outputs}, self.stats)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"<Executable {self.name} on {self.devices} devices: ({inputs}) -> ({outputs})>"


def from_bytes(
    content: bytes,
    name: str = "the file",
    *,
    structure: CallStructure | None = None,
    host_functions: Mapping[int, HostFunction] | None = None,
) -> Executable:
    """What `Executable.to_bytes` gave; with what files do not hold, from who has it."""
    made = saving.unpack(content, name)
    return Executable(
        made.text,
        made.signature,
        made.stats,
        made.options,
        made.folder,
        source=made.source,
        structure=structure or made.structure,
        host_functions=host_functions,
    )


def load(path: str | Path) -> Executable:
    """What `Executable.save` wrote. Containers of a frontend's own come back as tuples.

    A program that is loaded can run anything, as an executable file can: load
    what you trust. Raises ShoalError where the file is something else.
    """
    return from_bytes(Path(path).read_bytes(), str(path))
