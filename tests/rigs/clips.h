/* Clips that tests make with the ffmpeg program, in a folder that is removed afterwards, and functions that read
 * them. */
#ifndef TESTS_CLIPS_H
#define TESTS_CLIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the folder. Returns false if there is no ffmpeg program, so that nothing can be tested. */
bool clips_open(void);
/* Removes the folder with its contents. */
void clips_close(void);

/* For shell commands: the ffmpeg program, and the project's sample clip. */
#define FFMPEG "ffmpeg -nostdin -v error -y "
#define SAMPLE "\"${REVERIE_DATA_DIR:-$REVERIE_ASSETS}/sample.mp4\""

/* Returns the path of a file in the folder, in one of 8 buffers that are used in turn. */
const char *clip(const char *name);

/* Runs a shell command in the folder. Fails the test if the command fails. */
__attribute__((format(printf, 1, 2))) void shell(const char *format, ...);

/* Runs a shell command in the same way and returns what it printed, with a zero byte after it. The caller frees it.
 * size may be NULL. */
__attribute__((format(printf, 2, 3))) uint8_t *shell_output(size_t *size, const char *format, ...);

/* Fails the test unless both shell commands print the same, and not nothing. */
void expect_same(const char *what, const char *command_one, const char *command_two);

/* Writes a file of that many random bytes, which are the same each time. */
void clip_random_bytes(const char *name, size_t size);

/* Parts of a clip. The test's own process reads them, because starting ffprobe takes longer than reading. */
enum clip_part {
  CLIP_FRAMES,  /* decoded frames of the first video stream, in the order of display */
  CLIP_PACKETS, /* packets of the first video stream, in the file's order */
  CLIP_SOUND    /* packets of the first audio stream */
};
/* Stores the times of the first `most` of them in seconds; 0 if one has no time. Returns how many can be read. */
int clip_times(const char *name, enum clip_part part, double *times, int most);

/* Fails the test unless both clips have that many frames (256 at most), at the same times within half a microsecond. */
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
  int tracks; /* audio streams in the file */
};
struct clip_sound clip_sound(const char *name);

/* Returns true if the first frames of both are equal to the bit. */
bool clip_same_picture(const char *a, const char *b);

#endif
