#include "app/sink.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libavformat/avformat.h>

#include "app/ffmpeg_util.h"
#include "app/target.h"

/* In order of asking; ffmpeg takes whatever the others do not. */
static const struct sink_impl *const sinks[] = {&sink_null, &sink_hash, &sink_ffmpeg};
enum { SINKS = sizeof sinks / sizeof *sinks };

static const struct sink_impl *find(const char *spec) {
  for (int i = 0; i < SINKS; i++)
    if (sinks[i]->accepts(spec))
      return sinks[i];
  return NULL;
}

static bool agrees(const char *path) {
  char answer[16] = "";
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
    return false;
  fprintf(stderr, "%s exists. Overwrite it? [y/N] ", path);
  return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static bool is_input(const struct stat *out, const char *input) {
  struct stat in;
  bool standard_input = input && (!strcmp(input, "-") || !strncmp(input, "pipe:", 5));
  bool known = standard_input ? !fstat(STDIN_FILENO, &in) : input && !stat(file_path(input), &in);
  return known && in.st_dev == out->st_dev && in.st_ino == out->st_ino;
}

static int check_standard_output(const char *input, struct error *err) {
  struct stat out;
  if (fstat(STDOUT_FILENO, &out)) /* closed: the next file to be opened would get its number */
    return error_set(err, STATUS_OUTPUT, "standard output: is closed; give it to a program (| mpv -) or name a file");
  if (isatty(STDOUT_FILENO))
    return error_set(err, STATUS_OUTPUT,
                     "standard output: video is not for a terminal; give it to a program (| mpv -) or name a file");
  if (S_ISREG(out.st_mode) && is_input(&out, input))
    return error_set(err, STATUS_USAGE, "standard output: input and output are the same file; give another output");
  return 0;
}

static int check_file(const char *path, const char *input, bool overwrite, struct error *err) {
  struct stat out;
  /* A sequence of pictures exists if its first one does. */
  char first[PATH_MAX];
  if (stat(path, &out) && !av_get_frame_filename(first, sizeof first, path, 1))
    path = first;
  if (stat(path, &out))
    return 0;
  if (S_ISDIR(out.st_mode))
    return error_set(err, STATUS_OUTPUT, "%s: this is a folder; name a file in it", path);
  if (!S_ISREG(out.st_mode))
    return 0;
  if (is_input(&out, input))
    return error_set(err, STATUS_USAGE, "%s: input and output are the same file; give another output", path);
  if (!overwrite && !agrees(path))
    return error_set(err, STATUS_OUTPUT, "%s: exists already; give -y to overwrite it", path);
  return 0;
}

static bool is_folder(const char *path) {
  struct stat file;
  return !stat(path, &file) && S_ISDIR(file.st_mode);
}

static int check_container(const struct sink_impl *impl, const char *spec, const char *format, struct error *err) {
  struct target target;
  if (impl == &sink_ffmpeg)
    return is_folder(file_path(spec)) ? 0 : target_choose(&target, spec, format, err);
  return format ? error_set(err, STATUS_USAGE, "--output-format %s: %s has no container; leave it out", format, spec)
                : 0;
}

int sink_check(const char *spec, const char *format, const char *input, bool overwrite, struct error *err) {
  const struct sink_impl *impl = find(spec);
  if (check_container(impl, spec, format, err))
    return -1;
  if (impl == &sink_null)
    return 0;
  if (target_is_standard_output(spec))
    return check_standard_output(input, err);
  return check_file(impl == &sink_hash ? spec + strlen("hash:") : file_path(spec), input, overwrite, err);
}

int sink_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  *sink = NULL;
  return find(spec)->open(sink, spec, options, err);
}

int sink_write(struct sink *sink, const struct frame *frame, struct error *err) {
  return sink->impl->write(sink, frame, err);
}

int sink_finish(struct sink *sink, bool whole, struct error *err) {
  return sink->impl->finish(sink, whole, err);
}

void sink_close(struct sink **sink) {
  if (*sink)
    (*sink)->impl->close(*sink);
  *sink = NULL;
}
