// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopNest.h"
#include "CapturedLoads.h"
#include "Combiner.h"
#include "mlir/IR/AffineExpr.h"
#include "shoal/Conversion/Device/Passes.h"

using namespace mlir;
using namespace shoal;

bool LoopNest::isEmpty() const {
  return llvm::any_of(loops, [](const Loop &loop) { return loop.range == 0; });
}

int64_t LoopNest::countIterations(bool reduced) const {
  int64_t count = 1;
  for (const Loop &loop : loops)
    if (loop.isReduced == reduced)
      count *= loop.range;
  return count;
}

ResultKind LoopNest::getResultKind(const Access &access) const {
  int64_t reduced = 0, moving = 0;
  for (auto [loop, stride] : llvm::zip_equal(loops, access.strides)) {
    reduced += loop.isReduced;
    moving += loop.isReduced && stride != 0;
  }
  if (moving == reduced)
    return ResultKind::Full;
  return moving == 0 ? ResultKind::Reduced : ResultKind::Mixed;
}

ElementRange LoopNest::getElementRange(const Access &access) const {
  if (access.whole)
    return *access.whole;
  ElementRange touched{access.offset, access.offset};
  for (auto [loop, stride] : llvm::zip_equal(loops, access.strides)) {
    int64_t last = stride * (loop.range - 1);
    (last < 0 ? touched.first : touched.last) += last;
  }
  return touched;
}

bool LoopNest::fitsInt32(int64_t spare) const {
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  // Products of ranges could leave 64 bits only where memory ends first.
  if (countIterations(false) > kLimit - spare ||
      countIterations(true) > kLimit - spare)
    return false;
  return llvm::all_of(accesses, [&](const Access &access) {
    if (!access.isTouched())
      return true;
    if (access.whole)
      return access.whole->last <= kLimit - spare;
    int64_t sum = std::abs(access.offset);
    for (auto [loop, stride] : llvm::zip_equal(loops, access.strides))
      sum += std::abs(stride) * loop.range;
    return sum <= kLimit - spare;
  });
}

//===----------------------------------------------------------------------===//
// From the op
//===----------------------------------------------------------------------===//

bool shoal::isKernelBuffer(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.hasStaticShape() && type.getElementType().isIntOrFloat() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) && !ShapedType::isDynamicShape(strides);
}

/// Adds `factor * expr`, a linear expression, to the access.
static LogicalResult addLinear(AffineExpr expr, int64_t factor,
                               Access &access) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    access.strides[dim.getPosition()] += factor;
    return success();
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    access.offset += factor * constant.getValue();
    return success();
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  if (binary.getKind() == AffineExprKind::Add)
    return success(succeeded(addLinear(binary.getLHS(), factor, access)) &&
                   succeeded(addLinear(binary.getRHS(), factor, access)));
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !scale)
    return failure();
  return addLinear(binary.getLHS(), factor * scale.getValue(), access);
}

/// A bool takes one byte.
static int64_t getBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

static FailureOr<Access> analyzeAccess(linalg::GenericOp op,
                                       OpOperand &operand) {
  Access access;
  access.strides.assign(op.getNumLoops(), 0);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return access;
  if (!isKernelBuffer(type))
    return op.emitError() << "operand " << operand.getOperandNumber()
                          << ": a kernel's buffer has a static strided layout "
                             "and elements of numbers, but got "
                          << type;
  auto [strides, offset] = type.getStridesAndOffset();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  access.offset = offset;
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
    if (failed(addLinear(expr, stride, access)))
      return op.emitError() << "operand " << operand.getOperandNumber()
                            << ": a kernel's indexing map is linear, but got "
                            << AffineMapAttr::get(map);
  access.elementBytes = getBytes(type.getElementType());
  access.isRead = op.payloadUsesValueFromOperand(&operand);
  access.isWritten = op.isDpsInit(&operand);
  return access;
}

//===----------------------------------------------------------------------===//
// Merging loops
//===----------------------------------------------------------------------===//

static void eraseLoop(LoopNest &nest, unsigned loop) {
  nest.loops.erase(nest.loops.begin() + loop);
  for (Access &access : nest.accesses)
    access.strides.erase(access.strides.begin() + loop);
  for (IndexOrigin &index : nest.indices)
    if (index.loop && *index.loop > loop)
      --*index.loop;
}

static void dropLoopsOfOne(LoopNest &nest) {
  for (unsigned loop = nest.loops.size(); loop-- > 0;) {
    if (nest.loops[loop].range != 1)
      continue;
    for (IndexOrigin &index : nest.indices)
      if (index.loop == loop)
        index.loop = std::nullopt;
    eraseLoop(nest, loop);
  }
}

static bool canMerge(const LoopNest &nest, unsigned outer) {
  const Loop &inner = nest.loops[outer + 1];
  if (nest.loops[outer].isReduced != inner.isReduced)
    return false;
  return llvm::all_of(nest.accesses, [&](const Access &access) {
    return !access.isTouched() ||
           access.strides[outer] == access.strides[outer + 1] * inner.range;
  });
}

/// Loops `outer` and `outer + 1` become one.
static void merge(LoopNest &nest, unsigned outer) {
  int64_t range = nest.loops[outer + 1].range;
  for (IndexOrigin &index : nest.indices) {
    if (index.loop == outer)
      index.divisor *= range;
    else if (index.loop == outer + 1)
      index.loop = outer;
  }
  nest.loops[outer].range *= range;
  for (Access &access : nest.accesses)
    access.strides[outer] = access.strides[outer + 1];
  eraseLoop(nest, outer + 1);
}

FailureOr<LoopNest> shoal::analyzeLoops(linalg::GenericOp op,
                                        std::optional<unsigned> rows) {
  LoopNest nest;
  for (auto [number, range, kind] :
       llvm::enumerate(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (ShapedType::isDynamic(range))
      return op.emitError()
             << "loop " << number << ": a kernel's loops have static ranges";
    nest.loops.push_back({range, rows
                                     ? number >= *rows
                                     : kind == utils::IteratorType::reduction});
    nest.indices.push_back({static_cast<unsigned>(number), 1, range});
  }
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Access> access = analyzeAccess(op, operand);
    if (failed(access))
      return failure();
    nest.accesses.push_back(*access);
  }
  if (failed(addCapturedAccesses(op, nest)))
    return failure();
  if (nest.isEmpty())
    return nest;
  dropLoopsOfOne(nest);
  for (unsigned outer = nest.loops.size(); outer-- > 0;)
    if (outer + 1 < nest.loops.size() && canMerge(nest, outer))
      merge(nest, outer);
  findJumps(op, nest);
  nest.bodySize = std::distance(op.getBody()->begin(), op.getBody()->end());
  for (auto [number, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    const Access &access = nest.accesses[init.getOperandNumber()];
    if (nest.getResultKind(access) == ResultKind::Reduced)
      nest.combinesInAnyOrder &= bool(matchCombiner(op, number));
  }
  return nest;
}

TypedAttr shoal::getInitial(linalg::GenericOp op, unsigned result) {
  auto initial = op->getAttrOfType<ArrayAttr>(kInitialAttr);
  return initial ? dyn_cast<TypedAttr>(initial[result]) : TypedAttr();
}
