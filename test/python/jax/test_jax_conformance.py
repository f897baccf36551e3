# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sample of the conformance run: one program of each family and way in.

The whole run is test/conformance/conformance.py.
"""

import json
import os
import subprocess
import sys

import pytest
from shoal_testing import BIN, ROOT

pytest.importorskip("jax")

SAMPLE = [
    "attention/causal_attention",
    "complex_numbers/fft_of_a_matrix",
    "control_flow/scan_over_layers",
    "elementwise/uneven_constraint",
    "indexing/embedding_of_split_vocabulary_and_batch",
    "linalg/two_dimensional_mlp",
    "manual/manual_in_manual",
    "manual/manual_over_one_axis",
    "manual/manual_over_one_axis_by_gspmd",
    "manual/manual_shift_without_wrap",
    "moe/gradient_of_moe_layer",
    "random_numbers/normal",
    "reductions/softmax_over_split",
    "shapes/three_axes_change_places",
    "sorting/top_k_of_split_dimension",
    "training/adam_step",
    "training/sgd_step_by_gspmd",
    "transformers/language_model_gradient",
    "windows/gradient_of_convolution_over_height",
]


def test_sample(tmp_path):
    """Numbers as JAX's, bytes at most XLA's; the first one also under mpirun."""
    pattern = "^(" + "|".join(SAMPLE) + ")$"
    command = [sys.executable, ROOT / "test/conformance/conformance.py", "--filter", pattern]
    command += ["--json", tmp_path / "outcomes.json", "--mpi", str(len(SAMPLE))]
    environment = {**os.environ, "SHOAL_BUILD": str(BIN.parent)}
    ended = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    assert len(outcomes) == len(SAMPLE)
    assert sum(outcome["ran_under_mpi"] for outcome in outcomes) == 1
    for outcome in outcomes:
        assert sum(outcome["ours"].values()) <= sum(outcome["xla"].values()), outcome


# Differentiated here: a program of each kind of rule that most of the others do not need.
DIFFERENTIATED = [
    "attention/causal_attention",
    "control_flow/scan_over_layers",
    "manual/manual_reduce_scatter",
    "moe/moe_layer",
    "reductions/softmax_over_split",
    "sorting/top_k_of_split_dimension",
]


def test_gradients(tmp_path):
    """Values as jax.vjp's, bytes at most those of its program; all: test/conformance/gradients.py."""
    command = [sys.executable, ROOT / "test/conformance/gradients.py", "--json", tmp_path / "outcomes.json"]
    command += ["--filter", "^(" + "|".join(DIFFERENTIATED) + ")$"]
    environment = {**os.environ, "SHOAL_BUILD": str(BIN.parent)}
    ended = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    assert [outcome["status"] for outcome in outcomes] == ["passed"] * len(DIFFERENTIATED)


sys.path.insert(0, str(ROOT / "test/conformance"))
import xla_bytes  # noqa: E402
import xla_flops  # noqa: E402


