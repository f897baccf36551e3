// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Propagation/PlanShardings.h"
#include "Copies.h"
#include "Extract.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Machine/Cluster.h"
#include "shoal/Sharding/MeshSearch.h"
#include "shoal/Sharding/ReshardPrices.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "shoal-plan"

using namespace mlir;
using namespace shoal;

/// Searches with fewer annotations.
static constexpr unsigned kMaxTrials = 10;

namespace {

/// A program's problem, and what its values are in the module. Ops that are
/// copied for their users are in a copy of the module alone.
struct Extracted {
  OwningOpRef<ModuleOp> scratch;
  ExtractedProblem problem;
  /// Of the copy's values, but for copies of ops.
  llvm::DenseMap<Value, Value> origins;

  /// The module's; null for none.
  Value originOf(unsigned value) const {
    return origins.lookup(problem.values[value]);
  }
};

class Planner {
public:
  Planner(ModuleOp module, const PlanOptions &options)
      : module(module), options(options) {
    assignment.pricePlans = true;
    assignment.reshardPrices = &reshardPrices;
    priceOn(*options.cluster, assignment);
  }
  FailureOr<PlannedShardings> run();

private:
  LogicalResult findFunction();
  LogicalResult verifyDevices(int64_t devices);
  FailureOr<SmallVector<Mesh>> listMeshes();
  FailureOr<Extracted> extract();
  void setMesh(const Mesh &mesh);
  void annotateArguments(const Extracted &extracted, const MeshPlan &plan);
  /// A program and what is found for it.
  struct Compiled {
    Extracted extracted;
    MeshPlan plan;
  };
  FailureOr<Compiled> compile(const Mesh &mesh, SearchEffort effort);
  using Annotations = std::vector<std::pair<Value, Sharding>>;
  FailureOr<Compiled> compileWith(const Annotations &annotations,
                                  const Mesh &mesh, SearchEffort effort);
  Annotations leaveOutWhatChangesNothing(Annotations kept, const Mesh &mesh,
                                         double enough);
  ShardingConstraintOp annotate(Value value, const Sharding &sharding,
                                const Mesh &mesh);
  FailureOr<unsigned> annotateValues(MeshPlan &best,
                                     const Extracted &extracted);
  LogicalResult emitTooLarge();

