/* An RTSP server for one client at a time. It plays a file of raw H.264. Each of the file's pictures must be one NAL
 * unit, which is sent as one RTP packet. */
#ifndef TESTS_RTSP_SERVER_H
#define TESTS_RTSP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What the server does for a client. */
struct rtsp_play {
  const char *file;  /* name of the file that is played, in the clips' folder (clips.h) */
  bool refuses_tcp;  /* true: the client's request for TCP is refused, so that datagrams (UDP) must be used */
  bool datagrams_go; /* true: datagrams are sent; false: none is sent, as if they were lost */
  bool stays;        /* true: after the last packet the connection stays open, without data; false: it is closed */
};

struct rtsp_server {
  pthread_t thread;
  int port, socket;
  const struct rtsp_play *plays;
  int count; /* number of elements of plays: element i is for client i, the last one also for all later clients */
  atomic_bool stop;
};

/* Starts the server on a free port. Returns false if there is no local network. */
bool rtsp_server_start(struct rtsp_server *server, const struct rtsp_play *plays, int count);
void rtsp_server_end(struct rtsp_server *server);

#endif
