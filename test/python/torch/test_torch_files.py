# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kept .pt2 files, read without torch: programs, values on one device and on several, names, places."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from paths import PATHS

import shoal
import shoal.torch as st
from shoal import P
from shoal.errors import InputError, UnsupportedError
from shoal.torch.calls import Call
from shoal.torch.derivatives import write_gradients
from shoal.torch.programs import write_program
from shoal.torch.shardings import of_arguments, of_state
from shoal.torch.sources import state_of
from shoal_testing import ROOT
from torch_import_testing import differences, run

DATA = ROOT / "test/python/torch/data"
NAMES = sorted(path.stem for path in DATA.glob("*.pt2"))
# Where a program lies on four devices: its parameters, its arguments.
LAYOUTS = {
    "gshard": ({"wi": P("x"), "wo": P("x")}, P("x")),
    "mixtral": ({"*.experts.*": P("x"), "lm_head.weight": P("x")}, P()),
    "mlp": ({"up.*": P("x"), "down.weight": P(None, "x")}, None),
    "rotary": ({"filter": P("x"), "proj.weight": P("x")}, None),
}


def call_of(name, graph):
    """The inputs of a program and the results that torch had, by name."""
    kept = np.load(DATA / f"{name}.npz")
    users = [given.name for given in graph.inputs if given.kind == "user" and given.type is not None]
    inputs = state_of(graph) | {user: kept[f"input{i}"] for i, user in enumerate(users)}
    results = [output.name for output in graph.outputs if output.kind == "user"]
    expected = {result: kept[f"result{i}"] for i, result in enumerate(results)}
    written = [output.name for output in graph.outputs if output.kind == "buffer"]
    return inputs, expected | {buffer: kept[f"buffer.{buffer}"] for buffer in written}


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    graph = st.from_pt2(DATA / f"{name}.pt2")
    program = write_program(graph)
    inputs, expected = call_of(name, graph)
    wrong = differences(run(program.text, inputs, program.outputs), expected)
    assert not wrong, "\n".join(wrong)
    assert set(program.outputs) == set(expected)


@pytest.mark.parametrize("mesh", [None, shoal.Mesh(x=4)])
@pytest.mark.parametrize("name, params", [("functions", {"up.*": P("x"), "down.weight": P(None, "x")}), ("rotary", LAYOUTS["rotary"][0])])
def test_gradients(name, params, mesh):
    """With a backward of a torch.autograd.Function's own, which the file has; and of complex parameters."""
    graph = st.from_pt2(DATA / f"{name}.pt2")
    inputs, expected = call_of(name, graph)
    expected |= {key: value for key, value in np.load(DATA / f"{name}.npz").items() if key.startswith("grad.")}
    names = [given.name for given in graph.inputs if given.kind == "parameter"]
    program = write_gradients(graph, names, mesh, shardings=of_state(graph, params if mesh else None))
    wrong = differences(run(program.text, inputs, program.outputs, devices=4 if mesh else 0), expected)
    assert not wrong and len(expected) > len(names), "\n".join(wrong)


@pytest.mark.parametrize("name", LAYOUTS)
def test_values_on_four_devices(name):
    graph = st.from_pt2(DATA / f"{name}.pt2")
    params, rows = LAYOUTS[name]
    shardings = of_state(graph, params) | of_arguments(graph, rows)
    program = write_program(graph, shoal.Mesh(x=4), shardings=shardings)
    inputs, expected = call_of(name, graph)
    wrong = differences(run(program.text, inputs, program.outputs, devices=4), expected)
    assert not wrong, "\n".join(wrong)


