// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SimplifyPatterns.h"
#include "SpmdFunctions.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Machine/StepTime.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

namespace shoal {
#define GEN_PASS_DEF_SPLITEXCHANGES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-split-exchanges"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

/// Of what one exchange takes: less is not worth a second message buffer, nor
/// surer than the prices of the copies between the steps.
static constexpr double kLeastGain = 0.05;

static PassCounter numSplit(DEBUG_TYPE, "Exchanges made in two steps");

namespace {

/// The axes of an exchange in two parts: its second step goes over those that
/// leave units of a level, its first one over those within.
struct TwoSteps {
  AxisRefs major, minor;
  Price price;
};

class ExchangeSplitter {
public:
  ExchangeSplitter(spmd::AllToAllOp op, const Cluster &cluster)
      : op(op), mesh(meshOf(op)), cluster(cluster) {}

  /// Nothing where one exchange takes no longer.
  std::optional<TwoSteps> decide();
  void emit(const TwoSteps &steps);

private:
  bool isEven();
  std::optional<GroupCounts> countsOf(ArrayRef<AxisRefAttr> axes);
  std::optional<TwoSteps> splitAt(int64_t minorSize);

  MoveAttr move() { return cast<MoveAttr>(op.getMoves()[0]); }
  /// As the attribute has them, which outlives every use.
  ArrayRef<AxisRefAttr> axes() { return move().getAxes().getAxes(); }

  spmd::AllToAllOp op;
  MeshAttr mesh;
  const Cluster &cluster;
};

} // namespace

//===----------------------------------------------------------------------===//
// Decide
//===----------------------------------------------------------------------===//

/// One move, of blocks that are all of one size.
bool ExchangeSplitter::isEven() {
  if (op.getMoves().size() != 1)
    return false;
  int64_t devices = sizeOf(axes(), mesh);
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = shapeOf(op.getResult());
  int64_t source = move().getSourceDim(), target = move().getTargetDim();
  return from[source] * devices == to[source] &&
         to[target] * devices == from[target];
}

/// Nothing where the devices' order makes groups that lie unlike each other.
std::optional<GroupCounts>
ExchangeSplitter::countsOf(ArrayRef<AxisRefAttr> list) {
  auto spans = llvm::map_to_vector(list, [&](AxisRefAttr axis) {
    PositionDigit digit = digitOf(axis, mesh);
    return AxisSpan{digit.size, digit.stride};
  });
  support::Result<GroupCounts> counts =
      countMembers(cluster, spans, mesh.getDeviceIds());
  return counts ? std::optional(*counts) : std::nullopt;
}

/// The minor axes of that many devices; cuts an axis where none ends there.
std::optional<TwoSteps> ExchangeSplitter::splitAt(int64_t minorSize) {
  TwoSteps steps;
  int64_t left = minorSize;
  for (AxisRefAttr axis : llvm::reverse(axes())) {
    int64_t size = axis.getSizeIn(mesh);
    int64_t within = std::min(left, size);
    if (left % within != 0 || size % within != 0)
      return std::nullopt;
    left /= within;
    int64_t before = axis.isWhole() ? 1 : axis.getPreSize();
    auto part = [&](int64_t pre, int64_t own) {
      return own == size ? axis
                         : AxisRefAttr::get(axis.getContext(), axis.getName(),
                                            pre, own);
    };
    if (within > 1)
      steps.minor.insert(steps.minor.begin(),
                         part(before * (size / within), within));
    if (within < size)
      steps.major.insert(steps.major.begin(), part(before, size / within));
  }
  return steps;
}

std::optional<TwoSteps> ExchangeSplitter::decide() {
  if (!isEven())
    return std::nullopt;
  std::optional<GroupCounts> counts = countsOf(axes());
  if (!counts)
    return std::nullopt;
  int64_t bytes = cast<CollectiveOpInterface>(*op).countBytes();
  Price best =
      priceCollective(cluster, CollectiveKind::AllToAll, *counts, bytes);
  best.time -= std::llround(kLeastGain * double(best.time));
  std::optional<TwoSteps> found;
  int64_t within = 1;
  for (auto [level, count] : llvm::enumerate(ArrayRef(*counts).drop_back())) {
    within *= count;
    if (within == 1 || within == sizeOf(axes(), mesh))
      continue;
    Price price = priceAllToAll2D(cluster, *counts, level, bytes);
    std::optional<TwoSteps> steps = splitAt(within);
    if (price.time >= best.time || !steps)
      continue;
    // What was cut off must be what lies within the level's units.
    std::optional<GroupCounts> minor = countsOf(steps->minor);
    if (!minor || llvm::any_of(ArrayRef(*minor).drop_front(level + 1),
                               [](int64_t other) { return other > 1; }))
      continue;
    best = steps->price = price;
    found = std::move(steps);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Emit
//===----------------------------------------------------------------------===//

/// Of the target dimension's n blocks, a rows of b, each step takes apart one
/// dimension: [.., n r, ..] is [.., a, b, r, ..] in between.
void ExchangeSplitter::emit(const TwoSteps &steps) {
  OpBuilder builder(op);
  int64_t source = move().getSourceDim(), target = move().getTargetDim();
  int64_t major = sizeOf(steps.major, mesh), minor = sizeOf(steps.minor, mesh);
  SmallVector<int64_t> shape(shapeOf(op.getInput()));
  int64_t rows = shape[target] / (major * minor);
  shape[target] = rows;
  shape.insert(shape.begin() + target, {major, minor});
  int64_t sourceNow = source > target ? source + 2 : source;
  auto typeOf = [&] {
    return RankedTensorType::get(shape, op.getType().getElementType());
  };
  Value value =
      ReshapeOp::create(builder, op.getLoc(), typeOf(), op.getInput());
  auto exchange = [&](const AxisRefs &over, int64_t size, int64_t dim) {
    shape[sourceNow] *= size;
    shape[dim] = 1;
    auto moves = builder.getArrayAttr(
        {MoveAttr::get(op.getContext(), AxesAttr::get(op.getContext(), over),
                       sourceNow, dim)});
    value = spmd::AllToAllOp::create(builder, op.getLoc(), typeOf(),
                                     op.getMeshAttr(), moves, value,
                                     op.getWhyAttr());
  };
  exchange(steps.minor, minor, target + 1);
  exchange(steps.major, major, target);
  Value result = ReshapeOp::create(builder, op.getLoc(), op.getType(), value);
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {

struct SplitExchanges : shoal::impl::SplitExchangesBase<SplitExchanges> {
  using SplitExchangesBase::SplitExchangesBase;

  void runOnOperation() override {
    if (machineFile.empty())
      return;
    support::Result<Cluster> cluster = readCluster(machineFile);
    if (!cluster) {
      getOperation().emitError() << "machine: " << cluster.error().message;
      return signalPassFailure();
    }
    SmallVector<spmd::AllToAllOp> exchanges;
    getOperation().walk([&](spmd::AllToAllOp op) { exchanges.push_back(op); });
    for (spmd::AllToAllOp op : exchanges) {
      ExchangeSplitter splitter(op, *cluster);
      std::optional<TwoSteps> steps = splitter.decide();
      if (!steps)
        continue;
      LDBG() << "in two steps, of " << steps->price.time << " ps: " << op;
      splitter.emit(*steps);
      ++numSplit;
    }
  }
};

} // namespace
