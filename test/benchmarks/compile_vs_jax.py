#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long Shoal compiles, beside JAX, in turn, on the same cores and for the
same 8 devices: models of test/real-models, whose environment it wants, and
training steps of Transformers. Both times begin with the function in Python.

    source utils/env.sh; test/real-models/run.sh --filter NOTHING    # installs
    .cache/real-models/bin/python -W ignore test/benchmarks/compile_vs_jax.py

Prints minima, also of a second compilation of the imported program, from the
cache on disk, and of each stage; then the ratios of 48 layers to 12, all stages
and code generation alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
os.environ |= {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    "KERAS_BACKEND": "jax",
}
sys.path[:0] = [
    str(ROOT / "test/real-models"),
    str(ROOT / "test/conformance"),
    str(BUILD / "python"),
    str(ROOT / "python"),
]

import jax  # noqa: E402
from transformer import Transformer  # noqa: E402

from shoal.executable import compile_text  # noqa: E402
from shoal.jax import import_stablehlo  # noqa: E402
from shoal.jax.lowering import lower  # noqa: E402

MODELS = """
equinox_encoder_step_2d griffin_language_model_step_2d haiku_transformer_step_2d
haliax_encoder_step_2d jaxonmodels_vit_step keras_encoder_step_2d linen_decoder_step_2d
linen_cnn_step mamba_mamba2_step_2d nano_moe_language_model_step_2d nnx_scanned_decoder_step_2d
numpyro_coupling_flow_step optax_muon_step_2d penzai_llamalike_step transformers_bert_step_2d
transformers_gpt2_step_2d tunix_qwen3_moe_step_2d
""".split()
DEPTHS = (12, 48)
CODE = ("translate", "codegen", "link")


class Runs:
    """Seconds of one program's compilations."""

    def __init__(self, name: str, program: Any):
        self.name, self._program = name, program
        self.jax: list[float] = []
        self.shoal: list[float] = []
        self.cached: list[float] = []
        self.stages: dict[str, list[float]] = {}

    def compile_with_jax(self) -> None:
        self.jax.append(_seconds(lambda: self._program.traced(self._mesh()).lower().compile()))

    def compile_with_shoal(self, cache: str) -> None:
        """Cold; then from the cache, where `cache` is a folder that has it."""
        os.environ["SHOAL_CACHE"] = "off"
        begin = time.perf_counter()
        mesh = self._mesh()
        lowered = lower(self._program.traced(mesh))
        traced = time.perf_counter()
        text = import_stablehlo(lowered)
        imported = time.perf_counter()
        executable = compile_text(text, source=self.name)
        self.shoal.append(time.perf_counter() - begin)
        stages = {"trace": traced - begin, "import": imported - traced}
        for stage, time_of in (stages | executable.stats["compile_seconds"]).items():
            self.stages.setdefault(stage, []).append(time_of)
        os.environ["SHOAL_CACHE"] = cache
        compile_text(text, source=self.name)
        self.cached.append(_seconds(lambda: compile_text(text, source=self.name)))

    def _mesh(self) -> Any:
        jax.clear_caches()
        return self._program.mesh()

    @property
    def ratio(self) -> float:
        return min(self.shoal) / min(self.jax) if self.jax else float("nan")

    def figures(self) -> dict[str, Any]:
        seconds = {"shoal": min(self.shoal)} | ({"jax": min(self.jax)} if self.jax else {})
        cached, load = min(self.cached), os.getloadavg()[0]
        return {"name": self.name, "seconds": seconds, "cached": cached, "load": load}

    def in_stages(self, *stages: str) -> float:
        return min(map(sum, zip(*(self.stages[stage] for stage in stages))))


def _seconds(action: Callable) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def _programs(pattern: str) -> list[Runs]:
    def named(name: str) -> Any:
        if name.startswith("transformer_"):
            return Transformer(int(name.split("_")[1]))
        import networks

        return networks.find(name)

    names = [*MODELS, *(f"transformer_{depth}_layers" for depth in DEPTHS)]
    return [Runs(name, named(name)) for name in names if re.search(pattern, name)]


def _measure(runs: Runs, args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(args.repeat):
            if not args.no_jax:
                runs.compile_with_jax()
            runs.compile_with_shoal(cache)


def _print(runs: Runs) -> None:
    theirs = min(runs.jax, default=float("nan"))
    stages = " ".join(f"{name} {min(times):.2f}" for name, times in runs.stages.items())
    print(
        f"{runs.name:34} {min(runs.shoal):7.2f} {theirs:7.2f} {runs.ratio:6.2f}"
        f" {min(runs.cached):7.2f}  {stages}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="a regular expression on names")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-jax", action="store_true", help="do not compile with JAX")
    parser.add_argument("--json", type=Path, help="where to write the minima")
    args = parser.parse_args()
    print(f"{'seconds':34} {'Shoal':>7} {'JAX':>7} {'ratio':>6} {'cached':>7}  stages of Shoal's")
    measured = []
    for runs in _programs(args.filter):
        _measure(runs, args)
        _print(runs)
        measured.append(runs)
    if args.json:
        args.json.write_text(json.dumps([runs.figures() for runs in measured]))
    if not args.no_jax:
        ratios = [runs.ratio for runs in measured]
        print(f"ratio: median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")
    deep = {runs.name: runs for runs in measured if runs.name.startswith("transformer_")}
    if len(deep) == 2:
        few, many = deep.values()
        print(f"48 layers / 12: {min(many.shoal) / min(few.shoal):.2f}, in code generation "
              f"{many.in_stages(*CODE) / few.in_stages(*CODE):.2f}")


if __name__ == "__main__":
    main()
