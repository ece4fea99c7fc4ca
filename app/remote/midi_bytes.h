/* Parses a stream of MIDI bytes, as a raw device or file delivers it, into messages. Real-time bytes, which may occur
 * inside another message, are messages of their own if they belong to a MIDI clock. Other real-time bytes and system
 * exclusive messages are skipped. */
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
  /* The messages of a MIDI clock, which have no channel. MIDI_SONG is the song position pointer; its value is the
   * position in sixteenth notes. */
  MIDI_TICK,
  MIDI_START,
  MIDI_CONTINUE,
  MIDI_STOP,
  MIDI_SONG,
};

struct midi_message {
  enum midi_kind kind;
  int channel; /* MIDI channel, 1 to 16; 0 for messages of a MIDI clock, which have no channel */
  int number;  /* number of the note, controller or program, 0 to 127; 0 for other kinds of messages */
  /* value in the message, 0 to 127; for MIDI_BEND 0 to 16383, where 8192 is the centre; for MIDI_SONG 0 to 16383 */
  int value;
};

/* What the parser remembers from one byte to the next. Initialise with zeros. */
struct midi_reader {
  /* status: the last status byte, 0 if the following data bytes are to be skipped; `first`: the first data byte of a
   * message, valid if has_first is true */
  uint8_t status, first;
  bool has_first;
};

/* Parses one byte. Returns true if it completes a message, which is stored in *message. */
bool midi_read(struct midi_reader *reader, uint8_t byte, struct midi_message *message);

#endif
