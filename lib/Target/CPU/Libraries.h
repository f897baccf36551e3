// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The libraries that programs for a CPU are linked with.

#ifndef SHOAL_LIB_TARGET_CPU_LIBRARIES_H
#define SHOAL_LIB_TARGET_CPU_LIBRARIES_H

#include "../Executable/Steps.h"

namespace shoal {

/// The runtime, with oneDNN where a product is planned for it; an error where
/// this build has none. The module is the program's code, which may call
/// LAPACK.
mlir::FailureOr<RuntimeLibrary> chooseRuntime(const ProgramDescription &program,
                                              mlir::ModuleOp module);

} // namespace shoal

#endif // SHOAL_LIB_TARGET_CPU_LIBRARIES_H
