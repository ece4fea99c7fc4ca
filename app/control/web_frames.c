#include "app/control/web_frames.h"

#include <string.h>

enum { FINAL = 0x80, RESERVED = 0x70, KIND = 0x0f, MASKED = 0x80, SHORT = 0x7f, MASK_BYTES = 4 };

static unsigned kind_of(const struct web_frames *frames) {
  return frames->head[0] & KIND;
}

static bool is_control(const struct web_frames *frames) {
  return kind_of(frames) >= WEB_FRAME_CLOSE;
}

static size_t length_bytes(const struct web_frames *frames) {
  unsigned length = frames->head[1] & SHORT;
  return length == 127 ? 8 : length == 126 ? 2 : 0;
}

/* How long the head is, as far as that can be told. */
static size_t head_wanted(const struct web_frames *frames) {
  return frames->head_size < 2 ? 2 : 2 + length_bytes(frames) + MASK_BYTES;
}

static uint64_t read_length(const struct web_frames *frames) {
  size_t bytes = length_bytes(frames);
  uint64_t length = 0;
  for (size_t i = 0; i < bytes; i++)
    length = length << 8 | frames->head[2 + i];
  return bytes ? length : frames->head[1] & SHORT;
}

/* Returns 0, or why a frame with these first two bytes is refused. */
static int check_kind(const struct web_frames *frames) {
  bool final = frames->head[0] & FINAL;
  if ((frames->head[0] & RESERVED) || !(frames->head[1] & MASKED))
    return WEB_CLOSE_PROTOCOL;
  switch (kind_of(frames)) {
  case WEB_FRAME_REST:
    return frames->in_message ? 0 : WEB_CLOSE_PROTOCOL;
  case WEB_FRAME_TEXT:
    return frames->in_message ? WEB_CLOSE_PROTOCOL : 0;
  case WEB_FRAME_CLOSE:
  case WEB_FRAME_PING:
  case WEB_FRAME_PONG:
    return final ? 0 : WEB_CLOSE_PROTOCOL;
  case 2:
    return WEB_CLOSE_KIND;
  default:
    return WEB_CLOSE_PROTOCOL;
  }
}

static int check_length(const struct web_frames *frames) {
  if (is_control(frames))
    return frames->left <= WEB_CONTROL_MAX ? 0 : WEB_CLOSE_PROTOCOL;
  return frames->left <= sizeof frames->text - frames->text_size ? 0 : WEB_CLOSE_TOO_LARGE;
}

static void begin_frame(struct web_frames *frames) {
  frames->in_frame = true;
  frames->masked = 0;
  if (is_control(frames))
    frames->control_size = 0;
  else
    frames->in_message = true;
}

/* Returns how many bytes of the frame's head were taken. */
static size_t take_head(struct web_frames *frames, const unsigned char *bytes, size_t size) {
  size_t taken = 0;
  while (taken < size && frames->head_size < head_wanted(frames)) {
    frames->head[frames->head_size++] = bytes[taken++];
    if (frames->head_size == 2 && (frames->code = check_kind(frames)))
      return taken;
  }
  if (frames->head_size < head_wanted(frames))
    return taken;
  frames->left = read_length(frames);
  frames->code = check_length(frames);
  begin_frame(frames);
  return taken;
}

static size_t take_bytes(struct web_frames *frames, const unsigned char *bytes, size_t size) {
  size_t taken = size < frames->left ? size : (size_t)frames->left;
  const unsigned char *mask = frames->head + frames->head_size - MASK_BYTES;
  unsigned char *out =
      is_control(frames) ? frames->control + frames->control_size : (unsigned char *)frames->text + frames->text_size;
  for (size_t i = 0; i < taken; i++)
    out[i] = bytes[i] ^ mask[frames->masked++ % MASK_BYTES];
  *(is_control(frames) ? &frames->control_size : &frames->text_size) += taken;
  frames->left -= taken;
  return taken;
}

static enum web_frames_event end_frame(struct web_frames *frames) {
  frames->in_frame = false;
  frames->head_size = 0;
  switch (kind_of(frames)) {
  case WEB_FRAME_CLOSE:
    return WEB_FRAMES_CLOSE;
  case WEB_FRAME_PING:
    return WEB_FRAMES_PING;
  case WEB_FRAME_PONG:
    return WEB_FRAMES_PONG;
  default:
    if (!(frames->head[0] & FINAL))
      return WEB_FRAMES_MORE;
    frames->in_message = false;
    frames->done = true;
    return WEB_FRAMES_MESSAGE;
  }
}

enum web_frames_event web_frames_take(struct web_frames *frames, const unsigned char *bytes, size_t size,
                                      size_t *taken) {
  enum web_frames_event event = WEB_FRAMES_MORE;
  *taken = 0;
  if (frames->done)
    frames->text_size = 0;
  frames->done = false;
  while (!frames->code && event == WEB_FRAMES_MORE && *taken < size) {
    if (!frames->in_frame)
      *taken += take_head(frames, bytes + *taken, size - *taken);
    if (frames->in_frame && !frames->code)
      *taken += take_bytes(frames, bytes + *taken, size - *taken);
    if (frames->in_frame && !frames->code && !frames->left)
      event = end_frame(frames);
  }
  return frames->code ? WEB_FRAMES_WRONG : event;
}

size_t web_frame_head(unsigned char head[WEB_FRAME_HEAD_MAX], enum web_frame kind, size_t size) {
  size_t bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
  head[0] = (unsigned char)(FINAL | kind);
  head[1] = (unsigned char)(bytes == 8 ? 127 : bytes == 2 ? 126 : size);
  for (size_t i = 0; i < bytes; i++)
    head[2 + i] = (unsigned char)((uint64_t)size >> (8 * (bytes - 1 - i)));
  return 2 + bytes;
}
