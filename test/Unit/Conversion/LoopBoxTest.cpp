// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conversion/Kernels/LoopBox.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace shoal;

namespace {

using Sizes = llvm::SmallVector<int64_t>;
using Point = llvm::SmallVector<int64_t>;

/// All points of a box, the last loop fastest.
std::vector<Point> pointsOf(llvm::ArrayRef<int64_t> sizes) {
  std::vector<Point> points{Point()};
  for (int64_t size : sizes) {
    std::vector<Point> longer;
    for (const Point &point : points)
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    points = std::move(longer);
  }
  return points;
}

Point apply(AffineMap map, llvm::ArrayRef<int64_t> point) {
  return Point(map.compose(point));
}

/// A subscript of a family of ops, and loops that it is read in.
struct Case {
  const char *name;
  AffineExpr (*subscript)(AffineExpr, AffineExpr);
  Sizes ranges;
  LoopCut outer;
};

class LoopBoxTest : public testing::Test {
protected:
  LoopBoxTest() : builder(&context) {
    context.loadDialect<affine::AffineDialect, func::FuncDialect,
                        linalg::LinalgDialect, memref::MemRefDialect>();
  }

  AffineExpr dim(unsigned number) { return builder.getAffineDimExpr(number); }

  /// Runs `check` on each family.
  void forEachCase(llvm::function_ref<void(const Case &, AffineMap)> check) {
    const Case cases[] = {
        {"elementwise", [](auto i, auto) { return i; }, {12, 3}, LoopCut::Any},
        {"windows", [](auto i, auto k) { return i + k; }, {9, 3}, LoopCut::Any},
        {"windows, stride 2",
         [](auto i, auto k) { return i * 2 + k; },
         {7, 3},
         LoopCut::Any},
        {"windows, stride 3, dilation 2",
         [](auto i, auto k) { return i * 3 + k * 2; },
         {8, 4},
         LoopCut::Any},
        {"select_and_scatter: windows from their end",
         [](auto i, auto k) { return i - k + 2; },
         {9, 3},
         LoopCut::Any},
        {"a convolution's reversed kernel",
         [](auto i, auto k) { return i * 2 - k + 3; },
         {6, 4},
         LoopCut::Any},
        {"reversed rows",
         [](auto i, auto) { return 11 - i; },
         {12, 2},
         LoopCut::Equal},
        {"reversed rows of windows",
         [](auto i, auto k) { return i * -2 + k + 14; },
         {8, 3},
         LoopCut::Equal},
        {"rows from the fourth on",
         [](auto i, auto) { return i + 3; },
         {8, 2},
         LoopCut::Any},
        {"a row in all", [](auto, auto k) { return k; }, {8, 3}, LoopCut::Any},
        {"repeated rows",
         [](auto i, auto) { return i.floorDiv(2); },
         {8, 2},
         LoopCut::None},
    };
    for (const Case &one : cases) {
      SCOPED_TRACE(one.name);
      check(one, AffineMap::get(2, 0, one.subscript(dim(0), dim(1))));
    }
  }

  MLIRContext context;
  OpBuilder builder;
};

TEST_F(LoopBoxTest, reach_is_what_iterations_read) {
  forEachCase([&](const Case &one, AffineMap map) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const Point &point : pointsOf(one.ranges)) {
      low = std::min(low, apply(map, point)[0]);
      high = std::max(high, apply(map, point)[0]);
    }
    EXPECT_EQ(reachOf(map.getResult(0), one.ranges), (Reach{low, high}));
  });
}

TEST_F(LoopBoxTest, a_remainder_reaches_all_rests_where_it_wraps) {
  AffineExpr rest = dim(0) % 4;
  EXPECT_EQ(reachOf(rest, {3}), (Reach{0, 2}));
  EXPECT_EQ(reachOf(rest, {9}), (Reach{0, 3}));
  EXPECT_EQ(reachOf(dim(0).ceilDiv(4), {9}), (Reach{0, 2}));
}

TEST_F(LoopBoxTest, steps_are_even_or_unknown) {
  forEachCase([&](const Case &one, AffineMap map) {
    EXPECT_EQ(cutOf({map}, 0), one.outer);
    std::optional<int64_t> step = stepOf(map.getResult(0), 0);
    EXPECT_EQ(step.has_value(), one.outer != LoopCut::None);
    if (step)
      EXPECT_EQ(apply(map, {1, 0})[0] - apply(map, {0, 0})[0], *step);
  });
}

//===----------------------------------------------------------------------===//
// Parts of ops
//===----------------------------------------------------------------------===//

class EmitBoxTest : public LoopBoxTest {
protected:
  EmitBoxTest() {
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
  }

