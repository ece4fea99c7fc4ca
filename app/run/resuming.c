#include "app/run/resuming.h"

#include <string.h>

#include "app/run/job_facts.h"
#include "app/run/joining.h"
#include "app/sink/kept.h"
#include "app/source/frame_places.h"
#include "app/source/protocols.h"

/* Counts the pictures in complete segments of the unfinished file (a segment begins with a key frame), and removes
 * incomplete segments from the record of its manifest. Returns 0, or -1 with err. */
static int find_whole(struct resuming *resuming, struct error *err) {
  struct job_record *record = &resuming->record;
  struct kept *kept;
  if (kept_open(&kept, resuming->left.name, record, err))
    return -1;
  resuming->pictures = kept_pictures(kept);
  kept_close(&kept);
  while (record->segment_count && job_record_kept(record) > resuming->pictures)
    record->segment_count--;
  return 0;
}

/* Removes from the frames to render those with pictures in complete segments. If none is left, but the manifest has no
 * line about the output's end, the last segment is made again, because the last picture's duration follows from the
 * end. Returns 1, 0 if no frame is left, or -1 with err. */
static int leave_out(struct resuming *resuming, struct cut *cut, const struct options *options,
                     struct source_options *source, struct error *err) {
  struct job_record *record = &resuming->record;
  int got = 0;
  while (!got && resuming->pictures) {
    bool all = !cut->is_shard && options->frames && resuming->pictures >= options->frames;
    got = all ? 0 : cut_go_on(cut, options, source, record->pictures[resuming->pictures - 1].source, err);
    if (got || record->ended)
      break;
    record->segment_count--;
    resuming->pictures = job_record_kept(record);
  }
  return got;
}

/* Fails if the unfinished file comes from a render with other options, input or program. */
static int check_job(const struct resuming *resuming, const struct options *options, struct error *err) {
  struct job job;
  int status = job_facts(&job, options, NULL, NULL, err);
  if (!status && job_compare(&resuming->record.job, &job, err))
    status = error_prefix(err, "%s: is not of the same job: ", resuming->left.name);
  job_free(&job);
  return status ? -1 : 0;
}

int resuming_find(struct resuming *resuming, struct cut *cut, const struct options *options,
                  struct source_options *source, struct error *err) {
  struct job_record *record = &resuming->record;
  if (!options->resume || !part_claim(&resuming->claim, &resuming->left, file_path(resuming->output)))
    return 0;
  int got = job_record_read(record, resuming->left.manifest, err);
  if (got < 0 || (got && check_job(resuming, options, err)) ||
      (got && job_record_kept(record) && find_whole(resuming, err)))
    return -1;
  if (resuming->pictures)
    got = leave_out(resuming, cut, options, source, err);
  if (!resuming->pictures) {
    part_forget(&resuming->left);
    part_unclaim(&resuming->claim);
    log_line(source->log, LOG_INFO, "%s: has no whole segment; the render begins anew", resuming->left.name);
    return 0;
  }
  resuming->goes_on = got >= 0;
  resuming->nothing_left = !got;
  resuming->kept = (struct sink_kept){resuming->left.name, record};
  return got < 0 ? -1 : 0;
}

void resuming_tell(const struct resuming *resuming, const struct log *log) {
  if (resuming->goes_on)
    log_line(log, LOG_WARNING, "%s: %lld frames are in it; the render goes on from there", resuming->left.name,
             (long long)resuming->pictures);
}

void resuming_tell_sink(struct resuming *resuming, struct sink_options *sink, const struct cut *cut,
                        const struct source_options *source) {
  if (!resuming->goes_on)
    return;
  resuming->sound_options = *source;
  resuming->sound_options.start = cut->job_start;
  resuming->sound_options.duration = cut->job_duration;
  sink->sound_options = &resuming->sound_options;
  sink->kept = &resuming->kept;
  sink->kept_count = 1;
  sink->left = &resuming->left;
}

int resuming_complete(struct resuming *resuming, const struct options *options, bool replace, const struct cut *cut,
                      const struct source_options *source, long *pictures, struct error *err) {
  struct sink_options sink = {0};
  resuming_tell(resuming, source->log);
  resuming_tell_sink(resuming, &sink, cut, source);
  const struct joining joining = {
      .output = resuming->output,
      .container = resuming->container,
      .kept = sink.kept,
      .kept_count = sink.kept_count,
      .part = &resuming->record.part,
      .is_shard = cut->is_shard,
      .sound = cut->is_shard ? NULL : options->input,
      .source = sink.sound_options,
      .no_sound = options->no_sound,
      .sound_track = options->sound_track,
      .replace = replace,
      .left = sink.left,
      .log = source->log,
  };
  return joining_run(&joining, pictures, err);
}

const char *resuming_advice(const struct resuming *resuming, const struct options *options,
                            const struct source_options *source) {
  return sink_keeps_segments(resuming->output, resuming->container) && frame_places_knows(options->input, source)
             ? "; --resume goes on from there"
             : "";
}

void resuming_free(struct resuming *resuming) {
  part_unclaim(&resuming->claim);
  job_record_free(&resuming->record);
}