  ModuleOp module;
  const PlanOptions &options;
  /// Of all searches, most of which are of nearly the same program.
  ReshardPrices reshardPrices;
  AssignmentOptions assignment;
  func::FuncOp function;
  MeshOp meshOp;
  /// The program's own, over which its annotations hold.
  bool hasMesh = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is searched
//===----------------------------------------------------------------------===//

LogicalResult Planner::findFunction() {
  for (auto candidate : module.getOps<func::FuncOp>()) {
    if (!candidate.isPublic() || !isGlobalProgram(candidate))
      continue;
    if (function) {
      InFlightDiagnostic error =
          candidate.emitError("plan: expected one public function, but @")
          << candidate.getName() << " is one, too";
      error.attachNote(function.getLoc())
          << "the first is @" << function.getName();
      return error;
    }
    function = candidate;
  }
  if (!function)
    return module.emitError("plan: expected a public function of a program "
                            "that is not partitioned");
  return success();
}

LogicalResult Planner::verifyDevices(int64_t devices) {
  if (devices > options.cluster->devices())
    return module.emitError()
           << "plan: \"" << options.cluster->name << "\" has "
           << options.cluster->devices() << " devices, but " << devices
           << " are planned for";
  return success();
}

/// Whether the import has made it, as there was none.
static bool isOfOneDevice(MeshOp mesh) {
  ArrayRef<MeshAxisAttr> axes = mesh.getMesh().getAxes();
  return axes.size() == 1 && axes[0].getName() == "device" &&
         axes[0].getSize() == 1;
}

/// That of the program, or all that the options leave.
FailureOr<SmallVector<Mesh>> Planner::listMeshes() {
  auto meshes = module.getOps<MeshOp>();
  if (!meshes.empty())
    meshOp = *meshes.begin();
  hasMesh = meshOp && !isOfOneDevice(meshOp);
  if (hasMesh) {
    FailureOr<Mesh> mesh = collectMesh(module);
    if (failed(mesh) || failed(verifyDevices(mesh->numDevices())))
      return failure();
    if (options.devices > 0 && options.devices != mesh->numDevices())
      return meshOp.emitError()
             << "plan: mesh \"" << mesh->name << "\" has " << mesh->numDevices()
             << " devices, but " << options.devices << " are planned for";
    return SmallVector<Mesh>{*mesh};
  }
  if (options.devices < 1)
    return module.emitError()
           << "plan: the program has no mesh: expected a number of devices "
              "of at least 1 but got "
           << options.devices;
  if (failed(verifyDevices(options.devices)))
    return failure();
  std::vector<SmallVector<int64_t>> shapes =
      listMeshShapes(options.devices, options.maxAxes);
  if (!options.shape.empty()) {
    int64_t product = 1;
    for (int64_t size : options.shape)
      product *= size;
    if (product != options.devices)
      return module.emitError() << "plan: the mesh's axes have " << product
                                << " devices together, but " << options.devices
                                << " are planned for";
    shapes = {options.shape};
  }
  return llvm::map_to_vector(
      shapes, [](ArrayRef<int64_t> shape) { return meshOfShape(shape); });
}

FailureOr<Extracted> Planner::extract() {
  Extracted extracted;
  IRMapping mapping;
  extracted.scratch = cast<ModuleOp>(module->clone(mapping));
  for (auto [value, copy] : mapping.getValueMap())
    extracted.origins[copy] = value;
  auto copy = extracted.scratch->lookupSymbol<func::FuncOp>(function.getName());
  Copies copies(copy);
  FailureOr<Mesh> mesh = collectMesh(*extracted.scratch);
  if (failed(mesh))
    return failure();
  OneHotCosts costs;
  if (!options.denseOneHots)
    costs = priceOneHots(copy, options.oneHotGain, machineOf(options.machine));
  FailureOr<ExtractedProblem> problem = extractProblem(copy, *mesh, costs);
  if (failed(problem))
    return failure();
  extracted.problem = std::move(*problem);
  return extracted;
}

//===----------------------------------------------------------------------===//
// What is written
//===----------------------------------------------------------------------===//

void Planner::setMesh(const Mesh &mesh) {
  MLIRContext *context = module.getContext();
  SmallVector<MeshAxisAttr> axes;
  for (const MeshAxis &axis : mesh.axes)
    axes.push_back(MeshAxisAttr::get(context, axis.name, axis.size));
  auto attr = MeshAttr::get(context, axes, {});
  if (meshOp)
    return meshOp.setMeshAttr(attr);
  std::string name = mesh.name;
  for (unsigned i = 0; module.lookupSymbol(name); ++i)
    name = mesh.name + std::to_string(i);
  OpBuilder builder(module.getBodyRegion());
  meshOp = MeshOp::create(builder, module.getLoc(), name, attr);
}

void Planner::annotateArguments(const Extracted &extracted,
                                const MeshPlan &plan) {
  for (auto [op, origin] :
       llvm::zip_equal(extracted.problem.problem.ops, extracted.problem.ops))
    if (origin.isArgument() &&
        !function.getArgAttr(origin.index, kShardingAttr))
      function.setArgAttr(
          origin.index, kShardingAttr,
          toAttr(plan.assignment.values[op.results[0]][0].sharding, plan.mesh,
                 FlatSymbolRefAttr::get(meshOp.getSymNameAttr())));
}

/// What a compilation finds from what is annotated; with less effort nearly
/// nothing that it does not find.
FailureOr<Planner::Compiled> Planner::compile(const Mesh &mesh,
                                              SearchEffort effort) {
  FailureOr<Extracted> extracted = extract();
  if (failed(extracted))
    return failure();
  const AssignmentProblem &problem = extracted->problem.problem;
  MeshPlan plan;
  plan.mesh = mesh;
  AssignmentOptions search = assignment;
  search.effort = effort;
  plan.assignment = assignShardings(problem, search);
  plan.cost = plan.assignment.cost.total();
  plan.heldBytes = heldBytes(problem, plan.assignment);
  LDBG() << "from annotations: " << plan.cost;
  return Compiled{std::move(*extracted), std::move(plan)};
}

/// Of the module's values, but for those that depend on no argument, which are
/// made wherever they are needed, and addends.
static llvm::MapVector<Value, Sharding> layoutsOf(const Extracted &extracted,
                                                  const Assignment &found) {
  const AssignmentProblem &problem = extracted.problem.problem;
  std::vector<bool> depends(problem.values.size());
  llvm::MapVector<Value, Sharding> layouts;
  for (auto [op, origin] : llvm::zip_equal(problem.ops, extracted.problem.ops))
    for (unsigned value : op.results) {
      depends[value] = origin.isArgument() ||
                       llvm::any_of(op.operands, [&](unsigned operand) {
                         return depends[operand];
                       });
      const Sharding &made = found.values[value][0].sharding;
      Value own = extracted.originOf(value);
      if (own && depends[value] && !origin.isArgument() && made.partial.empty())
        layouts[own] = made;
    }
  return layouts;
}

ShardingConstraintOp Planner::annotate(Value value, const Sharding &sharding,
                                       const Mesh &mesh) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfterValue(value);
  auto constraint = ShardingConstraintOp::create(
      builder, value.getLoc(), value.getType(), value,
      toAttr(sharding, mesh, FlatSymbolRefAttr::get(meshOp.getSymNameAttr())),
      /*hint=*/false);
  value.replaceAllUsesExcept(constraint, constraint);
  return constraint;
}

static void erase(ShardingConstraintOp annotation) {
  annotation.replaceAllUsesWith(annotation.getInput());
  annotation.erase();
}

FailureOr<Planner::Compiled>
Planner::compileWith(const Annotations &annotations, const Mesh &mesh,
                     SearchEffort effort) {
  SmallVector<ShardingConstraintOp> made;
  for (auto &[value, sharding] : annotations)
    made.push_back(annotate(value, sharding, mesh));
  FailureOr<Compiled> compiled = compile(mesh, effort);
  llvm::for_each(made, erase);
  return compiled;
}

/// Quick searches tell what can go: full ones find it, too.
Planner::Annotations Planner::leaveOutWhatChangesNothing(Annotations kept,
                                                         const Mesh &mesh,
                                                         double enough) {
  FailureOr<Compiled> all = compileWith(kept, mesh, SearchEffort::Quick);
  if (failed(all))
    return kept;
  enough = std::max(enough, all->plan.cost);
  unsigned trials = 0;
  // Without any it was compiled before.
  for (size_t size = kept.size() / 2; size > 0; size /= 2)
    for (size_t begin = 0; begin < kept.size() && trials < kMaxTrials;) {
      Annotations fewer = kept;
      auto first = fewer.begin() + begin;
      fewer.erase(first, first + std::min(size, fewer.size() - begin));
      ++trials;
      FailureOr<Compiled> other = compileWith(fewer, mesh, SearchEffort::Quick);
      if (succeeded(other) && other->plan.cost <= enough)
        kept = std::move(fewer);
      else
        begin += size;
    }
  return kept;
}

/// Annotates what lies otherwise where a compilation does not find the plan;
/// then takes away what changes nothing, half of the annotations at a time,
/// then a quarter (Zeller and Hildebrandt, "Simplifying and isolating
/// failure-inducing input", 2002). `best` becomes what is compiled in the end.
/// How many were annotated.
FailureOr<unsigned> Planner::annotateValues(MeshPlan &best,
                                            const Extracted &extracted) {
  const double enough = best.cost * (1 + kSameCost);
  FailureOr<Compiled> compiled = compile(best.mesh, assignment.effort);
  if (failed(compiled))
    return failure();
  Annotations kept;
  if (compiled->plan.cost > enough) {
    auto found = layoutsOf(compiled->extracted, compiled->plan.assignment);
    for (auto &[value, sharding] : layoutsOf(extracted, best.assignment))
      if (auto *other = found.find(value);
          other == found.end() || other->second != sharding)
        kept.emplace_back(value, sharding);
    kept = leaveOutWhatChangesNothing(std::move(kept), best.mesh, enough);
    compiled = compileWith(kept, best.mesh, assignment.effort);
    if (failed(compiled))
      return failure();
  }
  for (auto &[value, sharding] : kept)
    annotate(value, sharding, best.mesh);
  compiled->plan.leastCost = best.leastCost;
  best = std::move(compiled->plan);
  return kept.size();
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

/// Shards of each dimension.
static SmallVector<int64_t> shardsOf(const Sharding &sharding,
                                     const Mesh &mesh) {
  return llvm::map_to_vector(
      sharding.dims, [&](const AxisList &axes) { return mesh.sizeOf(axes); });
}

/// "4 x 1 x 1", or "whole".
static std::string textOf(ArrayRef<int64_t> shards) {
  if (llvm::all_of(shards, [](int64_t count) { return count == 1; }))
    return "whole";
  return "cut " + llvm::join(llvm::map_range(shards,
                                             [](int64_t count) {
                                               return std::to_string(count);
                                             }),
                             " x ");
}

static std::string differenceOf(const MeshPlan &plan, const MeshPlan &best,
                                const ExtractedProblem &extracted) {
  for (auto [id, op] : llvm::enumerate(extracted.problem.ops))
    for (unsigned value : op.results) {
      const Sharding &own = plan.assignment.values[value][0].sharding;
      const Sharding &other = best.assignment.values[value][0].sharding;
      SmallVector<int64_t> cuts = shardsOf(own, plan.mesh);
      SmallVector<int64_t> others = shardsOf(other, best.mesh);
      if (cuts == others)
        continue;
      std::string what = extracted.describe(id);
      return llvm::formatv("{0} is {1}, not {2}",
                           StringRef(what).split(" at ").first, textOf(cuts),
                           textOf(others));
    }
  return "";
}

/// With a note at the largest argument.
LogicalResult Planner::emitTooLarge() {
  InFlightDiagnostic error =
      function.emitError("plan: no shardings of arguments and results were "
                         "found that fit ")
      << llvm::formatv("{0:N} bytes of a device", *options.memory).str();
  BlockArgument largest;
  for (BlockArgument argument : function.getArguments())
    if (!largest || tensorBytes(argument) > tensorBytes(largest))
      largest = argument;
  if (largest)
    error.attachNote(largest.getLoc())
        << describeArgument(function, largest.getArgNumber())
        << llvm::formatv(" is the largest, of {0:N} bytes",
                         tensorBytes(largest))
               .str();
  return error;
}

static ShardingPlan describe(const MeshPlan &plan) {
  ShardingPlan described{plan.mesh, plan.cost * 1e-9, std::nullopt,
                         int64_t(plan.heldBytes), ""};
  if (plan.leastCost)
    described.leastSeconds = *plan.leastCost * 1e-9;
  return described;
}

FailureOr<PlannedShardings> Planner::run() {
  if (failed(findFunction()))
    return failure();
  FailureOr<SmallVector<Mesh>> meshes = listMeshes();
  if (failed(meshes))
    return failure();
  if (!hasMesh)
    setMesh((*meshes)[0]);
  FailureOr<Extracted> extracted = extract();
  if (failed(extracted))
    return failure();
  MeshSearchOptions search;
  search.assignment = assignment;
  if (options.memory)
    search.memory = *options.memory;
  std::vector<MeshPlan> found =
      searchMeshes(extracted->problem.problem, *meshes, search);
  if (found.empty())
    return emitTooLarge();
  PlannedShardings planned;
  for (const MeshPlan &plan : found) {
    planned.plans.push_back(describe(plan));
    if (&plan != &found[0])
      planned.plans.back().difference =
          differenceOf(plan, found[0], extracted->problem);
  }
  if (!hasMesh)
    setMesh(found[0].mesh);
  annotateArguments(*extracted, found[0]);
  FailureOr<unsigned> count = annotateValues(found[0], *extracted);
  if (failed(count))
    return failure();
  planned.numValues = *count;
  planned.plans[0] = describe(found[0]);
  return planned;
}

FailureOr<PlannedShardings> shoal::planShardings(ModuleOp module,
                                                 const PlanOptions &options) {
  return Planner(module, options).run();
}
