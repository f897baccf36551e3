// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/DeviceAssignment.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal;
using llvm::ArrayRef;
using llvm::SmallVector;

std::optional<std::vector<MeshAxis>> shoal::axesOfDigit(PositionDigit digit,
                                                        const Mesh &mesh) {
  std::vector<MeshAxis> axes;
  int64_t begin = digit.stride, end = digit.stride * digit.size;
  int64_t axisEnd = mesh.numDevices();
  for (const MeshAxis &axis : mesh.axes) {
    int64_t axisBegin = axisEnd / axis.size;
    int64_t low = std::max(begin, axisBegin), high = std::min(end, axisEnd);
    if (low < high) {
      // Of the axis, what is below `low` is more minor, above `high` more
      // major.
      if (low % axisBegin || high % low || axisEnd % high)
        return std::nullopt;
      axes.push_back({axis.name, axisEnd / high, high / low, axis.size});
    }
    axisEnd = axisBegin;
  }
  return axes;
}

/// The digits, major to minor, of which equally many positions are made up;
/// nothing where they are no sum of digits.
static std::optional<SmallVector<PositionDigit>>
digitsOf(ArrayRef<int64_t> positions) {
  SmallVector<PositionDigit> digits;
  int64_t count = positions.size();
  for (int64_t done = 1; done < count;) {
    int64_t stride = positions[done];
    if (stride <= 0)
      return std::nullopt;
    int64_t size = 1;
    while (done * (size + 1) <= count &&
           positions[done * size] == stride * size)
      ++size;
    // The digit's size divides what is left; take the largest that does.
    while (count % (done * size) != 0)
      --size;
    if (size == 1)
      return std::nullopt;
    digits.insert(digits.begin(), {stride, size});
    done *= size;
  }
  return digits;
}

static int64_t positionAt(ArrayRef<PositionDigit> digits, int64_t index) {
  int64_t position = 0;
  for (const PositionDigit &digit : llvm::reverse(digits)) {
    position += index % digit.size * digit.stride;
    index /= digit.size;
  }
  return position;
}

std::optional<std::vector<std::vector<MeshAxis>>>
shoal::axesOfAssignment(ArrayRef<int64_t> tile, ArrayRef<int64_t> devices,
                        const Mesh &mesh) {
  SmallVector<int64_t> positions;
  for (int64_t device : devices)
    positions.push_back(mesh.positionOf(device));
  if (positions.empty() || positions[0] != 0)
    return std::nullopt;

  std::vector<std::vector<MeshAxis>> axes;
  SmallVector<PositionDigit> allDigits;
  int64_t stride = positions.size();
  for (int64_t size : tile) {
    stride /= size;
    SmallVector<int64_t> line;
    for (int64_t i = 0; i < size; ++i)
      line.push_back(positions[i * stride]);
    auto digits = digitsOf(line);
    if (!digits)
      return std::nullopt;
    std::vector<MeshAxis> &own = axes.emplace_back();
    for (PositionDigit digit : *digits) {
      auto digitAxes = axesOfDigit(digit, mesh);
      if (!digitAxes)
        return std::nullopt;
      llvm::append_range(own, *digitAxes);
    }
    allDigits.append(*digits);
  }
  for (auto [index, position] : llvm::enumerate(positions))
    if (positionAt(allDigits, index) != position)
      return std::nullopt;
  return axes;
}

std::optional<std::vector<std::vector<MeshAxis>>>
shoal::axesInOrder(ArrayRef<int64_t> tile, const Mesh &mesh) {
  std::vector<std::vector<MeshAxis>> axes;
  int64_t stride = mesh.numDevices();
  for (int64_t size : tile) {
    if (stride % size)
      return std::nullopt;
    stride /= size;
    auto own = axesOfDigit({stride, size}, mesh);
    if (!own)
      return std::nullopt;
    axes.push_back(*own);
  }
  return axes;
}
