#include "app/remote/osc_packet.h"

#include <float.h>
#include <lo/lo.h>
#include <lo/lo_lowlevel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUNDLE_HEAD = 16, DEPTH_MAX = 4 };
static const char bundle_word[8] = "#bundle";

/* Converts a float to the double that has the same shortest decimal form: a sender that writes 0.7 as a float means
 * 0.7, and not 0.699999988, which presets and other clients would otherwise show. */
static double from_float(float number) {
  char text[32];
  for (int digits = FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)number);
    if (strtof(text, NULL) == number)
      break;
  }
  return strtod(text, NULL);
}

/* Reads an argument of an OSC message. type: the argument's OSC type tag. at: its bytes, which may be aligned to only
 * four bytes. */
static struct osc_argument read_argument(char type, const void *at) {
  struct osc_argument argument = {.type = type, .number = (double)NAN};
  union {
    int32_t i;
    int64_t h;
    float f;
    double d;
  } value;
  switch (type) {
  case LO_INT32:
    memcpy(&value.i, at, sizeof value.i);
    argument.number = value.i;
    break;
  case LO_INT64:
    memcpy(&value.h, at, sizeof value.h);
    argument.number = (double)value.h;
    break;
  case LO_FLOAT:
    memcpy(&value.f, at, sizeof value.f);
    argument.number = from_float(value.f);
    break;
  case LO_DOUBLE:
    memcpy(&value.d, at, sizeof value.d);
    argument.number = value.d;
    break;
  case LO_TRUE:
  case LO_INFINITUM:
    argument.number = 1;
    break;
  case LO_FALSE:
    argument.number = 0;
    break;
  case LO_STRING:
  case LO_SYMBOL:
    argument.text = at;
    break;
  default:
    break;
  }
  return argument;
}

/* Parses one message and passes it to `take`. The bytes are copied first, because liblo's parser modifies them. Returns
 * the number of messages: 1, or 0 if the message is damaged or memory is short. */
static int read_message(const uint8_t *bytes, size_t size, void (*take)(void *, const struct osc_message *),
                        void *opaque) {
  int code;
  void *copy = malloc(size);
  if (!copy)
    return 0;
  memcpy(copy, bytes, size);
  lo_message lo = lo_message_deserialise(copy, size, &code);
  if (lo) {
    struct osc_message message = {.address = copy};
    const char *types = lo_message_get_types(lo);
    lo_arg **args = lo_message_get_argv(lo);
    int count = lo_message_get_argc(lo);
    for (; message.count < count && message.count < OSC_ARGUMENTS_MAX; message.count++)
      message.argument[message.count] = read_argument(types[message.count], args[message.count]);
    take(opaque, &message);
    lo_message_free(lo);
  }
  free(copy);
  return lo != NULL;
}

static size_t read_size(const uint8_t *bytes) {
  return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

static int read_part(const uint8_t *bytes, size_t size, int depth, void (*take)(void *, const struct osc_message *),
                     void *opaque) {
  int count = 0;
  if (!size || size % 4)
    return 0;
  if (*bytes == '/')
    return read_message(bytes, size, take, opaque);
  if (size < BUNDLE_HEAD || depth == DEPTH_MAX || memcmp(bytes, bundle_word, sizeof bundle_word) != 0)
    return 0;
  for (size_t at = BUNDLE_HEAD; at + 4 <= size;) {
    size_t part = read_size(bytes + at);
    at += 4;
    if (part > size - at)
      break;
    count += read_part(bytes + at, part, depth + 1, take, opaque);
    at += part;
  }
  return count;
}

int osc_read(const void *bytes, size_t size, void (*take)(void *, const struct osc_message *), void *opaque) {
  return read_part(bytes, size, 0, take, opaque);
}

static bool add_argument(lo_message lo, const struct osc_argument *argument) {
  switch (argument->type) {
  case LO_INT32:
    return !lo_message_add_int32(lo, (int32_t)argument->number);
  case LO_INT64:
    return !lo_message_add_int64(lo, (int64_t)argument->number);
  case LO_FLOAT:
    return !lo_message_add_float(lo, (float)argument->number);
  case LO_DOUBLE:
    return !lo_message_add_double(lo, argument->number);
  case LO_STRING:
    return !lo_message_add_string(lo, argument->text);
  default:
    return false;
  }
}

/* Appends a message to a bundle, after the message's length in 32 bits. Room for a bundle's header is left before the
 * first message, so that it need not be moved when a second one comes. Returns false if the message does not fit. */
static bool put(struct osc_packet *packet, lo_message lo, const char *address) {
  size_t at = packet->size ? packet->size : BUNDLE_HEAD, length = lo_message_length(lo, address);
  size_t limit = packet->size ? OSC_PACKET_MAX : sizeof packet->bytes;
  if (at + 4 + length > limit)
    return false;
  for (int i = 0; i < 4; i++)
    packet->bytes[at + (size_t)i] = (uint8_t)(length >> (24 - 8 * i));
  size_t written = length;
  if (!lo_message_serialise(lo, address, packet->bytes + at + 4, &written))
    return false;
  packet->size = at + 4 + length;
  packet->count++;
  return true;
}

bool osc_add(struct osc_packet *packet, const struct osc_message *message) {
  static const uint8_t at_once[8] = {0, 0, 0, 0, 0, 0, 0, 1};
  lo_message lo = lo_message_new();
  bool made = lo != NULL;
  for (int i = 0; i < message->count && made; i++)
    made = add_argument(lo, &message->argument[i]);
  memcpy(packet->bytes, bundle_word, sizeof bundle_word);
  memcpy(packet->bytes + sizeof bundle_word, at_once, sizeof at_once);
  made = made && put(packet, lo, message->address);
  if (lo)
    lo_message_free(lo);
  return made;
}

const uint8_t *osc_bytes(const struct osc_packet *packet, size_t *size) {
  size_t head = packet->count == 1 ? BUNDLE_HEAD + 4 : 0;
  *size = packet->size - (packet->size ? head : 0);
  return packet->bytes + head;
}
