// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs that hold no more than they may.

#ifndef SHOAL_LIB_COMPILER_MEMORYLIMIT_H
#define SHOAL_LIB_COMPILER_MEMORYLIMIT_H

#include "shoal/Compiler/Driver.h"

namespace shoal {

/// The machine that shardings are chosen for.
MachineKind machineOf(const DriverOptions &options);

/// Makes the dialects known that a lowering needs. Not before the user's text
/// is read: a program in one of these is his error, which MLIR's own parsers do
/// not always survive.
void registerLowering(mlir::MLIRContext &context);

/// What a GPU has for a program.
struct ChipMemory {
  /// As "an H100", or the machine's.
  std::string name;
  int64_t bytes;
};

/// Of the GPU that a program is for: that of the machine file which the options
/// name, else the one that most programs for the first known architecture run
/// on. Nothing for CPUs, which share theirs, and unknown architectures.
std::optional<ChipMemory> chipMemoryOf(const DriverOptions &options);

/// Whether nothing is said of memory, so that a program is held to its chip's.
bool keepsChipMemory(const DriverOptions &options);

/// What a program says of how it could hold less, `shoal.memory_advice` of the
/// module: texts in which fields of layers are named; "" for none.
std::string memoryAdviceOf(mlir::ModuleOp module);

/// The same, which the module says no more: it is to be warned of once, with
/// the memory that it is about.
std::string takeMemoryAdvice(mlir::ModuleOp module);

/// Lets the program of one device compute again what policies and the memory
/// limit of the options ask for. The limit is that of the compiled program: it
/// is lowered to see what it holds, and where that is too much, more is
/// computed again, at most six times. An error with the least that was found
/// where no choice keeps the limit.
///
/// Where neither is asked for it is the chip's memory that is kept so, with a
/// warning where it takes computing again; where no choice keeps it, the
/// program is the one that holds least.
mlir::LogicalResult keepMemoryLimit(mlir::ModuleOp module,
                                    const DriverOptions &options);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_MEMORYLIMIT_H
