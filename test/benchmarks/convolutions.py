# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds of single convolutions and of both their gradients on one core, and what the programs hold: torch, and Shoal.

    taskset -c 0 .venv/bin/python test/benchmarks/convolutions.py [--bin FOLDER] [--repeat N] [NAME ...]

Sizes on both sides of what decides how patches lie: rows, places, features or groups last, strides, dilation, groups, odd sizes. Each as
"bf01" and, with "/last", as "b01f". --bin takes shoal-opt and shoalc of another build. Needs torch.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

ROOT = Path(__file__).resolve().parents[2]


class Convolution(NamedTuple):
    """Image [batch, features, rows, columns], kernel [out, features in a group, size, size]; padded to as many rows, over the stride."""

    image: tuple[int, int, int, int]
    out: int
    size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    @property
    def padding(self):
        return self.dilation * (self.size - 1) // 2

    @property
    def kernel(self):
        return self.out, self.image[1] // self.groups, self.size, self.size


NAMES = {
    "3x3": Convolution((4, 64, 16, 16), 64, 3), "small": Convolution((4, 128, 8, 8), 128, 3), "strides": Convolution((4, 64, 16, 16), 128, 3, 2),
    "7x7": Convolution((4, 3, 64, 64), 32, 7, 2), "1x1": Convolution((4, 256, 14, 14), 64, 1), "1x1-strides": Convolution((4, 64, 16, 16), 128, 1, 2),
    "5x5": Convolution((8, 16, 32, 32), 24, 5), "batch": Convolution((32, 64, 16, 16), 64, 3), "dilated": Convolution((4, 48, 20, 20), 48, 3, 1, 2),
    "groups": Convolution((4, 64, 16, 16), 64, 3, groups=8), "depthwise": Convolution((4, 64, 32, 32), 64, 3, groups=64),
    "large": Convolution((1, 32, 112, 112), 32, 3), "odd": Convolution((3, 7, 13, 11), 9, 3), "suite": Convolution((8, 32, 64, 64), 32, 3),
}  # fmt: skip


def text_of(one, last, result):
    def ordered(shape, order):
        return f"tensor<{'x'.join(str(shape[d]) for d in (order if last else range(4)))}xf32>"

    x, k, y = ordered(one.image, (0, 2, 3, 1)), ordered(one.kernel, (2, 3, 1, 0)), ordered(result, (0, 2, 3, 1))
    spec = "b01f,01io->b01f" if last else "bf01,oi01->bf01"
    stride, padding, dilation = ([n, n] for n in (one.stride, one.padding, one.dilation))
    return f"""func.func @f(%x: {x}, %k: {k}) -> {y} {{
  %y = shoal.convolution "{spec}" %x, %k strides = {stride} low = {padding} high = {padding} window_dilation = {dilation}
     {{feature_group_count = {one.groups} : i64}} : {x}, {k} -> {y}
  return %y : {y}
}}
"""


def gradient_alone(text):
    """Of the function and its derivative, this without the function's result."""
    head, body = text.split("@f_vjp", 1)
    returned = re.search(r"return %\w+, (%\w+) : \S+, (\S+)\n", body)
    body = body.replace(returned[0], f"return {returned[1]} : {returned[2]}\n")
    return f"{head}@f_vjp" + re.sub(r"-> \(tensor<[^>]*>, ", "-> (", body, count=1)


def shoals(folder, tools, text, operand, repeat):
    """Microseconds and bytes held of the convolution, or of the gradient of an operand."""
    program, entry = folder / "program.mlir", "f" if operand is None else "f_vjp"
    program.write_text(text)
    if operand is not None:
        flag = f"--shoal-differentiate=function=f mode=vjp wrt={operand}"
        made = subprocess.run([tools / "shoal-opt", program, flag, "--canonicalize"], capture_output=True, text=True, check=True)
        program.write_text(gradient_alone(made.stdout))
    subprocess.run([tools / "shoalc", program, f"--entry={entry}", "-o", folder / "program"], check=True)
    arguments = ["--random-inputs", "1", "--warmup", "3", "--repeat", str(repeat), "--threads", "1", "--stats", folder / "stats.json"]
    subprocess.run([folder / "program", *arguments], capture_output=True, check=True)
    stats = json.loads((folder / "stats.json").read_text())
    return 1e6 * stats["step_seconds"]["min"], stats["peak_bytes_per_device"]


def torchs(call, repeat):
    best = float("inf")
    for number in range(repeat + 3):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin) if number >= 3 else best
    return 1e6 * best


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", default=[name + end for end in ("", "/last") for name in NAMES])
    options.add_argument("--bin", type=Path, default=ROOT / "build/release/bin")
    options.add_argument("--repeat", type=int, default=60)
    options = options.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    for name in options.names:
        one, last = NAMES[name.split("/")[0]], name.endswith("/last")
        memory = torch.channels_last if last else torch.contiguous_format
        x, k = (torch.randn(shape).to(memory_format=memory) for shape in (one.image, one.kernel))
        rest = [one.stride] * 2, [one.padding] * 2, [one.dilation] * 2
        y = torch.nn.functional.conv2d(x, k, None, *rest, one.groups)
        calls = {None: lambda: torch.nn.functional.conv2d(x, k, None, *rest, one.groups)}
        for operand in (0, 1):
            mask = [operand == 0, operand == 1, False]
            calls[operand] = lambda m=mask: torch.ops.aten.convolution_backward(y, x, k, None, *rest, False, [0, 0], one.groups, m)
        for operand, call in calls.items():
            with tempfile.TemporaryDirectory() as folder:
                ours, held = shoals(Path(folder), options.bin, text_of(one, last, y.shape), operand, options.repeat)
            theirs = torchs(call, options.repeat)
            what = {None: "forward", 0: "gradient of the operand", 1: "gradient of the kernel"}[operand]
            print(f"{name} {what}: torch {theirs:.0f} us, shoal {ours:.0f} us, {ours / theirs:.2f}; {held} bytes held", flush=True)


if __name__ == "__main__":
    sys.exit(main())
