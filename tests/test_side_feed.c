/* Tests the store (side feed) between a source that reads an input only once and the sink: its size is limited, and
 * neither side waits. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/source/side_feed.h"

enum { VIDEO, SOUND, WORDS, DATA, STREAMS, MIB = 1 << 20, MOST = SIDE_FEED_BYTES / MIB };

struct told {
  int lines;
  char last[256];
};

static void tell(void *opaque, enum log_level level, const char *text) {
  struct told *told = opaque;
  assert_int_equal(level, LOG_WARNING);
  told->lines++;
  snprintf(told->last, sizeof told->last, "%s", text);
}

static AVFormatContext *make_input(void) {
  static const enum AVMediaType kinds[STREAMS] = {AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_SUBTITLE,
                                                  AVMEDIA_TYPE_DATA};
  AVFormatContext *input = avformat_alloc_context();
  assert_non_null(input);
  for (int i = 0; i < STREAMS; i++) {
    AVStream *stream = avformat_new_stream(input, NULL);
    assert_non_null(stream);
    stream->codecpar->codec_type = kinds[i];
    stream->time_base = (AVRational){1, 1000};
    stream->discard = AVDISCARD_ALL;
  }
  av_dict_set(&input->streams[SOUND]->metadata, "language", "spa", 0);
  av_dict_set(&input->metadata, "title", "Whole", 0);
  return input;
}

static void put(struct side_feed *feed, int stream, int64_t pts, int size) {
  AVPacket *packet = av_packet_alloc();
  assert_true(packet && av_new_packet(packet, size) >= 0);
  memset(packet->data, 0, (size_t)size);
  packet->stream_index = stream;
  packet->pts = packet->dts = pts;
  side_feed_put(feed, packet);
  av_packet_free(&packet);
}

/* Takes a packet, which must be of this stream and time. Returns its size in bytes. */
static int take(struct side_feed *feed, int stream, int64_t pts) {
  AVPacket *packet = av_packet_alloc();
  assert_non_null(packet);
  assert_int_equal(side_feed_take(feed, packet), 0);
  assert_int_equal(packet->stream_index, stream);
  assert_int_equal(packet->pts, pts);
  int size = packet->size;
  av_packet_free(&packet);
  return size;
}

static int take_none(struct side_feed *feed) {
  AVPacket *packet = av_packet_alloc();
  int code = side_feed_take(feed, packet);
  av_packet_free(&packet);
  return code;
}

struct rig {
  struct told told;
  struct log log;
  AVFormatContext *input;
  struct side_feed *feed;
};

static void set_up(struct rig *rig) {
  struct error err;
  *rig = (struct rig){.input = make_input()};
  rig->log = (struct log){.line = tell, .opaque = &rig->told};
  assert_int_equal(side_feed_open(&rig->feed, "in", &rig->log, &err), 0);
  assert_int_equal(side_feed_describe(rig->feed, rig->input, rig->input->streams[VIDEO]), 0);
}

static void tear_down(struct rig *rig) {
  side_feed_close(&rig->feed);
  assert_null(rig->feed);
  avformat_free_context(rig->input);
}

/* The sink gets the input's streams and tags. Packets come in order; for pictures only times are stored, for data
 * streams nothing. */
static void test_order(void **state) {
  (void)state;
  struct rig rig;
  set_up(&rig);
  assert_true(rig.input->streams[WORDS]->discard == AVDISCARD_DEFAULT &&
              rig.input->streams[DATA]->discard == AVDISCARD_ALL);
  AVFormatContext *seen = side_feed_input(rig.feed);
  assert_int_equal(seen->nb_streams, STREAMS);
  assert_string_equal(av_dict_get(seen->streams[SOUND]->metadata, "language", NULL, 0)->value, "spa");
  assert_string_equal(av_dict_get(seen->metadata, "title", NULL, 0)->value, "Whole");
  put(rig.feed, VIDEO, 40, 1000);
  put(rig.feed, DATA, 40, 10);
  put(rig.feed, SOUND, 30, 100);
  put(rig.feed, WORDS, 50, 7);
  side_feed_begin(rig.feed, 20000);
  assert_int_equal(side_feed_origin(rig.feed), 20000);
  assert_true(side_feed_lacks(rig.feed, 30001) && !side_feed_lacks(rig.feed, 30000));
  assert_int_equal(take(rig.feed, VIDEO, 40), 0);
  assert_int_equal(take(rig.feed, SOUND, 30), 100);
  side_feed_refuse(rig.feed, WORDS);
  put(rig.feed, WORDS, 60, 7);
  assert_int_equal(take(rig.feed, WORDS, 50), 7);
  assert_int_equal(take_none(rig.feed), AVERROR(EAGAIN));
  side_feed_end(rig.feed);
  assert_int_equal(take_none(rig.feed), AVERROR_EOF);
  assert_int_equal(side_feed_lost(rig.feed), 0);
  tear_down(&rig);
}

/* A packet for which there is no space is left out with one line, and what is stored stays in order. Other tracks leave
 * half of the space to sound. */
static void test_full(void **state) {
  (void)state;
  struct rig rig;
  set_up(&rig);
  side_feed_begin(rig.feed, 0);
  for (int i = 0; i < MOST; i++)
    put(rig.feed, WORDS, i, MIB);
  long words_lost = side_feed_lost(rig.feed);
  assert_in_range(words_lost, MOST / 2, MOST / 2 + 1);
  for (int i = 0; i < MOST; i++)
    put(rig.feed, SOUND, i, MIB);
  long lost = side_feed_lost(rig.feed);
  assert_in_range(lost - words_lost, MOST / 2, MOST / 2 + 2);
  assert_int_equal(rig.told.lines, 1);
  assert_non_null(strstr(rig.told.last, "in: sound and other tracks come more than 64 MiB before their pictures"));
  for (int i = 0; i < MOST - words_lost; i++)
    assert_int_equal(take(rig.feed, WORDS, i), MIB);
  for (int i = 0; i < MOST - (lost - words_lost); i++)
    assert_int_equal(take(rig.feed, SOUND, i), MIB);
  put(rig.feed, SOUND, MOST, MIB);
  assert_int_equal(take(rig.feed, SOUND, MOST), MIB);
  assert_int_equal(side_feed_lost(rig.feed), lost);
  tear_down(&rig);
}

/* Packets before --start are dropped without a message, the oldest first. */
static void test_before_start(void **state) {
  (void)state;
  struct rig rig;
  set_up(&rig);
  for (int i = 0; i < 2 * MOST; i++)
    put(rig.feed, SOUND, i, MIB);
  side_feed_begin(rig.feed, 0);
  assert_true(!rig.told.lines && !side_feed_lost(rig.feed));
  AVPacket *packet = av_packet_alloc();
  int64_t first = 0, last = 0;
  for (int count = 0; side_feed_take(rig.feed, packet) >= 0; count++) {
    first = count ? first : packet->pts;
    last = packet->pts;
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
  assert_int_equal(last, 2 * MOST - 1);
  assert_in_range(first, MOST, MOST + 2);
  tear_down(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_full),
      cmocka_unit_test(test_before_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
