#include "unet/model/vision.h"

#include "unet/model/clip_layer.h"
#include "unet/model/net.h"

/* Appends the embeddings: the class token followed by the patches, each with the embedding of its position added. */
static struct tensor embed(const struct net *net, const struct vision_config *config, struct tensor patches) {
  struct error err = {0};
  int c = config->hidden_size;
  struct op_join op = {.x2 =
                           net_linear(net, "embeddings.patch_embedding", (struct op_linear){.x = patches}, c, NO_BIAS),
                       .position = net_table(net, "embeddings.position_embedding", vision_tokens(config), c)};
  if (net->plan->failed)
    return (struct tensor){0};
  op.x = checkpoint_matrix(net->weights, net->plan->resources, "embeddings.class_embedding", 1, c, &err);
  if (!tensor_exists(op.x))
    net_fail(net, &err);
  return net->plan->failed ? (struct tensor){0} : plan_join(net->plan, "embeddings", op);
}

/* Appends the projection of the class token's hidden state. */
static struct tensor project(const struct component *weights, const struct vision_config *config, struct plan *plan,
                             struct tensor x, struct prologue norm) {
  /* The keys of the network's other tensors begin with component.prefix, but the projection's key does not. So a copy
   * of the component with an empty prefix is used. */
  struct component whole = *weights;
  whole.prefix = "";
  struct net net = net_begin(plan, &whole);
  x = plan_end_token(plan, "class token", (struct op_end_token){.x = x});
  x = net_linear(&net, "visual_projection", (struct op_linear){.x = x, .prologue = norm}, config->projection_dim,
                 NO_BIAS);
  net_end(&net);
  return x;
}

struct tensor vision_encode(const struct component *weights, const struct vision_config *config, struct plan *plan,
                            struct tensor patches, bool embedding) {
  const struct clip_config layer = {.hidden_size = config->hidden_size,
                                    .intermediate_size = config->intermediate_size,
                                    .heads = config->heads,
                                    .hidden_act = config->hidden_act,
                                    .layer_norm_eps = config->layer_norm_eps};
  struct net net = net_begin(plan, weights);
  struct tensor x = embed(&net, config, patches);
  struct op_norm norm = {.x = x};
  /* "layrnorm" is how the checkpoints spell this key */
  norm.prologue = net_layer_norm(&net, "pre_layrnorm", config->hidden_size, config->layer_norm_eps);
  x = plan_norm(plan, "pre_layrnorm", norm);
  for (int i = 0; i < config->layers - !embedding; i++)
    x = clip_layer(&layer, &net, i, x, false);
  struct prologue last = {0};
  if (embedding)
    last = net_layer_norm(&net, "post_layernorm", config->hidden_size, config->layer_norm_eps);
  net_end(&net);
  return embedding ? project(weights, config, plan, x, last) : x;
}
