// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The option of passes that decide by what a machine has and how fast it is.
// Pipelines say which one their target is; alone, the passes take a GPU.

#ifndef SHOAL_CONVERSION_UTILS_MACHINEOPTION_TD
#define SHOAL_CONVERSION_UTILS_MACHINEOPTION_TD

include "mlir/Pass/PassBase.td"

def MachineOption : Option<
    "machine", "machine", "::shoal::MachineKind", /*default=*/"::shoal::MachineKind::GPU",
    "Whose rates and limits decide, cpu or gpu (shoal/Machine/Machine.h)", [{::llvm::cl::values(
      clEnumValN(::shoal::MachineKind::CPU, "cpu", "A core of a CPU"),
      clEnumValN(::shoal::MachineKind::GPU, "gpu", "A GPU"))}]>;

#endif // SHOAL_CONVERSION_UTILS_MACHINEOPTION_TD
