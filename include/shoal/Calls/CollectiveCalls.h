// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communication, and what depends on a device's place.

#ifndef SHOAL_CALLS_COLLECTIVECALLS_H
#define SHOAL_CALLS_COLLECTIVECALLS_H

#include "shoal/Calls/Codes.h"
#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

#include <algorithm>

namespace shoal::calls {

using support::ElementType;

/// A sub-axis of an axis of n devices has the coordinate
/// (c / (n / (pre * size))) % size, where c is the coordinate on the full axis;
/// the full axis has pre 1 and size n.
struct SubAxis {
  static constexpr const char *name = "sub-axis";

  int64_t axis = 0;
  int64_t pre = 1;
  int64_t size = 1;

  bool operator==(const SubAxis &) const = default;
  static constexpr auto fields() {
    return std::tuple{
        field("axis", &SubAxis::axis, "its place among the mesh's axes"),
        field("pre", &SubAxis::pre, "the size of the more major part"),
        field("size", &SubAxis::size, "")};
  }
};

/// Major to minor. A device's index over them is the mixed radix number of its
/// coordinates.
using Axes = std::vector<SubAxis>;

/// The product of the sizes: how many shards the axes make.
inline int64_t shardCount(std::span<const SubAxis> axes) {
  int64_t count = 1;
  for (const SubAxis &axis : axes)
    count *= axis.size;
  return count;
}

/// A tensor cut into blocks along each dimension.
struct BlockShapes {
  static constexpr const char *name = "blocks";

  std::vector<int64_t> whole;
  std::vector<int64_t> block;
  std::vector<Axes> dims;

  bool operator==(const BlockShapes &) const = default;
  static constexpr auto fields() {
    using Blocks = BlockShapes;
    return std::tuple{
        field("whole", &Blocks::whole, "the shape of all blocks together"),
        field("block", &Blocks::block, "the shape of one"),
        field("dims", &Blocks::dims, "the axes along each dimension")};
  }
};

struct AxisIndexCall {
  static constexpr const char *name = "axis_index";
  static constexpr const char *arguments = "out";

  int64_t mesh = 0;
  Axes axes;

  bool operator==(const AxisIndexCall &) const = default;
  static constexpr auto fields() {
    using Call = AxisIndexCall;
    return std::tuple{
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("axes", &Call::axes, "major to minor")};
  }
};

struct AllGatherCall {
  static constexpr const char *name = "all_gather";
  static constexpr const char *arguments = "in, out, scratch";

  int64_t id = -1;
  ElementType type{};
  int64_t mesh = 0;
  BlockShapes blocks;

  bool operator==(const AllGatherCall &) const = default;
  static constexpr auto fields() {
    using Call = AllGatherCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("blocks", &Call::blocks, "in is a block, out the whole")};
  }
};

struct AllSliceCall {
  static constexpr const char *name = "all_slice";
  static constexpr const char *arguments = "in, out";

  ElementType type{};
  int64_t mesh = 0;
  BlockShapes blocks;

  bool operator==(const AllSliceCall &) const = default;
  static constexpr auto fields() {
    using Call = AllSliceCall;
    return std::tuple{
        field("type", &Call::type, ""),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("blocks", &Call::blocks, "in is the whole, out a block")};
  }
};

struct AllReduceCall {
  static constexpr const char *name = "all_reduce";
  static constexpr const char *arguments = "in, out, scratch";

  int64_t id = -1;
  ElementType type{};
  int64_t mesh = 0;
  Kind kind{};
  int64_t count = 0;
  Axes axes;

  bool operator==(const AllReduceCall &) const = default;
  static constexpr auto fields() {
    using Call = AllReduceCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("kind", &Call::kind, ""),
        field("count", &Call::count, "elements"),
        field("axes", &Call::axes, "of the group")};
  }
};

struct ReduceScatterCall {
  static constexpr const char *name = "reduce_scatter";
  static constexpr const char *arguments = "in, out, scratch";

  int64_t id = -1;
  ElementType type{};
  int64_t mesh = 0;
  Kind kind{};
  BlockShapes blocks;

  bool operator==(const ReduceScatterCall &) const = default;
  static constexpr auto fields() {
    using Call = ReduceScatterCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("kind", &Call::kind, ""),
        field("blocks", &Call::blocks, "in is the whole, out a block")};
  }
};

/// Axes that leave one dimension for another.
struct AxesMove {
  static constexpr const char *name = "move";

  int64_t from = 0, to = 0;
  Axes axes;

  bool operator==(const AxesMove &) const = default;
  static constexpr auto fields() {
    return std::tuple{
        field("from", &AxesMove::from, "the dimension that comes together"),
        field("to", &AxesMove::to, "the dimension that is cut"),
        field("axes", &AxesMove::axes, "")};
  }
};

struct AllToAllCall {
  static constexpr const char *name = "all_to_all";
  static constexpr const char *arguments = "in, out, scratch";

  int64_t id = -1;
  ElementType type{};
  int64_t mesh = 0;
  std::vector<int64_t> in, out;
  std::vector<AxesMove> moves;

  bool operator==(const AllToAllCall &) const = default;
  static constexpr auto fields() {
    using Call = AllToAllCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("in", &Call::in, "its shape"),
        field("out", &Call::out, "its shape"),
        field("moves", &Call::moves, "of one dimension, major to minor")};
  }
};

