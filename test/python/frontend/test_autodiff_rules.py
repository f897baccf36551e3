# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The derivative rule of each op against differences of what the op makes.

Random ops in f64, one direction each; all of a kind are one program, whose results are the
ops' weighted sums. SHOAL_DRAWS says how many of each there are.
"""

import os

import numpy as np
import pytest

from op_draws import KINDS, type_of
from shoal_testing import BIN, load_results, run, save_inputs, shoal_run

DRAWS = int(os.environ.get("SHOAL_DRAWS", "8"))
STEP = 1e-5


def is_float(array):
    return np.asarray(array).dtype == np.float64


def constant(name, array):
    array = np.asarray(array)
    element = {"int32": "i32", "bool": "i1", "float64": "f64"}[array.dtype.name]
    if array.size == 0:
        text = "[]" if array.ndim == 1 else ""
    else:
        text = str(array.tolist()).replace("True", "true").replace("False", "false")
    return f"{name} = arith.constant dense<{text}> : {type_of(array.shape, element)}"


def write_program(draws, rng):
    """The text, and the arguments: a line of ops, each in a function of its own."""
    arguments, calls, functions, totals = {}, [], [], []
    for n, draw in enumerate(draws):
        names, lines = [], []
        parameters = []
        for i, array in enumerate(draw.operands):
            if is_float(array):
                arguments[f"x{n}_{i}"] = np.asarray(array)
                parameters.append((f"x{n}_{i}", type_of(np.shape(array))))
                names.append(f"%x{n}_{i}")
            else:
                lines.append(constant(f"%c{i}", array))
                names.append(f"%c{i}")
        text = draw.text
        for i, name in enumerate(names):
            text = text.replace(f"{{{i}}}", name)
        lines += text.splitlines()
        weights = rng.standard_normal(draw.shape)
        if np.size(weights):
            lines.append(constant("%w", weights))
        else:
            lines.append(f"%w = arith.constant dense<0.0> : {type_of(draw.shape)}")
        lines.append(f"%y = arith.mulf %r, %w : {type_of(draw.shape)}")
        dims = ", ".join(map(str, range(len(draw.shape))))
        lines.append(f"%s = shoal.reduce sum %y dims = [{dims}] : {type_of(draw.shape)} -> tensor<f64>")
        signature = ", ".join(f"%{name}: {kind}" for name, kind in parameters)
        functions.append(
            f"func.func private @f{n}({signature}) -> tensor<f64> {{\n  "
            + "\n  ".join(lines)
            + "\n  return %s : tensor<f64>\n}"
        )
        kinds = ", ".join(kind for _, kind in parameters)
        given = ", ".join(f"%{name}" for name, _ in parameters)
        calls.append(f"%s{n} = func.call @f{n}({given}) : ({kinds}) -> tensor<f64>")
        totals.append(f"%s{n}")
    signature = ", ".join(
        f'%{name}: {type_of(array.shape)} {{shoal.name = "{name}"}}' for name, array in arguments.items()
    )
    kinds = ", ".join(["tensor<f64>"] * len(totals))
    names = ", ".join(f'tensor<f64> {{shoal.name = "s{n}"}}' for n in range(len(totals)))
    body = "\n  ".join(calls)
    text = (
        "\n".join(functions)
        + f"\nfunc.func @main({signature}) -> ({names}) {{\n  {body}\n"
        + f"  return {', '.join(totals)} : {kinds}\n}}\n"
    )
    return text, arguments


def evaluate(folder, text, arguments, names, entry, title):
    source = folder / f"{title}.mlir"
    source.write_text(text)
    out = folder / title
    flags = save_inputs(folder, arguments)
    shoal_run(source, "--devices=0", f"--entry={entry}", "--output-dir", out, *flags).expect_success()
    return load_results(out, names)


@pytest.mark.parametrize("kind", KINDS)
def test_rule(tmp_path, kind):
    rng = np.random.default_rng(len(kind) * 1000 + sum(map(ord, kind)))
    draws = [KINDS[kind](rng) for _ in range(DRAWS)]
    text, arguments = write_program(draws, rng)
    directions = {name: rng.standard_normal(array.shape) for name, array in arguments.items()}
    sums = [f"s{n}" for n in range(len(draws))]
    ahead, behind = (
        evaluate(
            tmp_path,
            text,
            {name: array + side * STEP * directions[name] for name, array in arguments.items()},
            sums,
            "main",
            f"side{side}",
        )
        for side in (1, -1)
    )
    source = tmp_path / "main.mlir"
    source.write_text(text)
    outputs = ",".join(map(str, range(len(draws))))
    option = f"--shoal-differentiate=function=main outputs={outputs} mode=grad"
    differentiated = run(BIN / "shoal-opt", source, option).expect_success().stdout
    grads = evaluate(
        tmp_path, differentiated, arguments, [f"grad.{name}" for name in arguments], "main_grad", "grad"
    )
    for n, draw in enumerate(draws):
        names = [name for name in arguments if name.startswith(f"x{n}_")]
        slope = sum(np.sum(grads[f"grad.{name}"] * directions[name]) for name in names)
        expected = (ahead[f"s{n}"] - behind[f"s{n}"]) / (2 * STEP)
        scale = max(1.0, *(np.max(np.abs(grads[f"grad.{name}"]), initial=0.0) for name in names))
        assert abs(slope - expected) <= 1e-7 * scale * 10, f"{draw.text}\n{slope} != {expected}"
