// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPMD_INTERFACES_TD
#define SPMD_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::shoal::spmd";
  let description = [{
    What passes over per-device programs know of an op whose meaning depends on
    where the device stands on a mesh: which devices act together, and between
    which devices its results can differ.

    A value *varies* over an axis where devices that differ in their coordinate
    on it alone may hold different values; elsewhere it is uniform. Where the
    operands vary over V, the results vary over
    (V - uniform axes) + varying axes.
  }];
  let methods = [
    InterfaceMethod<"The mesh of the axes.",
      "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The axes that the devices of a group differ on.",
      "::llvm::SmallVector<::shoal::AxisRefAttr>", "getGroupAxes">,
    InterfaceMethod<[{
        Whether data moves between devices: then all devices of a group must
        reach the op, in the same order as their other collectives.
      }], "bool", "communicates", (ins), "", "return true;">,
    InterfaceMethod<[{
        Whether results are computed of what several devices have, as a sum is:
        else each element is one of some device.
      }], "bool", "reduces", (ins), "", "return false;">,
    InterfaceMethod<[{
        Bytes that the busiest device sends or receives, whichever is more; see
        Support/CollectiveBytes.h.
      }], "int64_t", "countBytes", (ins), "", "return 0;">,
    InterfaceMethod<[{
        How many rows a device gets on average, along the first dimension of the
        result, of those that there is room for; nothing where all come.
      }], "std::optional<int64_t>", "countMeanRows", (ins), "",
      "return std::nullopt;">,
    InterfaceMethod<[{
        Who sends to whom, of which these bytes are: what their time on the
        links between devices is computed by.
      }], "::shoal::CollectiveKind", "getCollectiveKind", (ins), "",
      "return ::shoal::CollectiveKind::Permute;">,
    InterfaceMethod<[{
        The group for reports, `{"x", "y":(1)2}`; where data goes from one list
        of axes to another, both.
      }], "std::string", "describeAxes", (ins), "",
      "return ::shoal::spmd::describeAxes($_op.getContext(), $_op.getGroupAxes());">,
    InterfaceMethod<"Axes that no result varies over, where not named below.",
      "::llvm::SmallVector<::shoal::AxisRefAttr>", "getUniformAxes">,
    InterfaceMethod<[{
        Axes that results vary over, whatever the operands do: of the mesh that
        getResultMeshAttr names.
      }], "::llvm::SmallVector<::shoal::AxisRefAttr>", "getVaryingAxes">,
    InterfaceMethod<[{
        The mesh in whose order of the devices the results are; that of the
        operands is getMeshAttr.
      }], "::mlir::FlatSymbolRefAttr", "getResultMeshAttr", (ins), "",
      "return $_op.getMeshAttr();">
  ];
}

#endif // SPMD_INTERFACES_TD
