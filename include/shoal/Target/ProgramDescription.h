// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a compiled program says of itself: signature, meshes, collectives. The
// runtime reads it as JSON; tools print it.

#ifndef SHOAL_TARGET_PROGRAMDESCRIPTION_H
#define SHOAL_TARGET_PROGRAMDESCRIPTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/Certificate.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/Support/JSON.h"

namespace shoal {

struct MeshDescription {
  std::string name;
  MeshAttr mesh;
  /// What each axis is for, "dp, ep"; empty where nothing says it.
  llvm::SmallVector<std::string> roles;
};

/// An input or output: the whole tensor, and one device's shard of it.
struct TensorDescription {
  std::string name;
  mlir::RankedTensorType globalType, localType;
  /// Null where every device holds the whole tensor.
  ShardingAttr sharding;
  /// The caller sees its integers as unsigned ones.
  bool isUnsigned = false;
  /// The caller sees pairs of its floats as complex numbers.
  bool isComplex = false;
  /// What its bytes are codes of to the caller; "" where they are none.
  std::string codes;
  /// The caller sees its first dimension as the addends of a sum.
  bool isAddends = false;
  /// Of an input: the program may write over it.
  bool isDonated = false;
  /// Of an output: the number of the input in whose memory it is made, or -1.
  /// Known once the program has been lowered.
  int64_t donor = -1;
  /// Of an output: where it lies in the outputs' shared memory, or -1. Known
  /// once the program has been lowered.
  int64_t offset = -1;
};

/// A call of the runtime that multiplies, with its descriptor.
struct ProductCall {
  bool isRagged;
  std::vector<int64_t> desc;
  mlir::Location location;
  /// As `rt.einsum` says it; empty for groups, which the runtime plans.
  std::string plan;
};

/// A call of the process that runs the program.
struct HostCallDescription {
  /// The function's; none of what prints.
  std::optional<int64_t> number;
  std::string name;
  mlir::Location location;
};

struct ProgramDescription {
  std::string name;
  int64_t devices = 1;
  llvm::SmallVector<MeshDescription> meshes;
  llvm::SmallVector<TensorDescription> inputs, outputs;
  /// Their `op` is gone once the program has been lowered.
  llvm::SmallVector<CollectiveCost> collectives;
  /// How many values it looks at while it runs.
  int64_t checks = 0;
  /// In program order. Known once the program has been lowered.
  std::vector<ProductCall> products;
  std::vector<HostCallDescription> hostCalls;
  /// How einsums with one-hot operands are computed, and why, a line each.
  std::vector<std::string> oneHots;
  /// What the backward pass computes again, a line for all and for each large
  /// value.
  std::vector<std::string> rematerialized;
  /// How near its shardings are to the cheapest, where that was asked for.
  std::optional<Certificate> certificate;
  ArithmeticCost arithmetic;
  /// Einsum flops of the global program; 0 where the module does not say.
  double globalEinsumFlops = 0;

  /// Of the outputs' shared memory. Known once the program has been lowered.
  int64_t sharedBytes = 0;

  /// Bytes of one device's inputs and outputs.
  int64_t argumentBytes() const;
};

/// The one public function of a per-device program, marked `shoal.spmd`; an
/// error where there is none or more than one.
mlir::FailureOr<mlir::func::FuncOp> findProgram(mlir::ModuleOp module);

/// Describes a per-device program, before it is lowered. Fails with an error at
/// the function where an argument or result is not a tensor, has a sharding but
/// no `shoal.global_type`, where a local shape is not the shard's or a name
/// occurs twice, and where meshes differ in their number of devices.
mlir::FailureOr<ProgramDescription> describeProgram(mlir::ModuleOp module);

/// Takes note of the outputs' donors from the lowered function; its attribute
/// goes away.
void takeDonors(mlir::Operation *function, ProgramDescription &program);

/// The metadata of shoal/Runtime/ABI.h.
llvm::json::Value toMetadata(const ProgramDescription &program,
                             llvm::StringRef target, int64_t arenaBytes);

/// `[{"axis": number in the mesh, "pre": p, "size": s}...]`, for each axis its
/// part that is meant.
llvm::json::Array toMetadata(mlir::ArrayRef<AxisRefAttr> axes, MeshAttr mesh);

} // namespace shoal

#endif // SHOAL_TARGET_PROGRAMDESCRIPTION_H
