# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program of the conformance run, from JAX to numbers and bytes.

Runs in a process whose JAX has 8 CPU devices (`prepare` before anything else).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

DEVICES = 8
ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release")) / "bin"
TIMEOUT = 120  # seconds for a tool
# Differences relative to a result's largest element.
_TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "bfloat16": 2e-2, "float16": 4e-3}
_TOLERANCES |= {"complex128": 1e-10, "complex64": 2e-5}
_TOLERANCES |= {"float8_e4m3fn": 0.13, "float8_e5m2": 0.26}


@dataclasses.dataclass
class Outcome:
    """How a program fared. status: passed, failed or unsupported; `why` where not passed."""

    name: str
    family: str
    devices: int
    status: str = "passed"
    why: str = ""
    difference: float = 0.0
    ours: dict[str, int] = dataclasses.field(default_factory=dict)
    xla: dict[str, int] | None = None
    ran_under_mpi: bool = False
    # Operations of products on all devices over those of the whole program's;
    # None where there are none, or XLA was not asked.
    flops_ratio: float | None = None
    flops_ratio_xla: float | None = None
    # Bytes that a device holds at most: arguments, results and what is between.
    peak: int | None = None
    peak_xla: int | None = None

    @property
    def bytes_ours(self) -> int:
        return sum(self.ours.values())

    @property
    def bytes_xla(self) -> int | None:
        return None if self.xla is None else sum(self.xla.values())


class Failure(Exception):
    """What went wrong, in a line or a few."""


def source_of_figures(command: str) -> str:
    """What utils/renew-results.py reads of a page: that the command made it in this tree."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    return f"<!-- figures: {commit}, hours: {command} -->"


def prepare() -> None:
    """Gives JAX its devices; before JAX is imported."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = (
        f"--xla_force_host_platform_device_count={DEVICES} --xla_cpu_multi_thread_eigen=false"
        # Its plans are of interest, not its speed.
        " --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    )


def examine(program, folder: Path, flags: Sequence[str], *, xla: bool, mpi: bool) -> Outcome:
    """Runs a program all ways, partitioned with `flags`, and compares.

    Exceptions become the outcome.
    """
    from shoal.errors import ShoalError, UnsupportedError

    outcome = Outcome(program.name, program.family, int(np.prod(list(program.axes.values()))))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with jax_settings(program):
            _examine(program, folder, flags, outcome, xla, mpi)
    except UnsupportedError as error:
        outcome.status, outcome.why = "unsupported", str(error)
    except (Failure, ShoalError) as error:
        outcome.status, outcome.why = "failed", str(error)
    except Exception as error:  # a bug of the importer's or a program that JAX refuses
        outcome.status, outcome.why = "failed", f"{type(error).__name__}: {error}"
    return outcome


@contextlib.contextmanager
def jax_settings(program) -> Iterator[None]:
    import jax

    jax.config.update("jax_use_shardy_partitioner", not program.gspmd)
    try:
        with jax.enable_x64(program.x64):
            yield
    finally:
        jax.config.update("jax_use_shardy_partitioner", True)


def _examine(program, folder: Path, flags, outcome: Outcome, xla: bool, mpi: bool) -> None:
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    whole = program.on_one_device()
    expected = _results(whole, program)
    traced = program.traced(program.mesh())
    if xla:
        measure_xla(traced.lower().compile(), whole, outcome)
    source = folder / "program.mlir"
    source.write_text(import_stablehlo(lower(traced)))
    inputs = _save_inputs(program, folder)
    measure(source, flags, folder / "stats.json", outcome)
    results = folder / "interpreted"
    _run(
        "shoal-run",
        *(BIN / "shoal-run", source, f"--devices={DEVICES}", *flags),
        *(*inputs, "--output-dir", results),
    )
    outcome.difference = _compare(program, expected, results, "shoal-run")
    if mpi:
        _run_under_mpi(program, folder, source, flags, inputs, expected)
        outcome.ran_under_mpi = True


def _results(whole, program) -> list[np.ndarray]:
    import jax

    return [np.asarray(leaf) for leaf in jax.tree.leaves(whole(*program.arrays()))]


def measure_xla(partitioned, whole, outcome: Outcome) -> None:
    """What XLA's program for all devices sends, holds and, where `whole` is given, multiplies."""
    from xla_bytes import bytes_sent
    from xla_flops import product_flops

    text = partitioned.as_text()
    outcome.xla = bytes_sent(text, outcome.devices)
    if whole and (flops := product_flops(whole.as_text())):
        outcome.flops_ratio_xla = product_flops(text) * outcome.devices / flops
    outcome.peak_xla = peak_of(partitioned)


