/* Tests lists of sources: their order, what is opened ahead, and what happens to sources that cannot be opened. A fake
 * source replaces the real ones: those named "other..." have pictures with values from 100 on, and "missing..." cannot
 * be opened. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/changer.h"
#include "tests/rigs/fake_source.h"
#include "unet/base/platform.h"

enum { PATIENCE_MS = 60000 };

static struct {
  struct mailbox frames;
  struct reader *reader;
  struct changer *changer;
  struct source_options options;
  atomic_bool stop;
  bool ended, other; /* other: the last picture came from a source named "other..." */
  long pictures;
  int64_t ms; /* time stamp of the last picture */
  int seeks, changes, refusals, closed;
  char refused[512];
} rig;

/* Opens the changer with a list of sources; names are separated by commas. */
static void begin(const char *names, bool loop, double still_s, const struct fake_source_script *script) {
  char buffer[200];
  struct playlist list = {0};
  struct source *source;
  struct error err;
  memset(&rig, 0, sizeof rig);
  fake_source_begin(script);
  mailbox_init(&rig.frames);
  snprintf(buffer, sizeof buffer, "%s", names);
  for (char *name = strtok(buffer, ","); name; name = strtok(NULL, ","))
    assert_int_equal(playlist_insert(&list, list.count, name, false, &err), 0);
  rig.closed = fake_source_closed_here();
  bool late = !strncmp(list.entries[0].name, "tcp:", 4);
  source = NULL;
  if (!late)
    assert_int_equal(source_open(&source, list.entries[0].name, &rig.options, &err), 0);
  /* The reader is told that a list follows, so that it does not end before the changer runs for the first time. */
  assert_int_equal(reader_start_list(&rig.reader, &source, list.entries[0].name, &rig.options, &rig.frames, &err), 0);
  const struct changer_params params = {rig.reader, &rig.options, loop, still_s, &rig.stop, 0, false};
  assert_int_equal(changer_open(&rig.changer, &list, &params, &err), 0);
}

/* Ends the test. No source may have been closed on this thread, because closing takes time and this thread shows
 * pictures. */
static void end(void) {
  assert_int_equal(fake_source_closed_here(), rig.closed);
  changer_close(&rig.changer);
  reader_stop(&rig.reader, NULL);
  mailbox_free(&rig.frames);
  assert_int_equal(fake_source_open_now(), 0);
}

static void turn(void) {
  const struct mail *mail;
  struct changer_news news;
  changer_turn(rig.changer, platform_now_ns(), &news);
  rig.changes += news.changed;
  rig.seeks += news.sought;
  if (*news.refused) {
    rig.refusals++;
    snprintf(rig.refused, sizeof rig.refused, "%s", news.refused);
  }
  int got = mailbox_take(&rig.frames, &mail, 1);
  rig.ended |= got < 0;
  if (got == 1) {
    rig.pictures++;
    rig.ms = mail->frame.pts;
    rig.other = mail->frame.plane[0][0] >= 100;
  }
}

