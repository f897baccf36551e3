# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast graphs are imported. Needs no torch."""

import time

import numpy as np
import pytest

from shoal.torch.graph import Graph, Input, Node, Output, Place, Ref, Result, Type
from shoal.torch.programs import write_program

WIDTH = Type((8, 16), np.dtype("float32"))


def long_graph(count):
    """A network of blocks of four ops: a product, an activation, a sum, a norm."""
    weight = Input("parameter", "w", "w", Type((16, 16), np.dtype("float32")))
    nodes, last = [], "x"
    for block in range(count // 4):
        place = Place("model.py", block, f"layers.{block}")
        ops = [
            ("aten.linear.default", {"input": Ref(last), "weight": Ref("w")}), ("aten.relu.default", {"self": Ref(f"v{block}.0")}),
            ("aten.add.Tensor", {"self": Ref(last), "other": Ref(f"v{block}.1")}),
            ("aten.layer_norm.default", {"input": Ref(f"v{block}.2"), "normalized_shape": [16]}),
        ]  # fmt: skip
        nodes += [Node(op, args, (Result(f"v{block}.{i}", WIDTH),), place) for i, (op, args) in enumerate(ops)]
        last = f"v{block}.3"
    return Graph((weight, Input("user", "x", "x", WIDTH)), tuple(nodes), (Output("user", "y", Ref(last)),))


@pytest.mark.alone
def test_ten_thousand_nodes():
    """Seconds of the processor, the least of three."""
    graph, seconds = long_graph(10_000), []
    for _ in range(3):
        begin = time.process_time()
        program = write_program(graph)
        seconds.append(time.process_time() - begin)
    print(f"{len(graph.nodes)} nodes in {min(seconds):.2f} s")
    assert program.text.count("shoal.relu") == 2500
    assert min(seconds) < 1
