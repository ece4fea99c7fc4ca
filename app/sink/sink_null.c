#include <string.h>

#include "app/sink/sink.h"

static bool accepts(const char *spec) {
  return !strcmp(spec, "null:");
}

static int null_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  static struct sink nowhere = {&sink_null};
  (void)spec, (void)options, (void)err;
  *sink = &nowhere;
  return 0;
}

static int null_write(struct sink *sink, const struct frame *frame, struct error *err) {
  (void)sink, (void)frame, (void)err;
  return 0;
}

static int null_finish(struct sink *sink, bool whole, struct error *err) {
  (void)sink, (void)whole, (void)err;
  return 0;
}

static void null_close(struct sink *sink) {
  (void)sink;
}

const struct sink_impl sink_null = {"null", accepts, null_open, null_write, null_finish, null_close};
