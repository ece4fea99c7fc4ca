/* Opens encoder, muxer, output file and manifest of the FFmpeg sink. */
#include "app/sink/sink_ffmpeg_impl.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

#include "app/platform/app_platform.h"
#include "app/sink/accepted.h"
#include "app/sink/kept.h"
#include "app/sink/mp4.h"
#include "app/sink/replacement.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/protocols.h"
#include "unet/base/platform.h"

/* PIPE_CHECK_MS: milliseconds between two checks for a named pipe's reader. CHECKS_UNTIL_TOLD: after this many checks a
 * log line says that a reader is waited for. AVI_EMPTY_MOST: pictures in a row that FFmpeg's AVI muxer can skip. */
enum { PIPE_CHECK_MS = 100, CHECKS_UNTIL_TOLD = 10, AVI_EMPTY_MOST = 50000 };

/* After an interruption (`stop`), sending the rest to a network may take this many nanoseconds. */
static const int64_t network_flush_ns = 2000000000;
/* FFmpeg's names of muxers that must seek back to complete their output. In a pipe, for example, that is impossible,
 * but these muxers write there without an error. This program refuses such an output, because it would be
 * unreadable. */
static const char unreadable_streams[] = "film_cpk,wtv";

/* Returns 1 to abort a call of FFmpeg, which asks before it writes and while it waits for a network. Writing to a file
 * is never aborted, even if the disk is slow: without its last pages the file may not play. */
static int should_abort(void *opaque) {
  struct ffmpeg_sink *to = opaque;
  to->unanswered |= to->answer_ns && !to->header && platform_now_ns() > to->answer_ns;
  if (to->unanswered)
    return 1;
  if (to->seekable || !to->stop || !atomic_load(to->stop))
    return 0;
  int64_t now = platform_now_ns();
  if (!to->stopped_ns)
    to->stopped_ns = now;
  return !to->header || now - to->stopped_ns > network_flush_ns;
}

