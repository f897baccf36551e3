# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ops with windows, as text and as NumPy computes them.

The NumPy side is written from StableHLO's definitions: dilate and pad the
operand, cut out each window with a strided slice, contract or reduce it. It
shares no index arithmetic with the compiler.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Dim:
    """One dimension of a window, over `rows` rows."""

    rows: int
    size: int = 1
    stride: int = 1
    low: int = 0
    high: int = 0
    base: int = 1  # dilation of the operand
    gap: int = 1  # dilation of the window
    reverse: bool = False

    @property
    def count(self):
        """How many windows there are."""
        base = (self.rows - 1) * self.base + 1 if self.rows else 0
        span = (self.size - 1) * self.gap + 1
        return max((base + self.low + self.high - span) // self.stride + 1, 0)


def random_dim(rng, rows=None, dilate=True, negative=True):
    """A dimension that has at least one window."""
    while True:
        dim = Dim(
            rows=rows or int(rng.integers(1, 14)),
            size=int(rng.integers(1, 6)),
            stride=int(rng.integers(1, 4)),
            low=int(rng.integers(-2 if negative else 0, 4)),
            high=int(rng.integers(-2 if negative else 0, 4)),
            base=int(rng.integers(1, 4)) if dilate else 1,
            gap=int(rng.integers(1, 4)) if dilate else 1,
        )
        if dim.count > 0:
            return dim


def spread(x, axis, dim, fill):
    """`x` with holes between its rows along `axis`, padded with `fill`."""
    x = np.moveaxis(x, axis, 0)
    rows = (len(x) - 1) * dim.base + 1 if len(x) else 0
    out = np.full((rows, *x.shape[1:]), fill, dtype=x.dtype)
    out[:: dim.base] = x
    for side, count in ((0, dim.low), (1, dim.high)):
        if count < 0:
            out = out[-count:] if side == 0 else out[:count]
        else:
            rows = np.full((count, *x.shape[1:]), fill, dtype=x.dtype)
            out = np.concatenate([rows, out] if side == 0 else [out, rows])
    return np.moveaxis(out, 0, axis)


def windows(x, dims, fill):
    """Yields (number, window) over the leading dimensions of `x`."""
    for axis, dim in enumerate(dims):
        x = spread(x, axis, dim, fill)
    for number in itertools.product(*(range(dim.count) for dim in dims)):
        cut = tuple(
            slice(n * d.stride, n * d.stride + (d.size - 1) * d.gap + 1, d.gap)
            for n, d in zip(number, dims)
        )
        yield number, x[cut]


def lists(dims, names):
    """`strides = [2, 1] ...`, leaving out what is all default."""
    text = ""
    for name, attribute, default in names:
        values = [getattr(dim, attribute) for dim in dims]
        if any(value != default for value in values):
            text += f" {name} = [{', '.join(str(v).lower() for v in values)}]"
    return text


PADDING = [("strides", "stride", 1), ("low", "low", 0), ("high", "high", 0)]
DILATION = [("base_dilation", "base", 1), ("window_dilation", "gap", 1)]


def tensor(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


@dataclass
class Convolution:
    dims: list
    batch: int = 2
    features: int = 3  # of the kernel
    outputs: int = 4
    feature_groups: int = 1
    batch_groups: int = 1
    orders: tuple = ("bf", "io", "bf")  # where the spatial dimensions go
    element: str = "f32"

    def __post_init__(self):
        spatial = "012"[: len(self.dims)]
        self.terms = []
        for order in self.orders:
            term = order if len(order) > 2 else order[0] + spatial + order[1]
            self.terms.append(term)
        sizes = {str(d): dim.rows for d, dim in enumerate(self.dims)}
        places = {str(d): dim.size for d, dim in enumerate(self.dims)}
        counts = {str(d): dim.count for d, dim in enumerate(self.dims)}
        sizes |= {
            "b": self.batch * self.batch_groups,
            "f": self.features * self.feature_groups,
        }
        places |= {"i": self.features, "o": self.outputs}
        counts |= {"b": self.batch, "f": self.outputs}
        self.shapes = [
            [table[letter] for letter in term]
            for table, term in zip((sizes, places, counts), self.terms)
        ]

    @property
    def types(self):
        return [tensor(shape, self.element) for shape in self.shapes]

    @property
    def operands(self):
        return self.shapes[:2]

    @property
    def result(self):
        return self.shapes[2]

    def splits(self):
        """Dimensions, as (place, dimension), that are split together."""
        x, w, y = self.terms
        groups = [
            [(0, x.index("b")), ("result", y.index("b"))],
            [(0, x.index("f")), (1, w.index("i"))],
            [(1, w.index("o")), ("result", y.index("f"))],
        ]
        if self.feature_groups > 1:
            groups[1:] = [[(0, x.index("f")), (1, w.index("o")), ("result", y.index("f"))]]
        if self.batch_groups > 1:
            groups[0] = [(0, x.index("b")), (1, w.index("o")), ("result", y.index("f"))]
        for d, dim in enumerate(self.dims):
            other = (1, w.index(str(d))) if dim.size > dim.count else ("result", y.index(str(d)))
            groups.append([(0, x.index(str(d))), other])
        return groups

    def text(self, x, w):
        spec = "{},{}->{}".format(*self.terms)
        names = PADDING + DILATION + [("reversal", "reverse", False)]
        groups = []
        if self.feature_groups > 1:
            groups.append(f"feature_group_count = {self.feature_groups}")
        if self.batch_groups > 1:
            groups.append(f"batch_group_count = {self.batch_groups}")
        attributes = f" {{{', '.join(groups)}}}" if groups else ""
        kinds = "{}, {} -> {}".format(*self.types)
        return f'shoal.convolution "{spec}" {x}, {w}{lists(self.dims, names)}{attributes} : {kinds}'

    def compute(self, x, w):
        spatial = "012"[: len(self.dims)]
        order = [self.terms[0].index(c) for c in spatial + "bf"]
        x = x.transpose(order)
        w = w.transpose([self.terms[1].index(c) for c in spatial + "io"])
        for axis, dim in enumerate(self.dims):
            if dim.reverse:
                w = np.flip(w, axis)
        counts = [dim.count for dim in self.dims]
        groups = self.feature_groups * self.batch_groups
        outs = np.split(w, groups, axis=-1)
        ins = [x] * groups
        if self.feature_groups > 1:
            ins = np.split(x, groups, axis=-1)
        if self.batch_groups > 1:
            ins = np.split(x, groups, axis=-2)
        parts = []
        for part, kernel in zip(ins, outs):
            y = np.zeros((*counts, self.batch, kernel.shape[-1]), x.dtype)
            axes = list(range(len(self.dims)))
            for number, window in windows(part, self.dims, 0):
                y[number] = np.tensordot(window, kernel, (axes + [-1], axes + [len(axes)]))
            parts.append(y)
        y = np.concatenate(parts, axis=-1)
        letters = spatial + "bf"
        return y.transpose([letters.index(c) for c in self.terms[2]])


@dataclass
class ReduceWindow:
    kind: str
    dims: list
    element: str = "f32"

    def __post_init__(self):
        self.operands = [[dim.rows for dim in self.dims], []]
        self.result = [dim.count for dim in self.dims]

    def splits(self):
        return [
            [(0, d)] if dim.count == 1 else [(0, d), ("result", d)]
            for d, dim in enumerate(self.dims)
        ]

    @property
    def types(self):
        return [tensor(s, self.element) for s in (*self.operands, self.result)]

    def text(self, x, init):
        sizes = [dim.size for dim in self.dims]
        kinds = "{}, {} -> {}".format(*self.types)
        return f"shoal.reduce_window {self.kind} {x}, {init} window = {sizes}{lists(self.dims, PADDING + DILATION)} : {kinds}"

    def compute(self, x, init):
        combine = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
        y = np.zeros(self.result, x.dtype)
        there = windows(np.ones(x.shape, bool), self.dims, False)
        for (number, window), (_, mask) in zip(windows(x, self.dims, 0), there):
            values = np.append(window[mask], init)
            y[number] = combine[self.kind](values, dtype=x.dtype) if self.kind in ("sum", "prod") else combine[self.kind](values)
        return y


@dataclass
class SelectAndScatter:
    kind: str
    dims: list
    last: bool = False
    element: str = "f32"

    def __post_init__(self):
        self.result = [dim.rows for dim in self.dims]
        self.operands = [self.result, [dim.count for dim in self.dims], []]

    def splits(self):
        return [[(0, d), (1, d), ("result", d)] for d in range(len(self.dims))]

    @property
    def types(self):
        return [tensor(s, self.element) for s in (*self.operands, self.result)]

    def text(self, x, source, init):
        sizes = [dim.size for dim in self.dims]
        kinds = "{}, {}, {} -> {}".format(*self.types)
        last = " {last}" if self.last else ""
        return f"shoal.select_and_scatter {self.kind} {x}, {source}, {init} window = {sizes}{lists(self.dims, PADDING)}{last} : {kinds}"

    def compute(self, x, source, init):
        if np.issubdtype(x.dtype, np.floating):
            worst = -np.inf if self.kind == "max" else np.inf
        else:
            bounds = np.iinfo(x.dtype)
            worst = bounds.min if self.kind == "max" else bounds.max
        places = np.arange(x.size).reshape(x.shape)
        y = np.full(x.size, init, x.dtype)
        where = windows(places, self.dims, -1)
        choose = np.argmax if self.kind == "max" else np.argmin
        for (number, window), (_, place) in zip(windows(x, self.dims, worst), where):
            values, place = window.ravel(), place.ravel()
            if self.last:
                values, place = values[::-1], place[::-1]
            selected = place[choose(values)]
            if selected >= 0:
                y[selected] += source[number]
        return y.reshape(x.shape)


def random_convolution(rng, rank=None, element="f32"):
    rank = rank or int(rng.integers(1, 4))
    limit = {1: 14, 2: 9, 3: 6}[rank]
    dims = []
    for _ in range(rank):
        dim = random_dim(rng, rows=int(rng.integers(1, limit)))
        dim.reverse = bool(rng.integers(2))
        dims.append(dim)
    groups = int(rng.choice([1, 1, 2, 3]))
    by_batch = bool(rng.integers(2))

    def order(letters):
        term = list(letters + "012"[:rank])
        rng.shuffle(term)
        return "".join(term)

    return Convolution(
        dims,
        batch=int(rng.integers(1, 4)),
        features=int(rng.integers(1, 5)),
        outputs=groups * int(rng.integers(1, 3)),
        feature_groups=1 if by_batch else groups,
        batch_groups=groups if by_batch else 1,
        orders=(order("bf"), order("io"), order("bf")),
        element=element,
    )


def random_reduce_window(rng, element="f32"):
    dims = [random_dim(rng, rows=int(rng.integers(1, 9))) for _ in range(rng.integers(1, 4))]
    return ReduceWindow(str(rng.choice(["sum", "prod", "max", "min"])), dims, element)


def random_select_and_scatter(rng, element="f32"):
    dims = []
    for _ in range(rng.integers(1, 4)):
        rows = int(rng.integers(1, 9))
        dims.append(random_dim(rng, rows, dilate=False, negative=False))
    kind = str(rng.choice(["max", "min"]))
    return SelectAndScatter(kind, dims, bool(rng.integers(2)), element)


RANDOM_CASES = {
    "convolution": random_convolution,
    "reduce_window": random_reduce_window,
    "select_and_scatter": random_select_and_scatter,
}


@dataclass
class Program:
    """Ops whose operands are arguments, and their values for small integers:
    these make many ties, and sums of them are exact in every order."""

    cases: list
    rng: np.random.Generator
    header: str = ""
    # Of operand `n` of case `c`, and of its result: attributes, by ("c", n).
    annotations: dict = field(default_factory=dict)

    def text(self):
        arguments, results, types, body = [], [], [], []
        for c, case in enumerate(self.cases):
            names = [f"%x{c}_{n}" for n in range(len(case.operands))]
            for n, name in enumerate(names):
                extra = self.annotations.get((c, n), "")
                arguments.append(
                    f'{name}: {case.types[n]} {{shoal.name = "x{c}_{n}"{extra}}}'
                )
            extra = self.annotations.get((c, "result"), "")
            types.append(f'{case.types[-1]} {{shoal.name = "y{c}"{extra}}}')
            results.append((f"%y{c}", case.types[-1]))
            body.append(f"  %y{c} = {case.text(*names)}")
        values = ", ".join(value for value, _ in results)
        kinds = ", ".join(kind for _, kind in results)
        return (
            f"{self.header}func.func @main({', '.join(arguments)})\n"
            f"    -> ({', '.join(types)}) {{\n" + "\n".join(body) + f"\n  return {values} : {kinds}\n}}\n"
        )

    def inputs(self):
        arrays = {}
        for c, case in enumerate(self.cases):
            dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[case.element]
            for n, shape in enumerate(case.operands):
                arrays[f"x{c}_{n}"] = self.rng.integers(-3, 4, shape).astype(dtype)
        return arrays

    def expected(self, arrays):
        outputs = {}
        for c, case in enumerate(self.cases):
            operands = [arrays[f"x{c}_{n}"] for n in range(len(case.operands))]
            outputs[f"y{c}"] = case.compute(*operands)
        return outputs
