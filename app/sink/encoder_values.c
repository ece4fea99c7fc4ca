#include "app/sink/encoder_values.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/pixdesc.h>

static const char presets[] = "ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow, placebo";
/* Options whose values are names that FFmpeg does not list, because only the encoder's library knows them. separators:
 * characters between several names in one value; "": a value is one name. indices: how many of the names may also be
 * given by number, from 0. */
static const struct names {
  const char *encoder, *option, *list, *separators;
  int indices;
} names[] = {
    {"libx264", "preset", presets, "", 10},
    {"libx264rgb", "preset", presets, "", 10},
    {"libx265", "preset", presets, "", 10},
    {"libx264", "tune", "film, animation, grain, stillimage, psnr, ssim, fastdecode, zerolatency, touhou", ",./-+", 0},
    {"libx264rgb", "tune", "film, animation, grain, stillimage, psnr, ssim, fastdecode, zerolatency, touhou", ",./-+",
     0},
    {"libx265", "tune", "psnr, ssim, grain, zerolatency, fastdecode, animation", "", 6},
    {"libx264", "profile", "baseline, main, high, high10, high422, high444", "", 0},
    {"libx264rgb", "profile", "high444", "", 0},
    {"ffv1", "level", "0, 1, 3, 4", "", 0},
};
/* Limits of options that are narrower than in FFmpeg's table. Beyond them the encoder silently takes another value.
 * encoder NULL: all encoders that are not named before. -1 stands for the usual value. */
static const struct limits {
  const char *encoder, *option;
  double least, most;
} limits[] = {
    {"libx264", "crf", -1, 51},     {"libx264rgb", "crf", -1, 51},    {"libx265", "crf", -1, 51},
    {"libx264", "qp", -1, 69},      {"libx264rgb", "qp", -1, 69},     {"libx265", "qp", -1, 51},
    {"libx264", "refs", -1, 16},    {"libx264rgb", "refs", -1, 16},   {"libx264", "subq", -1, 11},
    {"libx264rgb", "subq", -1, 11}, {"libx264", "trellis", -1, 2},    {"libx264rgb", "trellis", -1, 2},
    {NULL, "bf", -1, 16},           {NULL, "g", -1, (double)INT_MAX},
};
enum { LIMITS = sizeof limits / sizeof *limits };
/* Encoders whose scale of quality is MPEG's quantizer. */
static const char quantized[] = "mpeg1video,mpeg2video,mpeg4,msmpeg4,msmpeg4v2,wmv1,wmv2,flv,h263,h263p,mjpeg";
enum { QUANTIZER_WORST = 31, H264_QUANTIZER_WORST = 51 };

static const struct names *find_names(const char *encoder, const char *option) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i].encoder, encoder) && !strcmp(names[i].option, option))
      return &names[i];
  return NULL;
}

/* True if the first `length` bytes of `text` are a name in the list, whose names have ", " between them. */
static bool has_name(const char *list, const char *text, size_t length) {
  for (const char *at = list; *at; at += strspn(at, ", ")) {
    size_t name = strcspn(at, ",");
    if (name == length && !strncmp(at, text, length))
      return true;
    at += name;
  }
  return false;
}

static const struct limits *find_limits(const char *encoder, const char *option) {
  for (size_t i = 0; i < LIMITS; i++)
    if ((!limits[i].encoder || !strcmp(limits[i].encoder, encoder)) && !strcmp(limits[i].option, option))
      return &limits[i];
  return NULL;
}

bool encoder_values_within(const char *encoder, const AVOption *option, const char *text) {
  const struct limits *found = find_limits(encoder, option->name);
  char *end;
  double value = strtod(text, &end);
  return !found || end == text || *end || (value >= found->least && value <= found->most);
}

int encoder_values_check_quality(const AVCodec *codec, double quality, struct error *err) {
  const AVOption *crf =
      codec->priv_class ? av_opt_find((void *)&codec->priv_class, "crf", NULL, 0, AV_OPT_SEARCH_FAKE_OBJ) : NULL;
  const struct limits *found = crf ? find_limits(codec->name, "crf") : NULL;
  double most = found                                   ? found->most
                : crf                                   ? crf->max
                : !strcmp(codec->name, "libopenh264")   ? H264_QUANTIZER_WORST
                : av_match_name(codec->name, quantized) ? QUANTIZER_WORST
                                                        : INFINITY;
  return quality > most
             ? error_set(err, STATUS_USAGE, "--quality %g: the encoder %s takes 0 to %g", quality, codec->name, most)
             : 0;
}

bool encoder_values_known(const char *encoder, const char *option, const char *text) {
  const struct names *known = find_names(encoder, option);
  char *end;
  if (!known)
    return true;
  long index = strtol(text, &end, 10);
  if (end != text && !*end && index >= 0 && index < known->indices)
    return true;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, known->separators);
    if (!has_name(known->list, at, length))
      return false;
    at += length;
    if (!*at)
      return true;
  }
}

