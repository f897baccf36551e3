// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs as assignment problems, for tests: what the extraction makes of IR,
// written by hand.

#ifndef SHOAL_TEST_UNIT_SHARDING_PROGRAMBUILDER_H
#define SHOAL_TEST_UNIT_SHARDING_PROGRAMBUILDER_H

#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Sharding/Assignment.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace shoal::testing {

inline Mesh
makeMesh(std::initializer_list<std::pair<const char *, int64_t>> axes) {
  Mesh mesh{"mesh", {}, {}};
  for (auto [name, size] : axes)
    mesh.axes.push_back({name, 1, size, size});
  return mesh;
}

/// Closed dimensions over these axes.
inline ShardingConstraint closed(std::initializer_list<AxisList> dims) {
  ShardingConstraint constraint;
  for (const AxisList &axes : dims)
    constraint.dims.push_back({axes});
  return constraint;
}

class ProgramBuilder {
public:
  using Value = unsigned;
  using Shape = llvm::SmallVector<int64_t>;

  explicit ProgramBuilder(Mesh mesh) { problem.mesh = std::move(mesh); }

  AssignmentProblem problem;

  Value argument(Shape shape,
                 std::optional<ShardingConstraint> constraint = {}) {
    FactorRule rule = FactorRuleBuilder::elementwise(shape, 0);
    Value value = add(std::move(rule), {}, shape);
    problem.ops.back().constraint = std::move(constraint);
    return value;
  }

  /// Like a splat constant or an iota: made in any sharding.
  Value constant(Shape shape) { return argument(std::move(shape)); }

  Value constrain(Value value, ShardingConstraint constraint) {
    Shape shape = shapeOf(value);
    Value result =
        add(FactorRuleBuilder::elementwise(shape, 1), {value}, shape);
    problem.ops.back().constraint = std::move(constraint);
    return result;
  }

  void result(Value value, std::optional<ShardingConstraint> constraint = {}) {
    AssignmentProblem::Op op;
    op.rule = FactorRuleBuilder::elementwise(shapeOf(value), 1, 0);
    op.operands = {value};
    op.constraint = std::move(constraint);
    problem.ops.push_back(std::move(op));
  }

  enum Linearity { Nonlinear, Additive, Multiplicative };
  Value elementwise(llvm::ArrayRef<Value> operands, Linearity linearity) {
    Shape shape = shapeOf(operands[0]);
    FactorRule rule = FactorRuleBuilder::elementwise(shape, operands.size());
    if (linearity == Additive)
      rule.linearIn.push_back(
          llvm::to_vector<2>(llvm::seq<unsigned>(operands.size())));
    if (linearity == Multiplicative)
      for (unsigned i = 0; i < operands.size(); ++i)
        rule.linearIn.push_back({i});
    return add(std::move(rule), operands, shape);
  }

  Value einsum(llvm::StringRef text, llvm::ArrayRef<Value> operands);
  Value reduce(Value value, unsigned dim, ReduceKind kind);
  /// Inserts a dimension of `size` at `dim`.
  Value broadcast(Value value, unsigned dim, int64_t size);
  /// A scan: `dim` stays whole.
  Value cumulative(Value value, unsigned dim);

  /// Puts a row, of the shape without the first dimension, into `rows`; where
  /// is of no matter.
  Value writeRow(Value rows, Value row);
  /// The row at some place, of the shape without the first dimension.
  Value readRow(Value rows);

  /// What a loop carries: the value inside, and the result behind it.
  std::pair<Value, Value> loop(Value init) {
    Shape shape = shapeOf(init);
    Value inside =
        add(FactorRuleBuilder::elementwise(shape, 2, 2), {init}, shape);
    problem.values.push_back({shape, 4});
    AssignmentProblem::Op &join = problem.ops.back();
    join.rule.linearIn.push_back({0, 1});
    join.results.push_back(inside + 1);
    loops[inside] = lastOp();
    return {inside, inside + 1};
  }
  /// The next value of what `inside` is in a loop.
  void yield(Value inside, Value next) {
    problem.ops[loops.at(inside)].operands.push_back(next);
  }

  const Shape &shapeOf(Value value) const {
    return problem.values[value].shape;
  }
  unsigned lastOp() const { return problem.ops.size() - 1; }

private:
  /// Joins by what they are inside their loop.
  std::map<Value, unsigned> loops;

  Value add(FactorRule rule, llvm::ArrayRef<Value> operands, Shape shape,
            AssignmentProblem::Priority priority =
                AssignmentProblem::Priority::PassThrough) {
    AssignmentProblem::Op op;
    op.rule = std::move(rule);
    op.operands.assign(operands.begin(), operands.end());
    op.results = {unsigned(problem.values.size())};
    op.priority = priority;
    problem.ops.push_back(std::move(op));
    problem.values.push_back({std::move(shape), 4});
    return problem.values.size() - 1;
  }
};

