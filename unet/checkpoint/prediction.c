/* Looks for signs of what a network predicts: tensors, configs next to the file, and metadata. */
#include "unet/checkpoint/prediction.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/yaml.h"

#define YAML_LIMIT ((size_t)1 << 20)

/* --- words that name what a network predicts, and the list of signs (hints in files) that tell it --- */

static const struct word {
  const char *text;
  enum prediction prediction;
} words[] = {
    {"v", PREDICT_V},        {"v_prediction", PREDICT_V}, {"v-prediction", PREDICT_V},  {"vpred", PREDICT_V},
    {"velocity", PREDICT_V}, {"eps", PREDICT_EPSILON},    {"epsilon", PREDICT_EPSILON}, {"noise", PREDICT_EPSILON},
    {"x0", PREDICT_SAMPLE},  {"sample", PREDICT_SAMPLE},
};

static bool read_word(const char *text, size_t length, enum prediction *prediction) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].text) == length && !strncasecmp(text, words[i].text, length)) {
      *prediction = words[i].prediction;
      return true;
    }
  return false;
}

static void add_sign(struct prediction_signs *signs, const struct prediction_sign *sign) {
  if (signs->first.witness == WITNESS_NONE) {
    signs->first = *sign;
  } else if (sign->witness < signs->first.witness) {
    if (signs->first.prediction != sign->prediction)
      signs->other = signs->first;
    signs->first = *sign;
  } else if (signs->other.witness == WITNESS_NONE && signs->first.prediction != sign->prediction)
    signs->other = *sign;
}

/* --- what configs next to the model's file say about the prediction (epsilon or v) --- */

/* What a web UI's config says about what the network predicts. The config is read line by line. */
struct yaml {
  /* says: a line of the config tells what the network predicts; latent: a line shows that the model is a latent
   * diffusion model */
  bool says, latent;
  enum prediction prediction;
  bool zero_snr;
  /* the first setting of the network's prediction in the config that this program does not know, such as
   * "parameterization: edm", for a message; "": none */
  char strange[64];
};

static bool has_text(const char *line, const char *end, const char *text) {
  size_t size = strlen(text);
  for (const char *at = line; at + size <= end; at++)
    if (!strncmp(at, text, size))
      return true;
  return false;
}

static void set(struct yaml *yaml, enum prediction prediction) {
  yaml->says = true;
  yaml->prediction = prediction;
}

static void keep_strange(struct yaml *yaml, const char *key, const char *value, size_t length) {
  if (!*yaml->strange && length)
    snprintf(yaml->strange, sizeof yaml->strange, "%s: %.*s", key, (int)(length < 24 ? length : 24), value);
}

static void read_key(struct yaml *yaml, const char *line, const char *key) {
  size_t length;
  enum prediction prediction;
  const char *value = yaml_find_below(line, key, &length);
  if (value && read_word(value, length, &prediction))
    set(yaml, prediction);
  else if (value)
    keep_strange(yaml, key, value, length ? length : strcspn(value, " \t\r\n"));
}

static void read_line(struct yaml *yaml, const char *line, const char *end) {
  static const char *const keys[] = {"parameterization", "prediction_type"};
  static const char *const zeros[] = {"rescale_betas_zero_snr", "zero_terminal_snr", "zero_snr", "ztsnr", "zsnr"};
  size_t length;
  const char *value;
  for (int i = 0; i < 2; i++)
    read_key(yaml, line, keys[i]);
  for (int i = 0; i < 5; i++)
    if ((value = yaml_find(line, end, zeros[i], &length)))
      yaml->zero_snr = yaml_is_true(value, length);
  if (has_text(line, end, "denoiser_scaling.VScaling"))
    set(yaml, PREDICT_V);
  if (has_text(line, end, "denoiser_scaling.EpsScaling"))
    set(yaml, PREDICT_EPSILON);
  if (has_text(line, end, "denoiser_scaling.EDMScaling"))
    keep_strange(yaml, "denoiser_scaling", "EDMScaling", 10);
  yaml->latent |= has_text(line, end, "LatentDiffusion");
}

static struct yaml parse(const char *text) {
  struct yaml yaml = {.prediction = PREDICT_EPSILON};
  for (const char *line = text; *line; line = yaml_next_line(line))
    read_line(&yaml, line, yaml_line_end(line));
  /* If a config does not tell the prediction, web UIs assume that the model predicts the noise. With a schedule that
   * ends at pure noise this is impossible, so the model is taken to predict v. */
  if (!yaml.says && yaml.zero_snr)
    set(&yaml, PREDICT_V);
  yaml.zero_snr &= yaml.prediction != PREDICT_EPSILON;
  yaml.says |= yaml.latent && !*yaml.strange;
  return yaml;
}

bool prediction_parse(const char *text, enum prediction *prediction, bool *zero_snr) {
  struct yaml yaml = parse(text);
  *prediction = yaml.prediction;
  *zero_snr = yaml.zero_snr;
  return yaml.says;
}

/* Adds to *signs what the text of a web UI's config says about the network's prediction. If the text only has a setting
 * that this program does not know, stores a message about that setting in *signs instead. name: the config's name in
 * the message; by: what later messages call this sign. */
