/* Where frames come from: a const struct of functions per kind of source, and the array that lists them.
 *
 * Threads: one thread at a time uses a source; source_interrupt alone may be called from another thread or a signal
 * handler, and makes a blocked read return soon. */
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

/* Software decoders give the first, those in hardware the second, and the third with ten bits. */
enum pattern_pixels { PATTERN_YUV420P, PATTERN_NV12, PATTERN_P010 };

struct source_options {
  bool live;                  /* newest frame matters, not every frame: slice threads only, small buffers */
  bool loop;                  /* start again at the end */
  bool alpha;                 /* frames come with theirs, in RGBA or BGRA; those that have none are an error */
  const char *input_format;   /* FFmpeg demuxer or device ("v4l2", "x11grab", "lavfi"); NULL: found from the name */
  const char *input_options;  /* "key=value:key=value" for it; NULL: none */
  int width, height;          /* wanted of a camera, screen or pattern; 0: its own choice */
  enum pattern_pixels pixels; /* of the pattern */
  double fps;                 /* wanted likewise */
  double start;               /* seconds into the input of the first frame given out */
  double resume;              /* seconds that the first frame is further than that; a loop begins at start */
  double duration;            /* seconds of input; 0: all */
  bool patient;               /* live: whatever keeps it from being opened, it is tried again */
  bool begun;                 /* live: another program has read of it; a pipe that cannot be opened then has ended */
  double read_timeout;        /* live: seconds of silence after which a stream or camera is lost; 0: none */
  const atomic_bool *stop;    /* set from anywhere, it interrupts opening and reading alike; NULL: none */
  struct mirror *mirror;      /* whether frames come mirrored, from the next on; NULL: never */
  struct sound_tap *tap;      /* gets the sound beside the frames; NULL: nobody wants it */
  struct gpu gpu;             /* that reads the frames; without impl: none does */
  const struct hardware *hardware; /* decodes what it can on that GPU; NULL: software does */
  bool hardware_must;              /* what it cannot decode is an error */
  bool beside;                     /* it goes along with another source: pictures that it lacks are no error */
  bool urgent;                     /* a reader's thread is, where it does not decode itself (app_platform.h) */
  bool tell_left_out;              /* one line names what beside the pictures the output will lack */
  bool tell_transparency;          /* and whether it will lack their transparency */
  bool keeps_timecode;             /* the output does, of an input that can be read twice */
  bool keeps_file_timecode;        /* the same of one that is a tag of the whole input */
  bool no_sound;                   /* sound that the output lacks is no loss */
  const struct log *log;
};

/* What opening a source gives where it failed and may work later: a sender that does not send yet. */
enum { SOURCE_NOT_YET = -2 };

struct source_info {
  char description[192];            /* "clip.mp4: h264 1280x720, 25 fps", by source_describe */
  char name[128];                   /* what it begins with: "clip.mp4: h264"; "": it stays as it is */
  int width, height;                /* as stored, in pixels; 0 unknown */
  double shape;                     /* width / height it is to be seen in; 0 unknown */
  double fps;                       /* average; 0 unknown */
  int time_base_num, time_base_den; /* of frame.pts, seconds = pts * num / den */
  double duration;                  /* seconds; 0 unknown or endless */
  double length;                    /* seconds, of one that starts again each time; 0 unknown */
  int64_t end;                      /* of the last frame that is asked for, in units of pts; 0 unknown */
  long frames;                      /* expected; 0 unknown */
  bool realtime;                    /* a camera, screen or realtime stream: paces itself, cannot be waited for */
  bool returns;                     /* when it ends or fails, it may be there again later */
  bool passes;                      /* what has been read is gone, and what follows is no input without it */
  const char *hardware;             /* decodes it, by its name; NULL: software does */
  long damaged;                     /* packets and frames skipped or patched up so far */
};

/* Seconds from one frame.pts to the next; 0: unknown. */
static inline double source_tick(const struct source_info *info) {
  return info->time_base_den > 0 ? (double)info->time_base_num / info->time_base_den : 0;
}

/* Writes the description again, of what is known by now: a stream that is joined in its middle has its size later. */
void source_describe(struct source_info *info);

struct source_impl {
  const char *name; /* "ffmpeg", "pattern" */
  bool (*accepts)(const char *spec);
  int (*open)(struct source **source, const char *spec, const struct source_options *options, struct error *err);
  /* 1: *frame is filled, with a hold on its picture; 0: the end; -1: an error. */
  int (*read)(struct source *source, struct frame *frame, struct error *err);
  int (*check)(const struct source *source, struct error *err); /* NULL: nothing is ever missing */
  void (*info)(const struct source *source, struct source_info *info);
  void (*close)(struct source *source);
};

/* Every source begins with this. */
struct source {
  const struct source_impl *impl;
  const atomic_bool *stop; /* options.stop */
  atomic_bool interrupted;
  bool is_mirror; /* people stand before it, and expect one */
  struct mirror *mirror;
  struct host_pictures mirrored;
  struct frame ahead; /* read before its turn */
  bool has_ahead;
};

/* 0, SOURCE_NOT_YET or -1, both with err. spec: a file, URL, "pattern[:WxH]", a device ("/dev/video0", "x11grab::0.0",
 * "lavfi:testsrc2=s=512x512:r=30"), "camera", or another spelling of one of these (spec.h). */
int source_open(struct source **source, const char *spec, const struct source_options *options, struct error *err);
/* Whether opening it may take as long as somebody else likes: another computer, the writer of a pipe. */
bool source_opens_late(const char *spec);
/* Reads the first frame, which source_read then has at once. */
int source_read_ahead(struct source *source, struct error *err);
int source_read(struct source *source, struct frame *frame, struct error *err);
/* For a reader that stops before the end: whether all that lies before the last frame was there to be read. 0, or -1
 * with what was not, which source_read says at the end. */
int source_check(const struct source *source, struct error *err);
void source_get_info(const struct source *source, struct source_info *info);
void source_interrupt(struct source *source);
/* Whether someone wants blocking calls to return; reading then gives the end. */
static inline bool source_interrupted(const struct source *source) {
  return atomic_load(&source->interrupted) || (source->stop && atomic_load(source->stop));
}
void source_close(struct source **source); /* stores NULL; takes NULL */

#endif
