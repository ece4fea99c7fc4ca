/* Tests that a file gets its name only when it is complete: until then it is OUT.part, with a manifest that says where
 * it can be cut. */
#include "tests/rigs/cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/log.h>

#include "app/job/manifest.h"
#include "app/sink/part.h"
#include "app/sink/sink.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/small_file.h"

static void ignore_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  (void)level;
  (void)text;
}

static const struct log quiet = {ignore_line, NULL};
static const struct source_options plainly = {.log = &quiet};

static int open_file(struct sink **sink, const char *name, const char *codec, bool replace, struct error *err) {
  const struct job job = {.input = {.name = (char *)(uintptr_t) "in.mkv", .size = 7}, .origin = {0, 1}, .batch = 1};
  struct sink_options options = small_file_options(&plainly);
  options.codec = codec;
  options.job = &job;
  options.replace = replace;
  return small_file_open(sink, name, &options, err);
}

static int open_shard(struct sink **sink, const char *name, bool replace, struct error *err) {
  const struct job job = {.input = {.name = (char *)(uintptr_t) "in.mkv", .size = 7}, .origin = {0, 1}, .batch = 1};
  const struct job_part part = {.index = 1, .count = 2, .begin = {0, 1}, .end = {4, 1}};
  struct sink_options options = small_file_options(&plainly);
  options.job = &job;
  options.part = &part;
  options.is_shard = true;
  options.replace = replace;
  return small_file_open(sink, name, &options, err);
}

/* Writes a picture whose time is irregular. */
static int write_frame(struct sink *sink, int number, struct error *err) {
  return small_file_frame(sink, number, number % 3, err);
}

/* Writes a file as render does. broken: it is interrupted after the last frame. Returns err's status, or 0. */
static int write_file(const char *name, const char *codec, bool replace, int frames, bool broken, struct error *err) {
  struct sink *sink = NULL;
  *err = (struct error){0};
  int status = open_file(&sink, name, codec, replace, err);
  for (int i = 0; !status && i < frames; i++)
    status = write_frame(sink, i, err);
  if (sink && broken)
    sink_set_broken(sink);
  if (sink && sink_finish(sink, !broken, err))
    status = -1;
  sink_close(&sink);
  return status ? (int)err->status : 0;
}

static int read_record(struct job_record *record, const char *name) {
  char path[64];
  struct error err;
  snprintf(path, sizeof path, "%s.json", name);
  return job_record_read(record, clip(path), &err);
}

/* Killed: the partial file can be played, the manifest has each frame that was written, and there is no file with the
 * final name. */
