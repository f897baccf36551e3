// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-llvm

// expected-error @below {{'func.func' op is left behind by the lowering to LLVM}}
func.func private @c1_a_function_of_another_dialect()

// -----

llvm.func @c2_a_bf16_is_loaded(%x: !llvm.ptr) {
  // expected-error @below {{'llvm.load' op has a result of 'bf16': expected i16}}
  %0 = llvm.load %x : !llvm.ptr -> bf16
  llvm.return
}
