// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Products.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Machine/NativeOneDNN.h"
#include "shoal/Products/PlanEinsum.h"
#include "shoal/Products/ProductScratch.h"
#include "shoal/Products/RaggedProduct.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/ElementType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace shoal;
using namespace shoal::bench;
using calls::ElementType;

/// From those of a router to those of a model's layers; batches are of heads
/// and of experts. None takes so long that a busy machine never lets it end.
static constexpr ProductShape kShapes[] = {
    {1, 32, 32, 32},     {1, 64, 64, 64},     {1, 128, 128, 128},
    {1, 256, 256, 256},  {1, 512, 512, 512},  {1, 16, 512, 512},
    {1, 64, 512, 512},   {1, 256, 512, 512},  {1, 512, 16, 512},
    {1, 512, 64, 512},   {1, 512, 512, 16},   {1, 512, 512, 64},
    {1, 512, 8, 256},    {1, 256, 4, 256},    {1, 1024, 8, 256},
    {1, 512, 32, 128},   {1, 256, 1024, 256}, {1, 256, 256, 1024},
    {1, 128, 1024, 512}, {1, 1, 512, 512},    {8, 64, 64, 64},
    {32, 64, 64, 32},    {16, 128, 128, 64},  {8, 128, 256, 128},
    {4, 64, 512, 256},   {4, 64, 256, 512},   {32, 16, 16, 16},
    {2, 256, 512, 256},  {1, 48, 96, 80},     {1, 256, 2048, 64},
    {8, 32, 256, 64},    {8, 32, 64, 256}};
/// Groups, rows of each, columns and sums.
static constexpr ProductShape kGroups[] = {
    {8, 32, 256, 128}, {8, 64, 256, 128}, {4, 64, 512, 256}, {8, 16, 64, 64}};
/// Of other types than f32, whose curve is theirs.
static constexpr ProductShape kOthers[] = {{1, 256, 256, 256},
                                           {1, 128, 512, 256}};

Products::Products(Stopwatch &stopwatch, const Memory &memory) {
  for (const ProductShape &shape : kShapes)
    add(stopwatch, memory, ElementType::F32, "f32", shape);
  for (const ProductShape &shape : kGroups)
    addGroups(stopwatch, memory, shape);
  for (auto [type, name] : {std::pair(ElementType::F64, "f64"),
                            std::pair(ElementType::BF16, "bf16")})
    for (const ProductShape &shape : kOthers)
      add(stopwatch, memory, type, name, shape);
}

/// Of operands and the result.
struct Bytes {
  int64_t left, right, result;

  Bytes(const ProductShape &shape, int64_t width)
      : left(width * shape.batch * shape.m * shape.k),
        right(width * shape.batch * shape.k * shape.n),
        result(width * shape.batch * shape.m * shape.n) {}
  int64_t all() const { return left + right + result; }
};

/// As the compiler plans it on this CPU.
static calls::EinsumCall planCall(ElementType type, ProductShape shape) {
  products::EinsumSpec spec;
  spec.types = {{type, type}, type};
  spec.sizes = {shape.batch, shape.m, shape.n, shape.k};
  spec.operands = {products::Letters{0, 1, 3}, products::Letters{0, 3, 2}};
  spec.result = {0, 1, 2};
  return products::makeCall(
      spec, products::planEinsum(
                spec, products::modelOf(cpuMachine, nativeOneDNN())));
}

void Products::add(Stopwatch &stopwatch, const Memory &memory, ElementType type,
                   const char *name, ProductShape shape) {
  Bytes bytes(shape, support::elementSize(type));
  points.push_back({name, shape, bytes.all(),
                    &stopwatch.add(prepareCall(
                        shoal_rt_einsum, planCall(type, shape),
                        memory.left(bytes.left), memory.right(bytes.right),
                        memory.result(bytes.result), memory.scratch()))});
}