static void test_killed(void **state) {
  (void)state;
  enum { FRAMES = 120 };
  static const char *const names[] = {"killed.mp4", "killed.mkv", "killed.ts", "killed.nut"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char part[64];
    struct job_record record;
    pid_t child = fork();
    if (!child) {
      struct error err;
      struct sink *sink;
      int failed = open_file(&sink, names[i], NULL, false, &err);
      for (int frame = 0; !failed && frame < FRAMES; frame++)
        failed = write_frame(sink, frame, &err);
      raise(failed ? SIGABRT : SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    shell("test ! -e %s", names[i]);
    snprintf(part, sizeof part, "%s.part", names[i]);
    assert_int_equal(read_record(&record, part), 1);
    assert_int_equal(record.picture_count, FRAMES);
    if (job_record_kept(&record) < 25 || clip_count_frames(part) < job_record_kept(&record))
      fail_msg("%s: %d pictures are kept of %ld", part, (int)job_record_kept(&record), clip_count_frames(part));
    assert_false(record.ended);
    job_record_free(&record);
  }
}

/* Interrupted: frames that the encoder held are written as well, so nothing is lost. */
static void test_interrupted(void **state) {
  (void)state;
  struct error err;
  struct job_record record;
  assert_int_equal(write_file("stop.mp4", NULL, false, 30, true, &err), 0);
  shell("test ! -e stop.mp4");
  assert_int_equal(clip_count_frames("stop.mp4.part"), 30);
  assert_int_equal(read_record(&record, "stop.mp4.part"), 1);
  assert_int_equal(job_record_kept(&record), 30);
  job_record_free(&record);
}

/* Reads a file's packets, segment by segment, and checks that each segment begins with a key frame and has all pictures
 * of its time span. */
static void check_segments(const char *name, const struct job_record *record) {
  AVFormatContext *file = NULL;
  AVPacket *packet = av_packet_alloc();
  double tick = (double)record->job.tick.num / (double)record->job.tick.den;
  assert_int_equal(avformat_open_input(&file, clip(name), NULL, NULL), 0);
  assert_true(avformat_find_stream_info(file, NULL) >= 0);
  for (size_t s = 0; s < record->segment_count; s++) {
    const struct job_segment *segment = &record->segments[s];
    double first = (double)record->pictures[segment->first].time * tick;
    double last = (double)record->pictures[segment->first + segment->pictures - 1].time * tick;
    for (int64_t i = 0; i < segment->pictures; i++) {
      assert_int_equal(av_read_frame(file, packet), 0);
      double time = (double)packet->pts * av_q2d(file->streams[0]->time_base);
      if (time < first - 0.001 || time > last + 0.001 || (!i && !(packet->flags & AV_PKT_FLAG_KEY)))
        fail_msg("%s: packet %d of segment %zu is shown at %f, not in %f to %f", name, (int)i, s, time, first, last);
      av_packet_unref(packet);
    }
  }
  av_packet_free(&packet);
  avformat_close_input(&file);
}

static void test_segments(void **state) {
  (void)state;
  enum { FRAMES = 130 };
  static const struct {
    const char *name, *codec;
    size_t least; /* least number of segments */
  } cases[] = {{"a.mkv", "libx264", 3}, {"b.mkv", "libx265", 1},   {"c.mkv", "ffv1", 3},  {"d.webm", "libvpx-vp9", 2},
               {"e.mov", "mpeg4", 3},   {"f.mov", "prores_ks", 8}, {"g.nut", "mjpeg", 8}, {"h.mp4", "libx264", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char part[64];
    struct error err;
    struct job_record record;
    if (!avcodec_find_encoder_by_name(cases[i].codec)) {
      print_message("%s: FFmpeg here has no such encoder\n", cases[i].codec);
      continue;
    }
    if (write_file(cases[i].name, cases[i].codec, false, FRAMES, true, &err))
      fail_msg("%s: %s", cases[i].codec, err.message);
    snprintf(part, sizeof part, "%s.part", cases[i].name);
    assert_int_equal(read_record(&record, part), 1);
    assert_int_equal(job_record_kept(&record), FRAMES);
    if (record.segment_count < cases[i].least)
      fail_msg("%s: %zu segments", cases[i].codec, record.segment_count);
    check_segments(part, &record);
    job_record_free(&record);
  }
}

/* Where packets are not read back as they were written, the manifest has no segments. */
static void test_without_segments(void **state) {
  (void)state;
  static const char *const names[] = {"none.avi", "none.gif", "none.mpg"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char part[64];
    struct error err;
    struct job_record record;
    if (write_file(names[i], NULL, false, 30, true, &err))
      fail_msg("%s: %s", names[i], err.message);
    snprintf(part, sizeof part, "%s.part", names[i]);
    assert_int_equal(read_record(&record, part), 1);
    assert_int_equal(job_record_kept(&record), 0);
    assert_int_equal(record.picture_count, 30);
    job_record_free(&record);
    assert_int_equal(write_file(names[i], NULL, true, 30, false, &err), 0);
    shell("test ! -e %s && test -s %s", part, names[i]);
  }
}

/* If a file or link with the temporary name exists, it is neither followed nor written to; another name is used. */
static void test_taken_names(void **state) {
  (void)state;
  struct error err;
  shell("echo stranger >stranger.txt && ln -s stranger.txt taken.mkv.part && mkfifo taken.mkv.part2 && "
        "echo mine >taken.mkv.part3 && ln -s nothing taken.mkv.part4 && echo '{}' >taken.mkv.part5.json");
  assert_int_equal(write_file("taken.mkv", NULL, true, 30, true, &err), 0);
  assert_int_equal(clip_count_frames("taken.mkv.part6"), 30);
  assert_int_equal(write_file("taken.mkv", NULL, true, 20, false, &err), 0);
  assert_int_equal(clip_count_frames("taken.mkv"), 20);
  shell("test \"$(cat stranger.txt taken.mkv.part3 taken.mkv.part5.json | tr '\\n' ' ')\" = 'stranger mine {} ' && "
        "test -L taken.mkv.part && test -p taken.mkv.part2 && test -L taken.mkv.part4 && test ! -e nothing && "
        "test ! -e taken.mkv.part5 && test ! -e taken.mkv.part6 && test ! -e taken.mkv.part6.json");
}

/* A partial file that another process is writing is not treated as abandoned. */
static void test_busy(void **state) {
  (void)state;
  struct error err;
  assert_int_equal(write_file("busy.mkv", NULL, false, 10, true, &err), 0);
  int busy = open(clip("busy.mkv.part"), O_RDWR);
  assert_int_equal(flock(busy, LOCK_EX), 0);
  assert_int_equal(write_file("busy.mkv", NULL, true, 12, true, &err), 0);
  assert_int_equal(clip_count_frames("busy.mkv.part"), 10);
  assert_int_equal(clip_count_frames("busy.mkv.part2"), 12);
  close(busy);
}

/* An existing output stays until the new one is complete, which gets its permissions; a file that appears meanwhile is
 * never replaced; links are followed. */
static void test_last_renaming(void **state) {
  (void)state;
  struct sink *sink;
  struct error err = {0};
  struct stat file;
  shell("echo old >kept.mkv && chmod 640 kept.mkv && ln -s kept.mkv link.mkv");
  assert_int_equal(open_file(&sink, "link.mkv", NULL, true, &err), 0);
  for (int i = 0; i < 10; i++)
    assert_int_equal(write_frame(sink, i, &err), 0);
  shell("test \"$(cat kept.mkv)\" = old && test -s kept.mkv.part");
  assert_int_equal(sink_finish(sink, true, &err), 0);
  assert_null(sink_part(sink));
  sink_close(&sink);
  shell("test -L link.mkv && test ! -e kept.mkv.part && test ! -e kept.mkv.part.json");
  assert_int_equal(clip_count_frames("kept.mkv"), 10);
  assert_int_equal(stat(clip("kept.mkv"), &file), 0);
  assert_int_equal(file.st_mode & 0777, 0640);

  assert_int_equal(open_file(&sink, "late.mkv", NULL, false, &err), 0);
  for (int i = 0; i < 10; i++)
    assert_int_equal(write_frame(sink, i, &err), 0);
  shell("echo theirs >late.mkv");
  assert_int_equal(sink_finish(sink, true, &err), -1);
  assert_non_null(strstr(err.message, "whole under the name"));
  assert_non_null(sink_part(sink));
  sink_close(&sink);
  shell("test \"$(cat late.mkv)\" = theirs");
  assert_int_equal(clip_count_frames("late.mkv.part"), 10);

  shell("mkdir -p there && ln -s there/not-yet.mkv dangling.mkv");
  assert_int_equal(write_file("dangling.mkv", NULL, false, 5, false, &err), 0);
  shell("test -L dangling.mkv");
  assert_int_equal(clip_count_frames("there/not-yet.mkv"), 5);
}

static int write_frames(struct sink *sink, int count, struct error *err) {
  int status = 0;
  for (int i = 0; i < count && !status; i++)
    status = write_frame(sink, i, err);
  return status;
}

/* True if the file is the one that its manifest describes, and has as many pictures. */
static bool is_described(const char *name, int pictures) {
  struct job_record record;
  struct job_file file;
  struct error err;
  assert_int_equal(read_record(&record, name), 1);
  assert_int_equal(job_file_describe(&file, clip(name), &err), 0);
  bool same = job_file_is(&file, record.file_size, record.file_hash) && record.picture_count == (size_t)pictures;
  job_file_free(&file);
  job_record_free(&record);
  return same;
}

/* Of two processes that make the same shard, the slower one leaves the other's file and manifest. With -y it replaces
 * both. */
static void test_shard_made_twice(void **state) {
  (void)state;
  for (int replace = 0; replace < 2; replace++) {
    struct sink *first, *second;
    struct error err = {0};
    shell("rm -f twice.mkv*");
    assert_int_equal(open_shard(&first, "twice.mkv", replace, &err), 0);
    assert_int_equal(open_shard(&second, "twice.mkv", replace, &err), 0);
    assert_int_equal(write_frames(second, 9, &err), 0);
    assert_int_equal(write_frames(first, 12, &err), 0);
    assert_int_equal(sink_finish(first, true, &err), 0);
    sink_close(&first);
    assert_true(is_described("twice.mkv", 12));
    assert_int_equal(sink_finish(second, true, &err), replace ? 0 : -1);
    sink_close(&second);
    assert_true(is_described("twice.mkv", replace ? 9 : 12));
    shell("test ! -e twice.mkv.lock");
    if (replace)
      shell("test ! -e twice.mkv.part2 && test ! -e twice.mkv.part2.json");
    else
      assert_true(is_described("twice.mkv.part2", 9));
  }
}

/* A manifest that a process has left without its file, because it was killed between two renamings, is replaced. */
static void test_stale_manifest(void **state) {
  (void)state;
  struct sink *sink;
  struct error err = {0};
  assert_int_equal(open_shard(&sink, "stale.mkv", false, &err), 0);
  shell("head -n 1 stale.mkv.part.json >stale.mkv.json && touch stale.mkv.lock");
  assert_int_equal(write_frames(sink, 5, &err), 0);
  assert_int_equal(sink_finish(sink, true, &err), 0);
  sink_close(&sink);
  assert_true(is_described("stale.mkv", 5));
  shell("test ! -e stale.mkv.lock");
}

/* Only one process at a time may continue an unfinished file. */
static void test_claimed_once(void **state) {
  (void)state;
  struct error err;
  struct part_left left, other;
  struct part_claim one, two;
  assert_int_equal(write_file("claim.mkv", NULL, false, 10, true, &err), 0);
  assert_true(part_claim(&one, &left, clip("claim.mkv")));
  assert_false(part_claim(&two, &other, clip("claim.mkv")));
  assert_false(part_find(&other, clip("claim.mkv")));
  part_unclaim(&two);
  part_unclaim(&one);
  assert_true(part_claim(&two, &other, clip("claim.mkv")));
  assert_string_equal(left.name, other.name);
  part_unclaim(&two);
}

/* A full disk leaves the partial file with as many pictures as the message says; a disk without any space leaves
 * nothing. */
static void test_full_disk(void **state) {
  (void)state;
  enum { ROOM = 40000, FRAMES_MAX = 2000 };
  struct rlimit before;
  struct sink *sink;
  struct error err = {0}, late;
  int given = 0;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  shell("echo old >cut.mp4");
  assert_int_equal(open_file(&sink, "cut.mp4", NULL, true, &err), 0);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){ROOM, before.rlim_max});
  while (given < FRAMES_MAX && !write_frame(sink, given, &err))
    given++;
  sink_finish(sink, true, &late);
  assert_in_range(sink_pictures(sink), 1, given);
  assert_int_equal(sink_pictures(sink), clip_times("cut.mp4.part", CLIP_PACKETS, NULL, 0));
  sink_close(&sink);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, before.rlim_max});
  assert_int_not_equal(open_file(&sink, "none.mkv", NULL, false, &err), 0);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  shell("test \"$(cat cut.mp4)\" = old && ! ls | grep -q none.mkv");
}

static int forget(void **state) {
  (void)state;
  shell("rm -rf -- ./*");
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_killed, forget),           cmocka_unit_test_setup(test_interrupted, forget),
      cmocka_unit_test_setup(test_segments, forget),         cmocka_unit_test_setup(test_without_segments, forget),
      cmocka_unit_test_setup(test_taken_names, forget),      cmocka_unit_test_setup(test_busy, forget),
      cmocka_unit_test_setup(test_last_renaming, forget),    cmocka_unit_test_setup(test_full_disk, forget),
      cmocka_unit_test_setup(test_shard_made_twice, forget), cmocka_unit_test_setup(test_stale_manifest, forget),
      cmocka_unit_test_setup(test_claimed_once, forget),
  };
  av_log_set_level(AV_LOG_QUIET);
  if (!clips_open())
    return 77;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
