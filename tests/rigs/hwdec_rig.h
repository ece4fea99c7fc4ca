/* Clips read through a fake decoder in hardware and in software, and what came of it. */
#ifndef TESTS_HWDEC_RIG_H
#define TESTS_HWDEC_RIG_H

#include "app/source/source.h"
#include "tests/rigs/fake_hardware.h"

/* What was said as the clip was read. */
struct said_lines {
  int warnings;
  char debug[512], warning[512], first_warning[512];
};
extern struct said_lines lines;

struct source_options with_gpu(void);      /* in software */
struct source_options with_hardware(void); /* in hardware, which is a fake, on a GPU, which is another */

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

/* At most so many pictures; 0: all. Fails where the clip cannot be read. */
void read_clip(const char *name, const struct source_options *options, int most, struct given *given);
void assert_same(const struct given *a, const struct given *b);
/* Of the fakes nothing is left. */
void assert_all_freed(void);
/* The fakes work. */
void reset(void);

/* For cmocka, around all tests: makes clips and opens the fakes. h264.mp4: 50 pictures, 12 from one key frame to the
 * next; deep.mkv: 10 bits; odd.mkv: odd sides; grey.mkv: one plane, which hardware does not take. */
int hwdec_rig_open(void **state);
int hwdec_rig_close(void **state);

#endif
