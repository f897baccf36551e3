// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/ProgramBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"
#include <numeric>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

Program Program::clone() const {
  Program copy;
  copy.module = ModuleOp(module.get()).clone();
  copy.entry =
      copy.module->lookupSymbol<func::FuncOp>(func::FuncOp(entry).getName());
  copy.arguments = arguments;
  copy.results = results;
  return copy;
}

Bounds shoal::fuzz::inputBounds(Type element) {
  return roundedAlike({isa<FloatType>(element) ? 3.0 : 8.0, 0, 0}, element);
}

ProgramBuilder::ProgramBuilder(MLIRContext &context, Choices &choices,
                               const ProgramKind &kind)
    : choices(choices), builder(&context), loc(builder.getUnknownLoc()),
      isDifferentiable(kind.isDifferentiable), isLarge(kind.isLarge),
      module(ModuleOp::create(loc)) {
  Choices::Scope scope(choices);
  addMesh(kind.devices);
  builder.setInsertionPointToEnd(module->getBody());
  entry = func::FuncOp::create(builder, loc, "main",
                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(entry.addEntryBlock());
  // Few sizes, so that shapes meet.
  addSizes();
  if (isLarge)
    addLargeSizes();
}

void ProgramBuilder::addSizes() {
  static constexpr int64_t choosable[] = {2, 1, 3, 4, 5, 6,  7,  8,
                                          2, 3, 9, 4, 6, 10, 12, 15};
  for (int i = 0; i < 4; ++i)
    sizes.push_back(choices.pick(choosable));
  if (choices.chance(3))
    sizes.back() = 0;
}

/// Some sizes become those beside powers of two, which thresholds mostly are,
/// and some that have few divisors. How many elements a value may have is drawn
/// for the whole program: what is long in one dimension is short in others.
void ProgramBuilder::addLargeSizes() {
  static constexpr int64_t edges[] = {
      64,  16,  32,  128, 256, 17,  31,  33,  48,   63,   65,   96,   127,
      129, 200, 255, 257, 384, 512, 513, 700, 1000, 1024, 1025, 2048, 4096};
  static constexpr int bits[] = {16, 12, 14, 18, 18, 18, 19, 20};
  maxElements = int64_t(1) << (choices.chance(3) ? 22 : choices.pick(bits));
  maxPoints = int64_t(1) << 26;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i == 0 || choices.chance(40))
      sizes[i] = choices.pick(edges);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Of a shape that may be far too large; exact where it is not.
static double countElements(ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t size : shape)
    elements *= static_cast<double>(size);
  return elements;
}

bool ProgramBuilder::fits(ArrayRef<int64_t> shape) const {
  return shape.size() <= 5 &&
         countElements(shape) <= static_cast<double>(maxElements);
}

SmallVector<int64_t> ProgramBuilder::shape(int64_t minRank, int64_t maxRank) {
  SmallVector<int64_t> shape;
  for (int64_t rank = choices.between(minRank, maxRank); rank > 0; --rank)
    shape.push_back(size());
  // Few edges together are as much as a value may have.
  if (isLarge && !shape.empty() && choices.chance(60)) {
    int64_t &grown = shape[choices.below(shape.size())];
    grown = 1;
    double others = std::max(countElements(shape), 1.0);
    auto most = static_cast<int64_t>(static_cast<double>(maxElements) / others);
    grown = std::max<int64_t>(most, 3) - choices.below(3);
  }
  while (!fits(shape)) {
    int64_t &most = *llvm::max_element(shape);
    most = isLarge ? most / 2 : 1;
  }
  return shape;
}

Type ProgramBuilder::floatType() {
  switch (choices.below(8)) {
  case 5:
    return builder.getF64Type();
  case 6:
    return builder.getBF16Type();
  case 7:
    return builder.getF16Type();
  default:
    return builder.getF32Type();
  }
}

Type ProgramBuilder::integerType() {
  static constexpr unsigned widths[] = {32, 32, 32, 64, 64, 16, 8};
  return builder.getIntegerType(choices.pick(widths));
}