/* Writes the names that FFmpeg has for values of this option, with ", " between them. Returns false if it has none, or
 * too many for `size`. */
static bool list_constants(char *text, size_t size, void *object, const AVOption *option) {
  const AVOption *other = NULL;
  *text = 0;
  while (option->unit && (other = av_opt_next(object, other))) {
    size_t used = strlen(text);
    if (other->type != AV_OPT_TYPE_CONST || !other->unit || strcmp(other->unit, option->unit) != 0)
      continue;
    if (used + strlen(other->name) + 3 > size)
      return false;
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", other->name);
  }
  return *text;
}

/* True if the option's value is a number with a lower and an upper limit. */
static bool has_limits(const AVOption *option) {
  bool number = option->type == AV_OPT_TYPE_INT || option->type == AV_OPT_TYPE_INT64 ||
                option->type == AV_OPT_TYPE_FLOAT || option->type == AV_OPT_TYPE_DOUBLE;
  return number && option->min > INT_MIN && option->max < INT_MAX;
}

void encoder_values_list(char *text, size_t size, const char *encoder, void *object, const AVOption *option) {
  const struct names *known = find_names(encoder, option->name);
  const struct limits *found = find_limits(encoder, option->name);
  *text = 0;
  if (known)
    snprintf(text, size, "%s", known->list);
  else if (found && found->most < INT_MAX)
    snprintf(text, size, "%g to %g", found->least, found->most);
  else if (found)
    snprintf(text, size, "%g or more", found->least);
  else if (list_constants(text, size, object, option))
    return;
  else if (has_limits(option))
    snprintf(text, size, "%g to %g", option->min, option->max);
  else if (option->type == AV_OPT_TYPE_BOOL)
    snprintf(text, size, "0, 1");
  else if (option->type == AV_OPT_TYPE_RATIONAL || option->type == AV_OPT_TYPE_INT ||
           option->type == AV_OPT_TYPE_INT64 || option->type == AV_OPT_TYPE_FLOAT || option->type == AV_OPT_TYPE_DOUBLE)
    snprintf(text, size, "a number");
  else
    *text = 0;
}

/* --- profiles of x264 --- */

/* The limits of each x264 profile. depth: most bits of a sample; chroma: 420, 422 or 444, the finest chroma. */
static const struct profile {
  const char *name;
  int depth, chroma;
  bool gray, lossless;
} profiles[] = {{"baseline", 8, 420, false, false}, {"main", 8, 420, false, false},
                {"high", 8, 420, true, false},      {"high10", 10, 420, true, false},
                {"high422", 10, 422, true, false},  {"high444", 10, 444, true, true}};

static bool takes_pixels(const struct profile *profile, const AVPixFmtDescriptor *pixels) {
  bool gray = pixels->nb_components == 1;
  int chroma = gray || pixels->log2_chroma_h ? 420 : pixels->log2_chroma_w ? 422 : 444;
  return pixels->comp[0].depth <= profile->depth && chroma <= profile->chroma && (!gray || profile->gray);
}

/* True if the options ask for a quality with which x264 codes without loss. pixels: description of the pixel format;
 * NULL: it has 8 bits a sample. */
static bool is_lossless(const AVDictionary *wishes, const AVPixFmtDescriptor *pixels) {
  const AVDictionaryEntry *qp = av_dict_get(wishes, "qp", NULL, 0), *crf = av_dict_get(wishes, "crf", NULL, 0);
  if (qp)
    return strtol(qp->value, NULL, 10) == 0;
  double value = crf ? strtod(crf->value, NULL) : 1;
  return value >= 0 && value < 1 && (!pixels || pixels->comp[0].depth == 8);
}

int encoder_values_check_profile(const char *encoder, const AVDictionary *wishes, const char *pixel_format,
                                 struct error *err) {
  const AVDictionaryEntry *wish = strcmp(encoder, "libx264") ? NULL : av_dict_get(wishes, "profile", NULL, 0);
  const AVPixFmtDescriptor *pixels = pixel_format ? av_pix_fmt_desc_get(av_get_pix_fmt(pixel_format)) : NULL;
  bool lossless = is_lossless(wishes, pixels), refused = false;
  char list[64] = "";
  for (size_t i = 0; wish && i < sizeof profiles / sizeof *profiles; i++) {
    const struct profile *profile = &profiles[i];
    size_t used = strlen(list);
    if ((!pixels || takes_pixels(profile, pixels)) && (!lossless || profile->lossless))
      snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", profile->name);
    else
      refused = refused || !strcmp(profile->name, wish->value);
  }
  return refused
             ? error_set(err, STATUS_USAGE, "--encoder-options: profile=%s of libx264 does not go with%s%s%s%s, but %s",
                         wish->value, pixels ? " pixels of " : "", pixels ? pixels->name : "",
                         pixels && lossless ? " and" : "", lossless ? " lossless quality" : "", list)
             : 0;
}
