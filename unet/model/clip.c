#include <math.h>

#include "unet/model/models.h"

/* x + attention of layer_norm1(x) to the positions up to each one */
static struct tensor self_attention(const struct clip_config *config, const struct net *net, struct tensor x) {
  int c = config->hidden_size;
  struct prologue norm = net_layer_norm(net, "layer_norm1", c, config->layer_norm_eps);
  size_t mark = plan_enter(net->plan, "self_attn");
  struct tensor qkv = net_fused(net, "qkv_proj", (struct op_linear){.x = x, .prologue = norm},
                                (const char *const[]){"q_proj", "k_proj", "v_proj"}, (int[]){c, c, c}, 3, WITH_BIAS);
  struct tensor h = {0};
  if (!net->plan->failed)
    h = plan_attention(net->plan, "",
                       (struct op_attention){.q = tensor_channels(qkv, 0, c),
                                             .k = tensor_channels(qkv, c, c),
                                             .v = tensor_channels(qkv, 2 * c, c),
                                             .heads = config->heads,
                                             .scale = 1 / sqrtf((float)c / (float)config->heads),
                                             .causal = true});
  h = net_linear(net, "out_proj", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* x + fc2(act(fc1(layer_norm2(x)))) */
static struct tensor mlp(const struct clip_config *config, const struct net *net, struct tensor x) {
  struct prologue norm = net_layer_norm(net, "layer_norm2", config->hidden_size, config->layer_norm_eps);
  struct op_linear fc1 = {.x = x, .prologue = norm, .act = config->hidden_act};
  struct tensor h = net_linear(net, "mlp.fc1", fc1, config->intermediate_size, WITH_BIAS);
  return net_linear(net, "mlp.fc2", (struct op_linear){.x = h, .residual = x}, config->hidden_size, WITH_BIAS);
}

struct tensor clip_encode(const struct text_encoder *encoder, struct plan *plan) {
  const struct clip_config *config = &encoder->config;
  struct net net = net_begin(plan, &encoder->weights);
  int c = config->hidden_size;
  struct op_embed embed = {.token = net_table(&net, "embeddings.token_embedding", config->vocab_size, c),
                           .position = net_table(&net, "embeddings.position_embedding", config->positions, c)};
  struct tensor x = plan->failed ? (struct tensor){0} : plan_embed(plan, "embeddings", embed);
  for (int i = 0; i < config->layers; i++) {
    size_t mark = plan_enter(plan, "encoder.layers.%d", i);
    x = self_attention(config, &net, x);
    x = mlp(config, &net, x);
    plan_leave(plan, mark);
  }
  struct prologue norm = net_layer_norm(&net, "final_layer_norm", c, config->layer_norm_eps);
  x = plan_norm(plan, "final_layer_norm", (struct op_norm){.x = x, .prologue = norm});
  net_end(&net);
  return x;
}