  /// out(i, k) = in(map(i, k)), in a function of its buffers and an index.
  linalg::GenericOp makeOp(AffineMap map, llvm::ArrayRef<int64_t> ranges) {
    Type f32 = builder.getF32Type();
    int64_t rows = reachOf(map.getResult(0), ranges).high + 1;
    Type types[] = {MemRefType::get({rows}, f32), MemRefType::get(ranges, f32),
                    builder.getIndexType()};
    Location loc = builder.getUnknownLoc();
    OpBuilder::InsertionGuard guard(builder);
    auto func =
        func::FuncOp::create(builder, loc, "f" + std::to_string(numFunctions++),
                             builder.getFunctionType(types, {}));
    builder.setInsertionPointToEnd(func.addEntryBlock());
    AffineMap maps[] = {map, builder.getMultiDimIdentityMap(2)};
    utils::IteratorType kinds[] = {utils::IteratorType::parallel,
                                   utils::IteratorType::parallel};
    auto op = linalg::GenericOp::create(
        builder, loc, TypeRange(), func.getArgument(0), func.getArgument(1),
        maps, kinds, [](OpBuilder &b, Location nested, ValueRange args) {
          linalg::YieldOp::create(b, nested, args[0]);
        });
    func::ReturnOp::create(builder, loc);
    return op;
  }

  /// Iteration `point` of the part, where `begins` is its first one, reads and
  /// writes what that of the whole does, and nothing beside its operands.
  static void expectSame(linalg::LinalgOp whole, linalg::LinalgOp part,
                         llvm::ArrayRef<int64_t> begins) {
    for (const Point &point : pointsOf(part.getStaticLoopRanges()))
      for (unsigned operand = 0; operand < 2; ++operand) {
        Point global(point);
        for (size_t loop = 0; loop < global.size(); ++loop)
          global[loop] += begins[loop];
        Point place = apply(part.getIndexingMapsArray()[operand], point);
        auto type = cast<MemRefType>(part->getOperand(operand).getType());
        Point offsets(place.size(), 0);
        if (auto view =
                part->getOperand(operand).getDefiningOp<memref::SubViewOp>())
          offsets.assign(view.getStaticOffsets().begin(),
                         view.getStaticOffsets().end());
        for (size_t d = 0; d < place.size(); ++d) {
          EXPECT_GE(place[d], 0);
          EXPECT_LT(place[d], type.getDimSize(d));
          place[d] += offsets[d];
        }
        EXPECT_EQ(place, apply(whole.getIndexingMapsArray()[operand], global));
      }
  }

  OwningOpRef<ModuleOp> module;
  int numFunctions = 0;
};

TEST_F(EmitBoxTest, parts_read_what_the_whole_does) {
  forEachCase([&](const Case &one, AffineMap map) {
    if (one.outer == LoopCut::None)
      return;
    linalg::GenericOp whole = makeOp(map, one.ranges);
    OpBuilder b(whole);
    for (int64_t tile = 1; tile <= one.ranges[0]; ++tile)
      for (int64_t begin = 0; begin < one.ranges[0]; begin += tile) {
        LoopBox box = LoopBox::all(whole);
        box.begins[0] = b.getIndexAttr(begin);
        box.sizes[0] = b.getIndexAttr(std::min(tile, one.ranges[0] - begin));
        expectSame(whole, emitBox(b, whole, box), {begin, 0});
      }
    EXPECT_TRUE(succeeded(verify(*module)));
  });
}

TEST_F(EmitBoxTest, both_loops_of_a_window_are_cut) {
  linalg::GenericOp whole =
      makeOp(AffineMap::get(2, 0, dim(0) * 2 - dim(1) + 5), {8, 6});
  OpBuilder b(whole);
  for (int64_t i = 0; i < 8; i += 4)
    for (int64_t k = 0; k < 6; k += 3) {
      LoopBox box = LoopBox::all(whole);
      box.begins = {b.getIndexAttr(i), b.getIndexAttr(k)};
      box.sizes = {b.getIndexAttr(4), b.getIndexAttr(3)};
      expectSame(whole, emitBox(b, whole, box), {i, k});
    }
}

TEST_F(EmitBoxTest, what_is_left_at_the_end_has_a_size_of_its_own) {
  linalg::GenericOp whole =
      makeOp(AffineMap::get(2, 0, dim(0) * 2 + dim(1)), {7, 3});
  OpBuilder b(whole);
  Value begin = whole->getParentOfType<func::FuncOp>().getArgument(2);
  LoopBox box = LoopBox::all(whole);
  box.cut(b, whole.getLoc(), 0, begin, 4, 7);
  auto part = emitBox(b, whole, box);
  EXPECT_TRUE(succeeded(verify(*module)));
  auto view = part->getOperand(0).getDefiningOp<memref::SubViewOp>();
  ASSERT_TRUE(view);
  EXPECT_EQ(view.getType().getDimSize(0), ShapedType::kDynamic);
}

} // namespace
