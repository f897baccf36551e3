// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every collective under mpirun against its definition in ABI.h, on random
// shapes, meshes, sub-axes and device orders. All ranks draw the same cases
// from one seed and each checks what it received. Compiled for each target.

#include "Collectives/ExchangeMessages.h"
#include "CollectivesDevice.h"
#include "TestScratch.h"
#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/SmallFloat.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <mpi.h>
#include <random>

using namespace shoal::rt;
using shoal::support::ElementType;
using Shape = std::vector<int64_t>;

namespace {

int myRank, numRanks, failures;
std::mt19937 rng(1);
std::vector<Mesh> meshes;

int64_t draw(int64_t count) { return static_cast<int64_t>(rng() % count); }

// --- The model: coordinates by the formula of ABI.h. ------------------------

int64_t coordinate(const Mesh &mesh, int64_t rank, const SubAxis &sub) {
  int64_t position = rank;
  for (size_t i = 0; i < mesh.deviceIds().size(); ++i)
    if (mesh.deviceIds()[i] == rank)
      position = static_cast<int64_t>(i);
  int64_t c = position;
  for (size_t a = mesh.axes().size(); a-- > static_cast<size_t>(sub.axis) + 1;)
    c /= mesh.axes()[a].size;
  int64_t n = mesh.axes()[sub.axis].size;
  return c % n / (n / (sub.pre * sub.size)) % sub.size;
}

int64_t indexOf(const Mesh &mesh, int64_t rank, const Axes &axes) {
  int64_t index = 0;
  for (const SubAxis &axis : axes)
    index = index * axis.size + coordinate(mesh, rank, axis);
  return index;
}

/// The mesh cut into disjoint sub-axes, in random order.
Axes drawAtoms(const Mesh &mesh) {
  Axes atoms;
  for (size_t a = 0; a < mesh.axes().size(); ++a) {
    auto axis = static_cast<int64_t>(a);
    int64_t n = mesh.axes()[a].size, cut = n % 2 == 0 && n > 2 ? draw(3) : 0;
    if (cut == 0)
      atoms.push_back({axis, 1, n});
    else if (cut == 1)
      atoms.insert(atoms.end(), {{axis, 1, 2}, {axis, 2, n / 2}});
    else
      atoms.insert(atoms.end(), {{axis, 1, n / 2}, {axis, n / 2, 2}});
  }
  std::shuffle(atoms.begin(), atoms.end(), rng);
  return atoms;
}

/// What stays the same within a group: one number for each group.
int64_t groupSalt(const Mesh &mesh, int64_t rank, const Axes &rest) {
  return indexOf(mesh, rank, rest);
}

/// Calls visit(index in the whole, offset) for each element of a shape.
void forEachIndex(const Shape &shape,
                  const std::function<void(const Shape &, int64_t)> &visit) {
  Shape index(shape.size(), 0);
  int64_t count = shoal::support::numElements(shape);
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at;
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    visit(index, at);
  }
}

/// The element of the whole tensor, or -1 past its end.
int64_t globalOffset(const Shape &whole, const Shape &index) {
  int64_t at = 0;
  for (size_t d = 0; d < whole.size(); ++d) {
    if (index[d] >= whole[d])
      return -1;
    at = at * whole[d] + index[d];
  }
  return at;
}

Shape localShape(const Shape &whole, const std::vector<Axes> &dims) {
  Shape local;
  for (size_t d = 0; d < whole.size(); ++d)
    local.push_back(ceilDiv(whole[d], shardCount(dims[d])));
  return local;
}

/// A device's shard; `padding` past the end of the whole.
std::vector<int32_t> shardOf(const Mesh &mesh, int64_t rank, const Shape &whole,
                             const std::vector<Axes> &dims, int64_t salt,
                             int32_t padding) {
  Shape local = localShape(whole, dims);
  std::vector<int32_t> values(shoal::support::numElements(local));
  forEachIndex(local, [&](Shape index, int64_t at) {
    for (size_t d = 0; d < whole.size(); ++d)
      index[d] += indexOf(mesh, rank, dims[d]) * local[d];
    int64_t global = globalOffset(whole, index);
    values[at] =
        global < 0 ? padding : static_cast<int32_t>(global + 1 + 10000 * salt);
  });
  return values;
}

// --- Cases. ------------------------------------------------------------------

