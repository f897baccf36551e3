// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a device stands in a mesh, by plain arithmetic: with positions counted
// row-major over the axes, the position of a device is a linear function of its
// coordinates, so any group of devices is base + sum of index digits * weights.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_MESH_H
#define SHOAL_LIB_RUNTIME_PROGRAM_MESH_H

#include "shoal/Calls/CollectiveCalls.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shoal::rt {

using calls::Axes;
using calls::shardCount;
using calls::SubAxis;

/// The digits of `index` over the axes, major to minor.
std::vector<int64_t> indexDigits(std::span<const SubAxis> axes, int64_t index);

/// The parts that two lists of disjoint sub-axes have in common, where they are
/// sub-axes of both.
Axes commonAxes(std::span<const SubAxis> a, std::span<const SubAxis> b);

struct MeshAxis {
  std::string name;
  int64_t size;
};

class Mesh {
public:
  /// `deviceIds[i]` is the rank at position i; empty for the identity.
  Mesh(std::string name, std::vector<MeshAxis> axes,
       std::vector<int64_t> deviceIds);

  const std::string &name() const { return meshName; }
  std::span<const MeshAxis> axes() const { return meshAxes; }
  std::span<const int64_t> deviceIds() const { return ids; }
  int64_t numDevices() const;

  int64_t positionOf(int64_t rank) const;
  int64_t rankAt(int64_t position) const;

  /// How far apart positions lie that differ by one in the sub-axis.
  int64_t weight(const SubAxis &axis) const;

  /// The mixed radix index of the device at `position` over the axes.
  int64_t indexAt(int64_t position, std::span<const SubAxis> axes) const;

  /// The position with index 0 over the axes and every other coordinate of
  /// `position`: one such position for each group over the axes.
  int64_t groupBase(int64_t position, std::span<const SubAxis> axes) const;

  /// groupBase plus the digits of `index`.
  int64_t member(int64_t base, std::span<const SubAxis> axes,
                 int64_t index) const;

  /// Sub-axes that together with `axes`, which are disjoint, make up the mesh.
  Axes complement(std::span<const SubAxis> axes) const;

private:
  int64_t coordinate(int64_t position, const SubAxis &axis) const;

  std::string meshName;
  std::vector<MeshAxis> meshAxes;
  /// Positions between neighbours along each whole axis.
  std::vector<int64_t> strides;
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_MESH_H
