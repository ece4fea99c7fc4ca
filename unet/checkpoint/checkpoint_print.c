/* What `reverie info` says of a checkpoint. */
#include <string.h>

#include "unet/checkpoint/checkpoint.h"
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

static void print_unet(const struct checkpoint *c, FILE *out) {
  const struct unet_config *unet = &c->unet;
  fprintf(out, "unet          channels ");
  print_list(out, unet->channels, unet->levels);
  fprintf(out, ", layers ");
  print_list(out, unet->layers, unet->levels);
  fprintf(out, ", heads ");
  print_list(out, unet->heads, unet->levels);
  fprintf(out, ", in %d, out %d%s%s\n              ", unet->in_channels, unet->out_channels,
          c->image_condition ? ", sees the input picture" : "", unet->time_cond_proj_dim ? ", guidance embedded" : "");
  print_files(&c->unet_weights, out);
}

static void print_vae(const struct checkpoint *c, FILE *out) {
  fprintf(out, "vae           AutoencoderTiny, %d latent channels, width %d/%d, blocks ", c->vae.latent_channels,
          c->vae.encoder_channels, c->vae.decoder_channels);
  print_list(out, c->vae.encoder_blocks, c->vae.levels);
  fprintf(out, " and ");
  print_list(out, c->vae.decoder_blocks, c->vae.levels);
  fprintf(out, "\n              ");
  print_files(&c->vae_weights, out);
}

static void print_styles(const struct checkpoint *c, FILE *out) {
  int count = styles_count(c->styles);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%s", i ? ", " : "styles        ", text_quote(styles_name(c->styles, i)).text);
  if (count)
    fprintf(out, "\n");
}

void checkpoint_print(const struct checkpoint *c, bool tensors, FILE *out) {
  int scale = tae_scale(&c->vae);
  fprintf(out, "model         %s, native size %dx%d, %.1f MiB of weights\n", c->name, c->unet.sample_width * scale,
          c->unet.sample_height * scale, (double)checkpoint_bytes(c) / (1 << 20));
  print_unet(c, out);
  print_vae(c, out);
  fprintf(out, "text encoder  CLIP, %d layers of %d, %d heads, %d tokens of %d\n              ", c->text.layers,
          c->text.hidden_size, c->text.heads, c->text.positions, c->text.vocab_size);
  print_files(&c->text_weights, out);
  fprintf(out, "scheduler     %s: runs as %s, %s timesteps, %s prediction\n", text_quote(c->scheduler.class_name).text,
          sampler_method_name(c->scheduler.method), sampler_spacing_name(c->scheduler.spacing),
          prediction_name(c->scheduler.prediction));
  print_styles(c, out);
  if (!tensors)
    return;
  print_tensors(&c->unet_weights, out);
  print_tensors(&c->vae_weights, out);
  print_tensors(&c->text_weights, out);
}
