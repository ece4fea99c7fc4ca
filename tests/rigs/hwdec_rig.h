/* Reads clips with a fake hardware decoder and in software, and records what was read. */
#ifndef TESTS_HWDEC_RIG_H
#define TESTS_HWDEC_RIG_H

#include "app/source/source.h"
#include "tests/rigs/fake_hardware.h"

/* What was logged while a clip was read: number of warnings, last line of debugging, last and first warning. */
struct said_lines {
  int warnings;
  char debug[512], warning[512], first_warning[512];
};
extern struct said_lines lines;

struct source_options with_gpu(void);      /* returns options for decoding in software, with a fake GPU */
struct source_options with_hardware(void); /* returns options for decoding by the fake hardware, with a fake GPU */

enum { PICTURES_MOST = 1200 };

struct given {
  int count;
  struct picture_given {
    uint64_t hash;
    int64_t pts;
    int width, height;
    bool device, pinned;
  } pictures[PICTURES_MOST];
  const char *hardware;
};

/* Reads at most `most` pictures; 0: all. Fails the test if the clip cannot be read. */
void read_clip(const char *name, const struct source_options *options, int most, struct given *given);
/* Fails the test unless the same pictures were read in both cases. */
void assert_same(const struct given *a, const struct given *b);
/* Fails the test unless all that the fakes have allocated was freed. */
void assert_all_freed(void);
/* Sets the fakes back, so that nothing in them fails. */
void reset(void);

/* Set-up and tear-down of all tests for cmocka: make the clips and open the fakes. h264.mp4: 50 pictures with a key
 * frame every 12; deep.mkv: 10 bits; odd.mkv: odd sides; grey.mkv: one plane, which hardware cannot decode. */
int hwdec_rig_open(void **state);
int hwdec_rig_close(void **state);

#endif
