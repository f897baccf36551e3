# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random gathers, scatters and dynamic slices on random shardings: the global
program, the partitioned one and, for some, the executable against NumPy.

SHOAL_INDEXING_SEEDS=FIRST:LAST runs other seeds.
"""

import indexing_oracle as oracle
import numpy as np
import pytest
from random_program import TYPES, RandomProgram, check_executable, check_interpreted, seeds
from shoal_testing import load_json, load_results, mpirun, save_inputs, shoalc


class Program(RandomProgram):
    def starts(self, shape):
        dtype = self.pick(np.int32, np.int64, np.int8)
        return [np.array(self.random.integers(-3, n + 3), dtype) for n in shape]

    def dynamic_slice(self):
        rank = self.random.integers(1, 4)
        shape = self.random.integers(1, 8, rank)
        sizes = [n if self.random.random() < 0.4 else self.random.integers(1, n + 1) for n in shape]
        x = self.array(shape, self.pick(*TYPES))
        starts = self.starts(shape)
        operands = [self.argument(x)] + [self.argument(s) for s in starts]
        listed = ", ".join(operands[1:])
        self.add(
            f"shoal.dynamic_slice {operands[0]} [{listed}] sizes = {list(map(int, sizes))}",
            operands,
            oracle.dynamic_slice(x, starts, sizes),
        )

    def dynamic_update_slice(self):
        rank = self.random.integers(1, 4)
        shape = self.random.integers(1, 8, rank)
        sizes = [n if self.random.random() < 0.4 else self.random.integers(1, n + 1) for n in shape]
        element = self.pick(*TYPES)
        x, update = self.array(shape, element), self.array(sizes, element)
        starts = self.starts(shape)
        operands = [self.argument(a) for a in (x, update, *starts)]
        listed = ", ".join(operands[2:])
        self.add(
            f"shoal.dynamic_update_slice {operands[0]}, {operands[1]} [{listed}]",
            operands,
            oracle.dynamic_update_slice(x, update, starts),
        )

    def windows(self):
        """Random dimension numbers, window sizes, and shapes of operand, indices
        and windows."""
        random = self.random
        rank = int(random.integers(1, 4))
        shape = [int(n) for n in random.integers(1, 8, rank)]
        roles = [self.pick("collapsed", "window", "full", "batching") for _ in shape]
        collapsed = [d for d in range(rank) if roles[d] == "collapsed"]
        batching = [d for d in range(rank) if roles[d] == "batching"]
        kept = [d for d in range(rank) if roles[d] in ("window", "full")]
        sizes = [1] * rank
        for d in kept:
            sizes[d] = shape[d] if roles[d] == "full" else int(random.integers(1, shape[d] + 1))
        mapped = [d for d in range(rank) if d not in batching and random.random() < 0.8]
        mapped = [int(d) for d in random.permutation(mapped)]
        batch = [shape[d] for d in batching] + [
            int(n) for n in random.integers(1, 8, random.integers(0, 3))
        ]
        order = [int(i) for i in random.permutation(len(batch))]
        indices = [batch[i] for i in order]
        indices_batching = [order.index(i) for i in range(len(batching))]
        if len(mapped) == 1 and random.random() < 0.5:
            vector = len(indices)
        else:
            vector = int(random.integers(0, len(indices) + 1))
            indices_batching = [d + (d >= vector) for d in indices_batching]
            indices.insert(vector, len(mapped))
        batch_sizes = [n for d, n in enumerate(indices) if d != vector]
        out_rank = len(kept) + len(batch_sizes)
        offset = sorted(int(d) for d in random.permutation(out_rank)[: len(kept)])
        out, batches, windows = [], iter(batch_sizes), iter(kept)
        for d in range(out_rank):
            out.append(sizes[next(windows)] if d in offset else next(batches))
        numbers = oracle.Windows(offset, collapsed, batching, indices_batching, mapped, vector)
        return numbers, sizes, shape, indices, out

    def indices(self, shape):
        dtype = self.pick(np.int32, np.int64, np.int8)
        return self.random.integers(-2, 9, shape).astype(dtype)

    def gather(self):
        w, sizes, shape, indices_shape, out = self.windows()
        x, indices = self.array(shape, self.pick(*TYPES)), self.indices(indices_shape)
        operands = [self.argument(x), self.argument(indices)]
        batching = ""
        if w.operand_batching:
            batching = (
                f"operand_batching_dims = {w.operand_batching} "
                f"start_indices_batching_dims = {w.indices_batching} "
            )
        self.add(
            f"shoal.gather {', '.join(operands)} offset_dims = {w.offset} "
            f"collapsed_slice_dims = {w.collapsed} {batching}"
            f"start_index_map = {w.index_map} index_vector_dim = {w.vector_dim} "
            f"slice_sizes = {sizes}",
            operands,
            oracle.gather(x, indices, w, sizes, out),
        )

    def scatter(self):
        w, _, shape, indices_shape, out = self.windows()
        element = self.pick(*TYPES)
        kinds = {"i1": ("and", "or"), "f32": ("sum", "prod", "max", "min")}
        kind = self.pick(*kinds.get(element, tuple(oracle.COMBINERS)), "overwrite", "overwrite")
        x, indices, updates = self.array(shape, element), self.indices(indices_shape), self.array(out, element)
        if kind == "prod":  # stays exact in f32
            x, updates = np.sign(x), np.sign(updates)
        operands = [self.argument(a) for a in (x, indices, updates)]
        batching = ""
        if w.operand_batching:
            batching = (
                f"input_batching_dims = {w.operand_batching} "
                f"scatter_indices_batching_dims = {w.indices_batching} "
            )
        with np.errstate(over="ignore"):
            expected = oracle.scatter(kind, x, indices, updates, w)
        self.add(
            f"shoal.scatter {kind} {', '.join(operands)} update_window_dims = {w.offset} "
            f"inserted_window_dims = {w.collapsed} {batching}"
            f"scatter_dims_to_operand_dims = {w.index_map} index_vector_dim = {w.vector_dim}",
            operands,
            expected,
        )


OPS = ["dynamic_slice", "dynamic_update_slice", "gather", "gather", "scatter", "scatter"]


def random_program(seed):
    program = Program(seed)
    for _ in range(6):
        getattr(program, program.pick(*OPS))()
    return program


@pytest.mark.parametrize("seed", seeds("SHOAL_INDEXING_SEEDS", "0:24"))
def test_random_ops_on_random_shardings(seed, tmp_path):
    check_interpreted(random_program(seed), tmp_path)


@pytest.mark.parametrize("seed", range(1000, 1004))
def test_random_ops_as_an_executable(seed, tmp_path):
    check_executable(random_program(seed), tmp_path)


EMBEDDING = """
shoal.mesh @mesh = <["x" = 4]>
func.func @main(
    %table: tensor<1001x64xf32> {{shoal.name = "table", shoal.sharding = #shoal.sharding<@mesh, [{{"x"}}, {{}}]>}},
    %tokens: tensor<30xi32> {{shoal.name = "tokens"}})
    -> (tensor<30x64xf32> {{shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{{{split}}}, {{}}]>}}) {{
  %y = shoal.gather %table, %tokens offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<1001x64xf32>, tensor<30xi32>) -> tensor<30x64xf32>
  return %y : tensor<30x64xf32>
}}
"""


@pytest.mark.parametrize("split", ["", '"x"'])
def test_embeddings_split_by_vocabulary_send_results_alone(split, tmp_path):
    """The result's ring reduction, of 4 blocks of 8 rows where it is scattered, and no byte
    more: the table never moves."""
    source = tmp_path / "embedding.mlir"
    source.write_text(EMBEDDING.format(split=split))
    stats, ran = tmp_path / "static.json", tmp_path / "ran.json"
    shoalc(source, tmp_path / "embedding", "--stats", stats).expect_success()
    random = np.random.default_rng(1)
    table = random.standard_normal((1001, 64)).astype(np.float32)
    tokens = random.integers(0, 1001, 30).astype(np.int32)
    flags = save_inputs(tmp_path, {"table": table, "tokens": tokens})
    mpirun(
        4, tmp_path / "embedding", *flags, "--output-dir", tmp_path, "--stats", ran
    ).expect_success()
    row = 64 * 4
    expected = {"reduce_scatter": 3 * 8 * row} if split else {"all_reduce": 2 * 30 * row * 3 // 4}
    assert load_json(stats)["bytes_sent_per_device"] == expected
    assert load_json(ran)["bytes_sent_per_device"] == expected
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.take(table, tokens, axis=0))
