#include "app/remote/midi_bytes.h"

enum { STATUS_BIT = 0x80, PROGRAM = 0xc0, PRESSURE = 0xd0, SYSTEM = 0xf0, REAL_TIME = 0xf8 };

static struct midi_message make(uint8_t status, uint8_t first, uint8_t second) {
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
    return false;
  if (byte & STATUS_BIT) {
    *reader = (struct midi_reader){.status = byte < SYSTEM ? byte : 0};
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
  return true;
}
