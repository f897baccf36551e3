# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's MoE layer as program text, for given sizes and annotations."""

import math
import re
from dataclasses import dataclass, field

import numpy as np
from shoal_reference import expert_capacity, moe_layer

RESULTS = ("y", "aux", "combine", "dispatch")

# `$name` is the value after its annotation, `!name` its type.
_BODY = (
    ("logits", 'shoal.einsum "GSM,ME->GSE" $x, $wg : (!x, !wg) -> !gates'),
    ("gates", "shoal.softmax $logits {axis = 2} : !gates"),
    (
        ("combine", "dispatch", "aux"),
        "shoal.top_k_gating $gates GATING : !gates -> !combine, !dispatch, !aux",
    ),
    (
        "dispatched",
        'shoal.einsum "GSEC,GSM->EGCM" $dispatch, $x : (!dispatch, !x) -> !dispatched',
    ),
    (
        "before",
        'shoal.einsum "EGCM,EMH->EGCH" $dispatched, $wi : (!dispatched, !wi) -> !hidden',
    ),
    ("hidden", "shoal.relu $before : !hidden"),
    (
        "outputs",
        'shoal.einsum "EGCH,EHM->GECM" $hidden, $wo : (!hidden, !wo) -> !outputs',
    ),
    (
        "y",
        'shoal.einsum "GSEC,GECM->GSM" $combine, $outputs : (!combine, !outputs) -> !y',
    ),
)


@dataclass(frozen=True)
class Layer:
    """Sizes, named by the letters of the einsums, and the gating's attributes."""

    groups: int = 8
    tokens: int = 16
    model: int = 8
    experts: int = 8
    hidden: int = 16
    k: int = 2
    capacity: int | None = 3
    capacity_factor: float | None = None  # instead of a capacity
    random_routing: bool = False

    @property
    def buffer(self):
        """C, the capacity given or computed."""
        if self.capacity is not None:
            return self.capacity
        return expert_capacity(
            self.k, self.tokens, self.experts, self.capacity_factor
        )

    def shapes(self):
        """{value: shape}."""
        g, s, m, e, h = self.groups, self.tokens, self.model, self.experts, self.hidden
        c = self.buffer
        return {
            "x": (g, s, m),
            "wg": (m, e),
            "wi": (e, m, h),
            "wo": (e, h, m),
            "gates": (g, s, e),
            "combine": (g, s, e, c),
            "dispatch": (g, s, e, c),
            "aux": (),
            "dispatched": (e, g, c, m),
            "hidden": (e, g, c, h),
            "outputs": (g, e, c, m),
            "y": (g, s, m),
        }

    def inputs(self, seed=0):
        """{argument: array}, in the order of the program's arguments."""
        rng = np.random.default_rng(seed)
        fan_in = {"x": 1, "wg": 1, "wi": self.model, "wo": self.hidden}
        shapes = self.shapes()
        arrays = {
            name: (rng.standard_normal(shapes[name]) * fan**-0.5).astype(np.float32)
            for name, fan in fan_in.items()
        }
        if self.random_routing:
            arrays["key"] = np.array([17, 42], dtype=np.int32)
        return arrays

    def reference(self, inputs):
        """{result: array} by NumPy."""
        weights = (inputs[name] for name in ("x", "wg", "wi", "wo"))
        y, gating = moe_layer(*weights, self.k, self.buffer, inputs.get("key"))
        return {
            "y": y,
            "aux": np.float64(gating.aux),
            "combine": gating.combine,
            "dispatch": gating.dispatch,
        }


@dataclass(frozen=True)
class Layout:
    """A mesh and the annotations of some values.

    axes: {axis: size}, major to minor. annotations: {value: annotation}, each
    ("split", dim, partitions), ("replicate",) or ("axes", axes of each dim).
    """

    name: str
    axes: dict
    annotations: dict = field(default_factory=dict)

    @property
    def devices(self):
        return math.prod(self.axes.values())


def _annotation(value, annotation):
    """The op that annotates a value."""
    kind, *parts = annotation
    if kind == "split":
        attributes = f"{{dim = {parts[0]}, num_partitions = {parts[1]}}}"
        return f"shoal.split %{value} {attributes}"
    if kind == "replicate":
        return f"shoal.replicate %{value}"
    dims = (", ".join(f'"{axis}"' for axis in axes) for axes in parts[0])
    sharding = ", ".join("{" + axes + "}" for axes in dims)
    return f"shoal.sharding_constraint %{value} <@mesh, [{sharding}]>"


def _gating(layer):
    key = " key $key : !key" if layer.random_routing else ""
    if layer.capacity is not None:
        return f"{key} {{k = {layer.k}, capacity = {layer.capacity}}}"
    return f"{key} {{k = {layer.k}, capacity_factor = {layer.capacity_factor:.6e}}}"


class _Writer:
    """Lines of a function's body; uses of a value go to its annotated form."""

    def __init__(self, annotations):
        self.annotations = annotations
        self.lines = []

    def name(self, value):
        return f"%{value}_annotated" if value in self.annotations else f"%{value}"

    def annotate(self, value):
        if value in self.annotations:
            op = _annotation(value, self.annotations[value])
            self.lines.append(f"{self.name(value)} = {op} : !{value}")

    def statement(self, results, text):
        text = re.sub(r"\$(\w+)", lambda match: self.name(match[1]), text)
        self.lines.append(", ".join(f"%{result}" for result in results) + f" = {text}")
        for result in results:
            self.annotate(result)


def program_text(layer, layout):
    """The layer's program, an annotation op behind each annotated value."""
    types = {
        name: f"tensor<{''.join(f'{size}x' for size in shape)}f32>"
        for name, shape in layer.shapes().items()
    }
    types["key"] = "tensor<2xi32>"
    mesh = ", ".join(f'"{axis}" = {size}' for axis, size in layout.axes.items())
    arguments = ", ".join(
        f'%{name}: !{name} {{shoal.name = "{name}"}}' for name in layer.inputs()
    )
    results = ", ".join(f'!{name} {{shoal.name = "{name}"}}' for name in RESULTS)
    writer = _Writer(layout.annotations)
    for argument in layer.inputs():
        writer.annotate(argument)
    for names, text in _BODY:
        names = (names,) if isinstance(names, str) else names
        writer.statement(names, text.replace(" GATING", _gating(layer)))
    returned = ", ".join(writer.name(name) for name in RESULTS)
    returned_types = ", ".join(f"!{name}" for name in RESULTS)
    return "\n".join(
        [
            *(f"!{name} = {text}" for name, text in types.items()),
            f"shoal.mesh @mesh = <[{mesh}]>",
            f"func.func @moe_layer({arguments}) -> ({results}) {{",
            *(f"  {line}" for line in writer.lines),
            f"  return {returned} : {returned_types}",
            "}\n",
        ]
    )
