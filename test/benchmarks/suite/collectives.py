# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of Shoal's programs beside the same calls of plain MPI.

Both are executables of the same memory, started by the same mpirun, which stand in a barrier
before each call; the time of the rank that takes longest counts, and the least of all calls.
Programs are written for one device, so that they are the collective and nothing else: no copy
of an argument, no part of a sum.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
CALLS_OF_A_STEP = 20  # calls take microseconds where steps take milliseconds


@dataclass(frozen=True)
class Collective:
    """A program of one device that has f32[1, words] of f32[ranks, words].

    body: makes %y of %x; {x} and {y} are their types, of the device.
    whole, outputs, result: the result's shape of ranks and words, how it is split, as text, and
    the device's part of it.
    """

    body: str
    whole: Callable[[int, int], tuple[int, int]]
    outputs: str
    result: Callable[[int, int], tuple[int, int]]

    def program(self, ranks: int, words: int) -> str:
        def tensor(rows: int, columns: int) -> str:
            return f"tensor<{rows}x{columns}xf32>"

        x, y = tensor(1, words), tensor(*self.result(ranks, words))
        return f"""
shoal.mesh @mesh = <["d" = {ranks}]>
func.func @main(%x: {x} {{shoal.name = "x", shoal.global_type = {tensor(ranks, words)},
                          shoal.sharding = #shoal.sharding<@mesh, {_ROWS}>}})
    -> ({y} {{shoal.global_type = {tensor(*self.whole(ranks, words))},
              shoal.sharding = #shoal.sharding<@mesh, {self.outputs}>}}) attributes {{shoal.spmd}} {{
  %y = {self.body.format(x=x, y=y)}
  return %y : {y}
}}
"""


_ROWS, _COLUMNS, _WHOLE = '[{"d"}, {}]', '[{}, {"d"}]', "[{}, {}]"
COLLECTIVES = {
    "all_reduce": Collective(
        'spmd.all_reduce sum @mesh {{"d"}} %x : {x}',
        lambda n, words: (1, words),
        _WHOLE,
        lambda n, words: (1, words),
    ),
    "reduce_scatter": Collective(
        'spmd.reduce_scatter sum @mesh [{{}}, {{"d"}}] %x : {x} -> {y}',
        lambda n, words: (1, words),
        _COLUMNS,
        lambda n, words: (1, words // n),
    ),
    "all_gather": Collective(
        'spmd.all_gather @mesh [{{"d"}}, {{}}] %x : {x} -> {y}',
        lambda n, words: (n, words),
        _WHOLE,
        lambda n, words: (n, words),
    ),
    "all_to_all": Collective(
        'spmd.all_to_all @mesh [{{"d"}} : 0 -> 1] %x : {x} -> {y}',
        lambda n, words: (n, words),
        _COLUMNS,
        lambda n, words: (n, words // n),
    ),
    "collective_permute": Collective(
        'spmd.collective_permute @mesh {{"d"}} -> @mesh {{"d"}} %x {{shift = 1 : i64}} : {x}',
        lambda n, words: (n, words),
        _ROWS,
        lambda n, words: (1, words),
    ),
}


class Collectives:
    """Both kinds of executables, made in a folder. shoalc: the compiler."""

    def __init__(self, shoalc: Path, folder: Path, ranks: int):
        self._shoalc, self._folder, self._ranks = shoalc, folder, ranks
        self._plain = folder / "plain"
        source = Path(__file__).with_name("plain_collectives.c")
        subprocess.run(["mpicc", "-O2", source, "-o", self._plain], check=True)

    def ways(self, name: str, size: int) -> dict[str, Callable[[int], float]]:
        """Seconds of a call of `size` bytes a rank, the least of a turn of so many steps."""
        program = self._folder / f"{name}_{size}"
        source = program.with_suffix(".mlir")
        source.write_text(COLLECTIVES[name].program(self._ranks, size // 4))
        subprocess.run([self._shoalc, source, "-o", program], check=True)
        return {"shoal": partial(self._shoal, program), "mpi": partial(self._mpi, name, size)}

    def _shoal(self, program: Path, repeat: int) -> float:
        stats = program.with_suffix(".json")
        flags = ["--warmup=1", f"--repeat={CALLS_OF_A_STEP * repeat}", f"--stats={stats}"]
        self._run([str(program), *flags, "--random-inputs=1"])
        return json.loads(stats.read_text())["step_seconds"]["min"]

    def _mpi(self, name: str, size: int, repeat: int) -> float:
        return float(self._run([str(self._plain), name, str(size), str(CALLS_OF_A_STEP * repeat)]))

    def _run(self, command: list[str]) -> str:
        command = ["mpirun", "-n", str(self._ranks), *command]
        environment = os.environ | MPI
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment
        ).stdout
