// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A program's arguments and results as its user sees them: global, by name.

#ifndef SHOAL_REFERENCE_SIGNATURE_H
#define SHOAL_REFERENCE_SIGNATURE_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Reference/DeviceGrid.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

/// An argument or result of a program.
struct Port {
  /// "argument 0", for errors.
  std::string place;
  /// `shoal.name`, or arg0 ... and result0 ...
  std::string name;
  TensorType global;
  /// The shape of a shard; equal to `global` in a global program.
  TensorType local;
  /// In a per-device program: the mesh of its sharding, which may have a device
  /// order of its own, and the axes of each dimension.
  std::optional<DeviceGrid> grid;
  llvm::SmallVector<DeviceGrid::Digits, 4> digits;
  /// Pairs along the last dimension are complex numbers to the user.
  bool isComplex = false;
  /// The first dimension has the addends of what it is to the user.
  bool isAddends = false;
};

struct Signature {
  llvm::SmallVector<Port, 4> arguments, results;
  /// The devices of a per-device program, 1 for a global one.
  int64_t numDevices = 1;

  /// Reads the function's types and attributes. A per-device program, one with
  /// `shoal.spmd`, has `shoal.global_type` and `shoal.sharding` on sharded
  /// arguments and results; a port without them is whole on each device. Emits
  /// an error for two ports of one name, an unsupported type, a sharding that
  /// is partial, and local shapes other than ceil(n / p).
  static mlir::FailureOr<Signature> read(mlir::FunctionOpInterface function);
};

/// What each device gets of a global argument; rows past the end are
/// unspecified.
GridValue splitArgument(const Port &port, const Tensor &global);
/// The same where each device has a global argument of its own.
GridValue splitArguments(const Port &port, const GridValue &globals);

/// The global value of a result. Emits an error where devices that should hold
/// the same element do not.
mlir::FailureOr<Tensor>
assembleResult(const Port &port, const GridValue &value,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// The same where `devices` alone hold all of it.
mlir::FailureOr<Tensor>
assembleResult(const Port &port, const GridValue &value,
               llvm::ArrayRef<int64_t> devices,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// The same, with errors at the function.
inline mlir::FailureOr<Tensor>
assembleResult(const Port &port, const GridValue &value,
               mlir::FunctionOpInterface function) {
  return assembleResult(port, value, [&]() { return function.emitError(); });
}

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_SIGNATURE_H
