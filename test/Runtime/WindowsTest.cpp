// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gather and scatter against their definition in ABI.h: element by element, in
// the row-major order of the windows' tensor.

#include "Program/Calls.h"
#include "Program/Numeric.h"
#include "TestScratch.h"
#include "shoal/Calls/IndexingScratch.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace shoal::rt;

namespace {

/// A dimension of the operand. Windows are one element where it is indexed by
/// the batch.
struct OperandDim {
  int64_t size;
  int64_t window;
  bool isIndexed;
  bool isBatch;
};

/// A dimension of the windows' tensor: of the operand, or a further batch
/// dimension of the given size.
struct WindowsDim {
  int64_t operandDim; // -1: none
  int64_t size;
};

struct Case {
  std::vector<OperandDim> operand;
  /// All operand dimensions with windows and all batch dimensions.
  std::vector<WindowsDim> windows;

  int64_t numIndexed() const {
    return std::count_if(operand.begin(), operand.end(),
                         [](const OperandDim &dim) { return dim.isIndexed; });
  }
  bool isBatch(const WindowsDim &dim) const {
    return dim.operandDim < 0 || operand[dim.operandDim].isBatch;
  }
  std::vector<int64_t> operandShape() const {
    std::vector<int64_t> shape;
    for (const OperandDim &dim : operand)
      shape.push_back(dim.size);
    return shape;
  }
  std::vector<int64_t> windowsShape() const {
    std::vector<int64_t> shape;
    for (const WindowsDim &dim : windows)
      shape.push_back(dim.size);
    return shape;
  }
  /// The batch dimensions in their order, then the components.
  std::vector<int64_t> indicesShape() const {
    std::vector<int64_t> shape;
    for (const WindowsDim &dim : windows)
      if (isBatch(dim))
        shape.push_back(dim.size);
    shape.push_back(numIndexed());
    return shape;
  }
  int64_t elements(const std::vector<int64_t> &shape) const {
    return shoal::support::numElements(shape);
  }
};

WindowLayout layoutOf(const Case &c) {
  std::vector<int64_t> operandStrides = rowMajorStrides(c.operandShape());
  std::vector<int64_t> windowsStrides = rowMajorStrides(c.windowsShape());
  std::vector<int64_t> indicesStrides = rowMajorStrides(c.indicesShape());
  WindowLayout layout;
  int64_t component = 0;
  for (size_t d = 0; d < c.operand.size(); ++d) {
    const OperandDim &dim = c.operand[d];
    int64_t stride = 0;
    for (size_t w = 0; w < c.windows.size(); ++w)
      if (c.windows[w].operandDim == static_cast<int64_t>(d) && !dim.isBatch)
        stride = windowsStrides[w];
    layout.dims.push_back({dim.size, dim.window, stride,
                           dim.isIndexed ? component++ : -1,
                           operandStrides[d]});
  }
  int64_t b = 0;
  for (size_t w = 0; w < c.windows.size(); ++w)
    if (c.isBatch(c.windows[w])) {
      int64_t dim = c.windows[w].operandDim;
      layout.steps.push_back({c.windows[w].size, indicesStrides[b++],
                              dim < 0 ? 0 : operandStrides[dim],
                              windowsStrides[w]});
    }
  return layout;
}

/// Calls visit(place in the operand, element of the windows' tensor) in order,
/// for places inside.
template <typename Visit>
void forEachElement(const Case &c, const std::vector<int32_t> &indices,
                    bool clamps, Visit &&visit) {
  std::vector<int64_t> shape = c.windowsShape();
  std::vector<int64_t> indicesStrides = rowMajorStrides(c.indicesShape());
  std::vector<int64_t> operandStrides = rowMajorStrides(c.operandShape());
  for (int64_t element = 0; element < c.elements(shape); ++element) {
    std::vector<int64_t> at(shape.size());
    int64_t rest = element, indexAt = 0, b = 0, place = 0, component = 0;
    for (size_t w = shape.size(); w-- > 0; rest /= shape[w])
      at[w] = rest % shape[w];
    for (size_t w = 0; w < shape.size(); ++w)
      if (c.isBatch(c.windows[w]))
        indexAt += at[w] * indicesStrides[b++];
    bool inside = true;
    for (size_t d = 0; d < c.operand.size(); ++d) {
      const OperandDim &dim = c.operand[d];
      int64_t coordinate = 0;
      for (size_t w = 0; w < shape.size(); ++w)
        if (c.windows[w].operandDim == static_cast<int64_t>(d))
          coordinate = at[w];
      if (dim.isIndexed) {
        int64_t start = indices[indexAt + component++];
        coordinate += clamps
                          ? std::clamp<int64_t>(start, 0, dim.size - dim.window)
                          : start;
      }
      inside = inside && coordinate >= 0 && coordinate < dim.size;
      place += coordinate * operandStrides[d];
    }
    if (inside)
      visit(place, element);
  }
}

struct Random {
  std::mt19937 engine;

  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % n); }
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
};

