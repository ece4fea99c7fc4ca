/* Compares the fast CPU kernels with the definition, op by op, for every instruction set that this machine has and odd
 * numbers of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/rigs/op_cases.h"
#include "unet/cpu/cpu_dnnl.h"
#include "unet/cpu/cpu_fast.h"
#include "unet/cpu/cpu_kernels.h"

static struct op_test_options options_for(int threads) {
  const char *seed = getenv("REVERIE_TEST_SEED");
  return (struct op_test_options){
      .device = {.name = "cpu", .threads = threads},
      .product = 4e-6,
      .exact = 2e-6,
      .codes = 1,
      .seed = seed ? strtoull(seed, NULL, 10) : 0,
      .verbose = getenv("REVERIE_TEST_VERBOSE") != NULL,
  };
}

static void run(const char *prefix, const struct op_test_options *options, int at_least) {
  int count = 0, failed = op_cases_run(prefix, options, &count);
  assert_true(count >= at_least / (options->apart ? options->apart : 1));
  assert_int_equal(failed, 0);
}

/* Selects one case in `apart`, other ones in each call. */
static struct op_test_options every(int apart, int threads) {
  struct op_test_options options = options_for(threads);
  options.apart = apart > 1 ? apart : 1;
  options.first = (int)(time(NULL) % options.apart);
  return options;
}

/* Returns REVERIE_TEST_APART (default 1): repetitions with other settings run only every so many cases, because the
 * definition is slow with sanitizers. */
static int find_apart(void) {
  const char *apart = getenv("REVERIE_TEST_APART");
  return apart ? atoi(apart) : 1;
}

static struct op_test_options again(int threads) {
  return every(find_apart(), threads);
}

static void convolutions(void **state) {
  (void)state;
  struct op_test_options options = again(2);
  run("conv", &options, 50);
}

static void linear_layers(void **state) {
  (void)state;
  struct op_test_options options = again(2);
  run("linear", &options, 20);
}

static void injections(void **state) {
  (void)state;
  struct op_test_options options = again(2);
  run("inject", &options, 20);
}

static void chains(void **state) {
  (void)state;
  struct op_test_options options = options_for(2);
  run("chain", &options, 3);
}

static void large_sums(void **state) {
  (void)state;
  struct op_test_options options = options_for(2);
  run("sums", &options, 15);
}

static bool covered[OP_TYPES];

static void note_ops(const struct program *program) {
  for (int i = 0; i < program->plan->op_count; i++)
    covered[program->plan->ops[i].type] = true;
}

/* Runs all cases, or every second one if the others are reduced. Each op of the table must have cases. */
static void one_thread(void **state) {
  (void)state;
  struct op_test_options options = every(find_apart() / 4, 1);
  options.prepared = note_ops;
  run("", &options, 150);
  for (int type = 0; type < OP_TYPES; type++)
    if (!covered[type] && options.apart == 1)
      fail_msg("there is no case for '%s'", op_type_name((enum op_type)type));
}

static void five_threads(void **state) {
  (void)state;
  struct op_test_options options = again(5);
  run("", &options, 150);
}

static const struct cpu_kernels *chosen;

static void choose(struct device *device) {
  ((struct cpu_device *)device)->kernels = chosen;
}

static void narrower_vectors(const struct cpu_kernels *kernels) {
  struct op_test_options options = again(2);
  chosen = kernels;
  options.opened = choose;
  run("conv", &options, 50);
  run("norm", &options, 15);
  run("attention", &options, 20);
  run("inject", &options, 20);
  run("pixels", &options, 40);
  run("map", &options, 30);
  run("match", &options, 9);
  run("flow", &options, 12);
}

static void base_vectors(void **state) {
  (void)state;
  narrower_vectors(&cpu_kernels_base);
}

#ifdef __x86_64__
static void avx2_vectors(void **state) {
  (void)state;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    skip();
  narrower_vectors(&cpu_kernels_avx2);
}
#endif

static void bfloat16(void **state) {
  (void)state;
  struct op_test_options options = again(2);
  if (!cpu_dnnl_has_bf16())
    skip();
  options.device.precision = PRECISION_BF16;
  options.operands = DTYPE_BF16;
  options.product = 8e-3; /* a few roundings to BF16, which has 8 significant bits */
  run("", &options, 150);
}

/* Runs the ops that oneDNN computes, with oneDNN restricted to processors without AVX-512, because it chooses its code
 * by the processor. */
static int run_library(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions), cmocka_unit_test(linear_layers), cmocka_unit_test(injections),
      cmocka_unit_test(chains),       cmocka_unit_test(large_sums),
  };
#ifdef __x86_64__
  if (cpu_kernels() != &cpu_kernels_avx512) {
    printf("skipped: this processor has no AVX-512, so test 'ops' has run this code already\n");
    return 77;
  }
#endif
  return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions), cmocka_unit_test(linear_layers), cmocka_unit_test(chains),
      cmocka_unit_test(large_sums),   cmocka_unit_test(one_thread),    cmocka_unit_test(five_threads),
      cmocka_unit_test(base_vectors),
#ifdef __x86_64__
      cmocka_unit_test(avx2_vectors),
#endif
      cmocka_unit_test(bfloat16),
  };
  if (argc > 1 && !strcmp(argv[1], "library"))
    return run_library();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
