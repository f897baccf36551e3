// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: from a descriptor to copies, loops and matrix products.

#include "../Common/Recorder.h"
#include "BinaryEinsum.h"
#include "StridedCopy.h"

#include <cstring>
#include <memory>
#include <unordered_map>

namespace shoal::rt {

namespace {

/// An einsum ready to run, any number of times.
struct Prepared {
  EinsumSpec spec;
  /// Set where the types differ in a way that kernels do not know: then the
  /// spec is that of the computation, and operands and result are converted.
  std::optional<std::pair<ElementType, ElementType>> declaredTypes;
  int64_t resultElements = 0;
  bool emptySum = false;
  /// A transpose or a copy, for one operand without sums.
  bool isCopy = false;
  Loops<2> copy;
  /// A sum, for one operand.
  LoopProduct sum;
  /// For two.
  BinaryEinsum product;
};

} // namespace

static int64_t elementsOf(const EinsumSpec &spec, const Letters &letters) {
  int64_t count = 1;
  for (int64_t letter : letters)
    count *= spec.sizes[letter];
  return count;
}

/// One operand: a copy, or a sum as a product by one.
static void prepareUnary(Prepared &prepared) {
  const EinsumSpec &spec = prepared.spec;
  std::vector<int64_t> in = letterStrides(spec, spec.operands[0]);
  std::vector<int64_t> out = letterStrides(spec, spec.result);
  LoopProduct &loops = prepared.sum;
  loops = {{}, {}, spec.typeIn, spec.typeOut};
  for (size_t l = 0; l < spec.sizes.size(); ++l) {
    Loop<3> loop{spec.sizes[l], {in[l], 0, out[l]}};
    bool kept = contains(spec.result, static_cast<int64_t>(l));
    (kept ? loops.outer : loops.summed).push_back(loop);
    if (kept)
      prepared.copy.push_back({loop.size, {in[l], out[l]}});
  }
  prepared.isCopy = simplify(loops.summed, 0).empty();
}

/// Kernels take equal types, or f32 beside a small float.
static void useComputeTypes(Prepared &prepared) {
  EinsumSpec &spec = prepared.spec;
  ElementType in = spec.typeIn, out = spec.typeOut, compute = computeType(spec);
  bool small = in == ElementType::BF16 || in == ElementType::F16;
  if (in == out || (small && out == ElementType::F32))
    return;
  prepared.declaredTypes = {in, out};
  spec.typeIn = spec.typeOut = compute;
}

static Prepared prepare(const int64_t *desc) {
  Prepared prepared;
  prepared.spec = parseEinsum(desc);
  useComputeTypes(prepared);
  const EinsumSpec &spec = prepared.spec;
  prepared.resultElements = elementsOf(spec, spec.result);
  prepared.emptySum = contains(spec.sizes, 0);
  if (prepared.emptySum)
    return prepared;
  if (spec.operands.size() == 1)
    prepareUnary(prepared);
  else
    prepared.product =
        BinaryEinsum(spec, {letterStrides(spec, spec.operands[0]),
                            letterStrides(spec, spec.operands[1])});
  return prepared;
}

static const Prepared &lookUp(const int64_t *desc) {
  static std::unordered_map<const int64_t *, Prepared> cache;
  auto entry = cache.find(desc);
  // The address says it all for a program; a test may reuse one.
  if (entry == cache.end() || !describes(desc, entry->second.spec))
    entry = cache.insert_or_assign(desc, prepare(desc)).first;
  return entry->second;
}

static void runUnary(const Prepared &prepared, const void *in, void *out) {
  const EinsumSpec &spec = prepared.spec;
  if (prepared.isCopy)
    copyStrided(prepared.copy, spec.typeIn, in, spec.typeOut, out);
  else
    prepared.sum.run(in, oneOf(spec.typeIn), out);
}

static void runTyped(const Prepared &prepared, const void *in0, const void *in1,
                     void *out) {
  if (prepared.spec.operands.size() == 1)
    runUnary(prepared, in0, out);
  else
    prepared.product.run(in0, in1, out);
}

/// Through whole converted copies, for the rare mixtures of types.
static void runConverted(const Prepared &prepared, const void *in0,
                         const void *in1, void *out) {
  const EinsumSpec &spec = prepared.spec;
  auto [typeIn, typeOut] = *prepared.declaredTypes;
  ElementType compute = spec.typeIn;
  std::array<const void *, 2> operands = {in0, in1};
  constexpr Staging::Slot slots[] = {Staging::Wide0, Staging::Wide1};
  for (size_t i = 0; i < spec.operands.size() && typeIn != compute; ++i) {
    int64_t count = elementsOf(spec, spec.operands[i]);
    void *wide =
        Staging::get().at(slots[i], count * support::elementSize(compute));
    copyStrided({{count, {1, 1}}}, typeIn, operands[i], compute, wide);
    operands[i] = wide;
  }
  if (typeOut == compute)
    return runTyped(prepared, operands[0], operands[1], out);
  int64_t count = prepared.resultElements;
  void *result = Staging::get().at(Staging::WideResult,
                                   count * support::elementSize(compute));
  runTyped(prepared, operands[0], operands[1], result);
  copyStrided({{count, {1, 1}}}, compute, result, typeOut, out);
}

static void runEinsum(const Prepared &prepared, const void *in0,
                      const void *in1, void *out) {
  if (prepared.resultElements == 0)
    return;
  const EinsumSpec &spec = prepared.spec;
  ElementType declared =
      prepared.declaredTypes ? prepared.declaredTypes->second : spec.typeOut;
  if (prepared.emptySum)
    std::memset(out, 0,
                prepared.resultElements * support::elementSize(declared));
  else if (prepared.declaredTypes)
    runConverted(prepared, in0, in1, out);
  else
    runTyped(prepared, in0, in1, out);
}

} // namespace shoal::rt

extern "C" void shoal_rt_einsum(const int64_t *desc, const void *in0,
                                const void *in1OrOut, void *out) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  const Prepared &prepared = lookUp(desc);
  if (prepared.spec.operands.size() == 1)
    runEinsum(prepared, in0, nullptr, const_cast<void *>(in1OrOut));
  else
    runEinsum(prepared, in0, in1OrOut, out);
}
