#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What layouts of MoE layers, attention and decoders send, beside the formulas of docs/results/Layouts.md.

Usage: moe_layouts.py

Bytes of a device, of the partitioned program; the second pair is forward and backward together. Needs the
package shoal on PYTHONPATH.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/support"))
import context_layouts  # noqa: E402
from moe_layouts import CASES, program, statistics  # noqa: E402


def line(name, sent, formulas):
    """sent: what `statistics` gives, forward and with backward; formulas: of both."""
    one, two = (sum(sizes.values()) for sizes, _ in sent)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(sent[0][1].items()))
    first, second = formulas
    return f"| {name} | {one} | {one / max(first, 1):.3f} | {two} | {two / second:.3f} | {listed} |"


def main():
    print("| layout | forward | / formula | with backward | / formula | forward's collectives |")
    print("|---|--:|--:|--:|--:|---|")
    for name, case in CASES.items():
        sent = [statistics(program(case, gradient)) for gradient in (False, True)]
        print(line(name, sent, (case.forward, case.forward + case.backward())), flush=True)
    for name, case in context_layouts.CASES.items():
        sent = [case.sent(gradient) for gradient in (False, True)]
        print(line(name, sent, (case.forward, case.both)), flush=True)


if __name__ == "__main__":
    main()