/// Rows of groups one behind the other.
void Products::addGroups(Stopwatch &stopwatch, const Memory &memory,
                         ProductShape shape) {
  enum { Group, Row, Column, Sum };
  shape.hasGroups = true;
  calls::RaggedEinsumCall call{
      ElementType::F32, ElementType::F32, ElementType::I32, {}, Row, {}};
  call.sizes = {shape.batch, shape.batch * shape.m, shape.n, shape.k};
  call.terms = {{{Row, Sum}, {Group, Sum, Column}, {Group}, {Row, Column}}};
  auto bounds = std::make_shared<std::vector<int32_t>>();
  for (int64_t group = 0; group <= shape.batch; ++group)
    bounds->push_back(static_cast<int32_t>(group * shape.m));
  Bytes bytes(shape, 4);
  auto product = prepareCall(shoal_rt_ragged_einsum, call,
                             memory.left(bytes.left), memory.right(bytes.right),
                             static_cast<void *>(bounds->data()),
                             static_cast<void *>(bounds->data() + 1),
                             memory.result(bytes.result), memory.scratch());
  points.push_back(
      {"f32", shape, bytes.all(),
       // The bounds live as long.
       &stopwatch.add([product, bounds]() mutable { product(); })});
}

//===----------------------------------------------------------------------===//
// Fit
//===----------------------------------------------------------------------===//

/// The mean of |log(price / measured)|: what was disturbed counts as one.
static double errorOf(const Chip &chip,
                      const std::vector<Products::Point> &points) {
  double sum = 0;
  for (const Products::Point &point : points) {
    Price price = priceProduct(chip, point.type, point.shape, point.bytes);
    sum +=
        std::abs(std::log(inSeconds(price.time) / point.experiment->seconds));
  }
  return sum / static_cast<double>(points.size());
}

/// The best rate that any product of the type reaches.
static double bestRate(const std::vector<Products::Point> &points,
                       llvm::StringRef type) {
  double best = 0;
  for (const Products::Point &point : points)
    if (type == point.type)
      best = std::max(best, 2.0 * point.shape.batch * point.shape.m *
                                point.shape.n * point.shape.k /
                                point.experiment->seconds);
  return best;
}

/// Steps of each number in turn while they help, ever smaller ones.
static void fitCurve(Chip &chip, const std::vector<Products::Point> &points) {
  ProductCurve &curve = chip.products;
  curve = {1.0, {4, 4, 4}, {1, 1, 1}};
  double *numbers[] = {&curve.max, &curve.half[0], &curve.half[1],
                       &curve.half[2]};
  double error = errorOf(chip, points);
  for (double factor : {2.0, 1.3, 1.1, 1.03, 1.01})
    for (bool helps = true; helps;) {
      helps = false;
      for (double *number : numbers)
        for (double step : {factor, 1 / factor}) {
          double before = *number;
          *number = std::min(before * step, number == numbers[0] ? 1.0 : 512.0);
          double now = errorOf(chip, points);
          helps |= now < error - 1e-9;
          if (now < error)
            error = now;
          else
            *number = before;
        }
    }
}

/// The middle one of what groups take longer than single products would.
static double shareOfGroups(const Chip &chip,
                            const std::vector<Products::Point> &points) {
  std::vector<double> shares;
  for (const Products::Point &point : points)
    if (point.shape.hasGroups)
      shares.push_back(
          inSeconds(
              priceProduct(chip, point.type, point.shape, point.bytes).time) /
          point.experiment->seconds);
  llvm::sort(shares);
  return std::min(1.0, shares[shares.size() / 2]);
}

void Products::fit(Chip &chip) const {
  for (const char *type : {"f32", "f64", "bf16"})
    chip.flops[type] = bestRate(points, type);
  std::vector<Point> single;
  llvm::copy_if(points, std::back_inserter(single),
                [](const Point &point) { return !point.shape.hasGroups; });
  fitCurve(chip, single);
  chip.groupEfficiency = shareOfGroups(chip, points);
}

void Products::print(const Chip &chip, llvm::raw_ostream &os) const {
  os << "type  batch    m    n    k   measured us   by the file   of it\n";
  for (const Point &point : points) {
    const ProductShape &shape = point.shape;
    double price =
        inSeconds(priceProduct(chip, point.type, shape, point.bytes).time);
    double seconds = point.experiment->seconds;
    os << llvm::formatv(
        "{0,-5}{1,6}{2,5}{3,5}{4,5}{5,14:F2}{6,14:F2}{7,8:F2}\n", point.type,
        shape.batch, shape.m, shape.n, shape.k, seconds * 1e6, price * 1e6,
        price / seconds);
  }
}
