/* Starts an X server, with the live window on it. Keys are sent with xdotool, and the screen's pixels are compared with
 * expected ones by FFmpeg's filter ssim, where 1 means equal. Errors fail the test. */
#ifndef TESTS_SCREEN_H
#define TESTS_SCREEN_H

#include <stdbool.h>
#include <sys/types.h>

#define FIND_WINDOW "xdotool search --name '^reverie$'"
#define WHOLE "null"

/* Options of `live` for a small picture that is shown pixel by pixel. */
#define PICTURE " --size 256x256 --window 256x256 --seed 7 --threads 1 --no-hud -v --canvas fixed "
/* FFmpeg filter that cuts off the upper part of a 256x256 picture, in which the program shows words such as
 * "paused". */
#define BELOW_WORDS "crop=256:192:0:64"

enum { PATIENCE_MS = 60000, LOOK_AGAIN_MS = 30, SCREEN_MISSING = 77 };

struct screen {
  pid_t server;
  int number;
  pid_t program; /* process of the live window; 0: none runs */
};

/* the X server and the live window that all tests of a program use */
extern struct screen screen;

/* Starts an X server. server: the command, which ends with NULL; it must choose a free display and write its number to
 * file descriptor 3. The server ends when this process ends, in whatever way. */
bool screen_open(const char *const server[]);
bool screen_open_xvfb(void);
void screen_close(void);

/* Starts Xvfb, opens the clips' folder and makes the still picture. Returns 0; SCREEN_MISSING if a program is missing
 * that is needed; 1 if the server does not start. */
int screen_begin(void);
void screen_end(void);

/* Makes still.png of 256x256 pixels, and still.mkv, which shows it for 2 s at 15 frames a second. */
void screen_make_still(void);

void pause_ms(int ms);
/* Waits until the running program has printed these words. */
void wait_said(const char *words);
/* Repeats a shell command until it succeeds. */
void wait_for(const char *command);

/* Starts `live` with these arguments, waits for its first picture, and gives the keyboard focus to the window as a
 * window manager would. */
void start_window(const char *arguments);
/* Presses keys in the window; keys are named as xdotool names them. */
void press(const char *keys);
struct outcome;
/* Waits until the running program has ended. */
void finish(struct outcome *outcome);
/* Quits with Ctrl-Q and fails the test unless the program succeeds. */
void quit_window(void);
/* Tear-down: ends the program that a failed test has left running. */
int screen_end_program(void **state);

/* Writes the window's pixels into a PNG file. */
void grab(const char *name);
/* Returns the similarity (ssim) of two picture files, each after an FFmpeg filter; both must have the same size
 * then. */
double similarity(const char *a, const char *filter_a, const char *b, const char *filter_b);
/* Saves the window's pixels as now.png until their similarity to a picture is at least `limit` (alike true), or below
 * it (alike false). That gives words time to fade, and keys time to arrive. filter is for the window, its_filter for
 * the picture. */
void expect_window(const char *filter, bool alike, double limit, const char *picture, const char *its_filter);
/* Presses the key that saves a snapshot, and waits until the file is written. */
void take_snapshot(void);
/* Does the same as take_snapshot, and renames the file to shot.png. */
void save(void);

#endif
