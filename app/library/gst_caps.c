/* Negotiates the formats, sizes and memories of the element's input and output. Both have the same frame rate; all else
 * is independent, because the library fits frames into pictures of any size, and reads and writes both memories. Output
 * is in the input's memory if the next element takes this. */
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

static const char frames_caps[] = FRAMES_OF(RGB_FORMATS ", " YUV_FORMATS ", YUY2");
static const char pictures_caps[] = PICTURES_OF(RGB_FORMATS) "; " YUV_PICTURES;

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

static gboolean in_cuda(const GstCaps *caps, guint number) {
  return gst_caps_features_contains(gst_caps_get_features(caps, number), RESTYLE_CUDA_MEMORY);
}

/* Returns the caps of a pad's template that are in one of the two memories, but with the frame rate of `structure`,
 * which is one of the other pad's caps. If it has none, the template's frame rate stays. */
static GstCaps *with_rate_of(const GstStructure *structure, const GstCaps *template, gboolean cuda) {
  GstCaps *caps = gst_caps_copy(template);
  const GValue *rate = gst_structure_get_value(structure, "framerate");
  for (guint i = gst_caps_get_size(caps); i-- > 0;)
    if (in_cuda(caps, i) != cuda)
      gst_caps_remove_structure(caps, i);
  if (rate)
    gst_caps_set_value(caps, "framerate", rate);
  return caps;
}

/* The caps in the memory of the other pad's are first. Those in CUDA memory are left out where there is no GPU. */
static GstCaps *transform_caps(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter) {
  GstPad *other = direction == GST_PAD_SINK ? GST_BASE_TRANSFORM_SRC_PAD(base) : GST_BASE_TRANSFORM_SINK_PAD(base);
  GstCaps *template = gst_pad_get_pad_template_caps(other), *result = gst_caps_new_empty();
  gboolean usable = restyle_cuda_usable((ReverieRestyle *)base);
  for (int changes = 0; changes <= usable; changes++)
    for (guint i = 0; i < gst_caps_get_size(caps); i++)
      if (usable || !in_cuda(caps, i))
        result = gst_caps_merge(result,
                                with_rate_of(gst_caps_get_structure(caps, i), template, in_cuda(caps, i) != changes));
  gst_caps_unref(template);
  if (!filter)
    return result;
  GstCaps *both = gst_caps_intersect_full(filter, result, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(result);
  return both;
}

/* --- choosing one format and size among the caps of the output --- */

/* Returns those of `caps` that have this format, or any if it is NULL, and these features, which say what memory they
 * are in. If none has, all are returned. Takes over caps. */
static GstCaps *prefer(GstCaps *caps, const char *format, const GstCapsFeatures *features) {
  GstCaps *wanted = gst_caps_new_empty_simple("video/x-raw");
  gst_caps_set_features_simple(wanted, gst_caps_features_copy(features));
  if (format)
    gst_caps_set_simple(wanted, "format", G_TYPE_STRING, format, NULL);
  GstCaps *same = gst_caps_intersect_full(caps, wanted, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(wanted);
  if (gst_caps_is_empty(same)) {
    gst_caps_unref(same);
    return caps;
  }
  gst_caps_unref(caps);
  return same;
}

/* Returns one of `caps`: the input's memory comes before the input's format. Takes over caps. */
static GstCaps *prefer_alike(GstCaps *caps, const GstCaps *input, const GstVideoInfo *info) {
  caps = prefer(caps, NULL, gst_caps_get_features(input, 0));
  GstCapsFeatures *memory = gst_caps_features_copy(gst_caps_get_features(caps, 0));
  caps = prefer(caps, gst_video_format_to_string(info->finfo->format), memory);
  gst_caps_features_free(memory);
  return gst_caps_truncate(caps);
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
  other = gst_caps_make_writable(prefer_alike(other, caps, &in));
  GstStructure *made = gst_caps_get_structure(other, 0);
  gst_structure_fixate_field(made, "format");
  const char *format = gst_structure_get_string(made, "format");
  if (restyle_open(restyle, restyle_format(gst_video_format_from_string(format)), in_cuda(other, 0))) {
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
      restyle_drain(restyle) != GST_FLOW_OK ||
      !restyle_open(restyle, restyle_format(pictures.finfo->format), in_cuda(out, 0)))
    return FALSE;
  restyle->in = frames;
  restyle->out = pictures;
  restyle->from_cuda = in_cuda(in, 0);
  restyle_set_rate(restyle, &frames);
  if (!reverie_prepare(restyle->engine, pictures.width, pictures.height, &error)) {
    restyle_follow(restyle);
    return TRUE;
  }
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

/* Tells the upstream element that planes and rows of its frames may lie anywhere, if a GstVideoMeta describes where,
 * and offers memory for frames on the GPU. */
static gboolean propose_allocation(GstBaseTransform *base, GstQuery *decided, GstQuery *query) {
  (void)decided;
  GstCaps *caps;
  gst_query_parse_allocation(query, &caps, NULL);
  if (caps && in_cuda(caps, 0))
    restyle_cuda_offer((ReverieRestyle *)base, query, caps);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

static gboolean decide_allocation(GstBaseTransform *base, GstQuery *query) {
  GstCaps *caps;
  gst_query_parse_allocation(query, &caps, NULL);
  if (caps && in_cuda(caps, 0) && !restyle_cuda_decide((ReverieRestyle *)base, query, caps))
    return FALSE;
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek_parent(RESTYLE_CLASS(base)))->decide_allocation(base, query);
}

static void add_template(GstElementClass *element, const char *name, GstPadDirection direction, const char *text) {
  GstCaps *caps = gst_caps_from_string(text);
  if (restyle_cuda_is_built()) {
    GstCaps *cuda = gst_caps_copy(caps);
    gst_caps_set_features_simple(cuda, gst_caps_features_new(RESTYLE_CUDA_MEMORY, NULL));
    gst_caps_append(caps, cuda);
  }
  gst_element_class_add_pad_template(element, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

void restyle_init_caps(ReverieRestyleClass *class) {
  GstElementClass *element = GST_ELEMENT_CLASS(class);
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
  add_template(element, "sink", GST_PAD_SINK, frames_caps);
  add_template(element, "src", GST_PAD_SRC, pictures_caps);
  base->transform_caps = transform_caps;
  base->fixate_caps = fixate_caps;
  base->set_caps = set_caps;
  base->get_unit_size = get_unit_size;
  base->propose_allocation = propose_allocation;
  base->decide_allocation = decide_allocation;
}
