/* Sinks take the finished frames and write them to a file or a stream, write a checksum of each, or do nothing. (The
 * window is no sink.)
 *
 * Threads: one thread at a time uses a sink. */
#ifndef APP_SINK_SINK_H
#define APP_SINK_SINK_H

#include "app/source/source.h"
#include "unet/base/controls.h"

struct job;
struct job_part;
struct alpha;
struct side_feed;
struct job_record;
struct part_left;
struct sink;
struct sound_tap;

/* SINK_HOLDS: number of pictures that a sink may hold. GIF_FPS_MOST: most frames a second that are written to a GIF. */
enum { SINK_HOLDS = 2, GIF_FPS_MOST = 50 };

/* An unfinished file (part.h) whose complete segments (pictures that can be decoded without the others) are copied to
 * the beginning of an output, and the contents of its manifest. */
struct sink_kept {
  const char *path;
  const struct job_record *record;
};

struct sink_options {
  /* The fields of this block describe the frames that sink_write gets. */
  enum pixel_format format; /* pixels of the frames: YUV420P, P010 or RGBA */
  int width, height;        /* size of the output in pixels, which are square */
  /* true: frames of another size are stretched to this size; false: they keep their shape, with black bars around
   * them */
  bool stretched;
  int time_base_num, time_base_den; /* unit of frame.pts in seconds */
  double fps; /* average frames a second, for the encoder's rate control and the last frame's duration; 0: unknown */
  bool paced; /* true: the frames come at the constant rate `fps`, which may differ from the input's (--fps) */
  /* The fields of this block describe how the output is encoded and written. */
  const char *codec;           /* name of an FFmpeg encoder; NULL: one is chosen for the container */
  double quality;              /* constant quality, 0 (the best) to 63; negative: the program's usual quality */
  const char *pixel_format;    /* FFmpeg's name of the pixel format that the encoder gets; NULL: the sink chooses it */
  const char *encoder_options; /* "key=value:key=value" for the encoder; NULL: none */
  struct alpha *alpha;         /* where the sink gets the alpha of its frames, which are then RGBA (alpha.h); NULL: they
                                * have no alpha */
  const char *name;            /* name of the output in messages; NULL: spec */
  const char *container;       /* FFmpeg muxer or file extension; NULL: chosen by spec (target_choose) */
  bool realtime;               /* true: frames come in real time, at the pace at which they are shown */
  /* The fields of this block are for outputs that are written as an unfinished file first (part.h), and for joining
   * them. */
  /* the job (the render with all that its pictures depend on) that the manifest describes; NULL: the output is written
   * directly, without an unfinished file and manifest */
  const struct job *job;
  const struct job_part *part; /* the part of the render that this output contains; NULL: the whole render */
  /* true: the output is a shard (render --shard), so its manifest stays beside it, also if the shard has all frames of
   * the render; false: the manifest is removed when the output is complete */
  bool is_shard;
  bool replace; /* true: an existing output, and an unfinished file that an earlier render left, may be replaced */
  const struct sink_kept *kept; /* array of kept_count unfinished files whose pictures come first in the output */
  int kept_count;
  /* unfinished file that an interrupted earlier render left; this output begins with copies of that file's pictures. As
   * soon as the new unfinished file has all of these pictures, it replaces the old one. NULL: there is none */
  const struct part_left *left;
  /* reports progress: called with the number of pictures that have been copied so far from the unfinished files
   * `kept`; NULL: not called */
  void (*copied)(void *opaque, long pictures);
  void *opaque; /* pointer that is passed to `copied` as its first argument */
  bool joins;   /* true: the output consists of the files in `kept` alone; no frames come, and no encoder is opened */
  /* number that is added to frame.pts, in its unit, to get the time in the output. Not 0 if only a part of a clip is
   * rendered: the part's source counts pts from the part's beginning. */
  int64_t shift;
  /* true: the output is a part of a render and begins after that render's first frame, and `first` is set */
  bool is_later;
  int64_t first;    /* time of the whole render's first frame in the complete output, in units of frame.pts */
  const char *mark; /* text that is written into each picture file of a sequence, if it is a PNG (mark.h); NULL: none */
  /* The fields of this block describe the sound, which is copied from an input file or recorded from a live source. */
  const char *sound; /* input whose sound and metadata are copied; NULL: none */
  bool no_sound;     /* true: only the metadata of the input `sound` is copied, not its sound */
  int sound_track;   /* number of the only sound track to copy, from 1; 0: all are copied */
  const struct source_options *sound_options; /* the options with which the input `sound` was opened */
  /* source of the tracks of `sound` if that input cannot be opened a second time; NULL: it is opened a second time */
  struct side_feed *feed;
  struct sound_tap *tap; /* buffer of the sound to record with live pictures (sound_tap.h); NULL: none */
  /* true: the times of the sound in `tap`, and those given to sink_place_sound, are read from the clock of
   * platform_now_ns */
  bool tap_by_clock;
  /* The following fields say how long to wait, and where messages go. */
  double patience;         /* seconds to wait for a network's receiver to answer; 0: no limit */
  const atomic_bool *stop; /* flag that any thread may set to end waits for a network; NULL: there is none */
  const struct log *log;
};

