/* The manifest of a part of a render job: a text file beside the part's file (OUT.part.json) that describes the part's
 * contents. Each line is a JSON object and is handed to the operating system at once, so that after a process was
 * killed only the last line can be incomplete:
 *
 *   {"manifest":1, "program":..., "input":{...}, "options":[...], ..., "part":{...}}    the job and the part
 *   {"picture":0, "time":0, "source":0, "hash":"..."}                                    for each picture
 *   {"segment":0, "pictures":48}                                                         for each closed segment
 *   {"end":240, "pictures":120, "whole":true}                                            when the part is complete
 *   {"file":73211, "hash":"..."}                                                         when a shard is complete
 *
 * A segment is a series of consecutive pictures that can be decoded without the others: it begins with a key frame, and
 * no earlier picture is shown after that key frame. A segment's line is written when its packets are in the file. */
#ifndef APP_JOB_MANIFEST_H
#define APP_JOB_MANIFEST_H

#include <stdio.h>

#include "app/job/job.h"

enum { MANIFEST_VERSION = 1 };

/* A picture that was sent to the encoder. */
struct job_picture {
  int64_t time; /* time of the picture in the output, in units of job.tick; rises from picture to picture */
  /* time of the source's frame from which the picture was made, in units of frame.pts, counted from the clip's
   * beginning also if this part begins later; rises from picture to picture */
  int64_t source;
  struct job_hash hash;
};

/* A segment (pictures that can be decoded without the others): pictures `first` to first + pictures - 1 of the part,
 * counted from 0. */
struct job_segment {
  int64_t first, pictures;
};

/* Contents of the manifest's line {"end": ...}, which is written when the part is complete. */
struct job_end {
  int64_t time;     /* time at which the last picture ends in the output, in units of job.tick */
  int64_t pictures; /* number of pictures in the part */
  bool whole;       /* true: the input was read to the part's end; false: the user stopped the render earlier */
};

/* --- writing a manifest --- */

struct manifest; /* A manifest that is being written. One thread at a time uses it. */

/* Begins a manifest and writes its first line, which describes job and part. `out`: an empty file; manifest_close
 * closes it, or this function if it fails. path: the file's name in messages; must outlive the manifest. */
int manifest_open(struct manifest **manifest, FILE *out, const char *path, const struct job *job,
                  const struct job_part *part, struct error *err);
/* manifest_add_picture, manifest_add_segment and manifest_add_end add a line to the manifest. They return 0, or -1 with
 * err. */
int manifest_add_picture(struct manifest *manifest, const struct job_picture *picture, struct error *err);
int manifest_add_segment(struct manifest *manifest, const struct job_segment *segment, struct error *err);
int manifest_add_end(struct manifest *manifest, const struct job_end *end, struct error *err);
/* Adds the last line, with the size and hash of a shard's video file. path: the name of that file, which must be
 * complete. The caller must add no line after this one. Returns 0, or -1 with err. */
int manifest_add_file(struct manifest *manifest, const char *path, struct error *err);
/* Closes the file; *manifest becomes NULL; does nothing if it is NULL. */
void manifest_close(struct manifest **manifest);

/* --- reading a manifest --- */

/* The contents of a manifest file, as job_record_read finds them. */
struct job_record {
  struct job job;
  struct job_part part;
  struct job_picture *pictures;
  size_t picture_count;
  /* the segments (groups of pictures that can be decoded without the others) in order: the first begins with picture
   * 0, each other one with the picture after the preceding segment */
  struct job_segment *segments;
  size_t segment_count;
  struct job_end end;
  bool ended; /* true: the manifest has the line {"end": ...}, whose contents are in `end` */
  /* size in bytes and hash of the shard's complete file, as in struct job_file; size -1: the manifest lacks them */
  int64_t file_size;
  char file_hash[33];
};

/* True if the file's first bytes are those of a manifest. */
bool manifest_is(const char *path);
/* Reads a manifest up to its end, or up to the first line that is incomplete or contradicts earlier lines; the lines
 * before it are used. Returns 1. Returns 0 if there is no such file, or its first line is no manifest's. Returns -1
 * with err if it cannot be read, or if a version of the program with another format wrote it. */
int job_record_read(struct job_record *record, const char *path, struct error *err);
/* Returns how many pictures of the part, from its first one, are in complete segments (series of pictures that can be
 * decoded without the others, such as those from one key frame to the next). A resumed render need not make them
 * again. */
int64_t job_record_kept(const struct job_record *record);
void job_record_free(struct job_record *record);

#endif
