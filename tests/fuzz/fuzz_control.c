/* Fuzzes files of control networks as fuzz_file.h writes them. No tensor may be lost when names are translated to those
 * of a folder, and a file that is accepted has sizes that a network can be made of. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_file.h"
#include "unet/checkpoint/control_network.h"

#define P "control_model."

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("l", "input_blocks.0.0.weight 64,4,3,3\ntime_embed.0.weight 256,64\ninput_blocks.1.0.in_layers.0.weight "
                   "64\ninput_blocks.1.0.in_layers.2.weight 64,64\ninput_blocks.1.1.norm.weight 64\n"
                   "input_blocks.1.1.transformer_blocks.0.norm1.weight 64\n"
                   "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight 4,768\ninput_blocks.2.0.op.weight 64\n"
                   "middle_block.0.in_layers.2.weight 64\nmiddle_block.1.norm.weight 64\nzero_convs.0.0.weight 64,64\n"
                   "middle_block_out.0.bias 64\ninput_hint_block.0.weight 16,3,3,3\ninput_hint_block.4.weight 32\n"
                   "input_hint_block.14.bias 64\n"),
    FUZZ_SEED("l", P "input_blocks.0.0.weight 32,4,3,3\n" P "input_blocks.99.0.op.weight 1\n" P
                     "zero_convs.100.0.weight 1\n" P "zero_convs.1.weight 1\n" P "input_hint_block.1.weight 1\n" P
                     "input_hint_block.0.weight 16\nmodel.diffusion_model.x 1\n"),
    FUZZ_SEED("l", "conv_in.weight 64,4,3,3\ntime_embedding.linear_1.weight 256,64\nadd_embedding.linear_1.weight "
                   "2,2816\ndown_blocks.0.resnets.0.conv1.weight 64,64\ndown_blocks.0.attentions.0.norm.weight 64\n"
                   "mid_block.resnets.0.conv1.weight 64\ncontrolnet_cond_embedding.conv_in.weight 16,3,3,3\n"
                   "controlnet_cond_embedding.blocks.1.weight 32,16\n"
                   "mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight 2,2048\n"),
    FUZZ_SEED("l", "conv_in.weight 8,192,3,3\nbody.0.block1.weight 8,8,3,3\nbody.1.block2.bias 8\nbody.99.block1.bias "
                   "1\nbody.3.in_conv.weight 1\nbody.2.in_conv.weight 16,8,1,1\n"),
    FUZZ_SEED("l", "adapter.conv_in.weight 8,768,3,3\nadapter.body.0.resnets.0.block1.weight 8\n"
                   "adapter.body.1.resnets.0.block1.weight 8\n"),
    FUZZ_SEED("l", "lora_controlnet\ndifference 1\nlllite_a 1\ntask_embedding 1\nbody.0.out_conv.weight 1\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void check_sizes(const struct control_network *network) {
  const struct controlnet_config *net = &network->controlnet;
  const struct t2i_config *t2i = &network->t2i;
  if (network->type == CONTROL_T2I) {
    FUZZ_CHECK(t2i->levels >= 1 && t2i->levels <= LEVELS_MAX && t2i->layers >= 1 && t2i->patch >= 1);
    return;
  }
  FUZZ_CHECK(net->body.levels >= 1 && net->body.levels <= LEVELS_MAX);
  FUZZ_CHECK(net->hint_levels >= 1 && net->hint_levels <= LEVELS_MAX && net->hint[0] >= 1);
  for (int i = 0; i < net->body.levels; i++)
    FUZZ_CHECK(net->body.layers[i] >= 1 && net->body.layers[i] <= LAYERS_MAX && net->body.heads[i] >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct control_network *network;
  struct error err = {0};
  char path[64];
  if (!size)
    return 0;
  int fd = fuzz_file(data, size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (control_network_open(&network, path, "control_1", NULL, &err)) {
    fuzz_check_error(&err);
  } else {
    FILE *out = fopen("/dev/null", "w");
    FUZZ_CHECK(out && *control_network_family(network));
    control_network_print(network, out);
    fclose(out);
    check_sizes(network);
    for (size_t i = 0; i < safetensors_count(network->weights.files); i++)
      fuzz_check_tensor(network->weights.files, safetensors_at(network->weights.files, i));
  }
  control_network_close(&network);
  close(fd);
  return 0;
}
