// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-rematerialize.

#include "shoal/Transforms/Rematerialize/Passes.h"
#include "shoal/Transforms/Rematerialize/Rematerialize.h"
#include "llvm/Support/FormatVariadic.h"

namespace shoal {
#define GEN_PASS_DEF_REMATERIALIZE
#include "shoal/Transforms/Rematerialize/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

FailureOr<RematerializeSettings>
shoal::readRematerializeSettings(StringRef policy, StringRef collectives,
                                 StringRef limit, MachineKind machine,
                                 Location loc) {
  RematerializeSettings settings;
  settings.machine = machine;
  if (!policy.empty()) {
    auto parsed = RematerializePolicy::parse(policy);
    if (!parsed)
      return emitError(loc) << "policy of rematerialisation: expected "
                            << RematerializePolicy::kExpected << ", but got \""
                            << policy << '"';
    settings.policy = std::move(*parsed);
  }
  if (!collectives.empty()) {
    auto parsed = RematerializePolicy::parseCollectives(collectives);
    if (!parsed)
      return emitError(loc) << "collectives of rematerialisation: expected "
                            << RematerializePolicy::kExpectedCollectives
                            << ", but got \"" << collectives << '"';
    settings.policy.collectives = *parsed;
  }
  if (!limit.empty()) {
    settings.limit = parseBytes(limit);
    if (!settings.limit)
      return emitError(loc) << "memory limit: expected bytes, as 12GiB, but "
                               "got \""
                            << limit << '"';
  }
  return settings;
}

namespace {

struct Rematerialize : shoal::impl::RematerializeBase<Rematerialize> {
  using RematerializeBase::RematerializeBase;

  void runOnOperation() override {
    FailureOr<RematerializeSettings> settings = readRematerializeSettings(
        remat, rematCollectives, memoryLimit, machine, getOperation().getLoc());
    if (failed(settings))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          function.getBody().hasOneBlock() && failed(run(function, *settings)))
        return signalPassFailure();
  }

  LogicalResult run(func::FuncOp function,
                    const RematerializeSettings &settings) {
    if (failed(checkPolicies(function, settings)))
      return failure();
    Rematerialized outcome = rematerialize(function, settings);
    if (auto lines = function->getAttrOfType<ArrayAttr>(kRematerializedAttr);
        explain && lines)
      for (auto line : lines.getAsRange<StringAttr>())
        function.emitRemark() << line.getValue();
    if (outcome.fits)
      return success();
    InFlightDiagnostic error =
        function.emitError()
        << llvm::formatv("a device is to hold {0:N} bytes, but the least that "
                         "was found is {1:N}, by an estimate",
                         *settings.limit, outcome.estimatedBytes)
               .str();
    attachLargest(error, outcome);
    return error;
  }
};

} // namespace
