# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ops on small f64 tensors, each with attributes and sizes of its own, as MLIR."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Draw:
    """An op: its text, in which operand i is {i} and the result %r, and what it is given.

    operands: arrays; floats are differentiated, others are constants of the text.
    shape: of the result that counts.
    """

    text: str
    operands: list
    shape: tuple


def floats(rng, shape):
    """Distinct numbers a hundredth apart at least, so that no order changes within a step."""
    count = int(np.prod(shape))
    spread = (np.arange(count) + 0.5 + 0.3 * rng.random(count)) * (4.0 / max(count, 1)) - 2.0
    return rng.permutation(spread).reshape(shape)


def type_of(shape, element="f64"):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def listed(numbers):
    return "[" + ", ".join(str(int(n)) for n in numbers) + "]"


def sizes(rng, rank, low=1, high=5):
    return tuple(int(n) for n in rng.integers(low, high + 1, rank))


def integers(array):
    return np.asarray(array, np.int32)


ELEMENTWISE = {
    "arith.addf": 2, "arith.subf": 2, "arith.mulf": 2, "arith.divf": 2, "arith.negf": 1,
    "arith.maximumf": 2, "arith.minimumf": 2, "arith.maxnumf": 2, "arith.minnumf": 2,
    "arith.remf": 2, "math.absf": 1, "math.acos": 1, "math.acosh": 1, "math.asin": 1,
    "math.asinh": 1, "math.atan": 1, "math.atan2": 2, "math.atanh": 1, "math.cbrt": 1,
    "math.copysign": 2, "math.cos": 1, "math.cosh": 1, "math.erf": 1, "math.erfc": 1,
    "math.exp": 1, "math.exp2": 1, "math.expm1": 1, "math.fma": 3, "math.log": 1,
    "math.log10": 1, "math.log1p": 1, "math.log2": 1, "math.powf": 2, "math.rsqrt": 1,
    "math.sin": 1, "math.sinh": 1, "math.sqrt": 1, "math.tan": 1, "math.tanh": 1,
    "math.floor": 1, "math.ceil": 1, "math.round": 1, "math.trunc": 1,
}  # fmt: skip
# Where a function is defined and smooth.
RANGES = {
    "math.acos": (-0.9, 0.9), "math.asin": (-0.9, 0.9), "math.atanh": (-0.9, 0.9),
    "math.acosh": (1.2, 3), "math.log": (0.3, 3), "math.log10": (0.3, 3), "math.log2": (0.3, 3),
    "math.log1p": (-0.7, 3), "math.rsqrt": (0.3, 3), "math.sqrt": (0.3, 3), "math.cbrt": (0.3, 3),
    "math.powf": (0.3, 3), "arith.divf": (0.3, 3), "arith.remf": (0.31, 2.9), "math.tan": (-1, 1),
}  # fmt: skip


def elementwise(rng, name):
    shape = sizes(rng, int(rng.integers(0, 4)))
    low, high = RANGES.get(name, (-2, 2))
    arrays = [low + (high - low) * (floats(rng, shape) + 2) / 4 for _ in range(ELEMENTWISE[name])]
    if name == "arith.remf":
        # Quotients away from whole numbers, where the remainder jumps.
        arrays[0] = arrays[1] * (rng.integers(0, 3, shape) + 0.2 + 0.6 * rng.random(shape))
    inputs = ", ".join(f"{{{i}}}" for i in range(len(arrays)))
    return Draw(f"%r = {name} {inputs} : {type_of(shape)}", arrays, shape)


def select(rng):
    shape = sizes(rng, 2)
    mask = rng.integers(0, 2, shape).astype(bool)
    text = f"%r = arith.select {{0}}, {{1}}, {{2}} : {type_of(shape, 'i1')}, {type_of(shape)}"
    return Draw(text, [mask, floats(rng, shape), floats(rng, shape)], shape)


