/* A reader of a fake source, and the mailbox it fills. */
#ifndef TESTS_RIGS_READER_RIG_H
#define TESTS_RIGS_READER_RIG_H

#include "app/source/reader.h"
#include "tests/rigs/fake_source.h"
#include "tests/rigs/loop_rig.h"

struct reading {
  struct mailbox mailbox;
  struct source_options options;
  struct reader *reader;
};

/* Opens a source that does as the script says, and starts a reader of it. */
void reading_start(struct reading *reading, const struct fake_source_script *script);
/* Stops the reader, which returns `expected`; no source is open afterwards. */
void reading_finish(struct reading *reading, int expected, struct error *err);
/* Waits until the reader has read so many frames. */
void wait_for_frames(const struct reading *reading, long frames);
/* Waits for a status that is wanted. */
void wait_for_status(const struct reading *reading, struct reader_status *status,
                     bool (*wanted)(const struct reader_status *));
/* Opens another source, named "other", and hands it to the reader as the next one. */
void switch_to_other(struct reading *reading, enum reader_when when);
/* For wait_for_status: the last picture stays; the second source has begun. */
bool stands(const struct reader_status *status);
bool has_second(const struct reader_status *status);

#endif
