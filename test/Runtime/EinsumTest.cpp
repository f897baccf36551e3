// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifdef SHOAL_TEST_EMULATION
#include "CUDA/Gemm.h"
#else
#include "CPU/Gemm.h"
#include "CPU/Threads.h"
#endif
#include "Program/Calls.h"
#include "Program/Numeric.h"
#include "TestScratch.h"
#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/ProductScratch.h"
#include "shoal/Products/VerifyPlan.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/SmallFloat.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace shoal::rt;
using shoal::support::BFloat16;
using shoal::support::ElementType;
using shoal::support::Float16;
using shoal::support::Float8E4M3FN;
using shoal::support::Float8E5M2;

namespace {

#ifdef SHOAL_TEST_EMULATION
constexpr const ProductModel &model = deviceModel;
#elif defined(SHOAL_TEST_ONEDNN)
bool hasBF16() { return __builtin_cpu_supports("avx512bf16"); }

/// Whatever it takes on this CPU, however small.
const ProductModel model = [] {
  ProductModel all = modelOf(shoal::cpuMachine, hasBF16() ? shoal::OneDNN::BF16
                                                          : shoal::OneDNN::F32);
  all.oneDNNRates = {1e15, 1e15, /*leastTerms=*/0};
  all.loopTermsPerSecond = 1;
  return all;
}();
#else
constexpr const ProductModel &model = cpuModel;
#endif

/// "GSEC,GSM->EGCM" with the size of each letter.
struct Case {
  std::string spec;
  std::map<char, int64_t> sizes;
  ElementType in = ElementType::F32;
  ElementType out = ElementType::F32;
};

struct Parsed {
  std::array<std::string, 2> operands;
  std::string result;
};

Parsed parse(const std::string &spec) {
  size_t comma = spec.find(','), arrow = spec.find("->");
  return {{spec.substr(0, comma), spec.substr(comma + 1, arrow - comma - 1)},
          spec.substr(arrow + 2)};
}

EinsumSpec specOf(const Case &c) {
  EinsumSpec spec;
  spec.types = {{c.in, c.in}, c.out};
  std::map<char, int64_t> letter;
  for (auto [name, size] : c.sizes) {
    letter.emplace(name, static_cast<int64_t>(letter.size()));
    spec.sizes.push_back(size);
  }
  auto lettersOf = [&](const std::string &term) {
    Letters letters;
    for (char name : term)
      letters.push_back(letter[name]);
    return letters;
  };
  Parsed parsed = parse(c.spec);
  spec.operands = {lettersOf(parsed.operands[0]),
                   lettersOf(parsed.operands[1])};
  spec.result = lettersOf(parsed.result);
  return spec;
}

/// What the compiler makes of it.
EinsumCall callOf(const Case &c) {
  EinsumSpec spec = specOf(c);
  ProductPlan plan = planEinsum(spec, model);
  for (const auto &fault : {verifyPlan(plan), verifyPlan(spec, plan)})
    EXPECT_FALSE(fault) << fault->message;
  return makeCall(spec, std::move(plan));
}

int64_t elements(const Case &c, const std::string &tensor) {
  int64_t count = 1;
  for (char name : tensor)
    count *= c.sizes.at(name);
  return count;
}

int64_t offset(const Case &c, const std::string &tensor,
               const std::map<char, int64_t> &index) {
  int64_t at = 0;
  for (char name : tensor)
    at = at * c.sizes.at(name) + index.at(name);
  return at;
}

/// The meaning of an einsum, one term after another.
std::vector<double> naive(const Case &c,
                          const std::vector<std::vector<double>> &inputs) {
  Parsed parsed = parse(c.spec);
  std::vector<double> result(elements(c, parsed.result), 0);
  int64_t terms = 1;
  for (auto [name, size] : c.sizes)
    terms *= size;
  for (int64_t term = 0; term < terms; ++term) {
    std::map<char, int64_t> index;
    int64_t rest = term;
    for (auto [name, size] : c.sizes) {
      index[name] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (size_t i = 0; i < inputs.size(); ++i)
      product *= inputs[i][offset(c, parsed.operands[i], index)];
    double &sum = result[offset(c, parsed.result, index)];
    sum = c.out == ElementType::I1 ? (sum != 0 || product != 0) : sum + product;
  }
  return result;
}

/// A buffer of any element type, seen as doubles.
class Tensor {
public:
  Tensor(ElementType type, int64_t count)
      : type(type), count(count),
        bytes(count * shoal::support::elementSize(type), 0x5a) {}

  void *data() { return bytes.data(); }

  double get(int64_t i) const {
    switch (type) {
    case ElementType::F32:
      return at<float>(i);
    case ElementType::F64:
      return at<double>(i);
    case ElementType::BF16:
      return toFloat(at<BFloat16>(i));
    case ElementType::F16:
      return toFloat(at<Float16>(i));
    case ElementType::F8E4M3FN:
      return toFloat(at<Float8E4M3FN>(i));
    case ElementType::F8E5M2:
      return toFloat(at<Float8E5M2>(i));
    case ElementType::I64:
      return static_cast<double>(at<int64_t>(i));
    case ElementType::I32:
      return at<int32_t>(i);
    case ElementType::I16:
      return at<int16_t>(i);
    case ElementType::I8:
      return at<int8_t>(i);
    case ElementType::I1:
      return at<uint8_t>(i);
    }
    return 0;
  }

  void set(int64_t i, double value) {
    switch (type) {
    case ElementType::F32:
      return put(i, static_cast<float>(value));
    case ElementType::F64:
      return put(i, value);
    case ElementType::BF16:
      return put(i, shoal::support::toBFloat16(static_cast<float>(value)));
    case ElementType::F16:
      return put(i, shoal::support::toFloat16(static_cast<float>(value)));
    case ElementType::F8E4M3FN:
      return put(i, shoal::support::toFloat8E4M3FN(static_cast<float>(value)));
    case ElementType::F8E5M2:
      return put(i, shoal::support::toFloat8E5M2(static_cast<float>(value)));
    case ElementType::I64:
      return put(i, static_cast<int64_t>(value));
    case ElementType::I32:
      return put(i, static_cast<int32_t>(value));
    case ElementType::I16:
      return put(i, static_cast<int16_t>(value));
    case ElementType::I8:
      return put(i, static_cast<int8_t>(value));
    case ElementType::I1:
      return put(i, static_cast<uint8_t>(value != 0));
    }
  }

  std::vector<double> values() const {
    std::vector<double> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(get(i));
    return all;
  }

private:
  template <typename T>
  T at(int64_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T>
  void put(int64_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }

  ElementType type;
  int64_t count;
  std::vector<char> bytes;
};

/// How far a result of this type may be from exact arithmetic.
double tolerance(ElementType in, ElementType out) {
  if (out == ElementType::BF16)
    return 0x1p-8;
  if (out == ElementType::F16)
    return 0x1p-10;
  if (out == ElementType::F64 && in == ElementType::F64)
    return 1e-13;
  return shoal::support::isFloat(out) ? 1e-5 : 0;
}

void check(const Case &c) {
  SCOPED_TRACE(c.spec + " " + std::string(elementTypeName(c.in)) + " -> " +
               std::string(elementTypeName(c.out)));
  Parsed parsed = parse(c.spec);
  std::mt19937 random(7);
  std::vector<Tensor> operands;
  std::vector<std::vector<double>> inputs;
  for (const std::string &tensor : parsed.operands) {
    int64_t count = elements(c, tensor);
    operands.emplace_back(c.in, count);
    for (int64_t i = 0; i < count; ++i)
      operands.back().set(i, shoal::support::isFloat(c.in)
                                 ? std::normal_distribution<>()(random)
                                 : static_cast<int>(random() % 3) - 1);
    inputs.push_back(operands.back().values());
  }
  Tensor result(c.out, elements(c, parsed.result));
  EinsumCall call = callOf(c);
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  shoal_rt_einsum(desc.data(), operands[0].data(), operands[1].data(),
                  result.data(), scratch.data());
  std::vector<double> expected = naive(c, inputs), found = result.values();
  double allowed = tolerance(c.in, c.out);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(found[i] - expected[i]),
              allowed * (4 + std::abs(expected[i])))
        << "element " << i << ": " << found[i] << ", expected " << expected[i];
}

TEST(Einsum, the_moe_layer) {
  for (int64_t g : {1, 3}) {
    std::map<char, int64_t> sizes = {{'G', g}, {'S', 12}, {'M', 10},
                                     {'E', 4}, {'C', 5},  {'H', 9}};
    for (const char *spec :
         {"GSM,ME->GSE", "GSEC,GSM->EGCM", "EGCM,EMH->EGCH", "EGCH,EHM->GECM",
          "GSEC,GECM->GSM", "GSE,GSC->GSEC"}) {
      Case c{spec, {}};
      for (char name : c.spec)
        if (sizes.contains(name))
          c.sizes[name] = sizes[name];
      check(c);
    }
  }
}

TEST(Einsum, vectors_diagonals_and_lone_letters) {
  check({"i,i->", {{'i', 100}}});
  check({"i,j->ij", {{'i', 10}, {'j', 20}}});
  check({"ij,j->i", {{'i', 50}, {'j', 60}}});
  check({"ij,i->j", {{'i', 50}, {'j', 60}}});
  check({",ij->ji", {{'i', 5}, {'j', 6}}});
  check({"bi,bi->b", {{'b', 20}, {'i', 30}}});
  check({"ib,ib->b", {{'b', 20}, {'i', 30}}});
  check({"iij,jk->ik", {{'i', 4}, {'j', 5}, {'k', 6}}});
  check({"ijx,jky->ik", {{'i', 4}, {'j', 5}, {'k', 6}, {'x', 3}, {'y', 2}}});
  check({"xx,jk->k", {{'x', 4}, {'j', 5}, {'k', 6}}});
  check({"ijx,jk->ik",
         {{'i', 4}, {'j', 5}, {'k', 6}, {'x', 3}},
         ElementType::BF16,
         ElementType::BF16});
}

TEST(Einsum, empty_sums_are_zero_and_empty_results_nothing) {
  check({"ij,jk->ik", {{'i', 3}, {'j', 0}, {'k', 4}}});
  check({"ij,jk->ik", {{'i', 0}, {'j', 3}, {'k', 4}}});
  check({"ij,->i", {{'i', 3}, {'j', 0}}});
}

TEST(Einsum, one_address_may_describe_another_einsum) {
  std::vector<int64_t> desc(256);
  const std::pair<const char *, float> cases[] = {
      {"ij,->ji", 3}, {"ij,->j", 5}, {"ij,->ij", 1}};
  for (auto [spec, expected] : cases) {
    EinsumCall call = callOf({spec, {{'i', 2}, {'j', 3}}});
    std::vector<int64_t> fresh = encode(call);
    TestScratch scratch(call);
    ASSERT_LE(fresh.size(), desc.size());
    std::copy(fresh.begin(), fresh.end(), desc.begin());
    float in[6] = {0, 1, 2, 3, 4, 5}, one = 1, out[6] = {};
    shoal_rt_einsum(desc.data(), in, &one, out, scratch.data());
    EXPECT_EQ(out[1], expected) << spec;
  }
}

/// A random spec: each letter in a random subset of the tensors, in a random
/// order, at times twice in an operand.
Case randomCase(std::mt19937 &random) {
  Case c;
  std::string tensors[3];
  for (char name = 'a'; name < static_cast<char>('a' + 1 + random() % 6);
       ++name) {
    constexpr int64_t sizes[] = {1, 2, 3, 5, 9, 17};
    c.sizes[name] = sizes[random() % 6];
    unsigned where = 1 + random() % 3; // at least one operand
    if (random() % 8 == 0)
      tensors[random() % 2] += name, where |= 1;
    for (int i = 0; i < 2; ++i)
      if (where >> i & 1)
        tensors[i] += name;
    if (random() % 2)
      tensors[2] += name;
  }
  for (std::string &tensor : tensors)
    std::shuffle(tensor.begin(), tensor.end(), random);
  c.spec = tensors[0] + "," + tensors[1] + "->" + tensors[2];
  return c;
}

TEST(Einsum, random_specs_in_every_type) {
  using enum ElementType;
  constexpr std::pair<ElementType, ElementType> types[] = {
      {F32, F32},    {F32, F32},     {F32, F32},      {F64, F64},
      {BF16, BF16},  {BF16, F32},    {F16, F16},      {F16, F32},
      {F32, BF16},   {F32, F64},     {BF16, F16},     {I32, I32},
      {I8, I32},     {I64, I64},     {I16, I16},      {I8, I8},
      {I1, I1},      {I64, I32},     {F8E4M3FN, F32}, {F8E5M2, BF16},
      {F8E5M2, F16}, {F8E4M3FN, F64}};
  std::mt19937 random(42);
  for (int round = 0; round < 600 && !testing::Test::HasFatalFailure();
       ++round) {
    Case c = randomCase(random);
    int64_t terms = 1;
    for (auto [name, size] : c.sizes)
      terms *= size;
    if (terms > 40000)
      continue;
    std::tie(c.in, c.out) = types[round % std::size(types)];
    // Small integers overflow; wrapping is not what the doubles do.
    if (c.out == I8 && terms > 100)
      continue;
    check(c);
  }
}

/// The contraction of a spec without lone letters.
Contraction contractionOf(const Case &c) {
  EinsumSpec spec = specOf(c);
  return classify(spec, {letterStrides(spec, spec.operands[0]),
                         letterStrides(spec, spec.operands[1]),
                         letterStrides(spec, spec.result)});
}

/// Small contractions are left to loops; this one forces each plan on them.
/// Small whole numbers, whose sums are exact.
std::vector<float> makeWholes(int64_t count, std::mt19937 &random) {
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(random() % 7) - 3;
  return values;
}

void checkGemm(const Case &c, const std::array<bool, 3> &packs) {
  SCOPED_TRACE(c.spec);
  Parsed parsed = parse(c.spec);
  auto plan = planGemm(contractionOf(c), packs, 4);
  if (!plan) // no loop is dense
    return;
  std::mt19937 random(3);
  std::vector<std::vector<float>> tensors;
  std::vector<std::vector<double>> inputs;
  for (const std::string &tensor : parsed.operands) {
    tensors.push_back(makeWholes(elements(c, tensor), random));
    inputs.emplace_back(tensors.back().begin(), tensors.back().end());
  }
  std::vector<float> result(elements(c, parsed.result), -100);
  constexpr ElementType f32 = ElementType::F32;
  ProductPlan product;
  product.isDevice = model.isDevice;
  product.gemm = plan->plan;
  ProductScratch pieces = scratchOf({{f32, f32}, f32}, product);
  TestScratch scratch(sumOf(pieces));
  Scratch taken(scratch.data(), sumOf(pieces));
  runGemm(plan->plan, f32,
          {tensors[0].data(), f32, tensors[1].data(), f32, result.data(), f32},
          takeMemory(taken, pieces, model.isDevice));
  std::vector<double> expected = naive(c, inputs);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(result[i], expected[i]) << "element " << i;
}

TEST(EinsumPlan, every_choice_of_packing_is_right) {
  std::mt19937 random(11);
  int checked = 0;
  while (checked < 400) {
    Case c = randomCase(random);
    Contraction contraction = contractionOf(c);
    Parsed parsed = parse(c.spec);
    bool contracts = !contraction.summed.empty();
    int64_t terms = 1;
    for (auto [name, size] : c.sizes) {
      bool in[2] = {parsed.operands[0].find(name) != std::string::npos,
                    parsed.operands[1].find(name) != std::string::npos};
      bool kept = parsed.result.find(name) != std::string::npos;
      contracts = contracts && (kept || (in[0] && in[1]));
      terms *= size;
    }
    if (!contracts || terms > 20000)
      continue;
    ++checked;
    for (unsigned mask = 0; mask < 8; ++mask)
      checkGemm(c, {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0});
    if (testing::Test::HasFatalFailure())
      return;
  }
}

GemmPlan gemmOf(const Case &c, const std::array<bool, 3> &mustPack = {}) {
  auto gemm = planGemm(contractionOf(c), mustPack, 4);
  EXPECT_TRUE(gemm);
  return gemm ? gemm->plan : GemmPlan();
}

TEST(EinsumPlan, collapses_letters_into_one_product) {
  Case c{"EGCM,EMH->EGCH",
         {{'E', 8}, {'G', 4}, {'C', 128}, {'M', 256}, {'H', 1024}}};
  GemmPlan plan = gemmOf(c);
  EXPECT_EQ(plan.m, 4 * 128);
  EXPECT_EQ(plan.n, 1024);
  EXPECT_EQ(plan.k, 256);
  EXPECT_TRUE(plan.outer.empty() && plan.summed.empty());
  EXPECT_EQ(plan.batch.size(), 1u);
  for (const auto &copy : plan.packing)
    EXPECT_FALSE(copy);
}

TEST(EinsumPlan, sums_over_two_letters_in_one_product) {
  Case c{"GSEC,GECM->GSM",
         {{'G', 2}, {'S', 512}, {'E', 8}, {'C', 128}, {'M', 256}}};
  GemmPlan plan = gemmOf(c);
  EXPECT_EQ(plan.k, 8 * 128);
  EXPECT_EQ(plan.m, 512);
  EXPECT_EQ(plan.n, 256);
}

TEST(EinsumPlan, packs_only_where_no_order_is_dense) {
  // The summed letters lie in opposite orders in the operands.
  Case c{"iab,baj->ij", {{'a', 64}, {'b', 64}, {'i', 512}, {'j', 512}}};
  GemmPlan plan = gemmOf(c);
  EXPECT_EQ(plan.k, 64 * 64);
  EXPECT_NE(plan.packing[0].has_value(), plan.packing[1].has_value());
  EXPECT_FALSE(plan.packing[2]);
}

TEST(EinsumPlan, packs_what_must_be_converted) {
  Case c{"ij,jk->ik", {{'i', 64}, {'j', 64}, {'k', 64}}};
  GemmPlan plan = gemmOf(c, {true, true, true});
  for (const auto &copy : plan.packing) {
    ASSERT_TRUE(copy);
    EXPECT_EQ(iterations(*copy), 64 * 64);
  }
}

#ifdef SHOAL_TEST_ONEDNN
TEST(EinsumPlan, onednn_takes_bf16_and_all_batches_as_they_are) {
  if (!hasBF16())
    GTEST_SKIP() << "this CPU has no products of bf16";
  Case c{"eij,ejk->eik", {{'e', 3}, {'i', 5}, {'j', 7}, {'k', 4}}};
  c.in = c.out = ElementType::BF16;
  ProductPlan plan = planEinsum(specOf(c), model);
  ASSERT_TRUE(plan.gemm);
  EXPECT_EQ(plan.gemm->library, ProductLibrary::OneDNN);
  EXPECT_EQ(plan.gemm->batch.size(), 1u);
  for (const auto &copy : plan.gemm->packing)
    EXPECT_FALSE(copy);
}

/// The gradient of experts' weights: "gecm,egch->ehm", or without groups and
/// experts, each matrix by parts of its terms on so many threads.
void checkParts(const Case &c, int threads) {
  SCOPED_TRACE(c.spec);
  EinsumSpec spec = specOf(c);
  ProductModel measured = modelOf(shoal::cpuMachine, shoal::OneDNN::F32);
  EinsumCall call = makeCall(spec, planEinsum(spec, measured));
  ASSERT_TRUE(call.plan.gemm);
  EXPECT_EQ(cutTerms(*call.plan.gemm, ElementType::F32).count, 4);
  std::mt19937 random(3);
  std::vector<float> a = makeWholes(call.elements[0], random),
                     b = makeWholes(call.elements[1], random),
                     result(call.elements[2], -100);
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  setThreads(threads, /*least=*/1e-9);
  shoal_rt_einsum(desc.data(), a.data(), b.data(), result.data(),
                  scratch.data());
  setThreads(1);
  auto size = [&](char letter) {
    auto found = c.sizes.find(letter);
    return found == c.sizes.end() ? 1 : found->second;
  };
  int64_t groups = size('g'), experts = size('e'), slots = size('c'),
          m = size('m'), h = size('h');
  std::vector<float> expected(result.size());
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t slot = 0; slot < slots; ++slot) {
        int64_t row = (g * experts + e) * slots + slot,
                other = (e * groups + g) * slots + slot;
        for (int64_t y = 0; y < h; ++y)
          for (int64_t x = 0; x < m; ++x)
            expected[(e * h + y) * m + x] += a[row * m + x] * b[other * h + y];
      }
  EXPECT_EQ(result, expected);
}

TEST(EinsumPlan, threads_share_the_terms_of_weights_gradients) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "oneDNN is for CPUs with AVX-512";
  for (int threads : {1, 3}) {
    checkParts({"cm,ch->hm", {{'c', 1501}, {'m', 128}, {'h', 96}}}, threads);
    checkParts({"gecm,egch->ehm",
                {{'g', 31}, {'e', 2}, {'c', 31}, {'m', 128}, {'h', 160}}},
               threads);
  }
}
#endif

} // namespace
