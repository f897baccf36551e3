// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BufferAccess.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

/// What the ops of a kernel do with buffers from outside.
static std::optional<SmallVector<BufferAccess>>
accessesOfKernel(rt::KernelOp kernel) {
  SmallVector<BufferAccess> accesses;
  for (Operation &op : kernel.getBody().front()) {
    if (isa<memref::AllocaOp>(op))
      continue;
    std::optional<SmallVector<BufferAccess>> own = accessesOf(&op);
    if (!own)
      return std::nullopt;
    for (BufferAccess &access : *own)
      if (!access.range.root ||
          access.range.root.getParentRegion() != &kernel.getBody())
        accesses.push_back(access);
  }
  return accesses;
}

std::optional<SmallVector<BufferAccess>> shoal::accessesOf(Operation *op) {
  if (auto kernel = dyn_cast<rt::KernelOp>(op))
    return accessesOfKernel(kernel);
  SmallVector<BufferAccess> accesses;
  if (isMemoryEffectFree(op))
    return accesses;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface || (op->getNumRegions() > 0 && !isa<linalg::LinalgOp>(op)))
    return std::nullopt;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    Value value = effect.getValue();
    if (!value || !isa<MemRefType>(value.getType()))
      return std::nullopt;
    accesses.push_back({BufferRange::of(value),
                        !isa<MemoryEffects::Read>(effect.getEffect())});
  }
  for (Region &region : op->getRegions())
    region.walk([&](memref::LoadOp load) {
      accesses.push_back({BufferRange::of(load.getMemref()), false});
    });
  return accesses;
}

bool shoal::conflict(ArrayRef<BufferAccess> as, ArrayRef<BufferAccess> bs) {
  for (const BufferAccess &a : as)
    for (const BufferAccess &b : bs)
      if ((a.writes || b.writes) && a.range.overlaps(b.range))
        return true;
  return false;
}
