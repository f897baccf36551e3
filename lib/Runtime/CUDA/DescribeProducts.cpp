// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DescribeProducts.h"
#include "../Common/PreparedEinsum.h"
#include "BinaryEinsum.h"
#include "RaggedEinsum.h"

#include <charconv>

namespace shoal::rt {

namespace {

/// A call and what it does behind the sums.
struct Product {
  PreparedEinsum einsum;
  Epilogue epilogue;

  explicit Product(const EinsumCall &call);
  /// Appends "two scales"; "bias" and "relu".
  void addScales(std::vector<std::string> &words) const;
  void addEpilogue(std::vector<std::string> &words) const;
};

} // namespace

Product::Product(const EinsumCall &call)
    : einsum(prepareEinsum(call, deviceModel)) {
  // Where they are is decided later; that they are there counts.
  static const float there[64] = {};
  EinsumBuffers buffers;
  buffers.bias = call.bias ? there : nullptr;
  for (int64_t i = 0; i < call.numScales; ++i)
    buffers.scales[i] = there;
  epilogue = makeEpilogue(einsum, buffers);
}

static std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

void Product::addScales(std::vector<std::string> &words) const {
  if (int64_t count = einsum.call.numScales)
    words.emplace_back(count == 1 ? "a scale" : "two scales");
}

void Product::addEpilogue(std::vector<std::string> &words) const {
  if (einsum.call.bias)
    words.emplace_back("bias");
  if (einsum.call.activation != Activation::None)
    words.emplace_back(einsum.call.activation == Activation::Relu ? "relu"
                                                                  : "gelu");
}

static std::string kernelFor(const std::vector<std::string> &words) {
  return words.empty() ? "" : "; a kernel for " + join(words);
}

static std::string nameOf(ElementType type) {
  return std::string(support::elementTypeName(type));
}

/// "4 times [256, 64] x [64, 512]": a call's batches, rows, sums and columns.
static std::string sizesOf(const GemmPlan &plan, const GemmChoice &choice) {
  auto matrix = [](int64_t rows, int64_t columns) {
    return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  };
  std::string text = matrix(plan.m, plan.k) + " x " + matrix(plan.k, plan.n);
  if (choice.batches > 1)
    text = std::to_string(choice.batches) + " times " + text;
  return text;
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

static std::string copiesOf(const Product &product, const GemmChoice &choice) {
  std::vector<std::string> words;
  const char *names[] = {"operand 0", "operand 1", "the result"};
  for (size_t i = 0; i < 3; ++i) {
    bool prepared = i < 2 && product.einsum.product.preparations[i].needed;
    if (choice.copied[i] || prepared)
      words.emplace_back(names[i]);
  }
  return words.empty() ? "" : "; packs " + join(words);
}

static std::string describeGemm(const Product &product,
                                const GemmChoice &choice, bool tf32) {
  std::vector<std::string> inside, behind;
  product.addScales(support::isFloat8(choice.types[0]) ? inside : behind);
  product.addEpilogue(choice.hasEpilogue ? inside : behind);
  std::string text = sizesOf(*product.einsum.product.gemm, choice) + ", " +
                     typesOf(choice, tf32);
  if (!inside.empty())
    text += " with " + join(inside);
  text += kernelFor(behind);
  if (choice.calls > 1)
    text += "; " + std::to_string(choice.calls) + " calls";
  return text + copiesOf(product, choice);
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
  const PreparedEinsum &einsum = product.einsum;
  if (einsum.resultElements == 0 || einsum.emptySum)
    return "no terms";
  if (einsum.spec.operands.size() == 1)
    return einsum.isCopy ? "a copy" : "a sum, a loop kernel";
  const Epilogue *epilogue = einsum.hasEpilogue() && !einsum.declaredTypes
                                 ? &product.epilogue
                                 : nullptr;
  if (auto choice = chooseBinary(einsum.product, epilogue, capability))
    return describeGemm(product, *choice, tf32);
  std::vector<std::string> behind;
  product.addScales(behind);
  product.addEpilogue(behind);
  return nameOf(einsum.spec.typeIn) + ", a loop kernel" + kernelFor(behind);
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

std::string describeProducts(const CudaProgram &program) {
  std::string text;
  for (const ProductInfo &info : program.products) {
    // Architectures mostly agree.
    std::vector<std::pair<std::string, std::string>> ways;
    for (const auto &[name, capability] : capabilitiesOf(program.arch)) {
      std::string way = describeProduct(info, capability, program.tf32);
      if (!ways.empty() && ways.back().second == way)
        ways.back().first += ", " + name;
      else
        ways.emplace_back(name, way);
    }
    for (const auto &[names, way] : ways) {
      text += info.loc.empty() ? "  " : "  " + info.loc + ": ";
      if (ways.size() > 1)
        text += "on " + names + ": ";
      text += way + "\n";
    }
  }
  return text.empty() ? "" : "products on " + program.arch + ":\n" + text;
}

} // namespace shoal::rt