struct Layout {
  size_t mesh;
  Shape whole;
  std::vector<Axes> dims;
  /// The atoms that no dimension uses.
  Axes rest;
};

Layout drawLayout() {
  Layout layout;
  layout.mesh = draw(static_cast<int64_t>(meshes.size()));
  size_t rank = 1 + draw(4);
  layout.dims.resize(rank);
  for (size_t d = 0; d < rank; ++d)
    layout.whole.push_back(draw(12) == 0 ? 0 : 1 + draw(9));
  for (const SubAxis &atom : drawAtoms(meshes[layout.mesh])) {
    int64_t where = draw(static_cast<int64_t>(rank) + 1);
    bool used = where < static_cast<int64_t>(rank);
    (used ? layout.dims[where] : layout.rest).push_back(atom);
  }
  return layout;
}

/// Compares where `expected` is not the wildcard.
constexpr int32_t anything = -999;

template <typename T>
void expectEqual(const char *what, int round, const std::vector<T> &found,
                 const std::vector<T> &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != static_cast<T>(anything) && found[i] != expected[i]) {
      std::fprintf(stderr,
                   "%s, round %d, rank %d of %d: element %zu is %g, expected "
                   "%g\n",
                   what, round, myRank, numRanks, i,
                   static_cast<double>(found[i]),
                   static_cast<double>(expected[i]));
      ++failures;
      return;
    }
}

constexpr ElementType i32 = ElementType::I32;

/// Makes a call that takes scratch, to its end.
template <typename Call, typename In, typename Out>
void run(void (*function)(const int64_t *, const void *, void *, void *),
         const Call &call, const std::vector<In> &in, std::vector<Out> &out) {
  Shape desc = encode(call);
  TestScratch scratch(call);
  function(desc.data(), in.data(), out.data(), scratch.data());
  finishCalls();
}

void testGatherAndSlice(int round) {
  Layout l = drawLayout();
  const Mesh &mesh = meshes[l.mesh];
  int64_t salt = groupSalt(mesh, myRank, l.rest);
  Shape local = localShape(l.whole, l.dims);
  std::vector<Axes> none(l.whole.size());
  auto whole = shardOf(mesh, myRank, l.whole, none, salt, 0);
  auto meshIndex = static_cast<int64_t>(l.mesh);

  std::vector<int32_t> gathered(whole.size(), -5);
  auto in = shardOf(mesh, myRank, l.whole, l.dims, salt, -77);
  run(shoal_rt_all_gather,
      AllGatherCall{0, i32, meshIndex, {l.whole, local, l.dims}}, in, gathered);
  expectEqual("all_gather", round, gathered, whole);

  Shape desc = encode(AllSliceCall{i32, meshIndex, {l.whole, local, l.dims}});
  std::vector<int32_t> slice(in.size(), -5);
  shoal_rt_all_slice(desc.data(), whole.data(), slice.data());
  finishCalls();
  expectEqual("all_slice", round, slice,
              shardOf(mesh, myRank, l.whole, l.dims, salt, 0));
}

/// The ranks that share every coordinate over `rest` with this one.
std::vector<int> groupOf(const Mesh &mesh, const Axes &rest) {
  std::vector<int> ranks;
  for (int rank = 0; rank < numRanks; ++rank)
    if (indexOf(mesh, rank, rest) == indexOf(mesh, myRank, rest))
      ranks.push_back(rank);
  return ranks;
}

/// Small numbers, so that no type rounds or wraps.
double term(int rank, int64_t i) {
  return static_cast<double>((rank * 7 + i * 3) % 5 - 2);
}

double combined(Kind kind, double a, double b) {
  switch (kind) {
  case Kind::Sum:
    return a + b;
  case Kind::Prod:
    return a * b;
  case Kind::Max:
    return std::max(a, b);
  case Kind::Min:
    return std::min(a, b);
  case Kind::And:
    return static_cast<double>(static_cast<int64_t>(a) &
                               static_cast<int64_t>(b));
  default:
    return static_cast<double>(static_cast<int64_t>(a) |
                               static_cast<int64_t>(b));
  }
}

