# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables as files."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from executable_cases import SCALED, scaled_inputs, scaled_outputs

import shoal
from shoal.executable import CallStructure


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "scaled.shoal"
    structure = CallStructure({"tuple": ["*", "*"]}, {"tuple": ["*", {"dict": {"s": "*"}}]})
    shoal.compile_text(SCALED, combine_bytes=0, structure=structure).save(path)
    return path


def test_a_file_holds_all_of_it(saved):
    exe = shoal.load(saved)
    inputs = scaled_inputs()
    y, total = exe.run((inputs["x"], inputs["w"]))
    np.testing.assert_array_equal(y, scaled_outputs(**inputs)["y"])
    np.testing.assert_array_equal(total["s"], scaled_outputs(**inputs)["sum"])
    assert exe.text == SCALED and exe.options.combine_bytes == 0
    assert exe.stats["devices"] == 4 and "spmd.all_reduce" in exe.spmd()


def test_pickles(saved):
    exe = pickle.loads(pickle.dumps(shoal.load(saved)))
    assert [tensor.name for tensor in exe.inputs] == ["x", "w"]


def test_files_go_with_the_executable(saved):
    exe = shoal.load(saved)
    folder = exe.program.parent
    assert folder.exists()
    del exe
    assert not folder.exists()


def test_other_files(saved, tmp_path):
    other = tmp_path / "other.shoal"
    for content in (b"", b"not a zip", saved.read_bytes()[:1000]):
        other.write_bytes(content)
        with pytest.raises(shoal.ShoalError, match="other.shoal: not an executable that Shoal"):
            shoal.load(other)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("program.json", "{}")
    with pytest.raises(shoal.ShoalError, match="not an executable that Shoal saved"):
        shoal.load(other)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("program.json", json.dumps({"format": 99}))
    with pytest.raises(shoal.ShoalError, match="expected format 1 but got 99"):
        shoal.load(other)
    with pytest.raises(FileNotFoundError):
        shoal.load(tmp_path / "none.shoal")
