/* Tests which GPUs try products with FP16 sums, and which sums may be done so. Needs no GPU. */
#include "tests/rigs/cmocka_all.h"

#include "cuda/ways/ways.h"

static struct cuda_device make_device(int major, int minor) {
  struct cuda_device device = {0};
  device.properties.major = major;
  device.properties.minor = minor;
  device.queue.sms = 46;
  return device;
}

/* A 3x3 convolution of a 64x64 picture. */
static struct gemm_args make_conv(int c, int columns) {
  return (struct gemm_args){.n = 1,
                            .h = 64,
                            .w = 64,
                            .c = c,
                            .out_h = 64,
                            .out_w = 64,
                            .kernel = 3,
                            .stride = 1,
                            .pad = 1,
                            .columns = columns};
}

static bool has_fp16_sums(const struct choice *choice) {
  return choice->index >= TILES_F32;
}

/* Candidates with FP16 sums are the same tiles and splits as others before them, and follow all of those. */
static void check_candidates(const struct cuda_device *device, const struct gemm_args *args, bool some) {
  struct choice list[WAY_CANDIDATES_MAX];
  int count = way_gemm.candidates(device, args, list), first = 0;
  while (first < count && !has_fp16_sums(&list[first]))
    first++;
  assert_in_range(first, 1, count);
  assert_true((first < count) == some);
  for (int i = first; i < count; i++) {
    const struct gemm_tile_size *size = &gemm_tile_sizes[list[i].index];
    int same = 0;
    assert_true(has_fp16_sums(&list[i]) && size->span == 16);
    while (same < first && (gemm_tile_sizes[list[same].index].m != size->m ||
                            gemm_tile_sizes[list[same].index].n != size->n || list[same].splits != list[i].splits))
      same++;
    assert_in_range(same, 0, first - 1);
    assert_true(way_gemm.takes(device, args, &list[i]));
  }
}

static void test_capabilities(void **state) {
  static const int with[] = {86, 89, 120}, without[] = {80, 87, 90, 100, 103, 121};
  struct gemm_args conv = make_conv(320, 320), few = make_conv(64, 64);
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct cuda_device device = make_device(with[i] / 10, with[i] % 10);
    check_candidates(&device, &conv, true);
    check_candidates(&device, &few, true);
  }
  for (int i = 0; i < 6; i++) {
    struct cuda_device device = make_device(without[i] / 10, without[i] % 10);
    check_candidates(&device, &conv, false);
  }
}

/* Elsewhere a choice with FP16 sums is taken only if a test forces it. */
static void test_forced(void **state) {
  struct cuda_device ampere = make_device(8, 0), ada = make_device(8, 9);
  struct gemm_args conv = make_conv(320, 320);
  (void)state;
  for (int tile = TILES_F32; tile < TILES; tile++) {
    struct choice choice = {&way_gemm, tile, 1};
    ampere.forced = NULL;
    assert_true(way_gemm.takes(&ada, &conv, &choice));
    assert_false(way_gemm.takes(&ampere, &conv, &choice));
    ampere.forced = &choice;
    assert_true(way_gemm.takes(&ampere, &conv, &choice));
  }
  assert_false(way_gemm.takes(&ada, &conv, &(struct choice){&way_gemm, TILES, 1}));
}

/* The deepest sums of networks keep the bound with FP16 sums, and there is a depth from which none does. With GEGLU no
 * sums are FP16. */
static void test_depth(void **state) {
  struct cuda_device device = make_device(12, 0);
  struct choice choice = {&way_gemm, TILE_128x160_F16, 1}, plain = {&way_gemm, TILE_128x160, 1};
  struct gemm_args deepest = make_conv(2560, 1280), too_deep = make_conv(32768, 1280);
  (void)state;
  assert_true(way_gemm.takes(&device, &deepest, &choice));
  assert_false(way_gemm.takes(&device, &too_deep, &choice));
  assert_true(way_gemm.takes(&device, &too_deep, &plain));
  check_candidates(&device, &deepest, true);
  check_candidates(&device, &too_deep, false);
  deepest.act = ACT_GEGLU;
  assert_false(way_gemm.takes(&device, &deepest, &choice));
  check_candidates(&device, &deepest, false);
}

/* Without timing the first candidate is what is used: its sums are FP32 on every GPU. */
static void test_rule(void **state) {
  struct cuda_device ada = make_device(8, 9), ampere = make_device(8, 0);
  (void)state;
  for (int c = 8; c <= 1280; c *= 2) {
    struct choice one[WAY_CANDIDATES_MAX], other[WAY_CANDIDATES_MAX];
    struct gemm_args conv = make_conv(c, c);
    way_gemm.candidates(&ada, &conv, one);
    way_gemm.candidates(&ampere, &conv, other);
    assert_int_equal(one[0].index, other[0].index);
    assert_int_equal(one[0].splits, other[0].splits);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_capabilities),
      cmocka_unit_test(test_forced),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