def clamp(rng):
    shape = sizes(rng, 2)
    bounds = [() if rng.integers(2) else shape for _ in range(2)]
    low, high = floats(rng, bounds[0]) - 0.5, floats(rng, bounds[1]) + 0.5
    types = ", ".join(map(type_of, (bounds[0], shape, bounds[1])))
    return Draw(f"%r = shoal.clamp {{0}}, {{1}}, {{2}} : {types}", [low, floats(rng, shape), high], shape)


def einsum(rng):
    letters = dict(zip("ABCD", sizes(rng, 4, 1, 3)))
    terms = ["".join(rng.choice(list("ABCD"), int(rng.integers(0, 4)))) for _ in range(2)]
    terms = terms[: 1 + int(rng.integers(2))]
    known = sorted(set("".join(terms)))
    kept = [letter for letter in known if rng.integers(2)]
    result = "".join(rng.permutation(kept)) if kept else ""
    shapes = [tuple(letters[c] for c in term) for term in terms]
    shape = tuple(letters[c] for c in result)
    inputs = ", ".join(f"{{{i}}}" for i in range(len(terms)))
    types = f"({', '.join(map(type_of, shapes))}) -> {type_of(shape)}"
    text = f'%r = shoal.einsum "{",".join(terms)}->{result}" {inputs} : {types}'
    return Draw(text, [floats(rng, s) for s in shapes], shape)


def ragged_einsum(rng):
    t, m, e, h = 6, 2, 3, 2
    spec, shapes, shape = [
        ("TM,EMH,E->TH", [(t, m), (e, m, h)], (t, h)),
        ("TM,TH,E->EMH", [(t, m), (t, h)], (e, m, h)),
        ("TM,EMH,E->H", [(t, m), (e, m, h)], (h,)),
        ("TM,EH,E->TH", [(t, m), (e, h)], (t, h)),
    ][int(rng.integers(4))]
    bounds = np.sort(rng.integers(0, t + 2, (e, 2)), 1)
    text = (
        f'%r = shoal.ragged_einsum "{spec}" rows "T" {{0}}, {{1}} groups {{2}}, {{3}} : '
        f"({', '.join(map(type_of, shapes))}, {type_of((e,), 'i32')}, {type_of((e,), 'i32')}) -> {type_of(shape)}"
    )
    operands = [floats(rng, s) for s in shapes] + [integers(bounds[:, 0]), integers(bounds[:, 1])]
    return Draw(text, operands, shape)


def broadcast_in_dim(rng):
    shape = sizes(rng, 4, 1, 3)
    dims = [int(d) for d in rng.permutation(4)[: int(rng.integers(0, 4))]]
    operand = tuple(1 if rng.integers(3) == 0 else shape[d] for d in dims)
    text = f"%r = shoal.broadcast_in_dim {{0}} dims = {listed(dims)} : {type_of(operand)} -> {type_of(shape)}"
    return Draw(text, [floats(rng, operand)], shape)


def transpose(rng):
    operand = sizes(rng, 3)
    order = rng.permutation(3)
    shape = tuple(operand[d] for d in order)
    text = f"%r = shoal.transpose {{0}} permutation = {listed(order)} : {type_of(operand)} -> {type_of(shape)}"
    return Draw(text, [floats(rng, operand)], shape)


