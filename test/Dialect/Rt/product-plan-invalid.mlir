// RUN: shoal-opt %s --split-input-file --verify-diagnostics

// The text of a plan, and its laws: (P1) to (P5) alone, (C6) in its product.

func.func @syntax_machine(%x: memref<2x2xf32>) {
  // expected-error @+1 {{expected 'cpu' or gpu}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <zero>
  return
}

// -----

func.func @syntax_step(%x: memref<2x2xf32>) {
  // expected-error @+1 {{expected 'gemm', loops or zero}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu blas>
  return
}

// -----

func.func @syntax_sizes(%x: memref<2x2xf32>) {
  // expected-error @+1 {{expected rows x columns x terms but got 2 sizes}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu gemm 2x2>
  return
}

// -----

func.func @syntax_strides(%x: memref<2x2xf32>) {
  // expected-error @+1 {{expected ','}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : 2, 0]>
  return
}

// -----

// (P1)
func.func @p1_steps(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: loops: expected loops of at least 1 step but got 0}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [0 : 2, 0, 2]>
  return
}

// -----

// (P1)
func.func @p1_strides(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: loops: expected strides of at least 0 but got -2}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : -2, 0, 2]>
  return
}

// -----

// (P1)
func.func @p1_sums_stay_at_an_element(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: loops: expected no stride in output but got 1}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : 2, 0, 2] over [2 : 1, 2, 1]>
  return
}

// -----

// (P1)
func.func @p1_what_is_prepared_is_one_operand(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: prepare: expected no stride in rhs but got 1}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu prepare lhs [2 : 1, 1, 1] loops>
  return
}

// -----

// (P2)
func.func @p2_nothing_behind_what_is_prepared(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: expected gemm or loops behind what is prepared}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu prepare rhs [4 : 1, 0, 1] zero>
  return
}

// -----

// (P3)
func.func @p3_no_stride_of_1(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: rhs: 32 x 64 with strides 64, 2 is no matrix of a library}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu gemm 64x64x32 a [64, 1] b [64, 2] c [64, 1]>
  return
}

// -----