/* Opens the encoder, and copies its parameters to the output's video track. Returns 0, or -1 with err. */
static int open_encoder(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  bool low_delay = to->target.live || (to->target.stream && options->realtime);
  if (encoder_open(&to->encoder, to->target.container, to->target.name, low_delay, options, err)) {
    accepted_say(&to->target, options, err);
    return -1;
  }
  if (avcodec_parameters_from_context(to->stream->codecpar, to->encoder.context) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  return 0;
}

/* For joining files: gives the output's video track the parameters of the first file's track. No encoder is opened; its
 * context only holds codec, size, time base and frame rate. Returns 0, or -1 with err. */
static int copy_track(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  const struct job *job = &options->kept->record->job;
  AVCodecParameters *track = to->stream->codecpar;
  AVCodecContext *context = to->encoder.context = avcodec_alloc_context3(NULL);
  struct kept *kept;
  if (kept_open(&kept, options->kept->path, options->kept->record, err))
    return -1;
  bool copied = context && avcodec_parameters_copy(track, kept_stream(kept)->codecpar) >= 0;
  kept_close(&kept);
  av_freep(&track->extradata);
  track->extradata_size = 0;
  if (copied && job->header)
    track->extradata = av_mallocz(job->header_bytes + AV_INPUT_BUFFER_PADDING_SIZE);
  if (!copied || (job->header && !track->extradata))
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  if (job->header)
    memcpy(track->extradata, job->header, job->header_bytes);
  track->extradata_size = (int)job->header_bytes;
  if (track->codec_id != AV_CODEC_ID_PRORES) /* the tag of ProRes is kept, because it tells the profile */
    track->codec_tag = 0;
  context->codec_id = track->codec_id;
  context->width = track->width;
  context->height = track->height;
  context->sample_aspect_ratio = (AVRational){1, 1};
  context->time_base = (AVRational){(int)job->tick.num, (int)job->tick.den};
  context->framerate = job->rate.num > 0 ? (AVRational){(int)job->rate.num, (int)job->rate.den} : (AVRational){25, 1};
  return 0;
}

static int add_video(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  to->stream = avformat_new_stream(to->output, NULL);
  if (!to->stream)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  if (options->joins ? copy_track(to, options, err) : open_encoder(to, options, err))
    return -1;
  const AVCodecContext *encoder = to->encoder.context;
  muxer_tag_hevc(to->target.container, to->stream->codecpar);
  to->stream->time_base = encoder->time_base;
  to->stream->avg_frame_rate = encoder->framerate;
  to->stream->sample_aspect_ratio = encoder->sample_aspect_ratio;
  to->time_base = (AVRational){options->time_base_num, options->time_base_den};
  to->step = llrint(1 / (av_q2d(encoder->framerate) * av_q2d(encoder->time_base)));
  if (encoder->codec_id == AV_CODEC_ID_GIF && to->step < GIF_LEAST)
    to->step = GIF_LEAST;
  if (muxer_counts_pictures(to->target.container))
    to->repeat_step = to->step;
  else if (av_match_name(to->target.container->name, "avi"))
    to->repeat_step = AVI_EMPTY_MOST * to->step;
  to->last_pts = to->delay = AV_NOPTS_VALUE;
  return 0;
}

/* Waits until a named pipe has a reader. (The user could not interrupt a wait in opening the pipe for writing.) Returns
 * a descriptor that keeps the pipe open. Returns -1 if the path is no named pipe or the pipe cannot be opened, with
 * *code 0; or if the user aborted the wait, with *code negative. */
static int await_reader(struct ffmpeg_sink *to, int *code) {
  const AVIOInterruptCB *ended = &to->output->interrupt_callback;
  *code = 0;
  for (int looks = 1; target_is_named_pipe(to->target.url); looks++) {
    int held = platform_open_pipe_to_write(file_path(to->target.url));
    if (held >= 0 || errno != ENXIO)
      return held;
    if (looks == CHECKS_UNTIL_TOLD)
      log_line(to->log, LOG_WARNING, "%s: waiting for it to be read", to->target.name);
    if (ended->callback && ended->callback(ended->opaque)) {
      *code = AVERROR_EXIT;
      return -1;
    }
    platform_sleep_ns(PIPE_CHECK_MS * INT64_C(1000000));
  }
  return -1;
}

static int open_io(struct ffmpeg_sink *to) {
  AVFormatContext *output = to->output;
  int held, code;
  if (to->whole_files && protocols_is_file(to->target.url))
    replacement_clean(file_path(to->target.url), to->log);
  if (output->oformat->flags & AVFMT_NOFILE && !to->one_picture)
    return 0;
  held = await_reader(to, &code);
  if (to->one_picture) { /* FFmpeg's muxer of image files opens the file itself when the picture comes */
    to->picture_pipe = held;
    return code;
  }
  if (code < 0)
    return code;
  /* 1316 bytes are seven packets of a transport stream, as receivers expect in a datagram. */
  AVDictionary *wishes = NULL;
  if (!strcmp(output->oformat->name, "mpegts"))
    av_dict_set(&wishes, "pkt_size", "1316", 0);
  code = avio_open2(&output->pb, to->part.path ? to->part.url : to->target.url, AVIO_FLAG_WRITE,
                    &output->interrupt_callback, &wishes);
  av_dict_free(&wishes);
  if (held >= 0)
    platform_close_descriptor(held);
  /* If a reader has stopped reading, an interruption must still work: where a write would block, FFmpeg instead calls
   * should_abort again and again. */
  to->pipe_unblocked = target_is_standard_output(to->target.url) && platform_stop_blocking(STANDARD_OUTPUT);
  to->seekable = code >= 0 && output->pb->seekable & AVIO_SEEKABLE_NORMAL;
  if (to->seekable)
    replacement_clean(file_path(to->target.url), to->log);
  return code;
}

static int refuse_stream(const struct ffmpeg_sink *to, struct error *err) {
  return error_set(err, STATUS_USAGE, "%s: %s does not work as a stream here; try --output-format matroska or mpegts",
                   to->target.name, to->target.container->name);
}

/* Writes the header and flushes it, so that a full or write-protected disk is reported at once and not after
 * minutes. */
static int write_header(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  AVDictionary *wishes = NULL;
  int code = open_io(to);
  if (code < 0)
    return ffmpeg_sink_failed(to, code, err);
  bool streamed = to->output->pb && !to->seekable;
  if (streamed && av_match_name(to->target.container->name, unreadable_streams))
    return refuse_stream(to, err);
  if (muxer_is_mp4(to->target.container))
    mp4_wishes(&wishes);
  /* by default Matroska's muxer collects packets and writes them once a second, which is too late for a live stream */
  if (to->target.stream && options->realtime)
    av_dict_set(&wishes, "cluster_time_limit", "1", 0);
  /* By default FFmpeg's HLS playlist names the last five segments only. */
  if (!options->realtime && av_match_name(to->target.container->name, "hls"))
    av_dict_set(&wishes, "hls_list_size", "0", 0);
  /* by default FFmpeg makes WebP and APNG files play once, unlike GIF, which repeats for ever */
  if (av_match_name(to->target.container->name, "webp,apng"))
    av_dict_set(&wishes, av_match_name(to->target.container->name, "webp") ? "loop" : "plays", "0", 0);
  code = avformat_write_header(to->output, &wishes);
  av_dict_free(&wishes);
  if (code == AVERROR(EINVAL) && streamed && !to->output->pb->error)
    return refuse_stream(to, err);
  if (code < 0) {
    bool refused = !to->output->pb || !to->output->pb->error;
    ffmpeg_sink_failed(to, code, err);
    /* if no file is open (output->pb is NULL), AVERROR_INVALIDDATA may be the answer of a network's receiver */
    bool of_file = to->output->pb && code == AVERROR_INVALIDDATA;
    if (refused && !accepted_say(&to->target, options, err) && (code == AVERROR(EINVAL) || of_file) &&
        !options->encoder_options)
      error_set(
          err, STATUS_USAGE,
          "%s: %s takes these pictures at no usual size and rate, or only with sound beside them; try .mkv or .mp4",
          to->target.name, to->target.container->name);
    return -1;
  }
  to->header = true;
  /* FFmpeg's muxer clears the flag AVFMT_FLAG_AUTO_BSF if it writes MP4 in fragments. Without the flag, AAC in a
   * transport stream fails at its first packet. */
  to->output->flags |= AVFMT_FLAG_AUTO_BSF;
  if (to->output->pb) {
    avio_flush(to->output->pb);
    code = to->output->pb->error;
  }
  return code < 0 ? ffmpeg_sink_failed(to, code, err) : 0;
}

/* Fails if one of the unfinished files in options->kept comes from another render (other input, options or
 * program). */
static int compare_kept(const struct sink_options *options, const struct job *job, struct error *err) {
  for (int i = 0; i < options->kept_count; i++)
    if (options->joins ? job_compare_parts(job, &options->kept[i].record->job, err)
                       : job_compare(&options->kept[i].record->job, job, err))
      return error_prefix(err, "%s: is not of the same job: ", options->kept[i].path);
  return 0;
}

/* Fills those fields of the render's description (job) that depend on the encoder: the encoder's name and version, its
 * header and time base, the container, size and frame rate. */
static int add_encoder(struct job *job, const AVCodecContext *encoder, const char *container, struct error *err) {
  unsigned version = avcodec_version();
  char text[256];
  snprintf(text, sizeof text, "%s of libavcodec %u.%u.%u, %s", encoder->codec->name, AV_VERSION_MAJOR(version),
           AV_VERSION_MINOR(version), AV_VERSION_MICRO(version), av_get_pix_fmt_name(encoder->pix_fmt));
  job->width = encoder->width;
  job->height = encoder->height;
  job->tick = (struct job_time){encoder->time_base.num, encoder->time_base.den};
  job->rate = (struct job_time){encoder->framerate.num, encoder->framerate.den};
  return job_set_text(&job->encoder, text, err) || job_set_text(&job->container, container, err) ||
                 job_set_header(job, encoder->extradata, (size_t)encoder->extradata_size, err)
             ? -1
             : 0;
}

/* Writes the manifest's first line, which describes the job. out: the manifest's file, which is closed on failure. */
static int begin_manifest(struct ffmpeg_sink *to, const struct sink_options *options, FILE *out, struct error *err) {
  static const struct job_part whole = {.index = 1, .count = 1, .begin = {0, 1}, .open = true};
  struct job job;
  if (job_copy(&job, options->joins ? &options->kept->record->job : options->job, err)) {
    fclose(out);
    return -1;
  }
  int failed = (!options->joins && add_encoder(&job, to->encoder.context, to->target.container->name, err)) ||
               compare_kept(options, &job, err);
  if (failed)
    fclose(out);
  else
    failed = manifest_open(&to->recorder.manifest, out, to->part.manifest, &job, options->part ? options->part : &whole,
                           err);
  job_free(&job);
  return failed ? -1 : 0;
}

static int begin_part(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  const char *path = file_path(to->target.url);
  FILE *manifest;
  if (!options->job || !part_is_for(&to->target))
    return 0;
  if (options->left)
    to->left = *options->left;
  else if (options->replace)
    part_forget_all(path);
  if (part_make(&to->part, path, options->replace, &manifest, err))
    return -1;
  to->recorder.segments = muxer_keeps_segments(to->target.container);
  return begin_manifest(to, options, manifest, err);
}

int ffmpeg_sink_prepare(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  const AVOutputFormat *container = to->target.container;
  to->packet = av_packet_alloc();
  to->held = av_packet_alloc();
  if (!to->packet || !to->held || avformat_alloc_output_context2(&to->output, container, NULL, to->target.url) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  to->output->interrupt_callback = (AVIOInterruptCB){should_abort, to};
  bool pictures = !strcmp(container->name, "image2");
  if (pictures && !(to->whole_files = whole_files_open(to->output)))
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  to->numbered = target_is_sequence(&to->target);
  to->one_picture = pictures && !to->numbered;
  if (to->one_picture)
    av_opt_set_int(to->output->priv_data, "update", 1, 0);
  to->is_gif = !strcmp(container->name, "gif");
  to->gif_slots = options->fps > 100.0 / GIF_LEAST + 0.01;
  if (to->numbered)
    av_opt_set_int(to->output->priv_data, "frame_pts", 1, 0);
  to->recorder.delay = -1;
  to->joins = options->joins;
  to->spare = options->joins && !options->left;
  to->shard = options->is_shard;
  to->shift = options->shift;
  to->mark = to->whole_files ? options->mark : NULL;
  if (add_video(to, options, err) || begin_part(to, options, err))
    return -1;
  if (side_tracks_open(&to->side, to->output, &to->target, options, err) ||
      live_sound_open(&to->live_sound, to->output, options->tap, options->tap_by_clock, options->log, err))
    return -1;
  if (muxer_open(&to->muxer, to->output) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  if (write_header(to, options, err))
    return -1;
  return options->kept_count ? ffmpeg_sink_take_parts(to, options, err) : 0;
}
