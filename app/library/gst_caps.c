/* Negotiates the formats and sizes of the element's input and output. Both have the same frame rate; formats and sizes
 * are independent of each other, because the library fits frames into pictures of any size. */
#include <math.h>
#include <stdio.h>

#include "app/library/gst_restyle.h"

/* The library takes RGBx as RGBA and BGRx as BGRA: it does not read alpha, and writes 255 as alpha. */
#define RGB_FORMATS "RGBA, BGRA, RGBx, BGRx"
#define YUV_FORMATS "I420, NV12, P010_10LE"
#define FRAMES_OF(formats)                                                                                             \
  "video/x-raw, format = (string) { " formats " }, width = (int) [ 1, 32768 ], height = (int) [ 1, 32768 ], "          \
  "framerate = (fraction) [ 0, MAX ], interlace-mode = (string) progressive"
/* caps of the element's output: the library's pictures have square pixels, and YUV pictures have the matrix and range
 * of BT.709 */
#define PICTURES_OF(formats) FRAMES_OF(formats) ", pixel-aspect-ratio = (fraction) 1/1"
#define YUV_PICTURES PICTURES_OF(YUV_FORMATS) ", colorimetry = (string) bt709"

/* longest side of the pictures in pixels, if neither the property size nor the next element says a size; the same
 * default as that of `reverie render` */
enum { LONGEST_SIDE = 512 };

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(FRAMES_OF(RGB_FORMATS ", " YUV_FORMATS ", YUY2")));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(PICTURES_OF(RGB_FORMATS) "; " YUV_PICTURES));

int restyle_format(GstVideoFormat format) {
  switch ((int)format) {
  case GST_VIDEO_FORMAT_RGBA:
  case GST_VIDEO_FORMAT_RGBx:
    return REVERIE_RGBA;
  case GST_VIDEO_FORMAT_BGRA:
  case GST_VIDEO_FORMAT_BGRx:
    return REVERIE_BGRA;
  case GST_VIDEO_FORMAT_I420:
    return REVERIE_I420;
  case GST_VIDEO_FORMAT_NV12:
    return REVERIE_NV12;
  case GST_VIDEO_FORMAT_P010_10LE:
    return REVERIE_P010;
  case GST_VIDEO_FORMAT_YUY2:
    return REVERIE_YUYV;
  default:
    return 0;
  }
}

/* --- which caps one pad can have, given the caps of the other pad --- */

/* Returns the caps of a pad's template, but with the frame rate of `structure`, which is one of the other pad's caps.
 * If it has none, the template's frame rate stays. */
static GstCaps *with_rate_of(const GstStructure *structure, GstStaticPadTemplate *template) {
  GstCaps *caps = gst_caps_make_writable(gst_static_pad_template_get_caps(template));
  const GValue *rate = gst_structure_get_value(structure, "framerate");
  if (rate)
    gst_caps_set_value(caps, "framerate", rate);
  return caps;
}

