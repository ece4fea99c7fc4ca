#include "app/remote/midi_bytes.h"

#include <stddef.h>

enum { STATUS_BIT = 0x80, PROGRAM = 0xc0, PRESSURE = 0xd0, SYSTEM = 0xf0, SONG = 0xf2, REAL_TIME = 0xf8 };

/* Makes the message of a MIDI clock (tick, start, continue, stop) for a real-time byte. Returns false if the byte is
 * another one. */
static bool make_real_time(uint8_t byte, struct midi_message *message) {
  static const struct {
    uint8_t byte;
    enum midi_kind kind;
  } kinds[] = {{0xf8, MIDI_TICK}, {0xfa, MIDI_START}, {0xfb, MIDI_CONTINUE}, {0xfc, MIDI_STOP}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].byte == byte) {
      *message = (struct midi_message){.kind = kinds[i].kind};
      return true;
    }
  return false;
}

static struct midi_message make(uint8_t status, uint8_t first, uint8_t second) {
  if (status == SONG)
    return (struct midi_message){.kind = MIDI_SONG, .value = second << 7 | first};
  struct midi_message message = {(enum midi_kind)((status >> 4) - 8), (status & 15) + 1, first, second};
  if (message.kind == MIDI_NOTE_ON && !second)
    message.kind = MIDI_NOTE_OFF;
  if (message.kind == MIDI_BEND) {
    message.number = 0;
    message.value = second << 7 | first;
  }
  return message;
}

bool midi_read(struct midi_reader *reader, uint8_t byte, struct midi_message *message) {
  if (byte >= REAL_TIME)
    return make_real_time(byte, message);
  if (byte & STATUS_BIT) {
    *reader = (struct midi_reader){.status = byte < SYSTEM || byte == SONG ? byte : 0};
    return false;
  }
  uint8_t kind = reader->status & 0xf0;
  if (!reader->status)
    return false;
  if (kind == PROGRAM || kind == PRESSURE) {
    *message = make(reader->status, kind == PROGRAM ? byte : 0, kind == PROGRAM ? 0 : byte);
    return true;
  }
  reader->has_first = !reader->has_first;
  if (reader->has_first) {
    reader->first = byte;
    return false;
  }
  *message = make(reader->status, reader->first, byte);
  if (reader->status == SONG) /* running status: only channel messages may follow without a status byte of their own */
    reader->status = 0;
  return true;
}
