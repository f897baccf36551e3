# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plan as text and as JSON."""

from __future__ import annotations

from typing import Any

from shoal.planning.job import Plan
from shoal.simulation.forecast import bytes_text, seconds_text

__all__ = ["as_json", "as_text", "counted"]

_LINES = 5


def counted(count: int, noun: str, ending: str = "s") -> str:
    """"1 device", "2 devices"."""
    return f"{count} {noun}{'' if count == 1 else ending}"


def _flops(each: float) -> str:
    """A second."""
    return f"{each / 1e12:.0f} Tflop/s" if each >= 1e12 else f"{each / 1e9:.0f} Gflop/s"


def as_text(plan: Plan, change: tuple[str, Plan] | None = None, name: str = "") -> str:
    """At most 100 columns."""
    mapping, machine = plan.mapping, plan.machine
    lines = [
        f"{name}{' on ' if name else ''}{machine.name}, {counted(mapping.devices, 'device')}: {mapping} (simulated)",
        f"  {counted(mapping.micro_batches, 'micro-batch', 'es')} of {mapping.micro_batch} x {mapping.sequence} tokens a device, "
        f"{counted(mapping.global_batch, 'sequence')} a step",
        "",
        f"  a step     {seconds_text(plan.seconds)}",
        f"  tokens/s   {plan.tokens_per_second:,.0f}, {plan.tokens_per_second / mapping.devices:,.0f} a device",
        f"  MFU        {100 * plan.mfu:.1f} %, {_flops(plan.flops)} a device",
        f"  exposed    {seconds_text(plan.exposed)} of communication, {_share(plan.exposed, plan.seconds)}",
        "",
        "time",
        *(f"{seconds_text(seconds):>12} {_share(seconds, plan.seconds):>6}  {part}" for part, seconds in plan.parts.items() if seconds),
        "",
        *_memory(plan),
        "",
        "the dearest lines",
        *(
            f"{seconds_text(line.seconds):>12} {_share(line.seconds, plan.seconds):>6}  "
            f"{line.what[:34]:34} {line.bound[:20]:20} {line.where}"
            for line in plan.lines[:_LINES]
        ),
    ]
    return "\n".join([*lines, *_advice(plan, change)])


def _share(part: float, whole: float) -> str:
    return f"{round(100 * part / whole) if whole else 0} %"


def _memory(plan: Plan) -> list[str]:
    room, parts = plan.machine.memory, plan.memory.parts()
    fits = "" if plan.fits else ": IT DOES NOT FIT"
    head = f"memory: {bytes_text(plan.memory.total)} of {bytes_text(room)} a device{fits}"
    return [head, *(f"{bytes_text(size):>12} {_share(size, room):>6}  {part}" for part, size in parts.items())]


def _advice(plan: Plan, change: tuple[str, Plan] | None) -> list[str]:
    if plan.fits:
        return []
    parts = plan.memory.parts()
    largest = max(parts, key=lambda part: parts[part])
    lines = ["", f"too large: {largest}, {bytes_text(parts[largest])} of the {bytes_text(plan.memory.total)}"]
    if change is None:
        return [*lines, "no one change fits, nor one with recomputation: give it more devices"]
    what, made = change
    return [
        *lines,
        f"what fits: {what}",
        f"  a step {seconds_text(made.seconds)}, MFU {100 * made.mfu:.1f} %, "
        f"{bytes_text(made.memory.total)} of {bytes_text(made.machine.memory)}",
    ]


def as_json(plan: Plan) -> dict[str, Any]:
    """For scripts; seconds and bytes."""
    return {
        "machine": plan.machine.name, "devices": plan.mapping.devices, "simulated": True,
        "step_seconds": plan.seconds, "tokens_per_second": plan.tokens_per_second, "mfu": plan.mfu,
        "flops_per_device": plan.flops, "exposed_seconds": plan.exposed, "seconds_by_part": plan.parts,
        "memory": plan.memory.parts(), "memory_bytes": plan.memory.total, "machine_memory_bytes": plan.machine.memory,
        "fits": plan.fits,
        "lines": [{"where": line.where, "what": line.what, "bound": line.bound, "seconds": line.seconds} for line in plan.lines],
    }  # fmt: skip
