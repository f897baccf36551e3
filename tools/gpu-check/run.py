#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what pack.py packed on a machine with an NVIDIA GPU; writes one JSON file.

    python3 run.py --output gpu-check.json [--seconds 540]

Needs Python 3.9 with NumPy and the driver. The CUDA runtime, cuBLASLt and NCCL
come from LD_LIBRARY_PATH, the CUDA toolkit or Python's nvidia-* packages; MPI is
in the pack. Nothing is fetched.

First the tests' cases of one device, then those of 2, 4 and 8 devices, with all
ranks on one GPU, where NCCL is 2.30 or newer, then a subset under
compute-sanitizer, then the benchmark. What does not fit into the time is listed
as not run.
"""

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-2}
NCCL_OF_SEVERAL_RANKS = (2, 30)


def library_folders():
    """Where the toolkit and Python's packages keep NVIDIA's libraries."""
    folders = [HERE / "mpi" / "lib", Path("/usr/local/cuda/lib64")]
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        folders += sorted(Path(root).glob("*/lib"))
    return [str(folder) for folder in folders if folder.is_dir()]


def environment():
    paths = library_folders() + [os.environ.get("LD_LIBRARY_PATH", "")]
    # Outside of a pack the system's MPI is taken.
    packed = {"OPAL_PREFIX": str(HERE / "mpi")} if (HERE / "mpi").exists() else {}
    return {
        **os.environ,
        **packed,
        "LD_LIBRARY_PATH": ":".join(paths),
        "PATH": f"{HERE / 'mpi' / 'bin'}:{os.environ['PATH']}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader,tcp",
        "NCCL_MULTI_RANK_GPU_ENABLE": "1",
    }


def run(command, seconds):
    try:
        return subprocess.run(
            [str(part) for part in command],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as expired:
        return subprocess.CompletedProcess(command, 124, "", f"ran past {expired.timeout:.0f} s")
    except FileNotFoundError as missing:
        return subprocess.CompletedProcess(command, 127, "", str(missing))


def difference(actual, expected):
    """Over the largest expected value; whole numbers and NaNs must be equal."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    if actual.size == 0 or np.array_equal(actual, expected, equal_nan=actual.dtype.kind == "f"):
        return 0.0
    if actual.dtype.kind != "f":
        return float("inf")
    known = np.isfinite(expected)
    if not np.array_equal(actual[~known], expected[~known], equal_nan=True):
        return float("inf")
    scale = np.max(np.abs(np.float64(expected[known])), initial=1e-30)
    return float(np.max(np.abs(np.float64(actual[known]) - expected[known])) / scale)


def run_case(case, record, prefix, work):
    """None, or why the case failed."""
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    inputs = [
        part for path in sorted((case / "in").glob("*.npy")) for part in ("--input", f"{path.stem}={path}")
    ]
    command = [*prefix, HERE / "programs" / record["program"], *record["flags"], *inputs]
    ended = run([*command, "--output-dir", out], 60)
    if ended.returncode != 0:
        return f"exit {ended.returncode}: {(ended.stderr.strip() or ended.stdout.strip())[-500:]}"
    for expected in sorted((case / "out").glob("*.npy")):
        whole = np.load(expected)
        apart = difference(np.load(out / expected.name), whole)
        if apart > TOLERANCE.get(str(whole.dtype), 0.0):
            return f"{expected.stem}: differs by {apart:.2e}"
    return None


class Check:
    def __init__(self, deadline, work):
        self.deadline = deadline
        self.work = work

    def cases(self, devices, prefix, limit=None):
        """Runs the packed cases of so many devices."""
        result = {"passed": 0, "failed": {}, "not run": 0}
        for case in sorted((HERE / "cases").iterdir()):
            record = json.loads((case / "case.json").read_text())
            if record["devices"] != devices:
                continue
            ran = result["passed"] + len(result["failed"])
            if time.monotonic() > self.deadline or (limit and ran >= limit):
                result["not run"] += 1
                continue
            why = run_case(case, record, prefix, self.work)
            if why:
                result["failed"][case.name] = why
            else:
                result["passed"] += 1
        return result


def nccl_version():
    code = (
        "import ctypes; n = ctypes.CDLL('libnccl.so.2'); v = ctypes.c_int();"
        "n.ncclGetVersion(ctypes.byref(v)); print(v.value)"
    )
    ended = run(["python3", "-c", code], 30)
    if ended.returncode != 0:
        return None
    number = int(ended.stdout)
    return number // 10000, number // 100 % 100, number % 100


def machine():
    ended = run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], 30)
    return {
        "gpu": ended.stdout.strip() if ended.returncode == 0 else None,
        "nccl": nccl_version(),
        "system": platform.platform(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="gpu-check.json")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--emulated", action="store_true", help="of a pack for the emulated device")
    options = parser.parse_args()
    work = Path(options.output).resolve().parent / "gpu-check-work"
    work.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    report = {"machine": machine()}
    path = Path(options.output)

    def note(key, value):
        report[key] = value
        report["seconds"] = round(time.monotonic() - begin, 1)
        path.write_text(json.dumps(report, indent=2) + "\n")
        print(key, json.dumps(value)[:2000], flush=True)

    check = Check(begin + 0.25 * options.seconds, work)
    note("one device", check.cases(1, []))
    version = report["machine"]["nccl"]
    mpirun = shutil.which("mpirun", path=environment()["PATH"])
    shares = bool(version and version[:2] >= NCCL_OF_SEVERAL_RANKS and mpirun)
    for turn, ranks in enumerate((2, 4, 8)):
        check.deadline = begin + (0.35 + 0.05 * turn) * options.seconds
        unable = {"not run": f"NCCL {version}, mpirun {mpirun}"}
        note(f"{ranks} ranks on one GPU", check.cases(ranks, [mpirun, "-n", ranks]) if shares else unable)
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    for tool in ("memcheck", "racecheck"):
        check.deadline = begin + 0.55 * options.seconds
        prefix = [sanitizer, "--tool", tool, "--error-exitcode", "9"]
        note(tool, check.cases(1, prefix, limit=12) if Path(sanitizer).exists() else {"not run": sanitizer})
    left = max(options.seconds - (time.monotonic() - begin), 60)
    output = work / "benchmark.json"
    emulated = ["--emulated"] if options.emulated else []
    command = ["python3", HERE / "benchmark.py", "--output", output, "--seconds", left - 10, *emulated]
    ended = run(command, left)
    failed = {"failed": ended.stderr[-2000:]}
    note("benchmark", failed if ended.returncode else json.loads(output.read_text()))


if __name__ == "__main__":
    main()
