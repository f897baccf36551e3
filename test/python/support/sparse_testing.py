# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one-hot einsums, dense and at sparse cost, in the interpreter."""

import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

import shoal.jax
from frontend_testing import as_saved
from shoal.jax.locations import legal_name
from shoal.jax.lowering import lower
from shoal_testing import BIN, load_json, load_results, run, save_inputs, shoal_run, shoalc

# However small the gain, as programs of tests are small; and the same but for the rewriting.
_SPARSE = ("--shoal-partition=one-hot-gain=0",)
_DENSE = (
    *("--shoal-import", "--shoal-assign=one-hot-gain=0", "--shoal-plan-reshards"),
    *("--shoal-localize", "--canonicalize", "--cse", "--shoal-optimize-collectives"),
)


@dataclass
class Program:
    """An imported program, its inputs, and of which type its results are."""

    path: Path
    inputs: dict[str, np.ndarray]
    types: dict[str, np.dtype]
    devices: int = 1

    def evaluate(self):
        """The results by name of the program as it is written."""
        return self._interpret(self.path, 0)

    def partitioned(self, sparse):
        """The path of the program of one device, its one-hot einsums sparse or as they were.

        Both are of one assignment, which knows that they will be sparse.
        """
        path = self.path.with_suffix(".sparse.mlir" if sparse else ".dense.mlir")
        pipeline = _SPARSE if sparse else _DENSE
        run(BIN / "shoal-opt", self.path, *pipeline, "-o", path).expect_success()
        return path

    def evaluate_partitioned(self, sparse):
        return self._interpret(self.partitioned(sparse), self.devices)

    def collectives(self, sparse):
        """How many of each kind, and what they send, as `shoalc --stats` says."""
        stats = self.path.with_suffix(".json")
        flags = ("--emit=spmd", "--stats", stats)
        shoalc(self.partitioned(sparse), self.path.with_suffix(".out"), *flags).expect_success()
        figures = load_json(stats)
        return {name: figures[name] for name in ("collectives", "bytes_sent_per_device")}

    def input_flags(self):
        arrays = {name: as_saved(array) for name, array in self.inputs.items()}
        return save_inputs(self.path.parent, arrays)

    def load(self, folder):
        loaded = load_results(folder, self.types)
        return {name: loaded[name].view(dtype) for name, dtype in self.types.items()}

    def _interpret(self, path, devices):
        folder = path.with_suffix(".results")
        flags = (f"--devices={devices}", "--output-dir", folder, *self.input_flags())
        shoal_run(path, *flags).expect_success()
        return self.load(folder)


def import_program(folder, function, *arguments, devices=1):
    """A function of arrays in JAX, imported."""
    traced = jax.jit(function, keep_unused=True).trace(*arguments)
    path = Path(folder) / "program.mlir"
    path.write_text(shoal.jax.import_stablehlo(lower(traced)))
    names = inspect.signature(function).parameters
    inputs = dict(zip(names, map(np.asarray, arguments), strict=True))
    results = jax.tree_util.tree_leaves_with_path(traced.out_info)
    types = {
        legal_name("result" + jax.tree_util.keystr(place)): np.dtype(result.dtype)
        for place, result in results
    }
    return Program(path, inputs, types, devices)


def shapes_in(text):
    """Of all tensors in a program's text."""
    found = set(re.findall(r"tensor<((?:\d+x)*)[a-z]", text))
    return {tuple(map(int, shape.split("x")[:-1])) for shape in found}


def masks_in(path, sizes):
    """Shapes of tensors with S, E and C together, each a dimension or merged with others.

    C is to be the one size with some prime factor, as 5 in 10. Where places count from 1,
    slots are one more.
    """

    def is_mask(shape):
        counted_from_1 = {sizes.S, sizes.E, sizes.C + 1} <= set(shape)
        return counted_from_1 or sizes.S * sizes.E * sizes.C in _products(shape)

    return sorted(filter(is_mask, shapes_in(path.read_text())))


def _products(shape):
    """Of each choice of dimensions."""
    products = {1}
    for size in shape:
        products |= {size * product for product in products}
    return products
