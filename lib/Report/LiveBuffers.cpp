// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Report/LiveBuffers.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace shoal;

/// Ops of a value that is computed again, at most.
static constexpr unsigned kMaxRepeated = 16;
/// A value whose products are more of the program's operations than one in so
/// many is not worth them.
static constexpr double kLeastOfProgram = 4;
/// Less of the peak than one part in so many is not worth other numbers.
static constexpr int64_t kLeastHalf = 64;
/// Sources that are named.
static constexpr size_t kMaxNamed = 3;

StringRef shoal::toString(Replacement replacement) {
  switch (replacement) {
  case Replacement::Copy:
    return "copy";
  case Replacement::Donated:
    return "donated";
  case Replacement::Gathered:
    return "gathered";
  case Replacement::Packed:
    return "packed";
  case Replacement::Repeated:
    return "repeated";
  case Replacement::Split:
    return "split";
  case Replacement::RepeatedProducts:
    return "repeated_products";
  case Replacement::Half:
    return "half";
  case Replacement::Nothing:
    return "nothing";
  }
  llvm_unreachable("no other");
}

/// "m.mlir:33" of "/path/m.mlir:33:8".
static StringRef shorten(StringRef place) {
  place = place.substr(place.rfind('/') + 1);
  return place.rsplit(':').first;
}

static std::string describe(const OpFacts &op) {
  std::string place = op.place.empty() ? "" : " at " + shorten(op.place).str();
  return op.name + place;
}

namespace {

/// How a value is computed from what is held anyway.
struct Recipe {
  double cost = 0;
  bool hasProducts = false;
  llvm::SetVector<int64_t> ops, sources;
};

/// What one buffer could be replaced by.
class Adviser {
public:
  Adviser(const ProgramFacts &facts, const LoweredProgram &program,
          const MemoryPlan::Held &held);

  LiveBuffer run();

private:
  bool tryCopy();
  bool tryDonation();
  bool tryGather();
  bool tryPacking();
  bool tryRepeating(bool products);
  bool trySplit();
  bool tryHalf();
  void tellReaders();

  /// The value where it is known: the one result of its size.
  void findValue();
  const TensorDescription *findOutput() const;
  bool suits(const TensorDescription &input, int64_t number) const;
  /// Whether the value is there as long as this buffer is.
  bool isHeld(int64_t value) const;
  bool collect(int64_t value, Recipe &recipe) const;
  std::string nameOf(int64_t value) const;
  bool suggest(Replacement replacement, int64_t savedBytes, std::string text);

  const ProgramFacts &facts;
  const LoweredProgram &program;
  const MemoryPlan::Held &held;
  const MemoryPlan::Buffer &buffer;
  const OpFacts *op = nullptr;
  std::optional<int64_t> value;
  const TensorDescription *output;
  LiveBuffer result;
};

} // namespace

/// The number and facts of the op that the location is of.
static std::optional<int64_t> findOp(const ProgramFacts &facts, Location loc) {
  std::optional<int64_t> number = getNumberNote(loc);
  return number && facts.ops.count(*number) ? number : std::nullopt;
}

Adviser::Adviser(const ProgramFacts &facts, const LoweredProgram &program,
                 const MemoryPlan::Held &held)
    : facts(facts), program(program), held(held),
      buffer(program.memory.buffers[held.buffer]), output(findOutput()) {
  result.buffer = held.buffer;
  result.bytes = buffer.bytes;
  result.op = findOp(facts, held.maker);
  if (result.op) {
    op = &facts.ops.at(*result.op);
    result.made = describe(*op);
    findValue();
  }
}

/// Whether the buffer is of the value's type, in whatever shape.
static bool isIn(const ValueFacts &value, const MemoryPlan::Buffer &buffer) {
  return value.bytes == sizeInBytes(buffer.type) &&
         value.element == getElementTypeOrSelf(buffer.type);
}

void Adviser::findValue() {
  for (int64_t number : op->results)
    if (isIn(facts.values[number], buffer)) {
      if (value) {
        value.reset();
        return;
      }
      value = number;
    }
}

const TensorDescription *Adviser::findOutput() const {
  int64_t end = program.memory.steps.size() - 1;
  if (buffer.inResults && buffer.last == end)
    for (const TensorDescription &tensor : program.description.outputs)
      if (tensor.offset == buffer.offset &&
          sizeInBytes(tensor.localType) == sizeInBytes(buffer.type))
        return &tensor;
  return nullptr;
}

std::string Adviser::nameOf(int64_t number) const {
  const ValueFacts &source = facts.values[number];
  if (source.input)
    return "input " + program.description.inputs[*source.input].name;
  return describe(facts.ops.at(*source.maker));
}

bool Adviser::suggest(Replacement replacement, int64_t savedBytes,
                      std::string text) {
  result.replacement = replacement;
  result.savedBytes = savedBytes;
  result.text = std::move(text);
  return true;
}

bool Adviser::isHeld(int64_t number) const {
  const ValueFacts &other = facts.values[number];
  if (other.input)
    return !program.description.inputs[*other.input].isDonated;
  return llvm::any_of(program.memory.held, [&](const MemoryPlan::Held &rival) {
    const MemoryPlan::Buffer &place = program.memory.buffers[rival.buffer];
    return rival.buffer != held.buffer && rival.isLast &&
           place.last >= buffer.last && other.maker &&
           findOp(facts, rival.maker) == other.maker && isIn(other, place);
  });
}

bool Adviser::tryCopy() {
  if (!value || !op->isCopy || output || !isHeld(op->operands.front()))
    return false;
  return suggest(Replacement::Copy, buffer.bytes,
                 "read where " + nameOf(op->operands.front()) +
                     " is: the same elements");
}

