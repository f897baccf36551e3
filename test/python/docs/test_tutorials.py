# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tutorials' blocks of Python and notebooks' cells run, and print what the pages say."""

import os
import re
from unittest import mock

import pytest
from paths import PATHS
from shoal_testing import ROOT, TARGET

NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))
PAGES = sorted((ROOT / "docs/tutorials").glob("*.md"))
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


def printed(notebook):
    """Of each cell of code; those tagged "varies" print times."""
    return [
        [output.get("text") for output in cell.outputs]
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
    if page.stem == "flax":
        pytest.importorskip("flax")
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
    ]
    print(varying)
    assert re.fullmatch(r"step: [\d.]+ ms; a call over it: [\d.]+ ms \(median of 200\)\n", varying)
