/* Parses a stream of MIDI bytes, as a raw device or file delivers it, into messages. Real-time bytes, which may occur
 * inside another message, and system exclusive messages are skipped. */
#ifndef APP_REMOTE_MIDI_BYTES_H
#define APP_REMOTE_MIDI_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum midi_kind {
  MIDI_NOTE_OFF,
  MIDI_NOTE_ON,      /* value: the velocity, from 1; a note-on with velocity 0 is returned as MIDI_NOTE_OFF */
  MIDI_KEY_PRESSURE, /* pressure on one key */
  MIDI_CONTROLLER,
  MIDI_PROGRAM,
  MIDI_PRESSURE, /* pressure on the whole channel */
  MIDI_BEND,
};

struct midi_message {
  enum midi_kind kind;
  int channel; /* 1 to 16 */
  int number;  /* note, controller or program, 0 to 127; else 0 */
  int value;   /* 0 to 127; for MIDI_BEND 0 to 16383, where 8192 is the centre */
};

/* State of the parser. Initialise with zeros. */
struct midi_reader {
  /* status: the last status byte; 0: data bytes are skipped. first: the first data byte, if has_first */
  uint8_t status, first;
  bool has_first;
};

/* Parses one byte. Returns true if it completes a message, which is stored in *message. */
bool midi_read(struct midi_reader *reader, uint8_t byte, struct midi_message *message);

#endif
