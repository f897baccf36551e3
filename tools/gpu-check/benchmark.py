#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures MoE layers on one GPU; writes one JSON file.

    python3 benchmark.py --output benchmark.json [--seconds 240]

Runs the programs of layers.py, which pack.py compiled: each layer and its parts,
an 8192^3 matrix product and a copy on the device to compare with; and the same
layers in JAX and PyTorch where they are installed with a GPU. What does not fit
into the time is listed as not run. --emulated takes frameworks on the CPU: to
try all of this without a GPU, whose times mean nothing.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

from run import environment

HERE = Path(__file__).resolve().parent
FRAMEWORKS = ("jax", "torch")


def measure(program, work, seconds, repeat):
    """The median of a step's seconds, or why there is none."""
    stats = work / "stats.json"
    command = [program, "--random-inputs=1", "--warmup=2", f"--repeat={repeat}", f"--stats={stats}"]
    ended = call(command, seconds)
    if isinstance(ended, str):
        return ended
    return json.loads(stats.read_text())["step_seconds"]["median"]


def call(command, seconds):
    """What a command printed on stdout's last line; a string that begins with `failed` if it did."""
    try:
        ended = subprocess.run(
            [str(part) for part in command],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=max(seconds, 1),
        )
    except subprocess.TimeoutExpired:
        return f"failed: ran past {seconds:.0f} s"
    if ended.returncode != 0:
        return f"failed: exit {ended.returncode}: {(ended.stderr or ended.stdout).strip()[-500:]}"
    return {"line": ended.stdout.strip().splitlines()[-1:]}


def rates(record, seconds, report):
    """A part's times and rates, with the shares of what the machine does at best."""
    result = {"seconds": seconds}
    if "flops" in record:
        result["tflops"] = record["flops"] / seconds / 1e12
        if "tflops" in report.get("product", {}) and record["part"] != "product":
            result["of_product"] = result["tflops"] / report["product"]["tflops"]
    if "bytes" in record:
        result["gigabytes_per_second"] = record["bytes"] / seconds / 1e9
        if "gigabytes_per_second" in report.get("copy", {}) and record["part"] != "copy":
            result["of_copy"] = result["gigabytes_per_second"] / report["copy"]["gigabytes_per_second"]
    return result


class Benchmark:
    def __init__(self, folder, output, seconds, emulated):
        self.folder = folder
        self.output = output
        self.end = time.monotonic() + seconds
        self.emulated = emulated
        self.report = {"layers": {}, "not run": []}
        self.work = output.resolve().parent

    def left(self):
        return self.end - time.monotonic()

    def save(self):
        self.output.write_text(json.dumps(self.report, indent=2) + "\n")

    def run_program(self, file, record):
        if self.left() <= 0:
            self.report["not run"].append(file)
            return
        repeat = 2 if self.emulated else 20
        seconds = measure(self.folder / file, self.work, self.left(), repeat)
        result = {"failed": seconds} if isinstance(seconds, str) else rates(record, seconds, self.report)
        if "layer" in record:
            layer = self.report["layers"].setdefault(record["layer"], {"sizes": record["sizes"], "parts": {}})
            layer["parts"][record["part"]] = result
        else:
            self.report[record["part"]] = result
        self.save()

    def run_framework(self, framework, record):
        """The same layer, in a process of its own."""
        name = f"{record['layer']} in {framework}"
        if self.left() <= 0:
            self.report["not run"].append(name)
            return
        if importlib.util.find_spec(framework) is None:
            result = {"not run": f"{framework} is not installed"}
        else:
            command = [sys.executable, HERE / "frameworks.py", framework, record["kind"]]
            command += [json.dumps(record["sizes"]), *(["--emulated"] if self.emulated else [])]
            ended = call(command, self.left())
            result = {"failed": ended} if isinstance(ended, str) else json.loads(ended["line"][0])
        layer = self.report["layers"][record["layer"]]
        layer[framework] = result
        ours = layer["parts"].get("layer", {}).get("seconds")
        if ours and "seconds" in result:
            result["times_ours"] = result["seconds"] / ours
        self.save()

    def run(self):
        index = json.loads((self.folder / "index.json").read_text())
        for file, record in index.items():
            self.run_program(file, record)
            # Behind a layer's last part: the first layers are worth most.
            if record["part"] == "combine":
                for framework in FRAMEWORKS:
                    self.run_framework(framework, record)
        self.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--programs", default=HERE / "benchmark", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--emulated", action="store_true")
    options = parser.parse_args()
    Benchmark(options.programs, options.output, options.seconds, options.emulated).run()


if __name__ == "__main__":
    main()
