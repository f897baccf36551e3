// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-memory

func.func @buffers_take_turns(%arena: memref<64xi8>) attributes {
    shoal.arena_bytes = 64 : i64, shoal.live_bytes = 64 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 0>, memref<16xf32>], [array<i64: 0, 64, 1, 1>, memref<16xf32>]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

func.func @c1_a_buffer_without_a_place(%arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.live_bytes = 0 : i64,
    shoal.memory_plan = {buffers = [], steps = [loc(unknown), loc(unknown)]}} {
  // expected-error @below {{'memref.alloc' op has no place in the arena}}
  %0 = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @c2_a_view_leaves_the_arena(%arena: memref<64xi8>) attributes {
    shoal.arena_bytes = 64 : i64, shoal.live_bytes = 0 : i64,
    shoal.memory_plan = {buffers = [], steps = [loc(unknown), loc(unknown)]}} {
  %c64 = arith.constant 64 : index
  // expected-error @below {{'memref.view' op takes bytes 64 to 128 of an arena of 64, in which buffers begin at multiples of 64}}
  %0 = memref.view %arena[%c64][] : memref<64xi8> to memref<16xf32>
  return
}

// -----

func.func @c2_a_view_anywhere(%place: index, %arena: memref<64xi8>) attributes {
    shoal.arena_bytes = 64 : i64, shoal.live_bytes = 0 : i64,
    shoal.memory_plan = {buffers = [], steps = [loc(unknown), loc(unknown)]}} {
  // expected-error @below {{'memref.view' op has no place that is known here}}
  %0 = memref.view %arena[%place][] : memref<64xi8> to memref<16xf32>
  return
}

// -----

func.func @c2_a_view_between_lines(%arena: memref<128xi8>) attributes {
    shoal.arena_bytes = 128 : i64, shoal.live_bytes = 0 : i64,
    shoal.memory_plan = {buffers = [], steps = [loc(unknown), loc(unknown)]}} {
  %c4 = arith.constant 4 : index
  // expected-error @below {{'memref.view' op takes bytes 4 to 68 of an arena of 128, in which buffers begin at multiples of 64}}
  %0 = memref.view %arena[%c4][] : memref<128xi8> to memref<16xf32>
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which buffer 0 takes bytes 64 to 128 of an arena of 64}}
func.func @c3_a_buffer_leaves_the_arena(%arena: memref<64xi8>) attributes {
    shoal.arena_bytes = 64 : i64, shoal.live_bytes = 64 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 64, 64, 0, 0>, memref<16xf32>]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which buffer 0 lives from step 1 to 2 of 2}}
func.func @c3_a_step_that_is_not_there(%arena: memref<64xi8>) attributes {
    shoal.arena_bytes = 64 : i64, shoal.live_bytes = 64 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 1, 2>, memref<16xf32>]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which buffers 0 and 1 overlap and live at the same time}}
func.func @c3_buffers_that_live_together_overlap(%arena: memref<128xi8>) attributes {
    shoal.arena_bytes = 128 : i64, shoal.live_bytes = 192 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 128, 0, 1>, memref<16xf32>], [array<i64: 64, 64, 1, 1>, memref<16xf32>]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which 128 bytes are live at one time, but shoal.live_bytes is 64}}
func.func @c4_more_is_live_than_stated(%arena: memref<128xi8>) attributes {
    shoal.arena_bytes = 128 : i64, shoal.live_bytes = 64 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 1>, memref<16xf32>], [array<i64: 64, 64, 1, 1>, memref<16xf32>]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

func.func @c5_a_product_without_a_plan(%x: memref<4x4xf32>, %arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.live_bytes = 0 : i64,
    shoal.memory_plan = {buffers = [], steps = [loc(unknown)]}} {
  // expected-error @below {{'rt.einsum' op has no plan: --shoal-plan-products makes one}}
  rt.einsum "ik,kj->ij" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  return
}

// -----

func.func @results_and_buffers_take_turns(%y: memref<16xf32> {shoal.result_offset = 0 : i64}, %results: memref<64xi8>, %arena: memref<64xi8>) attributes {
    shoal.arena_bytes = 64 : i64, shoal.result_bytes = 64 : i64, shoal.live_bytes = 128 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 0>, memref<16xf32>, "results"], [array<i64: 0, 64, 1, 1>, memref<16xf32>, "results"],
                                    [array<i64: 0, 64, 0, 1>, memref<16xf32>]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

func.func @c2_a_view_leaves_the_results(%results: memref<64xi8>, %arena: memref<128xi8>) attributes {
    shoal.arena_bytes = 128 : i64, shoal.result_bytes = 64 : i64, shoal.live_bytes = 0 : i64,
    shoal.memory_plan = {buffers = [], steps = [loc(unknown), loc(unknown)]}} {
  %c64 = arith.constant 64 : index
  %0 = memref.view %arena[%c64][] : memref<128xi8> to memref<16xf32>
  // expected-error @below {{'memref.view' op takes bytes 64 to 128 of results' memory of 64, in which buffers begin at multiples of 64}}
  %1 = memref.view %results[%c64][] : memref<64xi8> to memref<16xf32>
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which buffers 0 and 1 overlap and live at the same time}}
func.func @c3_a_buffer_in_a_result_that_is_made(%y: memref<16xf32> {shoal.result_offset = 0 : i64}, %results: memref<64xi8>, %arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.result_bytes = 64 : i64, shoal.live_bytes = 128 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 1>, memref<16xf32>, "results"], [array<i64: 0, 64, 0, 0>, memref<16xf32>, "results"]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

func.func @a_result_in_two_rows(%y: memref<32xf32> {shoal.result_offset = 0 : i64}, %results: memref<128xi8>, %arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.result_bytes = 128 : i64, shoal.live_bytes = 128 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 64, 64, 0, 1>, memref<16xf32>, "results"], [array<i64: 0, 64, 1, 1>, memref<16xf32>, "results"]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which the result of argument 0 at byte 0 of the results' memory is not kept to the end}}
func.func @c6_a_row_that_ends(%y: memref<32xf32> {shoal.result_offset = 0 : i64}, %results: memref<128xi8>, %arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.result_bytes = 128 : i64, shoal.live_bytes = 128 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 1>, memref<16xf32>, "results"], [array<i64: 64, 64, 0, 0>, memref<16xf32>, "results"]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which the result of argument 0 at byte 0 of the results' memory is not kept to the end}}
func.func @c6_a_result_that_ends(%y: memref<16xf32> {shoal.result_offset = 0 : i64}, %results: memref<64xi8>, %arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.result_bytes = 64 : i64, shoal.live_bytes = 64 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 0>, memref<16xf32>, "results"]], steps = [loc(unknown), loc(unknown)]}} {
  return
}

// -----

// expected-error @below {{'func.func' op has a plan of its memory in which the result of argument 0 lies elsewhere, but the argument is used}}
func.func @c6_a_result_that_is_made_in_its_argument(%y: memref<16xf32> {shoal.result_offset = 0 : i64}, %results: memref<64xi8>, %arena: memref<0xi8>) attributes {
    shoal.arena_bytes = 0 : i64, shoal.result_bytes = 64 : i64, shoal.live_bytes = 64 : i64,
    shoal.memory_plan = {buffers = [[array<i64: 0, 64, 0, 1>, memref<16xf32>, "results"]], steps = [loc(unknown), loc(unknown)]}} {
  memref.copy %y, %y : memref<16xf32> to memref<16xf32>
  return
}
