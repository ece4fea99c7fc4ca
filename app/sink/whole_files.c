#include "app/sink/whole_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/sink/replacement.h"
#include "app/source/protocols.h"

enum { OPEN_MAX_FILES = 4 }; /* a picture whose planes are stored separately has a file for each plane */

struct whole_file {
  AVIOContext *io; /* FFmpeg's context of the open file; NULL: this element of the table is free */
  struct replacement replacement;
  char *path; /* path that the file gets when it is complete */
};

struct whole_files {
  struct whole_file files[OPEN_MAX_FILES];
  int failure;
};

static struct whole_file *find(struct whole_files *files, const AVIOContext *io) {
  for (int i = 0; i < OPEN_MAX_FILES; i++)
    if (files->files[i].io == io)
      return &files->files[i];
  return NULL;
}

static int note(struct whole_files *files, int code) {
  if (code < 0 && !files->failure)
    files->failure = code;
  return code;
}

/* True for an ordinary file or one that does not exist. Devices and pipes are written directly and not under another
 * name first. */
static bool is_plain(const char *path) {
  struct platform_entry there;
  return platform_look(&there, path) || there.kind == ENTRY_FILE;
}

static int open_replacement(struct whole_file *file, AVFormatContext *output, const char *path, int flags) {
  file->path = platform_real_path(path);
  if (!file->path)
    file->path = strdup(path);
  if (!file->path)
    return AVERROR(ENOMEM);
  if (replacement_make(&file->replacement, file->path))
    return AVERROR(errno);
  int code = avio_open2(&file->io, file->replacement.url, flags, &output->interrupt_callback, NULL);
  if (code < 0)
    replacement_drop(&file->replacement);
  return code;
}

static void forget(struct whole_file *file) {
  free(file->path);
  *file = (struct whole_file){0};
}

static int open_file(AVFormatContext *output, AVIOContext **io, const char *url, int flags, AVDictionary **wishes) {
  struct whole_files *files = output->opaque;
  struct whole_file *file = find(files, NULL);
  if (!file || !protocols_is_file(url) || !is_plain(file_path(url)))
    return note(files, avio_open2(io, url, flags, &output->interrupt_callback, wishes));
  int code = open_replacement(file, output, file_path(url), flags);
  *io = file->io;
  if (code < 0)
    forget(file);
  return note(files, code);
}

static int close_file(AVFormatContext *output, AVIOContext *io) {
  struct whole_files *files = output->opaque;
  struct whole_file *file = io ? find(files, io) : NULL;
  if (io)
    avio_flush(io);
  int code = io ? io->error : 0, closed = avio_close(io);
  code = code < 0 ? code : closed;
  if (file && code >= 0 && replacement_take_over(&file->replacement, file->path))
    code = AVERROR(errno);
  if (file && code < 0)
    replacement_drop(&file->replacement);
  if (file)
    forget(file);
  return note(files, code);
}

struct whole_files *whole_files_open(AVFormatContext *output) {
  struct whole_files *files = calloc(1, sizeof *files);
  if (!files)
    return NULL;
  output->opaque = files;
  output->io_open = open_file;
  output->io_close2 = close_file;
  return files;
}

int whole_files_failure(const struct whole_files *files) {
  return files ? files->failure : 0;
}

void whole_files_close(struct whole_files **files) {
  free(*files);
  *files = NULL;
}
