# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a training job's flags say of how it runs: sizes of groups, batches, the pipeline, what is kept in parts."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError
from shoal.moe.layout import Layout

__all__ = ["AGAIN", "DISPATCHES", "Mapping", "SCHEDULES", "Sizes"]

# All micro-batches forward first; one back as soon as it came through; both directions at once (DeepSeek's).
SCHEDULES = ("gpipe", "1f1b", "dualpipe")
# Rows to the devices of their experts at once, or once to each node that has one of them.
DISPATCHES = ("alltoall", "flex")
RECOMPUTED = ("none", "selective", "full")
AGAIN = ("mlp", "moe", "shared_experts", "mla_up_proj", "every_second")


class Sizes:
    """What follows from the sizes of a mapping, or of many of one job, whose sizes are arrays (`shoal.planning.columns`)."""

    @property
    def dp(self) -> int:
        """How many devices have the same of attention."""
        return self.devices // (self.tp * self.cp * self.pp)

    @property
    def edp(self) -> int:
        """How many have the same experts."""
        return self.devices // (self.etp * self.ep * self.pp)

    @property
    def micro_batches(self) -> int:
        """That a device passes in a step."""
        return self.global_batch // (self.micro_batch * self.dp)

    @property
    def stage_devices(self) -> int:
        """Devices of one stage, whose numbers are next to each other."""
        return self.devices // self.pp

    @property
    def device_tokens(self) -> float:
        """Of a micro-batch, those of a sequence's parts that lie on a device; tp has its parts of each of them."""
        return self.micro_batch * self.sequence / self.cp

    @property
    def tokens(self) -> int:
        """Of a step."""
        return self.global_batch * self.sequence

    @property
    def stored(self) -> int:
        """`zero` as far as a layer's micro-batch finds it: whether the optimiser's state alone is in parts, it does not."""
        return self.zero if self.zero > 1 else 0


