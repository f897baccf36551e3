#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures MoE layers on one GPU; writes one JSON file.

    python3 benchmark.py --output benchmark.json [--seconds 240]

Runs the programs of layers.py, which pack.py compiled: each layer and its parts,
its training step, an 8192^3 matrix product and a copy on the device to compare
with; and the same layers in JAX and PyTorch where they are installed with a GPU.
A step's time is the least of 20, from before its first call until the device has
ended. The first two layers are measured everywhere before the others. What does
not fit into the time is listed as not run. --emulated takes frameworks on the
CPU: to try all of this without a GPU, whose times mean nothing.
"""

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path

import machine

FRAMEWORKS = ("torch", "jax")
# Layers that are measured first, in Shoal and in the frameworks.
FIRST = 2


def rates(record, times, report):
    """A part's times and rates, with the shares of what the machine does at best."""
    result = {"seconds": times["min"], "median": times["median"]}
    if "flops" in record:
        result["tflops"] = record["flops"] / times["min"] / 1e12
        if "tflops" in report.get("product", {}) and record["part"] != "product":
            result["of_product"] = result["tflops"] / report["product"]["tflops"]
    if "bytes" in record:
        result["gigabytes_per_second"] = record["bytes"] / times["min"] / 1e9
        if "gigabytes_per_second" in report.get("copy", {}) and record["part"] != "copy":
            result["of_copy"] = result["gigabytes_per_second"] / report["copy"]["gigabytes_per_second"]
    return result


class Benchmark:
    def __init__(self, options):
        self.folder = options.programs
        self.output = options.output.resolve()
        self.end = time.monotonic() + options.seconds
        self.emulated = options.emulated
        self.report = {"layers": {}, "not run": []}

    def left(self):
        return self.end - time.monotonic()

    def save(self):
        machine.save(self.output, self.report)

    def layer(self, record):
        """The report's entry of a layer, which is there from its first part on."""
        empty = {"sizes": record["sizes"], "parts": {}}
        return self.report["layers"].setdefault(record["layer"], empty)

    def run_program(self, file, record):
        if self.left() <= 0:
            self.report["not run"].append(file)
            return self.save()
        stats = self.output.with_suffix(".stats")
        repeat = 2 if self.emulated else 20
        command = [self.folder / file, "--random-inputs=1", "--warmup=3", f"--repeat={repeat}"]
        ended = machine.run([*command, f"--stats={stats}"], self.left())
        if ended.code == 0:
            result = rates(record, json.loads(stats.read_text())["step_seconds"], self.report)
        else:
            result = {"failed": ended.why()}
        if "layer" in record:
            self.layer(record)["parts"][record["part"]] = result
        else:
            self.report[record["part"]] = result
        self.save()

    def run_framework(self, framework, records):
        """The layers in a framework, one process for all of them."""
        missing = None
        if importlib.util.find_spec(framework) is None:
            missing = {"not run": f"{framework} is not installed"}
        elif self.left() <= 0:
            missing = {"not run": "no time was left"}
        if missing:
            for record in records:
                self.layer(record)[framework] = missing
            return self.save()
        command = [sys.executable, machine.HERE / "frameworks.py", framework, json.dumps(records)]
        ended = machine.run([*command, *(["--emulated"] if self.emulated else [])], self.left())
        for line in ended.stdout.splitlines():
            if line.startswith("{") and line.endswith("}"):
                self.add_framework(framework, json.loads(line))
        if ended.code != 0:
            for record in records:
                self.layer(record).setdefault(framework, {})["failed"] = ended.why()
        self.save()

    def add_framework(self, framework, result):
        """A line of frameworks.py's."""
        layer = self.report["layers"][result.pop("layer")]
        part = result.pop("part")
        ours = layer["parts"].get(part, {}).get("seconds")
        if ours and "seconds" in result:
            result["times_ours"] = result["seconds"] / ours
        layer.setdefault(framework, {})[part] = result

    def run(self):
        index = json.loads((self.folder / "index.json").read_text())
        # One record of each layer: what frameworks need to know of it.
        layers = {record["layer"]: record for record in index.values() if "layer" in record}
        first = list(layers)[:FIRST]
        for names in (first, [name for name in layers if name not in first]):
            for file, record in index.items():
                if record.get("layer", first[0]) in names:
                    self.run_program(file, record)
            for framework in FRAMEWORKS if names else ():
                self.run_framework(framework, [layers[name] for name in names])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--programs", default=machine.HERE / "benchmark", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--emulated", action="store_true")
    options = parser.parse_args()
    machine.end_on_sigterm()
    Benchmark(options).run()


if __name__ == "__main__":
    main()
