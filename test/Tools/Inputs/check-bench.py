# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a machine file that shoal-bench has written: check-bench.py FILE RANKS"""

import sys
import tomllib
from pathlib import Path

machine, ranks = tomllib.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2])
chip, (level,) = machine["chip"], machine["level"]
for name, least, most in (("memory_bw", 1e8, 1e13), ("elementwise", 1e8, 1e13), ("memory", 1e8, 1e14)):
    assert least < chip[name] < most, (name, chip[name])
assert set(chip["flops"]) == {"f32", "f64", "bf16"} and all(1e8 < rate < 1e14 for rate in chip["flops"].values())
assert 0 < chip["gemm"]["max"] <= 1 and 0 < chip["groups"] <= 1
assert level["size"] == ranks
curves = {(curve["kind"], curve["members"]): curve["seconds"] for curve in level.get("measured", [])}
kinds = ("all_gather", "all_reduce", "all_to_all", "permute", "reduce_scatter")
assert sorted(curves) == [(kind, 2) for kind in kinds if ranks == 2], sorted(curves)
for curve in curves.values():
    assert len(curve) == 9 and curve == sorted(curve) and [s for _, s in curve] == sorted(s for _, s in curve), curve