/// `smallWindows`: of one element where they are indexed.
Case randomCase(Random &random, bool smallWindows) {
  Case c;
  int64_t rank = random.between(1, 3), numBatch = random.between(0, 2);
  for (int64_t d = 0; d < rank; ++d) {
    OperandDim dim{random.between(1, 6), 1, random.below(2) == 0, false};
    dim.isBatch = !dim.isIndexed && random.below(4) == 0;
    if (!dim.isBatch && !(dim.isIndexed && smallWindows))
      dim.window = random.between(1, dim.size);
    c.operand.push_back(dim);
    c.windows.push_back({d, dim.isBatch ? dim.size : dim.window});
  }
  for (int64_t b = 0; b < numBatch; ++b)
    c.windows.push_back({-1, random.between(1, 7)});
  // Batch dimensions mostly lie in front.
  if (random.below(3) == 0)
    std::shuffle(c.windows.begin(), c.windows.end(), random.engine);
  else
    std::partition(c.windows.begin(), c.windows.end(),
                   [&](const WindowsDim &dim) { return c.isBatch(dim); });
  return c;
}

std::vector<int32_t> randomIndices(Random &random, const Case &c) {
  std::vector<int32_t> indices(
      std::max<int64_t>(c.elements(c.indicesShape()), 1));
  for (int32_t &index : indices)
    index = random.below(20) == 0 ? INT32_MIN
                                  : static_cast<int32_t>(random.between(-2, 6));
  return indices;
}

template <typename T>
std::vector<T> randomElements(Random &random, int64_t count) {
  std::vector<T> elements(count);
  for (T &element : elements)
    element = convert<T>(static_cast<float>(random.between(-8, 8)) / 3);
  return elements;
}

template <typename T>
bool sameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
void checkGather(Random &random, const Case &c, ElementType type) {
  auto operand = randomElements<T>(random, c.elements(c.operandShape()));
  std::vector<int32_t> indices = randomIndices(random, c);
  std::vector<T> expected(c.elements(c.windowsShape())), result = expected;
  forEachElement(c, indices, /*clamps=*/true,
                 [&](int64_t place, int64_t element) {
                   expected[element] = operand[place];
                 });
  std::vector<int64_t> desc =
      encode(GatherCall{type, ElementType::I32, layoutOf(c)});
  shoal_rt_gather(desc.data(), operand.data(), indices.data(), result.data());
  EXPECT_TRUE(sameBits(result, expected));
}

TEST(Gather, agrees_with_its_definition) {
  Random random{std::mt19937(1)};
  for (int i = 0; i < 200; ++i) {
    Case c = randomCase(random, random.below(2) == 0);
    checkGather<float>(random, c, ElementType::F32);
    checkGather<BFloat16>(random, c, ElementType::BF16);
    checkGather<int64_t>(random, c, ElementType::I64);
    checkGather<int8_t>(random, c, ElementType::I8);
    if (HasFailure())
      return;
  }
}

TEST(Gather, rows_of_whole_words) {
  Random random{std::mt19937(2)};
  for (int64_t columns : {8, 24, 64, 72}) {
    Case c{{{50, 1, true, false}, {columns, columns, false, false}},
           {{-1, 300}, {0, 1}, {1, columns}}};
    checkGather<float>(random, c, ElementType::F32);
    checkGather<BFloat16>(random, c, ElementType::BF16);
    checkGather<int8_t>(random, c, ElementType::I8);
  }
}

TEST(Gather, rows_that_go_past_the_caches) {
  Random random{std::mt19937(7)};
  // Rows that begin and end anywhere in a vector, then whole vectors.
  Case odd{{{50, 1, true, false}, {1061, 1061, false, false}},
           {{-1, 16000}, {0, 1}, {1, 1061}}};
  checkGather<int8_t>(random, odd, ElementType::I8);
  Case even{{{50, 1, true, false}, {512, 512, false, false}},
            {{-1, 8192}, {0, 1}, {1, 512}}};
  checkGather<float>(random, even, ElementType::F32);
}

