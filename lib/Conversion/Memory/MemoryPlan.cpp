// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Conversion/Memory/MemoryPlan.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shoal;

static constexpr StringLiteral kSteps = "steps";
static constexpr StringLiteral kBuffers = "buffers";
static constexpr StringLiteral kHeld = "held";
/// Behind the numbers and the type of a buffer in the results' memory.
static constexpr StringLiteral kResults = "results";

static Attribute toAttribute(const MemoryPlan::Held &held, Builder &builder) {
  SmallVector<Attribute> readers(held.readers.begin(), held.readers.end());
  return builder.getArrayAttr(
      {builder.getDenseI64ArrayAttr({held.buffer, held.isIdle, held.isLast}),
       held.maker, builder.getArrayAttr(readers)});
}

static MemoryPlan::Held toHeld(ArrayAttr parts) {
  ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(parts[0]).asArrayRef();
  MemoryPlan::Held held{numbers[0], cast<LocationAttr>(parts[1]),
                        numbers[1] != 0, numbers[2] != 0, /*readers=*/{}};
  for (Attribute reader : cast<ArrayAttr>(parts[2]))
    held.readers.push_back(cast<LocationAttr>(reader));
  return held;
}

DictionaryAttr shoal::toAttribute(const MemoryPlan &plan,
                                  MLIRContext *context) {
  Builder builder(context);
  SmallVector<Attribute> steps, buffers, held;
  for (Location step : plan.steps)
    steps.push_back(step);
  for (const MemoryPlan::Buffer &buffer : plan.buffers) {
    SmallVector<Attribute> parts = {
        builder.getDenseI64ArrayAttr(
            {buffer.offset, buffer.bytes, buffer.first, buffer.last}),
        TypeAttr::get(buffer.type)};
    if (buffer.inResults)
      parts.push_back(builder.getStringAttr(kResults));
    buffers.push_back(builder.getArrayAttr(parts));
  }
  for (const MemoryPlan::Held &entry : plan.held)
    held.push_back(::toAttribute(entry, builder));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(kSteps, builder.getArrayAttr(steps)),
       builder.getNamedAttr(kBuffers, builder.getArrayAttr(buffers)),
       builder.getNamedAttr(kHeld, builder.getArrayAttr(held))});
}

MemoryPlan shoal::toMemoryPlan(DictionaryAttr attr) {
  MemoryPlan plan;
  for (Attribute step : attr.getAs<ArrayAttr>(kSteps))
    plan.steps.push_back(cast<LocationAttr>(step));
  for (Attribute entry : attr.getAs<ArrayAttr>(kBuffers)) {
    auto parts = cast<ArrayAttr>(entry);
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(parts[0]).asArrayRef();
    plan.buffers.push_back({numbers[0], numbers[1], numbers[2], numbers[3],
                            cast<TypeAttr>(parts[1]).getValue(),
                            /*inResults=*/parts.size() > 2});
  }
  if (auto held = attr.getAs<ArrayAttr>(kHeld))
    for (Attribute entry : held)
      plan.held.push_back(toHeld(cast<ArrayAttr>(entry)));
  return plan;
}
