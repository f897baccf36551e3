// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Plan.h"
#include "Outputs.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Simulation/Simulate.h"
#include "shoal/Transforms/Pipelines.h"
#include "shoal/Transforms/Propagation/PlanShardings.h"
#include "shoal/Transforms/Rematerialize/Rematerialize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// What is asked
//===----------------------------------------------------------------------===//

/// "2x8": sizes of axes.
static FailureOr<SmallVector<int64_t>> parseShape(StringRef text,
                                                  Location loc) {
  SmallVector<int64_t> shape;
  for (StringRef size : llvm::split(text, 'x')) {
    int64_t number = 0;
    if (size.getAsInteger(10, number) || number < 1)
      return emitError(loc) << "fix-mesh: expected sizes of axes such as 2x8 "
                               "but got \""
                            << text << "\"";
    shape.push_back(number);
  }
  return shape;
}

static FailureOr<PlanOptions> readOptions(const DriverOptions &options,
                                          const Cluster &cluster,
                                          Location loc) {
  PlanOptions plan;
  plan.cluster = &cluster;
  plan.devices = options.plan.devices;
  plan.maxAxes = options.plan.maxAxes;
  if (plan.maxAxes < 1 || plan.maxAxes > 4)
    return emitError(loc) << "max-axes: expected 1 to 4 but got "
                          << plan.maxAxes;
  if (!options.plan.mesh.empty()) {
    FailureOr<SmallVector<int64_t>> shape = parseShape(options.plan.mesh, loc);
    if (failed(shape))
      return failure();
    plan.shape = std::move(*shape);
  }
  plan.memory = int64_t(cluster.chip.memory - cluster.chip.reserved);
  if (StringRef limit = options.partition.memoryLimit; !limit.empty()) {
    plan.memory = parseBytes(limit);
    if (!plan.memory)
      return emitError(loc) << "memory-limit: expected bytes such as 72GB but "
                               "got \""
                            << limit << "\"";
  }
  if (*plan.memory <= 0)
    plan.memory.reset();
  plan.machine =
      options.target == Target::CUDA ? MachineKind::GPU : MachineKind::CPU;
  plan.denseOneHots = options.partition.denseOneHots;
  plan.oneHotGain = options.partition.oneHotGain;
  return plan;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

static std::string textOf(const Mesh &mesh) {
  return llvm::join(
      llvm::map_range(
          mesh.axes,
          [](const MeshAxis &axis) {
            return llvm::formatv("\"{0}\" = {1}", axis.name, axis.size).str();
          }),
      ", ");
}

static std::string gigabytes(int64_t bytes) {
  return bytes < 10'000'000 ? llvm::formatv("{0:N} bytes", bytes).str()
                            : llvm::formatv("{0:f2} GB", bytes * 1e-9).str();
}

/// "none is faster", "at most 0.3 % from the fastest".
static std::string certificateOf(const ShardingPlan &plan) {
  if (!plan.leastSeconds)
    return "";
  double least = std::min(*plan.leastSeconds, plan.seconds);
  double gap = least > 0 ? plan.seconds / least - 1 : 0;
  if (gap < 1e-4)
    return "none over this mesh is faster";
  return llvm::formatv("none over this mesh is more than {0:f1} % faster",
                       100 * gap);
}

static void print(const PlannedShardings &planned, const Cluster &cluster,
                  llvm::raw_ostream &os) {
  constexpr size_t kMost = 5;
  int64_t devices = planned.plans[0].mesh.numDevices();
  os << llvm::formatv("plans for {0} devices of {1}: seconds of a step as the "
                      "search prices it, nothing\nbeside anything else; memory "
                      "of arguments and results on a device\n",
                      devices, cluster.name);
  for (auto [i, plan] :
       llvm::enumerate(ArrayRef(planned.plans).take_front(kMost))) {
    os << llvm::formatv("{0,2}  {1,-32} {2,10}  {3,16}\n", i + 1,
                        textOf(plan.mesh), timeText(plan.seconds),
                        gigabytes(plan.heldBytes));
    std::string more = i == 0 ? certificateOf(plan) : plan.difference;
    if (!more.empty())
      os << "    " << more << '\n';
  }
}

//===----------------------------------------------------------------------===//
// What is written
//===----------------------------------------------------------------------===//

static func::FuncOp findPublic(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      return function;
  return nullptr;
}

/// Mesh and shardings of arguments; false where the import has changed these.
static bool copyAnnotations(ModuleOp from, ModuleOp to) {
  func::FuncOp planned = findPublic(from), written = findPublic(to);
  if (planned.getArgumentTypes() != written.getArgumentTypes())
    return false;
  auto mesh = *from.getOps<MeshOp>().begin();
  if (to.getOps<MeshOp>().empty()) {
    if (to.lookupSymbol(mesh.getSymName()))
      return false;
    OpBuilder(to.getBodyRegion()).clone(*mesh);
  }
  for (unsigned i = 0; i < written.getNumArguments(); ++i)
    if (Attribute sharding = planned.getArgAttr(i, kShardingAttr))
      written.setArgAttr(i, kShardingAttr, sharding);
  return true;
}

LogicalResult shoal::planProgram(ModuleOp module,
                                 const DriverOptions &options) {
  MLIRContext &context = *module.getContext();
  // Of the command line.
  Location loc = UnknownLoc::get(&context);
  if (options.partition.machineFile.empty())
    return emitError(loc)
           << "plan: expected a machine to plan for: --machine=machine.toml";
  support::Result<Cluster> cluster = readCluster(options.partition.machineFile);
  if (!cluster)
    return emitError(loc) << "machine: " << cluster.error().message;
  FailureOr<PlanOptions> plan = readOptions(options, *cluster, loc);
  if (failed(plan))
    return failure();
  OwningOpRef<ModuleOp> imported = module.clone();
  PassManager passes(&context);
  buildImportPipeline(passes);
  if (failed(passes.run(*imported)))
    return failure();
  FailureOr<PlannedShardings> planned = planShardings(*imported, *plan);
  if (failed(planned))
    return failure();
  bool isText = options.outputPath == "-";
  print(*planned, *cluster, isText ? llvm::errs() : llvm::outs());
  if (options.outputPath.empty())
    return success();
  bool isAsWritten =
      planned->numValues == 0 && copyAnnotations(*imported, module);
  return writeFile(context, options.outputPath, [&](llvm::raw_ostream &os) {
    os << (isAsWritten ? module : *imported) << '\n';
  });
}
