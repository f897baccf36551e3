// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace shoal;

// A mesh op that is itself malformed counts as none; its own verifier says so.
MeshOp shoal::lookupMesh(Operation *op, FlatSymbolRefAttr symbol) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, symbol);
  return mesh && mesh.getMeshAttr() ? mesh : MeshOp();
}

MeshOp shoal::findFirstMesh(Operation *op) {
  Operation *table = SymbolTable::getNearestSymbolTable(op);
  if (!table || table->getNumRegions() == 0 || table->getRegion(0).empty())
    return {};
  for (auto mesh : table->getRegion(0).front().getOps<MeshOp>())
    if (mesh.getMeshAttr())
      return mesh;
  return {};
}

/// The part of an axis that a (sub-)axis covers: [pre, pre * size).
static std::pair<int64_t, int64_t> extentOf(AxisRefAttr axis, MeshAttr mesh) {
  return {axis.getPreSize(), axis.getPreSize() * axis.getSizeIn(mesh)};
}

bool shoal::overlap(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh) {
  if (a.getName() != b.getName())
    return false;
  if (a.isWhole() || b.isWhole())
    return true;
  auto [beginA, endA] = extentOf(a, mesh);
  auto [beginB, endB] = extentOf(b, mesh);
  return beginA < endB && beginB < endA;
}

static LogicalResult verifyAxis(AxisRefAttr axis, MeshOp mesh,
                                ArrayRef<AxisRefAttr> seen,
                                EmitError emitError) {
  std::optional<int64_t> fullSize = mesh.getMesh().getAxisSize(axis.getName());
  if (!fullSize) {
    InFlightDiagnostic error = emitError()
                               << "unknown axis \"" << axis.getName()
                               << "\" in mesh @" << mesh.getSymName();
    error.attachNote(mesh.getLoc()) << "the mesh is defined here";
    return error;
  }
  int64_t end = extentOf(axis, mesh.getMesh()).second;
  if (*fullSize % end != 0)
    return emitError() << "sub-axis (" << axis.getPreSize() << ")"
                       << axis.getSize() << " does not divide axis \""
                       << axis.getName() << "\" of size " << *fullSize;
  for (AxisRefAttr other : seen)
    if (overlap(axis, other, mesh.getMesh()))
      return emitError() << "axis \"" << axis.getName() << "\" is used twice";
  return success();
}

LogicalResult shoal::verifyAxes(ArrayRef<AxisRefAttr> axes, MeshOp mesh,
                                SmallVectorImpl<AxisRefAttr> &seen,
                                EmitError emitError) {
  for (AxisRefAttr axis : axes) {
    if (failed(verifyAxis(axis, mesh, seen, emitError)))
      return failure();
    seen.push_back(axis);
  }
  return success();
}

LogicalResult shoal::verifyAxes(Operation *op, FlatSymbolRefAttr symbol,
                                MeshOp mesh, ArrayRef<AxesAttr> lists) {
  if (!mesh)
    return op->emitOpError() << "unknown mesh " << symbol;
  SmallVector<AxisRefAttr> seen;
  for (AxesAttr list : lists)
    if (failed(verifyAxes(list.getAxes(), mesh, seen,
                          [&]() { return op->emitOpError(); })))
      return failure();
  return success();
}

int64_t shoal::sizeOf(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  int64_t product = 1;
  for (AxisRefAttr axis : axes)
    product *= axis.getSizeIn(mesh);
  return product;
}

PositionDigit shoal::digitOf(AxisRefAttr axis, MeshAttr mesh) {
  // "x":(pre)size of an axis of n has the minor part n / (pre * size).
  int64_t stride = 1;
  for (MeshAxisAttr candidate : llvm::reverse(mesh.getAxes())) {
    if (candidate.getName() == axis.getName()) {
      int64_t size = axis.getSizeIn(mesh);
      return {stride * (candidate.getSize() / (axis.getPreSize() * size)),
              size};
    }
    stride *= candidate.getSize();
  }
  llvm_unreachable("the mesh has the axis");
}

/// For each axis the parts covered, in ascending order, neighbours merged.
static llvm::StringMap<SmallVector<std::pair<int64_t, int64_t>>>
mergeExtents(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  llvm::StringMap<SmallVector<std::pair<int64_t, int64_t>>> merged;
  SmallVector<AxisRefAttr> sorted(axes);
  llvm::sort(sorted, [&](AxisRefAttr a, AxisRefAttr b) {
    return extentOf(a, mesh) < extentOf(b, mesh);
  });
  for (AxisRefAttr axis : sorted) {
    auto [begin, end] = extentOf(axis, mesh);
    auto &parts = merged[axis.getName()];
    if (begin == end)
      continue;
    if (!parts.empty() && parts.back().second == begin)
      parts.back().second = end;
    else
      parts.emplace_back(begin, end);
  }
  return merged;
}

bool shoal::covers(ArrayRef<AxisRefAttr> list, AxisRefAttr axis,
                   MeshAttr mesh) {
  auto merged = mergeExtents(list, mesh);
  auto parts = merged.find(axis.getName());
  if (parts == merged.end())
    return false;
  auto [begin, end] = extentOf(axis, mesh);
  return begin == end ||
         llvm::any_of(parts->second, [&, begin = begin, end = end](auto part) {
           return part.first <= begin && end <= part.second;
         });
}

bool shoal::coverSameAxes(ArrayRef<AxisRefAttr> a, ArrayRef<AxisRefAttr> b,
                          MeshAttr mesh) {
  auto partsA = mergeExtents(a, mesh), partsB = mergeExtents(b, mesh);
  return partsA.size() == partsB.size() &&
         llvm::all_of(partsA, [&](const auto &entry) {
           auto other = partsB.find(entry.getKey());
           return other != partsB.end() && other->second == entry.second;
         });
}
