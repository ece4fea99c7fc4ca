/* Follows a MIDI clock: 24 tick messages a beat, and the messages start, continue, stop and song position, by which a
 * sequencer tells its position in the song. The functions read no clock: the times of messages are passed to them, in
 * nanoseconds of platform_now_ns. */
#ifndef APP_CONTROL_MIDI_CLOCK_H
#define APP_CONTROL_MIDI_CLOCK_H

#include "app/control/beats.h"

enum { MIDI_CLOCKS_A_BEAT = 24, MIDI_CLOCK_BEATS = 8 };

/* The messages of a MIDI clock. */
enum midi_clock_message { MIDI_CLOCK_TICK, MIDI_CLOCK_START, MIDI_CLOCK_CONTINUE, MIDI_CLOCK_STOP, MIDI_CLOCK_SONG };

/* State of following a MIDI clock. Initialise with zeros. */
struct midi_clock {
  /* times of the last ticks, the oldest first: at most those of MIDI_CLOCK_BEATS beats, and none from before a change
   * of tempo */
  int64_t at_ns[MIDI_CLOCKS_A_BEAT * MIDI_CLOCK_BEATS];
  int count;
  int strange;  /* number of ticks in a row that came far from the times at which they were expected */
  long next;    /* number of the next tick, in ticks since the song's beginning */
  bool stopped; /* true: the last message of start, continue and stop was a stop */
};

/* Handles a message that came at now_ns. song: for MIDI_CLOCK_SONG, the position in the song in sixteenth notes.
 * Returns true if *beats was set; the song's first beat has the number 0. From the second tick on there is a tempo:
 * that of a line fitted through the ticks of up to MIDI_CLOCK_BEATS beats. */
bool midi_clock_take(struct midi_clock *clock, enum midi_clock_message message, int song, struct beats *beats,
                     int64_t now_ns);

#endif