template <typename T, Kind kind>
void checkScatter(Random &random, const Case &c, ElementType type,
                  bool overwrites = false, bool isUnique = false) {
  auto expected = randomElements<T>(random, c.elements(c.operandShape()));
  auto updates = randomElements<T>(random, c.elements(c.windowsShape()));
  std::vector<int32_t> indices = randomIndices(random, c);
  std::vector<T> result = expected;
  bool clamps = !isUnique && random.below(2) == 0;
  if (isUnique) {
    // Some of them outside.
    std::iota(indices.begin(), indices.end(), -2);
    std::shuffle(indices.begin(), indices.end(), random.engine);
  }
  forEachElement(c, indices, clamps, [&](int64_t place, int64_t element) {
    expected[place] = overwrites
                          ? updates[element]
                          : combine<kind>(expected[place], updates[element]);
  });
  ScatterCall call{
      type,   ElementType::I32, overwrites ? std::nullopt : std::optional(kind),
      clamps, isUnique,         layoutOf(c)};
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  shoal_rt_scatter(desc.data(), indices.data(), updates.data(), result.data(),
                   scratch.data());
  EXPECT_TRUE(sameBits(result, expected));
}

void checkScatters(Random &random, const Case &c) {
  checkScatter<float, Kind::Sum>(random, c, ElementType::F32);
  checkScatter<BFloat16, Kind::Sum>(random, c, ElementType::BF16);
  checkScatter<Float16, Kind::Prod>(random, c, ElementType::F16);
  checkScatter<double, Kind::Max>(random, c, ElementType::F64);
  checkScatter<int8_t, Kind::Prod>(random, c, ElementType::I8);
  checkScatter<int16_t, Kind::Min>(random, c, ElementType::I16);
  checkScatter<Bool, Kind::Sum>(random, c, ElementType::I1);
  checkScatter<float, Kind::Sum>(random, c, ElementType::F32, true);
}

TEST(Scatter, windows_that_are_the_same_or_apart) {
  Random random{std::mt19937(3)};
  for (int i = 0; i < 150 && !HasFailure(); ++i)
    checkScatters(random, randomCase(random, /*smallWindows=*/true));
}

TEST(Scatter, windows_that_overlap) {
  Random random{std::mt19937(4)};
  for (int i = 0; i < 150 && !HasFailure(); ++i)
    checkScatters(random, randomCase(random, /*smallWindows=*/false));
}

TEST(Scatter, many_rows_go_to_few_places_in_order) {
  Random random{std::mt19937(5)};
  // More windows than are sorted at once.
  Case c{{{5, 1, true, false}, {3, 3, false, false}},
         {{-1, 2500}, {0, 1}, {1, 3}}};
  checkScatter<float, Kind::Sum>(random, c, ElementType::F32);
  checkScatter<BFloat16, Kind::Sum>(random, c, ElementType::BF16);
  checkScatter<int32_t, Kind::Sum>(random, c, ElementType::I32, true);
}

TEST(Scatter, rows_that_are_known_to_be_apart) {
  Random random{std::mt19937(6)};
  for (int64_t columns : {3, 64}) {
    Case c{{{80, 1, true, false}, {columns, columns, false, false}},
           {{-1, 90}, {0, 1}, {1, columns}}};
    for (bool overwrites : {false, true}) {
      checkScatter<float, Kind::Sum>(random, c, ElementType::F32, overwrites,
                                     /*isUnique=*/true);
      checkScatter<BFloat16, Kind::Sum>(random, c, ElementType::BF16,
                                        overwrites, /*isUnique=*/true);
    }
  }
}

TEST(Scatter, rows_of_whole_words) {
  Random random{std::mt19937(7)};
  for (int64_t columns : {4, 12, 64, 1100}) {
    Case c{{{5, 1, true, false}, {columns, columns, false, false}},
           {{-1, 90}, {0, 1}, {1, columns}}};
    for (bool overwrites : {false, true}) {
      checkScatter<float, Kind::Sum>(random, c, ElementType::F32, overwrites);
      checkScatter<BFloat16, Kind::Sum>(random, c, ElementType::BF16,
                                        overwrites);
      checkScatter<double, Kind::Max>(random, c, ElementType::F64, overwrites);
      checkScatter<int8_t, Kind::Sum>(random, c, ElementType::I8, overwrites);
    }
  }
}

TEST(Scatter, one_window_of_whole_words) {
  Random random{std::mt19937(8)};
  Case c{{{9, 4, true, false}, {40, 16, true, false}}, {{0, 4}, {1, 16}}};
  for (int i = 0; i < 8; ++i) // clamped or not, at places of every alignment
    checkScatter<BFloat16, Kind::Sum>(random, c, ElementType::BF16, true);
}

TEST(Scatter, many_windows_that_overlap) {
  Random random{std::mt19937(6)};
  Case inFront{{{9, 4, true, false}}, {{0, 4}, {-1, 100}}};
  Case behind{{{9, 4, true, false}}, {{-1, 100}, {0, 4}}};
  for (const Case &c : {inFront, behind})
    checkScatters(random, c);
}

} // namespace