template <typename T>
void testAllReduceAs(int round, ElementType type, T (*toElement)(double)) {
  Layout l = drawLayout();
  const Mesh &mesh = meshes[l.mesh];
  Axes axes;
  for (const Axes &dim : l.dims)
    axes.insert(axes.end(), dim.begin(), dim.end());
  bool bitwise = type >= ElementType::I64;
  auto kind = static_cast<Kind>(draw(bitwise ? 6 : 4));
  int64_t count = draw(40);
  AllReduceCall call{0, type, static_cast<int64_t>(l.mesh), kind, count, axes};
  std::vector<T> in, expected, out(count);
  for (int64_t i = 0; i < count; ++i) {
    in.push_back(toElement(term(myRank, i)));
    bool first = true;
    double value = 0;
    for (int rank : groupOf(mesh, l.rest)) {
      value = first ? term(rank, i) : combined(kind, value, term(rank, i));
      first = false;
    }
    expected.push_back(toElement(value == 0 ? 0 : value)); // no -0
  }
  run(shoal_rt_all_reduce, call, in, out);
  for (int64_t i = 0; i < count; ++i)
    if (out[i] == toElement(-0.0))
      out[i] = toElement(0);
  expectEqual("all_reduce", round, out, expected);
}

void testAllReduce(int round) {
  testAllReduceAs<float>(round, ElementType::F32,
                         [](double v) { return static_cast<float>(v + 0.0); });
  testAllReduceAs<double>(round, ElementType::F64,
                          [](double v) { return v + 0.0; });
  testAllReduceAs<uint16_t>(round, ElementType::BF16, [](double v) {
    return shoal::support::toBFloat16(static_cast<float>(v)).bits;
  });
  testAllReduceAs<uint16_t>(round, ElementType::F16, [](double v) {
    return shoal::support::toFloat16(static_cast<float>(v)).bits;
  });
  testAllReduceAs<int64_t>(round, ElementType::I64,
                           [](double v) { return static_cast<int64_t>(v); });
  testAllReduceAs<int32_t>(round, ElementType::I32,
                           [](double v) { return static_cast<int32_t>(v); });
  testAllReduceAs<int16_t>(round, ElementType::I16,
                           [](double v) { return static_cast<int16_t>(v); });
  testAllReduceAs<int8_t>(round, ElementType::I8,
                          [](double v) { return static_cast<int8_t>(v); });
}

/// 256 and many ones, of which each alone is lost to bf16. Of two terms, and by
/// NCCL, it is the library that rounds.
void testSumsAreRoundedOnce() {
  if (shoal::rt::Collective::onDevice)
    return;
  Axes all;
  for (size_t a = 0; a < meshes[0].axes().size(); ++a)
    all.push_back({static_cast<int64_t>(a), 1, meshes[0].axes()[a].size});
  auto bits = [](int value) {
    return shoal::support::toBFloat16(static_cast<float>(value)).bits;
  };
  for (int64_t count : {1, 3, 17}) {
    std::vector<uint16_t> in(count, bits(myRank == 0 ? 256 : 1)), out(count);
    AllReduceCall call{0, ElementType::BF16, 0, Kind::Sum, count, all};
    run(shoal_rt_all_reduce, call, in, out);
    expectEqual("sum rounded once", static_cast<int>(count), out,
                std::vector<uint16_t>(count, bits(256 + numRanks - 1)));
  }
}

/// i1 as logic: or and and over a group in which one rank differs.
void testAllReduceOfBits() {
  Axes all;
  for (size_t a = 0; a < meshes[0].axes().size(); ++a)
    all.push_back({static_cast<int64_t>(a), 1, meshes[0].axes()[a].size});
  for (int64_t number = 0; number < 6; ++number) {
    auto kind = static_cast<Kind>(number);
    AllReduceCall call{0, ElementType::I1, 0, kind, 2, all};
    std::vector<uint8_t> in = {myRank == 0, myRank != 0}, out(2);
    run(shoal_rt_all_reduce, call, in, out);
    bool any = kind == Kind::Sum || kind == Kind::Max || kind == Kind::Or;
    bool alone = numRanks == 1;
    expectEqual<uint8_t>("all_reduce of i1", static_cast<int>(kind), out,
                         {static_cast<uint8_t>(any || alone),
                          static_cast<uint8_t>(any && !alone)});
  }
}

