# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of test/Execution and examples/, compiled for CUDA.

Each assembles for sm_90, and run on the emulated device gives what the
interpreter gives on one device.
"""

import json
import re
import shutil
from collections import namedtuple

import numpy as np
import pytest

import packing
from shoal_testing import BIN, ROOT, load_results, mpirun, needs_emulation, relative_difference
from shoal_testing import run, shoal_run

pytestmark = needs_emulation
TOLERANCE = 1e-4
BF16_TOLERANCE = 2e-2
F16_TOLERANCE = 2e-3

Program = namedtuple("Program", "name text entry")


def pieces(text):
    """The modules of a file: those between `// -----`, or the .mlir files of split-file."""
    files = re.split(r"^//--- (\S+)$", text, flags=re.MULTILINE)
    if len(files) > 1:
        return [body for name, body in zip(files[1::2], files[2::2]) if name.endswith(".mlir")]
    return text.split("// -----")


def programs():
    files = sorted((ROOT / "test/Execution").glob("*.mlir")) + sorted((ROOT / "examples").glob("*/*.mlir"))
    for path in files:
        for number, text in enumerate(pieces(path.read_text())):
            # Functions of the user's have no object here; transforms and the host are for CPUs.
            if re.search(r'custom_call "(?!identity|Sharding)|shoal\.(fft|print|host_call)', text):
                continue
            for entry in re.findall(r"^func\.func @(\w+)", text, flags=re.MULTILINE):
                yield Program(f"{path.stem}-{number}-{entry}", text, entry)


PROGRAMS = list(programs())


def public_only(program):
    """The program with its other functions private: what is called remains."""
    return re.sub(
        rf"^func\.func @(?!{program.entry}\b)", "func.func private @", program.text, flags=re.MULTILINE
    )


def expect_equal(actual, expected):
    """Whole numbers and f8 to the bit, floats within their tolerance; bf16 has no name in NumPy."""
    tolerance = TOLERANCE
    if expected.dtype == "V2":
        tolerance = BF16_TOLERANCE
        actual, expected = (
            (np.uint32(array.view(np.uint16)) << 16).view(np.float32) for array in (actual, expected)
        )
    if expected.dtype == np.float16:
        tolerance = F16_TOLERANCE
    if expected.dtype.kind == "f":
        assert relative_difference(actual, expected) < tolerance
    else:
        assert np.array_equal(actual, expected)


def results_as_addends(source, entry):
    """The results of which devices hold addends, along their first dimension."""
    exposed = run(BIN / "shoal-opt", source, "--shoal-expose-addends").expect_success().stdout
    results = re.search(rf"^  func\.func @{entry}\(.*?\) -> (.*)$", exposed, flags=re.MULTILINE)
    tensors = re.findall(r"tensor<[^>]*>(?: \{(.*?)\}(?=[,)]))?", results[1]) if results else []
    return {f"result{number}" for number, attributes in enumerate(tensors) if "shoal.addends" in attributes}


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_program(program, tmp_path):
    source, executable = tmp_path / "program.mlir", tmp_path / "program"
    source.write_text(public_only(program))
    whole = shoal_run(source, "--devices=0", "--random-inputs=1", "--output-dir", tmp_path / "one")
    if whole.code != 0:
        pytest.skip("does not run with random inputs")

    def compile_for(arch, path, *flags):
        return run(BIN / "shoalc", source, "-o", path, "--target=cuda", f"--cuda-arch={arch}", *flags)

    if shutil.which("ptxas"):
        compile_for("sm_90", executable).expect_success()
    packing.keep_program(lambda path: compile_for(packing.ARCH, path), executable)
    stats = tmp_path / "static.json"
    compile_for("emulated", executable, "--stats", stats).expect_success()
    devices = json.loads(stats.read_text())["devices"]
    mpirun(devices, executable, "--random-inputs=1", "--output-dir", tmp_path / "all").expect_success()
    names = [path.stem for path in (tmp_path / "one").glob("*.npy")]
    assert names
    expected, actual = load_results(tmp_path / "one", names), load_results(tmp_path / "all", names)
    addends = results_as_addends(source, program.entry)
    for name in names:
        # Which addends a sum has is up to a program.
        expect_equal(*(array[name].sum(0) if name in addends else array[name] for array in (actual, expected)))
