#include "app/control/midi_clock.h"

#include <math.h>
#include <string.h>

enum { TICKS_MAX = MIDI_CLOCKS_A_BEAT * MIDI_CLOCK_BEATS, TICKS_A_SIXTEENTH = MIDI_CLOCKS_A_BEAT / 4 };
/* A tick is strange if it comes too early or too late by more than strange_share of the tick interval and more than
 * strange_s seconds. After STRANGE_MOST strange ticks in a row, the clock has changed its tempo, which is computed from
 * these ticks. */
static const double strange_share = 0.15, strange_s = 0.005;
enum { STRANGE_MOST = 4 };

static void forget_all_but(struct midi_clock *clock, int count) {
  memmove(clock->at_ns, clock->at_ns + clock->count - count, (size_t)count * sizeof *clock->at_ns);
  clock->count = count;
}

/* Removes all ticks if none came for long, because the clock has paused, and all but the newest ones if the clock has
 * changed its tempo. */
static void follow_tempo(struct midi_clock *clock, int64_t now_ns) {
  double last, period;
  if (!clock->count)
    return;
  double since = (double)(now_ns - clock->at_ns[clock->count - 1]) * 1e-9;
  if (since > 60 / TEMPO_LEAST / MIDI_CLOCKS_A_BEAT * 2) {
    clock->count = clock->strange = 0;
    return;
  }
  if (clock->count <= STRANGE_MOST)
    return;
  period = beats_fit(clock->at_ns, clock->count, &last);
  double off = fabs(since - last - period);
  clock->strange = off > strange_share * period && off > strange_s ? clock->strange + 1 : 0;
  if (clock->strange == STRANGE_MOST) {
    forget_all_but(clock, STRANGE_MOST - 1);
    clock->strange = 0;
  }
}

static bool take_tick(struct midi_clock *clock, struct beats *beats, int64_t now_ns) {
  double last;
  follow_tempo(clock, now_ns);
  if (clock->count == TICKS_MAX)
    forget_all_but(clock, TICKS_MAX - 1);
  clock->at_ns[clock->count++] = now_ns;
  long tick = clock->stopped ? clock->next : clock->next++;
  if (clock->count < 2)
    return false;
  double period = beats_fit(clock->at_ns, clock->count, &last), tempo = 60 / (period * MIDI_CLOCKS_A_BEAT);
  if (!(tempo <= TEMPO_MOST))
    return false;
  *beats = (struct beats){.tempo = fmax(tempo, TEMPO_LEAST),
                          .beat = (double)tick / MIDI_CLOCKS_A_BEAT,
                          .at_ns = now_ns + (int64_t)(last * 1e9),
                          .stopped = clock->stopped};
  return true;
}

/* Stops the beat at the position of the next tick. Returns true, because *beats was changed. */
static bool stand(const struct midi_clock *clock, struct beats *beats, int64_t now_ns) {
  beats->stopped = true;
  beats_set_beat(beats, (double)clock->next / MIDI_CLOCKS_A_BEAT, now_ns);
  return true;
}

bool midi_clock_take(struct midi_clock *clock, enum midi_clock_message message, int song, struct beats *beats,
                     int64_t now_ns) {
  switch (message) {
  case MIDI_CLOCK_TICK:
    return take_tick(clock, beats, now_ns);
  case MIDI_CLOCK_START:
    clock->next = 0;
    clock->stopped = false;
    return stand(clock, beats, now_ns);
  case MIDI_CLOCK_CONTINUE:
    clock->stopped = false;
    return false;
  case MIDI_CLOCK_STOP:
    clock->stopped = true;
    return stand(clock, beats, now_ns);
  case MIDI_CLOCK_SONG:
    clock->next = (long)song * TICKS_A_SIXTEENTH;
    return clock->stopped && stand(clock, beats, now_ns);
  }
  return false;
}
