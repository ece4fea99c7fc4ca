#include "app/sink/sink.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavformat/avformat.h>
#include <libavutil/avstring.h>

#include "app/platform/app_platform.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/picture_files.h"
#include "app/source/pipewire_spec.h"
#include "app/source/protocols.h"
#include "app/sink/accepted.h"
#include "app/sink/encoder.h"
#include "app/sink/files.h"
#include "app/sink/muxer.h"
#include "app/sink/part.h"
#include "app/sink/target.h"
#include "unet/base/text.h"

/* The kinds of sinks. The first that accepts the name of an output writes it; sink_ffmpeg, the last, accepts every
 * name. */
static const struct sink_impl *const sinks[] = {&sink_null, &sink_hash, &sink_pipewire, &sink_ffmpeg};
enum { SINKS = sizeof sinks / sizeof *sinks };

static const struct sink_impl *find(const char *spec) {
  for (int i = 0; i < SINKS; i++)
    if (sinks[i]->accepts(spec))
      return sinks[i];
  return NULL;
}

static bool user_agrees(const char *path, size_t more) {
  char answer[16] = "";
  if (!platform_is_terminal(STANDARD_INPUT) || !platform_is_terminal(STANDARD_ERROR))
    return false;
  text_put(stderr, path);
  if (more)
    fprintf(stderr, " and %zu more exist. Overwrite them? [y/N] ", more);
  else
    fprintf(stderr, " exists. Overwrite it? [y/N] ");
  return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

/* Asks on the terminal if the existing files in `files` may be overwritten. Returns 0 if the answer is yes or the list
 * is empty, else -1 with err. */
static int may_overwrite(const struct files *files, struct error *err) {
  const char *path = files->count ? files->entries[0].path : NULL;
  if (!path || user_agrees(path, files->count - 1))
    return 0;
  if (files->count == 1)
    return error_set(err, STATUS_OUTPUT, "%s: exists already; give -y to overwrite it", path);
  return error_set(err, STATUS_OUTPUT, "%s and %zu more of its kind exist already; give -y to overwrite them", path,
                   files->count - 1);
}

/* Returns the file descriptor that spec stands for ("-", "pipe:N" and the like); -1: it stands for none. */
static int descriptor_of(const char *spec) {
  char *end;
  if (target_is_standard_output(spec) || !strcmp(spec, "hash:-"))
    return STANDARD_OUTPUT;
  if (strncmp(spec, "pipe:", 5))
    return -1;
  long number = strtol(spec + 5, &end, 10);
  return *end || number < 0 || number > INT_MAX ? -1 : (int)number;
}

static int check_descriptor(const char *spec, bool video, struct files *input, struct error *err) {
  struct platform_entry out;
  int fd = descriptor_of(spec);
  const char *name = fd == STANDARD_OUTPUT ? "standard output" : spec;
  /* fails if the descriptor is closed: otherwise the next file that the program opens would get this descriptor, and
   * the output would be written to that file */
  if (platform_look_at(&out, fd))
    return error_set(err, STATUS_OUTPUT, "%s: is closed; give it to a program (| mpv -) or name a file", name);
  if (video && platform_is_terminal(fd))
    return error_set(err, STATUS_OUTPUT,
                     "%s: video is not for a terminal; give it to a program (| mpv -) or name a file", name);
  const struct files output = {&(struct file_entry){out.volume, out.number, ""}, 1, 1};
  if (out.kind == ENTRY_FILE && files_shared(&output, input))
    return error_set(err, STATUS_USAGE, "%s: input and output are the same file; give another output", name);
  return 0;
}

static int refuse_folder(const char *path, struct error *err) {
  return error_set(err, STATUS_OUTPUT, "%s: this is a folder; name a file in it", path);
}

/* Adds path to `files` if it is an existing ordinary file, which would be overwritten; devices and pipes are not
 * added. */
static int add_output(struct files *files, const char *path, struct error *err) {
  if (platform_is_folder(path))
    return refuse_folder(path, err);
  return platform_is_file(path) ? files_add(files, path, err) : 0;
}

/* Adds the existing files that the muxers of HLS and DASH would overwrite in addition to the one that is named. */
static int add_companions(struct files *files, const char *path, const char *container, struct error *err) {
  char pattern[PATH_MAX];
  const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
  int folder = slash ? (int)(slash + 1 - path) : 0, stem = dot > slash ? (int)(dot - path) : (int)strlen(path);
  if (av_match_name(container, "hls")) {
    snprintf(pattern, sizeof pattern, "%.*s%%d.ts", stem, path);
    return files_add_sequence(files, pattern, 0, LONG_MAX, NULL, err);
  }
  if (!av_match_name(container, "dash"))
    return 0;
  snprintf(pattern, sizeof pattern, "%.*sinit-stream%%d.m4s", folder, path);
  if (files_add_sequence(files, pattern, 0, LONG_MAX, NULL, err))
    return -1;
  for (int stream = 0; stream < 10; stream++) {
    snprintf(pattern, sizeof pattern, "%.*schunk-stream%d-%%05d.m4s", folder, path, stream);
    if (files_add_sequence(files, pattern, 0, LONG_MAX, NULL, err))
      return -1;
  }
  return 0;
}

/* Fails if the folder of a sequence is missing. FFmpeg reports that as an input/output error, and only at the first
 * picture. */
static int check_folder(const char *pattern, struct error *err) {
  char folder[PATH_MAX];
  const char *slash = strrchr(pattern, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - pattern) : 0, pattern);
  if (!*folder || strchr(folder, '%') || platform_is_folder(folder))
    return 0;
  return error_set(err, STATUS_OUTPUT, "%s: there is no folder %s; make it first", pattern, folder);
}

