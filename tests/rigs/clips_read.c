#include "tests/rigs/cmocka_all.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"

/* Reads the first stream of a kind (video or sound) of a clip. */
struct reader {
  AVFormatContext *file;
  AVCodecContext *decoder; /* NULL: packets are read */
  AVStream *stream;
  AVPacket *packet;
  AVFrame *frame;
  bool over; /* the clip was read to its end */
};

static int open_stream(struct reader *reader, const char *name, enum AVMediaType kind) {
  if (avformat_open_input(&reader->file, clip(name), NULL, NULL) < 0 ||
      avformat_find_stream_info(reader->file, NULL) < 0)
    return -1;
  for (unsigned i = 0; i < reader->file->nb_streams && !reader->stream; i++)
    if (reader->file->streams[i]->codecpar->codec_type == kind)
      reader->stream = reader->file->streams[i];
  reader->packet = av_packet_alloc();
  reader->frame = av_frame_alloc();
  return reader->stream && reader->packet && reader->frame ? 0 : -1;
}

static int open_decoder(struct reader *reader) {
  const AVCodec *codec = avcodec_find_decoder(reader->stream->codecpar->codec_id);
  reader->decoder = avcodec_alloc_context3(codec);
  if (!codec || !reader->decoder || avcodec_parameters_to_context(reader->decoder, reader->stream->codecpar) < 0)
    return -1;
  reader->decoder->pkt_timebase = reader->stream->time_base;
  return avcodec_open2(reader->decoder, codec, NULL) < 0 ? -1 : 0;
}

static void close_reader(struct reader *reader) {
  av_frame_free(&reader->frame);
  av_packet_free(&reader->packet);
  avcodec_free_context(&reader->decoder);
  avformat_close_input(&reader->file);
}

/* Reads the next packet of the stream; packet is empty at the end. */
static void read_packet(struct reader *reader) {
  do {
    av_packet_unref(reader->packet);
    reader->over = av_read_frame(reader->file, reader->packet) < 0;
  } while (!reader->over && reader->packet->stream_index != reader->stream->index);
}

/* Reads the next frame or packet; returns false at the end. Data that cannot be decoded are skipped. */
static bool read_next(struct reader *reader) {
  if (!reader->decoder) {
    read_packet(reader);
    return !reader->over;
  }
  while (avcodec_receive_frame(reader->decoder, reader->frame) < 0) {
    if (reader->over)
      return false;
    read_packet(reader);
    avcodec_send_packet(reader->decoder, reader->over ? NULL : reader->packet);
  }
  return true;
}

/* Opens a clip to read this part of it. */
static int open_reader(struct reader *reader, const char *name, enum clip_part part) {
  if (open_stream(reader, name, part == CLIP_SOUND ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO))
    return -1;
  return part == CLIP_FRAMES ? open_decoder(reader) : 0;
}

static double time_of(const struct reader *reader) {
  int64_t pts = reader->decoder ? reader->frame->pts : reader->packet->pts;
  return pts == AV_NOPTS_VALUE ? 0 : (double)pts * av_q2d(reader->stream->time_base);
}

int clip_times(const char *name, enum clip_part part, double *times, int most) {
  struct reader reader = {0};
  int count = 0, level = av_log_get_level();
  av_log_set_level(AV_LOG_QUIET); /* no messages: a damaged last picture is no error here */
  if (!open_reader(&reader, name, part))
    for (; read_next(&reader); count++)
      if (count < most)
        times[count] = time_of(&reader);
  close_reader(&reader);
  av_log_set_level(level);
  return count;
}

void clip_expect_same_times(const char *in, const char *out, int frames) {
  enum { MOST = 256 };
  double was[MOST], is[MOST];
  assert_in_range(frames, 1, MOST);
  assert_int_equal(clip_times(in, CLIP_FRAMES, was, MOST), frames);
  assert_int_equal(clip_times(out, CLIP_FRAMES, is, MOST), frames);
  for (int i = 0; i < frames; i++)
    if (fabs(was[i] - is[i]) > 0.5e-6)
      fail_msg("frame %d of %s at %f, of %s at %f", i, in, was[i], out, is[i]);
}

long clip_count_frames(const char *name) {
  return clip_times(name, CLIP_FRAMES, NULL, 0);
}

struct clip_shape clip_shape(const char *name) {
  struct reader reader = {0};
  struct clip_shape shape = {0};
  if (open_stream(&reader, name, AVMEDIA_TYPE_VIDEO))
    fail_msg("%s: no video can be read", name);
  const AVCodecParameters *video = reader.stream->codecpar;
  AVRational pixel = av_guess_sample_aspect_ratio(reader.file, reader.stream, NULL);
  snprintf(shape.codec, sizeof shape.codec, "%s", avcodec_get_name(video->codec_id));
  shape.width = video->width;
  shape.height = video->height;
  shape.pixel_width = pixel.num;
  shape.pixel_height = pixel.den;
  close_reader(&reader);
  return shape;
}

struct clip_sound clip_sound(const char *name) {
  struct reader reader = {0};
  struct clip_sound sound = {0};
  if (!open_stream(&reader, name, AVMEDIA_TYPE_AUDIO)) {
    const AVCodecParameters *of = reader.stream->codecpar;
    snprintf(sound.codec, sizeof sound.codec, "%s", avcodec_get_name(of->codec_id));
    sound.rate = of->sample_rate;
    sound.channels = of->ch_layout.nb_channels;
    for (unsigned i = 0; i < reader.file->nb_streams; i++)
      sound.tracks += reader.file->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
  }
  close_reader(&reader);
  return sound;
}

/* Returns the first frame's pixels without padding between rows; the caller frees them. */
static uint8_t *first_pixels(const char *name, int *size) {
  struct reader reader = {0};
  if (open_reader(&reader, name, CLIP_FRAMES) || !read_next(&reader))
    fail_msg("%s: no frame can be read", name);
  const AVFrame *frame = reader.frame;
  *size = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
  assert_true(*size > 0);
  uint8_t *pixels = malloc((size_t)*size);
  assert_non_null(pixels);
  assert_int_equal(av_image_copy_to_buffer(pixels, *size, (const uint8_t *const *)frame->data, frame->linesize,
                                           frame->format, frame->width, frame->height, 1),
                   *size);
  close_reader(&reader);
  return pixels;
}

bool clip_same_picture(const char *a, const char *b) {
  int size, other;
  uint8_t *one = first_pixels(a, &size), *two = first_pixels(b, &other);
  bool same = size == other && !memcmp(one, two, (size_t)size);
  free(one);
  free(two);
  return same;
}
