# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of torch's own table of ops, `op_db`, through export, import and the interpreter, beside torch: each is right, or refused by name.

    .venv/bin/python test/benchmarks/torch_op_db.py [--types float32 int64] [--samples N] [--part I N] [NAME ...]

Without names ops of autograd's tests and linear algebra that export does not take are tried, too. Prints what is neither right nor refused,
and counts. Random ops have the right shapes and types, no equal numbers. Needs torch, and its tests' package expecttest.
"""

import argparse
import itertools
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("build/release/python", "python", "test/python/support")]

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch_comparing import array_of  # noqa: E402
from torch_import_testing import differences, run  # noqa: E402

import shoal.torch as st  # noqa: E402
from shoal.errors import ShoalError, TraceError, UnsupportedError  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402

RANDOM = ("rand", "normal", "bernoulli", "multinomial", "dropout", "exponential", "uniform", "cauchy", "geometric", "log_normal", "empty")


class Sample(torch.nn.Module):
    """A call of an op; tensors among its arguments are the program's."""

    def __init__(self, op, args, kwargs):
        super().__init__()
        self._op = op
        self._leaves, self._tree = torch.utils._pytree.tree_flatten((args, kwargs))
        self.tensors = [leaf.detach() for leaf in self._leaves if isinstance(leaf, torch.Tensor)]

    def forward(self, *tensors):
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, self._tree)
        return self._op(*args, **kwargs)


def tried(name, sample):
    """"right", "refused", "not exported", or what is wrong."""
    try:
        graph = st.from_fx(st.export(sample, tuple(sample.tensors)))
        program = write_program(graph)
    except UnsupportedError:
        return "refused"
    except TraceError:
        return "not exported"
    users = [given.name for given in graph.inputs if given.kind == "user" and given.type is not None]
    inputs = dict(zip(users, (array_of(tensor.clone()) for tensor in sample.tensors), strict=True))
    inputs |= {given.name: array_of(graph.state[given.name]) for given in graph.inputs if given.kind != "user"}
    inputs |= {"seed": torch.zeros(2, dtype=torch.int32).numpy()} if "seed" in program.inputs else {}
    results = torch.utils._pytree.tree_leaves(sample(*[tensor.clone() for tensor in sample.tensors]))
    names = [output.name for output in graph.outputs if output.kind == "user"]
    expected = {name: array_of(value) for name, value in zip(names, results) if isinstance(value, torch.Tensor) and name in program.outputs}
    actual = run(program.text, inputs, program.outputs)
    if any(word in name for word in RANDOM):
        same = all((actual[key].shape, actual[key].dtype) == (value.shape, value.dtype) for key, value in expected.items())
        return "right" if same else "wrong: shapes or types of random numbers"
    wrong = differences(actual, expected)
    return f"wrong: {wrong[0]}" if wrong else "right"


def samples_of(op, dtype, count):
    if dtype not in op.supported_dtypes("cpu"):
        return
    for given in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), count):
        yield Sample(op.op, (given.input, *given.args), given.kwargs)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--types", nargs="+", default=["float32", "bfloat16", "int64", "bool"])
    options.add_argument("--samples", type=int, default=2)
    options.add_argument("--part", type=int, nargs=2, default=(0, 1), help="every N-th op, from the I-th on")
    options = options.parse_args()
    warnings.filterwarnings("ignore")
    counts = {}
    part, parts = options.part
    chosen = [op for op in op_db if not options.names or op.name in options.names][part::parts]
    for op, kind in itertools.product(chosen, options.types):
        for number, sample in enumerate(samples_of(op, getattr(torch, kind), options.samples)):
            torch.manual_seed(0)
            try:
                result = tried(op.name, sample)
            except Exception as error:
                is_ours = isinstance(error, ShoalError)
                result = f"failed: {'' if is_ours else type(error).__name__ + ': '}{(str(error) or '-').splitlines()[0]}"
            counts[result.partition(":")[0]] = counts.get(result.partition(":")[0], 0) + 1
            if result not in ("right", "refused", "not exported"):
                print(f"{op.name} {op.variant_test_name} {kind} sample {number}: {result[:400]}", flush=True)
    print(f"{len(chosen)} ops: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return counts.get("wrong", 0) + counts.get("failed", 0)


if __name__ == "__main__":
    sys.exit(bool(main()))
