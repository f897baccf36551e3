// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-place-rows.

#include "../Buffers/BufferAccess.h"
#include "../Utils/ClampStart.h"
#include "BufferUsers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/Calls/IndexingCalls.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-place-rows"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_PLACEROWS
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numRead(DEBUG_TYPE, "Rows read where they lie");
static PassCounter numMade(DEBUG_TYPE, "Rows made where they lie");

//===----------------------------------------------------------------------===//
// Where a window lies
//===----------------------------------------------------------------------===//

using WindowDim = calls::WindowLayout::Dim;

/// The dimensions of the buffer that an index says the window's beginning in,
/// if the one window is a dense part that begins at a multiple of
/// kArenaAlignment wherever that is: one row of the first dimensions, some of
/// the next one, all of the others, in the order of the windows' tensor.
static std::optional<SmallVector<WindowDim>> findStarts(rt::WindowsAttr windows,
                                                        MemRefType buffer) {
  calls::WindowLayout layout = windows.getLayout();
  if (!layout.steps.empty())
    return std::nullopt;
  int64_t width = sizeInBytes(MemRefType::get({}, buffer.getElementType()));
  SmallVector<WindowDim> starts;
  bool isPart = false;
  int64_t behind = 1; // elements of the window's later dimensions
  for (const WindowDim &dim : llvm::reverse(layout.dims)) {
    if (dim.boxSize != 1 && (isPart || dim.boxStride != behind))
      return std::nullopt;
    isPart |= dim.boxSize != dim.size;
    behind *= dim.boxSize;
    if (dim.component < 0 || dim.lastStart() <= 0)
      continue;
    if (dim.stride * width % kArenaAlignment != 0)
      return std::nullopt;
    starts.push_back(dim);
  }
  return starts.empty() ? std::nullopt : std::optional(starts);
}

/// The number of the window's first element in the buffer; `starts` are the
/// components of its index.
static Value makeFirst(OpBuilder &builder, Location loc,
                       ArrayRef<std::pair<Value, WindowDim>> starts) {
  Value first;
  for (auto [start, dim] : starts) {
    Value place = arith::MulIOp::create(
        builder, loc, clampStart(builder, loc, start, dim.lastStart()),
        arith::ConstantIndexOp::create(builder, loc, dim.stride));
    first = first ? arith::AddIOp::create(builder, loc, first, place) : place;
  }
  return first;
}

//===----------------------------------------------------------------------===//
// What ops touch
//===----------------------------------------------------------------------===//

enum class Touch : uint8_t { Write, Any };

/// Whether the op, or one inside of it, may touch the bytes so.
static bool mayTouch(Operation *op, const BufferRange &range, Touch touch) {
  WalkResult walk = op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    std::optional<SmallVector<BufferAccess>> accesses = accessesOf(inner);
    if (!accesses) // Of loops and branches the ops inside tell.
      return inner->getNumRegions() > 0 &&
                     inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    if (llvm::any_of(*accesses, [&](const BufferAccess &access) {
          return (touch == Touch::Any || access.writes) &&
                 access.range.overlaps(range);
        }))
      return WalkResult::interrupt();
    return WalkResult::skip();
  });
  return walk.wasInterrupted();
}

/// Whether an op from `begin` on and before `end`, of one block, may.
static bool mayTouchBetween(Operation *begin, Operation *end,
                            const BufferRange &range, Touch touch) {
  for (Operation *op = begin; op != end; op = op->getNextNode())
    if (mayTouch(op, range, touch))
      return true;
  return false;
}

/// The ops of its block that use a buffer, from the first to the last.
static SmallVector<Operation *> usersInOrder(Value buffer) {
  auto users = findUsers(buffer).value_or(SmallVector<Operation *>());
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  users.erase(llvm::unique(users), users.end());
  return users;
}

