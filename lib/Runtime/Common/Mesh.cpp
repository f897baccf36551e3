// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Mesh.h"

namespace shoal::rt {

int64_t shardCount(std::span<const SubAxis> axes) {
  int64_t count = 1;
  for (const SubAxis &axis : axes)
    count *= axis.size;
  return count;
}

std::vector<int64_t> indexDigits(std::span<const SubAxis> axes, int64_t index) {
  std::vector<int64_t> digits(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    digits[i] = index % axes[i].size;
    index /= axes[i].size;
  }
  return digits;
}

Mesh::Mesh(std::string name, std::vector<MeshAxis> axes,
           std::vector<int64_t> deviceIds)
    : meshName(std::move(name)), meshAxes(std::move(axes)),
      strides(meshAxes.size()), ids(std::move(deviceIds)) {
  int64_t stride = 1;
  for (size_t i = meshAxes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= meshAxes[i].size;
  }
  positions.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i)
    positions[ids[i]] = static_cast<int64_t>(i);
}

int64_t Mesh::numDevices() const {
  int64_t count = 1;
  for (const MeshAxis &axis : meshAxes)
    count *= axis.size;
  return count;
}

int64_t Mesh::positionOf(int64_t rank) const {
  return positions.empty() ? rank : positions[rank];
}

int64_t Mesh::rankAt(int64_t position) const {
  return ids.empty() ? position : ids[position];
}

int64_t Mesh::weight(const SubAxis &axis) const {
  int64_t minor = meshAxes[axis.axis].size / (axis.pre * axis.size);
  return strides[axis.axis] * minor;
}

int64_t Mesh::coordinate(int64_t position, const SubAxis &axis) const {
  // The digits of the full axis between the sub-axis and the next major axis
  // are cut off by the remainder.
  return position / weight(axis) % axis.size;
}

int64_t Mesh::indexAt(int64_t position, std::span<const SubAxis> axes) const {
  int64_t index = 0;
  for (const SubAxis &axis : axes)
    index = index * axis.size + coordinate(position, axis);
  return index;
}

int64_t Mesh::groupBase(int64_t position, std::span<const SubAxis> axes) const {
  int64_t base = position;
  for (const SubAxis &axis : axes)
    base -= coordinate(position, axis) * weight(axis);
  return base;
}

int64_t Mesh::member(int64_t base, std::span<const SubAxis> axes,
                     int64_t index) const {
  std::vector<int64_t> digits = indexDigits(axes, index);
  for (size_t i = 0; i < axes.size(); ++i)
    base += digits[i] * weight(axes[i]);
  return base;
}

} // namespace shoal::rt
