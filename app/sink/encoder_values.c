#include "app/sink/encoder_values.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/pixdesc.h>

static const char presets[] = "ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow, placebo";
/* Options whose values FFmpeg does not list, because they are names that the library of x264 or x265 knows. separators:
 * characters between several of these names in one value; "": a value is one name. indices: how many of the names may
 * be given by their number, from 0. */
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
};

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
  *text = 0;
  if (known)
    snprintf(text, size, "%s", known->list);
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

/* What each profile of x264 can have. depth: most bits of a sample; chroma: 420, 422 or 444, the finest chroma. */
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

/* True if the options ask for a quality with which x264 codes without loss. pixels: NULL: they have 8 bits. */
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