#define UNTIL(condition)                                                                                               \
  do {                                                                                                                 \
    int64_t until_ns = platform_now_ns() + PATIENCE_MS * INT64_C(1000000);                                             \
    while (!(condition)) {                                                                                             \
      turn();                                                                                                          \
      if (platform_now_ns() > until_ns)                                                                                \
        fail_msg("never came: %s", #condition);                                                                        \
    }                                                                                                                  \
  } while (0)

static void turns(int count) {
  for (int i = 0; i < count; i++)
    turn();
}

static const struct fake_source_script short_clip = {.frame_ms = 2, .frames = 5},
                                       longer_clip = {.frame_ms = 2, .frames = 100},
                                       endless = {.frame_ms = 2, .frames = -1}, picture = {.frame_ms = 40, .frames = 1};

static void test_ends_follow(void **state) {
  (void)state;
  begin("a,other b,c", false, 0, &short_clip);
  UNTIL(rig.other && changer_now(rig.changer) == 1);
  UNTIL(rig.ended);
  assert_int_equal(changer_now(rig.changer), 2);
  assert_true(rig.changes == 2 && !rig.refusals && !rig.other);
  assert_int_equal(fake_source_openings(), 3);
  end();
}

static void test_loop(void **state) {
  (void)state;
  begin("a,other b", true, 0, &short_clip);
  UNTIL(rig.changes == 5);
  assert_false(rig.ended);
  assert_int_equal(changer_now(rig.changer), 1);
  end();
}

/* While a file is read, the next one is opened and its first frame decoded. */
static void test_ready_before_it_is_needed(void **state) {
  (void)state;
  begin("a,other b,c", false, 0, &endless);
  UNTIL(fake_source_aheads() == 1);
  turns(20);
  assert_int_equal(fake_source_openings(), 2);
  assert_true(changer_now(rig.changer) == 0 && !rig.changes);
  changer_ask(rig.changer, 1);
  UNTIL(rig.other);
  UNTIL(fake_source_aheads() == 2);
  end();
}

/* Cameras are not opened ahead: no other program could use them, and their pictures would be old. */
static void test_devices_wait(void **state) {
  (void)state;
  static const char *const names[] = {"a,/dev/video9", "a,camera", "a,rtsp://other/", "a,tv://", "a,:9.0"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    begin(names[i], false, 0, &endless);
    UNTIL(rig.pictures > 5);
    assert_int_equal(fake_source_openings(), 1);
    changer_ask(rig.changer, 1);
    UNTIL(changer_now(rig.changer) == 1);
    end();
  }
}

static void test_asked_for(void **state) {
  (void)state;
  begin("a,other b,c,other d", false, 0, &endless);
  static const int way[] = {3, 0, 1, 2, 3, 1};
  for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
    changer_ask(rig.changer, way[i]);
    assert_int_equal(changer_wanted(rig.changer), way[i]);
    UNTIL(changer_now(rig.changer) == way[i] && rig.other == way[i] % 2);
  }
  /* If several sources are requested quickly, the last request counts. */
  changer_ask(rig.changer, 0);
  turn();
  changer_ask(rig.changer, 2);
  turn();
  changer_ask(rig.changer, 3);
  UNTIL(changer_now(rig.changer) == 3 && rig.other);
  turns(20);
  assert_int_equal(changer_now(rig.changer), 3);
  changer_ask(rig.changer, 0);
  changer_ask(rig.changer, 3);
  turns(20);
  assert_int_equal(changer_now(rig.changer), 3);
  end();
}

static bool one_waits(void) {
  struct reader_status status;
  reader_get_status(rig.reader, &status);
  return status.next;
}

/* Starts a list and lets the reader change to the next source, which was opened ahead, before the changer notices. */
static void begin_and_go_on(void) {
  const struct mail *mail;
  begin("a,other b,c", false, 0, &(struct fake_source_script){.frame_ms = 2, .frames = 8, .gated = true});
  fake_source_let_read(2);
  UNTIL(one_waits());
  assert_true(changer_now(rig.changer) == 0 && changer_wanted(rig.changer) == 0 && !rig.changes);
  fake_source_let_read(6);
  for (int i = 0; i < PATIENCE_MS && !rig.other; i++)
    if (mailbox_take(&rig.frames, &mail, 1) == 1)
      rig.other = mail->frame.plane[0][0] >= 100;
  assert_true(rig.other);
}

static void test_next_waits_in_the_reader(void **state) {
  (void)state;
  begin_and_go_on();
  UNTIL(rig.changes == 1);
  assert_true(changer_now(rig.changer) == 1 && changer_wanted(rig.changer) == 1);
  UNTIL(rig.ended);
  assert_int_equal(fake_source_openings(), 3);
  end();
}

/* A source that is requested while the reader already changes to it is not opened a second time. */
static void test_asked_for_as_the_reader_goes_on(void **state) {
  (void)state;
  begin_and_go_on();
  changer_ask(rig.changer, 1);
  UNTIL(rig.ended);
  assert_true(rig.changes == 2 && changer_now(rig.changer) == 2);
  assert_int_equal(fake_source_openings(), 3);
  end();
}

/* A request to read the current source again applies to the source that the reader has changed to. */
static void test_read_anew_as_the_reader_goes_on(void **state) {
  (void)state;
  begin_and_go_on();
  changer_again(rig.changer);
  assert_int_equal(changer_wanted(rig.changer), 1);
  UNTIL(rig.changes == 2);
  assert_int_equal(changer_now(rig.changer), 1);
  UNTIL(rig.ended);
  assert_true(rig.changes == 3 && changer_now(rig.changer) == 2);
  end();
}