/// Sums and products of integers wrap; Open MPI's own of few bits saturate.
template <typename T>
void testWrapsAs(ElementType type) {
  Axes all;
  for (size_t a = 0; a < meshes[0].axes().size(); ++a)
    all.push_back({static_cast<int64_t>(a), 1, meshes[0].axes()[a].size});
  // More than a vector's width, which the rest of is added one by one.
  constexpr int64_t count = 300;
  for (Kind kind : {Kind::Sum, Kind::Prod}) {
    AllReduceCall call{0, type, 0, kind, count, all};
    std::vector<T> in, expected, out(count);
    for (int64_t i = 0; i < count; ++i) {
      auto own = static_cast<T>(100 + i);
      in.push_back(own);
      auto value = static_cast<uint64_t>(own);
      for (int rank = 1; rank < numRanks; ++rank)
        value = kind == Kind::Sum ? value + own : value * own;
      expected.push_back(static_cast<T>(value));
    }
    run(shoal_rt_all_reduce, call, in, out);
    expectEqual("wrapping all_reduce", static_cast<int>(kind), out, expected);
  }
}

void testWraps() {
  testWrapsAs<int8_t>(ElementType::I8);
  testWrapsAs<int16_t>(ElementType::I16);
  testWrapsAs<int32_t>(ElementType::I32);
  testWrapsAs<int64_t>(ElementType::I64);
}

template <typename T>
void testNaNAs(ElementType type, T one, T nan, bool (*isNaN)(T)) {
  Axes all;
  for (size_t a = 0; a < meshes[0].axes().size(); ++a)
    all.push_back({static_cast<int64_t>(a), 1, meshes[0].axes()[a].size});
  for (Kind kind : {Kind::Max, Kind::Min}) {
    AllReduceCall call{0, type, 0, kind, 2, all};
    std::vector<T> in = {myRank == 0 ? nan : one,
                         myRank == numRanks - 1 ? nan : one},
                   out(2);
    run(shoal_rt_all_reduce, call, in, out);
    expectEqual<uint8_t>("nan", static_cast<int>(kind),
                         {isNaN(out[0]), isNaN(out[1])}, {1, 1});
  }
}

void testNaN() {
  testNaNAs<float>(ElementType::F32, 1, NAN,
                   [](float v) { return std::isnan(v); });
  testNaNAs<double>(ElementType::F64, 1, NAN,
                    [](double v) { return std::isnan(v); });
  testNaNAs<uint16_t>(ElementType::BF16, 0x3f80, 0x7fc0,
                      [](uint16_t v) { return (v & 0x7fff) > 0x7f80; });
  testNaNAs<uint16_t>(ElementType::F16, 0x3c00, 0x7e00,
                      [](uint16_t v) { return (v & 0x7fff) > 0x7c00; });
}

/// Each device's term is the whole tensor times its rank + 1. The sum of i32
/// and the greatest of f32 are combined in different ways.
template <typename T>
void testReduceScatterAs(int round, ElementType type, Kind kind) {
  Layout l = drawLayout();
  const Mesh &mesh = meshes[l.mesh];
  Shape local = localShape(l.whole, l.dims);
  std::vector<Axes> none(l.whole.size());
  auto whole = shardOf(mesh, myRank, l.whole, none, 0, 0);
  auto shard = shardOf(mesh, myRank, l.whole, l.dims, 0, anything);
  int32_t factor = 0;
  for (int rank : groupOf(mesh, l.rest))
    factor = kind == Kind::Sum ? factor + rank + 1 : std::max(factor, rank + 1);
  std::vector<T> in, expected;
  for (int32_t value : whole)
    in.push_back(static_cast<T>(value * (myRank + 1)));
  for (int32_t value : shard)
    expected.push_back(
        static_cast<T>(value == anything ? anything : value * factor));
  ReduceScatterCall call{
      0, type, static_cast<int64_t>(l.mesh), kind, {l.whole, local, l.dims}};
  std::vector<T> out(expected.size(), -5);
  run(shoal_rt_reduce_scatter, call, in, out);
  expectEqual("reduce_scatter", round, out, expected);
}

void testReduceScatter(int round) {
  testReduceScatterAs<int32_t>(round, ElementType::I32, Kind::Sum);
  testReduceScatterAs<float>(round, ElementType::F32, Kind::Max);
}

