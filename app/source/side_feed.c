#include "app/source/side_feed.h"

#include <pthread.h>
#include <stdlib.h>

#include "app/source/ffmpeg_util.h"

/* PACKET_BYTES: memory in bytes that a waiting packet takes in addition to its data. */
enum { PACKET_BYTES = sizeof(AVPacket) + sizeof(AVPacket *) + 64 };

/* The state of one stream of the input. */
struct feed_track {
  bool refused;    /* true: packets of this stream are dropped */
  int64_t reached; /* begin of the stream's newest packet, in AV_TIME_BASE units; INT64_MIN before the first */
};

struct side_feed {
  const char *name;
  const struct log *log;
  /* The following fields are set by the source before its first frame, and only read afterwards. */
  AVFormatContext *input;
  int video;
  int64_t origin;
  /* The following fields are protected by `lock`. */
  pthread_mutex_t lock;
  struct feed_track *tracks; /* an array with an element for each stream of input */
  /* ring of the packets that wait: it has `room` elements, of which `count` are used, beginning at `first` */
  AVPacket **packets;
  int first, count, room;
  /* memory in bytes that waiting packets take: those of all tracks (bytes), and those of tracks other than sound
   * (other_bytes) */
  int64_t bytes, other_bytes;
  bool begun, ended;
  long lost;
};

int side_feed_open(struct side_feed **out, const char *name, const struct log *log, struct error *err) {
  struct side_feed *feed = *out = calloc(1, sizeof *feed);
  if (!feed)
    return error_set(err, STATUS_FAILED, "no memory for the sound of %s", name);
  feed->name = name;
  feed->log = log;
  pthread_mutex_init(&feed->lock, NULL);
  return 0;
}

void side_feed_close(struct side_feed **pointer) {
  struct side_feed *feed = *pointer;
  *pointer = NULL;
  if (!feed)
    return;
  for (int i = 0; i < feed->count; i++)
    av_packet_free(&feed->packets[(feed->first + i) % feed->room]);
  free(feed->packets);
  free(feed->tracks);
  avformat_free_context(feed->input);
  pthread_mutex_destroy(&feed->lock);
  free(feed);
}

/* --- copying the description of the input: its streams, programmes, chapters and tags --- */

static int copy_stream(AVFormatContext *to, const AVStream *from) {
  AVStream *stream = avformat_new_stream(to, NULL);
  if (!stream || avcodec_parameters_copy(stream->codecpar, from->codecpar) < 0)
    return -1;
  stream->id = from->id;
  stream->time_base = from->time_base;
  stream->start_time = from->start_time;
  stream->avg_frame_rate = from->avg_frame_rate;
  stream->r_frame_rate = from->r_frame_rate;
  stream->sample_aspect_ratio = from->sample_aspect_ratio;
  stream->disposition = from->disposition;
  av_dict_copy(&stream->metadata, from->metadata, 0);
  return from->attached_pic.data && av_packet_ref(&stream->attached_pic, &from->attached_pic) < 0 ? -1 : 0;
}

static int copy_programmes(AVFormatContext *to, const AVFormatContext *from) {
  for (unsigned i = 0; i < from->nb_programs; i++) {
    if (!av_new_program(to, from->programs[i]->id))
      return -1;
    for (unsigned j = 0; j < from->programs[i]->nb_stream_indexes; j++)
      av_program_add_stream_index(to, from->programs[i]->id, from->programs[i]->stream_index[j]);
  }
  return 0;
}

static int copy_chapters(AVFormatContext *to, const AVFormatContext *from) {
  for (unsigned i = 0; i < from->nb_chapters; i++)
    if (ffmpeg_add_chapter(to, from->chapters[i], from->chapters[i]->start, from->chapters[i]->end))
      return -1;
  return 0;
}

