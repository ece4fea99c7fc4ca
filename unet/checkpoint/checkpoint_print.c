/* What `reverie info` says of a checkpoint. */
#include <string.h>

#include "unet/checkpoint/autoencoders.h"
#include "unet/base/text.h"

/* "F16 25.0 MiB, 316 tensors": element types in the order of their first tensor. */
static void print_files(const struct component *component, FILE *out) {
  const struct safetensors *files = component->files;
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
  fprintf(out, ", %zu tensors, ", safetensors_count(files));
  text_put(out, safetensors_path(files));
  fputc('\n', out);
}

static void print_list(FILE *out, const int *values, int count) {
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%d", i ? "/" : "", values[i]);
}

static void print_tensors(const struct component *component, FILE *out) {
  fprintf(out, "%s\n", component->name);
  for (size_t i = 0; i < safetensors_count(component->files); i++) {
    const struct safetensor *t = safetensors_at(component->files, i);
    fprintf(out, "  %-72s %-5s", text_quote(t->name).text, text_quote(t->type).text);
    for (int d = 0; d < t->rank && d < SAFETENSOR_RANK_MAX; d++)
      fprintf(out, "%s%lld", d ? "x" : " ", (long long)t->shape[d]);
    fprintf(out, "\n");
  }
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
          c->image_condition ? ", sees the input picture" : "", unet->time_cond_proj_dim ? ", guidance embedded" : "");
  print_files(&predictor->weights, out);
}

static void print_autoencoder(const struct autoencoder *autoencoder, FILE *out) {
  fprintf(out, "vae           %s, %d latent channels, ", autoencoder_class(autoencoder), autoencoder->latent_channels);
  autoencoder_print(autoencoder, out);
  fprintf(out, "\n              ");
  print_files(&autoencoder->weights, out);
}

static void print_text_encoder(const struct text_encoder *encoder, FILE *out) {
  const struct clip_config *config = &encoder->config;
  fprintf(out, "text encoder  CLIP, %d layers of %d, %d heads, %d tokens of %d\n              ", config->layers,
          config->hidden_size, config->heads, config->positions, config->vocab_size);
  print_files(&encoder->weights, out);
}

static void print_styles(const struct checkpoint *c, FILE *out) {
  int count = styles_count(c->styles);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%s", i ? ", " : "styles        ", text_quote(styles_name(c->styles, i)).text);
  if (count)
    fprintf(out, "\n");
}

void checkpoint_print(const struct checkpoint *c, bool tensors, FILE *out) {
  const struct unet_config *unet = &c->predictors[0].config;
  int scale = c->autoencoder.scale;
  fprintf(out, "model         %s, native size %dx%d, %.1f MiB of weights\n", c->name, unet->sample_width * scale,
          unet->sample_height * scale, (double)checkpoint_bytes(c) / (1 << 20));
  for (int i = 0; i < c->predictor_count; i++)
    print_predictor(c, &c->predictors[i], out);
  print_autoencoder(&c->autoencoder, out);
  for (int i = 0; i < c->text_encoder_count; i++)
    print_text_encoder(&c->text_encoders[i], out);
  fprintf(out, "scheduler     %s: runs as %s, %s timesteps, %s prediction\n", text_quote(c->scheduler.class_name).text,
          sampler_method_name(c->scheduler.method), sampler_spacing_name(c->scheduler.spacing),
          prediction_name(c->scheduler.prediction));
  print_styles(c, out);
  const struct component *component;
  for (int i = 0; tensors && (component = checkpoint_component(c, i)); i++)
    print_tensors(component, out);
}