static void add_text(struct prediction_signs *signs, const char *text, const char *name, const char *by) {
  struct yaml yaml = parse(text);
  struct prediction_sign sign = {.witness = WITNESS_CONFIG, .prediction = yaml.prediction};
  snprintf(sign.by, sizeof sign.by, "%s", by);
  if (yaml.says) {
    add_sign(signs, &sign);
    signs->zero_snr |= yaml.zero_snr;
  } else if (*yaml.strange && !*signs->strange) {
    snprintf(signs->strange, sizeof signs->strange, "%.80s says %s", name, yaml.strange);
  }
}

static int read_beside(struct prediction_signs *signs, const char *path, struct error *err) {
  char *yaml = yaml_beside(path), *text = NULL;
  char by[160];
  int result = yaml ? text_read(yaml, YAML_LIMIT, &text, NULL, err) : 0;
  if (text) {
    snprintf(by, sizeof by, "%s beside it", text_quote(text_last_part(yaml)).text);
    add_text(signs, text, text_quote(text_last_part(yaml)).text, by);
  }
  free(text);
  free(yaml);
  return result;
}

/* --- signs of what the network predicts that are in the model's file itself: tensors and metadata --- */

static void read_tensors(struct prediction_signs *signs, const struct safetensors *files) {
  static const char *const names[] = {"v_pred", "ztsnr"};
  for (int i = 0; i < 2; i++)
    if (safetensors_find(files, names[i])) {
      struct prediction_sign sign = {WITNESS_TENSOR, PREDICT_V, ""};
      snprintf(sign.by, sizeof sign.by, "its tensor %s", names[i]);
      add_sign(signs, &sign);
      signs->zero_snr |= i == 1;
    }
}

static void read_field(struct prediction_signs *signs, const struct safetensors *files, const char *field,
                       const struct word *values) {
  const char *value = safetensors_metadata(files, field);
  struct prediction_sign sign = {.witness = WITNESS_METADATA};
  bool found = value && !values && read_word(value, strlen(value), &sign.prediction);
  for (; value && values && values->text; values++)
    if (!strcmp(value, values->text)) {
      sign.prediction = values->prediction;
      found = true;
    }
  if (value && !values && !found && !*signs->strange)
    snprintf(signs->strange, sizeof signs->strange, "its metadata's %s says %.64s", field, text_quote(value).text);
  if (!found)
    return;
  snprintf(sign.by, sizeof sign.by, "its metadata's %s", field);
  add_sign(signs, &sign);
}

static void read_metadata(struct prediction_signs *signs, const struct safetensors *files) {
  static const struct word architectures[] = {
      {"stable-diffusion-v2-768-v", PREDICT_V}, {"stable-diffusion-v2-512", PREDICT_EPSILON}, {0}};
  read_field(signs, files, "modelspec.prediction_type", NULL);
  read_field(signs, files, "modelspec.predict_key", NULL);
  read_field(signs, files, "prediction_type", NULL);
  read_field(signs, files, "modelspec.architecture", architectures);
}

/* Reads the metadata fields in which trainers say that the noise schedule ends at pure noise. They count only if v
 * prediction was found, because such a schedule is valid with no other prediction. */
static void read_zero_snr(struct prediction_signs *signs, const struct safetensors *files) {
  static const char *const fields[] = {"ss_zero_terminal_snr", "zero_terminal_snr", "ztsnr"};
  for (int i = 0; i < 3; i++) {
    const char *value = safetensors_metadata(files, fields[i]);
    signs->zero_snr |= value && yaml_is_true(value, strlen(value)) && signs->first.witness != WITNESS_NONE &&
                       signs->first.prediction == PREDICT_V;
  }
}

int prediction_read(struct prediction_signs *signs, const struct safetensors *files, struct error *err) {
  *signs = (struct prediction_signs){.first.witness = WITNESS_NONE, .other.witness = WITNESS_NONE};
  read_tensors(signs, files);
  if (read_beside(signs, safetensors_path(files), err))
    return -1;
  read_metadata(signs, files);
  read_zero_snr(signs, files);
  return 0;
}

int prediction_read_scheduler(struct prediction_signs *signs, const char *path, struct error *err) {
  char *text, by[160];
  if (text_read(path, YAML_LIMIT, &text, NULL, err))
    return -1;
  snprintf(by, sizeof by, "its %s", text_last_part(path));
  add_text(signs, text, text_last_part(path), by);
  free(text);
  return 0;
}

void prediction_tell(const struct prediction_signs *signs, const char *path, const struct log *log) {
  const char *other = prediction_name(signs->other.prediction);
  if (*signs->strange)
    log_line(log, LOG_WARNING,
             "%s: %s, which is not known and does not count (v, epsilon and sample are); --prediction says what it "
             "predicts",
             path, signs->strange);
  if (signs->other.witness != WITNESS_NONE)
    log_line(log, LOG_WARNING,
             "%s: signs disagree on what it predicts: %s by %s, %s by %s; the first is followed, --prediction %s "
             "follows the other",
             path, prediction_name(signs->first.prediction), signs->first.by, other, signs->other.by, other);
}
