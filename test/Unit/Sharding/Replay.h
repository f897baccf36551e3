// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plays a plan on the elements of every device: what the collectives of the
// `spmd` dialect do, on labels of elements instead of values.

#ifndef SHOAL_TEST_UNIT_SHARDING_REPLAY_H
#define SHOAL_TEST_UNIT_SHARDING_REPLAY_H

#include "LabelledBlock.h"
#include "shoal/Sharding/ReshardPlan.h"
#include <optional>
#include <string>

namespace shoal::testing {

/// The devices of a mesh, each with its block.
class Replay {
public:
  /// Every device has its block by the ceil rule; over axes that `sharding` is
  /// partial over each has an addend of its own.
  Replay(llvm::ArrayRef<int64_t> shape, const Sharding &sharding,
         const Mesh &mesh)
      : whole(shape), shape(shape), mesh(mesh), state(sharding),
        initial(sharding.partial.begin(), sharding.partial.end()) {
    for (int64_t p = 0; p < mesh.numDevices(); ++p)
      blocks.push_back(blockOf(sharding, p, bitOf(p)));
  }

  /// Does the step. Returns the elements that the device receives that receives
  /// most; nothing where the step cannot be done so, with the reason in
  /// `error`.
  std::optional<int64_t> run(const PlannedStep &step);

  /// Whether each device has what `sharding` says, with all addends of the axes
  /// that it is not partial over.
  bool holds(const Sharding &sharding) const;

  std::string error;

private:
  /// Position over the axes that were partial at first.
  uint64_t bitOf(int64_t position) const {
    return uint64_t(1) << mesh.indexOver(initial, mesh.coordinates(position));
  }
  /// The addends a device has once all but those over sharding.partial are
  /// summed; of an axis that became partial later the first device has all.
  uint64_t addendsOf(const Sharding &sharding, int64_t position) const;

  Block blockOf(const Sharding &sharding, int64_t position,
                uint64_t addends) const;

  /// The members of a device's group over `axes`, in the order of their index.
  std::vector<int64_t> groupOf(int64_t position,
                               llvm::ArrayRef<AxisId> axes) const;

  std::vector<Block> slice(const ShardingDelta &delta) const;
  std::vector<Block> gather(const ShardingDelta &delta,
                            const Sharding &after) const;
  std::vector<Block> allToAll(const ShardingDelta &delta,
                              const Sharding &after) const;
  std::vector<Block> permute(const Sharding &after) const;
  std::optional<std::vector<Block>> reduce(const ShardingDelta &delta);
  std::vector<Block> toPartial(const ShardingDelta &delta) const;
  std::optional<std::vector<Block>> exchange(const Sharding &after);
  std::vector<Block> reshape(const PlannedStep &step);
  int64_t mostReceived(const std::vector<Block> &next) const;

  /// The tensor's own shape, and the one that blocks are cut from now.
  llvm::ArrayRef<int64_t> whole;
  llvm::SmallVector<int64_t> shape;
  const Mesh &mesh;
  Sharding state;
  AxisList initial;
  std::vector<Block> blocks;
};

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_REPLAY_H