/// Blocks that are reduced in parts: in order, or not, or uneven.
template <typename T>
void testLargeReduceScatter(ElementType type, Kind kind, const Shape &whole,
                            size_t dim) {
  int64_t p = numRanks, index = 0;
  BlockShapes blocks{whole, whole, std::vector<Axes>(whole.size())};
  for (size_t a = 0; a < meshes[0].axes().size(); ++a)
    blocks.dims[dim].push_back(
        {static_cast<int64_t>(a), 1, meshes[0].axes()[a].size});
  index = indexOf(meshes[0], myRank, blocks.dims[dim]);
  blocks.block[dim] = ceilDiv(whole[dim], p);
  std::vector<T> in, expected,
      out(shoal::support::numElements(blocks.block), 0);
  auto valueAt = [](int64_t at) { return static_cast<T>(at % 13); };
  for (int64_t at = 0; at < shoal::support::numElements(whole); ++at)
    in.push_back(static_cast<T>(valueAt(at) * (myRank + 1)));
  int64_t factor = kind == Kind::Sum ? p * (p + 1) / 2 : p;
  forEachIndex(blocks.block, [&](Shape at, int64_t) {
    at[dim] += index * blocks.block[dim];
    int64_t global = globalOffset(whole, at);
    expected.push_back(
        static_cast<T>(global < 0 ? anything : valueAt(global) * factor));
  });
  run(shoal_rt_reduce_scatter, ReduceScatterCall{0, type, 0, kind, blocks}, in,
      out);
  expectEqual("large reduce_scatter", static_cast<int>(dim), out, expected);
}

/// Parts of a device are larger than what a test should take.
void testLargeReductions() {
  if (Collective::onDevice)
    return;
  constexpr int64_t n = 1536;
  testLargeReduceScatter<int32_t>(ElementType::I32, Kind::Sum, {n, n}, 0);
  testLargeReduceScatter<float>(ElementType::F32, Kind::Max, {n, n}, 1);
  testLargeReduceScatter<int64_t>(ElementType::I64, Kind::Sum, {3, n * n / 4},
                                  1);
  testLargeReduceScatter<float>(ElementType::F32, Kind::Sum, {n + 1, 2, n / 2},
                                0);
  Axes all;
  for (size_t a = 0; a < meshes[0].axes().size(); ++a)
    all.push_back({static_cast<int64_t>(a), 1, meshes[0].axes()[a].size});
  std::vector<int32_t> in, expected, out(n * n);
  for (int64_t at = 0; at < n * n; ++at) {
    in.push_back(static_cast<int32_t>(at));
    expected.push_back(static_cast<int32_t>(at * numRanks));
  }
  run(shoal_rt_all_reduce, AllReduceCall{0, i32, 0, Kind::Sum, n * n, all}, in,
      out);
  expectEqual("large all_reduce", 0, out, expected);
}

/// A reshard that moves each dim's axes to other dims that have none.
void testAllToAll(int round) {
  Layout l = drawLayout();
  const Mesh &mesh = meshes[l.mesh];
  size_t rank = l.whole.size();
  if (rank < 2)
    return;
  // Dims that give axes and dims that take them are disjoint.
  std::vector<size_t> givers, takers;
  for (size_t d = 0; d < rank; ++d)
    (draw(2) ? givers : takers).push_back(d);
  if (givers.empty() || takers.empty())
    return;
  std::vector<Axes> source(rank), target(rank);
  Axes rest;
  std::vector<AxesMove> moves;
  for (const SubAxis &atom : drawAtoms(mesh)) {
    if (draw(4) == 0) {
      rest.push_back(atom);
      continue;
    }
    size_t from = givers[draw(static_cast<int64_t>(givers.size()))];
    size_t to = takers[draw(static_cast<int64_t>(takers.size()))];
    source[from].push_back(atom);
    target[to].push_back(atom);
    moves.push_back(
        {static_cast<int64_t>(from), static_cast<int64_t>(to), {atom}});
  }
  if (moves.empty())
    return;
  int64_t salt = groupSalt(mesh, myRank, rest);
  AllToAllCall call{0,
                    i32,
                    static_cast<int64_t>(l.mesh),
                    localShape(l.whole, source),
                    localShape(l.whole, target),
                    moves};
  auto in = shardOf(mesh, myRank, l.whole, source, salt, -77);
  auto expected = shardOf(mesh, myRank, l.whole, target, salt, anything);
  std::vector<int32_t> out(expected.size(), -5);
  run(shoal_rt_all_to_all, call, in, out);
  expectEqual("all_to_all", round, out, expected);
}