@dataclass(frozen=True)
class Mapping(Sizes):
    """Megatron's names where it has one; sizes of groups are in devices.

    stages: of each device, one behind the other: interleaved where there are several.
    recompute: "none"; "selective": results of products, and what is sent, are held, and norms and activations computed
      again; or "full": of a layer its input alone is held.
    zero: what is stored in parts over data parallelism: 0 nothing, 1 the optimiser's state, 2 gradients, too, which are then
      summed by each micro-batch, 3 parameters, too, which each layer gathers forward and back.
    sum_type: in which gradients are held and summed, "f32" or "bf16". state_types: of masters and of both moments.
    whole_at_start: parameters in parts are made whole first, all of a device's, before they are cut.
    gathers_again: of sequences in parts a device saves its own, and gathers them again beside products of gradients, as
      Megatron-LM and Transformer Engine do.
    casts_masters: parameters in parts are the masters alone, which are cast as they are gathered (PyTorch's FSDP2); else there
      are narrow ones of them in parts, too.
    products_again: what selective recomputation multiplies again beside norms and activations: Megatron-LM's modules "mlp",
      "moe", "shared_experts", "mla_up_proj"; "every_second", as torchtitan does, and all products of experts.
    sums_beside, gathers_beside: gradients are summed, and parameters gathered, while others compute.
    dispatch: where rows are exchanged, "alltoall", or "flex": once to each node that has one of a token's experts.
    exchange_beside: experts' exchanges run beside another micro-batch's kernels.
    type: of the layers' products, as machine files name it; of "f32" all values are.
    mtp: how many tokens further than the next one are predicted, each by a layer of the last stage's with the head once more
      (arXiv 2412.19437, section 2.2).
    """

    devices: int
    tp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int | None = None
    pp: int = 1
    stages: int = 1
    micro_batch: int = 1
    global_batch: int | None = None
    sequence: int = 4096
    sequence_parallel: bool = True
    gathers_again: bool = True
    cp_comm_type: str = "allgather"
    schedule: str = "1f1b"
    recompute: str = "none"
    zero: int = 1
    sum_type: str = "f32"
    state_types: tuple[str, str, str] = ("f32", "f32", "f32")
    sums_beside: bool = False
    gathers_beside: bool = False
    exchange_beside: bool = False
    dispatch: str = "alltoall"
    type: str = "bf16"
    fused_attention: bool = True
    mtp: int = 0
    whole_at_start: bool = False
    casts_masters: bool = False
    products_again: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.etp is None:
            object.__setattr__(self, "etp", self.tp)
        if min(self.devices, self.stages, self.micro_batch, self.sequence) < 1:
            self._check_positive("devices", "stages", "micro_batch", "sequence")
        if self.mtp < 0:
            raise InputError(f"plan: mtp {self.mtp} is negative")
        self._check("tp", "cp")
        self._check("etp", "ep")
        if self.global_batch is None:
            object.__setattr__(self, "global_batch", self.micro_batch * self.dp * self.pp)
        each = self.micro_batch * self.dp
        if self.global_batch % each:
            raise InputError(f"plan: a global batch of {self.global_batch} is not divisible by micro-batches times dp = {each}")
        if self.stages > 1 and self.micro_batches % self.pp:
            raise InputError(f"plan: {self.micro_batches} micro-batches are not divisible by pp {self.pp}, as interleaving asks")
        if self.schedule not in SCHEDULES:
            raise InputError(f'plan: schedule "{self.schedule}" is not one of {list(SCHEDULES)}')
        if self.dispatch not in DISPATCHES:
            raise InputError(f'plan: dispatch "{self.dispatch}" is not one of {list(DISPATCHES)}')
        if unknown := set(self.products_again) - set(AGAIN):
            raise InputError(f"plan: products_again {sorted(unknown)} are not among {[*AGAIN]}")
        if self.recompute not in RECOMPUTED:
            raise InputError(f'plan: recompute "{self.recompute}" is not one of {list(RECOMPUTED)}')

    def _check(self, *names: str) -> None:
        names = (*names, "pp")
        sizes = [getattr(self, name) for name in names]
        if min(sizes) >= 1 and self.devices % math.prod(sizes) == 0:
            return
        self._check_positive(*names)
        listed = " x ".join(f"{name} {size}" for name, size in zip(names, sizes))
        raise InputError(f"plan: {listed} = {math.prod(sizes)} does not divide {self.devices} devices")

    def _check_positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise InputError(f"plan: {name} {getattr(self, name)} is not positive")

    @property
    def width(self) -> int:
        """Bytes of an element of weights, and of what lies between products."""
        return 4 if self.type == "f32" else 2

    def replace(self, **fields: Any) -> Mapping:
        """The same with other values of these fields; etp stays where it is given."""
        return dataclasses.replace(self, **fields)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Mapping:
        """Of all fields, which go together: nothing is checked, which takes most of the time."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made

    def layout(self, node: int | None = None) -> Layout:
        """Of a stage's devices, of which so many are in a node; the layout has nodes where rows are sent to these."""
        if self.stage_devices == 1:
            return Layout()
        attention = {"tp": self.tp, "cp": self.cp, "dp": self.dp}
        experts = {"etp": self.etp, "ep": self.ep, "edp": self.edp}
        places = ("cp", "tp") if self.sequence_parallel else ("cp",)
        return Layout.folded(attention, experts, sp=places, cp_comm_type=self.cp_comm_type,
                             node=node if self.dispatch == "flex" and self.etp * self.ep > (node or 1) else None)  # fmt: skip

    def __str__(self) -> str:
        sizes = [f"{name} {size}" for name in ("tp", "cp", "ep", "pp") if (size := getattr(self, name)) > 1]
        sizes += [f"etp {self.etp}"] if self.etp != self.tp else []
        sizes += [f"{self.stages} stages a device"] if self.stages > 1 else []
        sizes += ["rows once to a node"] if self.dispatch == "flex" else []
        sizes += [f"{self.mtp + 1} tokens predicted"] if self.mtp else []
        return ", ".join([*sizes, f"dp {self.dp}"])
