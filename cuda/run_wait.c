#include "cuda/run_wait.h"

/* All times are in nanoseconds. A waiting thread wakes by a margin (margin_ns) before the expected end of a run. The
 * margin grows by margin_up if the thread woke too late, and shrinks by margin_down if it woke too early. So eight
 * early wakes undo one late wake. */
static const int64_t margin_first = 60000, margin_least = 10000, margin_most = 250000;
static const int64_t margin_up = 8000, margin_down = 1000;
/* A wake counts as too early if the run ends more than early_enough nanoseconds after it. early_enough_to_look is for a
 * thread that polls memory after it woke; it is lower, because polling uses the processor. */
static const int64_t early_enough = 25000, early_enough_to_look = 10000;
static const int64_t sleep_least = 20000, approach = 300000, soon = 1000000;
static const int64_t nap_least = 15000, nap_most = 250000;
static const int64_t look_most = 25000;
/* A run's end counts as seen at once if the thread woke at most this many nanoseconds before it: after waking, the
 * thread has then slept only for short times. */
static const int64_t at_once_most = 120000;

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Returns the smallest of the first `count` values, in nanoseconds; 0 if there are none. */
static int64_t least_of(const int64_t *recent_ns, unsigned count) {
  int64_t least = count ? INT64_MAX : 0;
  for (unsigned i = 0; i < count; i++)
    least = smaller(least, recent_ns[i]);
  return least;
}

/* Returns the smallest of the last DELAYS delays, in nanoseconds, between a run's submission and its beginning. The
 * mean of the delays would not do: if one run in ten begins at once, the thread must wake early enough for that run. */
static int64_t expected_delay(const struct durations *durations) {
  return least_of(durations->delays_ns, durations->delays < DELAYS ? durations->delays : DELAYS);
}

/* Returns the expected nanoseconds from a run's submission to its end: the shortest of the last delays plus the
 * shortest of the last durations. Means would make the thread wake too late for every run that is faster than the mean.
 * If a run is slower than expected, the thread only asks a few times more. */
static int64_t expected_duration(const struct durations *durations) {
  return expected_delay(durations) +
         least_of(durations->recent_ns, durations->count < DURATIONS ? durations->count : DURATIONS);
}

/* Calls world->ended again and again, with short sleeps in between, until it says that the run has ended or never will;
 * returns that result. *early_ns: nanoseconds from the first call to the run's end; -1: the run had ended before the
 * first call. *under_way_ns: last time at which the run was still under way; 0: it never was. */
static int ask(const struct wait_world *world, int64_t *early_ns, int64_t *under_way_ns) {
  int ended;
  int64_t begun = world->now_ns(world->opaque), now = begun;
  *early_ns = -1;
  *under_way_ns = 0;
  while (!(ended = world->ended(world->opaque))) {
    *under_way_ns = now;
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

/* Sleeps until wake_ns, and returns true if it slept. A thread wakes late from a long sleep, but hardly late from a
 * short one, so a long sleep is divided in two. */
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
  int ended = ask(world, &early_ns, &waiter->under_way_ns);
  waiter->saw = early_ns >= 0;
  waiter->at_once = waiter->saw && early_ns <= at_once_most;
  waiter->seen_ns = world->now_ns(world->opaque);
  if (slept)
    set_margin(waiter, early_ns, world->looks);
  return ended;
}

/* Updates the expected delay between a run's submission and its beginning. If the thread woke after the run's end, only
 * an upper limit of the delay is known. It is used only if it is lower than the expected delay: otherwise the expected
 * delay would grow, and the thread would wake later each time. */
static void learn_delay(const struct waiter *waiter, struct durations *durations, int64_t took_ns) {
  int64_t delay_ns = larger(waiter->seen_ns - waiter->begun_ns - took_ns, 0);
  if (waiter->saw || delay_ns < expected_delay(durations))
    durations->delays_ns[durations->delays++ % DELAYS] = delay_ns;
}

/* Returns the estimated end, in ns, of a run whose end the thread did not see at once. The run is assumed to have begun
 * without delay. But it cannot have ended before the last time at which it was seen under way, nor after its end was
 * seen. The next run's times are counted from this estimate. If it is too early, the thread wakes too early, sees the
 * next end at once, and so corrects the error. If it were too late, the thread would wake later each time; so no delay
 * is assumed. */
static int64_t estimated_end(const struct waiter *waiter, int64_t took_ns) {
  return smaller(waiter->seen_ns, larger(waiter->under_way_ns, waiter->begun_ns + took_ns));
}

void wait_learn(struct waiter *waiter, struct durations *durations, int64_t took_ns) {
  durations->recent_ns[durations->count++ % DURATIONS] = took_ns;
  learn_delay(waiter, durations, took_ns);
  waiter->ended_ns = waiter->at_once ? waiter->seen_ns : estimated_end(waiter, took_ns);
}