/* A source that is dropped is inserted after the one that the reader has changed to. */
static void test_dropped_as_the_reader_goes_on(void **state) {
  (void)state;
  struct error err;
  begin_and_go_on();
  assert_int_equal(changer_drop(rig.changer, "d", false, &err), 0);
  assert_string_equal(changer_name(rig.changer, 2), "d");
  UNTIL(changer_now(rig.changer) == 3);
  assert_int_equal(rig.changes, 3);
  end();
}

/* While the next source is opened ahead: it is requested, the current one is read again, another one is requested, and
 * one is dropped. */
static void test_asked_for_while_one_waits(void **state) {
  (void)state;
  struct error err;
  begin("a,other b,c,other d", true, 0, &endless);
  UNTIL(one_waits());
  changer_ask(rig.changer, 0); /* this one is being read already */
  turns(5);
  assert_true(changer_wanted(rig.changer) == 0 && !rig.changes);
  changer_ask(rig.changer, 1);
  UNTIL(changer_now(rig.changer) == 1 && rig.other && one_waits());
  assert_true(rig.changes == 1 && fake_source_openings() == 3);
  changer_again(rig.changer);
  UNTIL(rig.changes == 2 && one_waits());
  assert_true(changer_now(rig.changer) == 1 && rig.other);
  changer_ask(rig.changer, 0);
  UNTIL(changer_now(rig.changer) == 0 && !rig.other && one_waits());
  assert_int_equal(changer_drop(rig.changer, "other e", false, &err), 0);
  UNTIL(changer_now(rig.changer) == 1 && rig.other);
  assert_string_equal(changer_name(rig.changer, 1), "other e");
  assert_int_equal(changer_drop(rig.changer, "missing", false, &err), 0);
  UNTIL(rig.refusals == 1 && one_waits());
  assert_int_equal(changer_wanted(rig.changer), 1);
  changer_ask(rig.changer, 2);
  UNTIL(changer_now(rig.changer) == 2 && rig.other);
  end();
}

/* A source that hangs while it is opened keeps no other source out: it is interrupted when another one is asked for. */
static void test_asked_for_while_one_hangs(void **state) {
  (void)state;
  int64_t since_ns = 0, then_ns;
  begin("a,hanging:1,other b", true, 0, &endless);
  UNTIL(rig.pictures > 0);
  assert_int_equal(changer_awaits(rig.changer, &since_ns), -1);
  changer_ask(rig.changer, 1);
  UNTIL(fake_source_attempts() == 2);
  turns(20);
  assert_true(changer_now(rig.changer) == 0 && changer_wanted(rig.changer) == 1);
  assert_int_equal(changer_awaits(rig.changer, &since_ns), 1);
  turns(20);
  assert_true(changer_awaits(rig.changer, &then_ns) == 1 && then_ns == since_ns);
  changer_ask(rig.changer, 2);
  UNTIL(rig.other && changer_now(rig.changer) == 2);
  assert_true(rig.changes == 1 && !rig.refusals);
  assert_int_equal(changer_awaits(rig.changer, &since_ns), -1);
  changer_ask(rig.changer, 1);
  UNTIL(fake_source_attempts() >= 4);
  changer_ask(rig.changer, 2); /* the source that is read: nothing else is to be opened */
  turns(20);
  assert_int_equal(changer_awaits(rig.changer, &since_ns), -1);
  changer_seek(rig.changer, 5);
  UNTIL(rig.seeks);
  assert_true(rig.changes == 1 && !rig.refusals);
  end();
}

/* A file that hangs while it is opened ahead keeps no other source out, either. */
static void test_asked_for_while_the_next_hangs(void **state) {
  (void)state;
  begin("a,hanging,other b", false, 0, &endless);
  UNTIL(fake_source_attempts() == 2);
  changer_ask(rig.changer, 2);
  UNTIL(rig.other && changer_now(rig.changer) == 2);
  assert_int_equal(rig.refusals, 0);
  end();
}

/* Seeking in the source that is read, with and without a next source opened ahead. Of several requests in a row the
 * last one counts; if a position cannot be reached, the source goes on where it was. */
