// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the mesh, and how arguments lie over it, where a program says neither
// (docs/guide/PlannedShardings.md).

#ifndef SHOAL_TRANSFORMS_PROPAGATION_PLANSHARDINGS_H
#define SHOAL_TRANSFORMS_PROPAGATION_PLANSHARDINGS_H

#include "mlir/IR/BuiltinOps.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Sharding/Mesh.h"
#include <optional>

namespace shoal {

struct Cluster;

struct PlanOptions {
  /// Its levels price collectives; outlives the call.
  const Cluster *cluster = nullptr;
  /// Where the program has no mesh: the number of devices, how many axes they
  /// are cut into, or how, major to minor, where that is given.
  int64_t devices = 0;
  unsigned maxAxes = 2;
  llvm::SmallVector<int64_t> shape;
  /// Bytes that a device has for arguments and results; nothing: any.
  std::optional<int64_t> memory;
  /// As --shoal-assign has them.
  MachineKind machine = MachineKind::GPU;
  bool denseOneHots = false;
  double oneHotGain = 32;
};

/// The best plan over one mesh.
struct ShardingPlan {
  Mesh mesh;
  /// Of a step, as the search prices it: nothing runs beside anything else.
  double seconds = 0;
  /// What no plan over this mesh takes less than; only of the best one.
  std::optional<double> leastSeconds;
  /// Of arguments and results on a device.
  int64_t heldBytes = 0;
  /// The first argument, or else value, that is cut otherwise than in the best
  /// plan: `argument 1 "w" is cut 1 x 8, not 8 x 1`; empty for the best, and
  /// where there is none.
  std::string difference;
};

struct PlannedShardings {
  /// Fastest first.
  std::vector<ShardingPlan> plans;
  /// Annotations that were put on values beside the arguments.
  unsigned numValues = 0;
};

/// The best plan of each mesh, fastest first; of equally fast ones those that
/// hold less, then those of fewer axes. The module gets the mesh of the first,
/// and its public function the shardings of that plan on all arguments, and an
/// annotation wherever the plan would not be found from these alone. It is as
/// buildImportPipeline leaves it; annotations that it has hold, over the mesh
/// that it has. Errors: nothing fits the memory, devices that the cluster has
/// not, what extractProblem refuses.
mlir::FailureOr<PlannedShardings> planShardings(mlir::ModuleOp module,
                                                const PlanOptions &options);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_PROPAGATION_PLANSHARDINGS_H
