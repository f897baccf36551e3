# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to change of a mapping that does not fit, found by asking the same forecast."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.errors import ShoalError
from shoal.executable.beside import interruptible
from shoal.planning.columns import Space
from shoal.planning.forecasts import Programs
from shoal.planning.job import Plan, programs_of
from shoal.planning.mapping import Mapping
from shoal.planning.search import search

__all__ = ["Change", "changes", "smallest_change"]

# What is changed, in words, and the mapping.
Change = tuple[str, Mapping]


def changes(mapping: Mapping, layers: int, experts: int) -> Iterator[Change]:
    """One thing each, in the order of how much of a job they touch: what is stored in parts, recomputation, smaller
    micro-batches, more devices for a stage's parts."""
    if mapping.zero < 1:
        yield "the optimiser's state in parts (--use-distributed-optimizer)", mapping.replace(zero=1)
    if mapping.micro_batch > 1:
        yield f"micro-batches of {mapping.micro_batch // 2}", mapping.replace(micro_batch=mapping.micro_batch // 2)
    if mapping.recompute == "none":
        again = "norms and activations computed again (--recompute-granularity selective --recompute-modules layernorm moe_act)"
        yield again, mapping.replace(recompute="selective")
    if mapping.recompute != "full":
        yield "layers computed again (--recompute-granularity full)", mapping.replace(recompute="full")
    sizes = {"ep": experts, "pp": layers, "tp": 8}
    for name, most in sizes.items():
        more = 2 * getattr(mapping, name)
        if more <= most:
            yield from _with(mapping, name, more, layers)


def _with(mapping: Mapping, name: str, more: int, layers: int) -> Iterator[Change]:
    """None where sizes do not divide."""
    fields = {name: more}
    if name == "tp" and mapping.etp == mapping.tp:
        fields["etp"] = more
    what = f"{name} {more}"
    if name == "pp" and mapping.stages * more > layers:
        fields["stages"] = max(1, layers // more)
        what += f" with {fields['stages']} stages a device"
    try:
        yield what, mapping.replace(**fields)
    except ShoalError:
        return


def smallest_change(plan: Plan, programs: Programs | None = None) -> tuple[str, Plan] | None:
    """The one that fits and has the shortest step; else of two of them, the second upon recomputation; None where
    nothing fits. programs: of this plan's model, of which it has some."""
    programs = programs or programs_of(plan.config, plan.machine)
    sizes = plan.config.num_hidden_layers, plan.config.moe.num_experts
    one = _fitting(plan, programs, dict(changes(plan.mapping, *sizes)))
    if one is not None or plan.mapping.recompute == "full":
        return one
    again = plan.mapping.replace(recompute="full", zero=max(plan.mapping.zero, 1))
    return _fitting(plan, programs, {f"layers computed again, and {what}": m for what, m in changes(again, *sizes)})


def _fitting(plan: Plan, programs: Programs, listed: dict[str, Mapping]) -> tuple[str, Plan] | None:
    """The fastest that fits, of a space of them; one has what is stored alike."""
    spaces: dict[int, list[Mapping]] = {}
    for mapping in listed.values():
        spaces.setdefault(mapping.zero, []).append(mapping)
    found = interruptible(lambda _: [search(plan.config, programs, Space.of(space)) for space in spaces.values()])
    plans = [plan for each in found for plan in each.plans[:1]]
    names = {mapping: what for what, mapping in listed.items()}
    best = min(plans, key=lambda each: each.seconds, default=None)
    return best and (names[best.mapping], best)
