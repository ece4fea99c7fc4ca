/* A server of RTSP for one client at a time, which plays a file of raw H.264: each of its NAL units is one RTP packet,
 * and each picture has one. */
#ifndef TESTS_RTSP_SERVER_H
#define TESTS_RTSP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What a client gets. */
struct rtsp_play {
  const char *file;  /* of clips.h */
  bool refuses_tcp;  /* says so, and sends datagrams */
  bool datagrams_go; /* to where they were asked to; false: they are lost on the way */
  bool stays;        /* silent, with the line open, when all is sent */
};

struct rtsp_server {
  pthread_t thread;
  int port, socket;
  const struct rtsp_play *plays;
  int count; /* the last one is for all further clients */
  atomic_bool stop;
};

/* Returns false where there is no local network. */
bool rtsp_server_start(struct rtsp_server *server, const struct rtsp_play *plays, int count);
void rtsp_server_end(struct rtsp_server *server);

#endif