/// Pieces whose rows are long enough to be sent from where they lie.
void testAllToAllOfLongRows(int round) {
  auto mesh = static_cast<size_t>(round) % meshes.size();
  std::vector<SubAxis> atoms = drawAtoms(meshes[mesh]);
  if (atoms.empty())
    return;
  Axes moved = {atoms.back()};
  atoms.pop_back();
  int64_t p = shoal::calls::shardCount(moved),
          salt = groupSalt(meshes[mesh], myRank, atoms);
  std::vector<int64_t> whole = {p, 2 * p, p, 128, 128};
  auto from = static_cast<size_t>(draw(3));
  size_t to = (from + 1 + static_cast<size_t>(draw(2))) % 3;
  std::vector<Axes> source(whole.size()), target(whole.size());
  source[from] = target[to] = moved;
  AllToAllCall call{
      0,
      i32,
      static_cast<int64_t>(mesh),
      localShape(whole, source),
      localShape(whole, target),
      {{static_cast<int64_t>(from), static_cast<int64_t>(to), moved}}};
  bool isInOrder = shoal::calls::AllToAllPlan(call).receivesInOrder() &&
                   shoal::calls::AllToAllPlan(call).sendsInOrder();
  if (p > 1 && !isInOrder && shoal::calls::scratchBytes(call, false) != 0) {
    std::printf("rank %d: long rows are staged\n", myRank);
    ++failures;
  }
  auto in = shardOf(meshes[mesh], myRank, whole, source, salt, -77);
  auto expected = shardOf(meshes[mesh], myRank, whole, target, salt, anything);
  std::vector<int32_t> out(expected.size(), -5);
  run(shoal_rt_all_to_all, call, in, out);
  expectEqual("all_to_all of long rows", round, out, expected);
}

/// As little scratch as all devices can do with.
void boundStaging(ExchangeCall &call) {
  for (int rank = 0; rank < numRanks; ++rank) {
    Topology topology;
    topology.setUp(meshes, rank);
    PlannedExchange plan = planMessages(call, topology);
    call.packed = std::max(call.packed, plan.sends.stagedElements);
    call.received = std::max(call.received, plan.receives.stagedElements);
  }
}

/// Windows of one dimension, with any slope, of what a layout holds.
void testHaloExchange(int round) {
  Layout l = drawLayout();
  const Mesh &mesh = meshes[l.mesh];
  size_t rank = l.whole.size(), dim = draw(static_cast<int64_t>(rank));
  Shape local = localShape(l.whole, l.dims), shape = local;
  int64_t step = draw(13) - 6, offset = draw(21) - 10, divisor = 1 + draw(3);
  shape[dim] = draw(9);
  ExchangeCall call{
      0, i32, static_cast<int64_t>(l.mesh), static_cast<int64_t>(l.mesh), {}, 0,
      0, true};
  for (size_t d = 0; d < rank; ++d) {
    // The other dimensions are whole as far as the call knows.
    if (d == dim)
      call.dims.push_back(
          {l.whole[d], step, offset, divisor, shape[d], l.dims[d], l.dims[d]});
    else
      call.dims.push_back({local[d], 0, 0, 1, local[d], {}, {}});
  }
  int64_t salt = groupSalt(mesh, myRank, l.rest);
  auto in = shardOf(mesh, myRank, l.whole, l.dims, salt, -77);
  std::vector<int32_t> out(shoal::support::numElements(shape), anything);
  std::vector<int32_t> expected = out;
  int64_t at = step * indexOf(mesh, myRank, l.dims[dim]) + offset;
  auto first = static_cast<int64_t>(
      std::floor(static_cast<double>(at) / static_cast<double>(divisor)));
  forEachIndex(shape, [&](Shape index, int64_t place) {
    bool exists = true;
    for (size_t d = 0; d < rank; ++d) {
      index[d] +=
          d == dim ? first : indexOf(mesh, myRank, l.dims[d]) * local[d];
      exists &= index[d] >= 0 && index[d] < l.whole[d];
    }
    if (exists)
      expected[place] =
          static_cast<int32_t>(globalOffset(l.whole, index) + 1 + 10000 * salt);
  });
  boundStaging(call);
  run(shoal_rt_exchange, call, in, out);
  expectEqual("halo_exchange", round, out, expected);
}

