// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BufferRange.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

/// The elements [begin, end) that the layout leads to, from the base address.
static std::optional<std::pair<int64_t, int64_t>> spanOf(MemRefType type) {
  // Of nearly all; strides are worked out by affine expressions.
  if (type.hasStaticShape() && type.getLayout().isIdentity())
    return std::pair(int64_t(0), type.getNumElements());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset))
    return std::nullopt;
  if (type.getNumElements() == 0)
    return std::pair(offset, offset);
  int64_t first = offset, last = offset;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (ShapedType::isDynamic(stride))
      return std::nullopt;
    (stride < 0 ? first : last) += (size - 1) * stride;
  }
  return std::pair(first, last + 1);
}

Value shoal::findBuffer(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

SmallVector<Value> shoal::findMemrefs(Operation *op) {
  SmallVector<Value> memrefs;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      memrefs.push_back(operand);
  if (isa<linalg::LinalgOp>(op))
    op->walk([&](memref::LoadOp load) { memrefs.push_back(load.getMemref()); });
  return memrefs;
}

/// Whether no other root is in the same memory.
static bool isOwnMemory(Value root) {
  if (auto argument = dyn_cast<BlockArgument>(root))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isa_and_nonnull<memref::AllocOp, memref::AllocaOp,
                         memref::GetGlobalOp>(root.getDefiningOp());
}

/// The rows that begin where the run says which `memref` is a view of.
static rt::RowsOp findRows(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (auto rows = dyn_cast<rt::RowsOp>(view.getOperation()))
      return rows;
    memref = view.getViewSource();
  }
  return {};
}

BufferRange BufferRange::of(Value memref) {
  if (rt::RowsOp rows = findRows(memref))
    return of(rows.getBuffer());
  auto type = cast<MemRefType>(memref.getType());
  std::optional<std::pair<int64_t, int64_t>> span = spanOf(type);
  BufferRange range{findBuffer(memref)};
  int64_t base = 0;
  if (auto view = range.root.getDefiningOp<memref::ViewOp>()) {
    range.root = findBuffer(view.getSource());
    APInt offset;
    if (!matchPattern(view.getByteShift(), m_ConstantInt(&offset)))
      span = std::nullopt;
    else
      base = offset.getSExtValue();
  }
  if (!isOwnMemory(range.root))
    return {};
  if (!span)
    return range;
  int64_t width = sizeInBytes(MemRefType::get({}, type.getElementType()));
  range.begin = base + span->first * width;
  range.end = base + span->second * width;
  return range;
}
