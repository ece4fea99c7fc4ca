/* Reads MIDI bytes, as a cable or a raw device brings them, into messages. Real-time bytes, which may come between any
 * two others, and system exclusive messages are skipped. */
#ifndef APP_REMOTE_MIDI_BYTES_H
#define APP_REMOTE_MIDI_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum midi_kind {
  MIDI_NOTE_OFF,
  MIDI_NOTE_ON, /* value: the velocity, from 1 */
  MIDI_KEY_PRESSURE,
  MIDI_CONTROLLER,
  MIDI_PROGRAM,
  MIDI_PRESSURE,
  MIDI_BEND,
};

struct midi_message {
  enum midi_kind kind;
  int channel; /* 1 to 16 */
  int number;  /* note, controller or program, 0 to 127; else 0 */
  int value;   /* 0 to 127; of a bend 0 to 16383, with 8192 in the middle */
};

/* Initialise with zeros. */
struct midi_reader {
  uint8_t status, first; /* status 0: bytes of data are skipped */
  bool has_first;
};

/* Returns true if a message ends with this byte. */
bool midi_read(struct midi_reader *reader, uint8_t byte, struct midi_message *message);

#endif
