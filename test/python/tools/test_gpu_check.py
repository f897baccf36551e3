# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/gpu-check, packed and run on the emulated device with layers of a tiny size."""

import ctypes
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from shoal_testing import BIN, ROOT, load_results, needs_emulation, relative_difference, run, save_inputs

pytestmark = needs_emulation
TOOLS = ROOT / "tools/gpu-check"
# Programs of one, two and four devices.
PACKED_TESTS = "random-0 or nn-gating or moe_layer"
SYSTEM = r"lib(c|m|dl|pthread|rt|util)\.so|ld-linux|linux-vdso"


@pytest.fixture(scope="module")
def tools():
    sys.path.insert(0, str(TOOLS))
    yield importlib.import_module("layers"), importlib.import_module("pack")
    sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """A pack of a few tests for the emulated device, unpacked."""
    folder = tmp_path_factory.mktemp("gpu-check")
    archive = folder / "gpu-check.tar.xz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_BUILD", str(BIN.parent))
        flags = ("--output", archive, "--arch", "emulated", "-k", PACKED_TESTS)
        ended = run(sys.executable, TOOLS / "pack.py", *flags, timeout=180).expect_success()
    assert 1 < float(ended.stdout.splitlines()[-1].split()[-2]) < 64, "MiB"
    run("tar", "-C", folder, "-xf", archive).expect_success()
    archive.unlink()
    return folder / "gpu-check"


def run_pack(pack, output, *flags, seconds=100):
    """run.py in an environment of its own: nothing here but Python and the system's tools."""
    command = [sys.executable, pack / "run.py", "--output", output, "--seconds", seconds, *flags]
    return run("env", "-i", "PATH=/usr/bin:/bin", *command, timeout=150)


def test_pack_has_what_it_needs(pack):
    """Programs load nothing but the C library from outside of it."""
    folders = f"{pack}/mpi/lib:{pack}/emulation"
    files = [pack / "mpi/bin/mpirun", *(pack / "programs").iterdir(), *(pack / "emulation").iterdir()]
    for file in files:
        loaded = run("env", f"LD_LIBRARY_PATH={folders}", "ldd", file).expect_success().stdout
        for line in loaded.splitlines():
            name, _, path = line.strip().partition(" => ")
            assert not path or path.startswith(str(pack)) or re.match(SYSTEM, name), line


def test_only_programs_that_run_are_packed(tools, pack, tmp_path):
    """A test may compile what it does not run, or text."""
    cases = [json.loads(path.read_text())["program"] for path in pack.glob("cases/*/case.json")]
    assert {path.name for path in (pack / "programs").iterdir()} == set(cases)
    (tmp_path / "programs").mkdir()
    (tmp_path / "cases/0000").mkdir(parents=True)
    for name in ("0000", "0001"):
        (tmp_path / "programs" / name).write_text("text")
    (tmp_path / "cases/0000/case.json").write_text('{"program": "0001"}')
    tools[1].drop_unused(tmp_path)
    assert [path.name for path in (tmp_path / "programs").iterdir()] == ["0001"]


def test_a_machine_without_numpy_is_told_in_one_line(pack, tmp_path):
    ended = run(sys.executable, "-S", pack / "run.py", "--output", tmp_path / "report.json")
    assert ended.code == 1 and ended.stderr.endswith("has no NumPy, which the check needs\n")
    assert len(ended.stderr.splitlines()) == 1


