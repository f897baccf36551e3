// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the runtime make the same bits with any number of threads.

#include "CPU/Combine.h"
#include "CPU/StridedCopy.h"
#include "CPU/Threads.h"
#include "Program/Calls.h"
#include "TestScratch.h"
#include "shoal/Calls/FourierScratch.h"
#include "shoal/Calls/IndexingScratch.h"
#include "shoal/Calls/OrderingScratch.h"
#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/ProductScratch.h"
#include "shoal/Products/RaggedProduct.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace shoal::rt;

namespace {

std::vector<float> makeFloats(int64_t count) {
  std::mt19937 engine(42);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(engine() % 4001) / 1000 - 2;
  return values;
}

std::vector<int32_t> makeIndices(int64_t count, int32_t below) {
  std::mt19937 engine(7);
  std::vector<int32_t> values(count);
  for (int32_t &value : values)
    value = static_cast<int32_t>(engine() % below);
  return values;
}

/// What `run` makes is the same on 1, 2 and 5 threads.
void expectSame(const std::function<std::vector<float>()> &run) {
  auto runOn = [&](int count) {
    setThreads(count, /*least=*/1e-9);
    std::vector<float> made = run();
    setThreads(1);
    return made;
  };
  std::vector<float> alone = runOn(1);
  for (int count : {2, 5}) {
    std::vector<float> shared = runOn(count);
    ASSERT_EQ(shared.size(), alone.size());
    EXPECT_EQ(
        std::memcmp(shared.data(), alone.data(), alone.size() * sizeof(float)),
        0)
        << count << " threads";
  }
}

/// Letters are numbered in the order of `sizes`.
std::vector<float> multiply(const EinsumSpec &spec) {
  ProductPlan plan = planEinsum(spec, cpuModel);
  EinsumCall call = makeCall(spec, std::move(plan));
  std::vector<int64_t> desc = encode(call);
  std::vector<float> a = makeFloats(call.elements[0]),
                     b = makeFloats(call.elements[1]), c(call.elements[2], -77);
  TestScratch scratch(call);
  shoal_rt_einsum(desc.data(), a.data(), b.data(), c.data(), scratch.data());
  return c;
}

EinsumSpec floats(std::vector<int64_t> sizes, std::array<Letters, 2> operands,
                  Letters result) {
  EinsumSpec spec;
  spec.types = {{ElementType::F32, ElementType::F32}, ElementType::F32};
  spec.sizes = std::move(sizes);
  spec.operands = std::move(operands);
  spec.result = std::move(result);
  return spec;
}

TEST(SharedCalls, products_in_batches_and_in_pieces) {
  // mk,kn->mn, which is cut.
  EinsumSpec one = floats({700, 600, 500}, {{{0, 2}, {2, 1}}}, {0, 1});
  EXPECT_GT(cutProduct(*planEinsum(one, cpuModel).gemm).count(), 1);
  expectSame([&] { return multiply(one); });
  // bmk,bkn->bmn and mk,k->m.
  expectSame([] {
    return multiply(
        floats({7, 65, 66, 67}, {{{0, 1, 3}, {0, 3, 2}}}, {0, 1, 2}));
  });
  expectSame(
      [] { return multiply(floats({3000, 700}, {{{0, 1}, {1}}}, {0})); });
}

TEST(SharedCalls, products_that_pack_and_products_by_loops) {
  // Rows and columns lie between each other: ikj,lk->jil.
  expectSame([] {
    return multiply(floats({30, 70, 20, 90}, {{{0, 1, 2}, {3, 1}}}, {2, 0, 3}));
  });
  // An outer product, and few terms.
  expectSame([] { return multiply(floats({90, 700}, {{{0}, {1}}}, {0, 1})); });
  expectSame([] {
    return multiply(floats({50, 60, 3}, {{{0, 1, 2}, {0, 1, 2}}}, {0, 1}));
  });
}

/// "rk,gkn->rn" with groups of these rows.
std::vector<float> multiplyGroups(const std::vector<int32_t> &begins,
                                  const std::vector<int32_t> &ends) {
  constexpr int64_t rows = 300, k = 40, n = 50;
  auto groups = static_cast<int64_t>(begins.size());
  RaggedEinsumCall call{ElementType::F32, ElementType::F32,
                        ElementType::I32, {rows, groups, k, n},
                        /*rowLetter=*/0,  {}};
  call.terms = {{{0, 2}, {1, 2, 3}, {1}, {0, 3}}};
  std::vector<int64_t> desc = encode(call);
  std::vector<float> a = makeFloats(rows * k), b = makeFloats(groups * k * n),
                     c(rows * n, -77);
  TestScratch scratch(call);
  shoal_rt_ragged_einsum(desc.data(), a.data(), b.data(), begins.data(),
                         ends.data(), c.data(), scratch.data());
  return c;
}

TEST(SharedCalls, groups_that_meet_and_groups_that_do_not) {
  expectSame(
      [] { return multiplyGroups({0, 50, 110, 190}, {50, 110, 180, 300}); });
  expectSame([] { return multiplyGroups({0, 40, 90}, {60, 180, 280}); });
  // One has nearly all rows.
  expectSame([] { return multiplyGroups({0, 5, 295}, {5, 295, 300}); });
}

/// Windows of a row each of a tensor of 40 rows.
WindowLayout rowsOf(int64_t columns, int64_t count) {
  WindowLayout layout;
  layout.dims = {{40, 1, 0, 0, columns}, {columns, columns, 1, -1, 1}};
  layout.steps = {{count, 1, 0, columns}};
  return layout;
}

TEST(SharedCalls, rows_that_are_gathered_and_scattered_where_they_meet) {
  constexpr int64_t count = 500;
  std::vector<int32_t> indices = makeIndices(count, 42); // some lie outside
  for (int64_t columns : {3, 64, 200, 517}) {
    WindowLayout windows = rowsOf(columns, count);
    expectSame([&] {
      GatherCall call{ElementType::F32, ElementType::I32, windows};
      std::vector<int64_t> desc = encode(call);
      std::vector<float> in = makeFloats(40 * columns), out(count * columns);
      shoal_rt_gather(desc.data(), in.data(), indices.data(), out.data());
      return out;
    });
    expectSame([&] {
      ScatterCall call{ElementType::F32, ElementType::I32,   Kind::Sum,
                       /*clamps=*/false, /*isUnique=*/false, windows};
      std::vector<int64_t> desc = encode(call);
      std::vector<float> updates = makeFloats(count * columns),
                         out = makeFloats(40 * columns);
      shoal_rt_scatter(desc.data(), indices.data(), updates.data(), out.data(),
                       nullptr);
      return out;
    });
  }
}

TEST(SharedCalls, lines_that_are_sorted_selected_and_transformed) {
  std::vector<int64_t> shape = {30, 100, 7};
  std::vector<float> in = makeFloats(30 * 100 * 7);
  expectSame([&] {
    SortCall call;
    call.types = {ElementType::F32};
    call.numKeys = 1;
    call.shape = shape;
    call.axis = 1;
    std::vector<int64_t> desc = encode(call);
    std::vector<float> out(in.size());
    TestScratch scratch(call);
    shoal_rt_sort(desc.data(), in.data(), out.data(), scratch.data());
    return out;
  });
  for (int64_t k : {2, 40})
    expectSame([&, k] {
      TopKCall call{ElementType::F32, {210, 100}, k};
      std::vector<int64_t> desc = encode(call);
      std::vector<float> out(210 * k);
      std::vector<int32_t> indices(out.size());
      TestScratch scratch(call);
      shoal_rt_top_k(desc.data(), in.data(), out.data(), indices.data(),
                     scratch.data());
      out.insert(out.end(), indices.begin(), indices.end());
      return out;
    });
  // 100 has a factor that goes through memory of the transform; 64 has none.
  for (int64_t length : {100, 98, 64})
    expectSame([&, length] {
      FftCall call;
      call.type = ElementType::F32;
      call.shape = {30, length, 7};
      call.axis = 1;
      call.length = length;
      call.numInputs = call.numOutputs = 2;
      std::vector<int64_t> desc = encode(call);
      size_t size = 30 * length * 7;
      std::vector<float> out(2 * size);
      TestScratch scratch(scratchBytes(call));
      shoal_rt_fft(desc.data(), in.data(), in.data(), out.data(),
                   out.data() + size, scratch.data());
      return out;
    });
}

/// So many that threads meet, were they to go through the same memory.
TEST(SharedCalls, transforms_of_lines_of_one_element_are_the_elements) {
  std::vector<float> in = makeFloats(80000 * 7);
  expectSame([&] {
    FftCall call;
    call.type = ElementType::F32;
    call.shape = {80000, 1, 7};
    call.axis = 1;
    call.length = 1;
    call.numInputs = call.numOutputs = 2;
    std::vector<int64_t> desc = encode(call);
    std::vector<float> out(2 * in.size());
    TestScratch scratch(scratchBytes(call));
    shoal_rt_fft(desc.data(), in.data(), in.data(), out.data(),
                 out.data() + in.size(), scratch.data());
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
    return out;
  });
}

TEST(SharedCalls, running_sums) {
  std::vector<float> in = makeFloats(6 * 50 * 130);
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{6, 50, 130}, {300, 130}, {39000}})
    expectSame([&] {
      CumulativeCall call{ElementType::F32,
                          Kind::Sum,
                          shape,
                          /*axis=*/shape.size() > 1 ? 1 : 0,
                          false,
                          false};
      std::vector<int64_t> desc = encode(call);
      std::vector<float> out(in.size());
      shoal_rt_cumulative(desc.data(), in.data(), out.data());
      return out;
    });
}

TEST(SharedCalls, copies_and_sums_of_pieces) {
  std::vector<float> in = makeFloats(70 * 80 * 9);
  // Rows, columns, and from [70, 80, 9] to [9, 80, 70].
  for (const Loops<2> &loops :
       {Loops<2>{{70, {720, 720}}, {720, {1, 1}}},
        Loops<2>{{70, {720, 1}}, {720, {1, 70}}},
        Loops<2>{{70, {720, 1}}, {80, {9, 70}}, {9, {1, 5600}}}})
    expectSame([&] {
      std::vector<float> out(in.size());
      copyStrided(loops, ElementType::F32, in.data(), ElementType::F32,
                  out.data());
      return out;
    });
  expectSame([&] {
    std::vector<float> out(in.size() / 4);
    combine(ElementType::F32, Kind::Sum, static_cast<int64_t>(out.size()), 4,
            in.data(), out.data());
    return out;
  });
  expectSame([&] {
    std::vector<float> out(in.size());
    copyBytes(in.data(), out.data(),
              static_cast<int64_t>(in.size() * sizeof(float)));
    zeroBytes(out.data(), 4001);
    return out;
  });
}

} // namespace