/// What a device tells another one of a slice that it sends there.
struct AnnouncedSlice {
  int64_t to, rows;
};

struct RaggedAllToAllCall {
  static constexpr const char *name = "ragged_all_to_all";
  static constexpr const char *arguments =
      "in, in_offsets, send_sizes, out_offsets, recv_sizes, out, scratch";

  int64_t id = -1;
  ElementType type{}, countType{};
  int64_t mesh = 0;
  int64_t inRows = 0, outRows = 0, rowElements = 1, slices = 0;
  Axes axes;

  bool operator==(const RaggedAllToAllCall &) const = default;
  static constexpr auto fields() {
    using Call = RaggedAllToAllCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("count_type", &Call::countType, "of offsets and sizes"),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("in_rows", &Call::inRows, "of in"),
        field("out_rows", &Call::outRows, "of out"),
        field("row_elements", &Call::rowElements, "of a row"),
        field("slices", &Call::slices,
              "entries of offsets and sizes, the same number for each device"),
        field("axes", &Call::axes, "of the group")};
  }
};

/// Of a collective_permute: the index over the source axes of who sends, and
/// that over the target axes of who receives it.
struct IndexPair {
  static constexpr const char *name = "pair";

  int64_t source = 0, target = 0;

  bool operator==(const IndexPair &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("source", &IndexPair::source, "an index"),
                      field("target", &IndexPair::target, "an index")};
  }
};

struct CollectivePermuteCall {
  static constexpr const char *name = "collective_permute";
  static constexpr const char *arguments = "in, out";

  int64_t id = -1;
  ElementType type{};
  int64_t sourceMesh = 0, targetMesh = 0, count = 0, shift = 0;
  std::optional<std::vector<IndexPair>> pairs;
  Axes source, target;

  /// Whether anything goes from one device to another: none does where all keep
  /// what they have or get nothing. The same on all devices.
  bool moves() const {
    auto isElsewhere = [](const IndexPair &pair) {
      return pair.source != pair.target;
    };
    return !pairs || sourceMesh != targetMesh || source != target ||
           std::ranges::any_of(*pairs, isElsewhere);
  }

  bool operator==(const CollectivePermuteCall &) const = default;
  static constexpr auto fields() {
    using Call = CollectivePermuteCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("source_mesh", &Call::sourceMesh, "index into \"meshes\""),
        field("target_mesh", &Call::targetMesh, "index into \"meshes\""),
        field("count", &Call::count, "elements"),
        field("shift", &Call::shift, "0 <= shift < p"),
        field("pairs", &Call::pairs,
              "in place of a shift: who sends to whom; others get zeros"),
        field("source", &Call::source, "axes of the source mesh"),
        field("target", &Call::target, "axes of the target mesh")};
  }
};

/// One dimension of `size` rows. The device with index i over `source` has
/// block i of ceil(size / p) rows; the one with index j over `target` wants
/// `rows` rows from floor((step * j + offset) / divisor) on, of those that
/// exist.
struct ExchangeDim {
  static constexpr const char *name = "exchanged dim";

  int64_t size = 0;
  int64_t step = 0, offset = 0, divisor = 1, rows = 0;
  Axes source, target;

  bool operator==(const ExchangeDim &) const = default;
  static constexpr auto fields() {
    using Dim = ExchangeDim;
    return std::tuple{
        field("size", &Dim::size, "rows of the whole tensor"),
        field("step", &Dim::step, "between the windows of two devices"),
        field("offset", &Dim::offset, "of device 0's window"),
        field("divisor", &Dim::divisor, "of both"),
        field("rows", &Dim::rows, "of a window"),
        field("source", &Dim::source, "axes of the source mesh"),
        field("target", &Dim::target, "axes of the target mesh")};
  }
};

struct ExchangeCall {
  static constexpr const char *name = "exchange";
  static constexpr const char *arguments = "in, out, scratch";

  int64_t id = -1;
  ElementType type{};
  int64_t sourceMesh = 0, targetMesh = 0;
  std::vector<ExchangeDim> dims;
  int64_t packed = 0, received = 0;
  bool isHalo = false;

  bool operator==(const ExchangeCall &) const = default;
  static constexpr auto fields() {
    using Call = ExchangeCall;
    return std::tuple{
        field("id", &Call::id, "index into the metadata's \"collectives\""),
        field("type", &Call::type, ""),
        field("source_mesh", &Call::sourceMesh, "index into \"meshes\""),
        field("target_mesh", &Call::targetMesh, "index into \"meshes\""),
        field("dims", &Call::dims, "each dimension"),
        field("packed", &Call::packed,
              "elements that a device sends at most, counted once where "
              "several get them as parts of one box"),
        field("received", &Call::received,
              "elements that a device receives at most"),
        field("is_halo", &Call::isHalo,
              "whether all dims but one keep their blocks: counted as a "
              "halo_exchange")};
  }
};

/// The compute stream waits for a collective.
struct WaitCall {
  static constexpr const char *name = "wait";
  static constexpr const char *arguments = "";

  int64_t id = -1;

  bool operator==(const WaitCall &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("id", &WaitCall::id,
                            "index into the metadata's \"collectives\"")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_COLLECTIVECALLS_H
