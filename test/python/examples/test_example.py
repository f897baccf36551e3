# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples' commands."""

import json
import os
import sys

import numpy as np
import pytest
from paths import PATHS
from report_page import read_data
from shoal import checkpoints
from shoal_testing import BIN, ROOT, load_json, run


@pytest.fixture
def shoal_in_processes(monkeypatch):
    """Processes that a test starts find the package."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([PATHS[0], os.environ.get("PYTHONPATH", "")]))


def test_the_moe_layer_example_runs_and_checks_itself(tmp_path):
    script = ROOT / "examples/moe_layer/run.py"
    ended = run(sys.executable, script, "--bin", BIN, "--out", tmp_path, timeout=120)
    output = ended.expect_success().stdout
    assert "byte tokens" in output
    assert "all_to_all" in output
    assert "from NumPy" in output


def test_the_layer_in_python_runs_and_checks_itself(shoal_in_processes):
    ended = run(sys.executable, ROOT / "examples/python_moe/moe_layer.py", timeout=120)
    output = ended.expect_success().stdout
    assert "byte tokens" in output
    assert "'all_to_all': " in output
    assert "largest relative difference from NumPy" in output


def test_a_jax_transformer_trains_as_in_jax(tmp_path, shoal_in_processes):
    script, curves = ROOT / "examples/jax_moe_training/train.py", tmp_path / "losses.json"
    command = [sys.executable, script, "--x64", "--losses", curves]
    run(*command, timeout=300).expect_success()
    losses = load_json(curves)
    ours, expected = losses["devices"], losses["jax"]
    assert len(ours) == 100
    np.testing.assert_allclose(ours, expected, rtol=1e-7)
    assert np.mean(ours[-10:]) < 0.75 * ours[0]


def test_a_transformer_trains_by_its_own_gradients(tmp_path, shoal_in_processes):
    """Every rank of the job runs the script."""
    script = ROOT / "examples/moe_training/train.py"
    command = ["mpirun", "-n", "4", sys.executable, script, tmp_path, "--steps", "20"]
    assert "step 20/20  loss" in run(*command, timeout=300).expect_success().stdout
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    losses = [line["nll"] for line in lines if "nll" in line]
    assert len(losses) == 2 and losses[-1] < 0.9 * np.log(256)
    assert lines[-1]["held-out nll"] < 0.85 * np.log(256)
    assert (tmp_path / "checkpoints").is_dir()
    # What is done is not done again.
    again = run(sys.executable, *command[4:], timeout=300).expect_success()
    assert "step" not in again.stdout


def test_the_losses_are_plotted(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT / "examples/moe_training")
    from train import plot

    lines = [{"step": 10, "nll": 5.0}, {"step": 20, "nll": 4.0}, {"step": 20, "held-out nll": 4.5}]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    plot(tmp_path / "metrics.jsonl", tmp_path / "losses.svg")
    assert "</svg>" in (tmp_path / "losses.svg").read_text()


def test_examples_under_mpirun(tmp_path, shoal_in_processes):
    """Each rank runs the script, and reads its results as one process does."""
    cases = {
        "python_moe/moe_layer.py": ([], "largest relative difference from NumPy"),
        "moe_models/megatron.py": ([], "kept of each expert's choices"),
        "moe_models/tutel.py": ([], "the fewest bytes"),
    }
    if "SHOAL_LONG" in os.environ:
        cases["jax_moe_training/train.py"] = (["--steps", "2"], "step  4 devices  JAX, one device")
    for script, (words, said) in cases.items():
        ended = run("mpirun", "-n", 4, sys.executable, ROOT / "examples" / script, *words, timeout=300)
        assert ended.code in (0, 1) and said in ended.stdout, (script, ended.stderr)
        assert "Traceback" not in ended.stderr, (script, ended.stderr)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_job_of_another_size_says_so(shoal_in_processes, ranks):
    ended = run("mpirun", "-n", ranks, sys.executable, ROOT / "examples/moe_models/megatron.py", timeout=120)
    assert ended.code != 0
    assert f"one of an MPI job of {ranks}: there are no 4 devices: give a mesh of {ranks}, or start 4 ranks" in ended.stderr


@pytest.mark.parametrize("name, said", [("megatron.py", "kept of each"), ("tutel.py", "moved 0 times")])
def test_layouts_of_experts(shoal_in_processes, name, said):
    ended = run(sys.executable, ROOT / "examples/moe_models" / name, timeout=120)
    assert said in ended.expect_success().stdout


def test_a_model_of_a_hugging_face_configuration_is_trained(shoal_in_processes, tmp_path):
    script = ROOT / "examples/moe_models/train.py"
    ended = run(sys.executable, script, tmp_path, "10", timeout=120).expect_success()
    assert "step 10/10" in ended.stdout
    with checkpoints.open(tmp_path / "model.safetensors") as source:
        assert source.arrays["model.layers.1.block_sparse_moe.experts.7.w2.weight"].shape == (64, 128)
    assert [sample["step"] for sample in read_data(tmp_path / "balance.html")["samples"]] == [10]
    code = [line for line in script.read_text().split("main(folder")[1].splitlines() if line.strip()]
    assert len(code) <= 40


def test_a_model_of_transformers_trains_by_its_plan(tmp_path, shoal_in_processes):
    """At most 40 lines of the user's."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    script = ROOT / "examples/torch_moe/train.py"
    code = script.read_text().partition('"""\n\nimport')[2].splitlines()
    assert len([line for line in code if line and not line.startswith("#")]) <= 40
    ended = run(sys.executable, script, "--steps", 20, "--save", tmp_path / "model", timeout=300).expect_success()
    losses = [float(line.split()[3]) for line in ended.stdout.splitlines() if line.startswith("step")]
    assert len(losses) == 2 and losses[1] < losses[0] < np.log(256)
    assert transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model").num_parameters() > 0