static int copy_description(struct side_feed *feed, const AVFormatContext *input) {
  AVFormatContext *to = feed->input = avformat_alloc_context();
  feed->tracks = calloc((size_t)input->nb_streams + 1, sizeof *feed->tracks);
  if (!to || !feed->tracks)
    return -1;
  to->iformat = input->iformat;
  to->start_time = input->start_time;
  to->duration = input->duration;
  av_dict_copy(&to->metadata, input->metadata, 0);
  for (unsigned i = 0; i < input->nb_streams; i++) {
    feed->tracks[i].reached = INT64_MIN;
    if (copy_stream(to, input->streams[i]))
      return -1;
  }
  return copy_programmes(to, input) || copy_chapters(to, input) ? -1 : 0;
}

int side_feed_describe(struct side_feed *feed, const AVFormatContext *input, const AVStream *video) {
  if (!feed)
    return 0;
  feed->video = video->index;
  if (copy_description(feed, input))
    return -1;
  for (unsigned i = 0; i < input->nb_streams; i++) {
    enum AVMediaType kind = input->streams[i]->codecpar->codec_type;
    bool copied = kind == AVMEDIA_TYPE_AUDIO || kind == AVMEDIA_TYPE_SUBTITLE || kind == AVMEDIA_TYPE_VIDEO;
    bool cover = input->streams[i]->disposition & AV_DISPOSITION_ATTACHED_PIC;
    feed->tracks[i].refused = !copied || cover;
    if (!feed->tracks[i].refused)
      input->streams[i]->discard = AVDISCARD_DEFAULT;
  }
  return 0;
}

/* --- the ring of packets that wait to be taken --- */

static int64_t size_of(const AVPacket *packet) {
  int64_t data = packet->buf && (int64_t)packet->buf->size > packet->size ? (int64_t)packet->buf->size : packet->size;
  return data + PACKET_BYTES;
}

static bool is_sound(const struct side_feed *feed, const AVPacket *packet) {
  return feed->input->streams[packet->stream_index]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
}

static AVPacket *take_first(struct side_feed *feed) {
  AVPacket *packet = feed->packets[feed->first];
  feed->first = (feed->first + 1) % feed->room;
  feed->count--;
  feed->bytes -= size_of(packet);
  feed->other_bytes -= is_sound(feed, packet) ? 0 : size_of(packet);
  return packet;
}

static bool grow(struct side_feed *feed) {
  int room = feed->room ? 2 * feed->room : 256;
  AVPacket **packets = calloc((size_t)room, sizeof(AVPacket *));
  if (!packets)
    return false;
  for (int i = 0; i < feed->count; i++)
    packets[i] = feed->packets[(feed->first + i) % feed->room];
  free(feed->packets);
  feed->packets = packets;
  feed->first = 0;
  feed->room = room;
  return true;
}

static bool has_room(const struct side_feed *feed, const AVPacket *packet) {
  int64_t size = size_of(packet);
  return feed->bytes + size <= SIDE_FEED_BYTES &&
         (is_sound(feed, packet) || feed->other_bytes + size <= SIDE_FEED_BYTES / 2);
}

/* Drops the oldest packets until there is room for `packet`, as long as side_feed_begin was not called. */
static void make_room(struct side_feed *feed, const AVPacket *packet) {
  while (!feed->begun && feed->count && !has_room(feed, packet)) {
    AVPacket *oldest = take_first(feed);
    av_packet_free(&oldest);
  }
}

/* Adds a packet and takes over its ownership; if there is no room, the packet is freed and counted as lost. */
static void add(struct side_feed *feed, AVPacket *packet) {
  make_room(feed, packet);
  if (has_room(feed, packet) && (feed->count < feed->room || grow(feed))) {
    feed->packets[(feed->first + feed->count++) % feed->room] = packet;
    feed->bytes += size_of(packet);
    feed->other_bytes += is_sound(feed, packet) ? 0 : size_of(packet);
    return;
  }
  if (!feed->lost++)
    log_line(feed->log, LOG_WARNING,
             "%s: sound and other tracks come more than %d MiB before their pictures: some of it is left out",
             feed->name, SIDE_FEED_BYTES >> 20);
  av_packet_free(&packet);
}

