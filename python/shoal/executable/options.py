# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How to compile: the flags of shoalc."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.executable.native import native

if TYPE_CHECKING:
    from shoal._native import Options


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """The fields are shoalc's flags of the same names; see `shoalc --help`.

    target: "cpu" or "cuda".
    entry: the function to compile; "" for the one public function.
    combine_bytes: the largest message that small collectives are combined to;
      0 combines none (default: 64 KiB).
    max_replicated_bytes: the largest split value that may be gathered whole on
      every device although no annotation asks for it; negative for any
      (default: 1 GiB).
    allow_replicated: names of values that may be gathered whole however large.
    windowed_einsum_bytes: the largest value between an einsum and a collective,
      gathered before or scattered behind it, to hold whole; larger ones become
      loops; 0 for no loops (default: 0).
    windowed_einsum_overlap: such loops of einsums also where they hold no less,
      for targets that send in the background.
    dense_one_hots: einsums with one-hot operands stay products, zeros and all.
    one_hot_gain: multiply-adds that an einsum with one-hot operands must have for
      each element that is moved instead, to be rewritten so (default: 32).
    flops_per_byte: operations that take a device as long as sending one byte, by
      which shardings are chosen; 0 for the target's, with its latency of a
      collective (default: 0).
    machine: shardings are chosen by the seconds of a step on the cluster of this machine
      file; empty for bytes, by the target's own balance.
    repeat_margin: how many times work counts that devices repeat although
      annotations split an operand of it over them; 1 for once, like any other
      (default: 100).
    quick_search: look for shardings from fewer starts: about twice as fast, and now
      and then more is sent.
    lint: say which annotations are dear, and what might stand in their place, which
      change nothing, and which axes of the mesh split nothing.
    removals: say of all that is sent which annotation does away with it at the least
      price, and what is sent then; compiles the program anew for most of it.
    certify: say what no shardings cost less than, and how far the chosen ones are
      from that; the search goes on from there.
    warn_repeated_work: warn where all devices together compute more than so many
      times the operations of an even split; 0 for never (default: 1.05).
    max_repeated_work: the most operations that all devices together may compute,
      in times of an even split; 0 for any number (default: 0).
    memory_limit: the most that a device may hold, as 12GiB: backward passes compute again
      what they would hold beyond it; empty for any number, of a program for CUDA
      with no policy for its chip's: the given machine's, or 83.5 GB of an A100 (sm_80)
      and an H100 (sm_90), 189 of a B200 (sm_100), 285 of a B300 (sm_103).
    remat: what backward passes find saved, the rest being computed again:
      everything, nothing, dots, dots_no_batch, selective, offload or
      names:NAME,...; empty for everything, as far as a memory limit lets.
    remat_collectives: what backward passes send again: save for nothing, params for
      gathered parameters, repeat for what costs least; empty for save.
    cuda_arch: the GPUs to assemble kernels for, or "emulated".
    tf32: matrix products of f32 in TF32, on GPUs.
    overlap_memory: how much more a GPU may hold so that collectives run beside kernels, in parts of all that it
      holds; micro-batches beside each other, `overlap=` of `shoal.train.step`, take 0.3 to 0.6; 0: ops keep their order (default: 0.0625).
    opt_level: how much LLVM optimises kernels of CPUs, 0 to 3; by default as the environment's
      SHOAL_OPT_LEVEL says, or 3.
    check_finite: "all" or True: a step in which an op makes NaN or an infinity ends
      with an error that names the op; "nan": NaN alone. By default as the
      environment's SHOAL_CHECK_FINITE says.
    check_replicas: the same where devices that should hold the same value do not; or
      SHOAL_CHECK_REPLICAS.
    link: objects, archives and libraries with the functions of custom_call.
    save_temps: a folder for what is made on the way; nothing is taken from the
      cache then.
    cache: keep what is compiled, and take what was compiled before, in the folder
      that the environment's SHOAL_CACHE names, "off" for none; by default shoal
      in XDG_CACHE_HOME or ~/.cache.
    """

    target: str = "cpu"
    entry: str = ""
    # Those of the partitioner; None is the compiler's default.
    combine_bytes: int | None = None
    max_replicated_bytes: int | None = None
    allow_replicated: Sequence[str] = ()
    windowed_einsum_bytes: int = 0
    windowed_einsum_overlap: bool = False
    dense_one_hots: bool = False
    one_hot_gain: float | None = None
    flops_per_byte: float = 0
    machine: str | Path = ""
    repeat_margin: float | None = None
    quick_search: bool = False
    lint: bool = False
    removals: bool = False
    certify: bool = False
    warn_repeated_work: float | None = None
    max_repeated_work: float = 0
    memory_limit: str | int = ""  # of bytes
    remat: str = ""
    remat_collectives: str = ""
    cuda_arch: Sequence[str] = ("sm_90",)
    tf32: bool = False
    overlap_memory: float = 0.0625
    opt_level: int | None = None
    check_finite: str | bool = ""
    check_replicas: bool = False
    link: Sequence[str | Path] = field(default=())
    save_temps: str | Path = ""
    cache: bool = True

    def __post_init__(self) -> None:
        if self.target not in ("cpu", "cuda"):
            raise InputError(f'target: expected "cpu" or "cuda" but got {self.target!r}')
        object.__setattr__(self, "memory_limit", str(self.memory_limit))
        object.__setattr__(self, "machine", os.fspath(self.machine))
        if self.opt_level not in (None, 0, 1, 2, 3):
            raise InputError(f"opt_level: expected 0 to 3 but got {self.opt_level!r}")
        if isinstance(self.check_finite, bool):
            object.__setattr__(self, "check_finite", "all" if self.check_finite else "")
        if self.check_finite not in ("", "all", "nan"):
            raise InputError(f'check_finite: expected "all" or "nan" but got {self.check_finite!r}')
        for name in ("allow_replicated", "cuda_arch", "link"):
            if isinstance(getattr(self, name), (str, Path)):
                object.__setattr__(self, name, (getattr(self, name),))

    def to_native(self) -> Options:
        """The same for the compiler in this process."""
        compiler = native()

        options = compiler.Options()
        options.target = getattr(compiler.Target, self.target)
        options.entry = self.entry
        for name in compiler.PARTITION_OPTIONS:
            value = getattr(self, name)
            if value is not None:
                setattr(options, name, value)
        options.cuda_arch = list(self.cuda_arch)
        options.tf32 = self.tf32
        options.overlap_memory = self.overlap_memory
        options.opt_level = self.opt_level
        options.check_finite = self.check_finite
        options.check_replicas = self.check_replicas
        options.link = [str(Path(path).absolute()) for path in self.link]
        options.save_temps = str(self.save_temps)
        options.runtime_directory = str(RUNTIME_DIRECTORY)
        options.cache_directory = compiler.find_cache_directory() if self.cache else ""
        return options


# Where the runtime's libraries are, beside the package's modules. Of a build,
# the modules are links, which __file__ does not follow.
RUNTIME_DIRECTORY = Path(__file__).parents[1] / "lib"
