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
struct side_feed;
struct source;
struct sound_tap;

/* Pixel formats of the test pattern: that of software decoders, of hardware decoders, and of hardware decoders with ten
 * bits. */
enum pattern_pixels { PATTERN_YUV420P, PATTERN_NV12, PATTERN_P010 };

struct source_options {
  /* The fields of this block select which frames are read, and in which form. */
  /* true: the newest frame matters, not every frame, so the decoder uses only slice threads, and buffers are small */
  bool live;
  bool loop; /* true: at its end the source starts again from its beginning */
  /* true: interlaced frames are deinterlaced; each comes only when the next frame was read */
  bool deinterlace;
  /* tone_map: true: HDR is converted to SDR. tone_map_side: pictures whose shorter side has more pixels are first
   * scaled down to it; 0: none are. */
  bool tone_map;
  int tone_map_side;
  /* true: if the input has alpha, frames keep it and are in RGBA or BGRA; source_info.alpha then says so */
  bool keeps_alpha;
  bool alpha; /* true: frames keep their alpha and are in RGBA or BGRA; an input without alpha is an error */
  /* name of an FFmpeg demuxer or device ("v4l2", "x11grab", "lavfi"); NULL: it is chosen by the input's name */
  const char *input_format;
  const char *input_options;  /* "key=value:key=value" for the demuxer or device; NULL: no options */
  int width, height;          /* size in pixels that a camera, screen or pattern is asked for; 0: the source chooses */
  enum pattern_pixels pixels; /* pixel format of the test pattern */
  double fps;                 /* frames a second that a camera, screen or pattern is asked for; 0: the source chooses */
  double start;               /* time in the input of the first frame that is read, in seconds */
  /* seconds after `start` at which the first pass through a looping input begins; later passes begin at `start` */
  double resume;
  /* true: the frames before `start` are read and left out instead of a seek by time, because the input's timestamps
   * restart somewhere (frame_places_survey) */
  bool reads_up;
  double duration; /* seconds of the input to read; 0: all */
  /* for a live source: position, in seconds after `start`, at which the reader (reader.h) ends it; 0: at its own end.
   * The source itself does not read this field. */
  double until;
  bool no_fade; /* true: in live mode, the source does not fade in (mixer.h) */
  /* repeat: number of times that a file or picture sequence is read in a row, as one input; less than 2: once. pass:
   * seconds that one pass through the file lasts, from repeated_measure (repeated.h) */
  int repeat;
  double pass;
  /* of a picture sequence only the numbers step_from, step_from + step, step_from + 2 step and so on are read; step 0:
   * all pictures are read */
  long step, step_from;
  /* The fields of this block are for opening and waiting. */
  bool patient; /* true: in live mode, opening is tried again after any error */
  /* true: in live mode, another program has read from this source before, so a pipe that cannot be opened counts as
   * ended */
  bool begun;
  /* for a live source: seconds without data after which a stream or camera counts as lost; 0: no limit */
  double read_timeout;
  const atomic_bool *stop; /* a flag by which any thread interrupts opening and reading; NULL: no such flag */
  /* a second flag that interrupts opening and reading, for this opening alone (opening.h); must live as long as the
   * source; NULL: no such flag */
  const atomic_bool *cancel;
  /* The fields of this block say where frames and sound go, and what decodes. */
  /* decides whether the next frames are mirrored; may change at any time; NULL: frames are never mirrored */
  struct mirror *mirror;
  /* the tap that gets the packets of the source's sound, for recording and measuring (sound_tap.h); NULL: the sound is
   * not wanted */
  struct sound_tap *tap;
  /* the feed that gets the packets of sound, subtitles and other tracks, for a sink (side_feed.h); NULL: they are not
   * wanted */
  struct side_feed *feed;
  struct gpu gpu; /* the GPU that reads the frames; impl NULL: no GPU does */
  /* true: several GPUs read the frames, so frames that `gpu` has decoded are copied to page-locked host memory */
  bool to_host;
  /* the hardware decoder of `gpu`, used for video that this decoder can decode; NULL: software decodes all */
  const struct hardware *hardware;
  bool hardware_must; /* true: it is an error if the hardware cannot decode the video */
  /* true: the source is a second source (mask or control), so missing pictures of a sequence are no error */
  bool secondary;
  /* True: the thread that reads the source gets an urgent priority (app_platform.h) while it does not decode in
   * software. */
  bool urgent;
  bool tell_transparency; /* true: a line is logged if the output will lack the input's transparency */
  const struct log *log;
};

/* A result of source_open: opening failed, but may work later, as for a sender that is not sending yet. */
enum { SOURCE_NOT_YET = -2 };

