# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shoal diff` says what two partitionings send, compute and hold differently."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal.__main__ import COMMANDS
from shoal.executable.compiler import statistics_of_text
from shoal.executable.difference import difference_of

PROGRAM = """
shoal.mesh @mesh = <["data" = 4]>
func.func @f(%x: tensor<64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>},
             %w: tensor<32x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [WI, WO]>},
             %v: tensor<128x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [VI, VO]>}) -> tensor<64x32xf32> {
  %h = shoal.einsum "BI,IJ->BJ" %x, %w : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %y = shoal.einsum "BJ,JI->BI" %h, %v : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
"""
WHOLE, ROWS = ("{}", "{}"), ('{"data"}', "{}")
GATHERED = 3 / 4 * 128 * 32 * 4


def program(w=WHOLE, v=WHOLE):
    return PROGRAM.replace("WI, WO", ", ".join(w)).replace("VI, VO", ", ".join(v))


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        paths = [tmp_path / name.replace("_", ".") for name in texts]
        for path, text in zip(paths, texts.values()):
            path.write_text(text)
        return list(map(str, paths))

    return write


def test_a_gather_more(files, capsys):
    assert COMMANDS["diff"](files(before_mlir=program(v=ROWS), after_mlir=program())) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["before.mlir", "after.mlir"]
    assert lines[1].split()[-3:] == [f"{GATHERED:,.0f}", "0", f"-{GATHERED:,.0f}"]
    assert lines[4] == "only before.mlir has"
    assert lines[5].startswith(f'  all_gather over {{"data"}}, {GATHERED:,.0f} bytes, at ')
    assert "operand 1 of shoal.einsum" in lines[6]
    assert lines[7:] == ["collectives that do not differ: 0"]


def test_lines_do_not_matter(files, capsys):
    moved = "\n\n// moved\n" + program(v=ROWS)
    assert COMMANDS["diff"](files(a_mlir=program(v=ROWS), b_mlir=moved)) == 0
    assert "collectives that do not differ: 1" in capsys.readouterr().out


def test_another_size():
    a, b = (statistics_of_text(program(v=ROWS)) for _ in range(2))
    b["collective_list"][0]["runs"] = 3
    difference = difference_of(a, b)
    assert difference and not any(difference.only) and difference.same == 0
    ((first, second),) = difference.resized
    assert (first["runs"], second["runs"]) == (1, 3)


def test_statistics_and_certificates(files, capsys):
    texts = [json.dumps(statistics_of_text(program(v=v), certify=True)) for v in (ROWS, WHOLE)]
    assert COMMANDS["diff"](files(a_json=texts[0], b_json=texts[1])) == 1
    assert "cost of shardings, bytes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("{", "is no JSON"),
        ("{}", "expected what --stats writes"),
        ("func.func @f(", "error"),
    ],
)
def test_what_cannot_be_compared(files, capsys, text, law):
    assert COMMANDS["diff"](files(a_mlir=program(), b_mlir=text)) == 2
    assert law in capsys.readouterr().err


def test_a_file_that_is_not_there(capsys):
    assert COMMANDS["diff"](["no-such.mlir", "no-such.mlir"]) == 2
    assert "cannot read no-such.mlir" in capsys.readouterr().err


def test_input_errors():
    with pytest.raises(shoal.InputError, match="expected what --stats writes"):
        difference_of({"collective_list": []}, {"collective_list": []})
