# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of random ops on random shardings, with what NumPy makes of them, and their runs."""

import os

import numpy as np
from shoal_testing import load_results, mpirun, save_inputs, shoal_run, shoalc

MESHES = [{"x": 2}, {"x": 4}, {"x": 2, "y": 2}, {"x": 3, "y": 2}]
TYPES = {"f32": np.float32, "i32": np.int32, "i1": np.bool_, "i8": np.int8}


class RandomProgram:
    """Random ops whose operands are arguments and whose values are results."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.mesh = MESHES[seed % len(MESHES)]
        order = [int(i) for i in self.random.permutation(self.devices)]
        self.device_order = f", device_ids = {order}" if seed % 3 == 2 else ""
        self.inputs, self.arguments, self.lines = {}, [], []
        self.expected, self.results = {}, []

    @property
    def devices(self):
        return int(np.prod(list(self.mesh.values())))

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def axes(self):
        """The mesh's axes, at times an axis of 4 as two sub-axes."""
        if self.mesh.get("x") == 4 and self.random.random() < 0.3:
            return ['"x":(1)2', '"x":(2)2']
        return [f'"{name}"' for name in self.mesh]

    def sharding(self, rank):
        """Each axis on some dimension or on none; at times the compiler's."""
        if self.random.random() < 0.25:
            return None
        dims = [[] for _ in range(rank)]
        for axis in self.random.permutation(self.axes()):
            place = self.random.integers(-1, rank)
            if place >= 0:
                dims[place].append(axis)
        text = ", ".join("{" + ", ".join(dim) + "}" for dim in dims)
        return f"#shoal.sharding<@mesh, [{text}]>"

    def type(self, array):
        element = next(n for n, t in {**TYPES, "i64": np.int64}.items() if array.dtype == t)
        return "tensor<" + "".join(f"{n}x" for n in array.shape) + element + ">"

    def attributes(self, name, rank):
        sharding = self.sharding(rank)
        extra = f", shoal.sharding = {sharding}" if sharding else ""
        return f'{{shoal.name = "{name}"{extra}}}'

    def array(self, shape, element):
        if element == "i1":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if element == "f32":
            return self.random.integers(-9, 10, shape).astype(np.float32)
        return self.random.integers(-4, 5, shape).astype(TYPES[element])

    def argument(self, array):
        name = f"a{len(self.arguments)}"
        self.inputs[name] = array
        self.arguments.append(
            f"%{name}: {self.type(array)} {self.attributes(name, array.ndim)}"
        )
        return "%" + name

    def add(self, text, operands, expected):
        name = f"r{len(self.results)}"
        types = ", ".join(self.type(self.inputs[o[1:]]) for o in operands)
        kind = self.type(expected)
        self.lines.append(f"  %{name} = {text} : ({types}) -> {kind}")
        self.results.append((name, kind, self.attributes(name, expected.ndim)))
        self.expected[name] = expected

    def text(self):
        axes = ", ".join(f'"{name}" = {size}' for name, size in self.mesh.items())
        types = ",\n    ".join(f"{kind} {attrs}" for _, kind, attrs in self.results)
        values = ", ".join(f"%{name}" for name, _, _ in self.results)
        kinds = ", ".join(kind for _, kind, _ in self.results)
        return "\n".join(
            [f"shoal.mesh @mesh = <[{axes}]{self.device_order}>", ""]
            + ["func.func @main(" + ",\n    ".join(self.arguments) + ")", f"    -> ({types}) {{"]
            + self.lines
            + [f"  return {values} : {kinds}", "}", ""]
        )


def seeds(variable, default):
    """Those of an environment variable's "FIRST:LAST"."""
    first, last = map(int, os.environ.get(variable, default).split(":"))
    return range(first, last)


def check_interpreted(program, directory):
    """Globally and partitioned."""
    source, flags = _save(program, directory)
    for count in (0, program.devices):
        out = directory / f"on{count}"
        shoal_run(source, *flags, f"--devices={count}", "--output-dir", out).expect_success()
        _check_results(program, out, source)


def check_executable(program, directory):
    source, flags = _save(program, directory)
    shoalc(source, directory / "program").expect_success()
    out = directory / "out"
    mpirun(program.devices, directory / "program", *flags, "--output-dir", out).expect_success()
    _check_results(program, out, source)


def _save(program, directory):
    """Its source, and the flags for its inputs."""
    source = directory / "program.mlir"
    source.write_text(program.text())
    return source, save_inputs(directory, program.inputs)


def _check_results(program, directory, source):
    results = load_results(directory, program.expected)
    for (name, expected), line in zip(program.expected.items(), program.lines):
        # Sums of small whole numbers are exact.
        assert np.array_equal(results[name], expected), (
            f"{source}\n{line}\n{results[name]}\n{expected}"
        )