static void test_seeks(void **state) {
  (void)state;
  double to = 0;
  begin("a,other b", false, 0, &endless);
  UNTIL(rig.pictures > 2);
  changer_seek(rig.changer, 500);
  assert_true(changer_seeks(rig.changer, &to) && to == 500);
  UNTIL(rig.ms >= 500000);
  UNTIL(rig.seeks == 1);
  assert_true(!changer_seeks(rig.changer, &to) && !rig.changes && changer_now(rig.changer) == 0);
  UNTIL(one_waits());
  changer_seek(rig.changer, 100);
  turn();
  changer_seek(rig.changer, 200);
  turn();
  changer_seek(rig.changer, 300);
  UNTIL(rig.ms >= 300000 && rig.ms < 500000 && !changer_seeks(rig.changer, &to));
  changer_seek(rig.changer, FAKE_LENGTH_S + 1);
  UNTIL(rig.refusals == 1);
  turns(20);
  assert_true(rig.ms >= 300000 && rig.ms < 500000 && changer_now(rig.changer) == 0 && !rig.changes);
  changer_seek(rig.changer, 700);
  changer_ask(rig.changer, 1); /* asking for another source cancels the seek, and that source begins at its beginning */
  changer_seek(rig.changer, 700);
  UNTIL(changer_now(rig.changer) == 1 && rig.ms < 100000);
  turns(20);
  assert_true(rig.ms < 100000 && changer_now(rig.changer) == 1);
  end();
}

/* A file that is played from its in to its out point, again and again, comes from there each time without a notice.
 * Nothing from beyond the out point is shown. */
static void test_part_again_and_again(void **state) {
  (void)state;
  int64_t least = INT64_MAX, most = 0;
  begin("a,other b", false, 0, &endless);
  UNTIL(rig.pictures > 2);
  changer_set_loop(rig.changer, CLIP_LOOP);
  changer_set_range(rig.changer, 0, 0.1, 0.2);
  UNTIL(rig.ms >= 100);
  int openings = fake_source_openings();
  UNTIL(fake_source_openings() > openings + 3 && rig.ms < 150);
  for (int i = 0; i < 500; i++) {
    turn();
    least = rig.ms < least ? rig.ms : least;
    most = rig.ms > most ? rig.ms : most;
  }
  assert_true(least >= 100 && most < 200);
  assert_true(!rig.changes && !rig.seeks && !rig.refusals && !rig.ended && changer_now(rig.changer) == 0);
  /* another in point counts from the next round on, although one is open already */
  changer_set_range(rig.changer, 0, 0.3, 0.4);
  UNTIL(rig.ms >= 300);
  changer_set_range(rig.changer, 0, 0, 0); /* the whole file */
  UNTIL(rig.ms >= 600);
  changer_set_loop(rig.changer, CLIP_LIST);
  changer_set_range(rig.changer, 0, 0, 0.7);
  changer_set_range(rig.changer, 1, 0.5, 0);
  UNTIL(rig.other && rig.ms >= 500 && rig.changes == 1);
  end();
}

/* At the out point the last picture stays, until the list goes on or another source was cued. */
static void test_last_picture_stays(void **state) {
  (void)state;
  begin("a,b,other c", false, 0, &(struct fake_source_script){.frame_ms = 2, .frames = 1000, .gated = true});
  fake_source_let_read(4);
  UNTIL(one_waits()); /* the next one, which is taken back */
  changer_set_loop(rig.changer, CLIP_HOLD);
  changer_set_range(rig.changer, 0, 0, 0.1);
  UNTIL(!one_waits());
  fake_source_let_read(1000);
  UNTIL(rig.ms == 98);
  turns(60);
  assert_true(rig.ms == 98 && !rig.changes && !rig.ended);
  changer_cue(rig.changer, 2);
  UNTIL(rig.other && rig.changes == 1);
  assert_true(changer_now(rig.changer) == 2 && changer_cued(rig.changer) == -1);
  end();
}

/* A cued source follows at the end of the file, also one that would begin anew by itself; one that cannot be opened is
 * not cued any more. */
static void test_cued(void **state) {
  (void)state;
  begin("a,b,other c,missing", false, 0, &longer_clip);
  changer_set_loop(rig.changer, CLIP_LOOP);
  UNTIL(one_waits());
  changer_cue(rig.changer, 2);
  UNTIL(rig.other && rig.changes == 1);
  assert_true(changer_cued(rig.changer) == -1 && changer_now(rig.changer) == 2);
  changer_cue(rig.changer, 3);
  UNTIL(changer_cued(rig.changer) == -1);
  int openings = fake_source_openings(), refusals = rig.refusals;
  UNTIL(fake_source_openings() > openings + 1); /* it is repeated, as before */
  assert_true(changer_cued(rig.changer) == -1 && !rig.ended && rig.changes == 1 && rig.refusals == refusals);
  assert_true(refusals == 1 || refusals == 2); /* 1: the file had ended before the cued one was opened in advance */
  end();
}

