# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The packed cases: a program, its inputs, and the results that it must give."""

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from machine import HERE, run

# bf16 stands for what NumPy has no name for.
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-2, "bf16": 2e-2}
SECONDS = 30  # of one case


def as_known(array):
    """(array, the name of its type): bf16, which NumPy reads as two bytes each, widened to f32."""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        return (np.uint32(array.view(np.uint16)) << 16).view(np.float32), "bf16"
    return array, str(array.dtype)


def are_neighbours(actual, expected):
    """Whether numbers of 8 bits, in either format, are the same or the next ones: codes are in order."""
    a, b = actual.view(np.uint8), expected.view(np.uint8)
    return bool(np.all((a >> 7 == b >> 7) & (np.abs(np.int16(a) - np.int16(b)) <= 1)))


def difference(actual, expected):
    """Over the largest expected value; whole numbers and NaNs must be equal."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    if actual.dtype == "V1":
        return 0.0 if are_neighbours(actual, expected) else float("inf")
    if actual.size == 0 or np.array_equal(actual, expected, equal_nan=actual.dtype.kind == "f"):
        return 0.0
    if actual.dtype.kind != "f":
        return float("inf")
    known = np.isfinite(expected)
    if not np.array_equal(actual[~known], expected[~known], equal_nan=True):
        return float("inf")
    scale = np.max(np.abs(np.float64(expected[known])), initial=1e-30)
    apart = np.max(np.abs(np.float64(actual[known]) - expected[known]), initial=0.0)
    # A NaN where a number should be compares as nothing: it is as far as can be.
    return float(apart / scale) if np.isfinite(apart) else float("inf")


def compare(out, expected):
    """None, or why the results in `out` are not those of the folder `expected`."""
    for path in sorted(expected.glob("*.npy")):
        if not (out / path.name).exists():
            return f"{path.stem}: the program wrote no such result"
        whole, kind = as_known(np.load(path))
        apart = difference(as_known(np.load(out / path.name))[0], whole)
        if apart > TOLERANCE.get(kind, 0.0):
            return f"{path.stem}: differs by {apart:.2e}"
    return None


def run_case(case, record, prefix, work, **options):
    """None, or why the case failed."""
    out = work / case.name
    shutil.rmtree(out, ignore_errors=True)
    inputs = [
        part for path in sorted((case / "in").glob("*.npy")) for part in ("--input", f"{path.stem}={path}")
    ]
    command = [*prefix, HERE / "programs" / record["program"], *record["flags"], *inputs]
    ended = run([*command, "--output-dir", out], SECONDS, **options)
    why = ended.why() if ended.code != 0 else compare(out, case / "out")
    shutil.rmtree(out, ignore_errors=True)
    return why


class Cases:
    """All that are packed, by how many devices they are for."""

    def __init__(self, work):
        self.work = work
        self.records = {
            case: json.loads((case / "case.json").read_text()) for case in sorted((HERE / "cases").iterdir())
        }

    def devices(self):
        """How many devices cases are for: [1, 2, 4, …]; 1 is among them."""
        return sorted({1, *(record["devices"] for record in self.records.values())})

    def run(self, devices, prefix, deadline, note, limit=None, **options):
        """Runs the cases of so many devices until `deadline`; note(result) after each.

        As many at a time as leave each rank and its launcher a core: starting up takes most of
        their time.
        """
        result = {"passed": 0, "failed": {}, "not run": 0}

        def run_in_time(case, record):
            if time.monotonic() > deadline:
                return None
            return case.name, run_case(case, record, prefix, self.work, **options)

        chosen = [pair for pair in self.records.items() if pair[1]["devices"] == devices]
        result["not run"] = len(chosen) - len(chosen[:limit])
        jobs = max(1, (os.cpu_count() or 1) // (devices + 1))
        with ThreadPoolExecutor(jobs) as pool:
            for future in as_completed(pool.submit(run_in_time, *pair) for pair in chosen[:limit]):
                ran = future.result()
                if ran is None:
                    result["not run"] += 1
                elif ran[1] is None:
                    result["passed"] += 1
                else:
                    result["failed"][ran[0]] = ran[1]
                note(result)
        return result
