/* Reads the screen in this process. Tests do that again and again, and starting ffmpeg takes longer than reading. */
#include "tests/rigs/cmocka_all.h"

#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavformat/avformat.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/screen.h"

struct place {
  int x, y, width, height;
};

static struct place window_place(void) {
  struct place place;
  char *said = (char *)shell_output(NULL, FIND_WINDOW " getwindowgeometry --shell");
  if (sscanf(said, "WINDOW=%*u X=%d Y=%d WIDTH=%d HEIGHT=%d", &place.x, &place.y, &place.width, &place.height) != 4)
    fail_msg("the window's place is not known: '%s'", said);
  free(said);
  return place;
}

/* Reads the screen's pixels, four bytes each: blue, green, red, unused. */
static void read_screen(AVPacket *packet, const struct place *place) {
  AVFormatContext *from = NULL;
  AVDictionary *options = NULL;
  char name[64], size[32];
  snprintf(name, sizeof name, "%s+%d,%d", getenv("DISPLAY"), place->x, place->y);
  snprintf(size, sizeof size, "%dx%d", place->width, place->height);
  av_dict_set(&options, "video_size", size, 0);
  av_dict_set(&options, "draw_mouse", "0", 0);
  av_dict_set(&options, "framerate", "1000", 0); /* the first frame comes after the duration of one frame */
  avdevice_register_all();
  if (avformat_open_input(&from, name, av_find_input_format("x11grab"), &options) < 0 ||
      from->streams[0]->codecpar->format != AV_PIX_FMT_BGR0 || av_read_frame(from, packet) < 0 ||
      packet->size != place->width * place->height * 4)
    fail_msg("%s, %s: cannot be grabbed", name, size);
  av_dict_free(&options);
  avformat_close_input(&from);
}

static AVFrame *to_rgb(const AVPacket *pixels, const struct place *place) {
  AVFrame *frame = av_frame_alloc();
  assert_non_null(frame);
  frame->format = AV_PIX_FMT_RGB24;
  frame->width = place->width;
  frame->height = place->height;
  assert_int_equal(av_frame_get_buffer(frame, 0), 0);
  for (int y = 0; y < frame->height; y++)
    for (int x = 0; x < frame->width; x++)
      for (int i = 0; i < 3; i++)
        frame->data[0][y * frame->linesize[0] + x * 3 + i] = pixels->data[(y * frame->width + x) * 4 + 2 - i];
  return frame;
}

static void write_png(const char *name, const AVFrame *frame, AVPacket *packet) {
  const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
  AVCodecContext *encoder = avcodec_alloc_context3(codec);
  assert_true(codec && encoder);
  encoder->width = frame->width;
  encoder->height = frame->height;
  encoder->pix_fmt = frame->format;
  encoder->time_base = (AVRational){1, 1};
  encoder->compression_level = 1;
  assert_int_equal(avcodec_open2(encoder, codec, NULL), 0);
  assert_int_equal(avcodec_send_frame(encoder, frame), 0);
  assert_int_equal(avcodec_send_frame(encoder, NULL), 0);
  assert_int_equal(avcodec_receive_packet(encoder, packet), 0);
  FILE *file = fopen(clip(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(packet->data, 1, (size_t)packet->size, file), packet->size);
  assert_int_equal(fclose(file), 0);
  avcodec_free_context(&encoder);
}

void grab(const char *name) {
  struct place place = window_place();
  AVPacket *packet = av_packet_alloc();
  assert_non_null(packet);
  read_screen(packet, &place);
  AVFrame *frame = to_rgb(packet, &place);
  av_packet_unref(packet);
  write_png(name, frame, packet);
  av_frame_free(&frame);
  av_packet_free(&packet);
}

/* Runs filters that end in buffersink@out, for one frame. Returns a negative value if that fails. */
static int run_filters(const char *filters) {
  AVFilterGraph *graph = avfilter_graph_alloc();
  AVFilterInOut *inputs = NULL, *outputs = NULL;
  AVFrame *frame = av_frame_alloc();
  assert_true(graph && frame);
  graph->nb_threads = 1;
  int status = avfilter_graph_parse2(graph, filters, &inputs, &outputs);
  if (status >= 0)
    status = avfilter_graph_config(graph, NULL);
  if (status >= 0)
    status = av_buffersink_get_frame(avfilter_graph_get_filter(graph, "buffersink@out"), frame);
  av_frame_free(&frame);
  avfilter_inout_free(&inputs);
  avfilter_inout_free(&outputs);
  avfilter_graph_free(&graph);
  return status;
}

/* The similarity is read from the filter's file, which has six digits; the frame's metadata has two. */
double similarity(const char *a, const char *filter_a, const char *b, const char *filter_b) {
  char filters[4096];
  float similar;
  snprintf(filters, sizeof filters,
           "movie='%s',format=rgb24,%s,format=gbrp[a];movie='%s',format=rgb24,%s,format=gbrp[b];"
           "[a][b]ssim=f='%s',buffersink@out",
           clip(a), filter_a, clip(b), filter_b, clip("ssim.txt"));
  if (run_filters(filters) < 0)
    fail_msg("%s and %s cannot be compared", a, b);
  FILE *file = fopen(clip("ssim.txt"), "r");
  assert_non_null(file);
  if (fscanf(file, "n:%*d R:%*f G:%*f B:%*f All:%f", &similar) != 1)
    fail_msg("%s and %s: FFmpeg says nothing of them", a, b);
  fclose(file);
  return similar;
}