/// Whether an output made by `op` may lie there, were it donated.
bool Adviser::suits(const TensorDescription &input, int64_t number) const {
  return !input.isDonated && input.localType == output->localType &&
         input.sharding == output->sharding &&
         facts.lastReaders[number] < *result.op;
}

bool Adviser::tryDonation() {
  if (!output || !value || !held.isLast)
    return false;
  for (auto [number, input] : llvm::enumerate(program.description.inputs))
    if (suits(input, number))
      return suggest(Replacement::Donated, buffer.bytes,
                     "made in the memory of input " + input.name +
                         ", were that donated");
  return false;
}

bool Adviser::tryGather() {
  bool isForProducts =
      !held.readers.empty() && llvm::all_of(held.readers, [&](Location reader) {
        std::optional<int64_t> number = findOp(facts, reader);
        return number && facts.ops.at(*number).isProduct;
      });
  if (!value || op->gathered <= 1 || !isForProducts)
    return false;
  return suggest(
      Replacement::Gathered, buffer.bytes - buffer.bytes / op->gathered,
      llvm::formatv("gathered in {0} parts, one after the other, by the {1}",
                    op->gathered,
                    held.readers.size() == 1 ? "product that reads it"
                                             : "products that read it"));
}

bool Adviser::tryPacking() {
  if (!op || !op->isProduct || value)
    return false;
  for (const ProductCall &product : program.description.products)
    if (findOp(facts, product.location) == result.op &&
        StringRef(product.plan).contains("pack "))
      return suggest(Replacement::Packed, buffer.bytes,
                     "no copy, were the operands and the result of the product "
                     "in an order that the library takes");
  return false;
}

bool Adviser::collect(int64_t number, Recipe &recipe) const {
  if (number != *value && isHeld(number)) {
    recipe.sources.insert(number);
    return true;
  }
  const ValueFacts &made = facts.values[number];
  if (!made.maker || made.bytes > facts.values[*value].bytes)
    return false;
  if (!recipe.ops.insert(*made.maker))
    return true;
  const OpFacts &maker = facts.ops.at(*made.maker);
  if (!maker.mayRepeat || maker.isInner || recipe.ops.size() > kMaxRepeated)
    return false;
  if (!maker.operands.empty())
    recipe.cost += maker.cost;
  recipe.hasProducts |= maker.isProduct;
  return llvm::all_of(maker.operands, [&](int64_t operand) {
    return collect(operand, recipe);
  });
}

bool Adviser::tryRepeating(bool products) {
  Recipe recipe;
  double all = program.description.arithmetic.mostFlops;
  if (!value || output || !held.isIdle || held.readers.empty() ||
      !collect(*value, recipe) || recipe.hasProducts != products ||
      (products && recipe.cost * kLeastOfProgram > all))
    return false;
  std::string from;
  for (int64_t source : recipe.sources.getArrayRef().take_front(kMaxNamed))
    from += (from.empty() ? " from " : ", ") + nameOf(source);
  if (recipe.sources.size() > kMaxNamed)
    from += llvm::formatv(" and {0} more", recipe.sources.size() - kMaxNamed);
  std::string cost = llvm::formatv("{0:N} operations", int64_t(recipe.cost));
  if (products)
    cost +=
        llvm::formatv(", {0:F0} % of the program's", 100 * recipe.cost / all);
  return suggest(products ? Replacement::RepeatedProducts
                          : Replacement::Repeated,
                 buffer.bytes, "computed again" + from + ": " + cost);
}

bool Adviser::trySplit() {
  if (!value || facts.values[*value].spares.empty())
    return false;
  const auto &spares = facts.values[*value].spares;
  const ValueFacts::Spare &most = *llvm::max_element(
      spares, [](const auto &a, const auto &b) { return a.size < b.size; });
  return suggest(Replacement::Split, buffer.bytes - buffer.bytes / most.size,
                 llvm::formatv("split over \"{0}\", along which {1} devices "
                               "hold the same",
                               most.axis, most.size));
}

bool Adviser::tryHalf() {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(buffer.type));
  if (!element || element.getWidth() <= 16 ||
      buffer.bytes * kLeastHalf < program.peakBytes())
    return false;
  int64_t bits = element.getWidth();
  return suggest(Replacement::Half, buffer.bytes - buffer.bytes * 16 / bits,
                 llvm::formatv("bf16 instead of {0}", Type(element)));
}

void Adviser::tellReaders() {
  std::set<int64_t> readers;
  for (Location reader : held.readers)
    if (std::optional<int64_t> number = findOp(facts, reader))
      readers.insert(*number);
  bool isScratch = op && !value && readers.empty() &&
                   getElementTypeOrSelf(buffer.type).isInteger(8);
  std::string text = "nothing";
  if (isScratch)
    text += ": what the op needs while it runs";
  else if (output)
    text += ": an output";
  else if (readers.size() == 1)
    text += ": read by " + describe(facts.ops.at(*readers.begin()));
  else if (!readers.empty())
    text += llvm::formatv(": read by {0} ops until {1}", readers.size(),
                          describe(facts.ops.at(*readers.rbegin())));
  suggest(Replacement::Nothing, 0, text);
}

LiveBuffer Adviser::run() {
  if (!(tryCopy() || tryDonation() || tryGather() || tryPacking() ||
        tryRepeating(/*products=*/false) || trySplit() ||
        tryRepeating(/*products=*/true) || tryHalf()))
    tellReaders();
  return std::move(result);
}

std::vector<LiveBuffer>
shoal::describeLiveBuffers(const ProgramFacts &facts,
                           const LoweredProgram &program) {
  std::vector<LiveBuffer> buffers;
  for (const MemoryPlan::Held &held : program.memory.held)
    buffers.push_back(Adviser(facts, program, held).run());
  return buffers;
}