def peak_of(partitioned) -> int:
    """Bytes that a device of XLA's program holds: arguments, results and temporaries."""
    memory = partitioned.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return held - memory.alias_size_in_bytes


def measure(source: Path, flags, stats: Path, outcome: Outcome) -> None:
    """The same of Shoal's, without running it."""
    _run(
        "shoalc",
        *(BIN / "shoalc", source, *flags, "--emit=spmd", "-o", os.devnull, "--stats", stats),
    )
    statistics = json.loads(stats.read_text())
    outcome.ours = {k: int(v) for k, v in statistics["bytes_sent_per_device"].items() if v}
    outcome.flops_ratio = statistics["einsum_flops_ratio"]
    outcome.peak = statistics["peak_bytes_per_device"]
    if statistics["devices"] != outcome.devices:
        raise Failure(f"compiled for {statistics['devices']} devices")


def _run_under_mpi(program, folder: Path, source: Path, flags, inputs, expected) -> None:
    executable, results = folder / "program", folder / "executed"
    _run("shoalc", BIN / "shoalc", source, *flags, "-o", executable)
    _run("mpirun", *("mpirun", "-n", DEVICES, executable, *inputs, "--output-dir", results))
    _compare(program, expected, results, "mpirun")


def _save_inputs(program, folder: Path) -> list[str]:
    """NAME.npy files and the --input flags that name them; integers lose their sign."""
    flags = []
    arrays = program.arrays()
    for name, array in zip(_names("arguments", len(arrays), "arg"), arrays):
        path = folder / f"{name}.npy"
        np.save(path, _signless(array))
        flags += ["--input", f"{name}={path}"]
    return flags


def _names(whole: str, count: int, default: str) -> list[str]:
    from shoal.jax.locations import unique_names

    found = unique_names([f"{whole}[{i}]" for i in range(count)], default)
    return [name or f"{default}{i}" for i, name in enumerate(found)]


def _signless(array: np.ndarray) -> np.ndarray:
    is_unsigned = np.issubdtype(array.dtype, np.unsignedinteger)
    return array.view(f"i{array.dtype.itemsize}") if is_unsigned else array


def _compare(program, expected: list[np.ndarray], folder: Path, tool: str) -> float:
    """The largest difference; Failure past the tolerance."""
    files = _result_files(program, folder, len(expected))
    worst = 0.0
    for i, (path, wanted) in enumerate(zip(files, expected)):
        got = np.load(path)
        got = got.view(wanted.dtype) if got.dtype != wanted.dtype else got
        if got.shape != wanted.shape:
            raise Failure(f"{tool}: result {i}: shape {got.shape}, JAX has {wanted.shape}")
        difference = _difference(got, wanted)
        tolerance = program.tolerance or _TOLERANCES.get(wanted.dtype.name, 0)
        if not difference <= tolerance:
            raise Failure(f"{tool}: result {i} of {wanted.dtype}: off by {difference:.3g}")
        worst = max(worst, difference)
    return worst


def _result_files(program, folder: Path, count: int) -> list[Path]:
    """In the order of results: named by their paths in JAX's tree."""
    from shoal.jax.locations import unique_names

    paths = program.result_paths()
    names = unique_names([f"result{path}" for path in paths], "result")
    return [folder / f"{name or f'result{i}'}.npy" for i, name in enumerate(names)]


def _difference(got: np.ndarray, wanted: np.ndarray) -> float:
    """Relative to the largest finite element; infinite where NaNs or infinities differ."""
    if wanted.dtype == bool or np.issubdtype(wanted.dtype, np.integer):
        return 0.0 if np.array_equal(got, wanted) else float("inf")
    wide = np.complex128 if np.issubdtype(wanted.dtype, np.complexfloating) else np.float64
    got, wanted = wide(got), wide(wanted)
    finite = np.isfinite(wanted)
    if not np.array_equal(got[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    scale = max(np.max(np.abs(wanted[finite]), initial=0.0), 1e-30)
    return float(np.max(np.abs(got[finite] - wanted[finite]), initial=0.0) / scale)


def _run(tool: str, *command) -> None:
    """Runs a command; Failure with what it said, also past the timeout."""
    from shoal.executable import launch

    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**launch.environment(DEVICES), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )
    try:
        _, stderr = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        launch.end(process)
        raise Failure(f"{tool}: no end after {TIMEOUT} s") from None
    if process.returncode:
        raise Failure(f"{tool}: exit {process.returncode}: {stderr.strip()[-1500:]}")
