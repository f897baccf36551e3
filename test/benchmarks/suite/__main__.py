#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks of the CPU target in one run: `python test/benchmarks/suite [GROUP ...]`.

Each row is taken in turn with what it is compared with, on the same cores; the least of each
counts. Prints a table, ratios first (below 1 Shoal is faster), and what is slower than JAX by
more than a tenth. PyTorch takes part where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
# As waiting ranks take cores; processes that are started inherit all of it.
os.environ |= {"JAX_PLATFORMS": "cpu", "OMPI_MCA_hwloc_base_binding_policy": "none"}
# Which utils/env.sh sets for the tests: a rank has the threads of its row's cores here.
for name in ("SHOAL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.pop(name, None)
sys.path[:0] = [str(Path(__file__).parent), str(BUILD / "python"), str(ROOT / "python")]

from groups import GROUPS, Options  # noqa: E402
from rows import Row, heading, line  # noqa: E402


def machine() -> dict[str, object]:
    return {"cores": len(os.sched_getaffinity(0)), "cpu": _cpu(), "load": os.getloadavg()}


def _cpu() -> str:
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.machine()


def slower(rows: list[Row]) -> list[str]:
    """Rows that take more than 1.1 of JAX's or MPI's time."""
    found = []
    for row in rows:
        for name in ("jax", "mpi"):
            if (ratio := row.ratios().get(name, 0.0)) > 1.1:
                found.append(f"{row.group} {row.name} on {row.setting}: {ratio:.2f} of {name}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP",
                        help=f"of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="rows of these names: softmax, all_reduce, row3, plain, ...")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way")
    parser.add_argument("--repeat", type=int, default=5, help="steps in a turn")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    args = parser.parse_args()
    if unknown := sorted(set(args.groups) - set(GROUPS)):
        parser.error(f"there is no group {', '.join(unknown)}: there are {', '.join(GROUPS)}")
    options = Options(tuple(args.ranks), args.rounds, args.repeat, frozenset(args.only))
    rows: list[Row] = []
    print(f"{_cpu()}, {len(os.sched_getaffinity(0))} cores\n\n{heading()}", flush=True)
    for group in args.groups or GROUPS:
        for row in GROUPS[group](options):
            rows.append(row)
            print(line(row), flush=True)
            if args.json:
                contents = {"machine": machine(), "rows": [asdict(row) for row in rows]}
                args.json.write_text(json.dumps(contents, indent=1))
    print("\nslower by more than a tenth: " + ("; ".join(slower(rows)) or "none"))


if __name__ == "__main__":
    main()
