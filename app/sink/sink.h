/* Where frames go that are kept: a file, a list of checksums, nowhere. (The window is live's own.)
 *
 * Threads: one thread at a time uses a sink. */
#ifndef APP_SINK_SINK_H
#define APP_SINK_SINK_H

#include "app/source/source.h"
#include "unet/base/controls.h"

struct sink;
struct sound_tap;

enum { SINK_HOLDS = 2 };

struct sink_options {
  enum pixel_format format;                   /* of the frames to come: YUV420P or RGBA */
  int width, height;                          /* likewise; their pixels are square */
  int time_base_num, time_base_den;           /* of frame.pts */
  double fps;                                 /* average, for rate control and the last frame's duration; 0 unknown */
  const char *codec;                          /* FFmpeg encoder; NULL: chosen for the container */
  double quality;                             /* negative: the encoder's usual one */
  const char *name;                           /* of the output in messages; NULL: spec */
  const char *container;                      /* FFmpeg muxer or extension; NULL: what suits spec (target_choose) */
  bool realtime;                              /* the frames come at their own pace */
  const char *sound;                          /* input whose sound and metadata are copied; NULL: none */
  bool no_sound;                              /* its metadata alone is */
  int sound_track;                            /* the one track that is copied, from 1; 0: all of them */
  const struct source_options *sound_options; /* how it was opened */
  struct sound_tap *tap;                      /* sound that goes along with live pictures; NULL: none */
  bool tap_by_clock;                          /* its positions, and sink_place_sound's, are those of platform_now_ns */
  double patience;                            /* seconds until a network's receiver answers; 0: no limit */
  const atomic_bool *stop;                    /* set from anywhere, it ends waiting for a network; NULL: none */
  const struct log *log;
};

struct sink_impl {
  const char *name; /* "file", "null", "hash" */
  bool (*accepts)(const char *spec);
  int (*open)(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err);
  int (*write)(struct sink *sink, const struct frame *frame, struct error *err);
  /* Completes what was written, also after a failed write. Called once, before close. whole: the input was read to its
   * end, so that what is left of its sound belongs into the output. */
  int (*finish)(struct sink *sink, bool whole, struct error *err);
  void (*close)(struct sink *sink);
  void (*place_sound)(struct sink *sink, int64_t source_pts, double seconds); /* NULL: there is no sound */
  long (*pictures)(const struct sink *sink);                                  /* NULL: they are not kept */
  void (*set_end)(struct sink *sink, int64_t pts);                            /* NULL: it has no time */
};

struct sink {
  const struct sink_impl *impl;
};

struct sink_wish {
  const char *spec, *format; /* as sink_open's, and sink_options' container */
  const char *input;         /* what frames are read from */
  const struct source_options *source;
  const char *beside[4 + STYLES_MAX]; /* read as well: a mask, a control source, sound, style pictures; NULL: none */
  long frames;                        /* that come at most; 0: no limit */
  bool overwrite;
};

/* Before anything expensive happens: whether spec can be written to. Files that exist are overwritten with overwrite
 * set or after a yes on the terminal, else refused; those that are read never are, and video is not for a terminal. */
int sink_check(const struct sink_wish *wish, struct error *err);

/* Whether spec is a container of more than pictures, so that what it lacks of the input is missed. */
bool sink_has_tracks(const char *spec, const char *format);

/* True if spec's container keeps the input's timecode. of_file: that which is a tag of the whole file. */
bool sink_keeps_timecode(const char *spec, const char *format, bool of_file);

/* Whether what is written to spec is looked at, so that transparency is missed. */
bool sink_shows_pictures(const char *spec);

/* The format of frames that spec's encoder loses least of. codec, format: as in sink_options; may be NULL. */
enum pixel_format sink_pixels(const char *spec, const char *format, const char *codec);

/* As sink_check, for a file that is no video. */
int sink_check_file(const char *path, bool overwrite, struct error *err);

/* spec: a file, "-" for standard output, a URL, "null:", "hash:FILE" or "hash:-". Errors are STATUS_OUTPUT, or
 * STATUS_USAGE for a codec or container that is not there. */
int sink_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err);
/* The sink may go on holding the picture, of SINK_HOLDS frames at most. */
int sink_write(struct sink *sink, const struct frame *frame, struct error *err);
/* Before a picture is written: its time in its source (by the clock: in nanoseconds), and when that is in the output,
 * for the sound of options.tap. */
void sink_place_sound(struct sink *sink, int64_t source_pts, double seconds);
/* Before it is finished: when the last picture ends, in units of pts; else that stands for a usual time. */
void sink_set_end(struct sink *sink, int64_t pts);
int sink_finish(struct sink *sink, bool whole, struct error *err);
/* Once it is finished: how many pictures can be read in what was written, also after a failure; -1: that is unknown. */
long sink_pictures(const struct sink *sink);
void sink_close(struct sink **sink); /* stores NULL; takes NULL */

extern const struct sink_impl sink_null, sink_hash, sink_ffmpeg;

#endif