/* A cued file that cannot be opened is told at once, and again when it is due; the present file then goes on. */
static void test_cued_one_is_missing(void **state) {
  (void)state;
  begin("a,missing,other b", true, 0, &(struct fake_source_script){.frame_ms = 2, .frames = 1000, .gated = true});
  fake_source_let_read(4);
  changer_set_loop(rig.changer, CLIP_LOOP);
  turns(20);
  assert_int_equal(rig.refusals, 0);
  changer_cue(rig.changer, 1);
  UNTIL(rig.refusals == 1);
  assert_string_equal(rig.refused, "missing: is nowhere");
  turns(20);
  assert_true(rig.refusals == 1 && changer_cued(rig.changer) == 1);
  changer_cue(rig.changer, -1);
  changer_cue(rig.changer, 1); /* it is told again when the user cues it again */
  UNTIL(rig.refusals == 2);
  fake_source_let_read(2000);
  UNTIL(rig.refusals == 3);
  assert_true(changer_cued(rig.changer) == -1 && changer_now(rig.changer) == 0);
  end();
}

/* What cannot be opened again leaves its last picture, with one notice. */
static void test_not_to_be_repeated(void **state) {
  (void)state;
  begin("a", false, 0, &(struct fake_source_script){.frame_ms = 2, .frames = 5, .refusals = 1000});
  changer_set_loop(rig.changer, CLIP_LOOP);
  UNTIL(rig.refusals == 1);
  turns(60);
  assert_true(rig.refusals == 1 && !rig.ended && !rig.changes);
  end();
}

static void test_missing_ones_are_passed_over(void **state) {
  (void)state;
  begin("a,missing 1,missing 2,other b", false, 0, &short_clip);
  UNTIL(rig.other && changer_now(rig.changer) == 3);
  assert_int_equal(rig.refusals, 2);
  assert_non_null(strstr(rig.refused, "missing 2"));
  UNTIL(rig.ended);
  end();
  begin("a,missing,other b", false, 0, &endless);
  changer_ask(rig.changer, 2);
  UNTIL(changer_now(rig.changer) == 2);
  changer_ask(rig.changer, 1); /* back to an earlier source */
  UNTIL(changer_now(rig.changer) == 0);
  assert_int_equal(rig.refusals, 1);
  end();
}

/* A stream that cannot be opened is skipped anywhere in a list, except if it is the only one left: that one is waited
 * for. */
static void test_streams_that_are_not_there(void **state) {
  (void)state;
  begin("a,tcp://x:1,tcp://x:2,other b", false, 0, &short_clip);
  UNTIL(rig.other && changer_now(rig.changer) == 3);
  assert_int_equal(rig.refusals, 2);
  UNTIL(rig.ended);
  end();
  begin("a,missing", true, 0, &short_clip); /* the first source is read again */
  UNTIL(rig.changes >= 2);
  end();
  begin("a,tcp://x:1", true, 0, &short_clip);
  UNTIL(rig.changes >= 2);
  assert_true(rig.refusals >= 2 && changer_now(rig.changer) == 0 && !rig.ended);
  end();
  /* the stream is requested in vain before "a" ends; that attempt is not counted when "a" ends */
  begin("a,tcp://x:1", true, 0, &longer_clip);
  UNTIL(rig.pictures > 2);
  changer_ask(rig.changer, 1);
  UNTIL(rig.refusals >= 1);
  UNTIL(rig.changes >= 1 || rig.ended);
  assert_true(rig.refusals >= 2 && changer_now(rig.changer) == 0 && !rig.ended);
  end();
  begin("a,tcp://x:1", false, 0, &short_clip);
  UNTIL(changer_now(rig.changer) == 1);
  turns(20);
  assert_true(!rig.refusals && !rig.ended);
  end();
  begin("tcp://x:1,other b", false, 0, &short_clip);
  UNTIL(rig.other && changer_now(rig.changer) == 1);
  assert_int_equal(rig.refusals, 1);
  end();
}

