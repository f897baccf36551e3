#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what pack.py packed on a machine with an NVIDIA GPU; writes one JSON file.

    python3 run.py --output gpu-check.json [--seconds 540]

Needs Python 3.9 with NumPy, the driver and cuBLASLt, of the CUDA toolkit or of
Python's nvidia-* packages (PyTorch brings them); the rest is in the pack.
Nothing is fetched.

First the tests' cases of one device, then those of several, with all ranks on
one GPU, by the NCCL of the pack or another from 2.30 on, then a subset under
compute-sanitizer, then the benchmark. What does not fit into the time is
listed as not run. The file is written after each case; its "finished" says
whether all of it has been. Exits 1 where a case failed, or there is no GPU.
"""

import argparse
import json
import shutil
import sys
import time
from functools import partial
from pathlib import Path

try:
    import numpy  # noqa: F401 (cases.py compares with it)
except ImportError:
    sys.exit(f"{sys.executable} has no NumPy, which the check needs")

import machine
from cases import Cases

NCCL_OF_SEVERAL_RANKS = [2, 30]
# When phases end, as parts of all the time; the benchmark has the rest.
ONE_DEVICE, SEVERAL_RANKS = 0.25, 0.42
TOOLS = {"memcheck": 0.47, "racecheck": 0.52}
SANITIZED = 12  # cases, that take a hundred times as long


class Check:
    """The phases, each of which notes its result, whatever happens in it."""

    def __init__(self, options):
        self.options = options
        self.begin = time.monotonic()
        self.path = Path(options.output).resolve()
        self.work = self.path.parent / "gpu-check-work"
        self.report = {"finished": False}
        self.cases = Cases(self.work)

    def note(self, name, value):
        self.report[name] = value
        self.report["seconds"] = round(time.monotonic() - self.begin, 1)
        machine.save(self.path, self.report)

    def phase(self, name, action):
        """Runs one; what it raises is its result, and the next one runs."""
        try:
            self.note(name, action())
        except Exception as error:
            self.note(name, {"failed": f"{type(error).__name__}: {error}"})
        print(f"{name}: {json.dumps(self.report[name])[:2000]}", flush=True)

    def run_cases(self, name, devices, share, prefix=(), **options):
        deadline = self.begin + share * self.options.seconds
        note = lambda result: self.note(name, {**result, "finished": False})
        return self.cases.run(devices, prefix, deadline, note, **options)

    def ranks(self, ranks, share):
        """All ranks on one GPU, which NCCL allows from 2.30 on."""
        name, versions = f"{ranks} ranks on one GPU", self.report["machine"]
        mpirun = shutil.which("mpirun", path=machine.environment()["PATH"])
        packed = versions["packed nccl"] is not None
        version = versions["packed nccl" if packed else "nccl"]
        able = isinstance(version, list) and version[:2] >= NCCL_OF_SEVERAL_RANKS
        if not mpirun or not (able or self.options.emulated):
            return {"not run": f"NCCL {version}, mpirun {mpirun}"}
        return self.run_cases(name, ranks, share, [mpirun, "-n", ranks], packed_nccl=packed)

    def sanitizer(self, tool):
        path = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not Path(path).exists() or self.options.emulated:
            return {"not run": f"{path}, emulated device" if self.options.emulated else f"no {path}"}
        prefix = [path, "--tool", tool, "--error-exitcode", "9"]
        return self.run_cases(tool, 1, TOOLS[tool], prefix, limit=SANITIZED)

    def benchmark(self):
        """The benchmark writes its own file, from which this one has what there is."""
        output = self.work / "benchmark.json"
        output.unlink(missing_ok=True)
        left = max(self.options.seconds - (time.monotonic() - self.begin), 30)
        command = [sys.executable, machine.HERE / "benchmark.py", "--output", output]
        command += ["--seconds", left - 10, *(["--emulated"] if self.options.emulated else [])]
        ended = machine.run(command, left)
        report = json.loads(output.read_text()) if output.exists() else {}
        return report if ended.code == 0 else {**report, "failed": ended.why()}

    def run(self):
        self.work.mkdir(parents=True, exist_ok=True)
        self.note("machine", machine.describe())
        devices = self.report["machine"]["devices"]
        if not (isinstance(devices, int) and devices > 0) and not self.options.emulated:
            return self.note("failed", f"there is no GPU: {devices}")
        print(json.dumps(self.report["machine"]), flush=True)
        self.phase("one device", lambda: self.run_cases("one device", 1, ONE_DEVICE))
        several = self.cases.devices()[1:]
        for turn, ranks in enumerate(several, 1):
            share = ONE_DEVICE + (SEVERAL_RANKS - ONE_DEVICE) * turn / len(several)
            self.phase(f"{ranks} ranks on one GPU", partial(self.ranks, ranks, share))
        for tool in TOOLS:
            self.phase(tool, partial(self.sanitizer, tool))
        self.phase("benchmark", self.benchmark)
        self.note("finished", True)

    def failed(self):
        """The phases in which something failed."""
        parts = {name: part for name, part in self.report.items() if isinstance(part, dict)}
        return [name for name, part in parts.items() if part.get("failed")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="gpu-check.json")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--emulated", action="store_true", help="of a pack for the emulated device")
    options = parser.parse_args()
    machine.end_on_sigterm()
    check = Check(options)
    check.run()
    if not check.report["finished"]:
        sys.exit(f"{options.output}: {check.report['failed']}")
    if failed := check.failed():
        sys.exit(f"{options.output}: failures in {', '.join(failed)}")


if __name__ == "__main__":
    main()
