#include <math.h>

#include "unet/model/clip_layer.h"
#include "unet/model/models.h"

/* Appends self-attention, and returns x + attention of layer_norm1(x). causal: true: each token attends to itself and
 * those before it; false: to all. */
static struct tensor self_attention(const struct clip_config *config, const struct net *net, struct tensor x,
                                    bool causal) {
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
                                             .causal = causal});
  h = net_linear(net, "out_proj", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* Appends and returns x + fc2(act(fc1(layer_norm2(x)))). */
static struct tensor mlp(const struct clip_config *config, const struct net *net, struct tensor x) {
  struct prologue norm = net_layer_norm(net, "layer_norm2", config->hidden_size, config->layer_norm_eps);
  struct op_linear fc1 = {.x = x, .prologue = norm, .act = config->hidden_act};
  struct tensor h = net_linear(net, "mlp.fc1", fc1, config->intermediate_size, WITH_BIAS);
  return net_linear(net, "mlp.fc2", (struct op_linear){.x = h, .residual = x}, config->hidden_size, WITH_BIAS);
}

struct tensor clip_layer(const struct clip_config *config, const struct net *net, int index, struct tensor x,
                         bool causal) {
  size_t mark = plan_enter(net->plan, "encoder.layers.%d", index);
  x = self_attention(config, net, x, causal);
  x = mlp(config, net, x);
  plan_leave(net->plan, mark);
  return x;
}

int clip_layers(const struct text_encoder *encoder) {
  return encoder->config.layers - (encoder->pooled ? 0 : encoder->unread);
}

bool clip_has_final_norm(const struct text_encoder *encoder) {
  return !encoder->penultimate || encoder->pooled;
}

int clip_end(const struct text_encoder *encoder, const int *tokens) {
  /* Configs written before 2023 wrongly say that the end token is number 2. With such a config, the end token is the
   * token with the highest number. */
  int end = encoder->config.end_token, place = 0;
  for (int i = encoder->config.positions - 1; i >= 0; i--)
    if (end == 2 ? tokens[i] >= tokens[place] : tokens[i] == end)
      place = i;
  return place;
}

/* Appends the final norm and the projection of the end token's hidden state: the pooled text. */
static struct tensor pool(const struct text_encoder *encoder, struct plan *plan, struct tensor x,
                          struct prologue norm) {
  /* The keys of the network's other tensors begin with component.prefix, but the projection's key does not. So a copy
   * of the component with an empty prefix is used. */
  struct component whole = encoder->weights;
  whole.prefix = "";
  struct net net = net_begin(plan, &whole);
  x = plan_end_token(plan, "end token", (struct op_end_token){.x = x});
  x = net_linear(&net, "text_projection", (struct op_linear){.x = x, .prologue = norm}, encoder->config.projection_dim,
                 NO_BIAS);
  net_end(&net);
  return x;
}

struct clip_text clip_encode(const struct text_encoder *encoder, struct plan *plan) {
  const struct clip_config *config = &encoder->config;
  struct net net = net_begin(plan, &encoder->weights);
  int c = config->hidden_size;
  struct op_embed embed = {.token = net_table(&net, "embeddings.token_embedding", config->vocab_size, c),
                           .position = net_table(&net, "embeddings.position_embedding", config->positions, c)};
  struct tensor x = plan->failed ? (struct tensor){0} : plan_embed(plan, "embeddings", embed);
  struct clip_text text = {0};
  for (int i = 0; i < clip_layers(encoder); i++) {
    if (i == config->layers - encoder->unread)
      text.hidden = x;
    x = clip_layer(config, &net, i, x, true);
  }
  struct prologue norm = {0};
  if (clip_has_final_norm(encoder))
    norm = net_layer_norm(&net, "final_layer_norm", c, config->layer_norm_eps);
  if (!encoder->penultimate)
    text.hidden = plan_norm(plan, "final_layer_norm", (struct op_norm){.x = x, .prologue = norm});
  else if (!encoder->pooled || !encoder->unread)
    text.hidden = x;
  net_end(&net);
  if (encoder->pooled)
    text.pooled = pool(encoder, plan, x, norm);
  return text;
}