/// The allocation that `memref` is all of, in the block of `op`.
static memref::AllocOp findOwnBuffer(Value memref, Operation *op) {
  auto buffer = findBuffer(memref).getDefiningOp<memref::AllocOp>();
  return buffer && buffer->getBlock() == op->getBlock() &&
                 isWhole(memref, buffer)
             ? buffer
             : memref::AllocOp();
}

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

namespace {

/// An element that a memref of rank 1 or 0 has.
struct Element {
  Value memref;
  std::optional<int64_t> at;
};

} // namespace

static Value load(OpBuilder &builder, Location loc, const Element &element) {
  SmallVector<Value> at;
  if (element.at)
    at.push_back(arith::ConstantIndexOp::create(builder, loc, *element.at));
  return memref::LoadOp::create(builder, loc, element.memref, at);
}

static BufferRange rangeOf(const Element &element) {
  BufferRange range = BufferRange::of(element.memref);
  if (!element.at || range.end == INT64_MAX)
    return range;
  auto type = cast<MemRefType>(element.memref.getType());
  int64_t width = sizeInBytes(MemRefType::get({}, type.getElementType()));
  range.begin += *element.at * width;
  range.end = range.begin + width;
  return range;
}

/// What is copied into the element before `call`, as the one that was written
/// to it last.
static memref::CopyOp findCopyInto(const Element &element, Operation *call) {
  BufferRange range = rangeOf(element);
  for (Operation *op = call->getPrevNode(); op; op = op->getPrevNode())
    if (mayTouch(op, range, Touch::Write)) {
      auto copy = dyn_cast<memref::CopyOp>(op);
      BufferRange target =
          copy ? BufferRange::of(copy.getTarget()) : BufferRange();
      return target.root == range.root && target.begin == range.begin &&
                     target.end == range.end
                 ? copy
                 : memref::CopyOp();
    }
  return {};
}

/// Where at `point` the value can be read that `element` has at `call`, which
/// stands behind it in the block.
static std::optional<Element> findEarlier(Element element, Operation *point,
                                          Operation *call) {
  while (mayTouchBetween(point, call, rangeOf(element), Touch::Write)) {
    memref::CopyOp copy = findCopyInto(element, call);
    if (!copy || cast<MemRefType>(copy.getSource().getType()).getRank() != 0)
      return std::nullopt;
    element = {copy.getSource(), std::nullopt};
    call = copy;
  }
  Operation *maker = element.memref.getDefiningOp();
  if (maker && maker->getBlock() == point->getBlock() &&
      !maker->isBeforeInBlock(point))
    return std::nullopt;
  return element;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// One window of `whole` that `call` moves from or to all of `row`.
struct RowCall {
  Operation *call;
  Value whole;
  Value indices;
  Value row;
  SmallVector<WindowDim> starts;
};

} // namespace

/// Nothing if the window is not dense, or the row no buffer of its own.
static std::optional<RowCall> describe(Operation *call, rt::WindowsAttr windows,
                                       Value whole, Value indices, Value row) {
  auto type = dyn_cast<MemRefType>(whole.getType());
  auto indexType = dyn_cast<MemRefType>(indices.getType());
  if (!type || !type.getLayout().isIdentity() || indexType.getRank() != 1)
    return std::nullopt;
  auto starts = findStarts(windows, type);
  memref::AllocOp buffer = findOwnBuffer(row, call);
  if (!starts || !buffer || findBuffer(whole) == buffer.getResult())
    return std::nullopt;
  return RowCall{call, whole, indices, buffer.getResult(), *starts};
}

static void stays(const RowCall &row, StringRef reason) {
  LDBG() << row.call->getName() << " at " << sourcePlace(row.call->getLoc())
         << " stays: " << reason;
}