@pytest.mark.parametrize(
    "instruction, expected",
    [
        ("f32[16]{0} all-gather(f32[4]{0} %a), replica_groups={{0,1,2,3},{4,5,6,7}}", 48),
        ("f32[16]{0} all-gather(f32[2]{0} %a), replica_groups=[1,8]<=[8]", 56),
        ("f32[2,8]{1,0} all-reduce(%a), replica_groups=[4,2]<=[2,4]T(1,0), to_apply=%add", 64),
        ("f32[4] all-reduce(%a), replica_groups=mesh['a'=2,'b'=4] {'b'}, to_apply=%add", 24),
        ("f32[4] all-reduce(%a), replica_groups=mesh['a'=2,'b'=4] {'a','b':(1)2}, to_apply=%f", 24),
        ("f32[4]{0} all-reduce(%a), replica_groups={}, to_apply=%add", 28),
        ("(f32[4]{0}, bf16[8]{0}) all-reduce(%a, %b), replica_groups={{0,1}}", 32),
        ("f32[4]{0} reduce-scatter(%a), replica_groups=[2,4]<=[8], dimensions={0}", 48),
        ("(f32[1,4], f32[1,4]) all-to-all(%a, %b), replica_groups={{0,1},{2,3}}", 16),
        ("s32[8]{0} collective-permute(%a), source_target_pairs={{0,1},{1,0}}", 32),
        ("s32[8]{0} collective-permute(%a), source_target_pairs={{0,0},{1,1}}", 0),
        ("(f32[4], f32[16]) all-gather-start(%a), replica_groups={{0,1,2,3}}", 48),
        ("f32[4] all-reduce-start(%a), replica_groups={{0,1}}, to_apply=%add", 16),
        ("(s32[8], s32[8], u32[], u32[]) collective-permute-start(%a), source_target_pairs={{0,1}}", 32),
        ("pred[8] all-gather(%a), replica_groups={{0,1}}, dimensions={0}", 4),
        ("f32[4] all-gather-done(%a)", 0),
        ("f32[4] add(%a, %b)", 0),
    ],
)
def test_bytes_of_hlo(instruction, expected):
    hlo = f"HloModule m\n\nENTRY %main (a: f32[4]) -> f32[4] {{\n  ROOT %r = {instruction}\n}}\n"
    assert sum(xla_bytes.bytes_sent(hlo, 8).values()) == expected


def test_bytes_of_loops():
    hlo = """HloModule m

%body (p: f32[4]) -> f32[4] {
  %p = f32[4] parameter(0)
  ROOT %r = f32[4] collective-permute(%p), source_target_pairs={{0,1}}
}

%condition (p: f32[4]) -> pred[] {
  %s = f32[1] collective-permute(%p), source_target_pairs={{0,1}}
  ROOT %r = pred[] constant(true)
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4] parameter(0)
  ROOT %w = f32[4] while(%a), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
}
"""
    assert xla_bytes.bytes_sent(hlo, 8) == {"collective_permute": 5 * 16 + 6 * 4}


@pytest.mark.parametrize(
    "instruction, expected",
    [
        ("f32[4,16] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", 2 * 4 * 16 * 8),
        ("f32[4,8,8,16] dot(%a, %b), lhs_contracting_dims={}, rhs_contracting_dims={}", 2 * 4096),
        ("f32[2,5,16] convolution(%c, %k), window={size=3}, dim_labels=b0f_0io->b0f", 2 * 160 * 3 * 8),
        ("f32[4,8] add(%a, %a)", 0),
    ],
)
def test_flops_of_hlo(instruction, expected):
    """Of a product in a fusion that runs in a loop."""
    hlo = f"""HloModule m

%fused (a: f32[4,8], b: f32[8,16], c: f32[2,5,8], k: f32[3,8,16]) -> f32[4,16] {{
  %a = f32[4,8]{{1,0}} parameter(0)
  %b = f32[8,16]{{1,0}} parameter(1)
  %c = f32[2,5,8]{{2,1,0}} parameter(2)
  %k = f32[3,8,16]{{2,1,0}} parameter(3)
  ROOT %r = {instruction}
}}

%body (p: f32[4,16]) -> f32[4,16] {{
  %p = f32[4,16] parameter(0)
  ROOT %f = f32[4,16] fusion(%p), kind=kCustom, calls=%fused
}}

ENTRY %main (a: f32[4,16]) -> f32[4,16] {{
  %a = f32[4,16] parameter(0)
  ROOT %w = f32[4,16] while(%a), condition=%c, body=%body, backend_config={{"known_trip_count":{{"n":"5"}}}}
}}

%c (p: f32[4,16]) -> pred[] {{
  %p = f32[4,16] parameter(0)
  ROOT %r = pred[] constant(true)
}}
"""
    assert xla_flops.product_flops(hlo) == 5 * expected
