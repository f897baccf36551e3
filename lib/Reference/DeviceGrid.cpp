// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/DeviceGrid.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;

namespace shoal::reference {

FailureOr<DeviceGrid> DeviceGrid::lookUp(Operation *op,
                                         FlatSymbolRefAttr symbol,
                                         int64_t numDevices) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, symbol);
  if (!mesh)
    return op->emitError() << "unknown mesh " << symbol;
  DeviceGrid grid(mesh.getMesh());
  if (grid.numDevices() != numDevices) {
    InFlightDiagnostic error =
        op->emitError() << "mesh " << symbol << " has " << grid.numDevices()
                        << " devices but the program runs on " << numDevices;
    error.attachNote(mesh.getLoc()) << "the mesh is here";
    return error;
  }
  return grid;
}

int64_t DeviceGrid::deviceAt(int64_t position) const {
  ArrayRef<int64_t> ids = mesh.getDeviceIds();
  return ids.empty() ? position : ids[position];
}

int64_t DeviceGrid::positionOf(int64_t device) const {
  ArrayRef<int64_t> ids = mesh.getDeviceIds();
  return ids.empty() ? device : llvm::find(ids, device) - ids.begin();
}

DeviceGrid::Digits DeviceGrid::digitsOf(ArrayRef<AxisRefAttr> axes) const {
  Digits digits;
  for (AxisRefAttr axis : axes) {
    int64_t stride = 1;
    ArrayRef<MeshAxisAttr> minor = mesh.getAxes();
    for (; minor.back().getName() != axis.getName(); minor = minor.drop_back())
      stride *= minor.back().getSize();
    // "x":(pre)size of an axis of n has the minor part n / (pre * size).
    int64_t size = axis.getSizeIn(mesh);
    stride *= minor.back().getSize() / (axis.getPreSize() * size);
    digits.push_back({stride, size});
  }
  return digits;
}

int64_t DeviceGrid::sizeOf(ArrayRef<Digit> digits) {
  int64_t product = 1;
  for (Digit digit : digits)
    product *= digit.size;
  return product;
}

int64_t DeviceGrid::indexOver(ArrayRef<Digit> digits, int64_t position) {
  int64_t index = 0;
  for (Digit digit : digits)
    index = index * digit.size + position / digit.stride % digit.size;
  return index;
}

int64_t DeviceGrid::withIndex(ArrayRef<Digit> digits, int64_t position,
                              int64_t index) {
  for (Digit digit : llvm::reverse(digits)) {
    int64_t old = position / digit.stride % digit.size;
    position += (index % digit.size - old) * digit.stride;
    index /= digit.size;
  }
  return position;
}

} // namespace shoal::reference