std::vector<Axes> drawSharding(const Mesh &mesh, size_t rank) {
  std::vector<Axes> dims(rank);
  for (const SubAxis &atom : drawAtoms(mesh)) {
    size_t where = draw(static_cast<int64_t>(rank) + 1);
    if (where < rank)
      dims[where].push_back(atom);
  }
  return dims;
}

/// Any sharding to any other, cut otherwise, on another mesh of all ranks.
void testExchange(int round) {
  size_t from = draw(static_cast<int64_t>(meshes.size()));
  size_t to = draw(2) ? from : draw(static_cast<int64_t>(meshes.size()));
  size_t rank = 1 + draw(3);
  Shape whole;
  for (size_t d = 0; d < rank; ++d)
    whole.push_back(draw(12) == 0 ? 0 : 1 + draw(17));
  std::vector<Axes> source = drawSharding(meshes[from], rank);
  std::vector<Axes> target = drawSharding(meshes[to], rank);
  Shape wanted = localShape(whole, target);
  ExchangeCall call{
      0, i32, static_cast<int64_t>(from), static_cast<int64_t>(to), {}};
  for (size_t d = 0; d < rank; ++d)
    call.dims.push_back(
        {whole[d], wanted[d], 0, 1, wanted[d], source[d], target[d]});
  auto in = shardOf(meshes[from], myRank, whole, source, 0, -77);
  auto expected = shardOf(meshes[to], myRank, whole, target, 0, anything);
  std::vector<int32_t> out(expected.size(), -5);
  boundStaging(call);
  run(shoal_rt_exchange, call, in, out);
  expectEqual("exchange", round, out, expected);
}

void testPermute(int round) {
  size_t from = draw(static_cast<int64_t>(meshes.size()));
  // Another mesh with the same axes but other device order.
  size_t to = draw(2) ? from : from ^ 1;
  Axes source = drawAtoms(meshes[from]), rest;
  if (from == to)
    while (source.size() > 1 && draw(2)) {
      rest.push_back(source.back());
      source.pop_back();
    }
  Axes target = source;
  std::shuffle(target.begin(), target.end(), rng);
  int64_t count = draw(6);
  int64_t p = shardCount(source), shift = draw(p);
  // To whom each index sends: all, or some in pairs and the others to nobody.
  std::vector<int64_t> receivers(p);
  for (int64_t i = 0; i < p; ++i)
    receivers[i] = (i + shift) % p;
  std::optional<std::vector<IndexPair>> pairs;
  if (draw(2)) {
    shift = 0;
    std::shuffle(receivers.begin(), receivers.end(), rng);
    pairs.emplace();
    for (int64_t i = 0; i < p; ++i) {
      if (draw(3) == 0)
        receivers[i] = -1;
      else
        pairs->push_back({i, receivers[i]});
    }
  }
  Shape desc = encode(CollectivePermuteCall{0, i32, static_cast<int64_t>(from),
                                            static_cast<int64_t>(to), count,
                                            shift, pairs, source, target});
  std::vector<int32_t> in(count, myRank + 100), out(count, -5);
  int32_t expected = 0;
  for (int rank = 0; rank < numRanks; ++rank)
    if (receivers[indexOf(meshes[from], rank, source)] ==
            indexOf(meshes[to], myRank, target) &&
        indexOf(meshes[from], rank, rest) == indexOf(meshes[to], myRank, rest))
      expected = rank + 100;
  shoal_rt_collective_permute(desc.data(), in.data(), out.data());
  finishCalls();
  expectEqual("collective_permute", round, out,
              std::vector<int32_t>(count, expected));
}