def test_pack_runs_elsewhere(pack, tmp_path):
    output = tmp_path / "report.json"
    run_pack(pack, output, "--emulated").expect_success()
    report = json.loads(output.read_text())
    assert report["finished"] and isinstance(report["machine"]["devices"], (int, str))
    for phase in ("one device", "2 ranks on one GPU", "4 ranks on one GPU"):
        assert report[phase]["passed"] > 0 and report[phase]["failed"] == {}, phase
    benchmark = report["benchmark"]
    assert benchmark["not run"] == []
    assert benchmark["product"]["tflops"] > 0
    assert benchmark["product_f8"]["of_product"] > 0
    assert benchmark["copy"]["gigabytes_per_second"] > 0
    mixtral, gshard = benchmark["layers"].values()
    assert set(mixtral["parts"]) == {"layer", "gate", "dispatch", "experts", "combine", "training"}
    assert set(gshard["parts"]) == {"layer", "dispatch", "experts", "combine", "training"}
    for layer in (mixtral, gshard):
        assert all(part["seconds"] > 0 for part in layer["parts"].values())
        assert layer["parts"]["experts"]["of_product"] > 0
        for framework in ("jax", "torch"):
            measured = layer[framework]
            if importlib.util.find_spec(framework):
                assert measured["layer"]["times_ours"] > 0 and measured["training"]["times_ours"] > 0
            else:
                assert "not installed" in measured["not run"]
    assert mixtral["parts"]["dispatch"]["of_copy"] > 0


def test_a_machine_without_a_gpu_is_told_in_one_line(pack, tmp_path):
    output = tmp_path / "report.json"
    ended = run_pack(pack, output)
    assert ended.code == 1 and ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert "there is no GPU: libcuda.so.1" in line
    assert json.loads(output.read_text())["failed"] in line


def test_what_has_no_time_is_not_run(pack, tmp_path):
    output = tmp_path / "benchmark.json"
    command = ["--output", output, "--seconds", 0, "--emulated"]
    run(sys.executable, pack / "benchmark.py", *command).expect_success()
    report = json.loads(output.read_text())
    assert "product" in report["not run"]
    assert all(layer["parts"] == {} for layer in report["layers"].values())


def test_numbers_of_8_bits_may_be_rounded_the_other_way(tools):
    cases = importlib.import_module("cases")
    codes = np.array([0x00, 0x38, 0x7E, 0xB9], np.uint8)
    other = np.array([0x01, 0x37, 0x7E, 0xB9], np.uint8)
    assert cases.difference(other.view("V1"), codes.view("V1")) == 0.0
    for wrong in ([0x02, 0x38, 0x7E, 0xB9], [0x80, 0x38, 0x7E, 0xB9]):
        assert cases.difference(np.array(wrong, np.uint8).view("V1"), codes.view("V1")) == float("inf")


def test_a_wrong_result_and_a_broken_part_are_reported(pack, tmp_path):
    """The others run, and all of it is in the file."""
    broken = tmp_path / "gpu-check"
    shutil.copytree(pack, broken)
    case = next(path for path in (broken / "cases").iterdir() if one_device(path))
    result = next((case / "out").glob("*.npy"))
    np.save(result, np.load(result) + 1)
    (broken / "benchmark/index.json").write_text("{")
    output = tmp_path / "report.json"
    ended = run_pack(broken, output, "--emulated")
    assert ended.code == 1 and "one device, benchmark" in ended.stderr.splitlines()[-1]
    report = json.loads(output.read_text())
    assert report["finished"] and report["2 ranks on one GPU"]["passed"] > 0
    assert "differs by" in report["one device"]["failed"][case.name]
    assert "JSONDecodeError" in report["benchmark"]["failed"]


def one_device(case):
    return json.loads((case / "case.json").read_text())["devices"] == 1


