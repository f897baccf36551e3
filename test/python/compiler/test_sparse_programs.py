# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-hot operands beside MoE layers, and what users ask for: defaults, both ways to run."""

import re
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import shoal
from one_hot_programs import (
    Sizes, cache_by_choice, cache_by_products, cross_entropy, embedding, layer_arrays,
    routed_again, routed_by_choice, routed_the_same,
)  # fmt: skip
from shoal.frontend.tracing import trace_program
from shoal_testing import load_results, mpirun, relative_difference, save_inputs, shoalc
from sparse_testing import import_program, masks_in, shapes_in

RANDOM = np.random.default_rng(0)
VOCABULARY, TOKENS, MODEL = 37, 19, 8


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(program, tolerance, gone=None):
    """Sparse results are those as written; no tensor of the shape `gone` is left."""
    expected, actual = program.evaluate(), program.evaluate_partitioned(sparse=True)
    for name, value in expected.items():
        assert relative_difference(actual[name], value) <= tolerance, name
    if gone:
        assert gone in shapes_in(program.partitioned(sparse=False).read_text())
        assert gone not in shapes_in(program.partitioned(sparse=True).read_text())


def test_embedding_and_its_gradient(tmp_path):
    def program(tokens, table, target):
        rows, gradient = jax.vjp(lambda t: embedding(tokens, t), table)
        return rows, gradient(target)

    # Some are out of range, several the same.
    tokens = RANDOM.integers(-2, VOCABULARY + 2, TOKENS, np.int32)
    arrays = tokens, floats(VOCABULARY, MODEL), floats(TOKENS, MODEL)
    check(import_program(tmp_path, program, *arrays), 1e-6, gone=(TOKENS, VOCABULARY))


def test_cross_entropy_and_its_gradient(tmp_path):
    def program(logits, labels):
        return jax.value_and_grad(cross_entropy)(logits, labels)

    labels = RANDOM.integers(-1, VOCABULARY + 1, TOKENS, np.int32)
    check(import_program(tmp_path, program, floats(TOKENS, VOCABULARY), labels), 1e-6)


@pytest.mark.parametrize("update", [cache_by_choice, cache_by_products])
def test_row_of_a_cache(tmp_path, update):
    def program(cache, new, at):
        return update(cache, new, at)

    at = np.array([0, 11, 5, 12, -1], np.int32)
    check(import_program(tmp_path, program, floats(5, 12, MODEL), floats(5, MODEL), at), 0)


@pytest.mark.parametrize("routed", [routed_again, routed_the_same, routed_by_choice])
@pytest.mark.parametrize("sign", [1, -1])
def test_masks_of_loops_and_choices(tmp_path, routed, sign):
    """What is carried and yielded is places."""

    def program(x, wg, outputs):
        return routed(x, wg, outputs)

    x = sign * np.abs(floats(TOKENS, MODEL))
    arrays = x, floats(MODEL, VOCABULARY), floats(VOCABULARY, MODEL)
    imported = import_program(tmp_path, program, *arrays)
    check(imported, 1e-6)
    masks = re.compile(rf"-> tensor<{TOKENS}x{VOCABULARY}xf32>|uitofp.*{TOKENS}x{VOCABULARY}")
    text = imported.partitioned(sparse=True).read_text()
    assert [line for line in text.splitlines() if masks.search(line) and "einsum" not in line] == []
    assert " shoal.gather " in text


#
# Shoal's own gating, by the options that users have
#

SIZES = Sizes()


def layer(x, router, wi, wo, *, k):
    """GShard's, of masks by `shoal.top_k_gating`."""
    combine, dispatch, aux = shoal.top_k_gating(shoal.softmax(x @ router), k, capacity=SIZES.C)
    rows = shoal.einsum("GSEC,GSM->EGCM", dispatch, x)
    hidden = shoal.relu(shoal.einsum("EGCM,EMH->EGCH", rows, wi))
    return shoal.einsum("GSEC,EGCM->GSM", combine, shoal.einsum("EGCH,EHM->EGCM", hidden, wo)), aux


def own_layer(folder, k=2, mesh=None):
    """The traced program, in a file, and the flags of its inputs."""
    arrays = [np.asarray(a) for name, a in layer_arrays(SIZES).items() if name != "target"]
    program = trace_program(partial(layer, k=k), arrays, mesh)
    source = folder / "program.mlir"
    source.write_text(program.text)
    return source, program, save_inputs(folder, dict(zip(program.inputs, arrays)))


@pytest.mark.parametrize("k, flags", [(2, ()), (8, ("--one-hot-gain=0",))])
def test_masks_go_where_that_saves_enough_or_is_asked_for(tmp_path, k, flags):
    source, _, _ = own_layer(tmp_path, k)
    path = tmp_path / "spmd.mlir"
    shoalc(source, path, "--emit=spmd", *flags).expect_success()
    assert not masks_in(path, SIZES)
    shoalc(source, path, "--emit=spmd", "--dense-one-hots").expect_success()
    assert masks_in(path, SIZES)


def test_executables_with_and_without_masks(tmp_path):
    source, program, inputs = own_layer(tmp_path, mesh=shoal.Mesh(d=2))
    results = []
    for flags in ((), ("--dense-one-hots",)):
        folder = tmp_path / f"out{len(results)}"
        shoalc(source, tmp_path / "layer", *flags).expect_success()
        mpirun(2, tmp_path / "layer", *inputs, "--output-dir", folder).expect_success()
        results.append(load_results(folder, program.outputs))
    sparse, dense = results
    for name, value in dense.items():
        assert relative_difference(sparse[name], value) <= 1e-6, name
