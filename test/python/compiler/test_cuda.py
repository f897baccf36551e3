# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What only executables for CUDA do, as far as it shows without a GPU.

That they compute what they should is tested by the other files, with
SHOAL_TEST_TARGET=emulated.
"""

import ctypes
import json
import shutil

import numpy as np
import pytest

from shoal_testing import BIN, ROOT, load_results, mpirun, needs_emulation, run, save_inputs

pytestmark = needs_emulation

PROGRAM = """
shoal.mesh @mesh = <["x" = 2]>
func.func @main(
    %x: tensor<8x6xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<6x4xf32> {shoal.name = "w"})
    -> (tensor<6x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %h = math.tanh %x : tensor<8x6xf32>
  %y = shoal.einsum "BI,IO->BO" %h, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %z = shoal.einsum "BI,BO->IO" %x, %y : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return %z : tensor<6x4xf32>
}
"""


def compile_cuda(folder, arch, *flags):
    source = folder / "program.mlir"
    source.write_text(PROGRAM)
    program = folder / "program"
    ended = run(BIN / "shoalc", source, "-o", program, "--target=cuda", f"--cuda-arch={arch}", *flags)
    return program, ended


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    program, ended = compile_cuda(tmp_path_factory.mktemp("emulated"), "emulated")
    ended.expect_success()
    return program


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def one_line(text):
    lines = [line for line in text.splitlines() if line.startswith("error")]
    assert len(lines) == 1, text
    return lines[0]


def test_assembles_for_several_gpus(tmp_path):
    if not shutil.which("ptxas"):
        pytest.skip("no ptxas")
    program, ended = compile_cuda(tmp_path, "sm_80,sm_90,sm_100")
    ended.expect_success()
    described = run(program, "--describe").expect_success().stdout
    assert "x" in described


def test_describe_says_how_products_are_computed(tmp_path):
    program = tmp_path / "program"
    source = ROOT / "test" / "Execution" / "cuda-float8.mlir"
    run(BIN / "shoalc", source, "-o", program, "--target=cuda", "--cuda-arch=emulated").expect_success()
    described = run(program, "--describe").expect_success().stdout
    assert "products on emulated:" in described
    assert "cuda-float8.mlir:30:9: [64, 128] x [128, 96], cuBLASLt in 8 bits with a scale and gelu" in described
    assert "in bf16, not in 8 bits: sums: 100 is not a multiple of 16; a kernel for a scale" in described


def test_a_folder_that_is_no_toolkit_is_passed_over(tmp_path, monkeypatch):
    if not shutil.which("ptxas"):
        pytest.skip("no ptxas")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    _, ended = compile_cuda(tmp_path, "sm_90")
    ended.expect_success()
    assert ended.stderr == ""


@pytest.mark.skipif(has_driver(), reason="for machines without a GPU")
def test_without_a_gpu_one_line_says_so(tmp_path):
    if not shutil.which("ptxas"):
        pytest.skip("no ptxas")
    program, ended = compile_cuda(tmp_path, "sm_90")
    ended.expect_success()
    run(program, "--help").expect_success()
    ended = mpirun(2, program, "--random-inputs=1")
    assert ended.code != 0
    assert "CUDA" in one_line(ended.stderr)


@pytest.mark.parametrize(
    "archs, fragment",
    [
        ("sm_90,emulated", "emulated goes with no other architecture"),
        ("hopper", '"hopper" is not sm_90'),
        ("sm_12", "sm_12"),
    ],
)
def test_bad_architectures(archs, fragment, tmp_path):
    program, ended = compile_cuda(tmp_path, archs)
    assert ended.code == 1
    assert fragment in ended.stderr
    assert not program.exists()


def test_emulated_program_computes(emulated, tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.standard_normal((8, 6), dtype=np.float32),
        "w": rng.standard_normal((6, 4), dtype=np.float32),
    }
    flags = save_inputs(tmp_path, arrays)
    stats = tmp_path / "stats.json"
    mpirun(2, emulated, *flags, "--output-dir", tmp_path / "out", "--stats", stats).expect_success()
    (result,) = load_results(tmp_path / "out", ["result0"]).values()
    expected = arrays["x"].T @ (np.tanh(arrays["x"]) @ arrays["w"])
    assert np.allclose(result, expected, rtol=1e-5, atol=1e-5)
    written = json.loads(stats.read_text())
    assert written["target"] == "cuda"
    assert written["collectives"] == {"all_reduce": 1}


def test_too_little_memory_is_seen_before_anything_runs(emulated, monkeypatch):
    monkeypatch.setenv("SHOAL_EMULATED_MEMORY", "100")
    ended = mpirun(2, emulated, "--random-inputs=1")
    assert ended.code != 0
    assert "needs" in one_line(ended.stderr) and "device has 100 B" in one_line(ended.stderr)


def test_too_few_gpus(emulated, monkeypatch):
    monkeypatch.setenv("SHOAL_EMULATED_DEVICES", "1")
    ended = mpirun(2, emulated, "--random-inputs=1")
    assert ended.code != 0
    assert "GPU" in one_line(ended.stderr)


def test_failing_collective_is_named(emulated, monkeypatch):
    monkeypatch.setenv("SHOAL_EMULATION_FAIL", "ncclAllReduce:1")
    ended = mpirun(2, emulated, "--random-inputs=1")
    assert ended.code != 0
    assert "all_reduce" in ended.stderr and "ncclAllReduce" in ended.stderr


def test_hanging_collective_is_named(emulated, monkeypatch):
    monkeypatch.setenv("SHOAL_EMULATION_HANG", "ncclAllReduce:1")
    ended = mpirun(2, emulated, "--random-inputs=1", "--collective-timeout=2")
    assert ended.code != 0
    assert "all_reduce" in ended.stderr and "program.mlir" in ended.stderr
    assert "2" in ended.stderr


def test_tf32_is_asked_for(tmp_path, emulated):
    program, ended = compile_cuda(tmp_path, "emulated", "--tf32")
    ended.expect_success()
    assert b'"tf32":true' in program.read_bytes()
    assert b'"tf32":false' in emulated.read_bytes()
