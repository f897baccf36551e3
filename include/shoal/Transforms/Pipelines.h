// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The phases as pipelines, each usable by name in shoal-opt.

#ifndef SHOAL_TRANSFORMS_PIPELINES_H
#define SHOAL_TRANSFORMS_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Transforms/Options/PartitionOptions.h"

namespace shoal {

/// `--shoal-import`: one function of primitive ops, annotations by named axes.
void buildImportPipeline(mlir::OpPassManager &pm);

/// `--shoal-partition`: a global program becomes the program of one device. A
/// program that is one already stays as it is, its collectives optimised. The
/// machine is what the program is to run on.
void buildPartitionPipeline(mlir::OpPassManager &pm,
                            const PartitionOptions &options = {},
                            MachineKind machine = MachineKind::CPU);

/// All of it but rematerialisation: for who looks at what the rest of the
/// compiler makes of the program before he says what may be held.
void buildDevicePipeline(mlir::OpPassManager &pm,
                         const PartitionOptions &options = {},
                         MachineKind machine = MachineKind::CPU);

/// `--shoal-optimize-collectives`: a per-device program sends less, in fewer
/// messages; then the proof that all devices send the same.
void buildCollectivesPipeline(mlir::OpPassManager &pm,
                              const PartitionOptions &options = {});

/// Makes the pipelines known to the command line.
void registerShoalPipelines();

} // namespace shoal

#endif // SHOAL_TRANSFORMS_PIPELINES_H
