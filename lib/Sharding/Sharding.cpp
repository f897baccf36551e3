// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Sharding.h"
#include "shoal/Sharding/MergeAxes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace shoal;

bool Sharding::isReplicated() const {
  return partial.empty() &&
         llvm::all_of(dims, [](const AxisList &dim) { return dim.empty(); });
}

bool Sharding::uses(AxisId axis) const {
  return llvm::is_contained(partial, axis) ||
         llvm::any_of(dims, [&](const AxisList &dim) {
           return llvm::is_contained(dim, axis);
         });
}

llvm::SmallVector<int64_t> shoal::localShape(llvm::ArrayRef<int64_t> shape,
                                             const Sharding &sharding,
                                             const Mesh &mesh) {
  llvm::SmallVector<int64_t> local;
  for (auto [size, axes] : llvm::zip_equal(shape, sharding.dims))
    local.push_back(shardSize(size, mesh.sizeOf(axes)));
  return local;
}

int64_t shoal::localBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                          const Sharding &sharding, const Mesh &mesh) {
  int64_t bytes = elementBytes;
  for (int64_t size : localShape(shape, sharding, mesh))
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

int64_t shoal::paddedRows(llvm::ArrayRef<int64_t> shape, int64_t dim,
                          const Sharding &sharding, const Mesh &mesh) {
  int64_t p = mesh.sizeOf(sharding.dims[dim]);
  return p * shardSize(shape[dim], p) - shape[dim];
}

llvm::SmallVector<MeshAxis, 2> shoal::mergeAxes(llvm::ArrayRef<AxisId> axes,
                                                const Mesh &mesh) {
  llvm::SmallVector<MeshAxis, 2> merged;
  for (AxisId id : axes) {
    const MeshAxis &axis = mesh.axes[id];
    MeshAxis *last = merged.empty() ? nullptr : &merged.back();
    if (last && last->name == axis.name && axis.pre == last->pre * last->size)
      last->size *= axis.size;
    else
      merged.push_back(axis);
  }
  return merged;
}

/// Prints axes as the attributes do.
static void printAxes(llvm::raw_ostream &os, llvm::ArrayRef<AxisId> axes,
                      const Mesh &mesh) {
  os << '{';
  llvm::interleaveComma(mergeAxes(axes, mesh), os, [&](const MeshAxis &axis) {
    os << '"' << axis.name << '"';
    if (!axis.isWhole())
      os << ":(" << axis.pre << ')' << axis.size;
  });
  os << '}';
}

std::string shoal::toString(const Sharding &sharding, const Mesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<@" << mesh.name << ", [";
  llvm::interleaveComma(sharding.dims, os,
                        [&](const AxisList &dim) { printAxes(os, dim, mesh); });
  os << ']';
  if (sharding.isPartial()) {
    os << ", partial = ";
    printAxes(os, sharding.partial, mesh);
  }
  os << '>';
  return text;
}
