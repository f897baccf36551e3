// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ragged_einsum against its definition in ABI.h.

#include "Program/Calls.h"
#include "Program/Numeric.h"
#include "TestScratch.h"
#include "shoal/Products/RaggedProduct.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace shoal::rt;

namespace {

/// Letters of each tensor; 'r' are the rows.
struct Case {
  std::string in0, in1, bounds, out;
  std::map<char, int64_t> sizes;

  std::vector<int64_t> shape(const std::string &tensor) const {
    std::vector<int64_t> shape;
    for (char letter : tensor)
      shape.push_back(sizes.at(letter));
    return shape;
  }
  int64_t elements(const std::string &tensor) const {
    return shoal::support::numElements(shape(tensor));
  }
  int64_t offset(const std::string &tensor,
                 const std::map<char, int64_t> &index) const {
    int64_t at = 0;
    for (char letter : tensor)
      at = at * sizes.at(letter) + index.at(letter);
    return at;
  }
};

RaggedEinsumCall callOf(const Case &c, ElementType in, ElementType out,
                        ElementType bounds) {
  RaggedEinsumCall call{in, out, bounds, {}, 0, {}};
  std::map<char, int64_t> letter;
  for (auto [name, size] : c.sizes) {
    letter.emplace(name, static_cast<int64_t>(letter.size()));
    call.sizes.push_back(size);
  }
  call.rowLetter = letter.at('r');
  const std::string *tensors[] = {&c.in0, &c.in1, &c.bounds, &c.out};
  for (size_t t = 0; t < 4; ++t)
    for (char name : *tensors[t])
      call.terms[t].push_back(letter.at(name));
  return call;
}

/// One term after another.
template <typename T>
std::vector<double>
naive(const Case &c, const std::vector<T> &in0, const std::vector<T> &in1,
      const std::vector<int32_t> &begins, const std::vector<int32_t> &ends) {
  // Strides in in0, in1, the bounds and the result, and the row.
  Loops<5> loops;
  for (auto [name, size] : c.sizes) {
    std::map<char, int64_t> unit;
    for (auto [other, unused] : c.sizes)
      unit[other] = other == name;
    loops.push_back(
        {size,
         {c.offset(c.in0, unit), c.offset(c.in1, unit),
          c.offset(c.bounds, unit), c.offset(c.out, unit), name == 'r'}});
  }
  std::vector<double> result(c.elements(c.out));
  forEach<5>(loops, [&](const Offsets<5> &at) {
    if (at[4] >= begins[at[2]] && at[4] < ends[at[2]])
      result[at[3]] += static_cast<double>(widen(in0[at[0]])) *
                       static_cast<double>(widen(in1[at[1]]));
  });
  return result;
}

/// Groups of rows one after another, or, if `disjoint` is false, anywhere.
template <typename T, typename Result>
void check(const Case &c, ElementType in, ElementType out, bool disjoint,
           unsigned seed) {
  std::mt19937 random(seed);
  auto elements = [&](const std::string &tensor) {
    std::vector<T> values(c.elements(tensor));
    for (T &value : values)
      value = convert<T>(static_cast<float>(random() % 5) - 2);
    return values;
  };
  std::vector<T> in0 = elements(c.in0), in1 = elements(c.in1);
  std::vector<int32_t> begins(c.elements(c.bounds)), ends = begins;
  auto rows = static_cast<int32_t>(c.sizes.at('r'));
  int32_t row = 0;
  for (size_t g = 0; g < begins.size(); ++g) {
    begins[g] =
        disjoint ? row : static_cast<int32_t>(random() % (rows + 2)) - 1;
    int32_t count = static_cast<int32_t>(random() % (rows / 2 + 1));
    ends[g] = row = begins[g] + count;
  }
  std::vector<Result> result(c.elements(c.out), convert<Result>(float(77)));
  RaggedEinsumCall call = callOf(c, in, out, ElementType::I32);
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  shoal_rt_ragged_einsum(desc.data(), in0.data(), in1.data(), begins.data(),
                         ends.data(), result.data(), scratch.data());
  std::vector<double> expected = naive(c, in0, in1, begins, ends);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(static_cast<double>(widen(result[i])), expected[i])
        << c.in0 << "," << c.in1 << " at " << i << ", seed " << seed;
}

const std::vector<Case> cases = {
    // tokens to hidden, by expert
    {"rm", "emh", "e", "rh", {{'r', 13}, {'m', 4}, {'e', 3}, {'h', 5}}},
    // the gradient of the weights
    {"rm", "rh", "e", "emh", {{'r', 13}, {'m', 4}, {'e', 3}, {'h', 5}}},
    // with a batch that the bounds have, and rows that are not in front
    {"bmr",
     "ebmh",
     "be",
     "bhr",
     {{'b', 2}, {'r', 7}, {'m', 3}, {'e', 4}, {'h', 2}}},
    // a column of the result for each group, behind the rows or in front
    {"rm", "em", "e", "re", {{'r', 13}, {'m', 4}, {'e', 3}}},
    {"rm", "em", "e", "er", {{'r', 13}, {'m', 4}, {'e', 3}}},
    // a letter that one operand has alone
    {"rmx",
     "emh",
     "e",
     "rh",
     {{'r', 9}, {'m', 4}, {'e', 3}, {'h', 5}, {'x', 2}}},
};

TEST(RaggedEinsum, agrees_with_its_definition) {
  for (const Case &c : cases)
    for (unsigned seed = 0; seed < 20; ++seed) {
      bool disjoint = seed % 2 == 0;
      check<float, float>(c, ElementType::F32, ElementType::F32, disjoint,
                          seed);
      check<BFloat16, float>(c, ElementType::BF16, ElementType::F32, disjoint,
                             seed);
      check<int32_t, int32_t>(c, ElementType::I32, ElementType::I32, disjoint,
                              seed);
      check<double, double>(c, ElementType::F64, ElementType::F64, disjoint,
                            seed);
      if (HasFatalFailure())
        return;
    }
}

TEST(RaggedEinsum, groups_that_are_worth_a_product_each) {
  Case forward{
      "rm", "emh", "e", "rh", {{'r', 300}, {'m', 200}, {'e', 3}, {'h', 260}}};
  Case gradient{
      "rm", "rh", "e", "emh", {{'r', 300}, {'m', 200}, {'e', 3}, {'h', 260}}};
  // The rows of a group do not lie together in the result.
  Case transposed{
      "rm", "emh", "e", "hr", {{'r', 300}, {'m', 200}, {'e', 3}, {'h', 260}}};
  for (const Case &c : {forward, gradient, transposed})
    for (bool disjoint : {true, false})
      check<float, float>(c, ElementType::F32, ElementType::F32, disjoint, 3);
}

/// A random case: rows are in one operand at least, and each letter in some
/// tensors, so that what is summed first and what is packed varies.
Case randomCase(std::mt19937 &random) {
  Case c{"", "", "e", "", {}};
  for (char name : {'r', 'e', 'm', 'h', 'x', 'y'}) {
    c.sizes[name] = 1 + static_cast<int64_t>(random() % 40);
    unsigned where = 1 + random() % 3;
    if (where & 1)
      c.in0 += name;
    if (where & 2)
      c.in1 += name;
    if (random() % 2)
      c.out += name;
  }
  for (std::string *tensor : {&c.in0, &c.in1, &c.out})
    std::shuffle(tensor->begin(), tensor->end(), random);
  return c;
}

TEST(RaggedScratch, that_of_all_rows_is_enough_for_fewer) {
  using enum ElementType;
  constexpr std::pair<ElementType, ElementType> types[] = {
      {F32, F32}, {BF16, F32}, {BF16, BF16}, {F64, F64}};
  std::mt19937 random(5);
  int withScratch = 0;
  for (int round = 0; round < 200; ++round) {
    Case c = randomCase(random);
    auto [in, out] = types[round % std::size(types)];
    for (const ProductModel &model : {cpuModel, deviceModel}) {
      RaggedProduct product(callOf(c, in, out, I32), model);
      for (int64_t rows = 1; rows <= c.sizes['r']; ++rows)
        ASSERT_LE(sumOf(product.planGroup(rows).scratch),
                  product.productBytes())
            << c.in0 << "," << c.in1 << "->" << c.out << ", rows " << rows;
      withScratch += product.productBytes() > 0;
    }
  }
  EXPECT_GT(withScratch, 20) << "few products have scratch";
}

TEST(RaggedScratch, parts_without_memory_are_dense_whatever_rows_they_have) {
  using enum ElementType;
  std::mt19937 random(6);
  int inPlace = 0;
  for (int round = 0; round < 2000; ++round) {
    Case c = randomCase(random);
    RaggedProduct product(callOf(c, F32, F32, I32), cpuModel);
    if (product.isEmpty() || product.partBytes() != 0)
      continue;
    ++inPlace;
    for (int64_t rows = 1; rows <= c.sizes['r']; ++rows)
      ASSERT_TRUE(product.isDensePart(rows))
          << c.in0 << "," << c.in1 << "->" << c.out << ", rows " << rows;
  }
  EXPECT_GT(inPlace, 20) << "few parts are written in place";
}

TEST(RaggedScratch, parts_that_are_written_in_place_have_none) {
  using enum ElementType;
  auto partBytes = [](const Case &c) {
    return RaggedProduct(callOf(c, F32, F32, I32), cpuModel).partBytes();
  };
  EXPECT_EQ(partBytes(cases[1]), 0) << "each group has a gradient of its own";
  EXPECT_EQ(partBytes(cases[0]), 13 * 5 * 4) << "groups may overlap";
}

} // namespace
