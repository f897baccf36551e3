# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A choice as text and as JSON."""

from __future__ import annotations

import shlex
import textwrap
from typing import Any

from shoal.planning.choice import NEAR, Choice, Stand
from shoal.planning.job import Plan
from shoal.planning.mapping import Mapping
from shoal.planning.spelling import megatron_flags, torchtitan_flags
from shoal.planning.text import as_json, counted
from shoal.simulation.forecast import bytes_text, seconds_text

__all__ = ["choice_as_json", "choice_as_text", "difference"]

_WIDTH = 100
_AGAIN = {"none": "", "selective": ", norms and activations again", "full": ", layers computed again"}
# What two mappings differ in first, and what it is called.
_FIELDS = {
    "recompute": "recompute", "pp": "pp", "stages": "stages a device", "tp": "tp", "cp": "cp", "ep": "ep", "etp": "etp",
    "micro_batch": "micro-batches of", "dispatch": "dispatch",
}  # fmt: skip


def choice_as_text(choice: Choice, name: str = "") -> str:
    """At most 100 columns."""
    best, mapping = choice.best, choice.best.mapping
    lines = [
        f"{name}{' on ' if name else ''}{best.machine.name}, {counted(mapping.devices, 'device')}, {counted(mapping.global_batch, 'sequence')} of "
        f"{mapping.sequence} tokens a step (simulated)",
        "",
    ]
    for number, plan in enumerate(choice.plans, 1):
        lines += _entry(number, plan, best)
    lines += ["", *_certificate(choice)]
    if choice.against is not None:
        lines += ["", *_against(choice.against, best)]
    lines += ["", "1 for Megatron-LM", *_flags(megatron_flags(mapping)), "1 for torchtitan", *_flags(torchtitan_flags(mapping))]
    return "\n".join(lines)


def _entry(number: int, plan: Plan, best: Plan) -> list[str]:
    mapping = plan.mapping
    again = _AGAIN[mapping.recompute]
    lines = [
        f"{number:>3}  {mapping}, micro-batches of {mapping.micro_batch}{again}",
        f"     a step {seconds_text(plan.seconds)}, {plan.tokens_per_second:,.0f} tokens/s, MFU {100 * plan.mfu:.1f} %, "
        f"{bytes_text(plan.memory.total)} of {bytes_text(plan.machine.memory)}",
    ]
    return lines if plan is best else [*lines, *_wrapped(difference(plan, best))]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=5 * " ", subsequent_indent=7 * " ")


def difference(plan: Plan, best: Plan) -> str:
    """What the plan's mapping has else first, and what the whole difference costs by what seconds are spent on."""
    names = [name for name in _FIELDS if getattr(plan.mapping, name) != getattr(best.mapping, name)]
    head = "the same mapping"
    if names:
        first, other = (f"{getattr(each.mapping, names[0])}" for each in (plan, best))
        head = f"{_FIELDS[names[0]]} {first} in place of {other}"
        head += f" and {len(names) - 1} more" if len(names) > 1 else ""
    deltas = {part: seconds - best.parts[part] for part, seconds in plan.parts.items()}
    most = max(map(abs, deltas.values()))
    listed = [f"{part} {_signed(delta)}" for part, delta in deltas.items() if most and abs(delta) >= 0.05 * most]
    return f"{head}: {_signed(plan.seconds - best.seconds)}{' of ' if listed else ''}{', '.join(listed)}"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{seconds_text(abs(seconds))}"


def _certificate(choice: Choice) -> list[str]:
    # Rounded up, as it is a bound.
    share = f"a step that is more than {-(-1000 * choice.gap // 1) / 10:.1f} % shorter" if choice.gap > 0 else "a shorter step"
    sure = f"no mapping of this space has {share} in this model"
    if choice.proven > 1:
        sure = f"no further mapping of this space has {share} than number {choice.proven} in this model"
    counts = (
        f"{choice.mappings:,} mappings: {choice.too_large:,} too large, {choice.by_bound:,} excluded by bounds, "
        f"{choice.simulated:,} simulated, of {choice.programs:,} programs"
    )
    missing = f"; {choice.without_program:,} without a program" if choice.without_program else ""
    return [sure, counts + missing]


def _against(stand: Stand, best: Plan) -> list[str]:
    plan = stand.plan
    if not plan.fits:
        words = "it does not fit"
    elif stand.is_near:
        words = f"as good as number 1: {_share(stand.slower)}, which is within {100 * NEAR:.0f} %"
    else:
        words = _share(stand.slower)
    return [
        f"yours: {plan.mapping}, micro-batches of {plan.mapping.micro_batch}",
        *_wrapped(f"a step {seconds_text(plan.seconds)}, MFU {100 * plan.mfu:.1f} %, {bytes_text(plan.memory.total)}: {words}"),
        *_wrapped(difference(plan, best)),
    ]


def _share(slower: float) -> str:
    return f"{100 * abs(slower):.1f} % {'longer' if slower >= 0 else 'shorter'}"


def _flags(words: list[str]) -> list[str]:
    """Each flag with its value on one line."""
    joined = shlex.join(words).replace(" --", "\n--").split("\n")
    kept = "\n".join(word.replace(" ", "\0") for word in joined).replace("\n", " ")
    wrapped = textwrap.wrap(kept, _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return [f"  {line.replace(chr(0), ' ')}{' ' + chr(92) if line is not wrapped[-1] else ''}" for line in wrapped]


def _mapping(mapping: Mapping) -> dict[str, Any]:
    names = ("tp", "cp", "ep", "etp", "pp", "dp", "edp", "stages", "micro_batch", "micro_batches", "global_batch", "sequence",
             "dispatch", "recompute", "zero", "type", "schedule")  # fmt: skip
    return {name: getattr(mapping, name) for name in names}


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "mapping": _mapping(plan.mapping), "megatron": megatron_flags(plan.mapping),
        "torchtitan": torchtitan_flags(plan.mapping), **as_json(plan),
    }  # fmt: skip


def choice_as_json(choice: Choice) -> dict[str, Any]:
    """For scripts; seconds, bytes, shares."""
    made: dict[str, Any] = {
        "simulated": True, "plans": [_plan(plan) for plan in choice.plans], "gap": choice.gap, "mappings": choice.mappings,
        "too_large": choice.too_large, "by_bound": choice.by_bound, "without_program": choice.without_program,
        "mappings_simulated": choice.simulated, "programs_simulated": choice.programs,
    }  # fmt: skip
    if choice.against is not None:
        made["against"] = {**_plan(choice.against.plan), "slower": choice.against.slower, "is_near": choice.against.is_near}
    return made
