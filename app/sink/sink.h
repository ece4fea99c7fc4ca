/* Sinks take the finished frames and write them to a file or a stream, write a checksum of each, or do nothing. (The
 * window is no sink.)
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
  /* The frames. */
  enum pixel_format format;         /* pixels of the frames: YUV420P or RGBA */
  int width, height;                /* size of the frames in square pixels */
  int time_base_num, time_base_den; /* unit of frame.pts in seconds */
  double fps;                       /* average, for rate control and the last frame's duration; 0: unknown */
  /* The output. */
  const char *codec;     /* name of an FFmpeg encoder; NULL: one is chosen for the container */
  double quality;        /* 0: the best; negative: the encoder's usual */
  const char *name;      /* name of the output in messages; NULL: spec */
  const char *container; /* FFmpeg muxer or file extension; NULL: chosen by spec (target_choose) */
  bool realtime;         /* frames come at the pace at which they are shown */
  /* Sound: copied from an input, or recorded from a tap. */
  const char *sound;                          /* input whose sound and metadata are copied; NULL: none */
  bool no_sound;                              /* only the metadata of `sound` is copied, not its sound */
  int sound_track;                            /* the only track to copy, counted from 1; 0: all */
  const struct source_options *sound_options; /* the options that input was opened with */
  struct sound_tap *tap;                      /* sound to record with live pictures; NULL: none */
  bool tap_by_clock;                          /* positions in tap and sink_place_sound are times of platform_now_ns */
  /* Waiting and messages. */
  double patience;         /* seconds to wait for a network's receiver to answer; 0: no limit */
  const atomic_bool *stop; /* if set by any thread, waits for a network end; NULL: none */
  const struct log *log;
};

struct sink_impl {
  const char *name; /* "file", "null", "hash" */
  bool (*accepts)(const char *spec);
  int (*open)(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err);
  int (*write)(struct sink *sink, const struct frame *frame, struct error *err);
  /* Completes the output, also after a failed write. Called once, before close. whole: the input was read to its end,
   * so all the rest of its sound belongs in the output. */
  int (*finish)(struct sink *sink, bool whole, struct error *err);
  void (*close)(struct sink *sink);
  void (*place_sound)(struct sink *sink, int64_t source_pts, double seconds); /* NULL: the sink takes no sound */
  long (*pictures)(const struct sink *sink);                                  /* NULL: the sink keeps no pictures */
  void (*set_end)(struct sink *sink, int64_t pts);                            /* NULL: the sink stores no times */
};

struct sink {
  const struct sink_impl *impl;
};

struct sink_wish {
  /* spec: the output, as in sink_open. format: its container, as sink_options.container; may be NULL. */
  const char *spec, *format;
  const char *input;                   /* spec of the input that frames are read from */
  const struct source_options *source; /* the options with which `input` is opened */
  /* Other inputs that are read (mask, control source, sound, style pictures); NULL: none. */
  const char *others[4 + STYLES_MAX];
  long frames; /* greatest number of frames that will be written; 0: no limit */
  bool overwrite;
};

/* Checks that wish->spec can be written to. Called before any expensive work. Returns 0, or -1 with err. Existing files
 * are overwritten if `overwrite` is set or after a yes on the terminal, else refused. Files that are read as inputs are
 * always refused, and so is video on a terminal. */
int sink_check(const struct sink_wish *wish, struct error *err);

/* True if spec's container can hold sound and metadata, so that a user would miss those of the input. */
bool sink_has_tracks(const char *spec, const char *format);

/* True if spec's container keeps the input's timecode. of_file: the timecode is a tag of the whole file, not of its
 * video. */
bool sink_keeps_timecode(const char *spec, const char *format, bool of_file);

/* True if the output holds pictures to look at, so that a user would miss transparency. */
bool sink_shows_pictures(const char *spec);

/* Returns the pixel format in which spec's encoder should get the frames, so that it loses least. codec, format: as in
 * sink_options; may be NULL. */
enum pixel_format sink_pixels(const char *spec, const char *format, const char *codec);

/* Checks that a file other than the video can be written to. overwrite: an existing file is overwritten without a
 * question. Returns 0, or -1 with err. */
int sink_check_file(const char *path, bool overwrite, struct error *err);

/* Opens a sink. spec: a file, "-" for standard output, a URL, "null:", "hash:FILE" or "hash:-". Returns 0, or -1 with
 * err, whose status is STATUS_OUTPUT, or STATUS_USAGE if the codec or container does not exist. The caller closes the
 * sink. spec, and the strings and pointers of options, must outlive it. */
int sink_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err);
/* Writes a frame. The sink may hold pictures of the last SINK_HOLDS frames. Returns 0, or -1 with err. */
int sink_write(struct sink *sink, const struct frame *frame, struct error *err);
/* Tells where the next picture's sound is, for options.tap: the picture's time in its source (by the clock: nanoseconds
 * of platform_now_ns), and its time in the output in seconds. Called before sink_write. */
void sink_place_sound(struct sink *sink, int64_t source_pts, double seconds);
/* Says when the last picture ends, in units of frame.pts. Called before sink_finish; if it is not called, the last
 * picture lasts as long as a usual one. */
void sink_set_end(struct sink *sink, int64_t pts);
/* Completes the output. whole: the input was read to its end, so all the rest of its sound belongs in the output.
 * Called once, also after a failed write. Returns 0, or -1 with err. */
int sink_finish(struct sink *sink, bool whole, struct error *err);
/* Returns how many pictures can be read from the output, also after a failure; -1: unknown. Called after
 * sink_finish. */
long sink_pictures(const struct sink *sink);
void sink_close(struct sink **sink); /* stores NULL; accepts NULL */

extern const struct sink_impl sink_null, sink_hash, sink_ffmpeg;

#endif
