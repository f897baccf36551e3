#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What layouts of an MoE layer send, beside the formulas of docs/MoE.md.

Usage: moe_layouts.py

Bytes of a device, of the partitioned program; the second pair is forward and backward together. Needs the
package shoal on PYTHONPATH.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from moe_layouts import CASES, program, statistics  # noqa: E402


def line(name, case):
    forward, kinds = statistics(program(case, gradient=False))
    both, _ = statistics(program(case, gradient=True))
    one, two = sum(forward.values()), sum(both.values())
    wanted = case.forward + case.backward()
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return (
        f"| {name} | {one} | {one / max(case.forward, 1):.3f} | {two} | {two / wanted:.3f} | {listed} |"
    )


def main():
    print("| layout | forward | / formula | with backward | / formula | forward's collectives |")
    print("|---|--:|--:|--:|--:|---|")
    for name, case in CASES.items():
        print(line(name, case), flush=True)


if __name__ == "__main__":
    main()
