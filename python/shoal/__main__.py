# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m shoal`: the version, and whether all is there that programs need; `python -m shoal plan ...` forecasts a
training job, `python -m shoal tables` published ones; `python -m shoal diff A B` compares how two programs are partitioned."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable

from shoal.errors import ShoalError

PROGRAM = """
func.func @probe(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def find(tool: str, package: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise ShoalError(f"not in PATH: install {package}")
    return path


def compile_and_run() -> str:
    import numpy as np

    import shoal

    result = shoal.compile_text(PROGRAM).run([np.ones(4, np.float32)], timeout=60)["result0"]
    if result.tolist() != [2.0] * 4:
        raise ShoalError(f"expected 2.0 four times but got {result}")
    return "right"


def run_on_devices() -> str:
    import numpy as np

    import shoal

    with shoal.launch(1) as devices:
        (result,) = devices.load(shoal.compile_text(PROGRAM)).run(
            [np.ones(4, np.float32)], timeout=60
        )
    if result.tolist() != [2.0] * 4:
        raise ShoalError(f"expected 2.0 four times but got {result}")
    return "right"


def find_mpi4py() -> str:
    from mpi4py import MPI

    return MPI.Get_library_version().splitlines()[0].rstrip("\0")


CHECKS: dict[str, Callable[[], str]] = {
    "mpirun": lambda: find("mpirun", "openmpi-bin"),
    "mpicxx": lambda: find("mpicxx", "libopenmpi-dev"),
    "a program, compiled and run": compile_and_run,
    "the same on a device that stays": run_on_devices,
    "mpi4py (for Executable.open)": find_mpi4py,
}


def version() -> str:
    from shoal.executable.native import native

    return native().__version__


def clear_cache() -> str:
    """Removes the programs that were compiled before."""
    from shoal.executable.native import native

    folder = native().find_cache_directory()
    if not folder:
        return "the cache is off"
    try:
        return f"removed {native().clear_cache(folder)} files of {folder}"
    except ValueError as error:
        raise ShoalError(str(error)) from None


def plan(words: list[str]) -> int:
    from shoal.planning.command import main

    return main(words)


def tables(words: list[str]) -> int:
    from shoal.planning.tables import main

    return main(words)


def diff(words: list[str]) -> int:
    from shoal.executable.difference import main

    return main(words)


COMMANDS: dict[str, Callable[[list[str]], int]] = {"plan": plan, "tables": tables, "diff": diff}


def main() -> int:
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        return COMMANDS[sys.argv[1]](sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m shoal", description=__doc__)
    parser.add_argument("--version", action="store_true", help="print the version alone")
    parser.add_argument(
        "--clear-cache", action="store_true", help="remove the programs compiled before, no more"
    )
    arguments = parser.parse_args()
    try:
        print(clear_cache() if arguments.clear_cache else f"shoal {version()}")
    except ShoalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if arguments.version or arguments.clear_cache:
        return 0
    is_well = True
    for what, check in CHECKS.items():
        try:
            print(f"{what}: {check()}")
        except (ShoalError, ImportError) as error:
            print(f"{what}: {error}")
            is_well = False
    return 0 if is_well else 1


def entry() -> None:
    """The command `shoal`. Who reads no further, as `head`, ends it without a word."""
    status = 1
    try:
        try:
            status = main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What is left is not written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


if __name__ == "__main__":
    entry()
