#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `shoalc --plan` finds for MoE Transformer layers without an annotation, beside layouts that are known, as a table
in Markdown: forward and gradients of attention and GShard's layer in bfloat16, on machines that are not there.

Usage: planned_layers.py [--axes N] [CASE ...]

Known layouts are annotations of the arguments over a mesh; all else is searched as in the plan, in the same prices.
Seconds of the search are of the CPU. Exits 1 where a known layout is faster than the plan.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import shoal
from shoal import P
from shoal.frontend.tracing import TensorSpec, trace_program

ROOT = Path(__file__).resolve().parents[2]
SHOALC = ROOT / "build/release/bin/shoalc"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Case(NamedTuple):
    """A layer: sequences, their length, model size, heads of queries and of keys, size of a head; experts, choices of a
    token, hidden size; then the known layout: sizes of the mesh's axes x and y, and the axes of the batch, sequence,
    heads, experts and hidden units."""

    machine: str
    batch: int
    length: int
    model: int
    heads: int
    kv_heads: int
    head: int
    experts: int
    k: int
    hidden: int
    mesh: dict[str, int]
    batch_over: Any
    experts_over: Any
    length_over: Any = None
    heads_over: Any = None
    hidden_over: Any = None

    @property
    def capacity(self) -> int:
        return self.k * self.length // self.experts


# Sizes of the models' reports; layouts of Megatron-Core's and Tutel's (docs/results/Simulation.md).
CASES = {
    "Mixtral-8x7B, 8 H100": Case("dgx-h100", 8, 4096, 4096, 32, 8, 128, 8, 2, 14336, {"x": 8}, "x", "x"),
    "Mixtral-8x7B, 16 H100": Case(
        "dgx-h100", 16, 4096, 4096, 32, 8, 128, 8, 2, 14336, {"x": 2, "y": 8}, ("x", "y"), "y"
    ),
    "Mixtral-8x22B, 16 H100": Case(
        "dgx-h100", 16, 4096, 6144, 48, 8, 128, 8, 2, 16384, {"x": 8, "y": 2}, "x", "x", "y", "y"
    ),
    "8x22B-G8T8, 32 H100": Case(
        "dgx-h100", 32, 4096, 6144, 48, 8, 128, 64, 8, 2048, {"x": 4, "y": 8}, "x", "y", "y"
    ),
    "DeepSeek-V3 like, 64 H100": Case(
        "dgx-h100", 64, 4096, 7168, 128, 128, 128, 256, 8, 2048, {"x": 64}, "x", "x"
    ),
    "GShard, 64 TPU v3": Case("tpuv3-pod", 64, 1024, 1024, 16, 16, 128, 64, 2, 8192, {"x": 64}, "x", "x"),
    "Tutel base, 64 A100": Case(
        "ndv4-a100", 64, 4096, 4096, 32, 32, 128, 16, 2, 2048, {"x": 4, "y": 16}, ("x", "y"), "y"
    ),
    "Tutel large, 64 A100": Case(
        "ndv4-a100", 64, 1024, 1024, 16, 16, 64, 16, 2, 32768, {"x": 16, "y": 4}, ("x", "y"), "x", None, None, "y"
    ),
}  # fmt: skip


def attention(case: Case, params: Any, x: Any) -> Any:
    """x [B, S, M]; queries in groups of keys."""
    group = case.heads // case.kv_heads
    q = shoal.einsum("BSM,MND->BSND", x, params["wq"])
    k = shoal.einsum("BSM,MKD->BSKD", x, params["wk"])
    v = shoal.einsum("BSM,MKD->BSKD", x, params["wv"])
    q = shoal.reshape(q, (case.batch, case.length, case.kv_heads, group, case.head))
    scores = shoal.softmax(shoal.einsum("BSKRD,BTKD->BKRST", q, k), axis=-1)
    o = shoal.einsum("BKRST,BTKD->BSKRD", scores, v)
    o = shoal.reshape(o, (case.batch, case.length, case.heads, case.head))
    return shoal.einsum("BSND,NDM->BSM", o, params["wo"])


def program(case: Case, known: bool) -> Any:
    """Gradients of parameters and inputs, for the cotangent `dy` [B, S, M] of the layer's result."""

    def step(params: Any, x: Any, dy: Any) -> Any:
        def loss(params: Any, x: Any) -> Any:
            h = x + attention(case, params, x)
            out = shoal.moe.moe_layer(
                h, params["router"], params["wi"], params["wo_experts"], k=case.k, capacity=case.capacity
            )
            return shoal.sum(shoal.astype((h + out.y) * dy, "float32"))

        return shoal.grad(loss, argnums=(0, 1))(params, x)

    def spec(*shape: int) -> TensorSpec:
        return TensorSpec(shape, "bfloat16")

    M, D, E, H = case.model, case.head, case.experts, case.hidden
    params = {
        "wq": spec(M, case.heads, D), "wk": spec(M, case.kv_heads, D), "wv": spec(M, case.kv_heads, D),
        "wo": spec(case.heads, D, M), "router": spec(M, E), "wi": spec(E, M, H), "wo_experts": spec(E, H, M),
    }  # fmt: skip
    x = spec(case.batch, case.length, M)
    if not known:
        return trace_program(step, (params, x, x), None)
    heads, experts, hidden = case.heads_over, case.experts_over, case.hidden_over
    tokens = P(case.batch_over, case.length_over)
    shardings = {
        "wq": P(None, heads), "wk": P(None, heads), "wv": P(None, heads), "wo": P(heads), "router": P(),
        "wi": P(experts, None, hidden), "wo_experts": P(experts, hidden),
    }  # fmt: skip
    return trace_program(step, (params, x, x), shoal.Mesh(**case.mesh), in_shardings=(shardings, tokens, tokens))


class Planned(NamedTuple):
    seconds: float
    mesh: str
    gap: float
    search: float


def planned(traced: Any, machine: str, options: list[str]) -> Planned:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer.mlir"
        path.write_bytes(traced.text) if isinstance(traced.text, bytes) else path.write_text(traced.text)
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [SHOALC, path, "--plan", f"--machine={ROOT / 'machines' / machine}.toml", *options]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        search = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
    best = re.search(r"^ 1  (.*?)  +([\d.]+) (s|ms|us|ns) ", text, re.MULTILINE)
    gap = re.search(r"none over this mesh is more than ([\d.]+) % faster", text)
    return Planned(float(best[2]) * UNITS[best[3]], best[1], float(gap[1]) if gap else 0.0, search)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[])
    parser.add_argument("--axes", type=int, default=2)
    args = parser.parse_args()
    print("| layer | mesh of the plan | ms | none is more than, faster | known, ms | known / plan | search, s |")
    print("|---|---|--:|--:|--:|--:|--:|")
    worst = float("inf")
    for name in args.cases or CASES:
        case = CASES[name]
        devices = 1
        for size in case.mesh.values():
            devices *= size
        options = [f"--devices={devices}", f"--max-axes={args.axes}"]
        found = planned(program(case, known=False), case.machine, options)
        known = planned(program(case, known=True), case.machine, [])
        worst = min(worst, known.seconds / found.seconds)
        print(
            f"| {name} | {found.mesh} | {found.seconds * 1e3:.2f} | {found.gap:.1f} % | {known.seconds * 1e3:.2f} "
            f"| {known.seconds / found.seconds:.2f} | {found.search:.1f} |",
            flush=True,
        )
    sys.exit(worst < 1 - 1e-3)


if __name__ == "__main__":
    main()
