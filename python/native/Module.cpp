// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The module shoal._native: the compiler in a Python process.

#include "Compile.h"
#include "Machines.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Compiler/Cache.h"
#include "shoal/Support/RandomInputs.h"
#include <cstdio>
#include <cstdlib>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace shoal;
using namespace shoal::python;

/// The messages as shoal.errors.Diagnostic.
static nb::list toPython(const std::vector<Message> &messages) {
  nb::object type = nb::module_::import_("shoal.errors").attr("Diagnostic");
  nb::list list;
  for (const Message &message : messages)
    list.append(
        type(message.severity, message.location, message.text, message.name));
  return list;
}

/// Raises shoal.CompileError unless the call succeeded.
static void raiseOnFailure(const Outcome &outcome) {
  if (outcome.succeeded)
    return;
  nb::object type = nb::module_::import_("shoal.errors").attr("CompileError");
  PyErr_SetObject(type.ptr(), type(toPython(outcome.messages)).ptr());
  throw nb::python_error();
}

/// Calls Python's function at each stage, and lets a Ctrl-C end the compilation
/// there. The stages are announced by our own code, which may be unwound.
static OnStage listen(const nb::object &function) {
  return [&function](const std::string &stage) {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    if (!function.is_none())
      function(stage);
  };
}

/// Compiles without the interpreter's lock, so that other threads go on.
template <typename Call>
static Outcome runUnlocked(Call call) {
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = call();
  }
  // A Ctrl-C reaches the linker, too: it is not the linker's failure.
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
  raiseOnFailure(outcome);
  return outcome;
}

/// A property that stands in a member of DriverOptions.
template <auto Group, auto Member>
static void bindNested(nb::class_<DriverOptions> &options, const char *name) {
  using Value = std::remove_cvref_t<decltype(DriverOptions().*Group.*Member)>;
  options.def_prop_rw(
      name, [](const DriverOptions &self) { return self.*Group.*Member; },
      [](DriverOptions &self, Value value) {
        self.*Group.*Member = std::move(value);
      });
}

/// A property for each, and PARTITION_OPTIONS, the tuple of their names.
static void bindPartitionOptions(nb::module_ &m,
                                 nb::class_<DriverOptions> &options) {
  nb::list names;
  for (const PartitionOption &option : partitionOptions()) {
    std::string name = option.flag.str();
    llvm::replace(name, '-', '_');
    names.append(name);
    auto bind = [&](auto member) {
      using Value = std::remove_cvref_t<decltype(PartitionOptions().*member)>;
      options.def_prop_rw(
          name.c_str(),
          [member](const DriverOptions &self) {
            return self.partition.*member;
          },
          [member](DriverOptions &self, Value value) {
            self.partition.*member = std::move(value);
          },
          option.help.c_str());
    };
    std::visit(bind, option.member);
  }
  m.attr("PARTITION_OPTIONS") = nb::tuple(names);
}

static void bindOptions(nb::module_ &m) {
  nb::enum_<Target>(m, "Target", "What to compile for.")
      .value("cpu", Target::CPU)
      .value("cuda", Target::CUDA);
  constexpr auto files = &DriverOptions::files;
  nb::class_<DriverOptions> options(m, "Options", "shoalc's flags.");
  options.def(nb::init<>())
      .def_rw("target", &DriverOptions::target)
      .def_rw("entry", &DriverOptions::entry)
      .def_rw("verify_each", &DriverOptions::verifyEach,
              "Verifies a program behind each pass.")
      .def_rw("machine_path", &DriverOptions::machinePath,
              "The machine file of `simulate`.")
      .def_rw("cache_directory", &DriverOptions::cacheDirectory,
              "The folder of programs compiled before; \"\" for none.");
  bindPartitionOptions(m, options);
  bindNested<files, &TargetOptions::runtimeDirectory>(options,
                                                      "runtime_directory");
  bindNested<files, &TargetOptions::saveTempsDirectory>(options, "save_temps");
  bindNested<files, &TargetOptions::linkedFiles>(options, "link");
  bindNested<files, &TargetOptions::optLevel>(options, "opt_level");
  bindNested<&DriverOptions::cuda, &CUDAOptions::archs>(options, "cuda_arch");
  bindNested<&DriverOptions::cuda, &CUDAOptions::tf32>(options, "tf32");
  bindNested<&DriverOptions::cuda, &CUDAOptions::overlapMemory>(
      options, "overlap_memory");
  constexpr auto checks = &DriverOptions::checks;
  bindNested<checks, &CheckOptions::finite>(options, "check_finite");
  bindNested<checks, &CheckOptions::replicas>(options, "check_replicas");
}

static nb::object bindCompiled(nb::module_ &m) {
  return nb::class_<Outcome>(m, "Compiled", "What a compilation tells.")
      .def_ro("description", &Outcome::description,
              "JSON: signature, meshes, collectives.")
      .def_ro("statistics", &Outcome::statistics,
              "JSON: that of `shoalc --stats`.")
      .def_ro("report", &Outcome::report, "HTML, or \"\".")
      .def_ro("forecast", &Outcome::forecast,
              "JSON: of `simulate`, totals and rows.")
      .def_prop_ro("diagnostics", [](const Outcome &self) {
        return nb::tuple(toPython(self.messages));
      });
}

