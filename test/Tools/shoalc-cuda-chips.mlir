// Without a machine file a program for CUDA has the memory that the file of the chip's machine says; the help says the same.
//
// RUN: shoalc %s --target=cuda --cuda-arch=sm_90 --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=H100
// RUN: shoalc %s --target=cuda --machine=%shoal_src_root/machines/dgx-h100.toml --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=H100
// RUN: shoalc %s --target=cuda --cuda-arch=sm_100 --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=B200
// RUN: shoalc %s --target=cuda --machine=%shoal_src_root/machines/b200.toml --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=B200
// RUN: shoalc %s --target=cuda --cuda-arch=sm_103 --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=B300
// RUN: shoalc %s --target=cuda --machine=%shoal_src_root/machines/b300.toml --emit=summary -o %t 2>&1 | FileCheck %s --check-prefix=B300
// RUN: shoalc --help | FileCheck %s --check-prefix=HELP

// H100: has 83,500,000,000 for a program
// B200: has 189,000,000,000 for a program
// B300: has 285,000,000,000 for a program
// HELP: --memory-limit={{.*}} of a program for CUDA with no policy for its chip's: the given machine's, or 83.5 GB of an A100 (sm_80) and an H100 (sm_90), 189 of a B200 (sm_100), 285 of a B300 (sm_103)
func.func @main(%x: tensor<262144x262144xf32>) -> tensor<262144x262144xf32> {
  %y = math.tanh %x : tensor<262144x262144xf32>
  return %y : tensor<262144x262144xf32>
}
