// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/MeshSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;

static void addShapes(int64_t devices, unsigned numAxes,
                      llvm::SmallVector<int64_t> &major,
                      std::vector<llvm::SmallVector<int64_t>> &shapes) {
  if (numAxes == 1) {
    if (devices < 2)
      return;
    shapes.push_back(major);
    shapes.back().push_back(devices);
    return;
  }
  for (int64_t size = 2; size <= devices / 2; ++size) {
    if (devices % size != 0)
      continue;
    major.push_back(size);
    addShapes(devices / size, numAxes - 1, major, shapes);
    major.pop_back();
  }
}

std::vector<llvm::SmallVector<int64_t>>
shoal::listMeshShapes(int64_t devices, unsigned maxAxes) {
  std::vector<llvm::SmallVector<int64_t>> shapes;
  for (unsigned numAxes = 1; numAxes <= maxAxes; ++numAxes) {
    llvm::SmallVector<int64_t> major;
    addShapes(devices, numAxes, major, shapes);
  }
  if (shapes.empty())
    shapes.push_back({devices});
  return shapes;
}

Mesh shoal::meshOfShape(llvm::ArrayRef<int64_t> shape) {
  static constexpr llvm::StringLiteral kNames[] = {"x", "y", "z"};
  Mesh mesh{"mesh", {}, {}};
  for (auto [i, size] : llvm::enumerate(shape)) {
    std::string name =
        i < std::size(kNames) ? kNames[i].str() : "x" + std::to_string(i);
    mesh.axes.push_back({std::move(name), 1, size, size});
  }
  return mesh;
}

bool shoal::isWithOneAxis(const Mesh &whole, const Mesh &mesh, AxisId axis) {
  auto sizes = llvm::map_to_vector(
      mesh.axes, [](const MeshAxis &own) { return own.size; });
  sizes[axis] *= sizes[axis + 1];
  sizes.erase(sizes.begin() + axis + 1);
  return whole.deviceIds == mesh.deviceIds &&
         llvm::equal(whole.axes, sizes, [](const MeshAxis &own, int64_t size) {
           return own.size == size;
         });
}