def test_needs_no_torch():
    code = f"""
import sys
sys.path[:0] = {PATHS!r}
sys.modules["torch"] = None
import shoal.torch
print(len(shoal.torch.import_program({str(DATA / "mixtral.pt2")!r})) > 10000, shoal.torch.from_pt2({str(DATA / "mlp.pt2")!r}).name)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True", "mlp"], ended


def test_names_are_those_of_state_dict():
    graph = st.from_pt2(DATA / "mlp.pt2")
    names = [given.name for given in graph.inputs]
    assert names == [
        "embed.weight", "norm.weight", "norm.bias", "up.weight", "up.bias", "down.weight", "down.bias", "scale", "ids"
    ]  # fmt: skip
    assert graph.inputs[0].aliases == ("head.weight",)
    assert [output.name for output in graph.outputs] == ["logits", "parts.0", "parts.1"]
    assert Call(graph).state == names[:-1]


def test_places_have_lines_and_modules():
    text = st.import_program(DATA / "mlp.pt2")
    line = next(i for i, text in enumerate((DATA / "make.py").read_text().splitlines(), 1) if "self.down(F.gelu" in text)
    assert f'loc("up"("test/python/torch/data/make.py":{line}:0))' in text
    graph = st.from_pt2(DATA / "mixtral.pt2")
    assert all(node.place.file.startswith("site-packages/transformers/") for node in graph.nodes)
    assert {node.place.module for node in graph.nodes} >= {"model.layers.0.mlp.experts", "model.layers.0.self_attn.q_proj", "lm_head"}


def test_what_is_without_gradients_stays_so():
    assert st.import_program(DATA / "mlp.pt2").count('"shoal.stop_gradient"') == 1


def test_buffers_that_are_written_over_are_donated():
    text = st.import_program(DATA / "picture.pt2")
    assert text.count("shoal.donated") == 3
    assert '{shoal.name = "norm.running_mean", shoal.donated}' in text


def test_compiled_file(tmp_path):
    """Compiled, run, saved: arrays of NumPy in and out, buffers in the state."""
    exe = st.compile(DATA / "picture.pt2")
    kept = np.load(DATA / "picture.npz")
    first = exe(kept["input0"])
    assert isinstance(first, tuple) and len(first) == 2
    np.testing.assert_allclose(first[0], kept["result0"], atol=1e-6)
    np.testing.assert_allclose(exe.state["norm.running_var"], kept["buffer.norm.running_var"], rtol=1e-6)
    assert exe.state["norm.num_batches_tracked"] == 1
    exe.save(tmp_path / "picture.shoal")
    assert [tensor.name for tensor in shoal.load(tmp_path / "picture.shoal").inputs][:2] == ["conv.weight", "norm.weight"]


def test_calls_nest_as_the_example(tmp_path):
    call = Call(st.from_pt2(DATA / "mlp.pt2"))
    ids = np.zeros((2, 3), np.int64)
    assert list(call.arguments((ids,), {})) == ["ids"]
    with pytest.raises(InputError, match="expected a tuple of 1 but got 2"):
        call.arguments((ids, ids), {})
    branches = Call(st.from_pt2(DATA / "branches.pt2"))
    assert branches.result({f"result{i}": i for i in range(5)}) == [0, 1, 2, 3, 4]


def changed(name, change):
    """A .pt2 file with another program."""
    result = io.BytesIO()
    with zipfile.ZipFile(DATA / f"{name}.pt2") as source, zipfile.ZipFile(result, "w") as target:
        for entry in source.namelist():
            data = source.read(entry)
            if entry.endswith("models/model.json"):
                model = json.loads(data)
                change(model)
                data = json.dumps(model)
            target.writestr(entry, data)
    return result


def test_other_versions_are_refused():
    def change(model):
        model["schema_version"]["major"] = 9

    with pytest.raises(InputError, match="its schema has version 9; expected 8"):
        st.from_pt2(changed("mlp", change))


def test_no_zip_is_refused(tmp_path):
    path = tmp_path / "model.pt2"
    path.write_bytes(b"no zip")
    with pytest.raises(InputError, match="model.pt2: expected a .pt2 file of torch.export.save"):
        st.from_pt2(path)


def test_all_that_is_in_the_way_is_said_at_once():
    """Each op with its line, module and types; in-place ops with what to write instead."""

    def change(model):
        nodes = model["graph_module"]["graph"]["nodes"]
        nodes[0]["target"] = "torch.ops.mylib.strange.default"
        nodes[1]["target"] = "torch.ops.aten.mul_.Tensor"

    graph = st.from_pt2(changed("mlp", change))
    with pytest.raises(UnsupportedError) as caught:
        write_program(graph)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("test/python/torch/data/make.py:") and "(embed): mylib.strange.default(float32[11,8], int64[2,3]) -> (float32[2,3,8]) is not supported" in lines[0]
    assert "aten.mul_.Tensor" in lines[1] and "it writes over a tensor; save what `shoal.torch.export(module, args)` gives" in lines[1]


def test_unknown_arguments_are_refused():
    def change(model):
        node = next(n for n in model["graph_module"]["graph"]["nodes"] if "gelu" in n["target"])
        node["inputs"].append({"name": "sharpness", "arg": {"as_int": 3}, "kind": 1})

    with pytest.raises(UnsupportedError, match="aten.gelu.default.* is not supported: argument 'sharpness'"):
        st.import_program(st.from_pt2(changed("mlp", change)))


def test_sizes_that_are_no_numbers_are_refused():
    def change(model):
        graph = model["graph_module"]["graph"]
        graph["tensor_values"]["embedding"]["sizes"][0] = {"as_expr": {"expr_str": "s0", "hint": None}}

    with pytest.raises(UnsupportedError, match='value "embedding".*: size s0, which is not a number; export without dynamic_shapes'):
        st.from_pt2(changed("mlp", change))


def test_wrong_types_show_at_their_op():
    def change(model):
        model["graph_module"]["graph"]["tensor_values"]["gelu"]["sizes"][0] = {"as_int": 7}

    with pytest.raises(UnsupportedError, match=r"gelu.* result 0 is float32\[2,3,12\]; the program says float32\[7,3,12\]"):
        st.import_program(st.from_pt2(changed("mlp", change)))


def test_globs_that_match_nothing_are_refused():
    with pytest.raises(shoal.TraceError, match='params: "up.wieght" matches none of 9 names'):
        st.import_program(DATA / "mlp.pt2", mesh=shoal.Mesh(x=2), params={"up.wieght": P("x")})


def test_command(tmp_path):
    from shoal.torch.__main__ import main

    out = tmp_path / "out.mlir"
    assert main([str(DATA / "mlp.pt2"), "-o", str(out)]) == 0
    assert out.read_text() == st.import_program(DATA / "mlp.pt2")
    assert main([str(tmp_path / "none.pt2")]) == 1


def test_damaged_files_are_refused():
    def without_signature(model):
        del model["graph_module"]["signature"]

    def with_words(model):
        model["graph_module"]["graph"]["nodes"][0]["inputs"] = "words"

    for change in (without_signature, with_words):
        with pytest.raises(InputError, match="expected a .pt2 file of torch.export.save"):
            st.from_pt2(changed("mlp", change))
