/* An RTSP server for one client at a time. It plays a file of raw H.264: each NAL unit is an RTP packet, and each
 * picture is one NAL unit. */
#ifndef TESTS_RTSP_SERVER_H
#define TESTS_RTSP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How the server treats a client. */
struct rtsp_play {
  const char *file;  /* name of a clip (clips.h) */
  bool refuses_tcp;  /* TCP is refused; the server sends datagrams */
  bool datagrams_go; /* datagrams are sent; false: they are lost */
  bool stays;        /* when all is sent the connection stays open, without data */
};

struct rtsp_server {
  pthread_t thread;
  int port, socket;
  const struct rtsp_play *plays;
  int count; /* number of plays; the last one is for all further clients */
  atomic_bool stop;
};

/* Returns false if there is no local network. */
bool rtsp_server_start(struct rtsp_server *server, const struct rtsp_play *plays, int count);
void rtsp_server_end(struct rtsp_server *server);

#endif
