#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of published Mixture-of-Experts models, compiled for as many GPUs as their layout has, as a table in
Markdown: what a device holds beside its memory, the knobs that warnings name, and how long that takes. Nothing is run.

Usage: model_memory.py [MODEL ...] [--room]

A step is loss, gradients and AdamW of float32 masters in bfloat16, over sequences of 4,096 tokens, one on each device
of dp and micro-batch, with moments that lie over dp, too, layers in a loop over stages, and its state donated. --room:
for 1.5 times the rows that come on average, which is the knob that is named where buffers for all that could come are
large. Seconds are those of the CPU, tracing and lowering included, kernels' code not.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from typing import Any, NamedTuple

import shoal
from shoal import optim, train
from shoal.executable.compiler import statistics_of_text
from shoal.frontend import pytrees
from shoal.frontend.tracing import TensorSpec, trace_program
from shoal.moe import Layout

SEQUENCE = 4096
CHIP = 83.5e9  # bytes of an H100, less what the driver and NCCL hold: machines/dgx-h100.toml
KNOBS = ("memory_limit", "moe_expert_rank_capacity_factor")


class Row(NamedTuple):
    """A model by its published name, factorisations of the devices, fastest first, stages and micro-batches."""

    model: str
    attention: dict[str, int]
    experts: dict[str, int]
    turns: int  # stages on each device, which a loop goes through
    micro_batches: int = 1

    def layout(self) -> Layout:
        return Layout.folded(self.attention, self.experts).scheduled(self.micro_batches, self.turns)


# Devices and expert parallelism are those of reports (DeepSeek's, arXiv 2405.04434 and 2412.19437; Megatron-Core's, 2504.14960 and 2603.07685) where
# they have the model; their pipelines are not, where layers do not divide.
ROWS = {
    "Mixtral-8x7B": Row("mixtral-8x7b", {"dp": 16, "pp": 4}, {"ep": 8, "edp": 2, "pp": 4}, 8, 8),
    "Mixtral-8x22B": Row("mixtral-8x22b", {"dp": 16, "pp": 8}, {"ep": 8, "edp": 2, "pp": 8}, 7, 8),
    "Qwen1.5-MoE-A2.7B": Row("qwen1.5-moe-a2.7b", {"dp": 8}, {"ep": 4, "edp": 2}, 24),
    "Qwen3-30B-A3B": Row("qwen3-30b-a3b", {"dp": 32}, {"ep": 32}, 48),
    "Qwen3-235B-A22B": Row("qwen3-235b-a22b", {"dp": 128, "pp": 2}, {"ep": 32, "edp": 4, "pp": 2}, 47, 2),
    "OLMoE-1B-7B": Row("olmoe-1b-7b", {"dp": 64}, {"ep": 8, "edp": 8}, 16),
    "DeepSeek-V2": Row("deepseek-v2", {"dp": 128}, {"ep": 32, "edp": 4}, 59),
    "DeepSeek-V3": Row("deepseek-v3", {"dp": 1024, "pp": 2}, {"ep": 64, "edp": 16, "pp": 2}, 29, 2),
    "GLM-4.5": Row("glm-4.5", {"dp": 160}, {"ep": 160}, 89),
    "gpt-oss-120b": Row("gpt-oss-120b", {"dp": 64}, {"ep": 64}, 18),
}


class Compiled(NamedTuple):
    seconds: float
    devices: int
    stats: dict[str, Any]
    warned: list[str]

    @property
    def peak(self) -> int:
        return self.stats["peak_bytes_per_device"]

    @property
    def knobs(self) -> list[str]:
        """Those that warnings name, each once."""
        return [knob for knob in KNOBS if any(knob in text for text in self.warned)]


def specs(shapes: Any) -> Any:
    """Of a tree of shapes, which are tuples of numbers."""
    if isinstance(shapes, dict):
        return {name: specs(shape) for name, shape in shapes.items()}
    if isinstance(shapes, tuple):
        return TensorSpec(shapes, "float32")
    return [specs(shape) for shape in shapes]


def traced(row: Row, **fields: Any) -> Any:
    """The program of a step. No array is made."""
    layout = row.layout()
    model = shoal.models.from_config(row.model, layout, **fields)
    optimizer = optim.adamw(1e-4, mask=shoal.models.decay_mask)
    params = specs(model.shapes())
    moments = model.shardings()
    for axis in layout.axes("dp"):
        moments = optim.split_over(axis, params, layout.mesh, moments)
    state = train.init(params, optimizer)
    shardings = train.shardings(state, model.shardings(), moments)
    batch = TensorSpec((layout.size("dp") * row.micro_batches, SEQUENCE + 1), "int32")
    return trace_program(
        train.step(model.loss, optimizer, has_aux=True, compute="bfloat16"), (state, batch), layout.mesh,
        in_shardings=(shardings, layout.P("dp")), out_shardings=(shardings, None),
        donated=[True] * len(pytrees.flatten(state)[0]) + [False],
    )  # fmt: skip


def compiled(row: Row, options: dict[str, Any], **fields: Any) -> Compiled:
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stats = statistics_of_text(traced(row, **fields).text, target="cuda", cache=False, **options)
    told = sorted({str(warning.message) for warning in caught})
    return Compiled(time.process_time() - begin, row.layout().mesh.size, stats, told)


def line(name: str, made: Compiled) -> str:
    again = [re.search(r"[\d.]+%", text) for text in made.stats["rematerialized"][:1]]
    cells = [
        name, made.devices, f"{made.peak / 1e9:.1f}", "yes" if made.peak <= CHIP else "no",
        f"{again[0][0]}" if again and again[0] else "", ", ".join(f"`{knob}`" for knob in made.knobs), f"{made.seconds:.0f}",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *ROWS], default=[])
    parser.add_argument("--room", action="store_true")
    args = parser.parse_args()
    fields = {"moe_expert_rank_capacity_factor": 1.5} if args.room else {}
    print("| model | devices | GB of a device | fits 83.5 GB | computed again, of forward | knobs that are named | s |")
    print("|---|--:|--:|---|--:|---|--:|")
    for name in args.models or ROWS:
        print(line(name, compiled(ROWS[name], {}, **fields)), flush=True)


if __name__ == "__main__":
    main()
