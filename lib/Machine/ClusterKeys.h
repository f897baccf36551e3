// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The keys of machine files: each is named here once, with the law of its
// values. Who reads, writes or lists them is a class Keys with
//
//   text(name, string&, IsRequired)
//   flag(name, bool&)
//   number(name, double&, Law, IsRequired)   also of int64_t&
//   numbers(name, array&, Law)               [48, 48, 256]
//   curve(name, Curve&, Law of y)            [[1e3, 0.1], [1e6, 0.9]]
//   choice(name, enum&, names)               "switch"
//   table(name, [&](Keys &inner) {...})      [chip.gemm]
//   byName(name, map of string to double&, Law)
//   byKind(name, map of CollectiveKind to double&, Law)
//   list(name, vector&, [&](Keys &inner, T &) {...})   [[level]]

#ifndef SHOAL_LIB_MACHINE_CLUSTERKEYS_H
#define SHOAL_LIB_MACHINE_CLUSTERKEYS_H

#include "shoal/Machine/Cluster.h"

namespace shoal::detail {

/// What a number must be.
enum class Law {
  /// Over 0.
  Positive,
  /// 0 or more.
  NotNegative,
  /// Over 0 and at most 1.
  Share,
  /// 1 or more.
  AtLeastOne,
  /// Of one step, kernel or message.
  Seconds,
};

enum class IsRequired { No, Yes };

inline constexpr std::pair<const char *, CollectiveKind> kCollectiveNames[] = {
    {"all_gather", CollectiveKind::AllGather},
    {"reduce_scatter", CollectiveKind::ReduceScatter},
    {"all_reduce", CollectiveKind::AllReduce},
    {"all_to_all", CollectiveKind::AllToAll},
    {"permute", CollectiveKind::Permute}};

inline constexpr std::pair<const char *, LevelKind> kLevelKinds[] = {
    {"switch", LevelKind::Switch},
    {"rails", LevelKind::Rails},
    {"torus", LevelKind::Torus},
    {"bus", LevelKind::Bus}};

template <typename Keys>
void visitKeys(Keys &keys, ProductCurve &curve) {
  keys.number("max", curve.max, Law::Share, IsRequired::Yes);
  keys.numbers("half", curve.half, Law::NotNegative);
  keys.numbers("tile", curve.tile, Law::AtLeastOne);
}

template <typename Keys>
void visitKeys(Keys &keys, Chip &chip) {
  keys.number("memory", chip.memory, Law::Positive, IsRequired::Yes);
  keys.number("reserved", chip.reserved, Law::NotNegative);
  keys.number("memory_bw", chip.memoryBandwidth, Law::Positive,
              IsRequired::Yes);
  keys.number("memory_eff", chip.memoryEfficiency, Law::Share);
  keys.curve("memory_points", chip.memoryShare, Law::Positive);
  keys.byName("flops", chip.flops, Law::Positive);
  keys.table("gemm", [&](Keys &inner) { visitKeys(inner, chip.products); });
  keys.number("groups", chip.groupEfficiency, Law::Share);
  keys.number("attention", chip.attentionEfficiency, Law::Share);
  keys.number("elementwise", chip.elementwiseFlops, Law::NotNegative);
  keys.number("row", chip.indexedRow, Law::Seconds);
  keys.number("kernel", chip.kernel, Law::Seconds);
  keys.number("launch", chip.launch, Law::Seconds);
  keys.flag("overlaps", chip.overlaps);
  keys.number("overlap_tax", chip.overlapTax, Law::NotNegative);
}

template <typename Keys>
void visitKeys(Keys &keys, MeasuredCurve &measured) {
  keys.choice("kind", measured.kind, kCollectiveNames);
  keys.number("members", measured.members, Law::AtLeastOne, IsRequired::Yes);
  keys.curve("seconds", measured.seconds, Law::Positive);
}

template <typename Keys>
void visitKeys(Keys &keys, Level &level) {
  keys.text("name", level.name, IsRequired::Yes);
  keys.number("size", level.size, Law::AtLeastOne, IsRequired::Yes);
  keys.choice("kind", level.kind, kLevelKinds);
  keys.number("bw", level.bandwidth, Law::Positive, IsRequired::Yes);
  keys.byKind("bw_eff", level.efficiency, Law::Share);
  keys.curve("bw_points", level.messageShare, Law::Share);
  keys.flag("wrap", level.wraps);
  keys.number("nvls", level.allReduceGain, Law::AtLeastOne);
  keys.number("alpha", level.alpha, Law::Seconds);
  keys.number("message", level.message, Law::Seconds);
  keys.list("measured", level.measured,
            [](Keys &inner, MeasuredCurve &curve) { visitKeys(inner, curve); });
}

template <typename Keys>
void visitKeys(Keys &keys, Cluster &cluster) {
  keys.text("name", cluster.name, IsRequired::Yes);
  keys.text("source", cluster.source, IsRequired::No);
  keys.table("chip", [&](Keys &inner) { visitKeys(inner, cluster.chip); });
  keys.list("level", cluster.levels,
            [](Keys &inner, Level &level) { visitKeys(inner, level); });
}

} // namespace shoal::detail

#endif // SHOAL_LIB_MACHINE_CLUSTERKEYS_H