// (P3)
func.func @p3_sizes_of_32_bits(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: lhs: 4294967296 x 64 with strides 64, 1 is no matrix of a library}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu gemm 4294967296x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// (P3)
func.func @p3_no_rows(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: lhs: 0 x 64 with strides 64, 1 is no matrix of a library}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu gemm 0x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// (P4)
func.func @p4_a_scratch_has_no_gaps(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: scratch of lhs: loops do not run through its 4096 elements once}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu pack lhs [64 : 1, 1] [64 : 64, 65] gemm 64x64x64 a [65, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// (P4)
func.func @p4_products_stay_in_a_scratch(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: scratch of lhs: loops come to element 4158 of 4096}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu pack lhs [64 : 1, 1] [64 : 64, 64] gemm 64x64x64 a [65, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_zero_of_terms(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: expected gemm or loops where no letter has size 0}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu zero>
  return
}

// -----

// einsum (C6)
func.func @c6_loops_of_nothing(%x: memref<2x0xf32>, %w: memref<0x2xf32>, %y: memref<2x2xf32>) {
  // expected-error @+1 {{plan: expected zero where a letter has size 0}}
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<2x0xf32>, memref<0x2xf32>) outs(%y : memref<2x2xf32>) plan <cpu loops [2 : 0, 0, 2] [2 : 0, 1, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_types_to_convert(%x: memref<2x2xf32>, %y: memref<2x2xf64>) {
  // expected-error @+1 {{plan: expected whole tensors to be converted from f32 to f64}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%y : memref<2x2xf64>) plan <cpu loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_types_not_to_convert(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: expected whole tensors not to be converted from f32 to f32}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu convert loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_loops_stay_in_operands(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: rhs: loops come to element 5 of 4}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 4, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_batches_stay_in_operands(%x: memref<3x64x64xf32>) {
  // expected-error @+1 {{plan: lhs: loops come to element 16383 of 12288}}
  rt.einsum "eik,ekj->eij" ins(%x, %x : memref<3x64x64xf32>, memref<3x64x64xf32>) outs(%x : memref<3x64x64xf32>) plan <cpu gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1] batch [4 : 4096, 4096, 4096]>
  return
}

// -----

// einsum (C6)
func.func @c6_copies_stay_in_operands(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: lhs: loops come to element 8127 of 4096}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu pack lhs [64 : 1, 1] [64 : 128, 64] gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_sums_stay_in_operands(%x: memref<2x2x2xf32>, %w: memref<2x2xf32>) {
  // expected-error @+1 {{plan: prepare lhs: loops come to element 11 of 8}}
  rt.einsum "isk,kj->ij" ins(%x, %w : memref<2x2x2xf32>, memref<2x2xf32>) outs(%w : memref<2x2xf32>) plan <cpu prepare lhs [2 : 8, 0, 2] [2 : 1, 0, 1] over [2 : 2, 0, 0] loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @sums_are_no_larger_than_operands(%x: memref<2x2x2xf32>, %w: memref<2x2xf32>) {
  // expected-error @+1 {{plan: prepare lhs: makes 4194304 elements of 8}}
  rt.einsum "isk,kj->ij" ins(%x, %w : memref<2x2x2xf32>, memref<2x2xf32>) outs(%w : memref<2x2xf32>) plan <cpu prepare lhs [4194304 : 0, 0, 1] over [2 : 2, 0, 0] loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @copies_are_no_larger_than_operands(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: lhs: makes 8192 elements of 4096}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <cpu pack lhs [64 : 1, 1] [64 : 64, 64] [2 : 0, 4096] gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_what_is_prepared_is_dense(%x: memref<2x2x2xf32>, %w: memref<2x2xf32>) {
  // expected-error @+1 {{plan: prepare lhs: loops do not run through its 4 elements once}}
  rt.einsum "isk,kj->ij" ins(%x, %w : memref<2x2x2xf32>, memref<2x2xf32>) outs(%w : memref<2x2xf32>) plan <cpu prepare lhs [2 : 4, 0, 1] [2 : 1, 0, 1] over [2 : 2, 0, 0] loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_all_of_the_output_is_written(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: output: loops do not run through its 4 elements once}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : 2, 0, 1] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_terms(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: expected 8 terms, the product of the letters' sizes, but got 4}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : 2, 0, 2] [2 : 0, 1, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_numbers_of_any_size(%x: memref<2x2xf32>) {
  // expected-error @+1 {{plan: lhs: loops come to element 9223372036854775807 of 4}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<2x2xf32>, memref<2x2xf32>) outs(%x : memref<2x2xf32>) plan <cpu loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [9223372036854775807 : 9223372036854775807, 2, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_libraries_multiply_floats(%x: memref<64x64xi32>) {
  // expected-error @+1 {{plan: gemm: no library multiplies i32}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xi32>, memref<64x64xi32>) outs(%x : memref<64x64xi32>) plan <cpu gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_blas_multiplies_what_it_computes_in(%x: memref<64x64xbf16>) {
  // expected-error @+1 {{plan: lhs: expected bf16 to be packed as f32}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xbf16>, memref<64x64xbf16>) outs(%x : memref<64x64xbf16>) plan <cpu gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_sums_that_are_added_to(%x: memref<64x64xbf16>) {
  // expected-error @+1 {{plan: output: expected bf16 to be packed as f32}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xbf16>, memref<64x64xbf16>) outs(%x : memref<64x64xbf16>) plan <gpu gemm 64x64x32 a [64, 1] b [64, 1] c [64, 1] summed [2 : 32, 2048, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_loops_of_two_types(%x: memref<2x2xf8E4M3FN>, %w: memref<2x2xf8E5M2>, %y: memref<2x2xf32>) {
  // expected-error @+1 {{plan: expected operands of one type behind what is prepared but got f8E4M3FN and f8E5M2}}
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<2x2xf8E4M3FN>, memref<2x2xf8E5M2>) outs(%y : memref<2x2xf32>) plan <cpu loops [2 : 2, 0, 2] [2 : 0, 1, 1] over [2 : 1, 2, 0]>
  return
}

// -----

// einsum (C7)
func.func @c7_scratch(%x: memref<64x64xbf16>, %scratch: memref<64xi8>) {
  // expected-error @+1 {{scratch: expected 49152 bytes or more but got 64}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xbf16>, memref<64x64xbf16>) outs(%x : memref<64x64xbf16>)
    plan <cpu pack lhs [64 : 1, 1] [64 : 64, 64] pack rhs [64 : 1, 1] [64 : 64, 64] unpack output [64 : 1, 1] [64 : 64, 64]
          gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]> scratch(%scratch : memref<64xi8>)
  return
}

// -----

// einsum (C7)
func.func @c7_scratch_of_too_few_bytes(%x: memref<64x64xbf16>, %s: memref<64xi8>) {
  // expected-error @+1 {{scratch: expected 49152 bytes or more but got 64}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xbf16>, memref<64x64xbf16>) outs(%x : memref<64x64xbf16>) plan <cpu pack lhs [64 : 1, 1] [64 : 64, 64] pack rhs [64 : 1, 1] [64 : 64, 64] unpack output [64 : 1, 1] [64 : 64, 64] gemm 64x64x64 a [64, 1] b [64, 1] c [64, 1]> scratch(%s : memref<64xi8>)
  return
}

// -----

func.func @p5_onednn_on_a_device(%x: memref<64x64xf32>) {
  // expected-error @+1 {{plan: oneDNN is a library of CPUs}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%x : memref<64x64xf32>) plan <gpu gemm onednn 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_onednn_of_f64(%x: memref<64x64xf64>) {
  // expected-error @+1 {{plan: gemm: oneDNN does not multiply f64}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf64>, memref<64x64xf64>) outs(%x : memref<64x64xf64>) plan <cpu gemm onednn 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}

// -----

// einsum (C6)
func.func @c6_onednn_adds_in_f32(%x: memref<64x64xbf16>) {
  // expected-error @+1 {{plan: output: expected bf16 to be packed as f32}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xbf16>, memref<64x64xbf16>) outs(%x : memref<64x64xbf16>) plan <cpu gemm onednn 64x64x32 a [64, 1] b [64, 1] c [64, 1] summed [2 : 32, 2048, 0]>
  return
}

// -----

// einsum (C6)
func.func @c6_onednn_of_f16(%x: memref<64x64xf16>) {
  // expected-error @+1 {{plan: lhs: expected f16 to be packed as f32}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<64x64xf16>, memref<64x64xf16>) outs(%x : memref<64x64xf16>) plan <cpu gemm onednn 64x64x64 a [64, 1] b [64, 1] c [64, 1]>
  return
}