/// Random slices of rows that lie apart on both sides; all ranks draw those of
/// all. `sizes[s][t * each + j]` rows go from member s to member t as slice j.
void testRaggedAllToAll(int round) {
  auto mesh = static_cast<size_t>(draw(static_cast<int64_t>(meshes.size())));
  Axes axes, rest;
  for (const SubAxis &atom : drawAtoms(meshes[mesh]))
    (draw(3) == 0 ? rest : axes).push_back(atom);
  int64_t p = shoal::calls::shardCount(axes), each = 1 + draw(3);
  int64_t n = p * each, width = 1 + draw(5);
  std::vector<std::vector<int64_t>> sizes(p), from(p), to(p);
  int64_t inRows = 0, outRows = 0;
  for (int64_t s = 0; s < p; ++s) {
    int64_t end = 0;
    for (int64_t i = 0; i < n; ++i) {
      sizes[s].push_back(draw(2) * draw(4));
      from[s].push_back(end += draw(2));
      end += sizes[s].back();
    }
    inRows = std::max(inRows, end);
    to[s].resize(n);
  }
  for (int64_t t = 0; t < p; ++t) {
    int64_t end = 0;
    for (int64_t s = p; s-- > 0;)
      for (int64_t i = t * each; i < (t + 1) * each; ++i) {
        to[s][i] = end += draw(2);
        end += sizes[s][i];
      }
    outRows = std::max(outRows, end);
  }
  int64_t me = indexOf(meshes[mesh], myRank, axes);
  auto salt =
      static_cast<int32_t>(1000000 * groupSalt(meshes[mesh], myRank, rest));
  auto element = [&](int64_t member, int64_t row, int64_t column) {
    return static_cast<int32_t>((member * 100 + row) * 10 + column) + salt;
  };
  std::vector<int32_t> in(inRows * width), out(outRows * width, -5);
  for (int64_t i = 0; i < inRows * width; ++i)
    in[i] = element(me, i / width, i % width);
  std::vector<int32_t> expected = out;
  std::vector<int64_t> come;
  for (int64_t s = 0; s < p; ++s)
    for (int64_t i = me * each; i < (me + 1) * each; ++i) {
      come.push_back(sizes[s][i]);
      for (int64_t x = 0; x < sizes[s][i] * width; ++x)
        expected[to[s][i] * width + x] =
            element(s, from[s][i] + x / width, x % width);
    }
  RaggedAllToAllCall call{0,
                          i32,
                          ElementType::I64,
                          static_cast<int64_t>(mesh),
                          inRows,
                          outRows,
                          width,
                          n,
                          axes};
  Shape desc = encode(call);
  TestScratch scratch(call);
  shoal_rt_ragged_all_to_all(desc.data(), in.data(), from[me].data(),
                             sizes[me].data(), to[me].data(), come.data(),
                             out.data(), scratch.data());
  finishCalls();
  expectEqual("ragged_all_to_all", round, out, expected);
}

void testAxisIndex(int round) {
  size_t mesh = draw(static_cast<int64_t>(meshes.size()));
  Axes atoms = drawAtoms(meshes[mesh]);
  Shape desc = encode(AxisIndexCall{static_cast<int64_t>(mesh), atoms});
  std::vector<int32_t> out(1);
  shoal_rt_axis_index(desc.data(), out.data());
  finishCalls();
  expectEqual("axis_index", round, out,
              {static_cast<int32_t>(indexOf(meshes[mesh], myRank, atoms))});
}

/// Every way to write numRanks as a product of up to three axes, each with the
/// identity and with a random device order after it.
void makeMeshes() {
  for (int64_t a = 1; a <= numRanks; ++a)
    for (int64_t b = 1; a * b <= numRanks; ++b) {
      if (numRanks % (a * b) != 0)
        continue;
      std::vector<MeshAxis> axes = {
          {"a", a}, {"b", b}, {"c", numRanks / (a * b)}};
      std::vector<int64_t> ids;
      for (int64_t i = 0; i < numRanks; ++i)
        ids.push_back(i);
      std::shuffle(ids.begin(), ids.end(), rng);
      meshes.emplace_back("m", axes, std::vector<int64_t>());
      meshes.emplace_back("m", axes, ids);
    }
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &myRank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  makeMeshes();
  openDevice(meshes, myRank);
  testSumsAreRoundedOnce();
  testAllReduceOfBits();
  testWraps();
  testNaN();
  testLargeReductions();
  for (int round = 0; round < 4; ++round)
    testAllToAllOfLongRows(round);
  for (int round = 0; round < 150; ++round) {
    testAxisIndex(round);
    testGatherAndSlice(round);
    testAllReduce(round);
    testReduceScatter(round);
    testAllToAll(round);
    testRaggedAllToAll(round);
    testPermute(round);
    testHaloExchange(round);
    testExchange(round);
  }
  int total = 0;
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (myRank == 0)
    std::printf("%d ranks: %d failures\n", numRanks, total);
  MPI_Finalize();
  return total != 0;
}
