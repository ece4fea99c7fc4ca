/* A render job: all properties of a render that must be equal in the parts of one output. Parts come from shards
 * (--shard), from a render that is resumed, and from several devices. Each part has a manifest (manifest.h) that
 * describes the job, so that parts can be compared before they are joined.
 *
 * Strings and arrays belong to the struct that points to them. Zero-initialise each struct; job_free frees what it
 * holds. Functions that return int return 0, or -1 with err. */
#ifndef APP_JOB_JOB_H
#define APP_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"

/* An exact time in seconds, num / den. den > 0. */
struct job_time {
  int64_t num, den;
};

/* Compares two times. Returns a negative number if `one` is before `other`, 0 if they are equal, a positive number if
 * it is after. */
int job_time_compare(struct job_time one, struct job_time other);

enum { JOB_HASH_BYTES = 16 };

struct job_hash {
  uint8_t bytes[JOB_HASH_BYTES];
};

/* Hashes the pixels of a frame in host memory, without the padding of its rows, by MurmurHash3. The hash tells pictures
 * apart, but is no protection against forgery. */
int job_hash_picture(struct job_hash *hash, const struct frame *frame, struct error *err);

enum { JOB_DIGEST_MAX = 33 };

/* Stores the first half of a text's SHA-256 in hexadecimal. Manifests contain this digest in place of texts that may
 * have a password. */
int job_digest_text(char digest[JOB_DIGEST_MAX], const char *text, struct error *err);

/* Name, size and hash of a file, by which it is recognised. For a name that is no file (a URL, a device), size is -1
 * and hash is "". */
struct job_file {
  char *name;    /* name of the file as the user gave it; an address is stored without its user name, password and
                  * query */
  int64_t size;  /* bytes */
  char hash[33]; /* hash of samples spread over the file, or of all of a small file, in hexadecimal */
  /* time of the last change, such as "2026-11-29T03:15:00Z"; written to the manifest, but not compared */
  char time[32];
};

/* Fills *file for the file of this name. If there is no such file, size becomes -1, and hash and time ""; if it cannot
 * be read, hash alone is "". Reads at most 4 MiB of the file. */
int job_file_describe(struct job_file *file, const char *name, struct error *err);
/* True if the file has this size in bytes and this hash. */
bool job_file_is(const struct job_file *file, int64_t size, const char *hash);
void job_file_free(struct job_file *file);

/* An option on which the pictures depend: name and value. If the value is the name of a file, the file's size and hash
 * are appended to it. */
struct job_option {
  char *name, *value;
};

struct job {
  char *program;         /* version of reverie that renders the job */
  struct job_file input; /* the input that is rendered */
  struct job_option *options;
  size_t option_count;
  char *model;     /* name and size of the model, which identify its files */
  char *device;    /* the device with its driver and libraries; may differ between parts, which is then logged */
  char *encoder;   /* the encoder with its version and, at the end, the pixel format that it gets */
  char *container; /* FFmpeg's name of the muxer */
  /* FFmpeg's extradata of the encoder, which decoders need (for H.264: SPS and PPS); NULL: the codec has none */
  uint8_t *header;
  size_t header_bytes;
  int width, height;    /* size in pixels of the pictures that are encoded */
  struct job_time tick; /* length in seconds of the unit in which job_picture.time counts */
  struct job_time rate; /* usual number of pictures a second; den 0: unknown */
  /* time in seconds of the job's first frame on the job's own clock: always 0, because that clock counts from this
   * frame */
  struct job_time origin;
  /* time in seconds at which the job ends, counted from its first frame; den 0: the job ends with the input */
  struct job_time end;
  int batch; /* number of frames that the engine computes at once (--batch); 0: unknown */
  /* the kernels and other choices of the engine (engine_get_choices), on which rounding depends; NULL: unknown */
  char *choices;
};

/* Replaces the string in *field by a copy of `text`, and frees the old string. `text` NULL: stores NULL. */
int job_set_text(char **field, const char *text, struct error *err);
/* Stores a copy of the encoder's header (FFmpeg's extradata) in the description of the render. */
int job_set_header(struct job *job, const uint8_t *header, size_t bytes, struct error *err);
/* Adds an option to the description of a render. Descriptions with the same options in another order are different,
 * because prompts and LoRAs are numbered by their order. */
int job_add_option(struct job *job, const char *name, const char *value, struct error *err);
/* Copies a job. On failure *to is empty. */
int job_copy(struct job *to, const struct job *from, struct error *err);
/* Compares the descriptions of two renders, except device, rate, and the input's name and time. Of `choices` only the
 * first line is compared, which names the device, its driver and its libraries. A field that is unknown in either
 * (NULL, 0) counts as equal. Returns 0, or -1 with STATUS_USAGE and a message that gives the first difference, with the
 * values of `was` and `is`. */
int job_compare(const struct job *was, const struct job *is, struct error *err);
/* Compares the jobs of two parts as job_compare does, but ignores `choices` and `batch`, on which only rounding
 * depends. In the message, "there" is the value of `one`, and "here" that of `other`. */
int job_compare_parts(const struct job *one, const struct job *other, struct error *err);
/* True if the pictures of two jobs may differ by rounding, because the jobs' devices, batch sizes or kernels differ. In
 * that case `why` gets a text, of at most `size` bytes, that names the devices and the difference. */
bool job_rounds_differently(const struct job *one, const struct job *other, char *why, size_t size);
void job_free(struct job *job);

/* One of the parts that a job (a whole render) is divided into: the job's frames whose time, counted from the job's
 * first frame, is at least `begin` and less than `end`. */
struct job_part {
  /* number of this part, from 1, and number of all parts of the render; both are 1 for the whole render, and for a
   * part that the user has named by frame numbers */
  int index, count;
  /* numbered: true: the user selected the part by frame numbers `first` to `last`, as in --shard A-B; last -1: to the
   * end */
  bool numbered;
  int64_t first, last;
  struct job_time begin, end;
  bool open; /* true: the part goes on to the end of the input, and `end` is not set */
};

/* True if a frame belongs to this part of the render. time: the frame's time in seconds, counted from the first frame
 * of the whole render. */
bool job_part_has(const struct job_part *part, struct job_time time);

#endif