struct source_info {
  /* The fields of this block are texts for the user. */
  char description[192]; /* description of the source for users, for example "clip.mp4: h264 1280x720, 25 fps"; written
                          * by source_describe */
  /* first part of the description ("clip.mp4: h264"), from which source_describe writes the whole one; "": the
   * description never changes */
  char name[128];
  /* The fields of this block tell size, rate and times of the frames. */
  int width, height; /* size in pixels of the stored pictures; 0: unknown */
  double shape;      /* width / height of the displayed pictures, whose pixels need not be square; 0: unknown */
  double fps;        /* average frames a second; 0: unknown */
  /* true: frames are in RGBA or BGRA and have the input's alpha, because source_options.keeps_alpha asked for it */
  bool alpha;
  int time_base_num, time_base_den; /* unit of frame.pts: seconds = pts * num / den */
  double duration;                  /* seconds that will be read; 0: unknown or endless */
  double length;                    /* seconds of one pass through a source that loops; 0: unknown */
  int64_t end;                      /* end of the last frame that is wanted, in units of frame.pts; 0: unknown */
  long frames;                      /* number of frames expected; 0: unknown */
  /* The fields of this block tell how the source behaves. */
  /* true: a camera, screen or live stream, which sets its own pace and cannot be made to wait */
  bool realtime;
  bool returns; /* true: after the source has ended or failed, it may be possible to open it again later */
  /* true: the input is a pipe, whose data can be read only once, and a program that began to read in the middle could
   * not decode them */
  bool passes;
  const char *hardware; /* name of the hardware that decodes; NULL: software decodes */
  long damaged;         /* number of packets and frames skipped or concealed so far */
};

/* Returns the unit of frame.pts in seconds; 0: unknown. */
static inline double source_tick(const struct source_info *info) {
  return info->time_base_den > 0 ? (double)info->time_base_num / info->time_base_den : 0;
}

/* Writes info->description again from the other fields of info. This is necessary when they have changed: the size of a
 * stream may be known only some time after its opening. */
void source_describe(struct source_info *info);

struct source_impl {
  const char *name; /* the kind's name: "ffmpeg", "pattern" */
  bool (*accepts)(const char *spec);
  int (*open)(struct source **source, const char *spec, const struct source_options *options, struct error *err);
  /* Returns 1: *frame is filled, with a reference to its picture; 0: the end; -1: an error. */
  int (*read)(struct source *source, struct frame *frame, struct error *err);
  /* checks that no picture is missing, as source_check does; NULL: this kind of source never lacks pictures */
  int (*check)(const struct source *source, struct error *err);
  void (*info)(const struct source *source, struct source_info *info);
  void (*close)(struct source *source);
};

/* The part that all kinds of sources have in common: the first member of each kind's own struct. */
struct source {
  const struct source_impl *impl;
  /* flags that end opening and reading (source_options.stop, source_options.cancel); NULL: none */
  const atomic_bool *stop, *cancel;
  atomic_bool *owned; /* the flag `cancel`, if the source frees it when it is closed; NULL: another owner frees it */
  atomic_bool interrupted;
  bool is_mirror; /* true: the source is a camera in which people look at themselves and expect a mirror image */
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
/* True if opening this source may take long, because that depends on another computer or on the writer of a pipe. */
bool source_opens_late(const char *spec);
/* Reads the first frame in advance; the next source_read returns it. Returns 0, or -1 with err. */
int source_read_ahead(struct source *source, struct error *err);
/* Reads the next frame. Returns 1: *frame is filled, and the caller releases it; 0: the end, or an interrupt; -1 with
 * err. */
int source_read(struct source *source, struct frame *frame, struct error *err);
/* Checks that no frame is missing before the last returned one. Meant for callers that stop before the end of the
 * source; at the end, source_read does the same check. Returns 0, or -1 with err. */
int source_check(const struct source *source, struct error *err);
/* Copies the info of the source, as far as it is known. info->hardware points to a constant string. */
void source_get_info(const struct source *source, struct source_info *info);
/* True if frames wait until they are read, and the input can be read again from its beginning: a file, and no camera,
 * stream or pipe. */
static inline bool source_is_file(const struct source_info *info) {
  return !info->realtime && !info->returns && !info->passes;
}
/* Makes source_read report the end from now on, even while it blocks. Callable from any thread and from a signal
 * handler. */
void source_interrupt(struct source *source);
/* Makes the source the owner of the flag source_options.cancel with which it was opened: a block of calloc, which
 * source_close frees. */
static inline void source_own_cancel(struct source *source, atomic_bool *cancel) {
  source->owned = cancel;
}
/* True if the source was interrupted, or options.stop or options.cancel is set: blocking calls return, and reading
 * returns the end. */
static inline bool source_interrupted(const struct source *source) {
  return atomic_load(&source->interrupted) || (source->stop && atomic_load(source->stop)) ||
         (source->cancel && atomic_load(source->cancel));
}
void source_close(struct source **source); /* closes the source; *source becomes NULL; does nothing if it is NULL */

#endif
