/* Prints the description of a checkpoint for the command `reverie info`. */
#include <string.h>

#include "unet/checkpoint/autoencoders.h"
#include "unet/base/text.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/single.h"

/* Returns the number of values in all usable tensors (those whose element type is supported). */
static size_t count_parameters(const struct safetensors *files) {
  size_t count = 0;
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    count += t->usable ? t->bytes / dtype_size(t->dtype) : 0;
  }
  return count;
}

size_t checkpoint_parameters(const struct checkpoint *c) {
  size_t count = 0;
  const struct component *component;
  for (int i = 0; (component = checkpoint_component(c, i)); i++)
    count += count_parameters(component->files);
  return count;
}

/* Prints "25.0 MiB F16, 316 tensors, 12.3 M parameters". Element types are in the order of their first tensors. */
static void print_files(const struct safetensors *files, FILE *out) {
  const char *types[4] = {0};
  for (size_t i = 0; i < safetensors_count(files); i++)
    for (size_t k = 0; k < 4; k++) {
      if (types[k] && strcmp(types[k], safetensors_at(files, i)->type))
        continue;
      types[k] = safetensors_at(files, i)->type;
      break;
    }
  fprintf(out, "%.1f MiB", (double)safetensors_bytes(files) / (1 << 20));
  for (size_t k = 0; k < 4 && types[k]; k++)
    fprintf(out, "%s %s", k ? "," : "", text_quote(types[k]).text);
  fprintf(out, ", %zu tensors, %.2f M parameters, ", safetensors_count(files), (double)count_parameters(files) * 1e-6);
  text_put(out, safetensors_path(files));
  fputc('\n', out);
}

static void print_list(FILE *out, const int *values, int count) {
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%d", i ? "/" : "", values[i]);
}

static void print_tensors(const struct safetensors *files, FILE *out) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    fprintf(out, "  %-72s %-5s", text_quote(t->name).text, text_quote(t->type).text);
    for (int d = 0; d < t->rank && d < SAFETENSOR_RANK_MAX; d++)
      fprintf(out, "%s%lld", d ? "x" : " ", (long long)t->shape[d]);
    fprintf(out, "%s%s\n", t->key != t->name ? " from " : "", t->key != t->name ? text_quote(t->key).text : "");
  }
}

/* Returns the family's name. The family of a model in a folder is found by the width of the text that the U-Net reads;
 * the family of a single file was found when the file was opened. */
const char *checkpoint_family(const struct checkpoint *c) {
  const struct unet_config *unet = &c->predictors[0].config;
  if (c->single && single_family(c->single))
    return single_family(c->single);
  switch (unet->cross_attention_dim) {
  case 768:
    return "SD 1";
  case 1024:
    return "SD 2";
  case 2048:
    return "SDXL";
  default:
    return "a family of its own";
  }
}

/* Prints the family, what the U-Net reads besides the latent, and how it was trained if that is unusual. */
static void print_family(const struct checkpoint *c, FILE *out) {
  const struct unet_config *unet = &c->predictors[0].config;
  int latent = c->autoencoder.latent_channels;
  bool pix2pix = unet->in_channels == 8 && latent == 4;
  fprintf(out, "family        %s%s%s%s", checkpoint_family(c), pix2pix ? ", InstructPix2Pix" : "",
          unet->in_channels == 2 * latent + 1 ? ", inpainting" : "",
          unet->time_cond_proj_dim ? ", full LCM (guidance embedded)" : "");
  if (c->single)
    fprintf(out, "; one file, with %s",
            single_family(c->single) ? "the configs and the scheduler of its family" : "the configs of --config");
  fputc('\n', out);
}

static void print_predictor(const struct checkpoint *c, const struct predictor *predictor, FILE *out) {
  const struct unet_config *unet = &predictor->config;
  fprintf(out, "unet          channels ");
  print_list(out, unet->channels, unet->levels);
  fprintf(out, ", layers ");
  print_list(out, unet->layers, unet->levels);
  fprintf(out, ", heads ");
  print_list(out, unet->heads, unet->levels);
  fprintf(out, ", in %d, out %d%s%s\n              ", unet->in_channels, unet->out_channels,
          c->image_condition ? ", sees the input picture"
          : c->inpainting    ? ", repaints what a mask marks"
                             : "",
          unet->time_cond_proj_dim ? ", guidance embedded" : "");
  print_files(predictor->weights.files, out);
}

