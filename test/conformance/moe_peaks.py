#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device of MoE layers and their training steps holds at most, and sends, beside XLA.

    test/conformance/moe_peaks.py --filter step

GShard's layer in JAX (256 tokens a group, 128 wide, 512 hidden) over 8 and 16 devices: each mesh,
each amount of annotations (as in test/benchmarks/assignment_table.py), forward, gradients and
a step of Adam whose state is donated; so with other routers, with all annotations; and the
programs of programs/moe.py. Nothing is run. The exit code is 1 where a program holds more than
XLA's, sends more than 1.01 of its bytes, or the median of what is held is above 0.7 of XLA's.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import examine  # noqa: E402

examine.DEVICES = 16  # the most that a mesh has
examine.prepare()
sys.path[1:1] = [str(examine.BIN.parent / "python"), str(examine.ROOT / "python")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from catalogue import Argument, P, Program, at, load  # noqa: E402
from programs.moe import top_2_gating  # noqa: E402

TOKENS, MODEL, HIDDEN = 256, 128, 512
MESHES = {
    "ep8": {"ep": 8},
    "dp2 ep4": {"dp": 2, "ep": 4},
    "ep4 tp2": {"ep": 4, "tp": 2},
    "dp2 ep2 tp2": {"dp": 2, "ep": 2, "tp": 2},
    "ep16": {"ep": 16},
    "dp4 ep4": {"dp": 4, "ep": 4},
    "ep4 tp4": {"ep": 4, "tp": 4},
    "dp2 ep4 tp2": {"dp": 2, "ep": 4, "tp": 2},
}
VARIANTS = ("full", "mid", "min", "none", "agep")
ROUTERS = ("top_2", "switch", "expert_choice")
MEDIAN_BAR, BYTES_BAR = 0.7, 1.01


@dataclasses.dataclass(frozen=True)
class Layer:
    """The layer on a mesh: groups over dp and ep, experts over ep, hidden units over tp.

    variant `agep`: all tokens of an expert group come to each of its devices.
    """

    axes: dict[str, int]
    variant: str
    router: str = "top_2"

    @property
    def groups(self) -> int:
        return math.prod(self.axes.values())

    @property
    def capacity(self) -> int:
        return (1 if self.router == "switch" else 2) * TOKENS // self.experts

    @property
    def experts(self) -> int:
        return 2 * self.axes["ep"]

    def used(self, *names: str) -> tuple[str, ...] | None:
        return tuple(name for name in names if name in self.axes) or None

    def constrain(self, x, variants: str, *spec):
        return at(x, *spec) if self.variant in variants.split() else x

    def arguments(self) -> list[Argument]:
        def float32(spec: P, *shape: int) -> Argument:
            return Argument(shape, jnp.dtype("float32"), spec, "")

        experts, hidden = self.used("ep"), self.used("tp")
        return [
            float32(P(self.used("dp", "ep")), self.groups, TOKENS, MODEL),
            float32(P(), MODEL, self.experts),
            float32(P(experts, None, hidden), self.experts, MODEL, HIDDEN),
            float32(P(experts, hidden), self.experts, HIDDEN, MODEL),
        ]

    def forward(self, x, wg, wi, wo):
        groups, experts, data = self.used("dp", "ep"), self.used("ep"), self.used("dp")
        x = self.constrain(x, "agep", data)
        gates = self.constrain(jax.nn.softmax(x @ wg), "full", groups)
        if self.router == "expert_choice":
            return self.choose_tokens(x, gates, wi, wo)
        gating = top_1_gating if self.router == "switch" else top_2_gating
        combine = gating(gates, self.capacity)
        combine = self.constrain(combine, "full mid", groups)
        combine = self.constrain(combine, "agep", data, None, experts)
        dispatch = self.constrain((combine > 0).astype(x.dtype), "full mid", groups)
        inputs = jnp.einsum("gsec,gsm->egcm", dispatch, x)
        outputs = self.experts_of(inputs, wi, wo)
        return at(jnp.einsum("gsec,gecm->gsm", combine, outputs), groups)

    def experts_of(self, inputs, wi, wo):
        """Of (expert, group, slot, model), as (group, expert, slot, model)."""
        groups, experts, data = self.used("dp", "ep"), self.used("ep"), self.used("dp")
        inputs = self.constrain(inputs, "full mid min agep", experts, data)
        hidden = jax.nn.relu(jnp.einsum("egcm,emh->egch", inputs, wi))
        hidden = self.constrain(hidden, "full", experts, data, None, self.used("tp"))
        outputs = jnp.einsum("egch,ehm->gecm", hidden, wo)
        outputs = self.constrain(outputs, "full agep", data, experts)
        return self.constrain(outputs, "full", groups)

    def choose_tokens(self, x, gates, wi, wo):
        """Each expert takes the tokens of a group that want it most."""
        groups = self.used("dp", "ep")
        weights, tokens = jax.lax.top_k(gates.transpose(0, 2, 1), self.capacity)
        inputs = jax.vmap(lambda rows, chosen: rows[chosen])(x, tokens)
        outputs = self.experts_of(inputs.transpose(1, 0, 2, 3), wi, wo) * weights[..., None]
        add = jax.vmap(lambda rows, chosen, more: rows.at[chosen].add(more))
        return at(add(jnp.zeros_like(x), tokens, outputs), groups)

    def gradients(self, x, *weights):
        def loss(weights):
            return jnp.mean((self.forward(x, *weights) - x) ** 2)

        return jax.value_and_grad(loss)(weights)

    def step(self, x, *state):
        """Adam without its bias correction; state: weights, means and variances."""
        weights, means, variances = state[:3], state[3:6], state[6:]
        loss, gradients = self.gradients(x, *weights)
        means = [0.9 * m + 0.1 * g for m, g in zip(means, gradients)]
        variances = [0.99 * v + 0.01 * g * g for v, g in zip(variances, gradients)]
        weights = [w - 1e-3 * m / (jnp.sqrt(v) + 1e-8) for w, m, v in zip(weights, means, variances)]
        return loss, *weights, *means, *variances


def top_1_gating(gates, capacity):
    """The Switch Transformer's: combine weights (group, token, expert, slot)."""
    chosen = jax.nn.one_hot(gates.argmax(-1), gates.shape[-1])
    place = ((jnp.cumsum(chosen, 1) - chosen) * chosen).sum(-1).astype(int)
    weight = (gates * chosen)[..., None]
    return weight * jax.nn.one_hot(place, capacity)[:, :, None]


def layers() -> Iterator[tuple[str, Layer]]:
    """By name. Where experts are over all devices, all-gather parallelism is no parallelism."""
    for mesh, axes in MESHES.items():
        for variant in VARIANTS:
            if variant != "agep" or len(axes) > 1:
                yield f"{mesh} {variant}", Layer(axes, variant)
    for mesh in list(MESHES)[:4]:
        for router in ROUTERS[1:]:
            yield f"{mesh} {router}", Layer(MESHES[mesh], "full", router)


def programs() -> Iterator[Program]:
    for name, layer in layers():
        x, *weights = layer.arguments()
        specs = tuple(weight.spec for weight in weights)
        yield _program(f"{name} forward", layer, layer.forward, [x, *weights], x.spec)
        yield _program(f"{name} gradients", layer, layer.gradients, [x, *weights], (P(), specs))
        yield _program(f"{name} step", layer, layer.step, [x, *weights * 3], (P(), *specs * 3))
    yield from (program for program in load().values() if program.family == "moe")


def _program(name: str, layer: Layer, function: Callable, arguments: list[Argument], out) -> Program:
    return Program(name, "moe", function, layer.axes, tuple(arguments), out)


def measure(program: Program, folder: Path) -> examine.Outcome:
    """What a step is given but tokens is donated."""
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    is_step = program.name.endswith(" step")
    donated = tuple(range(1, len(program.arguments))) if is_step else ()
    devices = math.prod(program.axes.values())
    outcome = examine.Outcome(program.name, program.family, devices)
    with examine.jax_settings(program):
        traced = program.traced(program.mesh(), donate_argnums=donated)
        examine.measure_xla(traced.lower().compile(), None, outcome)
        text = import_stablehlo(lower(traced))
    source = folder / "program.mlir"
    source.write_text(text)
    examine.measure(source, (), folder / "stats.json", outcome)
    return outcome


def quotient(ours: int, xla: int) -> float:
    """1 where neither sends anything."""
    return ours / xla if xla else math.inf if ours else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--filter", default="", help="a regular expression on MESH VARIANT KIND, or a name")
    wanted = parser.parse_args().filter
    print(f"{'program':40} {'held':>10} {'by XLA':>10}  ratio {'sent':>10} {'by XLA':>10}  ratio {'work':>6}")
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for program in programs():
            if not re.search(wanted, program.name):
                continue
            made = measure(program, Path(folder))
            outcomes.append(made)
            held = f"{made.peak:10} {made.peak_xla:10}  {made.peak / made.peak_xla:5.2f}"
            sent = f"{made.bytes_ours:10} {made.bytes_xla:10}  {quotient(made.bytes_ours, made.bytes_xla):5.2f}"
            print(f"{program.name:40} {held} {sent} {made.flops_ratio or 1:6.3f}", flush=True)
    peaks = [made.peak / made.peak_xla for made in outcomes]
    sent = max(quotient(made.bytes_ours, made.bytes_xla) for made in outcomes)
    ours, xla = (sum(getattr(made, name) for made in outcomes) for name in ("bytes_ours", "bytes_xla"))
    print(f"held: median {statistics.median(peaks):.2f}, largest {max(peaks):.4f} of {len(peaks)}")
    print(f"sent: {ours:,} bytes of XLA's {xla:,}, {quotient(ours, xla):.3f}; largest {sent:.3f}")
    return 0 if statistics.median(peaks) <= MEDIAN_BAR and max(peaks) <= 1 and sent <= BYTES_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
