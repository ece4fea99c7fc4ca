/* Makes clips with the ffmpeg program, in a folder that is removed after the tests, and reads them. */
#ifndef TESTS_CLIPS_H
#define TESTS_CLIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the folder for clips. Returns false if there is no ffmpeg program; the tests are then skipped. */
bool clips_open(void);
/* Removes the folder for clips with its contents. */
void clips_close(void);

/* Texts for shell commands: how the ffmpeg program is called, and the path of the project's sample clip. */
#define FFMPEG "ffmpeg -nostdin -v error -y "
#define SAMPLE "\"${REVERIE_DATA_DIR:-$REVERIE_ASSETS}/sample.mp4\""

/* Returns the path of a file in the folder, in one of 8 buffers that are used in turn. */
const char *clip(const char *name);

/* Runs a shell command in the folder. Fails the test if the command fails. */
__attribute__((format(printf, 1, 2))) void shell(const char *format, ...);

/* Runs a shell command like shell(), and returns what it printed, with a zero byte after it, which the caller frees.
 * *size: the number of bytes without the zero byte; size may be NULL. */
__attribute__((format(printf, 2, 3))) uint8_t *shell_output(size_t *size, const char *format, ...);

/* Fails the test unless both shell commands print the same bytes, at least one byte. what: name of the comparison, for
 * the message. */
void expect_same(const char *what, const char *command_one, const char *command_two);

/* Writes a file of `size` random bytes, which are the same in each run. */
void clip_random_bytes(const char *name, size_t size);

/* What clip_times counts. The test's own process reads the clips, because starting ffprobe takes longer than
 * reading. */
enum clip_part {
  CLIP_FRAMES,  /* decoded frames of the first video stream, in the order in which they are shown */
  CLIP_PACKETS, /* packets of the first video stream, in the order of the file */
  CLIP_SOUND    /* packets of the first audio stream */
};
/* Stores the times, in seconds, of the first `most` frames or packets; 0 for those without a time. Returns how many
 * frames or packets there are in all. */
int clip_times(const char *name, enum clip_part part, double *times, int most);

/* Fails the test unless both clips have this number of frames (at most 256), whose times differ by at most half a
 * microsecond. */
void clip_expect_same_times(const char *in, const char *out, int frames);

/* Returns how many frames of the first video stream can be decoded. */
long clip_count_frames(const char *name);

/* Describes the first video stream. A pixel shape of 0:1 means that the file does not give one. */
struct clip_shape {
  char codec[32];
  int width, height, pixel_width, pixel_height;
};
struct clip_shape clip_shape(const char *name);

/* Describes the first audio stream; all zeros if there is none. */
struct clip_sound {
  char codec[32];
  int rate, channels;
  int tracks; /* number of audio streams in the file */
};
struct clip_sound clip_sound(const char *name);

/* Returns true if all pixels of the two clips' first frames are equal. */
bool clip_same_picture(const char *a, const char *b);

#endif