def slice_(rng):
    operand = sizes(rng, 2, 0, 7)
    starts = [int(rng.integers(0, n + 1)) for n in operand]
    limits = [int(rng.integers(s, n + 1)) for s, n in zip(starts, operand)]
    strides = rng.integers(1, 4, 2)
    shape = tuple(-(-(l - s) // int(t)) for s, l, t in zip(starts, limits, strides))
    text = (
        f"%r = shoal.slice {{0}} starts = {listed(starts)} limits = {listed(limits)} "
        f"strides = {listed(strides)} : {type_of(operand)} -> {type_of(shape)}"
    )
    return Draw(text, [floats(rng, operand)], shape)


def pad(rng):
    while True:
        operand = sizes(rng, 2, 0, 4)
        low, high = rng.integers(-2, 3, 2), rng.integers(-2, 3, 2)
        interior = rng.integers(0, 3, 2)
        shape = tuple(
            int(a + n + b + i * max(n - 1, 0)) for a, n, b, i in zip(low, operand, high, interior)
        )
        if min(shape) >= 0:
            break
    text = (
        f"%r = shoal.pad {{0}}, {{1}} low = {listed(low)} high = {listed(high)} interior = "
        f"{listed(interior)} : {type_of(operand)}, {type_of(())} -> {type_of(shape)}"
    )
    return Draw(text, [floats(rng, operand), floats(rng, ())], shape)


def reverse(rng):
    shape = sizes(rng, 3)
    dims = sorted(rng.permutation(3)[: int(rng.integers(0, 3))])
    return Draw(f"%r = shoal.reverse {{0}} dims = {listed(dims)} : {type_of(shape)}", [floats(rng, shape)], shape)


def roll(rng):
    shape = sizes(rng, 2)
    shift = int(rng.integers(0, shape[1]))
    text = f"%r = shoal.roll {{0}} dim = 1 shift = {shift} : {type_of(shape)}"
    return Draw(text, [floats(rng, shape)], shape)


def concatenate(rng):
    counts = [int(n) for n in rng.integers(0, 4, 3)]
    shapes = [(2, n) for n in counts]
    shape = (2, sum(counts))
    text = f"%r = shoal.concatenate {{0}}, {{1}}, {{2}} dim = 1 : ({', '.join(map(type_of, shapes))}) -> {type_of(shape)}"
    return Draw(text, [floats(rng, s) for s in shapes], shape)


def reshape(rng):
    shape = sizes(rng, 3)
    flat = (shape[0] * shape[1], shape[2])
    return Draw(f"%r = shoal.reshape {{0}} : {type_of(shape)} -> {type_of(flat)}", [floats(rng, shape)], flat)


def reduce(rng):
    operand = sizes(rng, 3, 1, 3)
    dims = sorted(int(d) for d in rng.permutation(3)[: int(rng.integers(0, 4))])
    shape = tuple(n for d, n in enumerate(operand) if d not in dims)
    kind = rng.choice(["sum", "prod", "max", "min"])
    array = floats(rng, operand)
    if kind == "prod" and rng.integers(2):
        array.reshape(-1)[rng.integers(array.size, size=2)] = 0
    text = f"%r = shoal.reduce {kind} {{0}} dims = {listed(dims)} : {type_of(operand)} -> {type_of(shape)}"
    return Draw(text, [array], shape)


def cumulative(rng):
    shape = sizes(rng, 2, 1, 7)
    dim = int(rng.integers(2))
    kind = rng.choice(["sum", "prod", "max", "min"])
    flags = [flag for flag in ("exclusive", "reverse") if rng.integers(2)]
    array = floats(rng, shape)
    if kind == "prod" and rng.integers(2):
        array.reshape(-1)[rng.integers(array.size, size=2)] = 0
    attributes = f" {{{', '.join(flags)}}}" if flags else ""
    # The exclusive extremum of nothing is infinite.
    text = f"%c = shoal.cumulative {kind} {{0}} dim = {dim}{attributes} : {type_of(shape)}\n"
    text += f"%zero = arith.constant dense<0.0> : {type_of(shape)}\n"
    text += f"%finite = math.isfinite %c : {type_of(shape)}\n"
    text += f"%r = arith.select %finite, %c, %zero : {type_of(shape, 'i1')}, {type_of(shape)}"
    return Draw(text, [array], shape)


def sort(rng):
    shape = sizes(rng, 2, 1, 5)
    dim, descending = int(rng.integers(2)), ", descending" if rng.integers(2) else ""
    text = (
        f"%a, %b = shoal.sort {{0}}, {{1}} dim = {dim} {{num_keys = 1{descending}}} : "
        f"({type_of(shape)}, {type_of(shape)}) -> ({type_of(shape)}, {type_of(shape)})\n"
        f"%r = arith.mulf %a, %b : {type_of(shape)}"
    )
    return Draw(text, [floats(rng, shape), floats(rng, shape)], shape)


def top_k(rng):
    operand = sizes(rng, 2, 1, 6)
    k = int(rng.integers(1, operand[1] + 1))
    shape = (operand[0], k)
    text = f"%r, %i = shoal.top_k {{0}} {{k = {k}}} : {type_of(operand)} -> {type_of(shape)}, {type_of(shape, 'i32')}"
    return Draw(text, [floats(rng, operand)], shape)


def dynamic_slice(rng):
    operand = sizes(rng, 2)
    shape = tuple(int(rng.integers(0, n + 1)) for n in operand)
    starts = [integers(rng.integers(-2, 7)) for _ in operand]
    text = (
        f"%r = shoal.dynamic_slice {{0}} [{{1}}, {{2}}] sizes = {listed(shape)} : "
        f"({type_of(operand)}, tensor<i32>, tensor<i32>) -> {type_of(shape)}"
    )
    return Draw(text, [floats(rng, operand), *starts], shape)


def dynamic_update_slice(rng):
    shape = sizes(rng, 2)
    update = tuple(int(rng.integers(0, n + 1)) for n in shape)
    starts = [integers(rng.integers(-2, 7)) for _ in shape]
    text = (
        f"%r = shoal.dynamic_update_slice {{0}}, {{1}} [{{2}}, {{3}}] : "
        f"({type_of(shape)}, {type_of(update)}, tensor<i32>, tensor<i32>) -> {type_of(shape)}"
    )
    return Draw(text, [floats(rng, shape), floats(rng, update), *starts], shape)


def _windows(rng):
    """The dimension numbers of a gather or scatter: operand [batch, a, b], indices [batch, n, 1 or 2]."""
    operand = sizes(rng, 3, 1, 4)
    count = int(rng.integers(1, 4))
    batching = bool(rng.integers(2))
    if batching:
        components, mapped, batch = int(rng.integers(1, 3)), [1, 2], [0]
    else:
        components, mapped, batch = int(rng.integers(1, 4)), [0, 1, 2], []
    mapped = [int(d) for d in rng.permutation(mapped)[:components]]
    components = len(mapped)
    collapsed = sorted(d for d in range(3) if d not in batch and rng.integers(2))
    leading = (operand[0], count) if batching else (count,)
    indices = integers(rng.integers(-2, 6, (*leading, components)))
    kept = [d for d in range(3) if d not in batch and d not in collapsed]
    return operand, indices, leading, batch, mapped, collapsed, kept


def gather(rng):
    operand, indices, leading, batch, mapped, collapsed, kept = _windows(rng)
    window = [1 if d in collapsed or d in batch else int(rng.integers(0, n + 1)) for d, n in enumerate(operand)]
    shape = (*leading, *(window[d] for d in kept))
    offsets = range(len(leading), len(shape))
    batching = f"operand_batching_dims = {listed(batch)} start_indices_batching_dims = [0] " if batch else ""
    text = (
        f"%r = shoal.gather {{0}}, {{1}} offset_dims = {listed(offsets)} collapsed_slice_dims = {listed(collapsed)} "
        f"{batching}start_index_map = {listed(mapped)} index_vector_dim = {len(leading)} slice_sizes = {listed(window)} "
        f": ({type_of(operand)}, {type_of(indices.shape, 'i32')}) -> {type_of(shape)}"
    )
    return Draw(text, [floats(rng, operand), indices], shape)


def scatter(rng):
    operand, indices, leading, batch, mapped, inserted, kept = _windows(rng)
    window = [int(rng.integers(0, 5)) for _ in kept]
    updates = (*leading, *window)
    kind = rng.choice(["sum", "overwrite", "max", "min", "prod"])
    array, update = floats(rng, operand), floats(rng, updates)
    if kind == "prod" and update.size:
        update.reshape(-1)[rng.integers(update.size, size=1)] = 0
    if kind in ("max", "min"):
        update = update + 0.003
    batching = f"input_batching_dims = {listed(batch)} scatter_indices_batching_dims = [0] " if batch else ""
    text = (
        f"%r = shoal.scatter {kind} {{0}}, {{1}}, {{2}} update_window_dims = "
        f"{listed(range(len(leading), len(updates)))} inserted_window_dims = {listed(inserted)} {batching}"
        f"scatter_dims_to_operand_dims = {listed(mapped)} index_vector_dim = {len(leading)} : "
        f"({type_of(operand)}, {type_of(indices.shape, 'i32')}, {type_of(updates)}) -> {type_of(operand)}"
    )
    return Draw(text, [array, indices, update], operand)


def _window_lists(rng, rank, dilated=True):
    """(size, stride, low, high, base dilation, window dilation) of each dimension."""
    dilation = 3 if dilated else 2
    return [
        [int(n) for n in (*rng.integers(1, 4, 2), *rng.integers(-1, 3, 2), *rng.integers(1, dilation, 2))]
        for _ in range(rank)
    ]


def _rows(n, window):
    size, stride, low, high, base, dilation = window
    places = (n - 1) * base + 1 if n else 0
    span = places + low + high - ((size - 1) * dilation + 1)
    return span // stride + 1 if span >= 0 else 0


def _lists(windows, with_window=True):
    names = ("window", "strides", "low", "high", "base_dilation", "window_dilation")
    columns = list(zip(*windows))
    pairs = list(zip(names, columns))[0 if with_window else 1 :]
    return " ".join(f"{name} = {listed(column)}" for name, column in pairs)


def reduce_window(rng):
    kind = rng.choice(["sum", "max", "min", "prod"])
    operand = sizes(rng, 2, 1, 6)
    windows = _window_lists(rng, 2)
    shape = tuple(_rows(n, w) for n, w in zip(operand, windows))
    initial = {"sum": 0.3, "max": -1.1, "min": 1.1, "prod": 0.7}[kind]
    array = floats(rng, operand)
    if kind == "prod" and rng.integers(2):
        array.reshape(-1)[rng.integers(array.size, size=2)] = 0
    text = (
        f"%r = shoal.reduce_window {kind} {{0}}, {{1}} {_lists(windows)} : "
        f"{type_of(operand)}, {type_of(())} -> {type_of(shape)}"
    )
    return Draw(text, [array, np.float64(initial)], shape)


def select_and_scatter(rng):
    operand = sizes(rng, 2, 1, 6)
    windows = [(*w[:2], abs(w[2]), abs(w[3]), 1, 1) for w in _window_lists(rng, 2)]
    source = tuple(_rows(n, w) for n, w in zip(operand, windows))
    last = " {last}" if rng.integers(2) else ""
    lists = _lists([w[:4] for w in windows])
    text = (
        f"%r = shoal.select_and_scatter {rng.choice(['max', 'min'])} {{0}}, {{1}}, {{2}} {lists}{last} : "
        f"{type_of(operand)}, {type_of(source)}, {type_of(())} -> {type_of(operand)}"
    )
    return Draw(text, [floats(rng, operand), floats(rng, source), np.float64(0.2)], operand)


def reduce_region(rng):
    """Logarithms of sums of exponentials, or the largest of pairs with its companion."""
    operand = sizes(rng, 3, 1, 4)
    dims = sorted(int(d) for d in rng.permutation(3)[: int(rng.integers(1, 4))])
    shape = tuple(n for d, n in enumerate(operand) if d not in dims)
    arrays = [floats(rng, operand), floats(rng, operand)]
    head = f"shoal.reduce_region(%x, %y) inits(%low, %zero) dims = {listed(dims)}"
    kinds = f"({type_of(operand)}, {type_of(operand)}, tensor<f64>, tensor<f64>) -> ({type_of(shape)}, {type_of(shape)})"
    sums = (
        "%m = arith.maximumf %a, %c : f64\n%da = arith.subf %a, %m : f64\n"
        "%dc = arith.subf %c, %m : f64\n%ea = math.exp %da : f64\n%ec = math.exp %dc : f64\n"
        "%pa = arith.mulf %ea, %b : f64\n%pc = arith.mulf %ec, %d : f64\n%s = arith.addf %pa, %pc : f64\n"
        "shoal.yield %m, %s : f64, f64"
    )
    pairs = (
        "%w = arith.cmpf oge, %a, %c : f64\n%m = arith.select %w, %a, %c : f64\n"
        "%s = arith.select %w, %b, %d : f64\nshoal.yield %m, %s : f64, f64"
    )
    body = sums if rng.integers(2) else pairs
    lines = [
        "%low = arith.constant dense<-30.0> : tensor<f64>",
        "%zero = arith.constant dense<0.0> : tensor<f64>",
        f"%p, %q = {head.replace('%x', '{0}').replace('%y', '{1}')} {{",
        f"^combine(%a: f64, %b: f64, %c: f64, %d: f64):\n{body}",
        f"}} : {kinds}",
        f"%r = arith.mulf %p, %q : {type_of(shape)}",
    ]
    return Draw("\n".join(lines), arrays, shape)


def convolution(rng):
    spatial = int(rng.integers(1, 3))
    groups = int(rng.integers(1, 4))
    features, batches = (groups, 1) if rng.integers(2) else (1, groups)
    i, o, b = int(rng.integers(1, 3)), groups * int(rng.integers(1, 3)), batches * int(rng.integers(1, 3))
    rows = sizes(rng, spatial, 1, 5)
    windows = _window_lists(rng, spatial)
    digits = "012"[:spatial]
    terms = ["".join(rng.permutation([*letters, *digits])) for letters in ("bf", "io", "bf")]
    known = [
        {"b": b, "f": i * features, **dict(zip(digits, rows))},
        {"i": i, "o": o, **{d: w[0] for d, w in zip(digits, windows)}},
        {"b": b // batches, "f": o, **{d: _rows(n, w) for d, n, w in zip(digits, rows, windows)}},
    ]
    shapes = [tuple(sizes_[c] for c in term) for term, sizes_ in zip(terms, known)]
    reversal = ", ".join("true" if rng.integers(2) else "false" for _ in digits)
    text = (
        f'%r = shoal.convolution "{terms[0]},{terms[1]}->{terms[2]}" {{0}}, {{1}} {_lists(windows, False)} '
        f"reversal = [{reversal}] {{feature_group_count = {features}, batch_group_count = {batches}}} : "
        f"{type_of(shapes[0])}, {type_of(shapes[1])} -> {type_of(shapes[2])}"
    )
    return Draw(text, [floats(rng, shapes[0]), floats(rng, shapes[1])], shapes[2])


def softmax(rng):
    shape = sizes(rng, 2)
    text = f"%r = shoal.softmax {{0}} {{axis = {int(rng.integers(2))}}} : {type_of(shape)}"
    return Draw(text, [floats(rng, shape)], shape)


def relu(rng):
    shape = sizes(rng, 2)
    return Draw(f"%r = shoal.relu {{0}} : {type_of(shape)}", [floats(rng, shape)], shape)


def layer_norm(rng):
    shape = sizes(rng, 2, 2, 5)
    vector = (shape[1],)
    text = f"%r = shoal.layer_norm {{0}}, {{1}}, {{2}} {{axis = 1}} : {type_of(shape)}, {type_of(vector)}, {type_of(vector)}"
    return Draw(text, [floats(rng, shape), floats(rng, vector), floats(rng, vector)], shape)


KINDS = {name: (lambda rng, name=name: elementwise(rng, name)) for name in ELEMENTWISE}
KINDS |= {
    f"shoal.{function.__name__.strip('_')}": function
    for function in (
        broadcast_in_dim, clamp, concatenate, convolution, cumulative, dynamic_slice,
        dynamic_update_slice, einsum, gather, layer_norm, pad, ragged_einsum, reduce, reduce_region,
        reduce_window, relu, reshape, reverse, roll, scatter, select_and_scatter, slice_, softmax, sort,
        top_k, transpose,
    )
} | {"arith.select": select}  # fmt: skip
