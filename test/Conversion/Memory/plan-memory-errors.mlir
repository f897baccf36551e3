// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-plan-memory

// expected-error @below {{'func.func' op cannot be planned: expected a single block}}
func.func @several_blocks(%x: memref<4xf32>) {
  cf.br ^next
^next:
  return
}

// -----

func.func @unknown_size(%n: index) {
  // expected-error @below {{'memref.alloc' op cannot be placed in the arena: expected a static buffer that is used in its own block alone}}
  %x = memref.alloc(%n) : memref<?xf32>
  return
}
