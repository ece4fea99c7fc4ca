#include "cuda/wait.h"

/* A thread that is woken too late wakes earlier from then on, by as much as sixteen that are in time give back. */
static const int64_t margin_first = 80000, margin_least = 10000, margin_most = 250000;
static const int64_t margin_up = 16000, margin_down = 1000;
static const int64_t asking_enough = 12000; /* a thread that asks longer than that could have slept longer */
static const int64_t sleep_least = 20000;
static const int64_t asking_most = 60000, nap_least = 5000, nap_most = 250000;

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The shortest of the last ones: a longer run costs some more asking, a shorter one would be late. */
static int64_t expected_duration(const struct durations *durations) {
  int64_t least = durations->count ? INT64_MAX : 0;
  for (unsigned i = 0; i < durations->count && i < DURATIONS; i++)
    least = smaller(least, durations->recent_ns[i]);
  return least;
}

static int ask(const struct wait_world *world, int64_t *asked_ns) {
  int ended, asks = 0;
  int64_t begun = world->now_ns(world->opaque), now = begun;
  while (!(ended = world->ended(world->opaque))) {
    now = world->now_ns(world->opaque);
    asks++;
    if (now - begun > asking_most)
      world->sleep_until(world->opaque, now + larger(nap_least, smaller((now - begun) / DURATIONS, nap_most)));
  }
  *asked_ns = asks ? now - begun : -1;
  return ended;
}

static void set_margin(struct waiter *waiter, int64_t asked_ns) {
  if (asked_ns < 0)
    waiter->margin_ns = smaller(waiter->margin_ns + margin_up, margin_most);
  else if (asked_ns > asking_enough)
    waiter->margin_ns = larger(waiter->margin_ns - margin_down, margin_least);
}

int wait_for_run(struct waiter *waiter, const struct durations *durations, int64_t submitted_ns,
                 const struct wait_world *world) {
  int64_t asked_ns = -1;
  if (!waiter->margin_ns)
    waiter->margin_ns = margin_first;
  waiter->begun_ns = larger(submitted_ns, waiter->ended_ns);
  int64_t wake_ns = waiter->begun_ns + expected_duration(durations) - waiter->margin_ns;
  bool sleeps = wake_ns - world->now_ns(world->opaque) > sleep_least;
  if (sleeps)
    world->sleep_until(world->opaque, wake_ns);
  int ended = ask(world, &asked_ns);
  waiter->at_once = asked_ns >= 0 && asked_ns <= asking_most;
  waiter->seen_ns = world->now_ns(world->opaque);
  if (sleeps)
    set_margin(waiter, asked_ns);
  return ended;
}

/* A thread that came late knows the end from the duration alone. Taken for the end, the moment at which it came would
 * make it come later each time. */
void wait_learn(struct waiter *waiter, struct durations *durations, int64_t took_ns) {
  durations->recent_ns[durations->count++ % DURATIONS] = took_ns;
  waiter->ended_ns = waiter->at_once ? waiter->seen_ns : smaller(waiter->seen_ns, waiter->begun_ns + took_ns);
}
