/* An X server of a test's own and the live window on it: driven by keys (xdotool), looked at by grabbing that screen
 * and comparing what is there (FFmpeg's ssim: 1 is equal) with what should be. What fails, fails the test. */
#ifndef TESTS_SCREEN_H
#define TESTS_SCREEN_H

#include <stdbool.h>
#include <sys/types.h>

#define FIND_WINDOW "xdotool search --name '^reverie$'"
#define WHOLE "null"

/* Small, and shown pixel by pixel. */
#define PICTURE " --size 256x256 --window 256x256 --seed 7 --threads 1 --no-hud -v "
/* Of a picture of 256x256: what the words in its upper left corner, such as "paused", leave free. */
#define BELOW_WORDS "crop=256:192:0:64"

enum { PATIENCE_MS = 60000, LOOK_AGAIN_MS = 30, SCREEN_MISSING = 77 };

struct screen {
  pid_t server;
  int number;
  pid_t program; /* 0: none runs */
};

/* The one that a test program has. */
extern struct screen screen;

/* Starts a server, a command with its arguments up to NULL, which takes a free display and writes its number to
 * descriptor 3. It ends with this process, however that ends. */
bool screen_open(const char *const server[]);
bool screen_open_xvfb(void);
void screen_close(void);

/* With Xvfb, the folder of clips.h and the still: 0. SCREEN_MISSING: a program that is needed is not there; 1: the
 * server does not start. */
int screen_begin(void);
void screen_end(void);

/* still.png of 256x256, and still.mkv, which shows it for 2 s at 15 a second. */
void screen_make_still(void);

void pause_ms(int ms);
/* Waits until the running program has said so. */
void wait_said(const char *words);
/* Waits until a command, which is tried again and again, finds what it looks for. */
void wait_for(const char *command);

/* Runs live until its first picture, and gives the keyboard to the window, as a window manager would. */
void start_window(const char *arguments);
void press(const char *keys);
struct outcome;
void finish(struct outcome *outcome);
/* Quits with Ctrl-Q, which is to end it well. */
void quit_window(void);
/* A teardown: a test that failed half-way leaves its program behind. */
int screen_end_program(void **state);

/* The window's pixels, into a PNG file. */
void grab(const char *name);
/* How alike two pictures are after a filter each, which leaves them equally large. */
double similarity(const char *a, const char *filter_a, const char *b, const char *filter_b);
/* Grabs the window into now.png until it is at least (or below) so alike to a picture; a while is given for words that
 * fade, keys on their way and busy machines. */
void expect_window(const char *filter, bool alike, double limit, const char *picture, const char *its_filter);
/* Saves the picture where the program does, and waits until it is written. */
void take_snapshot(void);
/* Saves it as shot.png. */
void save(void);

#endif
