/* Chooses which frames of the input a render makes. A job is the whole render: the whole input, or what --start,
 * --duration, --range and --frames select. A part is what this process renders: the whole job or, with --shard, a piece
 * of it.
 *
 * Job and part begin and end between two frames. A user's time is rounded to the nearest frame, for beginnings and ends
 * alike, so that adjoining parts lose no frame and share none. Times are in units of the source's frame.pts, and count
 * from the input's own time 0; on "the job's clock" they count from the job's first frame. */
#ifndef APP_RUN_CUT_H
#define APP_RUN_CUT_H

#include "app/job/job.h"
#include "app/options/options.h"
#include "app/source/source.h"

struct cut {
  /* first: time in the input of the first frame of the job (the whole render). shift: number that is added to frame.pts
   * of a source that begins at job_start, to get the time since that frame. Both are in units of frame.pts. known:
   * false: both are unknown, because the job is the whole input or the input can be read only once; the job's first
   * frame is then the first one that is read. */
  bool known;
  int64_t first, shift;
  /* true: no frame of the render is in the part that this process must render (--shard), so there is nothing to do; the
   * fields below are unused then */
  bool is_empty;
  bool is_shard;     /* true: this process renders only a part of the render (--shard); false: all of it */
  bool is_sequence;  /* true: `known`, and the input is a sequence of picture files */
  bool begins_later; /* true: the whole render (the job) has frames before the part's first frame */
  /* source_options.start and duration, in seconds, with which a source would give all frames of the whole render */
  double job_start, job_duration;
  /* job_first: seconds from job_start to the first frame of the job (the whole render); later: seconds from job_start
   * to the first frame of the part that this process renders */
  double job_first, later;
  /* time of the first frame of the part that this process must render; `begin` is later if a render is resumed */
  int64_t part_begin;
  /* This process renders the frames with `begin` <= time < `end`, all three in units of frame.pts. open: true: `end` is
   * unused, and this process renders all frames from `begin` to the end of the input. */
  int64_t begin, end;
  bool open;
  /* true: the whole render (the job) ends at job_end, before the input ends; false: it ends with the input, and
   * job_end is unused */
  bool job_ends;
  int64_t job_end;
  int64_t tick_num, tick_den; /* unit of frame.pts, in seconds, as a fraction; valid if `known` */
  /* number that is added to the frame.pts of the source that this process has opened, to get the frame's time stamp in
   * the output of the whole render */
  int64_t output_shift;
  int64_t output_first; /* time stamp of the whole render's first frame in its output, in units of frame.pts */
};

/* Returns true if the options ask for only a part of the render (--shard). */
bool cut_asks_for_shard(const struct options *options);

/* Computes which frames the job (the whole render) and the part (what this process renders) have. Changes start,
 * duration and left-out pictures in `source`, so that a source opened with these options gives the part's frames. Logs
 * a warning if a time was rounded, if frames of --range or --shard A-B do not exist, or if the part is empty. Returns
 * 0, or -1 with err. It is an error if none of the frames of --range exist, or if the part has no frames because
 * pictures of a sequence are missing. */
int cut_choose(struct cut *cut, const struct options *options, struct source_options *source, struct error *err);

/* Returns a frame's time in seconds since the first frame of the whole render (the job). It is exactly the same in
 * every part with that frame. seconds: the frame's time in the source, which was opened for this process's part. tick:
 * unit of frame.pts in seconds. If cut->known is false, the frame of the first call counts as the job's first. */
double cut_clock(struct cut *cut, double seconds, double tick);

enum { CUT_NAME_MAX = 4096 };
/* Stores the name of the output, and in *container the value for sink_options.container. The file of a shard is named
 * OUT.shard-I-of-N or OUT.shard-A-B. The name stays OUT without --shard, and also if OUT is no single file: a picture
 * sequence, a stream, a device, hash: or null:. Returns 0, or -1 with err. */
int cut_name(char name[CUT_NAME_MAX], const char **container, const struct options *options, struct error *err);

/* Lists the times of all frames of the whole render (the job), one after the other. If only a part is rendered, the
 * list is needed for values that depend on all frames before that part. */
struct cut_walk;
/* Starts a list of the times of the job's frames, at its beginning: cut_walk_next gives the first frame's time first.
 * source: the options that cut_choose has changed. Returns 0, or -1 with err; the caller ends it with cut_walk_end. */
int cut_walk_begin(struct cut_walk **walk, const struct cut *cut, const struct options *options,
                   const struct source_options *source, struct error *err);
/* Stores the time of the next frame in the list, in seconds since the job's first frame. Returns 1; 0 if the list has
 * no further frame before the time `seconds`; or -1 with err. */
int cut_walk_next(struct cut_walk *walk, double seconds, double *time, struct error *err);
void cut_walk_end(struct cut_walk **walk); /* ends the list; *walk becomes NULL; does nothing if it is NULL */
/* Fills *part with the manifest's description of the part that this process renders; its times count from the first
 * frame of the whole render. options: the same as for cut_choose. */
void cut_describe(const struct cut *cut, const struct options *options, struct job_part *part);
/* Returns the time at which the whole render ends, counted from its first frame; den is 0 if it ends with the input or
 * its end is unknown. */
struct job_time cut_job_end(const struct cut *cut);

/* Removes the frames that an unfinished output already contains from those to render: frames up to the output's time
 * stamp `after`, in units of frame.pts. source: the options that cut_choose has changed; changed again here. Returns 1,
 * 0 if no frame is left, or -1 with err. */
int cut_go_on(struct cut *cut, const struct options *options, struct source_options *source, int64_t after,
              struct error *err);

#endif
