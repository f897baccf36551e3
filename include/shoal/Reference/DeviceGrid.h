// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where the devices of a mesh stand.

#ifndef SHOAL_REFERENCE_DEVICEGRID_H
#define SHOAL_REFERENCE_DEVICEGRID_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal::reference {

/// Positions of a mesh, and (sub-)axes as digits of them: position p has the
/// digit (p / stride) % size.
class DeviceGrid {
public:
  struct Digit {
    int64_t stride, size;
  };
  /// Axes, major to minor.
  using Digits = llvm::SmallVector<Digit, 2>;

  explicit DeviceGrid(MeshAttr mesh) : mesh(mesh) {}

  /// The mesh that `symbol` names, as seen from `op`. Emits an error at the op
  /// where there is none, or where it does not have `numDevices`.
  static mlir::FailureOr<DeviceGrid> lookUp(mlir::Operation *op,
                                            mlir::FlatSymbolRefAttr symbol,
                                            int64_t numDevices);

  int64_t numDevices() const { return mesh.getNumDevices(); }
  MeshAttr getMesh() const { return mesh; }

  int64_t deviceAt(int64_t position) const;
  int64_t positionOf(int64_t device) const;

  /// The digits of axes that the mesh has.
  Digits digitsOf(llvm::ArrayRef<AxisRefAttr> axes) const;

  static int64_t sizeOf(llvm::ArrayRef<Digit> digits);
  /// The digits of a position, read as one number.
  static int64_t indexOver(llvm::ArrayRef<Digit> digits, int64_t position);
  /// The position with these digits replaced by those of `index`.
  static int64_t withIndex(llvm::ArrayRef<Digit> digits, int64_t position,
                           int64_t index);

private:
  MeshAttr mesh;
};

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_DEVICEGRID_H
