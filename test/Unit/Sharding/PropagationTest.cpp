// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Propagation.h"
#include "MoeProgram.h"
#include <gtest/gtest.h>

using namespace shoal;
using namespace shoal::testing;

namespace {

Mesh mesh2x4() { return makeMesh({{"x", 2}, {"y", 4}}); }

std::string hintOf(const ProgramBuilder &b, unsigned value) {
  return toString(propagateHints(b.problem).sharding(value), b.problem.mesh);
}

TEST(Propagation, ForwardThroughElementwise) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{0}, {1}}));
  unsigned y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  EXPECT_EQ(hintOf(b, y), R"(<@mesh, [{"x"}, {"y"}]>)");
}

TEST(Propagation, BackwardFromAProgramResult) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16});
  unsigned y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  b.result(y, closed({{}, {1, 0}}));
  EXPECT_EQ(hintOf(b, x), R"(<@mesh, [{}, {"y", "x"}]>)");
}

TEST(Propagation, AnnotationWorksBackwardsToo) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16});
  b.result(b.constrain(x, closed({{1}, {}})));
  EXPECT_EQ(hintOf(b, x), R"(<@mesh, [{"y"}, {}]>)");
}

TEST(Propagation, ThroughContraction) {
  ProgramBuilder b(mesh2x4());
  unsigned a = b.argument({8, 16}, closed({{0}, {}}));
  unsigned w = b.argument({16, 32}, closed({{}, {1}}));
  unsigned c = b.einsum("IK,KJ->IJ", {a, w});
  EXPECT_EQ(hintOf(b, c), R"(<@mesh, [{"x"}, {"y"}]>)");
}

TEST(Propagation, ContractedFactorReachesTheOtherOperand) {
  ProgramBuilder b(mesh2x4());
  unsigned a = b.argument({8, 16}, closed({{}, {1}}));
  unsigned w = b.argument({16, 32});
  b.result(b.einsum("IK,KJ->IJ", {a, w}));
  EXPECT_EQ(hintOf(b, w), R"(<@mesh, [{"y"}, {}]>)");
}

TEST(Propagation, NeverOverwritesAnAnnotation) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{0}, {}}));
  unsigned whole = b.constrain(x, closed({{}, {}}));
  unsigned y = b.elementwise({whole}, ProgramBuilder::Nonlinear);
  b.result(y);
  EXPECT_EQ(hintOf(b, whole), "<@mesh, [{}, {}]>");
  EXPECT_EQ(hintOf(b, y), "<@mesh, [{}, {}]>");
}

TEST(Propagation, OpenDimensionsTakeMoreAndClosedOnesDoNot) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{0}, {1}}));
  ShardingConstraint open = closed({{}, {}});
  open.dims[0].open = true;
  unsigned y = b.constrain(x, open);
  EXPECT_EQ(hintOf(b, y), R"(<@mesh, [{"x"}, {}]>)");
  open.replicated = {0};
  ProgramBuilder c(mesh2x4());
  unsigned z = c.constrain(c.argument({8, 16}, closed({{0}, {1}})), open);
  EXPECT_EQ(hintOf(c, z), "<@mesh, [{}, {}]>");
}

TEST(Propagation, UserPrioritiesGoFirst) {
  // Both operands of the sum want x, on different dimensions.
  auto build = [](int64_t first, int64_t second) {
    ProgramBuilder b(mesh2x4());
    ShardingConstraint rows = closed({{0}, {}}), columns = closed({{}, {0}});
    rows.dims[0].priority = first;
    columns.dims[1].priority = second;
    unsigned a = b.argument({8, 16}, rows), c = b.argument({8, 16}, columns);
    unsigned sum = b.elementwise({a, c}, ProgramBuilder::Additive);
    return hintOf(b, sum);
  };
  EXPECT_EQ(build(0, 0), R"(<@mesh, [{"x"}, {}]>)") << "the first operand";
  EXPECT_EQ(build(1, 0), R"(<@mesh, [{}, {"x"}]>)");
  EXPECT_EQ(build(0, 1), R"(<@mesh, [{"x"}, {}]>)");
}

TEST(Propagation, ElementwiseGoesBeforeContraction) {
  // y = exp(a . w) is annotated behind, on J; a has the same axis on I.
  ProgramBuilder b(mesh2x4());
  unsigned a = b.argument({8, 16}, closed({{0}, {}}));
  unsigned w = b.argument({16, 32});
  unsigned c = b.einsum("IK,KJ->IJ", {a, w});
  unsigned y = b.elementwise({c}, ProgramBuilder::Nonlinear);
  b.result(y, closed({{}, {0}}));
  EXPECT_EQ(hintOf(b, c), R"(<@mesh, [{}, {"x"}]>)");
}

