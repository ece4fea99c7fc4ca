/* Tests changes of weights on the GPU: copies of a weight in other layouts change at their addresses, captured graphs
 * see the change, and no call waits. Skipped without a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "cuda/cuda_device.h"
#include "unet/devices.h"

enum { ROWS = 40, TAPS = 9, INPUTS = 12, PITCH = 16, ROW = TAPS * INPUTS, SKIPPED = 77 };

struct rig {
  struct resources resources;
  struct tensor matrix, vector;
  float *matrix_values, vector_values[ROWS];
  struct device *device;
  struct error err;
};

static void must(const struct rig *rig, int status) {
  if (status < 0)
    fail_msg("%s", rig->err.message);
}

static void rig_open(struct rig *rig) {
  *rig = (struct rig){.matrix_values = malloc(ROWS * ROW * sizeof(float))};
  assert_non_null(rig->matrix_values);
  for (int i = 0; i < ROWS * ROW; i++)
    rig->matrix_values[i] = (float)(i % 97) / 32;
  for (int i = 0; i < ROWS; i++)
    rig->vector_values[i] = (float)i / 8;
  struct weight_part matrix = {.data = rig->matrix_values, .dtype = DTYPE_F32, .rows = ROWS, .name = "matrix"};
  struct weight_part vector = {.data = rig->vector_values, .dtype = DTYPE_F32, .rows = ROWS, .name = "vector"};
  rig->matrix = resources_weight(&rig->resources, "matrix", ROWS, 3, 3, INPUTS, &matrix, 1, &rig->err);
  rig->vector = resources_weight(&rig->resources, "vector", 1, 1, 1, ROWS, &vector, 1, &rig->err);
  must(rig, device_open(&rig->device, &rig->resources, &(struct device_options){.name = "cuda"}, &rig->err));
}

static void rig_close(struct rig *rig) {
  device_close(&rig->device);
  resources_free(&rig->resources);
  free(rig->matrix_values);
}

/* Checks that each copy of the two weights equals what is computed from the weight that device_read returns. */
static void assert_forms(struct rig *rig, const half_t *padded, const half_t *f16) {
  static float matrix[ROWS * ROW], vector[ROWS];
  static half_t copy[ROWS * TAPS * PITCH];
  struct cuda_device *device = cuda_device(rig->device);
  must(rig, device_read(rig->device, NULL, rig->matrix, 0, matrix, ROWS * ROW, &rig->err));
  must(rig, device_read(rig->device, NULL, rig->vector, 0, vector, ROWS, &rig->err));
  must(rig, memory_copy(device->queue.stream, copy, padded, sizeof copy, "reading", &rig->err));
  for (int i = 0; i < ROWS * TAPS * PITCH; i++)
    assert_int_equal(copy[i], i % PITCH < INPUTS ? f32_to_f16(matrix[i / PITCH * INPUTS + i % PITCH]) : 0);
  must(rig, memory_copy(device->queue.stream, copy, f16, ROWS * sizeof *copy, "reading", &rig->err));
  for (int i = 0; i < ROWS; i++)
    assert_int_equal(copy[i], f32_to_f16(vector[i]));
}

/* Bits of the rows (or columns) of a 3x3 window that read the same input pixel in an image that was doubled in size,
 * for the first and the second pixel of a pair. */
static const int together[2][2] = {{1, 6}, {3, 4}};

static float quarter(const float *row, int which, int tap, int c) {
  float sum = 0;
  for (int i = 0; i < TAPS; i++)
    if (together[which / 2][tap / 2] >> i / 3 & 1 && together[which % 2][tap % 2] >> i % 3 & 1)
      sum += row[i * INPUTS + c];
  return sum;
}

static void assert_quarters(struct rig *rig, const half_t *quarters) {
  static float matrix[ROWS * ROW];
  static half_t copy[ROWS * 16 * PITCH];
  must(rig, device_read(rig->device, NULL, rig->matrix, 0, matrix, ROWS * ROW, &rig->err));
  must(rig, memory_copy(cuda_device(rig->device)->queue.stream, copy, quarters, sizeof copy, "reading", &rig->err));
  for (int i = 0; i < ROWS * 16 * PITCH; i++) {
    int c = i % PITCH, at = i / PITCH;
    float expected = c < INPUTS ? quarter(matrix + at / 16 * ROW, at / 4 % 4, at % 4, c) : 0;
    assert_int_equal(copy[i], f32_to_f16(expected));
  }
}

