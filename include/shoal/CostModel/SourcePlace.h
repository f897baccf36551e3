// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_COSTMODEL_SOURCEPLACE_H
#define SHOAL_COSTMODEL_SOURCEPLACE_H

#include "mlir/IR/Location.h"
#include <string>

namespace shoal {

/// "file:line:col" where that is known, else empty.
std::string sourcePlace(mlir::Location loc);

} // namespace shoal

#endif // SHOAL_COSTMODEL_SOURCEPLACE_H
