/* A web socket's frames (RFC 6455), as bytes. Nothing here knows a connection. */
#ifndef APP_CONTROL_WEB_FRAMES_H
#define APP_CONTROL_WEB_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/control/messages.h"

enum { WEB_FRAME_HEAD_MAX = 10, WEB_CONTROL_MAX = 125 };

enum web_frame {
  WEB_FRAME_REST = 0,
  WEB_FRAME_TEXT = 1,
  WEB_FRAME_CLOSE = 8,
  WEB_FRAME_PING = 9,
  WEB_FRAME_PONG = 10,
};

/* Why a web socket is closed. */
enum { WEB_CLOSE_NORMAL = 1000, WEB_CLOSE_PROTOCOL = 1002, WEB_CLOSE_KIND = 1003, WEB_CLOSE_TOO_LARGE = 1009 };

enum web_frames_event {
  WEB_FRAMES_MORE,    /* the bytes are used up */
  WEB_FRAMES_MESSAGE, /* text and text_size are a whole message */
  WEB_FRAMES_PING,    /* control and control_size are to be sent back */
  WEB_FRAMES_PONG,
  WEB_FRAMES_CLOSE,
  WEB_FRAMES_WRONG, /* code says why */
};

/* What has come of a message and of the frame under way. Zero-initialise to start. */
struct web_frames {
  char text[MESSAGE_LINE_MAX];
  unsigned char control[WEB_CONTROL_MAX];
  size_t text_size, control_size;
  unsigned char head[14];
  size_t head_size;
  uint64_t left;                   /* bytes of the frame that are still to come */
  unsigned masked;                 /* how many of its bytes have come, for the mask's place */
  bool in_frame, in_message, done; /* done: text is a whole message, which the next call forgets */
  int code;
};

/* Takes bytes of a client up to the end of a frame. *taken: how many. Nothing is taken after WEB_FRAMES_WRONG. */
enum web_frames_event web_frames_take(struct web_frames *frames, const unsigned char *bytes, size_t size,
                                      size_t *taken);

/* Writes the head of a frame of this many bytes. Returns how long it is. */
size_t web_frame_head(unsigned char head[WEB_FRAME_HEAD_MAX], enum web_frame kind, size_t size);

#endif