static GstCaps *transform_caps(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter) {
  (void)base;
  GstStaticPadTemplate *other = direction == GST_PAD_SINK ? &src_template : &sink_template;
  GstCaps *result = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    result = gst_caps_merge(result, with_rate_of(gst_caps_get_structure(caps, i), other));
  if (!filter)
    return result;
  GstCaps *both = gst_caps_intersect_full(filter, result, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(result);
  return both;
}

/* --- choosing one format and size among the caps of the output --- */

/* Returns the first structure of caps that has this format, or the first structure of all if none has it. Takes over
 * caps. */
static GstCaps *prefer_format(GstCaps *caps, const char *format) {
  GstCaps *wanted = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, NULL);
  GstCaps *same = gst_caps_intersect_full(caps, wanted, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(wanted);
  if (gst_caps_is_empty(same)) {
    gst_caps_unref(same);
    same = caps;
  } else
    gst_caps_unref(caps);
  return gst_caps_truncate(same);
}

/* Reads the size of the property "size" as the engine understands it. Returns FALSE if the property is not set, or if
 * the engine refuses it; in the latter case, an error has been posted. */
static gboolean read_size(ReverieRestyle *restyle, int *width, int *height) {
  struct reverie_error error = {.size = sizeof error};
  char text[32], *given = restyle_given_size(restyle);
  int status = given ? reverie_set(restyle->engine, "size", given, &error) : 0;
  gboolean read = given && !status && !reverie_get(restyle->engine, "size", text, sizeof text, &error) &&
                  sscanf(text, "%dx%d", width, height) == 2;
  if (status)
    restyle_post(restyle, GST_MESSAGE_ERROR, &error);
  g_free(given);
  return read;
}

/* Computes the size of the pictures: that of the property "size"; if it is not set, the input's aspect ratio with
 * LONGEST_SIDE pixels on the longer side, rounded to a size that the model can make. */
static void suitable_size(ReverieRestyle *restyle, const GstVideoInfo *in, int *width, int *height) {
  if (read_size(restyle, width, height))
    return;
  double shape = (double)in->width * in->par_n / ((double)in->height * in->par_d);
  *width = (int)lrint(LONGEST_SIDE * fmin(shape, 1));
  *height = (int)lrint(LONGEST_SIDE / fmax(shape, 1));
  reverie_nearest_size(restyle->engine, width, height, NULL);
}

static GstCaps *fixate_caps(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *other) {
  ReverieRestyle *restyle = (ReverieRestyle *)base;
  GstVideoInfo in;
  int width, height;
  if (direction != GST_PAD_SINK || gst_caps_is_empty(other) || !gst_video_info_from_caps(&in, caps))
    return gst_caps_fixate(other);
  other = gst_caps_make_writable(prefer_format(other, gst_video_format_to_string(in.finfo->format)));
  GstStructure *made = gst_caps_get_structure(other, 0);
  gst_structure_fixate_field(made, "format");
  const char *format = gst_structure_get_string(made, "format");
  if (restyle_open(restyle, restyle_format(gst_video_format_from_string(format)))) {
    suitable_size(restyle, &in, &width, &height);
    gst_structure_fixate_field_nearest_int(made, "width", width);
    gst_structure_fixate_field_nearest_int(made, "height", height);
  }
  return gst_caps_fixate(other);
}

static gboolean set_caps(GstBaseTransform *base, GstCaps *in, GstCaps *out) {
  ReverieRestyle *restyle = (ReverieRestyle *)base;
  struct reverie_error error = {.size = sizeof error};
  GstVideoInfo frames, pictures;
  if (!gst_video_info_from_caps(&frames, in) || !gst_video_info_from_caps(&pictures, out) ||
      restyle_drain(restyle) != GST_FLOW_OK || !restyle_open(restyle, restyle_format(pictures.finfo->format)))
    return FALSE;
  restyle->in = frames;
  restyle->out = pictures;
  restyle_set_rate(restyle, &frames);
  if (!reverie_prepare(restyle->engine, pictures.width, pictures.height, &error))
    return TRUE;
  restyle_post(restyle, GST_MESSAGE_ERROR, &error);
  return FALSE;
}

/* --- how frames lie in memory --- */

static gboolean get_unit_size(GstBaseTransform *base, GstCaps *caps, gsize *size) {
  (void)base;
  GstVideoInfo info;
  gboolean read = gst_video_info_from_caps(&info, caps);
  *size = read ? info.size : 0;
  return read;
}

/* Tells the upstream element that planes and rows of its frames may lie anywhere, if a GstVideoMeta describes where. */
static gboolean propose_allocation(GstBaseTransform *base, GstQuery *decided, GstQuery *query) {
  (void)base, (void)decided;
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

void restyle_init_caps(ReverieRestyleClass *class) {
  GstElementClass *element = GST_ELEMENT_CLASS(class);
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
  gst_element_class_add_static_pad_template(element, &sink_template);
  gst_element_class_add_static_pad_template(element, &src_template);
  base->transform_caps = transform_caps;
  base->fixate_caps = fixate_caps;
  base->set_caps = set_caps;
  base->get_unit_size = get_unit_size;
  base->propose_allocation = propose_allocation;
}