/* Finds the numbers that the pictures of a sequence will have: the numbers of the input's pictures, or from 1 on if the
 * input is no sequence. */
static int find_numbers(const struct sink_wish *wish, long *first, long *end, struct error *err) {
  struct pictures *pictures;
  int lowest, highest;
  *first = 1;
  *end = wish->frames ? 1 + wish->frames : LONG_MAX;
  if (source_pictures_open(&pictures, wish->input, wish->source, err))
    return -1;
  if (pictures && pictures_part(pictures, wish->source, wish->frames, &lowest, &highest)) {
    *first = lowest;
    *end = (long)highest + 1;
  }
  source_pictures_close(&pictures);
  return 0;
}

/* Adds to `files` the existing files that the output would overwrite. */
static int find_output(struct files *files, const struct sink_wish *wish, const struct sink_impl *impl,
                       struct error *err) {
  struct target target;
  const char *path = file_path(wish->spec);
  if (impl == &sink_hash)
    return add_output(files, wish->spec + strlen("hash:"), err);
  if (target_choose(&target, wish->spec, wish->format, err))
    return -1;
  if (!target_is_sequence(&target))
    return add_output(files, path, err) || add_companions(files, path, target.container->name, err) ? -1 : 0;
  if (check_folder(path, err))
    return -1;
  long first, end;
  if (find_numbers(wish, &first, &end, err))
    return -1;
  return files_add_sequence(files, path, first, end, wish->source, err);
}

static int check_container(const struct sink_impl *impl, const struct sink_wish *wish, struct error *err) {
  struct target target;
  const char *spec = wish->spec, *format = wish->format;
  if (impl == &sink_ffmpeg && platform_is_folder(file_path(spec)))
    return refuse_folder(file_path(spec), err);
  const struct accepted_wishes wishes = {wish->codec, wish->pixel_format, wish->encoder_options, wish->quality};
  if (impl == &sink_ffmpeg)
    return target_choose(&target, spec, format, err) ? -1 : accepted_check_wishes(&target, &wishes, err);
  if (wish->pixel_format || wish->encoder_options)
    return error_set(err, STATUS_USAGE, "%s: %s has no encoder; leave it out",
                     wish->pixel_format ? "--pixel-format" : "--encoder-options", spec);
  return format ? error_set(err, STATUS_USAGE, "--output-format %s: %s has no container; leave it out", format, spec)
                : 0;
}

/* If an earlier render left an unfinished file of this output, adds it and its manifest to `files`, the files that the
 * render will write to or delete. Fails if such a file exists and neither -y (overwrite) nor --resume is given. */
static int add_left(struct files *files, const struct sink_wish *wish, struct error *err) {
  struct part_left left;
  if (!sink_has_part(wish->spec, wish->format) || !part_find(&left, file_path(wish->spec)))
    return 0;
  if (!wish->overwrite && !wish->resume)
    return error_set(err, STATUS_OUTPUT, "%s: left by a render that did not come to its end; %s-y begins anew",
                     left.name, sink_keeps_segments(wish->spec, wish->format) ? "--resume goes on with it, " : "");
  return files_add(files, left.name, err) || files_add(files, left.manifest, err) ? -1 : 0;
}

static int check_files(const struct sink_wish *wish, const struct sink_impl *impl, struct files *input,
                       struct error *err) {
  struct files output = {0}, left = {0};
  int status = find_output(&output, wish, impl, err) || (impl == &sink_ffmpeg && add_left(&left, wish, err)) ? -1 : 0;
  const char *shared = status ? NULL : files_shared(&output, input);
  if (!status && !shared)
    shared = files_shared(&left, input);
  if (shared)
    status = error_set(err, STATUS_USAGE, "%s: input and output are the same file; give another output", shared);
  if (!status && !wish->overwrite)
    status = may_overwrite(&output, err);
  files_free(&output);
  files_free(&left);
  return status;
}

static int check_camera(const char *spec, struct error *err) {
  struct platform_entry entry;
  if (!target_is_camera(spec) || pipewire_is(spec) || !platform_look(&entry, spec))
    return 0;
  return error_set(err, STATUS_OUTPUT, "%s: there is no such camera; `sudo modprobe v4l2loopback` makes one", spec);
}

