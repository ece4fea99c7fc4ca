#include "cuda/run_wait.h"

/* All times are in nanoseconds. A thread is woken by a margin before the expected end of a run. The margin grows by
 * margin_up after each late wake, and shrinks by margin_down after each wake that was too early: eight of these undo
 * one late wake. */
static const int64_t margin_first = 60000, margin_least = 10000, margin_most = 250000;
static const int64_t margin_up = 8000, margin_down = 1000;
/* A wake is too early if the run ends more than this long after it. The limit is lower for a thread that polls memory,
 * because it uses the processor meanwhile. */
static const int64_t early_enough = 25000, early_enough_to_look = 10000;
static const int64_t sleep_least = 20000, approach = 300000, soon = 1000000;
static const int64_t nap_least = 15000, nap_most = 250000;
static const int64_t look_most = 25000;
/* If a run is expected to end within this many nanoseconds, all sleeps are short, so that the end is seen nearly at
 * once. */
static const int64_t at_once_most = 120000;

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Returns the least of the values; 0 if there are none. */
static int64_t least_of(const int64_t *recent_ns, unsigned count) {
  int64_t least = count ? INT64_MAX : 0;
  for (unsigned i = 0; i < count; i++)
    least = smaller(least, recent_ns[i]);
  return least;
}

/* Returns the least of the last DELAYS delays between submission and beginning. The mean would be wrong: if one run in
 * ten begins at once, the thread must be awake early enough for that run, too. */
static int64_t expected_delay(const struct durations *durations) {
  return least_of(durations->delays_ns, durations->delays < DELAYS ? durations->delays : DELAYS);
}

/* Returns the nanoseconds from submission to the expected end, by the shortest of the last runs. If a run takes longer,
 * the thread only asks a few times more; if it were shorter than expected, the thread would see its end late. */
static int64_t expected_duration(const struct durations *durations) {
  return expected_delay(durations) +
         least_of(durations->recent_ns, durations->count < DURATIONS ? durations->count : DURATIONS);
}

/* Calls world->ended, with naps between the calls, until the run has ended, and returns its result. *early_ns:
 * nanoseconds from the first call to the end; -1: the run had already ended. */
static int ask(const struct wait_world *world, int64_t *early_ns) {
  int ended;
  int64_t begun = world->now_ns(world->opaque), now = begun;
  *early_ns = -1;
  while (!(ended = world->ended(world->opaque))) {
    if (!world->looks || now - begun >= look_most)
      world->sleep_until(world->opaque, now + larger(nap_least, smaller((now - begun) / DURATIONS, nap_most)));
    now = world->now_ns(world->opaque);
    *early_ns = now - begun;
  }
  return ended;
}

static void set_margin(struct waiter *waiter, int64_t early_ns, bool looks) {
  if (early_ns < 0)
    waiter->margin_ns = smaller(waiter->margin_ns + margin_up, margin_most);
  else if (early_ns > (looks ? early_enough_to_look : early_enough))
    waiter->margin_ns = larger(waiter->margin_ns - margin_down, margin_least);
}

/* Sleeps until a time. A thread wakes late from a long sleep but hardly from a short one, so a long sleep is split.
 * Returns true if it slept. */
static bool sleep_before(int64_t wake_ns, const struct wait_world *world) {
  if (wake_ns - world->now_ns(world->opaque) > soon)
    world->sleep_until(world->opaque, wake_ns - approach);
  bool sleeps = wake_ns - world->now_ns(world->opaque) > sleep_least;
  if (sleeps)
    world->sleep_until(world->opaque, wake_ns);
  return sleeps;
}

int wait_for_run(struct waiter *waiter, const struct durations *durations, int64_t submitted_ns,
                 const struct wait_world *world) {
  int64_t early_ns;
  if (!waiter->margin_ns)
    waiter->margin_ns = margin_first;
  waiter->begun_ns = larger(submitted_ns, waiter->ended_ns);
  bool slept = sleep_before(waiter->begun_ns + expected_duration(durations) - waiter->margin_ns, world);
  int ended = ask(world, &early_ns);
  waiter->saw = early_ns >= 0;
  waiter->at_once = waiter->saw && early_ns <= at_once_most;
  waiter->seen_ns = world->now_ns(world->opaque);
  if (slept)
    set_margin(waiter, early_ns, world->looks);
  return ended;
}

/* Updates the expected delay. A thread that woke after the end knows only an upper limit of the delay; if it took that
 * for the delay, it would wake later each time. */
static void learn_delay(const struct waiter *waiter, struct durations *durations, int64_t took_ns) {
  int64_t delay_ns = larger(waiter->seen_ns - waiter->begun_ns - took_ns, 0);
  if (waiter->saw || delay_ns < expected_delay(durations))
    durations->delays_ns[durations->delays++ % DELAYS] = delay_ns;
}

/* Returns the time at which a run ended that the thread saw late: the expected end, or the time at which it was seen if
 * that is earlier. */
static int64_t late_end(const struct waiter *waiter, const struct durations *durations, int64_t took_ns) {
  return smaller(waiter->seen_ns, waiter->begun_ns + expected_delay(durations) + took_ns);
}

void wait_learn(struct waiter *waiter, struct durations *durations, int64_t took_ns) {
  durations->recent_ns[durations->count++ % DURATIONS] = took_ns;
  learn_delay(waiter, durations, took_ns);
  waiter->ended_ns = waiter->at_once ? waiter->seen_ns : late_end(waiter, durations, took_ns);
}