static void bindCache(nb::module_ &m) {
  m.def("find_cache_directory", &findCacheDirectory,
        "SHOAL_CACHE, or the user's folder; \"\" where it is off.");
  m.def(
      "clear_cache",
      [](const std::string &folder) {
        llvm::Expected<int64_t> count = clearCache(folder);
        if (!count)
          throw nb::value_error(llvm::toString(count.takeError()).c_str());
        return *count;
      },
      "folder"_a, "Removes all programs; how many there were. ValueError.");
}

/// Registered once, however often the status changes.
static int statusForSuccess = EXIT_SUCCESS;

/// Behind the interpreter's end, and so behind MPI_Finalize.
static void endWithStatus(int status, void *) {
  if (status != EXIT_SUCCESS || statusForSuccess == EXIT_SUCCESS)
    return;
  std::fflush(nullptr);
  ::_exit(statusForSuccess);
}

static void bindEnding(nb::module_ &m) {
  m.def(
      "exit_with",
      [](int status) {
        static const int failed = ::on_exit(endWithStatus, nullptr);
        statusForSuccess = failed ? EXIT_SUCCESS : status;
      },
      "status"_a,
      "The status that the process ends with where it would end with 0.");
}

static void bindRandomInputs(nb::module_ &m) {
  m.def(
      "random_input",
      [](uint64_t seed, const std::string &name, const std::string &type,
         const std::vector<int64_t> &shape) {
        auto element = support::parseElementType(type);
        if (!element)
          throw nb::value_error(("no element type: " + type).c_str());
        std::string content(
            support::numElements(shape) * support::elementSize(*element), '\0');
        support::fillRandom(seed, name, *element, shape, content.data());
        return nb::bytes(content.data(), content.size());
      },
      "seed"_a, "name"_a, "type"_a, "shape"_a,
      "The bytes of the input of this name under --random-inputs=SEED. "
      "ValueError.");
}

NB_MODULE(_native, m) {
  m.doc() = "The compiler in this process. Texts are MLIR; errors are raised "
            "as shoal.CompileError.";
  // The targets' lowerings ask what the command line says of passes: nothing.
  mlir::registerPassManagerCLOptions();
  m.attr("__version__") = SHOAL_VERSION;
  bindOptions(m);
  bindCompiled(m);
  bindCache(m);
  bindRandomInputs(m);
  bindEnding(m);
  bindMachines(m);
  m.def(
      "verify_limits",
      [](const std::string &text, const std::string &source) {
        runUnlocked([&] { return verifyLimits(text, source); });
      },
      "text"_a, "source"_a = "<program>",
      "A CompileError where a text of any dialects nests deeper, or speaks of "
      "more values, than a parser of MLIR can be given.");
  m.def(
      "format",
      [](const std::string &text, const std::string &source, bool locations,
         bool generic) {
        return runUnlocked(
                   [&] { return format(text, source, locations, generic); })
            .text;
      },
      "text"_a, "source"_a = "<program>", nb::kw_only(), "locations"_a = false,
      "generic"_a = false,
      "Parses, verifies and prints a program, on request with locations, or "
      "in the generic form of ops.");
  m.def(
      "partition",
      [](const std::string &text, const DriverOptions &options,
         const std::string &source, bool locations, const nb::object &onStage) {
        return runUnlocked([&] {
                 return partitionText(text, source, options, locations,
                                      listen(onStage));
               })
            .text;
      },
      "text"_a, "options"_a, "source"_a = "<program>", nb::kw_only(),
      "locations"_a = false, "on_stage"_a = nb::none(),
      "The program of one device. on_stage(name) is called as each stage "
      "begins.");
  m.def(
      "compile",
      [](const std::string &text, const DriverOptions &options,
         const std::string &source, const std::string &executable,
         const std::string &shared, bool report, bool summary,
         const nb::object &onStage) {
        return runUnlocked([&] {
          return compileText(text, source, options, executable, shared, report,
                             summary, listen(onStage));
        });
      },
      "text"_a, "options"_a, "source"_a = "<program>", nb::kw_only(),
      "executable"_a = "", "shared"_a = "", "report"_a = false,
      "summary"_a = false, "on_stage"_a = nb::none(),
      "Compiles, and writes an executable and a shared library to the paths "
      "that are not empty; on request makes the report's page, or writes a "
      "summary in the executable's place.");
  m.def(
      "simulate",
      [](const std::string &text, const DriverOptions &options,
         const std::string &source, const nb::object &onStage) {
        return runUnlocked([&] {
          return simulateText(text, source, options, listen(onStage));
        });
      },
      "text"_a, "options"_a, "source"_a = "<program>", nb::kw_only(),
      "on_stage"_a = nb::none(),
      "Forecasts a step on the cluster of options.machine_path; writes "
      "nothing.");
}
