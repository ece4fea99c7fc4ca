/* The functions of gst_cuda.c in an element that is built without gstreamer-cuda: there is no CUDA memory. */
#include "app/library/gst_restyle.h"

gboolean restyle_cuda_is_built(void) {
  return FALSE;
}

gboolean restyle_cuda_usable(ReverieRestyle *restyle) {
  (void)restyle;
  return FALSE;
}

char *restyle_cuda_device(ReverieRestyle *restyle) {
  (void)restyle;
  return NULL;
}

gboolean restyle_cuda_answer(ReverieRestyle *restyle, GstQuery *query) {
  (void)restyle, (void)query;
  return FALSE;
}

void restyle_cuda_announce(ReverieRestyle *restyle) {
  (void)restyle;
}

void restyle_cuda_stop(ReverieRestyle *restyle) {
  (void)restyle;
}

void restyle_cuda_offer(ReverieRestyle *restyle, GstQuery *query, GstCaps *caps) {
  (void)restyle, (void)query, (void)caps;
}

gboolean restyle_cuda_decide(ReverieRestyle *restyle, GstQuery *query, GstCaps *caps) {
  (void)restyle, (void)query, (void)caps;
  return TRUE;
}

GstMapFlags restyle_cuda_flags(ReverieRestyle *restyle, GstBuffer *buffer) {
  (void)restyle, (void)buffer;
  return (GstMapFlags)0;
}

void restyle_cuda_describe(ReverieRestyle *restyle, GstBuffer *buffer, struct reverie_frame *frame) {
  (void)restyle, (void)buffer, (void)frame;
}

void restyle_cuda_keep(GstBuffer *times, GstBuffer *buffer) {
  (void)times, (void)buffer;
}

gboolean restyle_cuda_copy(ReverieRestyle *restyle, const struct reverie_picture *picture, GstVideoFrame *to,
                           GstMapFlags flags) {
  (void)restyle, (void)picture, (void)to, (void)flags;
  return FALSE;
}
