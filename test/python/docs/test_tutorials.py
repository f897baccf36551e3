# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tutorials' blocks of Python and notebooks' cells run, and print what the pages say; README's doors open."""

import json
import os
import re
import sys
from unittest import mock

import numpy as np
import pytest
from paths import PATHS
from shoal_testing import BIN, ROOT, TARGET, run

import shoal

NOTEBOOKS = sorted((ROOT / "docs/guide/tutorials").glob("*.ipynb"))
PAGES = sorted((ROOT / "docs/guide/tutorials").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(TARGET != "cpu", reason="the pages are about the CPU")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks(page, capsys):
    text = page.read_text()
    names = {}
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count("```python") > 0
    for block in blocks:
        first_line = text.count("\n", 0, block.start(1))
        # So that the lines of errors are the page's.
        code = compile("\n" * first_line + block[1], str(page), "exec")
        exec(code, names)
        assert capsys.readouterr().out == (block[2] or ""), f"{page}:{first_line + 1}"


@pytest.mark.skipif(TARGET != "cpu", reason="the pages are about the CPU")
def test_the_training_page_under_mpirun(tmp_path):
    """As it says at its end: every rank runs the blocks as one script, and reads what they print."""
    blocks = list(BLOCK.finditer((ROOT / "docs/guide/tutorials/training.md").read_text()))
    script = "".join(block[1] for block in blocks)
    # One folder for all ranks, and a file for what each prints.
    assert script.count("tempfile.mkdtemp()") == 1
    script = script.replace("tempfile.mkdtemp()", repr(str(tmp_path)))
    prints = f"import os, sys\nsys.stdout = open({str(tmp_path)!r} + '/rank' + os.environ['OMPI_COMM_WORLD_RANK'], 'w')\n"
    (tmp_path / "train.py").write_text(prints + script)
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run("mpirun", "-n", 4, sys.executable, tmp_path / "train.py", timeout=300)
    ended.expect_success()
    expected = "".join(block[2] or "" for block in blocks)
    assert expected and [(tmp_path / f"rank{rank}").read_text() for rank in range(4)] == [expected] * 4


def printed(notebook):
    """Of each cell of code; those tagged "varies" print times. What compiles long says so on stderr."""
    return [
        [output.get("text") for output in cell.outputs if output.get("name") != "stderr"]
        for cell in notebook.cells
        if cell.cell_type == "code" and "varies" not in cell.metadata.get("tags", ())
    ]


@pytest.mark.skipif(TARGET != "cpu", reason="the pages are about the CPU")
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_notebook(page, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    manager = pytest.importorskip("jupyter_client").AsyncKernelManager(
        kernel_name="python3", transport="ipc", ip=str(tmp_path / "kernel")
    )
    for library in {"flax": ["flax"], "torch": ["torch", "transformers"]}.get(page.stem, ()):
        pytest.importorskip(library)
    notebook = nbformat.read(page, as_version=4)
    expected = printed(notebook)
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        nbclient.NotebookClient(notebook, timeout=120, km=manager).execute()
    assert printed(notebook) == expected
    assert any(expected)
    (varying,) = [
        output["text"]
        for cell in notebook.cells
        if "varies" in cell.metadata.get("tags", ())
        for output in cell.outputs
        if output.get("name") != "stderr"
    ]
    print(varying)
    assert re.fullmatch(r"step: [\d.]+ ms; a call over it: [\d.]+ ms \(median of 200\)\n", varying)


README = (ROOT / "README.md").read_text()


@pytest.fixture
def where_readme_runs(tmp_path, monkeypatch):
    """A folder with what README's blocks find: a model's files, tokens, the examples."""
    config = json.loads((ROOT / "examples/moe_models/mixtral.json").read_text())
    (tmp_path / "mixtral").mkdir()
    (tmp_path / "mixtral/config.json").write_text(json.dumps(config))
    model = shoal.models.from_config(config)
    model.write(tmp_path / "mixtral", model.init(0))
    np.save(tmp_path / "tokens.npy", np.random.default_rng(0).integers(0, config["vocab_size"], (64, 17), np.int32))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(TARGET != "cpu", reason="the page is about the CPU")
def test_blocks_of_readme(where_readme_runs):
    """One behind the other, as they stand."""
    names = {}
    for number, block in enumerate(BLOCK.finditer(README)):
        exec(compile(block[1], "README.md", "exec"), names)
        if number == 0:
            check_a_step_of_readme(names)
    assert names["logits"].shape == (1, 16, 256)
    assert names["layout"].size("ep") == 4 and names["config"].num_experts == 8
    assert int(names["state"].step) == 20 and shoal.checkpoints.Series("run").steps() == [10, 20]


def check_a_step_of_readme(names):
    """It is of four devices, and goes down."""
    assert names["params"]["wi"].shape == (8, 64, 256) and names["params"]["wi"].devices.count == 4
    stepped, start = {name: leaf.numpy() for name, leaf in names["params"].items()}, names["init_params"](names["config"], 64)
    with mock.patch.dict(names, layout=shoal.moe.Layout()):
        loss = names["jax"].jit(names["loss"])
        assert loss(stepped, np.ones((8, 32, 64), np.float32)) < loss(start, np.ones((8, 32, 64), np.float32))


@pytest.mark.skipif(TARGET != "cpu", reason="the page is about the CPU")
def test_commands_of_readme(where_readme_runs, monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for block in blocks:
        run("bash", "-ec", block).expect_success()
    assert blocks


def as_pattern(line):
    """An op of the page, whatever its values are called and "..." stands for."""
    pieces = re.sub(r"%\w+", "%", line.split("//")[0]).split("...")
    return ".{0,400}?".join(re.escape(" ".join(piece.split())) for piece in pieces)


def test_programs_of_readme():
    """What goes in is in the example, what comes out is what shoalc prints of it."""
    example = ROOT / "examples/moe_layer/moe_layer.mlir"
    made = run(BIN / "shoalc", example, "--emit=spmd", "-o", "-").expect_success().stdout
    blocks = re.findall(r"^```mlir\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block, text in zip(blocks, (example.read_text(), made)):
        text = " ".join(re.sub(r"%\w+", "%", text).split())
        for line in block.splitlines():
            assert re.search(as_pattern(line), text), line
