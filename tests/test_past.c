/* Tests which runs do not continue earlier ones (engine_request.restart).
 *
 *   test_past GOLDENS DEVICE       skipped where there is no such device */
#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/base/platform.h"

static char **args; /* arguments of the test program */

static void pause_between_runs(int64_t ns) {
  for (int64_t until = platform_now_ns() + ns; platform_now_ns() < until;)
    platform_sleep_ns(20000000);
}

/* Makes the picture of the golden's frame, and returns true if its run did not continue an earlier one. */
static bool begins_anew(struct rig *rig, struct engine_request request) {
  struct engine_result result;
  request.controls = &rig->controls;
  request.frame = &rig->golden.frame;
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  frame_release(&result.picture);
  return result.restarted;
}

static void open_paced(struct rig *rig, bool paced) {
  *rig = (struct rig){0};
  golden_open(&rig->golden, args[1], "turbo");
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = default_shape(&rig->golden);
  params.paced = paced;
  must(rig_engine(rig, &params, &shape), &rig->err);
}

/* A handle's first run, a run after one of another handle, and a run that asks for it are restarts. */
static void a_change_of_handle_ends_the_past(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *other = NULL;
  open_paced(&rig, false);
  const struct engine_shape shape = default_shape(&rig.golden);
  must(engine_prepare(rig.engine, &shape, &other, &rig.err), &rig.err);
  const struct engine_request first = {.prepared = rig.prepared}, second = {.prepared = other};
  assert_true(begins_anew(&rig, first));
  assert_false(begins_anew(&rig, first));
  assert_true(begins_anew(&rig, second));
  assert_false(begins_anew(&rig, second));
  assert_true(begins_anew(&rig, first));
  assert_false(begins_anew(&rig, first));
  assert_true(begins_anew(&rig, (struct engine_request){.prepared = rig.prepared, .restart = true}));
  assert_false(begins_anew(&rig, first));
  /* A new handle at the address of a released one counts as another handle. */
  engine_release(rig.engine, &other);
  must(rig_reshape(&rig, 0, 0, 2), &rig.err);
  assert_true(begins_anew(&rig, (struct engine_request){.prepared = rig.prepared}));
  rig_close(&rig);
}

/* The run after a profile is a restart, because the profile's runs are no frames. */
static void a_profile_ends_the_past(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  open_paced(&rig, false);
  const struct engine_request request = {
      .prepared = rig.prepared, .controls = &rig.controls, .frame = &rig.golden.frame};
  assert_true(begins_anew(&rig, request));
  must(engine_profile(rig.engine, &request, &(struct profile_request){.repeats = 3}, &profile, &rig.err), &rig.err);
  profile_free(&profile);
  assert_true(begins_anew(&rig, request));
  assert_false(begins_anew(&rig, request));
  rig_close(&rig);
}

/* A long pause makes the next run a restart, but only in engines paced by the clock, and not while a run is in
 * flight. */
static void a_pause_ends_the_past(void **state) {
  (void)state;
  for (int paced = 0; paced < 2; paced++) {
    struct rig rig;
    struct engine_result result;
    open_paced(&rig, paced);
    const struct engine_request request = {
        .prepared = rig.prepared, .controls = &rig.controls, .frame = &rig.golden.frame};
    assert_true(begins_anew(&rig, request));
    pause_between_runs(550000000);
    assert_int_equal(begins_anew(&rig, request), paced);
    must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
    pause_between_runs(550000000);
    must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
    for (int i = 0; i < 2; i++) {
      must(engine_collect(rig.engine, &result, &rig.err), &rig.err);
      assert_true(i == 0 || !result.restarted);
      frame_release(&result.picture);
    }
    rig_close(&rig);
  }
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_change_of_handle_ends_the_past),
      cmocka_unit_test(a_profile_ends_the_past),
      cmocka_unit_test(a_pause_ends_the_past),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
