/* Fuzzes manifests of render jobs, which another program or a crash may have damaged. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/job/manifest.h"

#define HASH "00112233445566778899aabbccddeeff"
#define HEAD                                                                                                           \
  "{\"manifest\":1,\"program\":\"0.2.0\",\"input\":{\"name\":\"a.mp4\",\"size\":9,\"hash\":\"" HASH                    \
  "\",\"changed\":\"\"},\"options\":[[\"--prompt\",\"neon\"]],\"header\":\"00ff\",\"width\":64,\"height\":36,"         \
  "\"tick\":\"1/30000\",\"origin\":\"0/1\",\"batch\":4,\"part\":{\"index\":1,\"count\":2,\"begin\":\"0/1\","           \
  "\"end\":\"5/3\"}}\n"
#define PICTURE(number, time) "{\"picture\":" number ",\"time\":" time ",\"source\":" time ",\"hash\":\"" HASH "\"}\n"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("", HEAD PICTURE("0", "0") PICTURE("1", "7") "{\"segment\":0,\"pictures\":2}\n" PICTURE("2", "9")),
    FUZZ_SEED("",
              HEAD PICTURE("0", "-5") "{\"segment\":0,\"pictures\":1}\n{\"end\":8,\"pictures\":1,\"whole\":true}\n"),
    FUZZ_SEED("", HEAD),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void check(const struct job_record *record) {
  size_t kept = 0;
  for (size_t i = 0; i < record->segment_count; i++) {
    FUZZ_CHECK(record->segments[i].first == (int64_t)kept && record->segments[i].pictures > 0);
    kept += (size_t)record->segments[i].pictures;
  }
  FUZZ_CHECK(kept <= record->picture_count && (int64_t)kept == job_record_kept(record));
  for (size_t i = 1; i < record->picture_count; i++)
    FUZZ_CHECK(record->pictures[i].time > record->pictures[i - 1].time);
  FUZZ_CHECK(record->part.index >= 1 && record->part.index <= record->part.count && record->part.begin.den > 0);
  FUZZ_CHECK(!record->ended || kept == record->picture_count);
  FUZZ_CHECK(!record->job.header == !record->job.header_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct job_record record;
  struct error err = {0};
  char path[64];
  int file = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int got = job_record_read(&record, path, &err);
  close(file);
  FUZZ_CHECK(got >= 0 || (*err.message && !strchr(err.message, '\n')));
  if (got > 0) {
    check(&record);
    FUZZ_CHECK(!job_compare(&record.job, &record.job, &err));
  }
  job_record_free(&record);
  return 0;
}