static void other_forms_follow(void **state) {
  (void)state;
  struct rig rig;
  float values[ROWS * ROW], vector[ROWS], seen[ROWS * ROW];
  rig_open(&rig);
  struct cuda_device *device = cuda_device(rig.device);
  half_t *padded = resource_padded(device, rig.matrix.index, 0, &rig.err);
  half_t *f16 = resource_f16(device, rig.vector.index, 0, &rig.err);
  half_t *quartered = resource_quartered(device, rig.matrix.index, 0, &rig.err);
  assert_true(padded && f16 && quartered);
  assert_forms(&rig, padded, f16);
  assert_quarters(&rig, quartered);
  for (int round = 0; round < 4; round++) { /* the second half of the vector begins at an odd index */
    size_t first = round == 0 ? 0 : 7 * (size_t)round, rows = round == 0 ? ROWS : 3 + 2 * (size_t)round;
    for (int i = 0; i < ROWS * ROW; i++)
      values[i] = (float)((i + round) % 61) / 16;
    for (int i = 0; i < ROWS; i++)
      vector[i] = (float)(i + round) / 4;
    struct weight_change changes[] = {{rig.matrix.index, first, rows, values}, {rig.vector.index, first, rows, vector}};
    must(&rig, device_update(rig.device, changes, 2, &rig.err));
    must(&rig, device_read(rig.device, NULL, rig.matrix, first * ROW, seen, rows * ROW, &rig.err));
    assert_memory_equal(seen, values, rows * ROW * sizeof *seen);
    assert_forms(&rig, padded, f16);
    assert_quarters(&rig, quartered);
  }
  assert_ptr_equal(resource_padded(device, rig.matrix.index, 0, &rig.err), padded);
  assert_ptr_equal(resource_f16(device, rig.vector.index, 0, &rig.err), f16);
  assert_int_equal(derived_find(&device->derived[0], rig.matrix.index, device->derived[0].list[0].form, NULL)->version,
                   4);
  rig_close(&rig);
}

/* Runs the program on an input of ones, and returns the result's value number `at`. */
static float run_on_ones(struct rig *rig, struct program *program, struct tensor x, struct tensor y, size_t at) {
  const struct run_params params = {.guidance = 1};
  struct frame none;
  size_t count = tensor_elements(x);
  float *ones = malloc(count * sizeof *ones), seen = 0;
  assert_non_null(ones);
  for (size_t i = 0; i < count; i++)
    ones[i] = 1;
  must(rig, device_write(rig->device, program, x, 0, ones, count, &rig->err));
  free(ones);
  must(rig, device_submit(rig->device, program, &params, NULL, &rig->err));
  must(rig, device_collect(rig->device, program, &none, &rig->err));
  must(rig, device_read(rig->device, program, y, at, &seen, 1, &rig->err));
  return seen;
}

/* A convolution behind a doubling reads its weight as four of 2x2, and the weight itself is dropped. It comes back when
 * it changes, and when another program reads it. */