/// The row's buffer becomes a view from `point` on, where its users begin.
static void view(const RowCall &row, ArrayRef<Element> starts,
                 Operation *point) {
  Location loc = row.call->getLoc();
  OpBuilder builder(point);
  SmallVector<std::pair<Value, WindowDim>> places;
  for (auto [element, dim] : llvm::zip_equal(starts, row.starts))
    places.emplace_back(load(builder, loc, element), dim);
  Value rows = rt::RowsOp::create(builder, loc, row.row.getType(), row.whole,
                                  makeFirst(builder, loc, places));
  // Views of it that stand before its users.
  SmallVector<Operation *> early;
  llvm::DenseSet<Value> views = {row.row};
  for (Operation *op = row.row.getDefiningOp()->getNextNode(); op != point;
       op = op->getNextNode())
    if (auto other = dyn_cast<ViewLikeOpInterface>(op);
        other && views.contains(other.getViewSource())) {
      views.insert_range(op->getResults());
      early.push_back(op);
    }
  for (Operation *op : early)
    op->moveBefore(point);
  Value buffer = row.row;
  buffer.replaceAllUsesWith(rows);
  row.call->erase();
  buffer.getDefiningOp()->erase();
}

/// What a call reads is read where it lies.
static void readInPlace(const RowCall &row) {
  SmallVector<Operation *> users = usersInOrder(row.row);
  if (users.empty() || users.front() != row.call)
    return stays(row, "its row is used elsewhere or written before");
  BufferRange own = BufferRange::of(row.row);
  for (Operation *user : ArrayRef(users).drop_front())
    if (mayTouch(user, own, Touch::Write))
      return stays(row, "its row is written over");
  Operation *end = users.back()->getNextNode();
  if (mayTouchBetween(row.call, end, BufferRange::of(row.whole), Touch::Write))
    return stays(row, "the buffer may be written while the row is read");
  SmallVector<Element> starts;
  for (const WindowDim &dim : row.starts)
    starts.push_back({row.indices, dim.component});
  view(row, starts, row.call);
  ++numRead;
}

/// What a call writes is made where it comes to lie.
static void makeInPlace(const RowCall &row) {
  SmallVector<Operation *> users = usersInOrder(row.row);
  if (users.empty() || users.front() == row.call)
    return stays(row, "its row is used elsewhere or never made");
  Operation *point = users.front(), *end = users.back()->getNextNode();
  BufferRange own = BufferRange::of(row.row),
              whole = BufferRange::of(row.whole);
  if (mayTouchBetween(point, row.call, whole, Touch::Any))
    return stays(row, "the buffer is touched before the row is there");
  if (mayTouchBetween(row.call->getNextNode(), end, own, Touch::Write) ||
      mayTouchBetween(row.call->getNextNode(), end, whole, Touch::Write))
    return stays(row, "the row or the buffer is written while it is read");
  SmallVector<Element> starts;
  for (const WindowDim &dim : row.starts) {
    auto start = findEarlier({row.indices, dim.component}, point, row.call);
    if (!start)
      return stays(row, "its place is not known where it begins to be made");
    starts.push_back(*start);
  }
  Operation *maker = row.whole.getDefiningOp();
  if (maker && maker->getBlock() == point->getBlock() &&
      !maker->isBeforeInBlock(point))
    return stays(row, "the buffer begins behind the row");
  view(row, starts, point);
  ++numMade;
}

namespace {

struct PlaceRows : shoal::impl::PlaceRowsBase<PlaceRows> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    SmallVector<rt::GatherOp> gathers;
    SmallVector<rt::ScatterOp> scatters;
    func.walk([&](rt::GatherOp call) { gathers.push_back(call); });
    func.walk([&](rt::ScatterOp call) { scatters.push_back(call); });
    for (rt::GatherOp call : gathers)
      if (auto row = describe(call, call.getWindows(), call.getInput(),
                              call.getIndices(), call.getOutput()))
        readInPlace(*row);
    for (rt::ScatterOp call : scatters) {
      if (call.getKind() || !call.getClamps())
        continue;
      if (auto row = describe(call, call.getWindows(), call.getOutput(),
                              call.getIndices(), call.getUpdates()))
        makeInPlace(*row);
    }
  }
};

} // namespace
