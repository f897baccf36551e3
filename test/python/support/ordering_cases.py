# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of ops along a dimension, and what NumPy says they give.

NumPy's sort puts NaN last, its argmax finds the first NaN, as the ops do.
"""

from dataclasses import dataclass, field

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i8": np.int8, "i1": np.bool_}
UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
          "and": np.bitwise_and, "or": np.bitwise_or}  # fmt: skip


def tensor(array):
    element = next(e for e, dtype in DTYPES.items() if array.dtype == dtype)
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{element}>"


def numbers(shape, dtype=np.float32, special=False, seed=0):
    """Small whole numbers, so that many are equal and sums are exact."""
    rng = np.random.default_rng(seed)
    array = rng.integers(-4, 5, shape).astype(dtype)
    if special:
        choice = rng.integers(0, 8, shape)
        for number, value in enumerate([np.nan, -np.nan, -0.0, np.inf, -np.inf]):
            array = np.where(choice == number, dtype(value), array)
    return array


def scan(kind, array, dim, exclusive=False, reverse=False):
    """Integers stay in their type."""
    flipped = np.flip(array, dim) if reverse else array
    rows = np.moveaxis(flipped, dim, 0)
    result = np.empty_like(rows)
    lowest, highest = (-np.inf, np.inf) if array.dtype.kind == "f" else (
        (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max) if array.dtype.kind == "i" else (False, True))  # fmt: skip
    identity = {"sum": 0, "prod": 1, "max": lowest, "min": highest, "or": 0, "and": -1}[kind]
    if array.dtype == np.bool_:
        identity = kind == "and"
    running = np.full(rows.shape[1:], identity, array.dtype)
    for i, row in enumerate(rows):
        if exclusive:
            result[i] = running
        running = UFUNCS[kind](running, row)
        if not exclusive:
            result[i] = running
    result = np.moveaxis(result, 0, dim)
    return np.flip(result, dim) if reverse else result


def order_of(key, descending):
    """The stable order of a line."""
    if not descending:
        return np.argsort(key, kind="stable")
    return len(key) - 1 - np.argsort(key[::-1], kind="stable")[::-1]


def sort(arrays, dim, num_keys=1, descending=False):
    """By the last key first: stable sorts by one key after the other."""
    moved = [np.moveaxis(a, dim, -1).copy() for a in arrays]
    for index in np.ndindex(moved[0].shape[:-1]):
        for key in reversed(range(num_keys)):
            order = order_of(moved[key][index], descending)
            for a in moved:
                a[index] = a[index][order]
    return [np.moveaxis(a, -1, dim) for a in moved]


def top_k(array, k):
    places = np.broadcast_to(np.arange(array.shape[-1], dtype=np.int32), array.shape)
    return [a[..., :k] for a in sort([array, places], array.ndim - 1, descending=True)]


@dataclass
class Program:
    """Collects ops, each on arguments of its own."""

    mesh: dict
    lines: list = field(default_factory=list)
    inputs: dict = field(default_factory=dict)
    shardings: dict = field(default_factory=dict)
    results: list = field(default_factory=list)

    def add(self, op, arrays, axes, expected, result_axes=None):
        """`op` names its operands {0}, {1}. `axes` are those of each operand's
        dimensions, `result_axes` those of each result's, nothing where the
        program says none."""
        names = []
        for array in arrays:
            names.append(f"arg{len(self.inputs)}")
            self.inputs[names[-1]] = array
            self.shardings[names[-1]] = axes if array.ndim else ()
        types = [tensor(array) for array in expected]
        operand_types = ", ".join(tensor(array) for array in arrays)
        text = op.format(*(f"%{n}" for n in names), types=operand_types, results=", ".join(types))
        first = len(self.results)
        values = [f"%r{first}"] if len(types) == 1 else [f"%r{first}#{i}" for i in range(len(types))]
        count = f":{len(types)}" if len(types) > 1 else ""
        self.lines.append(f"  %r{first}{count} = {text}")
        self.results += [(v, t, e, result_axes) for v, t, e in zip(values, types, expected)]

    def sharding(self, axes, attribute="shoal.sharding"):
        if axes is None or not self.mesh:
            return ""
        dims = ", ".join("{" + ", ".join(f'"{a}"' for a in dim) + "}" for dim in axes)
        return f" {{{attribute} = #shoal.sharding<@mesh, [{dims}]>}}"

    def text(self):
        mesh = ", ".join(f'"{name}" = {size}' for name, size in self.mesh.items())
        head = f"shoal.mesh @mesh = <[{mesh}]>\n" if self.mesh else ""
        arguments = ",\n    ".join(
            f"%{name}: {tensor(array)}{self.sharding(self.shardings[name])}"
            for name, array in self.inputs.items()
        )
        types = ",\n    ".join(f"{kind}{self.sharding(axes)}" for _, kind, _, axes in self.results)
        values = ", ".join(value for value, *_ in self.results)
        kinds = ", ".join(kind for _, kind, *_ in self.results)
        body = "\n".join(self.lines)
        return f"{head}func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {values} : {kinds}\n}}\n"


REDUCE_PAIRS = """shoal.reduce_region({0}, {1}) inits({2}, {3}) dims = DIMS {{
    ^combine(%x: f32, %n: i32, %y: f32, %m: i32):
      %less = arith.cmpf olt, %x, %y : f32
      %more = arith.cmpf ogt, %x, %y : f32
      %zero = arith.constant 0 : i32
      %n1 = arith.select %less, %zero, %n : i32
      %m1 = arith.select %more, %zero, %m : i32
      %count = arith.addi %n1, %m1 : i32
      %largest = arith.maximumf %x, %y : f32
      shoal.yield %largest, %count : f32, i32
    }} : ({types}) -> ({results})"""


def add_reduction_of_pairs(program, array, dims, axes):
    """The largest element and how often it occurs."""
    ones = np.ones(array.shape, np.int32)
    largest = array.max(tuple(dims))
    count = (array == array.max(tuple(dims), keepdims=True)).sum(tuple(dims)).astype(np.int32)
    inits = [np.array(-np.inf, np.float32), np.array(0, np.int32)]
    op = REDUCE_PAIRS.replace("DIMS", str(list(dims)))
    program.add(op, [array, ones, *inits], axes, [largest, count])


def add_unsigned_maximum(program, array, dims, axes):
    expected = array.view(np.uint32).max(tuple(dims)).view(np.int32)
    program.add(
        f"shoal.reduce_region({{0}}) inits({{1}}) dims = {list(dims)} {{{{\n"
        "    ^combine(%x: i32, %y: i32):\n      %m = arith.maxui %x, %y : i32\n"
        "      shoal.yield %m : i32\n    }} : ({types}) -> {results}",
        [array, np.array(0, np.int32)], axes, [expected],
    )  # fmt: skip


def add_along(program, shape, dim, axes, seed=0):
    """Every op of the family along `dim`, its operands split as `axes` say."""

    def floats(special=False):
        return numbers(shape, special=special, seed=len(program.inputs) + seed)

    def integers(dtype=np.int32):
        return numbers(shape, dtype, seed=len(program.inputs) + seed)

    places = np.broadcast_to(np.arange(shape[dim], dtype=np.int32).reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape)  # fmt: skip
    for kind, array in [
        ("sum", floats()), ("prod", np.sign(integers())), ("max", floats(True)),
        ("min", integers(np.int8)), ("and", integers(np.int64)), ("or", integers() > 2),
        ("and", integers() > -4),
    ]:  # fmt: skip
        for exclusive, reverse in [(0, 0), (1, 0), (0, 1), (1, 1)]:
            flags = ", ".join(["exclusive"] * exclusive + ["reverse"] * reverse)
            program.add(
                f"shoal.cumulative {kind} {{0}} dim = {dim} {{{{{flags}}}}} : {{types}}",
                [array], axes, [scan(kind, array, dim, exclusive, reverse)], axes,
            )  # fmt: skip
        if not (np.isnan(array).any() if array.dtype.kind == "f" else False):
            expected = UFUNCS[kind].reduce(array, dim, dtype=array.dtype)
            program.add(f"shoal.reduce {kind} {{0}} dims = [{dim}] : {{types}} -> {{results}}", [array], axes, [expected])  # fmt: skip
    for array in (floats(True), integers(), integers() > 0):
        for name, find in (("argmax", np.argmax), ("argmin", np.argmin)):
            expected = find(array, dim).astype(np.int64 if name == "argmin" else np.int32)
            program.add(f"shoal.{name} {{0}} dim = {dim} : {{types}} -> {{results}}", [array], axes, [expected])  # fmt: skip
    for descending in ("", "{{descending}}"):
        for array in (floats(True), integers(np.int8), integers() > 0):
            expected = sort([array, places], dim, descending=bool(descending))
            program.add(f"shoal.sort {{0}}, {{1}} dim = {dim} {descending} : ({{types}}) -> ({{results}})", [array, places], axes, expected, axes)  # fmt: skip
    keys = [integers(np.int8), floats(True)]
    program.add(f"shoal.sort {{0}}, {{1}} dim = {dim} {{{{num_keys = 2}}}} : ({{types}}) -> ({{results}})", keys, axes, sort(keys, dim, 2))  # fmt: skip
    if dim == len(shape) - 1:
        for k in {1, min(3, shape[dim]), shape[dim]}:
            for array in (floats(True), integers()):
                program.add(f"shoal.top_k {{0}} {{{{k = {k}}}}} : {{types}} -> {{results}}", [array], axes, top_k(array, k))  # fmt: skip
    add_reduction_of_pairs(program, floats(), [dim], axes)
    add_unsigned_maximum(program, integers(), [dim], axes)