static void print_autoencoder(const struct autoencoder *autoencoder, FILE *out) {
  fprintf(out, "vae           %s, %d latent channels, ", autoencoder_class(autoencoder), autoencoder->latent_channels);
  autoencoder_print(autoencoder, out);
  fprintf(out, "\n              ");
  print_files(autoencoder->weights.files, out);
}

static void print_text_encoder(const struct text_encoder *encoder, FILE *out) {
  const struct clip_config *config = &encoder->config;
  fprintf(out, "text encoder  CLIP, %d layers of %d, %d heads, %d tokens of %d, clip skip %d\n              ",
          config->layers, config->hidden_size, config->heads, config->positions, config->vocab_size,
          encoder->unread + 1);
  print_files(encoder->weights.files, out);
}

/* Prints the styles whose pictures get some of the input's fine detail unless the user says otherwise (--detail). */
static void print_detail(const struct checkpoint *c, int count, FILE *out) {
  bool any = false;
  for (int i = 0; i < count; i++) {
    float share = styles_detail_of(c->styles, i);
    if (share <= 0)
      continue;
    fprintf(out, "%s%.4g for %s", any ? ", " : "detail        ", (double)share,
            text_quote(styles_name(c->styles, i)).text);
    any = true;
  }
  if (any)
    fprintf(out, "\n");
}

static void print_styles(const struct checkpoint *c, FILE *out) {
  int count = styles_count(c->styles);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%s", i ? ", " : "styles        ", text_quote(styles_name(c->styles, i)).text);
  if (count)
    fprintf(out, "\n");
  print_detail(c, count, out);
}

void checkpoint_print(const struct checkpoint *c, bool tensors, FILE *out) {
  const struct unet_config *unet = &c->predictors[0].config;
  int scale = c->autoencoder.scale;
  fprintf(out, "model         %s, native size %dx%d, %.1f MiB of weights\n", c->name, unet->sample_width * scale,
          unet->sample_height * scale, (double)checkpoint_bytes(c) / (1 << 20));
  print_family(c, out);
  fprintf(out, "parameters    %.2f M\n", (double)checkpoint_parameters(c) * 1e-6);
  for (int i = 0; i < c->predictor_count; i++)
    print_predictor(c, &c->predictors[i], out);
  print_autoencoder(&c->autoencoder, out);
  for (int i = 0; i < c->text_encoder_count; i++)
    print_text_encoder(&c->text_encoders[i], out);
  if (c->scheduler.lacks)
    fprintf(out, "scheduler     not supported: %s; --sampler takes its place\n", c->scheduler_refusal.message);
  else
    fprintf(out, "scheduler     %s: runs as %s, %s timesteps%s%s%s, %s prediction%s\n",
            text_quote(c->scheduler.class_name).text, sampler_name(c->scheduler.sampler),
            spacing_name(c->scheduler.spacing), c->scheduler.sigmas ? ", " : "",
            c->scheduler.sigmas ? spacing_name(c->scheduler.sigmas) : "", c->scheduler.sigmas ? " noise levels" : "",
            prediction_name(c->scheduler.prediction), c->scheduler.zero_snr ? ", zero terminal SNR" : "");
  print_styles(c, out);
  const struct component *component;
  for (int i = 0; tensors && (component = checkpoint_component(c, i)); i++) {
    fprintf(out, "%s\n", component->name);
    print_tensors(component->files, out);
  }
}

/* Prints those fields of the file's header that interest users. */
static void print_metadata(const struct safetensors *files, FILE *out) {
  static const char *const fields[] = {"modelspec.title",      "modelspec.architecture", "modelspec.prediction_type",
                                       "modelspec.resolution", "ss_base_model_version",  "ss_network_module",
                                       "ss_network_dim",       "ss_network_alpha"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const char *value = safetensors_metadata(files, fields[i]);
    if (value)
      fprintf(out, "metadata      %s: %s\n", fields[i], text_quote(value).text);
  }
}

void weights_print(const struct safetensors *files, bool tensors, FILE *out) {
  enum weights_kind kind = weights_kind(files);
  fprintf(out, "kind          %s; %s\n              ", weights_kind_name(kind), weights_kind_use(kind));
  print_files(files, out);
  print_metadata(files, out);
  if (tensors)
    print_tensors(files, out);
}