static void test_nothing_follows(void **state) {
  (void)state;
  begin("a,missing", false, 0, &short_clip);
  UNTIL(rig.ended);
  assert_true(rig.refusals == 1 && changer_now(rig.changer) == 0);
  end();
  begin("a,missing 1,missing 2", true, 0, &endless);
  UNTIL(rig.pictures > 2);
  changer_ask(rig.changer, 1);
  UNTIL(rig.refusals == 2);
  turns(20);
  assert_true(rig.refusals == 2 && changer_wanted(rig.changer) == 0 && !rig.ended);
  end();
}

static void test_pictures_stay(void **state) {
  (void)state;
  begin("a,other b", true, 0, &picture);
  UNTIL(rig.pictures == 1);
  turns(60);
  assert_true(!rig.changes && !rig.ended);
  changer_ask(rig.changer, 1);
  UNTIL(rig.other && rig.changes == 1);
  turns(60);
  assert_int_equal(rig.changes, 1);
  changer_again(rig.changer);
  UNTIL(rig.changes == 2);
  assert_true(changer_now(rig.changer) == 1 && rig.other);
  end();
  begin("a,other b", true, 0.01, &picture);
  UNTIL(rig.changes == 3);
  end();
}

static void test_dropped(void **state) {
  (void)state;
  struct error err;
  begin("a,c", false, 0, &endless);
  UNTIL(rig.pictures > 2);
  assert_int_equal(changer_drop(rig.changer, "other clip", false, &err), 0);
  UNTIL(rig.other && changer_now(rig.changer) == 1);
  assert_int_equal(changer_count(rig.changer), 3);
  assert_string_equal(changer_name(rig.changer, 2), "c");
  /* A dropped source that cannot be opened changes nothing. */
  assert_int_equal(changer_drop(rig.changer, "missing clip", false, &err), 0);
  UNTIL(rig.refusals == 1);
  turns(60);
  assert_true(changer_now(rig.changer) == 1 && changer_count(rig.changer) == 3);
  /* Of several dropped sources the first that can be opened is shown; those after it join the list. */
  assert_int_equal(changer_drop(rig.changer, "missing clip", false, &err), 0);
  assert_int_equal(changer_drop(rig.changer, "missing too", true, &err), 0);
  assert_int_equal(changer_drop(rig.changer, "first", true, &err), 0);
  assert_int_equal(changer_drop(rig.changer, "second", true, &err), 0);
  UNTIL(changer_now(rig.changer) == 2);
  assert_int_equal(rig.refusals, 3);
  assert_int_equal(changer_count(rig.changer), 5);
  assert_string_equal(changer_name(rig.changer, 2), "first");
  assert_string_equal(changer_name(rig.changer, 3), "second");
  assert_string_equal(changer_name(rig.changer, 4), "c");
  end();
  /* After a dropped source, which is the last one, its last picture stays. */
  begin("a", false, 0, &short_clip);
  assert_int_equal(changer_drop(rig.changer, "other clip", false, &err), 0);
  UNTIL(rig.other && changer_now(rig.changer) == 1);
  turns(60);
  assert_false(rig.ended);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends_follow),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_ready_before_it_is_needed),
      cmocka_unit_test(test_devices_wait),
      cmocka_unit_test(test_asked_for),
      cmocka_unit_test(test_next_waits_in_the_reader),
      cmocka_unit_test(test_asked_for_as_the_reader_goes_on),
      cmocka_unit_test(test_read_anew_as_the_reader_goes_on),
      cmocka_unit_test(test_dropped_as_the_reader_goes_on),
      cmocka_unit_test(test_asked_for_while_one_waits),
      cmocka_unit_test(test_asked_for_while_one_hangs),
      cmocka_unit_test(test_asked_for_while_the_next_hangs),
      cmocka_unit_test(test_seeks),
      cmocka_unit_test(test_part_again_and_again),
      cmocka_unit_test(test_last_picture_stays),
      cmocka_unit_test(test_cued),
      cmocka_unit_test(test_cued_one_is_missing),
      cmocka_unit_test(test_not_to_be_repeated),
      cmocka_unit_test(test_missing_ones_are_passed_over),
      cmocka_unit_test(test_streams_that_are_not_there),
      cmocka_unit_test(test_nothing_follows),
      cmocka_unit_test(test_pictures_stay),
      cmocka_unit_test(test_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
