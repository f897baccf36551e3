# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps what the tests run for another machine, one with GPUs.

With SHOAL_PACK_CASES=FOLDER each program that a test compiles is compiled for
CUDA as well, and each run that writes results leaves its inputs and results:

    FOLDER/programs/0007         the executable for CUDA
    FOLDER/cases/0012/case.json  {"program": "0007", "devices": 4, "flags": [...]}
    FOLDER/cases/0012/in/x.npy   FOLDER/cases/0012/out/result0.npy

tools/gpu-check/run.py runs them there and compares.
"""

import json
import os
import shutil
from pathlib import Path

FOLDER = os.environ.get("SHOAL_PACK_CASES")
# What GPUs the programs are for; `emulated` to try a pack without one.
ARCH = os.environ.get("SHOAL_PACK_ARCH", "sm_90")
_programs = {}


def _next(kind):
    folder = Path(FOLDER) / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{len(list(folder.iterdir())):04}"


def keep_program(compile_to, output):
    """`compile_to(path)` compiles for CUDA what was just compiled to `output`."""
    if not FOLDER:
        return
    path = _next("programs")
    if compile_to(path).code == 0:
        _programs[str(output)] = path


def keep_run(devices, program, flags, ended):
    """The run was for the host's CPU: its results are what a GPU should give."""
    program = _programs.get(str(program))
    flags = [str(flag) for flag in flags]
    if not FOLDER or not program or ended.code != 0 or "--output-dir" not in flags:
        return
    case = _next("cases")
    (case / "in").mkdir(parents=True)
    results = Path(flags[flags.index("--output-dir") + 1])
    shutil.copytree(results, case / "out")
    kept = []
    names = iter(flags)
    for flag in names:
        if flag == "--input":
            name, _, path = next(names).partition("=")
            shutil.copy(path, case / "in" / f"{name}.npy")
        elif flag in ("--output-dir", "--stats", "--trace"):
            next(names)
        else:
            kept.append(flag)
    record = {"program": program.name, "devices": devices, "flags": kept}
    (case / "case.json").write_text(json.dumps(record))
