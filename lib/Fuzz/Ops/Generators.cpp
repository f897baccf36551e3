// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"

using namespace mlir;
using namespace shoal::fuzz;

void Generators::add(StringRef name, Generator generator, unsigned weight) {
  entries.push_back({name, generator, weight});
  totalWeight += weight;
}

const Generators &Generators::all() {
  static const Generators instance = [] {
    Generators made;
#define SHOAL_FAMILY(name) add##name##Generators(made);
#include "Families.def"
    return made;
  }();
  return instance;
}

std::optional<Generators> Generators::filtered(ArrayRef<std::string> names,
                                               bool areWanted) const {
  Generators kept;
  size_t found = 0;
  for (const Entry &entry : entries) {
    bool isNamed = llvm::is_contained(names, entry.name);
    found += isNamed;
    if (isNamed == areWanted)
      kept.add(entry.name, entry.generator, entry.weight);
  }
  if (found != names.size())
    return std::nullopt;
  return kept;
}

std::optional<Generators>
Generators::without(ArrayRef<std::string> unwanted) const {
  return filtered(unwanted, /*areWanted=*/false);
}

std::optional<Generators> Generators::only(ArrayRef<std::string> wanted) const {
  return filtered(wanted, /*areWanted=*/true);
}

Generators Generators::ofKind(const ProgramKind &wanted) const {
  // Calls have no derivative, and differences know nothing of gradients that
  // stop, or of bits.
  static constexpr StringRef unwanted[] = {"shoal.custom_call", "stop_gradient",
                                           "bits of a float", "float of bits"};
  Generators kept;
  kept.kind = wanted;
  for (const Entry &entry : entries)
    if (!wanted.isDifferentiable || !llvm::is_contained(unwanted, entry.name))
      kept.add(entry.name, entry.generator, entry.weight);
  return kept;
}

const Generators::Entry &Generators::draw(Choices &choices) const {
  unsigned place = choices.below(totalWeight);
  for (const Entry &entry : entries) {
    if (place < entry.weight)
      return entry;
    place -= entry.weight;
  }
  return entries.back();
}

Program Generators::makeProgram(MLIRContext &context, Choices &choices) const {
  constexpr unsigned maxOps = 24;
  ProgramBuilder program(context, choices, kind);
  program.addRandomOp = [this](ProgramBuilder &p) {
    draw(p.choices).generator(p);
  };
  // Each op decides that it is there, so that the draws of one can go away and
  // leave those of the others as they are.
  for (unsigned made = 0; made < maxOps; ++made) {
    Choices::Scope scope(choices);
    if (choices.below(10) == 0)
      break;
    draw(choices).generator(program);
  }
  return std::move(program).finish();
}