inline ProgramBuilder::Value
ProgramBuilder::einsum(llvm::StringRef text, llvm::ArrayRef<Value> operands) {
  EinsumSpec spec = EinsumSpec::of(text);
  std::map<char, int64_t> sizes;
  for (auto [term, operand] : llvm::zip_equal(spec.inputs, operands))
    for (auto [letter, size] : llvm::zip_equal(term, shapeOf(operand)))
      sizes[letter] = size;
  auto dimOf = [](llvm::ArrayRef<char> term, char letter) -> int64_t {
    auto *it = llvm::find(term, letter);
    return it == term.end() ? -1 : it - term.begin();
  };
  llvm::SmallVector<int64_t> ranks;
  for (auto &term : spec.inputs)
    ranks.push_back(term.size());
  FactorRuleBuilder builder(ranks, {int64_t(spec.result.size())});
  double flops = 2;
  for (auto [letter, size] : sizes) {
    llvm::SmallVector<int64_t> dims;
    for (auto &term : spec.inputs)
      dims.push_back(dimOf(term, letter));
    int64_t out = dimOf(spec.result, letter);
    if (out >= 0)
      builder.addFactor(size, dims, {out});
    else
      builder.addFactor(size, dims, {-1}, FactorKind::Reduction,
                        ReduceKind::Sum);
    flops *= size;
  }
  for (unsigned i = 0; i < operands.size(); ++i)
    builder.linearIn({i});
  Shape shape;
  for (char letter : spec.result)
    shape.push_back(sizes[letter]);
  return add(builder.flops(flops).build(), operands, shape,
             AssignmentProblem::Priority::Contraction);
}

inline ProgramBuilder::Value ProgramBuilder::reduce(Value value, unsigned dim,
                                                    ReduceKind kind) {
  Shape from = shapeOf(value), to = from;
  to.erase(to.begin() + dim);
  FactorRuleBuilder builder({int64_t(from.size())}, {int64_t(to.size())});
  for (int64_t d = 0; d < int64_t(from.size()); ++d)
    if (d == dim)
      builder.addFactor(from[d], {d}, {-1}, FactorKind::Reduction, kind);
    else
      builder.addFactor(from[d], {d}, {d < dim ? d : d - 1});
  if (kind == ReduceKind::Sum)
    builder.linearIn({0});
  return add(builder.build(), {value}, to,
             AssignmentProblem::Priority::Restructuring);
}

inline ProgramBuilder::Value
ProgramBuilder::broadcast(Value value, unsigned dim, int64_t size) {
  Shape from = shapeOf(value), to = from;
  to.insert(to.begin() + dim, size);
  FactorRuleBuilder builder({int64_t(from.size())}, {int64_t(to.size())});
  for (int64_t d = 0; d < int64_t(to.size()); ++d)
    if (d == dim)
      builder.addFactor(size, {-1}, {d});
    else
      builder.addFactor(to[d], {d < dim ? d : d - 1}, {d});
  return add(builder.linearIn({0}).build(), {value}, to,
             AssignmentProblem::Priority::Restructuring);
}

inline ProgramBuilder::Value ProgramBuilder::writeRow(Value rows, Value row) {
  Value update = broadcast(row, 0, 1);
  Shape shape = shapeOf(rows);
  int64_t rank = shape.size();
  FactorRuleBuilder builder({rank, rank}, {rank});
  builder.addFactor(shape[0], {0, -1}, {0});
  builder.addFactor(1, {-1, 0}, {-1}, FactorKind::Replicated);
  for (int64_t d = 1; d < rank; ++d)
    builder.addFactor(shape[d], {d, d}, {d});
  return add(builder.linearIn({0, 1}).writes(1).build(), {rows, update}, shape);
}

inline ProgramBuilder::Value ProgramBuilder::readRow(Value rows) {
  Shape shape = shapeOf(rows), cut = shape;
  int64_t rank = shape.size();
  cut[0] = 1;
  FactorRuleBuilder builder({rank}, {rank});
  builder.addFactor(shape[0], {0}, {-1}, FactorKind::Reduction,
                    ReduceKind::Sum);
  builder.addFactor(1, {-1}, {0});
  for (int64_t d = 1; d < rank; ++d)
    builder.addFactor(shape[d], {d}, {d});
  Value row = add(builder.linearIn({0}).build(), {rows}, cut);
  return reduce(row, 0, ReduceKind::Sum);
}

inline ProgramBuilder::Value ProgramBuilder::cumulative(Value value,
                                                        unsigned dim) {
  Shape shape = shapeOf(value);
  FactorRule rule = FactorRuleBuilder::elementwise(shape, 1);
  rule.factors[dim].kind = FactorKind::Replicated;
  rule.linearIn.push_back({0});
  return add(std::move(rule), {value}, shape);
}

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_PROGRAMBUILDER_H
