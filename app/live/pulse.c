#include "app/live/pulse.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "app/flow/errand.h"
#include "app/platform/app_platform.h"
#include "unet/base/platform.h"

struct pulse {
  struct errand errand;
  atomic_bool stop;
  bool urgent;
  int64_t period_ns;
  struct stats late;
};

/* The function of the thread that wakes up at equal intervals. Wake-ups that were missed during a delay are skipped, so
 * that each delay counts once. */
static void wake(void *opaque) {
  struct pulse *pulse = opaque;
  platform_be_urgent(pulse->urgent);
  platform_sleep_exactly();
  int64_t due_ns = platform_now_ns(), now_ns = due_ns;
  while (!atomic_load(&pulse->stop)) {
    due_ns = (due_ns + pulse->period_ns > now_ns ? due_ns : now_ns) + pulse->period_ns;
    platform_sleep_until_ns(due_ns);
    now_ns = platform_now_ns();
    stats_add(&pulse->late, (double)(now_ns - due_ns) * 1e-6);
  }
  platform_be_urgent(false);
}

int pulse_start(struct pulse **out, double fps, bool urgent, struct error *err) {
  struct pulse *pulse = calloc(1, sizeof *pulse);
  *out = NULL;
  if (!pulse)
    return error_set(err, STATUS_FAILED, "no memory to see how late the machine wakes a thread");
  pulse->urgent = urgent;
  pulse->period_ns = (int64_t)(1e9 / fps);
  if (errand_start(&pulse->errand, wake, pulse, "only wakes", err)) {
    free(pulse);
    return -1;
  }
  *out = pulse;
  return 0;
}

void pulse_stop(struct pulse **pointer, struct stats *late) {
  struct pulse *pulse = *pointer;
  if (!pulse)
    return;
  atomic_store(&pulse->stop, true);
  errand_join(&pulse->errand);
  *late = pulse->late;
  free(pulse);
  *pointer = NULL;
}
