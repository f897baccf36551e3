// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parameters that devices send each other before they are used.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SENTPARAMETERS_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SENTPARAMETERS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal::remat {

/// Which values are floats of the function's arguments in another place, order
/// or type: nothing was computed for them, so whoever has the arguments can
/// have them again. The places that slices begin at do not count.
class SentParameters {
public:
  /// Whether it is one, and came from other devices.
  bool contains(mlir::Value value) {
    return originOf(value) == Origin::SentParameter;
  }

private:
  enum class Origin { Parameter, SentParameter, Computed };
  Origin originOf(mlir::Value value);
  Origin findOrigin(mlir::Value value);

  llvm::DenseMap<mlir::Value, Origin> origins;
};

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SENTPARAMETERS_H
