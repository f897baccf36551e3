// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one device does in a step: the program's kernels, calls and collectives
// with their sizes, in its loops and branches. All devices do the same, so this
// is as long for 4,096 devices as for 2.

#ifndef SHOAL_SIMULATION_STEP_H
#define SHOAL_SIMULATION_STEP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Machine/StepTime.h"
#include <memory>
#include <variant>

namespace shoal {

/// A product of matrices, of floats or integers of `type`.
struct ProductWork {
  std::string type;
  ProductShape shape;
};

/// Everything else that computes or copies.
struct KernelWork {
  double operations = 0;
  int64_t indexedRows = 0;
};

struct CollectiveWork {
  CollectiveKind kind = CollectiveKind::Permute;
  /// Of the program's collectives.
  int64_t number = 0;
  llvm::SmallVector<AxisSpan> axes;
  /// The devices of each group, where their order is not the mesh's.
  std::vector<llvm::SmallVector<int64_t>> groups;
  /// `{"ep"}`, for people.
  std::string axesText;
  /// Why it is there, as its op says.
  std::string reason;
  /// What the mesh says that the axes are for: `ep`; else empty.
  std::string roles;
  /// What follows does not wait for it; a Wait does.
  bool isAsync = false;
  /// That are copied before they are sent, or behind that, to lie in order.
  int64_t packedBytes = 0;
};

struct Task {
  /// The call's name without its dialect, "einsum", or "kernel".
  std::string name;
  /// "file:line:col" and `layers.0/moe`, where they are known.
  std::string place, layer;
  /// That it reads and writes; of a collective, that the busiest device sends.
  int64_t bytes = 0;
  /// How much of it there is depends on data, and differs between devices.
  bool isRagged = false;
  /// Of a ragged product the part of the rows that there is room for which are
  /// there on the mean device.
  double filled = 1;
  /// The number of the op that it was made of, or of the last of several, as
  /// its location notes it.
  std::optional<int64_t> op;
  std::variant<KernelWork, ProductWork, CollectiveWork> work;
};

/// For the collective of this number.
struct Wait {
  int64_t number;
};

/// The host reads what the device has computed: it launches nothing before.
struct HostRead {};

struct Loop;
struct Branch;
using Node = std::variant<Task, Wait, HostRead, std::shared_ptr<Loop>,
                          std::shared_ptr<Branch>>;
using Step = std::vector<Node>;

struct Loop {
  /// 1 where nobody knows, which `isKnown` says.
  int64_t trips = 1;
  bool isKnown = true;
  /// Made for a gradient: it goes through its steps backwards.
  bool isOfGradient = false;
  std::string place;
  Step body;
};

struct Branch {
  std::string place;
  std::vector<Step> branches;
};

/// What is known of a per-device program before it is lowered.
struct PreparedProgram {
  /// How often loops run, in program order, by their place. None: unknown.
  llvm::DenseMap<mlir::Location, llvm::SmallVector<std::optional<int64_t>>>
      trips;
  /// The collectives by their numbers. Their ops are gone when it is lowered.
  std::vector<std::pair<CollectiveCost, CollectiveWork>> collectives;
  /// By numbers of ops, which their locations note: of products of rows that
  /// are not all there the part that is.
  llvm::DenseMap<int64_t, double> filled;
};
PreparedProgram prepareStep(mlir::ModuleOp module);

/// The step of the lowered function whose memory is planned, before its kernels
/// are functions. `onDevice`: of a program for GPUs.
Step extractStep(mlir::func::FuncOp main, const PreparedProgram &program,
                 bool onDevice);

} // namespace shoal

#endif // SHOAL_SIMULATION_STEP_H
