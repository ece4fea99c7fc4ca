/* Sources of frames. Each kind of source is a const struct source_impl of functions; source.c tries them in turn.
 *
 * Threads: one thread at a time uses a source. Only source_interrupt may be called from another thread or a signal
 * handler; it makes a blocking read return soon. */
#ifndef APP_SOURCE_SOURCE_H
#define APP_SOURCE_SOURCE_H

#include <stdatomic.h>

#include "app/source/mirror.h"
#include "unet/base/error.h"
#include "unet/base/frame.h"
#include "unet/base/log.h"
#include "unet/base/picture.h"

struct hardware;
struct source;
struct sound_tap;

/* Pixels of the pattern: those of software decoders, of hardware decoders, and of hardware decoders with ten bits. */
enum pattern_pixels { PATTERN_YUV420P, PATTERN_NV12, PATTERN_P010 };

struct source_options {
  /* Which frames are read, and in which form. */
  bool live;  /* the newest frame matters, not every frame: slice threads only, small buffers */
  bool loop;  /* the source starts again at its end */
  bool alpha; /* frames come with their alpha, in RGBA or BGRA; pixels without alpha are an error */
  /* name of an FFmpeg demuxer or device ("v4l2", "x11grab", "lavfi"); NULL: it is chosen by the input's name */
  const char *input_format;
  const char *input_options;  /* "key=value:key=value" for it; NULL: none */
  int width, height;          /* size in pixels that a camera, screen or pattern is asked for; 0: its own choice */
  enum pattern_pixels pixels; /* pixels of the pattern */
  double fps;                 /* frames a second that a camera, screen or pattern is asked for; 0: its own choice */
  double start;               /* the place of the first frame in the input, in seconds */
  /* seconds after start at which the first pass through a looping input begins; later passes begin at start */
  double resume;
  double duration; /* seconds of the input to read; 0: all */
  /* Opening and waiting. */
  bool patient; /* live: opening is tried again after any error */
  /* live: another program has read from this source before; a pipe that cannot be opened has ended then */
  bool begun;
  double read_timeout;     /* live: seconds without data after which a stream or camera is lost; 0: no limit */
  const atomic_bool *stop; /* if set by any thread, it interrupts opening and reading; NULL: none */
  /* Where frames and sound go, and what decodes. */
  struct mirror *mirror;           /* tells if frames are mirrored, from the next one on; NULL: never */
  struct sound_tap *tap;           /* gets the sound of the source; NULL: not wanted */
  struct gpu gpu;                  /* the GPU that reads the frames; without impl: none */
  const struct hardware *hardware; /* decodes what it can on that GPU; NULL: software decodes */
  bool hardware_must;              /* video that the hardware cannot decode is an error */
  /* it is the second source of another one, so missing pictures of a sequence are no error */
  bool secondary;
  /* The thread that reads the source gets an urgent priority (app_platform.h) while it does not decode in software. */
  bool urgent;
  /* Messages about what the output will lack. */
  bool tell_left_out;       /* a log line tells which parts of the input the output will lack */
  bool tell_transparency;   /* that line, or another one, also tells if the output will lack transparency */
  bool keeps_timecode;      /* the output keeps a timecode, if the input can be read twice */
  bool keeps_file_timecode; /* the output keeps a timecode that is a tag of the whole input and not of the video */
  bool no_sound;            /* sound that the output lacks is not mentioned */
  const struct log *log;
};

/* Result of opening a source that failed, but may work later: a sender that is not sending yet. */
enum { SOURCE_NOT_YET = -2 };

