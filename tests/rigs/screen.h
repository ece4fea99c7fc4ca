/* Runs an X server of a test's own with the live window on it. Keys are sent with xdotool, and the screen's pixels are
 * compared with expected ones (FFmpeg's ssim, where 1 means equal). Errors fail the test. */
#ifndef TESTS_SCREEN_H
#define TESTS_SCREEN_H

#include <stdbool.h>
#include <sys/types.h>

#define FIND_WINDOW "xdotool search --name '^reverie$'"
#define WHOLE "null"

/* Options for a small picture that is shown pixel by pixel. */
#define PICTURE " --size 256x256 --window 256x256 --seed 7 --threads 1 --no-hud -v --canvas fixed "
/* Filter for the part of a 256x256 picture that the words in its upper left corner, such as "paused", do not cover. */
#define BELOW_WORDS "crop=256:192:0:64"

enum { PATIENCE_MS = 60000, LOOK_AGAIN_MS = 30, SCREEN_MISSING = 77 };

struct screen {
  pid_t server;
  int number;
  pid_t program; /* 0: none runs */
};

/* The screen of the test program. */
extern struct screen screen;

/* Starts a server. The command ends with NULL; it must take a free display and write its number to descriptor 3. The
 * server ends with this process, however that ends. */
bool screen_open(const char *const server[]);
bool screen_open_xvfb(void);
void screen_close(void);

/* Starts Xvfb, opens the clips' folder and makes the still. Returns 0; SCREEN_MISSING: a program that is needed is
 * missing; 1: the server does not start. */
int screen_begin(void);
void screen_end(void);

/* Makes still.png of 256x256, and still.mkv, which shows it for 2 s at 15 pictures a second. */
void screen_make_still(void);

void pause_ms(int ms);
/* Waits until the running program has printed these words. */
void wait_said(const char *words);
/* Repeats a command until it succeeds. */
void wait_for(const char *command);

/* Starts live, waits for its first picture, and gives the keyboard to the window as a window manager would. */
void start_window(const char *arguments);
/* Presses keys, as xdotool names them. */
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
/* Returns the similarity of two pictures, each after a filter that makes them equally large. */
double similarity(const char *a, const char *filter_a, const char *b, const char *filter_b);
/* Grabs the window into now.png until its similarity to a picture is at least (alike) or below the limit. Waits for
 * words to fade, keys on their way and busy machines. */
void expect_window(const char *filter, bool alike, double limit, const char *picture, const char *its_filter);
/* Makes the program save a snapshot, and waits until it is written. */
void take_snapshot(void);
/* Does the same and renames it shot.png. */
void save(void);

#endif