def test_the_file_is_whole_when_the_run_is_ended(pack, tmp_path):
    output = tmp_path / "report.json"
    command = [sys.executable, pack / "run.py", "--output", output, "--emulated"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not (output.exists() and "one device" in output.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        running.terminate()
        assert running.wait(timeout=20) == 143
    finally:
        running.kill()
    report = json.loads(output.read_text())
    assert not report["finished"] and report["one device"]["passed"] > 0


# --- Libraries with the code of one GPU ---

KERNEL = "__global__ void {0}(float *x) {{ x[threadIdx.x] *= 2; }} extern \"C\" int answer() {{ return 42; }}"


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc")
def test_device_code_of_other_gpus_goes_away(tools, tmp_path):
    fatbin = importlib.import_module("fatbin")
    source, library, pruned = tmp_path / "k.cu", tmp_path / "whole.so", tmp_path / "pruned.so"
    source.write_text(KERNEL.format("doubled"))
    archs = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in (80, 90)]
    run("nvcc", "-shared", "-Xcompiler=-fPIC", *archs, source, "-o", library).expect_success()
    fatbin.keep_device_code(library, pruned, 90)
    before, after = library.read_bytes(), pruned.read_bytes()
    entries = [entry for entry in fatbin.entries(before) if entry.section == ".nv_fatbin"]
    assert {entry.arch for entry in entries} == {80, 90}
    for entry in entries:
        code = after[entry.begin : entry.end]
        assert code == (before[entry.begin : entry.end] if entry.arch == 90 else bytes(len(code)))
    assert ctypes.CDLL(str(pruned)).answer() == 42
    with pytest.raises(ValueError, match="no code for sm_100"):
        fatbin.keep_device_code(library, pruned, 100)


def test_what_is_no_library_is_refused(tools, tmp_path):
    fatbin = importlib.import_module("fatbin")
    (tmp_path / "text").write_text("no library")
    with pytest.raises(ValueError, match="expected an ELF file"):
        fatbin.keep_device_code(tmp_path / "text", tmp_path / "out", 90)


# --- The layers are the same in Shoal, JAX and PyTorch ---


def tiny_layer(tools, kind, element="f32"):
    layers, _ = tools
    if kind == "mixtral":
        return layers.Mixtral(16, 32, 48, 4, element=element)
    return layers.GShard(2, 16, 32, 48, 4, element=element)


def random_arrays(layer, part):
    frameworks = importlib.import_module("frameworks")
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal(shape) * shape[-2] ** -0.5).astype(np.float32)
        for shape in frameworks.shapes_of(layer.kind, layer.sizes(), part)
    ]


def run_shoal(tmp_path, text, arrays, *flags):
    """The program's results, in order; its arguments have any names."""
    source, program = tmp_path / "layer.mlir", tmp_path / "layer"
    source.write_text(text)
    run(BIN / "shoalc", source, "-o", program, "--target=cuda", "--cuda-arch=emulated").expect_success()
    described = run(program, "--describe").expect_success().stdout
    names, results = (
        [line.split(":")[0].strip() for line in part.splitlines() if line.startswith("  ")]
        for part in described.partition("inputs:")[2].partition("products on")[0].split("results:")
    )
    inputs = save_inputs(tmp_path, dict(zip(names, arrays, strict=True)))
    ended = run(program, *inputs, *flags, "--output-dir", tmp_path / "out").expect_success()
    assert "without a CUDA graph" not in ended.stderr
    return list(load_results(tmp_path / "out", results).values())


def expect_same(actual, expected):
    assert len(actual) == len(expected) > 0
    for one, other in zip(actual, expected):
        assert relative_difference(one, other) < 1e-5


@pytest.mark.parametrize("framework", ["jax", "torch"])
@pytest.mark.parametrize("kind", ["mixtral", "gshard"])
@pytest.mark.parametrize("part", ["layer", "training"])
def test_a_layer_is_the_frameworks(tools, tmp_path, framework, kind, part):
    """Also the gradients of all arguments; PyTorch is not needed to work on Shoal."""
    pytest.importorskip(framework)
    layers, _ = tools
    layer = tiny_layer(tools, kind)
    arrays = random_arrays(layer, part)
    text = layers.training_text(layer) if part == "training" else layer.text("layer")
    module = importlib.import_module(f"{framework}_layers")
    expect_same(run_shoal(tmp_path, text, arrays), module.evaluate(kind, layer.sizes(), part, arrays))


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


@pytest.mark.parametrize("flags", [(), ("--cuda-graph",)])
def test_the_layer_is_mixtrals(tools, tmp_path, flags):
    layer = tiny_layer(tools, "mixtral")
    arrays = random_arrays(layer, "layer")
    expected = mixtral(*(array.astype(np.float64) for array in arrays))
    expect_same(run_shoal(tmp_path, layer.text("layer"), arrays, *flags), [expected])
