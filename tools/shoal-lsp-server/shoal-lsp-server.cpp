// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Relay.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "shoal/InitShoal.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/wait.h>
#include <unistd.h>

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): as LLVM's are.
static llvm::cl::opt<std::string> machineFile(
    "machine", llvm::cl::value_desc("machine.toml"),
    llvm::cl::desc(
        "Shardings are chosen by the seconds of a step on the cluster "
        "of this machine file, and inlay hints have them"));

static int serve(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  shoal::registerShoalDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

/// What the relay must know of what the server will parse.
static std::string readMachineFile(llvm::ArrayRef<char *> arguments) {
  std::string file;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    llvm::StringRef text(argument);
    if (!text.consume_front("--machine") && !text.consume_front("-machine"))
      continue;
    if (text.consume_front("="))
      file = text.str();
    else if (text.empty() && i + 1 < arguments.size())
      file = arguments[i + 1];
  }
  return file;
}

static bool isAsked(llvm::ArrayRef<char *> arguments, llvm::StringRef name) {
  return llvm::any_of(arguments, [&](llvm::StringRef argument) {
    return argument.ltrim('-') == name && argument.starts_with("-");
  });
}

/// The server, in a process of its own, reads and writes pipes; it speaks as in
/// a session also in a test, whose form the relay has.
static int serveBehind(int argc, char **argv, bool isLitTest) {
  int toServer[2], fromServer[2];
  if (pipe(toServer) != 0 || pipe(fromServer) != 0) {
    llvm::errs() << "shoal-lsp-server: no pipe to the server\n";
    return 1;
  }
  std::string machine = readMachineFile(llvm::ArrayRef(argv, argc));
  pid_t server = fork();
  if (server < 0) {
    llvm::errs() << "shoal-lsp-server: no process for the server\n";
    return 1;
  }
  if (server == 0) {
    dup2(toServer[0], STDIN_FILENO);
    dup2(fromServer[1], STDOUT_FILENO);
    for (int end : {toServer[0], toServer[1], fromServer[0], fromServer[1]})
      close(end);
    llvm::SmallVector<char *> arguments;
    for (char *argument : llvm::ArrayRef(argv, argc))
      if (llvm::StringRef(argument).ltrim('-') != "lit-test")
        arguments.push_back(argument);
    return serve(arguments.size(), arguments.data());
  }
  close(toServer[0]);
  close(fromServer[1]);
  mlir::registerPassManagerCLOptions(); // which what is compiled here asks for
  shoal::Relay(fdopen(toServer[1], "w"), fdopen(fromServer[0], "r"), machine,
               isLitTest)
      .run(stdin);
  int status = 0;
  waitpid(server, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
  // LLVM's libraries register options of every back end and pass when they are
  // loaded. MlirLspServerMain registers its own below.
  llvm::cl::HideUnrelatedOptions(
      llvm::ArrayRef<const llvm::cl::OptionCategory *>());
  machineFile.setHiddenFlag(llvm::cl::NotHidden);
  llvm::ArrayRef<char *> arguments(argv, argc);
  for (llvm::StringRef name : {"help", "help-hidden", "version"})
    if (isAsked(arguments, name))
      return serve(argc, argv);
  return serveBehind(argc, argv, isAsked(arguments, "lit-test"));
}
