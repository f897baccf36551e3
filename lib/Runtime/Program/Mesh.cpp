// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Mesh.h"

#include <algorithm>

namespace shoal::rt {

std::vector<int64_t> indexDigits(std::span<const SubAxis> axes, int64_t index) {
  std::vector<int64_t> digits(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    digits[i] = index % axes[i].size;
    index /= axes[i].size;
  }
  return digits;
}

/// Whether `part` is made of digits of `whole` alone.
static bool isPartOf(const SubAxis &part, const SubAxis &whole) {
  return part.pre % whole.pre == 0 &&
         whole.size % (part.pre / whole.pre * part.size) == 0;
}

Axes commonAxes(std::span<const SubAxis> a, std::span<const SubAxis> b) {
  Axes common;
  for (const SubAxis &x : a)
    for (const SubAxis &y : b) {
      int64_t begin = std::max(x.pre, y.pre);
      int64_t end = std::min(x.pre * x.size, y.pre * y.size);
      if (x.axis != y.axis || begin >= end || end % begin != 0)
        continue;
      SubAxis part{x.axis, begin, end / begin};
      if (isPartOf(part, x) && isPartOf(part, y))
        common.push_back(part);
    }
  return common;
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

Axes Mesh::complement(std::span<const SubAxis> axes) const {
  Axes rest;
  for (size_t i = 0; i < meshAxes.size(); ++i) {
    Axes used;
    for (const SubAxis &axis : axes)
      if (axis.axis == static_cast<int64_t>(i))
        used.push_back(axis);
    std::ranges::sort(used, {}, &SubAxis::pre);
    used.push_back({static_cast<int64_t>(i), meshAxes[i].size, 1});
    int64_t done = 1;
    for (const SubAxis &axis : used) {
      if (axis.pre > done)
        rest.push_back({axis.axis, done, axis.pre / done});
      done = axis.pre * axis.size;
    }
  }
  return rest;
}

int64_t Mesh::member(int64_t base, std::span<const SubAxis> axes,
                     int64_t index) const {
  std::vector<int64_t> digits = indexDigits(axes, index);
  for (size_t i = 0; i < axes.size(); ++i)
    base += digits[i] * weight(axes[i]);
  return base;
}

} // namespace shoal::rt
