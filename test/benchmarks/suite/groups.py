# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The groups of the suite: each yields its rows, as they are measured."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers
from collectives import COLLECTIVES, Collectives
from ops import OPS
from rows import Row, Way, measure


FOLDER = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SHOAL_BUILD", FOLDER.parents[1] / "build/release"))
LAYER_WAYS = {"shoal": "sparse", "jax": "jax"}


@dataclass(frozen=True)
class Options:
    """ranks: what to run on, each. rounds: turns of each way; repeat: steps in a turn.
    only: names of the group to measure, or none for all."""

    ranks: Sequence[int]
    rounds: int
    repeat: int
    only: frozenset[str]

    def wants(self, name: str) -> bool:
        return not self.only or name in self.only


@contextmanager
def cores(count: int) -> Iterator[int]:
    """This process and those that it starts meanwhile have so many, or what there are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield len(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


def _setting(ranks: int) -> str:
    return f"{ranks} ranks, {min(ranks, len(os.sched_getaffinity(0)))} cores"


def _least_step(loaded: Any, values: Sequence[Any]) -> Way:
    """The devices' own time: what a call of Python costs is another benchmark's."""

    def way(repeat: int) -> float:
        times = []
        for _ in range(repeat):
            loaded.run(values)
            times.append(loaded.seconds)
        return min(times)

    loaded.run(values)
    return way


def _copy(arrays: Sequence[np.ndarray], outputs: Sequence[Any], core_count: int) -> Way:
    """Copies half of all bytes that the op reads and writes, by all cores."""
    from concurrent.futures import ThreadPoolExecutor

    moved = sum(a.nbytes for a in arrays)
    moved += sum(int(np.prod(out.shape)) * np.dtype(out.dtype).itemsize for out in outputs)
    source = np.ones(moved // 8, np.float32)
    target = np.empty_like(source)
    pairs = list(zip(np.array_split(target, core_count), np.array_split(source, core_count)))

    def way(repeat: int) -> float:
        times = []
        with ThreadPoolExecutor(core_count) as threads:
            for _ in range(repeat + 1):
                begin = time.perf_counter()
                list(threads.map(lambda pair: np.copyto(*pair), pairs))
                times.append(time.perf_counter() - begin)
        return min(times[1:])

    return way


def measure_ops(options: Options) -> Iterator[Row]:
    """One rank on one core and on all, then ranks that split the first dimension, a core each."""
    every = len(os.sched_getaffinity(0))
    settings = [(1, count) for count in sorted({1, every})]
    settings += [(ranks, min(ranks, every)) for ranks in options.ranks if ranks > 1]
    for ranks, count in settings:
        with cores(count) as core_count, ExitStack() as stack:
            yield from _ops_on(options, ranks, core_count, stack)


def _ops_on(options: Options, ranks: int, core_count: int, stack: ExitStack) -> Iterator[Row]:
    import jax

    import shoal
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    pool = stack.enter_context(shoal.launch(ranks))
    libraries = [name for name in ("jax", "torch") if peers.is_there(name)]
    others = {name: stack.enter_context(peers.start(name, ranks)) for name in libraries}
    mesh = jax.sharding.AbstractMesh((ranks,), ("d",))
    for name, op in OPS.items():
        if not options.wants(name):
            continue
        traced = peers.trace(name, mesh)
        loaded = pool.load(shoal.compile_text(import_stablehlo(lower(traced))))
        arrays = op.arrays()
        values = [pool.put(array, place) for array, place in zip(arrays, loaded.inputs)]
        ways: dict[str, Way] = {"shoal": _least_step(loaded, values)}
        for library, peer in others.items():
            if library == "jax" or op.torch is not None and ranks == 1:
                ways[library] = lambda repeat, peer=peer, name=name: peer.least(name, repeat)
        if op.streams:
            ways["copy"] = _copy(arrays, jax.tree.leaves(traced.out_info), core_count)
        setting = f"{ranks} ranks, {core_count} cores"
        yield measure("op", name, setting, ways, options.rounds, options.repeat)


def measure_collectives(options: Options) -> Iterator[Row]:
    """Of 1 KiB to 16 MiB that each rank has, in Shoal's programs and by MPI itself."""
    for ranks in options.ranks:
        if ranks == 1:
            continue
        setting = _setting(ranks)
        with cores(ranks), tempfile.TemporaryDirectory() as folder:
            made = Collectives(BUILD / "bin/shoalc", Path(folder), ranks)
            for name in filter(options.wants, COLLECTIVES):
                for size in (1 << 10, 1 << 16, 1 << 20, 1 << 24):
                    ways = made.ways(name, size)
                    title = f"{name} {size >> 10} KiB"
                    yield measure("collective", title, setting, ways, options.rounds, options.repeat)


def _json_of(script: str, *flags: str, python: Path | str = sys.executable) -> list[dict[str, Any]]:
    """What a benchmark of this folder writes, in a process of its own: they want other numbers
    of devices of JAX."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        command = [python, "-W", "ignore", FOLDER / script, *flags, "--json", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text())


def measure_layers(options: Options) -> Iterator[Row]:
    """The MoE layer with one-hot masks over the time of its experts' products alone."""
    for number, ranks in itertools.product(range(5), options.ranks):
        if not options.wants(f"row{number}"):
            continue
        flags = ("--rows", str(number), "--ranks", str(ranks), "--rounds", str(options.rounds))
        for found in _json_of("sparse_layer.py", *flags, "--ways", "sparse", "jax"):
            case = found["case"]
            sizes = ", ".join(str(case[letter]) for letter in "GSMHE")
            yield Row(
                "layer",
                f"{'gradient' if case['gradients'] else 'forward'} {sizes}",
                _setting(ranks),
                {
                    "shoal": found["sparse"]["seconds"],
                    "jax": found["jax"]["seconds"],
                    "experts": found["experts_seconds"],
                },
                {way: found[name]["bytes"] / 2**20 for way, name in LAYER_WAYS.items()},
                max(found["load"]),
            )


def measure_steps(options: Options) -> Iterator[Row]:
    """Training steps of decoders on two devices that stay, beside JAX's."""
    names = [name for name in ("plain", "moe", "flax", "qwen3") if options.wants(name)]
    python = _with_models() if {"flax", "qwen3"} & set(names) else sys.executable
    if not python:
        names = [name for name in names if name in ("plain", "moe")]
    flags = ("--rounds", str(options.rounds), "--repeat", str(options.repeat))
    for name in names:
        for found in _json_of("step_vs_jax.py", name, *flags, python=python or sys.executable):
            yield Row("step", found["name"], _setting(2), found["seconds"], load=found["load"])


def measure_compiling(options: Options) -> Iterator[Row]:
    """Programs of libraries and deep Transformers, cold, beside XLA on the same cores."""
    python = _with_models()
    pattern = "" if python else "^transformer_12"
    flags = ("--filter", pattern, "--repeat", str(min(options.rounds, 3)))
    for found in _json_of("compile_vs_jax.py", *flags, python=python or sys.executable):
        if options.wants(found["name"]):
            note = f"{found['cached']:.2f} s from the cache"
            yield Row("compile", found["name"], "8 devices", found["seconds"], {}, found["load"], note)


def _with_models() -> Path | None:
    """The Python that has the libraries of models, once test/real-models/run.sh installed it."""
    python = FOLDER.parents[1] / ".cache/real-models/bin/python"
    return python if python.exists() else None


GROUPS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "layers": measure_layers,
    "steps": measure_steps,
    "ops": measure_ops,
    "collectives": measure_collectives,
    "compile": measure_compiling,
}