static void weights_behind_a_doubling_are_dropped(void **state) {
  (void)state;
  enum { C = 512, SIDE = 16, ELEMENTS = C * 9 * C, MIDDLE = (SIDE * SIDE + SIDE / 2) * C };
  struct rig rig = {.matrix_values = malloc(ELEMENTS * sizeof(float))};
  struct plan plan, other;
  struct program *program = NULL, *second = NULL;
  assert_non_null(rig.matrix_values);
  for (int i = 0; i < ELEMENTS; i++)
    rig.matrix_values[i] = 1.0f / 64;
  struct weight_part part = {.data = rig.matrix_values, .dtype = DTYPE_F32, .rows = C, .name = "matrix"};
  rig.matrix = resources_weight(&rig.resources, "matrix", C, 3, 3, C, &part, 1, &rig.err);
  must(&rig, device_open(&rig.device, &rig.resources, &(struct device_options){.name = "cuda"}, &rig.err));
  const struct resource_memory *memory = &cuda_device(rig.device)->resource[rig.matrix.index];
  plan_init(&plan, &rig.resources);
  struct tensor x = plan_input(&plan, 1, SIDE, SIDE, C, ELEMENT_DEVICE);
  struct tensor y = plan_conv(&plan, "doubled",
                              (struct op_conv){.x = x, .weight = rig.matrix, .stride = 1, .pad = 1, .upsample = true});
  must(&rig, plan_finish(&plan, &rig.err));
  must(&rig, device_prepare(rig.device, &program, &plan, &(struct program_options){0}, &rig.err));
  assert_null(memory->data);
  assert_true(run_on_ones(&rig, program, x, y, MIDDLE) == 9 * C / 64);
  device_release(rig.device, &program); /* the same again, from the copy that is there */
  must(&rig, device_prepare(rig.device, &program, &plan, &(struct program_options){0}, &rig.err));
  assert_null(memory->data);
  assert_true(run_on_ones(&rig, program, x, y, MIDDLE) == 9 * C / 64);
  static float row[9 * C];
  for (int i = 0; i < 9 * C; i++)
    row[i] = 1.0f / 32;
  struct weight_change change = {rig.matrix.index, 5, 1, row};
  must(&rig, device_update(rig.device, &change, 1, &rig.err));
  assert_non_null(memory->data);
  assert_true(run_on_ones(&rig, program, x, y, MIDDLE) == 9 * C / 64);
  assert_true(run_on_ones(&rig, program, x, y, MIDDLE + 5) == 9 * C / 32);
  plan_init(&other, &rig.resources);
  x = plan_input(&other, 1, SIDE, SIDE, C, ELEMENT_DEVICE);
  y = plan_conv(&other, "plain", (struct op_conv){.x = x, .weight = rig.matrix, .stride = 1, .pad = 1});
  must(&rig, plan_finish(&other, &rig.err));
  must(&rig, device_prepare(rig.device, &second, &other, &(struct program_options){0}, &rig.err));
  assert_true(run_on_ones(&rig, second, x, y, MIDDLE / 2 + 5) == 9 * C / 32);
  device_release(rig.device, &second);
  device_release(rig.device, &program);
  plan_free(&other);
  plan_free(&plan);
  rig_close(&rig);
}

enum { OUTER = 64, INNER = 128 };

/* Checks a copy of two layers as one: `product` is the sum over OUTER of outer's and inner's values. */
static void assert_folded(struct rig *rig, const half_t *copy, const float *bias, float product, float expected) {
  static half_t matrix[OUTER * (INNER + OUTER)];
  float biases[OUTER];
  cudaStream_t stream = cuda_device(rig->device)->queue.stream;
  /* the copy is made on the stream of weights that are loaded, for which the other stream does not wait */
  assert_int_equal(cudaStreamSynchronize(cuda_device(rig->device)->loads.queue.stream), cudaSuccess);
  must(rig, memory_copy(stream, matrix, copy, sizeof matrix, "reading", &rig->err));
  must(rig, memory_copy(stream, biases, bias, sizeof biases, "reading", &rig->err));
  for (int i = 0; i < OUTER * (INNER + OUTER); i++)
    assert_true(f16_to_f32(matrix[i]) == (i % (INNER + OUTER) < INNER ? product : 0.5f));
  for (int i = 0; i < OUTER; i++)
    assert_true(biases[i] == expected);
}

/* Two layers' weights are dropped when their product is there. The next weight lies where one of them was. A change of
 * a bias brings them back, because the product is made again as a whole. */