/* Returns a copy of the packet. The copy of a video packet has the packet's times and flags, but no data, because
 * nobody needs the video's data. NULL: out of memory. */
static AVPacket *copy_of(const struct side_feed *feed, const AVPacket *packet) {
  AVPacket *copy = av_packet_alloc();
  if (!copy || packet->stream_index != feed->video) {
    if (copy && av_packet_ref(copy, packet) < 0)
      av_packet_free(&copy);
    return copy;
  }
  copy->stream_index = packet->stream_index;
  copy->pts = packet->pts;
  copy->dts = packet->dts;
  copy->duration = packet->duration;
  copy->flags = packet->flags;
  return copy;
}

static void note_reached(struct side_feed *feed, const AVPacket *packet) {
  const AVStream *stream = feed->input->streams[packet->stream_index];
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  if (stamp != AV_NOPTS_VALUE)
    feed->tracks[packet->stream_index].reached = av_rescale_q(stamp, stream->time_base, AV_TIME_BASE_Q);
}

void side_feed_put(struct side_feed *feed, const AVPacket *packet) {
  if (!feed || !feed->input || packet->stream_index >= (int)feed->input->nb_streams)
    return;
  pthread_mutex_lock(&feed->lock);
  if (!feed->tracks[packet->stream_index].refused) {
    AVPacket *copy = copy_of(feed, packet);
    note_reached(feed, packet);
    if (copy)
      add(feed, copy);
    else
      feed->lost++;
  }
  pthread_mutex_unlock(&feed->lock);
}

void side_feed_begin(struct side_feed *feed, int64_t origin) {
  if (!feed)
    return;
  pthread_mutex_lock(&feed->lock);
  feed->origin = origin;
  feed->begun = true;
  pthread_mutex_unlock(&feed->lock);
}

bool side_feed_lacks(struct side_feed *feed, int64_t time) {
  bool lacks = false;
  if (!feed || !feed->input)
    return false;
  pthread_mutex_lock(&feed->lock);
  for (unsigned i = 0; i < feed->input->nb_streams; i++) {
    bool sound = feed->input->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    lacks |= sound && !feed->tracks[i].refused && feed->tracks[i].reached < time;
  }
  pthread_mutex_unlock(&feed->lock);
  return lacks;
}

/* --- functions for the sink --- */

AVFormatContext *side_feed_input(const struct side_feed *feed) {
  return feed->input;
}

int side_feed_video(const struct side_feed *feed) {
  return feed->video;
}

int64_t side_feed_origin(const struct side_feed *feed) {
  return feed->origin;
}

void side_feed_refuse(struct side_feed *feed, int stream) {
  pthread_mutex_lock(&feed->lock);
  feed->tracks[stream].refused = true;
  pthread_mutex_unlock(&feed->lock);
}

int side_feed_take(struct side_feed *feed, AVPacket *packet) {
  pthread_mutex_lock(&feed->lock);
  int code = feed->count ? 0 : feed->ended ? AVERROR_EOF : AVERROR(EAGAIN);
  if (!code) {
    AVPacket *oldest = take_first(feed);
    av_packet_move_ref(packet, oldest);
    av_packet_free(&oldest);
  }
  pthread_mutex_unlock(&feed->lock);
  return code;
}

void side_feed_end(struct side_feed *feed) {
  pthread_mutex_lock(&feed->lock);
  feed->ended = true;
  pthread_mutex_unlock(&feed->lock);
}

long side_feed_lost(struct side_feed *feed) {
  pthread_mutex_lock(&feed->lock);
  long lost = feed->lost;
  pthread_mutex_unlock(&feed->lock);
  return lost;
}
