// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which mesh a program's devices form, and the shardings over it, in bytes or
// seconds, within the memory of a device. Knows no IR.

#ifndef SHOAL_SHARDING_MESHSEARCH_H
#define SHOAL_SHARDING_MESHSEARCH_H

#include "shoal/Sharding/Assignment.h"

namespace shoal {

/// The ways to cut `devices` into at most `maxAxes` axes of two and more, major
/// to minor, those of fewer axes first. 12 over two axes: 12; 2 x 6, 3 x 4, 4 x
/// 3, 6 x 2.
std::vector<llvm::SmallVector<int64_t>> listMeshShapes(int64_t devices,
                                                       unsigned maxAxes);

/// The mesh whose axes have these sizes, "x", "y", "z", "x3", ...
Mesh meshOfShape(llvm::ArrayRef<int64_t> shape);

/// Whether `whole` is the mesh with its axes `axis` and `axis + 1` as one, in
/// the same device order.
bool isWithOneAxis(const Mesh &whole, const Mesh &mesh, AxisId axis);

/// Plans whose costs differ by a smaller share are as good as each other.
inline constexpr double kSameCost = 1e-3;

struct MeshSearchOptions {
  AssignmentOptions assignment;
  /// Bytes that a device has for what it holds before and after a step
  /// (Op::isHeld); nothing: any number.
  std::optional<double> memory;
};

/// The best shardings over one mesh.
struct MeshPlan {
  Mesh mesh;
  Assignment assignment;
  /// In the prices of the search.
  double cost = 0;
  /// No shardings over this mesh that fit cost less; only of the best.
  std::optional<double> leastCost;
  /// Of what a device holds.
  double heldBytes = 0;
};

/// The best shardings over each mesh, the cheapest first; where costs are
/// equal (kSameCost), those that hold less, then those of fewer axes.
/// Meshes over which nothing fits are left out. `problem` has annotations over
/// no mesh but the only one.
///
/// What is held has a price, which rises until it fits the memory (Everett's
/// generalised Lagrange multipliers, 1963); then arguments take the shardings
/// that they have where it is too cheap, one after the other, the largest gain
/// first, while all fit.
std::vector<MeshPlan> searchMeshes(const AssignmentProblem &problem,
                                   llvm::ArrayRef<Mesh> meshes,
                                   const MeshSearchOptions &options);

/// Of the plan's arguments and results, in bytes of a device.
double heldBytes(const AssignmentProblem &problem,
                 const Assignment &assignment);

} // namespace shoal

#endif // SHOAL_SHARDING_MESHSEARCH_H
