// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Annotations as ops of their own: the value and its annotated copy both have
// users.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool makeAnnotation(ProgramBuilder &p) {
  auto a = p.pick([](const Known &) { return true; });
  if (!a)
    return false;
  Known annotated = p.annotate(*a);
  p.add(annotated.value, annotated.range);
  return true;
}

static bool makeStopGradient(ProgramBuilder &p) {
  auto a = p.pick([](const Known &) { return true; });
  if (!a)
    return false;
  p.add(StopGradientOp::create(p.builder, p.loc, a->type(), a->value),
        a->range);
  return true;
}

void shoal::fuzz::addAnnotationsGenerators(Generators &generators) {
  generators.add("stop_gradient", makeStopGradient, 5);
  generators.add("annotation", makeAnnotation, 25);
}
