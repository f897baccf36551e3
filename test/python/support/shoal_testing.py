# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running the tools, watching processes, comparing arrays.

The tools are those of $SHOAL_BUILD/bin, or of build/release/bin.
"""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import packing
from paths import BUILD, ROOT  # noqa: F401

BIN = BUILD / "bin"
TIMEOUT = 60  # seconds; a hang is a failure, not a wait
# What executables are compiled for: all tests of executables run for each.
TARGET = os.environ.get("SHOAL_TEST_TARGET", "cpu")
TARGET_FLAGS = {
    "cpu": (),
    "emulated": ("--target=cuda", "--cuda-arch=emulated"),
    "cuda": ("--target=cuda",),
}[TARGET]
# Whether tests marked `long` run in their full form.
LONG = os.environ.get("SHOAL_LONG") == "1"


EMULATION = BUILD / "lib" / "libshoal_cuda_emulation.so"
needs_emulation = pytest.mark.skipif(not EMULATION.exists(), reason="built without a CUDA toolkit")


def mpi_environment():
    """The environment, with what many ranks on a small machine need."""
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def is_running(process):
    """Whether it exists and is more than a zombie that nobody collects."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@dataclass
class Completed:
    """How a tool ended."""

    command: list
    code: int
    stdout: str
    stderr: str

    def expect_success(self):
        command = " ".join(self.command)
        assert self.code == 0, f"{command}\nexit {self.code}\n{self.stderr[-4000:]}"
        return self


def run(*command, timeout=TIMEOUT):
    """Runs a command; past the timeout it and what it started are ended."""
    command = [str(part) for part in command]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=mpi_environment(),
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.terminate()  # mpirun then ends its ranks
        try:
            stdout, stderr = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        stderr += f"\n(ended after {timeout} s)"
    return Completed(command, process.returncode, stdout, stderr)


def shoalc(source, output, *flags):
    def compile_for_cuda(path):
        target = ("--target=cuda", f"--cuda-arch={packing.ARCH}")
        return run(BIN / "shoalc", source, "-o", path, *target, *flags)

    ended = run(BIN / "shoalc", source, "-o", output, *TARGET_FLAGS, *flags)
    packing.keep_program(compile_for_cuda, output)
    return ended


def shoal_run(source, *flags):
    return run(BIN / "shoal-run", source, *flags)


def mpirun(devices, program, *flags):
    ended = run("mpirun", "-n", devices, program, *flags)
    packing.keep_run(devices, program, flags, ended)
    return ended


def save_inputs(directory, arrays):
    """Writes NAME.npy files; returns the --input flags that name them."""
    flags = []
    for name, array in arrays.items():
        path = Path(directory) / f"{name}.npy"
        np.save(path, array)
        flags += ["--input", f"{name}={path}"]
    return flags


def load_results(directory, names):
    return {name: np.load(Path(directory) / f"{name}.npy") for name in names}


def load_json(path):
    return json.loads(Path(path).read_text())


def relative_difference(actual, expected):
    """Largest difference over the largest expected value."""
    actual, expected = np.float64(actual), np.float64(expected)
    assert actual.shape == expected.shape, f"{actual.shape} != {expected.shape}"
    assert np.isfinite(actual).all(), "a result is not finite"
    scale = max(np.max(np.abs(expected), initial=0.0), 1e-30)
    return np.max(np.abs(actual - expected), initial=0.0) / scale


class Resources(NamedTuple):
    """What a process has: KiB in memory, open files, mappings."""

    resident: int
    files: int
    maps: int


def resources_of(process):
    status = Path(f"/proc/{process}/status").read_text()
    return Resources(
        int(status.split("VmRSS:")[1].split()[0]),
        len(os.listdir(f"/proc/{process}/fd")),
        len(Path(f"/proc/{process}/maps").read_text().splitlines()),
    )


def expect_no_growth(before, after):
    """Of a process' resources, behind 1,500 calls or more: half a page of each would be seen, and
    what the heap of a process of many tests does by itself, about a MiB, is not."""
    assert after.resident < before.resident + 3072, (before, after)
    assert after.files <= before.files and after.maps <= before.maps + 2, (before, after)
