/* Clips made with the ffmpeg program while testing, in a folder that is removed afterwards, and what is in them. */
#ifndef TESTS_CLIPS_H
#define TESTS_CLIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the folder. false: there is no ffmpeg program here, so nothing can be tested. */
bool clips_open(void);
void clips_close(void);

/* For shell: the ffmpeg program, and the project's sample clip. */
#define FFMPEG "ffmpeg -nostdin -v error -y "
#define SAMPLE "\"${REVERIE_DATA_DIR:-$REVERIE_ASSETS}/sample.mp4\""

/* Path of name in the folder; one of 8 buffers in turn. */
const char *clip(const char *name);

/* Runs a shell command in the folder; the test fails where the command does. */
__attribute__((format(printf, 1, 2))) void shell(const char *format, ...);

/* The same, and gives back what it printed, with a zero byte behind; free() it. size may be NULL. */
__attribute__((format(printf, 2, 3))) uint8_t *shell_output(size_t *size, const char *format, ...);

/* Fails the test unless both shell commands print the same, and something. */
void expect_same(const char *what, const char *command_one, const char *command_two);

/* Writes a file of that many bytes: the numbers of a fixed random sequence. */
void clip_random_bytes(const char *name, size_t size);

/* Read in this process: to start ffprobe takes longer than what it is asked for. */
enum clip_part {
  CLIP_FRAMES,  /* of the first video stream, decoded, in the order of showing */
  CLIP_PACKETS, /* of the same, as they lie in the file */
  CLIP_SOUND    /* the first sound's packets */
};
/* Seconds of each, 0 where it has no time; the first `most` of them. Returns how many there are that can be read. */
int clip_times(const char *name, enum clip_part part, double *times, int most);

/* Fails the test unless both have that many frames (256 at most), at the same times within half a microsecond. */
void clip_expect_same_times(const char *in, const char *out, int frames);

/* Frames of the first video stream that can be decoded. */
long clip_count_frames(const char *name);

/* The first video stream. Pixels of 0:1 say nothing of their shape. */
struct clip_shape {
  char codec[32];
  int width, height, pixel_width, pixel_height;
};
struct clip_shape clip_shape(const char *name);

/* Whether the first frames of both are the same to the bit. */
bool clip_same_picture(const char *a, const char *b);

#endif
