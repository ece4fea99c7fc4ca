/* Fuzzes config files: a letter for the kind of file, then its text. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "tests/rigs/fixture.h"
#include "unet/checkpoint/checkpoint.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("u",
              "{\"sample_size\":[8,16],\"in_channels\":8,\"block_out_channels\":[32,64],\"layers_per_block\":[1,2],"
              "\"down_block_types\":[\"CrossAttnDownBlock2D\",\"DownBlock2D\"],\"up_block_types\":[\"UpBlock2D\","
              "\"CrossAttnUpBlock2D\"],\"attention_head_dim\":[2,4],\"transformer_layers_per_block\":[1,2],"
              "\"only_cross_attention\":[true,false],\"cross_attention_dim\":16,\"norm_eps\":1e-5,"
              "\"time_cond_proj_dim\":256,\"class_embed_type\":null,\"mid_block_type\":null}"),
    FUZZ_SEED("u", "{\"norm_num_groups\":16,\"freq_shift\":0,\"conv_in_kernel\":3,\"act_fn\":\"silu\"}"),
    FUZZ_SEED("u", "{\"addition_embed_type\":\"text_time\",\"addition_time_embed_dim\":256,"
                   "\"projection_class_embeddings_input_dim\":2816,\"transformer_layers_per_block\":[1,[2,2],4,1],"
                   "\"reverse_transformer_layers_per_block\":[[4,4,10],[2,1,1],1,1]}"),
    FUZZ_SEED("v", "{\"_class_name\":\"AutoencoderTiny\",\"encoder_block_out_channels\":[8,8],"
                   "\"decoder_block_out_channels\":[8,8],\"num_encoder_blocks\":[0,2],\"num_decoder_blocks\":[1,1]}"),
    FUZZ_SEED("v", "{\"_class_name\":\"AutoencoderKL\",\"block_out_channels\":[8,16],\"norm_num_groups\":4,"
                   "\"down_block_types\":[\"DownEncoderBlock2D\",\"DownEncoderBlock2D\"],\"force_upcast\":false,"
                   "\"up_block_types\":[\"UpDecoderBlock2D\",\"UpDecoderBlock2D\"],\"shift_factor\":0.1}"),
    FUZZ_SEED("t", "{\"hidden_size\":64,\"num_attention_heads\":4,\"hidden_act\":\"gelu\",\"vocab_size\":100,"
                   "\"architectures\":[\"CLIPTextModel\"],\"layer_norm_eps\":1e-5}"),
    FUZZ_SEED("s", "{\"_class_name\":\"DDIMScheduler\",\"clip_sample\":false,\"timestep_spacing\":\"leading\","
                   "\"steps_offset\":1,\"prediction_type\":\"v_prediction\",\"rescale_betas_zero_snr\":true}"),
    FUZZ_SEED("s", "{\"_class_name\":\"LCMScheduler\",\"original_inference_steps\":50,\"beta_schedule\":\"linear\"}"),
    FUZZ_SEED("s", "{\"_class_name\":\"UniPCMultistepScheduler\",\"solver_order\":3,\"solver_type\":\"bh1\","
                   "\"disable_corrector\":[0,2],\"use_karras_sigmas\":true,\"sigma_min\":0.1,\"sigma_max\":10,"
                   "\"lower_order_final\":false,\"predict_x0\":true}"),
    FUZZ_SEED("s", "{\"_class_name\":\"DPMSolverMultistepScheduler\",\"algorithm_type\":\"sde-dpmsolver++\","
                   "\"final_sigmas_type\":\"sigma_min\",\"use_exponential_sigmas\":true,\"solver_order\":3,"
                   "\"euler_at_final\":true,\"lambda_min_clipped\":-5.1,\"timestep_spacing\":\"linspace\"}"),
    FUZZ_SEED("s", "{\"_class_name\":\"PNDMScheduler\",\"skip_prk_steps\":true,\"set_alpha_to_one\":false,"
                   "\"timestep_spacing\":\"trailing\",\"prediction_type\":\"v_prediction\"}"),
    FUZZ_SEED("c", "{\"_class_name\":\"ControlNetModel\",\"block_out_channels\":[32,64],\"layers_per_block\":1,"
                   "\"down_block_types\":[\"CrossAttnDownBlock2D\",\"DownBlock2D\"],\"attention_head_dim\":4,"
                   "\"transformer_layers_per_block\":[0,1],\"conditioning_embedding_out_channels\":[4,8,16],"
                   "\"controlnet_conditioning_channel_order\":\"rgb\",\"global_pool_conditions\":false}"),
    FUZZ_SEED("a", "{\"_class_name\":\"T2IAdapter\",\"adapter_type\":\"full_adapter_xl\",\"channels\":[8,16,16,16],"
                   "\"downscale_factor\":16,\"in_channels\":1,\"num_res_blocks\":2}"),
    FUZZ_SEED("d", "{\"backbone_config\":{\"hidden_size\":16,\"num_attention_heads\":2,\"image_size\":[56,56],"
                   "\"num_hidden_layers\":5,\"out_indices\":[1,2,4,5],\"model_type\":\"dinov2\",\"qkv_bias\":true},"
                   "\"neck_hidden_sizes\":[8,16,12,20],\"reassemble_factors\":[4,2,1,0.5],\"head_in_index\":-1}"),
    FUZZ_SEED("p",
              "{\"size\":{\"height\":42,\"width\":42},\"image_mean\":[0.5,0.5,0.5],\"image_std\":[1,1,1],"
              "\"ensure_multiple_of\":14,\"resample\":3,\"do_resize\":true,\"rescale_factor\":0.00392156862745098}"),
    FUZZ_SEED("y", "{\"styles\":{\"oil\":[\"oil painting\",\"a\"]},\"moods\":{\"night\":[\"at night\"]}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static int check_unet(const char *text, struct error *err) {
  struct unet_config c;
  if (unet_config_parse(&c, text, "unet", err))
    return -1;
  FUZZ_CHECK(c.levels >= 1 && c.levels <= LEVELS_MAX && c.in_channels > 0 && c.out_channels > 0);
  FUZZ_CHECK(c.sample_height > 0 && c.sample_width > 0 && c.time_embed_dim > 0 && c.cross_attention_dim > 0);
  for (int i = 0; i < c.levels; i++)
    FUZZ_CHECK(c.channels[i] > 0 && c.channels[i] % c.norm_num_groups == 0 && c.layers[i] > 0 && c.heads[i] > 0 &&
               (!c.down_attention[i] || c.down_depth[i][c.layers[i] - 1] > 0) &&
               (!c.up_attention[i] || c.up_depth[i][c.layers[i]] > 0));
  return 0;
}

static int check_autoencoder(const char *text, struct error *err) {
  struct autoencoder a = {.type = AUTOENCODER_TYPES};
  if (autoencoder_config_parse(&a, text, "vae", err))
    return -1;
  FUZZ_CHECK(a.type < AUTOENCODER_TYPES && a.scale >= 1 && a.latent_channels > 0 && a.scaling_factor > 0);
  if (a.type == AUTOENCODER_KL) {
    FUZZ_CHECK(a.kl.levels >= 1 && a.kl.levels <= LEVELS_MAX && a.kl.layers > 0 && a.kl.groups > 0);
    for (int i = 0; i < a.kl.levels; i++)
      FUZZ_CHECK(a.kl.channels[i] > 0 && a.kl.channels[i] % a.kl.groups == 0);
    return 0;
  }
  FUZZ_CHECK(a.tae.levels >= 1 && a.tae.levels <= LEVELS_MAX && a.tae.encoder_channels > 0);
  for (int i = 0; i < a.tae.levels; i++)
    FUZZ_CHECK(a.tae.encoder_blocks[i] >= 0 && a.tae.decoder_blocks[i] >= 0);
  return 0;
}

static int check_clip(const char *text, struct error *err) {
  struct clip_config c;
  if (clip_config_parse(&c, text, "text", err))
    return -1;
  FUZZ_CHECK(c.hidden_size > 0 && c.hidden_size % c.heads == 0 && c.positions <= TOKENS_MAX && c.layers > 0);
  return 0;
}

static int check_controlnet(const char *text, struct error *err) {
  struct controlnet_config c;
  if (controlnet_config_parse(&c, text, "controlnet", err))
    return -1;
  FUZZ_CHECK(c.body.levels >= 1 && c.body.levels <= LEVELS_MAX && c.body.mid_block && c.body.mid_depth >= 0);
  FUZZ_CHECK(c.hint_levels >= 1 && c.hint_levels <= LEVELS_MAX);
  for (int i = 0; i < c.hint_levels; i++)
    FUZZ_CHECK(c.hint[i] > 0);
  for (int i = 0; i < c.body.levels; i++)
    FUZZ_CHECK(c.body.channels[i] % c.body.norm_num_groups == 0 && c.body.layers[i] > 0 && c.body.heads[i] > 0);
  return 0;
}

static int check_t2i(const char *text, struct error *err) {
  struct t2i_config c;
  if (t2i_config_parse(&c, text, "t2i", err))
    return -1;
  FUZZ_CHECK(c.levels >= 1 && c.levels <= LEVELS_MAX && c.layers > 0 && c.patch > 0 && c.in_channels % 2);
  for (int i = 0; i < c.levels; i++)
    FUZZ_CHECK(c.channels[i] > 0);
  return 0;
}

static int check_depth(const char *text, struct error *err) {
  struct depth_config c;
  if (depth_config_parse(&c, text, "depth", err))
    return -1;
  FUZZ_CHECK(c.hidden_size > 0 && c.hidden_size % c.heads == 0 && c.mlp > 0 && c.patch > 0 && c.side > 0);
  FUZZ_CHECK(c.fusion > 1 && c.head > 0);
  for (int i = 0; i < DEPTH_FEATURES; i++)
    FUZZ_CHECK(c.neck[i] > 0 && c.feature[i] > (i ? c.feature[i - 1] : 0) && c.feature[i] <= c.layers);
  return 0;
}

static int check_preprocessor(const char *text, struct error *err) {
  struct depth_config c = {.patch = 14};
  if (depth_preprocessor_parse(&c, text, "preprocessor", err))
    return -1;
  FUZZ_CHECK(c.shorter_side > 0);
  for (int i = 0; i < 3; i++)
    FUZZ_CHECK(c.deviation[i] > 0 && c.mean[i] - c.mean[i] == 0);
  return 0;
}

static void check_table(const struct scheduler_config *c, const struct sampling *s) {
  struct sampler_table table;
  sampler_table(c, s, &table);
  FUZZ_CHECK(table.steps >= 1 && table.steps <= sampler_calls(s->sampler, s->steps));
  FUZZ_CHECK(sampler_table_noise(&table) <= sampler_noise_samples(s->sampler, s->steps));
  for (int k = 0; k < table.steps; k++) {
    const struct step_params *p = &table.step[k];
    FUZZ_CHECK(p->timestep >= 0 && p->timestep < TIMESTEPS);
    FUZZ_CHECK(p->x - p->x == 0 && p->model - p->model == 0 && p->noise - p->noise == 0);
    FUZZ_CHECK(p->keep_x - p->keep_x == 0 && p->keep_model - p->keep_model == 0);
    for (int j = 0; j < EARLIER_MAX; j++)
      FUZZ_CHECK(p->earlier[j] - p->earlier[j] == 0 &&
                 (j < sampler_earlier(c, s->sampler, s->steps) || p->earlier[j] == 0));
  }
}

/* Checks that each scheduler that is accepted gives finite tables, also to a sampler that the user chooses in place of
 * the scheduler's own. */
