# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/gpu-check's benchmark at a tiny size, on the emulated device."""

import importlib
import json
import sys

import numpy as np
import pytest

from shoal_testing import BIN, ROOT, load_results, needs_emulation, relative_difference, run, save_inputs

pytestmark = needs_emulation
TOOLS = ROOT / "tools/gpu-check"


@pytest.fixture(scope="module")
def tools():
    sys.path.insert(0, str(TOOLS))
    yield importlib.import_module("layers"), importlib.import_module("pack")
    sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def programs(tools, tmp_path_factory):
    _, pack = tools
    folder = tmp_path_factory.mktemp("gpu-check") / "benchmark"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_BUILD", str(BIN.parent))
        pack.compile_benchmark(folder, "emulated", tiny=True)
    return folder


def test_benchmark_has_all_parts(programs, tmp_path):
    output = tmp_path / "benchmark.json"
    command = ["--output", output, "--programs", programs, "--seconds", 100, "--emulated"]
    run(sys.executable, TOOLS / "benchmark.py", *command, timeout=120).expect_success()
    report = json.loads(output.read_text())
    assert report["not run"] == []
    assert report["product"]["tflops"] > 0
    assert report["product_f8"]["of_product"] > 0
    assert report["copy"]["gigabytes_per_second"] > 0
    mixtral, gshard = report["layers"].values()
    assert set(mixtral["parts"]) == {"layer", "gate", "dispatch", "experts", "combine"}
    assert set(gshard["parts"]) == {"layer", "dispatch", "experts", "combine"}
    for layer in (mixtral, gshard):
        assert all(part["seconds"] > 0 for part in layer["parts"].values())
        assert layer["parts"]["experts"]["of_product"] > 0
        for framework in ("jax", "torch"):
            assert "times_ours" in layer[framework] or "not installed" in layer[framework]["not run"]
    assert mixtral["parts"]["dispatch"]["of_copy"] > 0


def test_what_has_no_time_is_not_run(programs, tmp_path):
    output = tmp_path / "benchmark.json"
    command = ["--output", output, "--programs", programs, "--seconds", 0, "--emulated"]
    run(sys.executable, TOOLS / "benchmark.py", *command).expect_success()
    report = json.loads(output.read_text())
    assert "product" in report["not run"] and report["layers"] == {}


def mixtral(x, wg, w1, w3, w2):
    logits = x @ wg
    chosen = np.argsort(-logits, axis=1, kind="stable")[:, :2]
    best = np.take_along_axis(logits, chosen, 1)
    weights = np.exp(best - best.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    y = np.zeros_like(x)
    for token, (experts, shares) in enumerate(zip(chosen, weights)):
        for e, share in zip(experts, shares):
            gate = x[token] @ w1[e]
            y[token] += share * (gate / (1 + np.exp(-gate)) * (x[token] @ w3[e])) @ w2[e]
    return y


def test_the_layer_is_mixtrals(tools, tmp_path):
    layers, _ = tools
    layer = layers.Mixtral(16, 32, 48, 4, element="f32")
    source, program = tmp_path / "layer.mlir", tmp_path / "layer"
    source.write_text(layer.text("layer"))
    flags = ("--target=cuda", "--cuda-arch=emulated")
    run(BIN / "shoalc", source, "-o", program, *flags).expect_success()
    rng = np.random.default_rng(0)
    shapes = {"x": (16, 32), "wg": (32, 4), "w1": (4, 32, 48), "w3": (4, 32, 48), "w2": (4, 48, 32)}
    arrays = {
        name: (rng.standard_normal(shape) * shape[-2] ** -0.5).astype(np.float32)
        for name, shape in shapes.items()
    }
    expected = mixtral(*(array.astype(np.float64) for array in arrays.values()))
    for graph in ([], ["--cuda-graph"]):
        ended = run(program, *save_inputs(tmp_path, arrays), *graph, "--output-dir", tmp_path / "out")
        ended.expect_success()
        assert "without a CUDA graph" not in ended.stderr
        (y,) = load_results(tmp_path / "out", ["result0"]).values()
        assert relative_difference(y, expected) < 1e-5
