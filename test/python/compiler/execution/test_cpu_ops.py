# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op on every element type: the executable against the interpreter.

One program per element type holds them all, on small odd shapes, scalars and
tensors of no elements.
"""

import numpy as np
import pytest
from shoal_testing import run, shoal_run, shoalc

FLOATS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
INTEGERS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}
# Relative to the value, or to a hundredth of the result's largest.
TOLERANCES = {"f64": 1e-13, "f32": 5e-6, "f16": 2**-10, "bf16": 2**-7}


class Program:
    """Collects ops whose operands are the arguments; all values are results."""

    def __init__(self, element):
        self.element = element
        self.lines, self.results = [], []
        self.arguments = {
            "a": self.type(7, 5),
            "b": self.type(5, 6),
            "c": self.type(7, 5),
            "q": self.type(3, 4, 5),
            "w": self.type(3, 5, 2),
            "d": self.type(4, 4),
            "v": self.type(5),
            "s": self.type(),
            "z": self.type(0, 5),
            "e": self.type(5, 0),
            "wide": self.type(45, 67),
            "u": self.type(6, 5),
            "i": "tensor<i32>",
            "j": "tensor<i32>",
            "indices": "tensor<6xi32>",
            "key": "tensor<2xi32>",
        }

    def type(self, *shape, element=None):
        sizes = "".join(f"{size}x" for size in shape)
        return f"tensor<{sizes}{element or self.element}>"

    def add(self, text, *types):
        names = [f"%{len(self.results) + i}" for i in range(len(types))]
        count = f":{len(types)}" if len(types) > 1 else ""
        self.lines.append(f"  {names[0].replace('%', '%r')}{count} = {text}")
        base = names[0].replace("%", "%r")
        values = [base] if not count else [f"{base}#{i}" for i in range(len(types))]
        self.results += [(value, kind, text) for value, kind in zip(values, types)]
        return values[0]

    def unary(self, op, *operands):
        return self.add(
            f"{op} {', '.join(operands)} : {self.type(7, 5)}", self.type(7, 5)
        )

    def text(self):
        arguments = ", ".join(f"%{n}: {t}" for n, t in self.arguments.items())
        types = ", ".join(kind for _, kind, _ in self.results)
        values = ", ".join(value for value, _, _ in self.results)
        body = "\n".join(self.lines)
        return (
            f"func.func @main({arguments}) -> ({types}) {{\n{body}\n"
            f"  return {values} : {types}\n}}\n"
        )


def add_einsums(p):
    wider = {"f32": "f64", "bf16": "f32", "f16": "f32", "i32": "i64", "i8": "i32"}
    cases = [
        ("AB,BC->AC", "ab", (7, 6)), ("AB,BC->CA", "ab", (6, 7)),
        ("GAB,GBC->GAC", "qw", (3, 4, 2)), ("AB,CB->AC", "ac", (7, 7)),
        ("AB,AB->A", "ac", (7,)), ("AB,AB->B", "ac", (5,)),
        ("AB,B->AB", "av", (7, 5)), ("AB,C->CAB", "av", (5, 7, 5)),
        ("AB->B", "a", (5,)), ("AB->A", "a", (7,)), ("AB->", "a", ()),
        ("AB->BA", "a", (5, 7)), ("AA->A", "d", (4,)), ("AA->", "d", ()),
        ("AB,BC->AC", "zb", (0, 6)), ("AB,BC->AC", "ez", (5, 5)),
        (",A->A", "sv", (5,)), ("A,A->", "vv", ()), ("AB,CD->", "ab", ()),
    ]  # fmt: skip
    for spec, operands, shape in cases:
        values = ", ".join(f"%{name}" for name in operands)
        types = ", ".join(p.arguments[name] for name in operands)
        elements = [p.element]
        if p.element in wider and len(operands) == 2:
            elements.append(wider[p.element])
        for element in elements:
            result = p.type(*shape, element=element)
            p.add(f'shoal.einsum "{spec}" {values} : ({types}) -> {result}', result)


def add_reductions(p):
    kinds = [] if p.element == "i1" else ["sum", "prod", "max", "min"]
    kinds += [] if p.element in FLOATS else ["and", "or"]
    for kind in kinds:
        for name, dims, shape in [
            ("a", [0], (5,)), ("a", [1], (7,)), ("a", [0, 1], ()),
            ("q", [1], (3, 5)), ("z", [0], (5,)), ("e", [0], (0,)),
        ]:  # fmt: skip
            result = p.type(*shape)
            p.add(
                f"shoal.reduce {kind} %{name} dims = {dims} : {p.arguments[name]} -> {result}",
                result,
            )
        for dim in (0, 1):
            for flags in ("", "{exclusive}", "{reverse}", "{exclusive, reverse}"):
                p.add(
                    f"shoal.cumulative {kind} %a dim = {dim} {flags} : {p.type(7, 5)}",
                    p.type(7, 5),
                )
    if p.element != "i1":
        places = "tensor<7x3xi32>"
        p.add(
            f"shoal.top_k %a {{k = 3}} : {p.type(7, 5)} -> {p.type(7, 3)}, {places}",
            p.type(7, 3),
            places,
        )


def add_ordering(p):
    a, i = p.type(7, 5), p.type(7, 5, element="i32")
    places = p.add(f"shoal.iota dim = 0 : {i}", i)
    for dim in (0, 1):
        for flags in ("", "{descending}"):
            p.add(
                f"shoal.sort %a, {places} dim = {dim} {flags} : ({a}, {i}) -> ({a}, {i})",
                a,
                i,
            )
        shape = (5,) if dim == 0 else (7,)
        for op, element in (("argmax", "i32"), ("argmin", "i64")):
            result = p.type(*shape, element=element)
            p.add(f"shoal.{op} %a dim = {dim} : {a} -> {result}", result)
    p.add(f"shoal.sort %a, %c dim = 0 {{num_keys = 2}} : ({a}, {a}) -> ({a}, {a})", a, a)
    p.add(f"shoal.sort %z dim = 1 : ({p.type(0, 5)}) -> {p.type(0, 5)}", p.type(0, 5))
    p.add(f"shoal.clamp %s, %a, %c : {p.type()}, {a}, {a}", a)
    last = "maximumf" if p.element in FLOATS else "maxui"
    for name, dims, shape in [("a", [0], (5,)), ("q", [0, 2], (4,)), ("z", [0], (5,))]:
        p.add(
            f"shoal.reduce_region(%{name}) inits(%s) dims = {dims} {{\n"
            f"^combine(%x: {p.element}, %y: {p.element}):\n"
            f"  %m = arith.{last} %x, %y : {p.element}\n"
            f"  shoal.yield %m : {p.element}\n"
            f"}} : ({p.arguments[name]}, {p.type()}) -> {p.type(*shape)}",
            p.type(*shape),
        )


def add_bit_casts(p):
    a = p.type(7, 5)
    for element, width in {**FLOATS, **INTEGERS}.items():
        own = {**FLOATS, **INTEGERS}[p.element]
        if "i1" in (element, p.element) or (element in FLOATS and width != own):
            continue  # any bits of a narrow integer, as a float, may be a NaN
        if width == own:
            shape = (7, 5)
        elif width < own:
            shape = (7, 5, own // width)
        else:
            continue
        result = p.type(*shape, element=element)
        bits = p.add(f"shoal.bitcast_convert %a : {a} -> {result}", result)
        p.add(f"shoal.bitcast_convert {bits} : {result} -> {a}", a)


def add_structure(p):
    def move(op, name, *shape):
        result = p.type(*shape)
        return p.add(
            op.replace(name, f"%{name}", 1) + f" : {p.arguments[name]} -> {result}",
            result,
        )

    for dims, shape in [([1], (3, 5)), ([0], (5, 3))]:
        p.add(
            f"shoal.broadcast_in_dim %v dims = {dims} : {p.type(5)} -> {p.type(*shape)}",
            p.type(*shape),
        )
    p.add(
        f"shoal.broadcast_in_dim %s dims = [] : {p.type()} -> {p.type(2, 3)}",
        p.type(2, 3),
    )
    for name, order, shape in [("q", [2, 0, 1], (5, 3, 4)), ("wide", [1, 0], (67, 45))]:
        p.add(
            f"shoal.transpose %{name} permutation = {order} : {p.arguments[name]} -> {p.type(*shape)}",
            p.type(*shape),
        )
    for name, shape in [
        ("q", (2, 6, 5)), ("q", (4, 15)), ("q", (1, 60, 1)), ("q", (60,)),
        ("s", (1, 1)), ("z", (3, 0)),
    ]:  # fmt: skip
        p.add(
            f"shoal.reshape %{name} : {p.arguments[name]} -> {p.type(*shape)}",
            p.type(*shape),
        )
    for starts, limits, strides, shape in [
        ([1, 0], [6, 5], [2, 3], (3, 2)), ([0, 0], [3, 5], [1, 1], (3, 5)),
        ([4, 2], [5, 3], [1, 1], (1, 1)), ([0, 0], [7, 5], [3, 2], (3, 3)),
        ([2, 2], [2, 4], [1, 1], (0, 2)),
    ]:  # fmt: skip
        p.add(
            f"shoal.slice %a starts = {starts} limits = {limits} strides = {strides} : {p.type(7, 5)} -> {p.type(*shape)}",
            p.type(*shape),
        )
    for name, low, high, interior, shape in [
        ("a", [1, 0], [0, 2], [0, 0], (8, 7)), ("a", [1, 0], [0, 2], [2, 1], (20, 11)),
        ("z", [1, 0], [2, 0], [3, 0], (3, 5)),
    ]:  # fmt: skip
        p.add(
            f"shoal.pad %{name}, %s low = {low} high = {high} interior = {interior} : {p.arguments[name]}, {p.type()} -> {p.type(*shape)}",
            p.type(*shape),
        )
    a, z = p.type(7, 5), p.type(0, 5)
    p.add(
        f"shoal.concatenate %a, %c, %z dim = 0 : ({a}, {a}, {z}) -> {p.type(14, 5)}",
        p.type(14, 5),
    )
    p.add(
        f"shoal.concatenate %a, %c dim = 1 : ({a}, {a}) -> {p.type(7, 10)}",
        p.type(7, 10),
    )
    p.add(
        f"shoal.one_hot %indices {{dim = 1}} : tensor<6xi32> -> {p.type(6, 4)}",
        p.type(6, 4),
    )
    if p.element != "i1":
        p.add(f"shoal.iota dim = 1 : {p.type(4, 6)}", p.type(4, 6))
    p.results += [("%a", a, "an input"), ("%z", z, "an empty input")]


def add_windows(p):
    """Rows of 4 with 5 features under a kernel of 3 rows; windows of a table."""
    x, k = p.arguments["q"], p.arguments["w"]
    for attributes, shape in [
        ("low = [1] high = [1]", (3, 4, 2)),
        ("strides = [2] base_dilation = [3]", (3, 4, 2)),
        ("low = [3] high = [4] window_dilation = [2] reversal = [true]", (3, 7, 2)),
    ]:
        result = p.type(*shape)
        p.add(
            f'shoal.convolution "b0f,0io->b0f" %q, %w {attributes} : {x}, {k} -> {result}',
            result,
        )
    for kind in ["sum", "prod", "max", "min"]:
        p.add(
            f"shoal.reduce_window {kind} %a, %s window = [3, 2] strides = [2, 1] low = [1, 0] high = [0, 1] : {p.type(7, 5)}, {p.type()} -> {p.type(3, 5)}",
            p.type(3, 5),
        )
    for kind in ["max", "min"]:
        source = p.add(
            f"shoal.slice %c starts = [0, 0] limits = [3, 4] strides = [1, 1] : {p.type(7, 5)} -> {p.type(3, 4)}",
            p.type(3, 4),
        )
        p.add(
            f"shoal.select_and_scatter {kind} %a, {source}, %s window = [3, 2] strides = [2, 1] : {p.type(7, 5)}, {p.type(3, 4)}, {p.type()} -> {p.type(7, 5)}",
            p.type(7, 5),
        )


def add_float_ops(p):
    for op in (
        "softmax %a {axis = 1}",
        "softmax %a {axis = 0}",
        "relu %a",
        "silu %a",
        "gelu %a",
        "gelu %a {approximate}",
    ):
        p.unary(f"shoal.{op}")
    a, v = p.type(7, 5), p.type(5)
    p.add(f"shoal.layer_norm %a, %v, %v {{axis = 1}} : {a}, {v}, {v}", a)
    p.add(f"shoal.rms_norm %a, %v {{axis = 1}} : {a}, {v}", a)
    for distribution in ("uniform", "normal"):
        p.add(
            f"shoal.random {distribution} %key : tensor<2xi32> -> {p.type(3, 7)}",
            p.type(3, 7),
        )
    for (
        op
    ) in "exp exp2 expm1 tanh erf sin cos tan sinh cosh asinh atan cbrt absf floor ceil round roundeven trunc".split():
        p.unary(f"math.{op}", "%a")
    positive = p.unary("math.absf", "%c")
    for op in "log log2 log10 log1p sqrt rsqrt".split():
        p.unary(f"math.{op}", positive)
    p.unary("math.powf", positive, "%a")
    p.unary("math.fma", "%a", "%c", "%a")
    for op in ("math.atan2", "math.copysign"):
        p.unary(op, "%c", "%a")
    for op in "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split():
        p.unary(f"arith.{op}", "%a", "%c")
    p.unary("arith.negf", "%a")
    beyond = p.unary("arith.divf", "%a", p.unary("arith.subf", "%c", "%c"))
    for op in ("isinf", "isnan", "isfinite"):
        for operand in (beyond, "%a"):
            p.add(f"math.{op} {operand} : {a}", p.type(7, 5, element="i1"))
    for predicate in ("olt", "oeq", "une", "uge", "ord"):
        less = p.add(
            f"arith.cmpf {predicate}, %a, %c : {a}", p.type(7, 5, element="i1")
        )
    p.add(f"arith.select {less}, %a, %c : {p.type(7, 5, element='i1')}, {a}", a)
    for element in ("i64", "i32", "i8"):
        p.add(
            f"arith.fptosi %a : {a} to {p.type(7, 5, element=element)}",
            p.type(7, 5, element=element),
        )
    add_width_changes(p, FLOATS, ["extf"], ["truncf"])


def add_integer_ops(p):
    a = p.type(7, 5)
    for op in "addi subi muli maxsi minsi maxui minui andi ori xori".split():
        p.unary(f"arith.{op}", "%a", "%c")
    for predicate in ("slt", "eq", "ne", "uge", "sle"):
        less = p.add(
            f"arith.cmpi {predicate}, %a, %c : {a}", p.type(7, 5, element="i1")
        )
    p.add(f"arith.select {less}, %a, %c : {p.type(7, 5, element='i1')}, {a}", a)
    for element in FLOATS:
        for op in ("sitofp", "uitofp"):
            p.add(
                f"arith.{op} %a : {a} to {p.type(7, 5, element=element)}",
                p.type(7, 5, element=element),
            )
    add_width_changes(p, INTEGERS, ["extsi", "extui"], ["trunci"])


def add_indexing(p):
    a, v = p.type(7, 5), p.type(5)
    rows = "{} = [1] {} = [0] {} = [0] index_vector_dim = 1"
    gather_rows = rows.format("offset_dims", "collapsed_slice_dims", "start_index_map")
    p.add(
        f"shoal.gather %a, %indices {gather_rows} slice_sizes = [1, 5] : "
        f"({a}, tensor<6xi32>) -> {p.type(6, 5)}",
        p.type(6, 5),
    )
    p.add(
        "shoal.gather %a, %indices offset_dims = [0] collapsed_slice_dims = [1] "
        "start_index_map = [1] index_vector_dim = 1 slice_sizes = [4, 1] : "
        f"({a}, tensor<6xi32>) -> {p.type(4, 6)}",
        p.type(4, 6),
    )
    scatter_rows = rows.format(
        "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"
    )
    numbers = [] if p.element == "i1" else ["sum", "prod", "max", "min"]
    bits = [] if p.element in FLOATS else ["and", "or"]
    for kind in ["overwrite", *numbers, *bits]:
        p.add(
            f"shoal.scatter {kind} %c, %indices, %u {scatter_rows} : "
            f"({a}, tensor<6xi32>, {p.type(6, 5)}) -> {a}",
            a,
        )
        # Windows in front of what they are repeated along.
        p.add(
            f"shoal.scatter {kind} %v, %indices, %b update_window_dims = [0] "
            "inserted_window_dims = [] scatter_dims_to_operand_dims = [0] "
            f"index_vector_dim = 1 : ({v}, tensor<6xi32>, {p.type(5, 6)}) -> {v}",
            v,
        )
    starts = "tensor<i32>, tensor<i32>"
    p.add(
        f"shoal.dynamic_slice %a [%i, %j] sizes = [3, 2] : ({a}, {starts}) -> {p.type(3, 2)}",
        p.type(3, 2),
    )
    p.add(
        f"shoal.dynamic_slice %a [%i, %j] sizes = [3, 5] : ({a}, {starts}) -> {p.type(3, 5)}",
        p.type(3, 5),
    )
    p.add(
        f"shoal.dynamic_update_slice %a, %d [%i, %j] : ({a}, {p.type(4, 4)}, {starts}) -> {a}",
        a,
    )


def add_width_changes(p, widths, wider, narrower):
    for element, width in widths.items():
        ops = (
            wider
            if width > widths[p.element]
            else narrower if width < widths[p.element] else []
        )
        for op in ops:
            p.add(
                f"arith.{op} %a : {p.type(7, 5)} to {p.type(7, 5, element=element)}",
                p.type(7, 5, element=element),
            )


def load(path, element):
    array = np.load(path)
    if element == "bf16":
        words = array.view(np.uint16).astype(np.uint32) << 16
        return words.view(np.float32).astype(np.float64)
    return array.astype(np.float64) if element in FLOATS else array


def close(actual, expected, element):
    if element not in FLOATS:
        return np.array_equal(actual, expected)
    largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0)
    with np.errstate(invalid="ignore"):
        bound = TOLERANCES[element] * np.maximum(np.abs(expected), 0.01 * largest)
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        return bool(np.all(same | (np.abs(actual - expected) <= bound)))


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
def test_every_op(element, tmp_path):
    p = Program(element)
    if element != "i1":
        add_einsums(p)
        add_windows(p)
    add_reductions(p)
    add_ordering(p)
    add_bit_casts(p)
    add_structure(p)
    add_indexing(p)
    (add_float_ops if element in FLOATS else add_integer_ops)(p)
    source = tmp_path / "ops.mlir"
    source.write_text(p.text())
    shoalc(source, tmp_path / "ops").expect_success()
    flags = ["--random-inputs=1", "--output-dir"]
    run(tmp_path / "ops", *flags, tmp_path / "actual").expect_success()
    shoal_run(source, *flags, tmp_path / "expected").expect_success()
    for number, (_, kind, text) in enumerate(p.results):
        of = kind.removesuffix(">").split("x")[-1].removeprefix("tensor<")
        actual = load(tmp_path / f"actual/result{number}.npy", of)
        expected = load(tmp_path / f"expected/result{number}.npy", of)
        assert actual.shape == expected.shape, text
        assert close(actual, expected, of), f"{text}\n{actual}\n{expected}"
