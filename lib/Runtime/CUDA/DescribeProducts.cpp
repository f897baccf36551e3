// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DescribeProducts.h"
#include "../Products/DescribeProducts.h"
#include "../Products/EinsumArguments.h"
#include "RaggedEinsum.h"
#include "RunProduct.h"

#include <charconv>

namespace shoal::rt {

namespace {

/// A call and what it does behind the sums.
struct Product {
  EinsumCall call;
  Epilogue epilogue;

  explicit Product(EinsumCall call);
  /// Appends "two scales"; "bias" and "relu".
  void addScales(std::vector<std::string> &words) const;
  void addEpilogue(std::vector<std::string> &words) const;
};

} // namespace

Product::Product(EinsumCall described) : call(std::move(described)) {
  // Where they are is decided later; that they are there counts.
  static const float there[64] = {};
  EinsumBuffers buffers;
  buffers.bias = call.bias ? there : nullptr;
  for (int64_t i = 0; i < call.numScales; ++i)
    buffers.scales[i] = there;
  epilogue = makeEpilogue(call, buffers, /*sums=*/nullptr);
}

void Product::addScales(std::vector<std::string> &words) const {
  if (int64_t count = call.numScales)
    words.emplace_back(count == 1 ? "a scale" : "two scales");
}

void Product::addEpilogue(std::vector<std::string> &words) const {
  if (call.bias)
    words.emplace_back("bias");
  if (call.activation != Activation::None)
    words.emplace_back(call.activation == Activation::Relu ? "relu" : "gelu");
}

static std::string kernelFor(const std::vector<std::string> &words) {
  return words.empty() ? "" : "; a kernel for " + joinWords(words);
}

static std::string nameOf(ElementType type) {
  return std::string(support::elementTypeName(type));
}

/// What cuBLASLt multiplies.
static std::string typesOf(const GemmChoice &choice, bool tf32) {
  ElementType type = choice.types[0];
  if (support::isFloat8(type))
    return "cuBLASLt in 8 bits";
  std::string text = "cuBLASLt in ";
  text += type == ElementType::F32 && tf32 ? "TF32" : nameOf(type);
  return choice.obstacle ? text + ", not in 8 bits: " + *choice.obstacle : text;
}

static std::string describeGemm(const Product &product,
                                const GemmChoice &choice, bool tf32) {
  std::vector<std::string> inside, behind;
  product.addScales(support::isFloat8(choice.types[0]) ? inside : behind);
  product.addEpilogue(choice.hasEpilogue ? inside : behind);
  const ProductPlan &plan = product.call.plan;
  std::string text =
      describeSizes(*plan.gemm, choice.batches) + ", " + typesOf(choice, tf32);
  if (!inside.empty())
    text += " with " + joinWords(inside);
  text += kernelFor(behind);
  if (choice.calls > 1)
    text += "; " + std::to_string(choice.calls) + " calls";
  return text + describeCopies(plan);
}

static std::string describeRagged(const ProductInfo &info) {
  switch (chooseRaggedWay(info.desc.data())) {
  case RaggedWay::Calls:
    return "groups, cuBLASLt for each (with --cuda-graph, a kernel of tiles)";
  case RaggedWay::Grouped:
    return "groups, a kernel of tiles";
  case RaggedWay::Loops:
    return "groups, a loop kernel";
  }
  return "";
}

static std::string describeProduct(const ProductInfo &info, int capability,
                                   bool tf32) {
  if (info.isRagged)
    return describeRagged(info);
  Product product(decode<EinsumCall>(info.desc.data()));
  const EinsumCall &call = product.call;
  if (call.elements[2] == 0 || isZero(call.plan))
    return "no terms";
  const Epilogue *epilogue =
      hasEpilogue(call) && !call.plan.converts ? &product.epilogue : nullptr;
  ProductTypes types = typesInside(call.types, call.plan);
  if (auto choice = chooseProduct(call.plan, types, epilogue, capability))
    return describeGemm(product, *choice, tf32);
  std::vector<std::string> behind;
  product.addScales(behind);
  product.addEpilogue(behind);
  return nameOf(types.in[0]) + ", a loop kernel" + kernelFor(behind) +
         describeCopies(call.plan);
}

/// "sm_80,sm_100": the capabilities by name. What is emulated is by default a
/// Hopper.
static std::vector<std::pair<std::string, int>>
capabilitiesOf(const std::string &archs) {
  std::vector<std::pair<std::string, int>> list;
  for (size_t begin = 0; begin < archs.size();) {
    size_t end = std::min(archs.find(',', begin), archs.size());
    std::string name = archs.substr(begin, end - begin);
    int capability = 90;
    if (name.starts_with("sm_"))
      std::from_chars(name.data() + 3, name.data() + name.size(), capability);
    list.emplace_back(name, capability);
    begin = end + 1;
  }
  return list;
}

std::string describeProducts(const Program &program) {
  const std::string &archs = program.cuda.arch;
  std::string text;
  for (const ProductInfo &info : program.products) {
    // Architectures mostly agree.
    std::vector<std::pair<std::string, std::string>> ways;
    for (const auto &[name, capability] : capabilitiesOf(archs)) {
      std::string way = describeProduct(info, capability, program.cuda.tf32);
      if (!ways.empty() && ways.back().second == way)
        ways.back().first += ", " + name;
      else
        ways.emplace_back(name, way);
    }
    for (const auto &[names, way] : ways)
      text +=
          productLine(info, ways.size() > 1 ? "on " + names + ": " + way : way);
  }
  return text.empty() ? "" : "products on " + archs + ":\n" + text;
}

} // namespace shoal::rt