struct sink_impl {
  const char *name; /* kind of the sink, such as "file", "null" or "hash" */
  bool (*accepts)(const char *spec);
  int (*open)(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err);
  int (*write)(struct sink *sink, const struct frame *frame, struct error *err);
  /* Completes the output, also after a failed write. Called once, before close. whole: the input was read to its end,
   * so all the rest of its sound belongs in the output. */
  int (*finish)(struct sink *sink, bool whole, struct error *err);
  void (*close)(struct sink *sink);
  /* tells a sink that records sound the next picture's time in its source and in the output (sink_place_sound); NULL:
   * the sink takes no sound */
  void (*place_sound)(struct sink *sink, int64_t source_pts, double seconds);
  long (*pictures)(const struct sink *sink);       /* number of pictures that can be read from the output; NULL: the
                                                    * sink stores none */
  void (*set_end)(struct sink *sink, int64_t pts); /* sets the time at which the last picture ends; NULL: the sink
                                                    * stores no times */
  void (*set_broken)(struct sink *sink); /* tells the sink that pictures are missing at the end; NULL: the sink writes
                                          * no unfinished file */
  /* does the work of sink_part: returns the name of the unfinished file as which the output was left; NULL: the sink
   * needs no unfinished file */
  const char *(*part)(const struct sink *sink);
};

struct sink {
  const struct sink_impl *impl;
  /* The sink to which this one gives its pictures, and which it owns. Where impl leaves out finish, pictures, set_end,
   * set_broken or part, the inner sink's is called. NULL: this sink writes the output itself. */
  struct sink *inner;
};

struct sink_wish {
  /* spec: the output, as in sink_open. format: its container, as sink_options.container; may be NULL. */
  const char *spec, *format;
  const char *codec, *pixel_format, *encoder_options; /* codec, pixel format and encoder options as in sink_options; may
                                                       * be NULL */
  double quality;                                     /* quality of the encoder as in sink_options */
  const char *input;                                  /* spec of the input that frames are read from */
  const struct source_options *source;                /* the options with which `input` is opened */
  /* Other inputs that are read (mask, control source, sound, style pictures); NULL: none. */
  const char *others[4 + STYLES_MAX];
  long frames; /* largest number of frames that will be written; 0: no limit */
  bool overwrite;
  /* name of the option, such as "--resume", that needs an output which is written in parts, each readable alone; NULL:
   * none does */
  const char *segments;
  bool resume; /* true: the render continues an unfinished file (--resume) */
};

/* Checks that wish->spec can be written to. Called before any expensive work. Returns 0, or -1 with err. Existing files
 * are overwritten if `overwrite` is set or after a yes on the terminal, else refused. Files that are read as inputs are
 * always refused, and so is video on a terminal. */