TEST(Propagation, LeavesFactorsThatMustStayWhole) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{0}, {1}}));
  unsigned y = b.cumulative(x, 1);
  EXPECT_EQ(hintOf(b, y), R"(<@mesh, [{"x"}, {}]>)");
}

TEST(Propagation, DoesNotSplitBeyondTheRows) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({3}, closed({{1}}));
  unsigned y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  EXPECT_EQ(hintOf(b, y), "<@mesh, [{}]>") << "4 shards of 3 rows";
}

TEST(Propagation, ReshapeHandsAxesToTheFactorThatTheySplit) {
  // [12] -> [3, 4]: the factor 3 is the major one.
  Mesh mesh = makeMesh({{"a", 3}, {"b", 2}});
  ProgramBuilder b(mesh);
  unsigned x = b.argument({12}, closed({{0, 1}}));
  AssignmentProblem::Op op;
  op.rule.factors = {{3, FactorKind::Parallel, {}, true},
                     {4, FactorKind::Parallel, {}, true}};
  op.rule.operands = {{{0, 1}}};
  op.rule.results = {{{0}, {1}}};
  op.operands = {x};
  op.results = {1};
  b.problem.ops.push_back(op);
  b.problem.values.push_back({{3, 4}, 4});
  EXPECT_EQ(hintOf(b, 1), R"(<@mesh, [{"a"}, {"b"}]>)");
}

TEST(Propagation, OriginsListTheOpsOnTheWay) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{0}, {}}));        // op 0
  unsigned e = b.elementwise({x}, ProgramBuilder::Nonlinear); // op 1
  unsigned r = b.reduce(e, 1, ReduceKind::Sum);               // op 2
  Hints hints = propagateHints(b.problem);
  EXPECT_EQ(hints.chain(r, 0), (llvm::SmallVector<unsigned>{0, 1, 2}));
  EXPECT_EQ(hints.chain(x, 0), (llvm::SmallVector<unsigned>{0}));
  EXPECT_EQ(hints.at(r, 0).annotation, 0u);
  EXPECT_EQ(hints.at(r, 1).state, AxisHint::Unknown);
  EXPECT_TRUE(hints.chain(r, 1).empty());
}

TEST(Propagation, OriginOfABackwardHintStartsAtTheResult) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8});                               // op 0
  unsigned e = b.elementwise({x}, ProgramBuilder::Nonlinear); // op 1
  b.result(e, closed({{0}}));                                 // op 2
  EXPECT_EQ(propagateHints(b.problem).chain(x, 0),
            (llvm::SmallVector<unsigned>{2, 1}));
}

TEST(AxisOrder, FollowsTheAnnotations) {
  Mesh mesh = makeMesh({{"a", 2}, {"b", 2}, {"c", 2}});
  ProgramBuilder b(mesh);
  EXPECT_EQ(preferredAxisOrder(b.problem), (AxisList{0, 1, 2}));
  b.argument({8}, closed({{2, 0}}));
  EXPECT_EQ(preferredAxisOrder(b.problem), (AxisList{2, 0, 1}));
  b.argument({8}, closed({{0, 2}}));
  EXPECT_EQ(preferredAxisOrder(b.problem), (AxisList{2, 0, 1}))
      << "the first one wins";
  b.argument({8}, closed({{1}}));
  EXPECT_EQ(preferredAxisOrder(b.problem), (AxisList{1, 2, 0}))
      << "as in the mesh, where all are named";
}

TEST(AxisOrder, AxesThatAreNamedGoFirst) {
  ProgramBuilder b(makeMesh({{"a", 2}, {"b", 2}, {"c", 2}}));
  b.argument({8, 8}, closed({{}, {2}}));
  EXPECT_EQ(preferredAxisOrder(b.problem), (AxisList{2, 0, 1}));
}

TEST(Propagation, MoeLayerGetsBothSidesOfTheDispatch) {
  MoeProgram moe(MoeLayout::single(8), MoeAnnotations::Min);
  Hints hints = propagateHints(moe.problem);
  EXPECT_EQ(toString(hints.sharding(moe.dispatched), moe.problem.mesh),
            R"(<@mesh, [{"expert"}, {}, {}, {}]>)");
  EXPECT_EQ(toString(hints.sharding(moe.output), moe.problem.mesh),
            R"(<@mesh, [{"expert"}, {}, {}]>)");
}

} // namespace
