/* MIDI as bytes, the way a cable or a raw device brings them, read into messages. Real-time bytes may come between any
 * two others; system exclusive is passed over. */
#ifndef APP_REMOTE_MIDI_BYTES_H
#define APP_REMOTE_MIDI_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum midi_kind {
  MIDI_NOTE_OFF,
  MIDI_NOTE_ON, /* value: how hard, from 1 */
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
  int value;   /* 0 to 127; of a bend to 16383, 8192 in the middle */
};

/* Zero-initialise to start. */
struct midi_reader {
  uint8_t status, first; /* status 0: bytes of data belong to nothing */
  bool has_first;
};

/* Whether a message ends with this byte. */
bool midi_read(struct midi_reader *reader, uint8_t byte, struct midi_message *message);

#endif