Type ProgramBuilder::elementType() {
  unsigned kind = choices.below(10);
  return kind == 9  ? builder.getI1Type()
         : kind > 6 ? integerType()
         : choices.chance(12)
             ? choices.chance(50)
                   ? Type(Float8E5M2Type::get(builder.getContext()))
                   : Float8E4M3FNType::get(builder.getContext())
             : floatType();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Known ProgramBuilder::input(RankedTensorType type) {
  if (!manualAxes.empty()) {
    values.push_back(constant(type, choices.below(4)));
    return values.back();
  }
  Value value = entry.front().addArgument(type, loc);
  arguments.push_back(inputBounds(type.getElementType()));
  Known known{value, arguments.back()};
  values.push_back(known);
  return known;
}

Known ProgramBuilder::constant(RankedTensorType type, double value) {
  Type element = type.getElementType();
  TypedAttr splat =
      isa<FloatType>(element)
          ? TypedAttr(builder.getFloatAttr(element, value))
          : builder.getIntegerAttr(element, static_cast<int64_t>(value));
  Value made = arith::ConstantOp::create(builder, loc,
                                         SplatElementsAttr::get(type, splat));
  return {made, roundedAlike({std::abs(value), -8, 0}, element)};
}

std::optional<Known>
ProgramBuilder::pick(function_ref<bool(const Known &)> suits) {
  SmallVector<Known> suitable;
  for (const Known &known :
       llvm::reverse(ArrayRef(values).drop_front(firstKnown)))
    // An operand that is too large for the op it was made for stays alone.
    if (fits(known.shape()) && suits(known))
      suitable.push_back(known);
  if (suitable.empty())
    return std::nullopt;
  // Of two draws the smaller one: long chains find more than wide programs.
  size_t last = suitable.size() - 1;
  return suitable[std::min(choices.below(last + 1), choices.below(last + 1))];
}

Known ProgramBuilder::pickOr(function_ref<bool(const Known &)> suits,
                             function_ref<RankedTensorType()> makeType) {
  if (!choices.chance(15))
    if (std::optional<Known> known = pick(suits))
      return *known;
  return input(makeType());
}

Known ProgramBuilder::anyValue(int64_t minRank) {
  return pickOr([&](const Known &k) { return k.type().getRank() >= minRank; },
                [&] { return tensor(shape(minRank, 4), elementType()); });
}

SmallVector<Known> ProgramBuilder::anyValues() {
  SmallVector<Known> found;
  for (unsigned i = 1 + choices.below(3); i > 0; --i)
    if (auto known = pick([](const Known &) { return true; }))
      found.push_back(*known);
  return found;
}

bool ProgramBuilder::addIdentity(StringRef name, ArrayRef<Known> operands,
                                 ArrayRef<NamedAttribute> attributes) {
  if (operands.empty())
    return false;
  auto values = llvm::map_to_vector(operands, [](auto &k) { return k.value; });
  Operation *made = op(name, values, ValueRange(values).getTypes(), attributes);
  for (auto [result, operand] : llvm::zip_equal(made->getResults(), operands))
    add(result, operand.range);
  return true;
}

std::optional<Known> ProgramBuilder::pickFloat(int64_t minRank) {
  return pickOr(
      [&](const Known &known) {
        return known.isFloat() && known.canBeSummed() &&
               known.type().getRank() >= minRank;
      },
      [&] { return tensor(shape(minRank, 3), floatType()); });
}

Known ProgramBuilder::pickOfType(RankedTensorType type,
                                 function_ref<bool(Bounds)> suits) {
  return pickOr(
      [&](const Known &known) {
        return known.type() == type && (!suits || suits(known.range));
      },
      [&] { return type; });
}

Operation *
ProgramBuilder::op(StringRef name, ValueRange operands, TypeRange results,
                   ArrayRef<NamedAttribute> attributes,
                   MutableArrayRef<std::unique_ptr<Region>> regions) {
  OperationState state(loc, name);
  for (std::unique_ptr<Region> &region : regions)
    state.addRegion(std::move(region));
  state.addOperands(operands);
  state.addTypes(results);
  state.addAttributes(attributes);
  return builder.create(state);
}

void ProgramBuilder::add(Value value, Bounds range) {
  Known known{value, range};
  values.push_back(choices.chance(20) ? annotate(known) : known);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

std::unique_ptr<Region>
ProgramBuilder::region(TypeRange types, function_ref<void(ValueRange)> make,
                       bool isIsolated) {
  auto region = std::make_unique<Region>();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region.get(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  size_t numOutside = values.size();
  llvm::SaveAndRestore first(firstKnown, isIsolated ? numOutside : firstKnown);
  ++numRegions;
  make(block->getArguments());
  --numRegions;
  // Arguments of the program stay.
  auto isInside = [&](const Known &known) {
    auto argument = dyn_cast<BlockArgument>(known.value);
    return !argument || argument.getOwner() != &entry.front();
  };
  values.erase(
      std::remove_if(values.begin() + numOutside, values.end(), isInside),
      values.end());
  return region;
}

void ProgramBuilder::addOps(unsigned most) {
  for (unsigned i = choices.below(most + 1); i > 0; --i) {
    Choices::Scope scope(choices);
    addRandomOp(*this);
  }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// Operands that a generator made before it found that the op does not suit.
void ProgramBuilder::dropTooLarge() {
  for (unsigned i = entry.front().getNumArguments(); i-- > 0;) {
    Value argument = entry.front().getArgument(i);
    auto isArgument = [&](const Known &known) {
      return known.value == argument;
    };
    if (!argument.use_empty() ||
        fits(cast<ShapedType>(argument.getType()).getShape()))
      continue;
    llvm::erase_if(values, isArgument);
    entry.front().eraseArgument(i);
    arguments.erase(arguments.begin() + i);
  }
}

Program ProgramBuilder::finish() && {
  Choices::Scope scope(choices);
  dropTooLarge();
  if (values.empty())
    input(tensor({2}, builder.getF32Type()));
  Program program;
  SmallVector<Value> returned;
  // What no op uses, so that nothing is computed in vain.
  for (const Known &known : values)
    if (known.value.use_empty() || choices.chance(5)) {
      returned.push_back(known.value);
      program.results.push_back(known.range);
    }
  func::ReturnOp::create(builder, loc, returned);
  entry.setFunctionType(builder.getFunctionType(
      entry.front().getArgumentTypes(), ValueRange(returned).getTypes()));
  for (BlockArgument argument : entry.getArguments())
    if (choices.chance(35))
      entry.setArgAttr(
          argument.getArgNumber(), kShardingAttr,
          randomSharding(cast<ShapedType>(argument.getType()).getShape()));
  for (auto [i, value] : llvm::enumerate(returned))
    if (choices.chance(35))
      entry.setResultAttr(
          i, kShardingAttr,
          randomSharding(cast<ShapedType>(value.getType()).getShape()));
  program.module = std::move(module);
  program.entry = entry;
  program.arguments = std::move(arguments);
  return program;
}
