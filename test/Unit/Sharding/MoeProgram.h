// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GShard's Mixture-of-Experts layer (Algorithm 2), forward, with gating.

#ifndef SHOAL_TEST_UNIT_SHARDING_MOEPROGRAM_H
#define SHOAL_TEST_UNIT_SHARDING_MOEPROGRAM_H

#include "ProgramBuilder.h"

namespace shoal::testing {

/// Groups of tokens go over dp and ep, experts over ep, the hidden dimension
/// over tp. A mesh of one axis has dp = tp = none.
struct MoeLayout {
  Mesh mesh;
  AxisList dp, ep, tp;

  AxisList groups() const {
    AxisList axes = dp;
    axes.append(ep);
    return axes;
  }
  int64_t size(const AxisList &axes) const { return mesh.sizeOf(axes); }

  static MoeLayout single(int64_t n) {
    return {makeMesh({{"expert", n}}), {}, {0}, {}};
  }
  /// Annotations name no axis of size 1.
  static MoeLayout threeAxes(int64_t dp, int64_t ep, int64_t tp) {
    auto axes = [](AxisId axis, int64_t size) {
      return size > 1 ? AxisList{axis} : AxisList();
    };
    return {makeMesh({{"dp", dp}, {"ep", ep}, {"tp", tp}}), axes(0, dp),
            axes(1, ep), axes(2, tp)};
  }
};

/// How much of the layer is annotated. Weights, the input and the output
/// always are.
enum class MoeAnnotations {
  /// Every activation.
  Full,
  /// The dispatched tensor, and the combined one before it is combined.
  Min,
  None
};

struct MoeProgram {
  MoeLayout layout;
  int64_t numGroups, numExperts, capacity;
  int64_t groupSize = 256, model = 128, hidden = 512;
  AssignmentProblem problem;
  /// Ids of the values of the two expert products, and the layer's output.
  unsigned dispatched = 0, expertOutput = 0, output = 0;

  MoeProgram(const MoeLayout &layout, MoeAnnotations annotations,
             bool reversed = false);

  /// Bytes of GShard's plan: two all_to_alls of the dispatched tensor over ep,
  /// one ring all_reduce of it over tp.
  double need() const {
    double local = 4.0 * numExperts * numGroups * capacity * model /
                   layout.size(layout.groups());
    double ep = layout.size(layout.ep), tp = layout.size(layout.tp);
    return 2 * (ep - 1) / ep * local + 2 * (tp - 1) / tp * local;
  }
};

inline MoeProgram::MoeProgram(const MoeLayout &layout,
                              MoeAnnotations annotations, bool reversed)
    : layout(layout) {
  const auto &[mesh, dp, ep, tp] = layout;
  AxisList groups = layout.groups();
  numGroups = mesh.numDevices();
  numExperts = mesh.axes.size() == 1 ? mesh.numDevices() : 2 * layout.size(ep);
  capacity = 2 * groupSize / numExperts;
  bool full = annotations == MoeAnnotations::Full;
  ProgramBuilder b(mesh);
  auto annotate = [&](unsigned value, bool when,
                      std::initializer_list<AxisList> dims) {
    return when ? b.constrain(value, closed(dims)) : value;
  };
  unsigned x =
      b.argument({numGroups, groupSize, model}, closed({groups, {}, {}}));
  unsigned wg = b.argument({model, numExperts}, closed({{}, {}}));
  unsigned wi = b.argument({numExperts, model, hidden}, closed({ep, {}, tp}));
  unsigned wo = b.argument({numExperts, hidden, model}, closed({ep, tp, {}}));

  unsigned logits = b.einsum("GSM,ME->GSE", {x, wg});
  unsigned top = b.reduce(logits, 2, ReduceKind::Max);
  unsigned shifted = b.elementwise({logits, b.broadcast(top, 2, numExperts)},
                                   ProgramBuilder::Additive);
  unsigned exp = b.elementwise({shifted}, ProgramBuilder::Nonlinear);
  unsigned sum = b.reduce(exp, 2, ReduceKind::Sum);
  unsigned gates = b.elementwise({exp, b.broadcast(sum, 2, numExperts)},
                                 ProgramBuilder::Nonlinear);
  gates = annotate(gates, full, {groups, {}, {}});

  unsigned best = b.reduce(gates, 2, ReduceKind::Max);
  unsigned mask = b.elementwise({gates, b.broadcast(best, 2, numExperts)},
                                ProgramBuilder::Nonlinear);
  unsigned places = b.cumulative(mask, 1);
  unsigned chosen = b.elementwise({places, mask}, ProgramBuilder::Nonlinear);
  unsigned position = b.reduce(chosen, 2, ReduceKind::Sum);
  unsigned slots = b.elementwise({b.broadcast(position, 2, capacity),
                                  b.constant({numGroups, groupSize, capacity})},
                                 ProgramBuilder::Nonlinear);
  unsigned weights =
      b.elementwise({gates, mask}, ProgramBuilder::Multiplicative);
  unsigned combine = b.einsum("GSE,GSC->GSEC", {weights, slots});
  unsigned dispatch = b.einsum("GSE,GSC->GSEC", {mask, slots});
  combine = annotate(combine, full, {groups, {}, {}, {}});
  dispatch = annotate(dispatch, full, {groups, {}, {}, {}});

  auto makeLoss = [&]() {
    unsigned counts = b.reduce(mask, 1, ReduceKind::Sum);
    unsigned means = b.reduce(gates, 1, ReduceKind::Sum);
    unsigned product =
        b.elementwise({counts, means}, ProgramBuilder::Multiplicative);
    return b.reduce(b.reduce(product, 1, ReduceKind::Sum), 0, ReduceKind::Sum);
  };
  unsigned loss = reversed ? 0 : makeLoss();

  unsigned d = b.einsum("GSEC,GSM->EGCM", {dispatch, x});
  d = annotate(d, annotations != MoeAnnotations::None, {ep, dp, {}, {}});
  dispatched = d;
  unsigned h = b.einsum("EGCM,EMH->EGCH", {d, wi});
  h = annotate(h, full, {ep, dp, {}, tp});
  h = b.elementwise({h}, ProgramBuilder::Nonlinear);
  unsigned e = b.einsum("EGCH,EHM->GECM", {h, wo});
  expertOutput = e;
  e = annotate(e, full, {groups, {}, {}, {}});
  unsigned y = b.einsum("GSEC,GECM->GSM", {combine, e});
  output = y;
  if (reversed)
    loss = makeLoss();
  b.result(y, closed({groups, {}, {}}));
  b.result(loss);
  problem = std::move(b.problem);
}

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_MOEPROGRAM_H
