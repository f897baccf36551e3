// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DescribeProducts.h"

namespace shoal::rt {

std::string joinWords(const std::vector<std::string> &words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::string productLine(const ProductInfo &product, const std::string &text) {
  return "  " + (product.loc.empty() ? "" : product.loc + ": ") + text + "\n";
}

std::string describeSizes(const calls::GemmPlan &gemm, int64_t times) {
  auto matrix = [](int64_t rows, int64_t columns) {
    return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  };
  std::string text = matrix(gemm.m, gemm.k) + " x " + matrix(gemm.k, gemm.n);
  return times > 1 ? std::to_string(times) + " times " + text : text;
}

std::string describeCopies(const calls::ProductPlan &plan) {
  constexpr const char *names[] = {"operand 0", "operand 1", "the result"};
  std::vector<std::string> summed, converted, packed;
  for (size_t i = 0; i < 3; ++i) {
    if (i < 2 && plan.prepared[i])
      (plan.prepared[i]->summed.empty() ? converted : summed)
          .emplace_back(names[i]);
    if (plan.gemm && plan.gemm->packing[i])
      packed.emplace_back(names[i]);
  }
  std::string text;
  auto add = [&](const char *verb, const std::vector<std::string> &tensors) {
    if (!tensors.empty())
      text += std::string("; ") + verb + " " + joinWords(tensors);
  };
  if (plan.converts)
    text += "; converts whole tensors";
  add("sums", summed);
  add("converts", converted);
  add("packs", packed);
  return text;
}

} // namespace shoal::rt