static int check_scheduler(const char *text, struct error *err) {
  struct scheduler_config c;
  if (scheduler_config_parse(&c, text, "scheduler", NULL, err))
    return -1;
  static const double strengths[] = {0.01, 0.5, 1};
  for (int i = 0; i < 24; i++) {
    struct sampling s = {
        c.sampler,          c.spacing,          (int[]){1, 3, 20, 50}[i % 4], strengths[i / 4 % 3],
        .sigmas = c.sigmas, .eta = i % 3 / 2.0, .quantised = i >= 12,         .text_to_image = i % 4 == 1};
    check_table(&c, &s);
    if (c.zero_snr && c.prediction != PREDICT_V)
      continue;
    s.sampler = (enum sampler)(SAMPLER_AUTO + 1 + i % (SAMPLERS - SAMPLER_AUTO - 1));
    check_table(&c, &s);
  }
  return 0;
}

static char *folder; /* folder of the file styles.json, which can only be read from a file */

static void clean(void) {
  fixture_remove(folder);
}

static int check_styles(const char *text, struct error *err) {
  if (!folder) {
    folder = fixture_make();
    atexit(clean);
  }
  fixture_text(folder, "styles.json", text);
  char *path = fixture_path(folder, "styles.json");
  struct styles *styles = NULL;
  int result = styles_open(&styles, path, err);
  for (int i = 0; i < styles_count(styles); i++)
    FUZZ_CHECK(styles_name(styles, i));
  styles_match(styles, "a town at night, oil painting");
  styles_close(&styles);
  free(path);
  return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  char *text = malloc(size);
  FUZZ_CHECK(text);
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  struct error err = {0};
  int result = data[0] == 'u'   ? check_unet(text, &err)
               : data[0] == 'v' ? check_autoencoder(text, &err)
               : data[0] == 't' ? check_clip(text, &err)
               : data[0] == 'c' ? check_controlnet(text, &err)
               : data[0] == 'a' ? check_t2i(text, &err)
               : data[0] == 'd' ? check_depth(text, &err)
               : data[0] == 'p' ? check_preprocessor(text, &err)
               : data[0] == 's' ? check_scheduler(text, &err)
                                : check_styles(text, &err);
  FUZZ_CHECK(!result || (err.status == STATUS_MODEL && *err.message && !strchr(err.message, '\n')));
  free(text);
  return 0;
}