int sink_check(const struct sink_wish *wish, struct error *err);

/* True if the container of the output spec can hold sound and other tracks; users then expect that the output has those
 * of the input. */
bool sink_has_tracks(const char *spec, const char *format);

/* True if the output, when sink_options.job is set, is written to an unfinished file until it is complete (part.h). */
bool sink_has_part(const char *spec, const char *format);

/* True if the output is a file whose complete segments (pictures that can be decoded without the others) can be read
 * again, so that --resume can continue it. */
bool sink_keeps_segments(const char *spec, const char *format);

/* True if people look at the output's pictures, so that missing transparency would be noticed (not hash: or null:). */
bool sink_shows_pictures(const char *spec);

/* Returns how many frames a second the output keeps if it gets `fps`: GIF keeps at most GIF_FPS_MOST, other formats
 * keep all. format: as sink_options.container; may be NULL. */
double sink_rate(const char *spec, const char *format, double fps);

/* Returns the pixel format in which spec's encoder should get the frames, so that the encoder loses least. format,
 * codec, pixel_format: as in sink_options; may be NULL. */
enum pixel_format sink_pixels(const char *spec, const char *format, const char *codec, const char *pixel_format);

/* True if the output's encoder gets pixels with alpha, provided that the frames have it. format, codec, pixel_format:
 * as in sink_options; may be NULL. */
bool sink_keeps_alpha(const char *spec, const char *format, const char *codec, const char *pixel_format);

/* Checks that a file other than the video can be written to. overwrite: an existing file is overwritten without a
 * question. Returns 0, or -1 with err. */
int sink_check_file(const char *path, bool overwrite, struct error *err);

/* Opens a sink. spec: a file, "-" for standard output, a URL, "pipewire:NAME", "null:", "hash:FILE" or "hash:-".
 * Returns 0, or -1 with err, whose status is STATUS_USAGE if the codec or container does not exist. The caller closes
 * the sink. spec, and the strings and pointers of options, must outlive it. */
int sink_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err);
/* Writes a frame. The sink may keep references to the pictures of the SINK_HOLDS frames that were written last.
 * Returns 0, or -1 with err. */
int sink_write(struct sink *sink, const struct frame *frame, struct error *err);
/* Tells a sink that records sound from options.tap which sound belongs to the next picture. source_pts: the
 * picture's time in its source or, with tap_by_clock, a time of platform_now_ns in ns; seconds: the picture's time in
 * the output. Called before sink_write. */
void sink_place_sound(struct sink *sink, int64_t source_pts, double seconds);
/* Sets the time at which the last picture ends, in units of frame.pts. Called before sink_finish; without this call the
 * last picture lasts as long as usual ones. */
void sink_set_end(struct sink *sink, int64_t pts);
/* Marks the output as incomplete, because an interruption or a failure has cut off its end. An output that is written
 * to an unfinished file then keeps that file's name. Called before sink_finish. */
void sink_set_broken(struct sink *sink);
/* Completes the output. whole: the input was read to its end, so all its remaining sound belongs in the output. Called
 * once, even after a failed write, whose error is not reported again. Returns 0, or -1 with err. */
int sink_finish(struct sink *sink, bool whole, struct error *err);
/* Returns how many pictures can be read from the output, also after a failure; -1: unknown. Called after
 * sink_finish. */
long sink_pictures(const struct sink *sink);
/* If the output was left as an unfinished file, returns that file's name; NULL: the output has its final name.
 * Called after sink_finish; valid until sink_close. */
const char *sink_part(const struct sink *sink);
void sink_close(struct sink **sink); /* closes the sink; *sink becomes NULL; does nothing if it is NULL */

extern const struct sink_impl sink_null, sink_hash, sink_ffmpeg;
/* The sink of PipeWire's nodes. In a build without PipeWire only its functions accepts and open are set, and open
 * fails. */
extern const struct sink_impl sink_pipewire;

#endif