int sink_check(const struct sink_wish *wish, struct error *err) {
  const struct sink_impl *impl = find(wish->spec);
  struct files input = {0};
  if (check_camera(wish->spec, err))
    return -1;
  if (check_container(impl, wish, err))
    return -1;
  if (wish->segments && !sink_keeps_segments(wish->spec, wish->format))
    return error_set(err, STATUS_USAGE,
                     "%s: %s is not written in segments that fit together again; files of MP4, MOV, MKV, WebM, NUT and "
                     "TS are",
                     wish->segments, target_name(wish->spec));
  if (impl == &sink_pipewire && !impl->write)
    return error_set(err, STATUS_OUTPUT, "%s: this reverie was built without PipeWire", wish->spec);
  if (impl == &sink_null || impl == &sink_pipewire)
    return 0;
  int status = files_add_input(&input, wish->input, wish->source, err);
  for (size_t i = 0; i < sizeof wish->others / sizeof *wish->others && !status; i++)
    status = wish->others[i] ? files_add_input(&input, wish->others[i], &(struct source_options){0}, err) : 0;
  if (!status)
    status = descriptor_of(wish->spec) >= 0 ? check_descriptor(wish->spec, impl == &sink_ffmpeg, &input, err)
                                            : check_files(wish, impl, &input, err);
  files_free(&input);
  return status;
}

bool sink_has_tracks(const char *spec, const char *format) {
  struct target target;
  return find(spec) == &sink_ffmpeg && !target_choose(&target, spec, format, NULL) &&
         target.container->audio_codec != AV_CODEC_ID_NONE;
}

/* Returns true if the output `spec` is first written to an unfinished file (part.h), which gets its final name at the
 * end. *target then describes the output: its name, container and kind. */
static bool choose_for_part(struct target *target, const char *spec, const char *format) {
  return find(spec) == &sink_ffmpeg && !target_choose(target, spec, format, NULL) && part_is_for(target);
}

bool sink_has_part(const char *spec, const char *format) {
  struct target target;
  return choose_for_part(&target, spec, format);
}

bool sink_keeps_segments(const char *spec, const char *format) {
  struct target target;
  return choose_for_part(&target, spec, format) && muxer_keeps_segments(target.container);
}

bool sink_shows_pictures(const char *spec) {
  return find(spec) == &sink_ffmpeg || find(spec) == &sink_pipewire;
}

double sink_rate(const char *spec, const char *format, double fps) {
  struct target target;
  bool gif = find(spec) == &sink_ffmpeg && !target_choose(&target, spec, format, NULL) &&
             !strcmp(target.container->name, "gif");
  return gif && fps > GIF_FPS_MOST ? GIF_FPS_MOST : fps;
}

enum pixel_format sink_pixels(const char *spec, const char *format, const char *codec, const char *pixel_format) {
  struct target target;
  if (find(spec) != &sink_ffmpeg || target_choose(&target, spec, format, NULL))
    return PIXEL_YUV420P;
  return encoder_pixels(target.container, target.url, codec, pixel_format);
}

bool sink_keeps_alpha(const char *spec, const char *format, const char *codec, const char *pixel_format) {
  struct target target;
  return find(spec) == &sink_ffmpeg && !target_choose(&target, spec, format, NULL) &&
         encoder_keeps_alpha(target.container, target.url, codec, pixel_format);
}

int sink_check_file(const char *path, bool overwrite, struct error *err) {
  struct files there = {0};
  int status = add_output(&there, path, err);
  if (!status && !overwrite)
    status = may_overwrite(&there, err);
  files_free(&there);
  return status;
}

int sink_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  *sink = NULL;
  return find(spec)->open(sink, spec, options, err);
}

int sink_write(struct sink *sink, const struct frame *frame, struct error *err) {
  return frame_wait(frame, MEMORY_HOST, err) < 0 ? -1 : sink->impl->write(sink, frame, err);
}

void sink_place_sound(struct sink *sink, int64_t source_pts, double seconds) {
  if (sink->impl->place_sound)
    sink->impl->place_sound(sink, source_pts, seconds);
}

void sink_set_end(struct sink *sink, int64_t pts) {
  if (sink->impl->set_end)
    sink->impl->set_end(sink, pts);
  else if (sink->inner)
    sink_set_end(sink->inner, pts);
}

void sink_set_broken(struct sink *sink) {
  if (sink->impl->set_broken)
    sink->impl->set_broken(sink);
  else if (sink->inner)
    sink_set_broken(sink->inner);
}

int sink_finish(struct sink *sink, bool whole, struct error *err) {
  return sink->impl->finish ? sink->impl->finish(sink, whole, err) : sink_finish(sink->inner, whole, err);
}

long sink_pictures(const struct sink *sink) {
  if (sink->impl->pictures)
    return sink->impl->pictures(sink);
  return sink->inner ? sink_pictures(sink->inner) : -1;
}

const char *sink_part(const struct sink *sink) {
  if (sink->impl->part)
    return sink->impl->part(sink);
  return sink->inner ? sink_part(sink->inner) : NULL;
}

void sink_close(struct sink **sink) {
  if (*sink)
    (*sink)->impl->close(*sink);
  *sink = NULL;
}