static void weights_of_a_product_are_dropped(void **state) {
  (void)state;
  struct rig rig = {.matrix_values = malloc(OUTER * INNER * sizeof(float))};
  float *bias, changed[OUTER];
  assert_non_null(rig.matrix_values);
  for (int i = 0; i < OUTER * INNER; i++)
    rig.matrix_values[i] = 0.5f;
  for (int i = 0; i < OUTER; i++)
    changed[i] = 2;
  const struct weight_part part = {.data = rig.matrix_values, .dtype = DTYPE_F32, .rows = OUTER, .name = "matrix"};
  struct weight_part vector = part;
  vector.rows = OUTER;
  struct tensor outer = resources_weight(&rig.resources, "outer", OUTER, 1, 1, OUTER, &part, 1, &rig.err),
                inner = resources_weight(&rig.resources, "inner", OUTER, 1, 1, INNER, &part, 1, &rig.err),
                inner_bias = resources_weight(&rig.resources, "inner bias", 1, 1, 1, OUTER, &vector, 1, &rig.err),
                outer_bias = resources_weight(&rig.resources, "outer bias", 1, 1, 1, OUTER, &vector, 1, &rig.err),
                next = resources_weight(&rig.resources, "next", OUTER, 1, 1, OUTER, &part, 1, &rig.err);
  must(&rig, device_open(&rig.device, &rig.resources, &(struct device_options){.name = "cuda"}, &rig.err));
  struct cuda_device *device = cuda_device(rig.device);
  const struct resource_memory *memory = device->resource;
  const struct folded_layers layers = {inner.index, inner_bias.index, outer_bias.index, INNER};
  assert_non_null(resource_load(device, outer.index, ROLE_MATRIX, &rig.err));
  const void *place = memory[outer.index].data;
  const half_t *copy = resource_folded(device, outer.index, layers, 0, &bias, &rig.err);
  assert_non_null(copy);
  assert_null(memory[outer.index].data);
  assert_null(memory[inner.index].data);
  assert_folded(&rig, copy, bias, OUTER * 0.25f, OUTER * 0.25f + 0.5f);
  assert_non_null(resource_load(device, next.index, ROLE_MATRIX, &rig.err));
  assert_ptr_equal(memory[next.index].data, place);
  assert_ptr_equal(resource_folded(device, outer.index, layers, 0, &bias, &rig.err), copy);
  assert_null(memory[outer.index].data);
  struct weight_change change = {inner_bias.index, 0, OUTER, changed};
  must(&rig, device_update(rig.device, &change, 1, &rig.err));
  assert_folded(&rig, copy, bias, OUTER * 0.25f, OUTER * 1.0f + 0.5f);
  assert_ptr_equal(resource_folded(device, outer.index, layers, 0, &bias, &rig.err), copy);
  assert_non_null(memory[outer.index].data); /* what has changed may change again */
  assert_non_null(memory[inner.index].data);
  rig_close(&rig);
}

/* A change with values that FP16 cannot hold is refused, and no part of it is made. */
static void beyond_fp16_is_refused(void **state) {
  (void)state;
  struct rig rig;
  float large = 65520, one = 1, seen = 0;
  rig_open(&rig);
  struct weight_change changes[] = {{rig.vector.index, 0, 1, &one}, {rig.vector.index, 1, 1, &large}};
  assert_int_equal(device_update(rig.device, changes, 2, &rig.err), -1);
  assert_non_null(strstr(rig.err.message, "65504"));
  must(&rig, device_read(rig.device, NULL, rig.vector, 0, &seen, 1, &rig.err));
  assert_true(seen == 0);
  assert_int_equal(rig.resources.version, 0);
  rig_close(&rig);
}

/* Host function that keeps the compute stream busy until *opaque is false. */
static void CUDART_CB hold(void *opaque) {
  while (__atomic_load_n((int *)opaque, __ATOMIC_ACQUIRE))
    ;
}

/* While the compute stream is blocked, a small change of a weight returns: it does not wait for a run. */
static void a_change_waits_for_nobody(void **state) {
  (void)state;
  struct rig rig;
  float value = 3, seen = 0;
  int held = 1;
  rig_open(&rig);
  struct cuda_device *device = cuda_device(rig.device);
  struct weight_change change = {rig.vector.index, 2, 1, &value};
  /* this call allocates the memory that later changes need */
  must(&rig, device_update(rig.device, &change, 1, &rig.err));
  must(&rig, device_read(rig.device, NULL, rig.vector, 2, &seen, 1, &rig.err));
  assert_int_equal(cudaLaunchHostFunc(device->queue.stream, hold, &held), cudaSuccess);
  value = 5;
  /* this call would never return if it waited for the blocked stream */
  must(&rig, device_update(rig.device, &change, 1, &rig.err));
  value = 7;
  assert_int_equal(cudaStreamQuery(device->queue.stream), cudaErrorNotReady);
  __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
  must(&rig, device_read(rig.device, NULL, rig.vector, 2, &seen, 1, &rig.err));
  assert_true(seen == 5);
  rig_close(&rig);
}

int main(void) {
  struct resources resources = {0};
  struct device *device;
  struct error err = {0};
  if (device_open(&device, &resources, &(struct device_options){.name = "cuda"}, &err) < 0) {
    printf("skipped: %s\n", err.message);
    return SKIPPED;
  }
  device_close(&device);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_forms_follow),
      cmocka_unit_test(weights_behind_a_doubling_are_dropped),
      cmocka_unit_test(weights_of_a_product_are_dropped),
      cmocka_unit_test(beyond_fp16_is_refused),
      cmocka_unit_test(a_change_waits_for_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