struct source_info {
  /* Words for the user. */
  char description[192]; /* "clip.mp4: h264 1280x720, 25 fps", from source_describe */
  /* first part of the description ("clip.mp4: h264"), from which source_describe writes the whole one; "": the
   * description never changes */
  char name[128];
  /* The frames. */
  int width, height;                /* size of stored pictures in pixels; 0: unknown */
  double shape;                     /* width / height of displayed pictures; 0: unknown */
  double fps;                       /* average; 0: unknown */
  int time_base_num, time_base_den; /* unit of frame.pts: seconds = pts * num / den */
  double duration;                  /* seconds; 0: unknown or endless */
  double length;                    /* seconds of one pass through a source that loops; 0: unknown */
  int64_t end;                      /* end of the last frame that is wanted, in units of pts; 0: unknown */
  long frames;                      /* number of frames expected; 0: unknown */
  /* How the source behaves. */
  /* A camera, screen or live stream: it sets its own pace and cannot be made to wait. */
  bool realtime;
  bool returns; /* after it ends or fails, the source may be opened again later */
  /* reading consumes the input (a pipe), and what is left is no valid input for another program */
  bool passes;
  const char *hardware; /* name of the hardware that decodes; NULL: software does */
  long damaged;         /* packets and frames skipped or concealed so far */
};

/* Returns the unit of frame.pts in seconds; 0: unknown. */
static inline double source_tick(const struct source_info *info) {
  return info->time_base_den > 0 ? (double)info->time_base_num / info->time_base_den : 0;
}

/* Writes the description anew: the size of a stream that is joined in its middle is known later. */
void source_describe(struct source_info *info);

struct source_impl {
  const char *name; /* "ffmpeg", "pattern" */
  bool (*accepts)(const char *spec);
  int (*open)(struct source **source, const char *spec, const struct source_options *options, struct error *err);
  /* Returns 1: *frame is filled, with a hold on its picture; 0: the end; -1: an error. */
  int (*read)(struct source *source, struct frame *frame, struct error *err);
  int (*check)(const struct source *source, struct error *err); /* NULL: nothing is ever missing */
  void (*info)(const struct source *source, struct source_info *info);
  void (*close)(struct source *source);
};

/* The first member of each source's own struct. */
struct source {
  const struct source_impl *impl;
  const atomic_bool *stop; /* options.stop */
  atomic_bool interrupted;
  bool is_mirror; /* people look at themselves in it and expect a mirror */
  struct mirror *mirror;
  struct host_pictures mirrored;
  struct frame ahead; /* the frame that source_read_ahead has read */
  bool has_ahead;
};

/* Opens a source. spec: a file, URL, "pattern[:WxH]", a device ("/dev/video0", "x11grab::0.0",
 * "lavfi:testsrc2=s=512x512:r=30"), "camera", or another spelling of one of these (spec.h). Returns 0, or
 * SOURCE_NOT_YET or -1 with err. err may be NULL. The caller closes the source. What options point to must outlive
 * it. */
int source_open(struct source **source, const char *spec, const struct source_options *options, struct error *err);
/* True if opening this source may take any time, because it depends on another computer or on the writer of a pipe. */
bool source_opens_late(const char *spec);
/* Reads the first frame, which the next source_read returns. Returns 0, or -1 with err. */
int source_read_ahead(struct source *source, struct error *err);
/* Reads the next frame. Returns 1: *frame is filled, and the caller releases it; 0: the end, or an interrupt; -1 with
 * err. */
int source_read(struct source *source, struct frame *frame, struct error *err);
/* Checks that everything before the last frame could be read, for a caller that stops before the end; at the end,
 * source_read does the same. Returns 0, or -1 with err. */
int source_check(const struct source *source, struct error *err);
/* Copies what is known of the source by now. info->hardware points to a constant string. */
void source_get_info(const struct source *source, struct source_info *info);
/* Makes source_read return the end from now on, also a read that blocks at present. Callable from any thread and from a
 * signal handler. */
void source_interrupt(struct source *source);
/* True if the source was interrupted or options.stop is set: blocking calls return, and reading returns the end. */
static inline bool source_interrupted(const struct source *source) {
  return atomic_load(&source->interrupted) || (source->stop && atomic_load(source->stop));
}
void source_close(struct source **source); /* stores NULL; accepts NULL */

#endif
