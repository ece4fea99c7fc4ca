/* Tests the walk over a U-Net's blocks, with published shapes. */
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "unet/model/walk.h"

static struct walk walk_of(const char *text) {
  struct unet_config config;
  struct walk walk;
  struct error err = {0};
  if (unet_config_parse(&config, text, "unet/config.json", &err))
    fail_msg("%s", err.message);
  assert_int_equal(walk_init(&walk, &config, UNET_UP), 0);
  return walk;
}

static const struct unet_layer *find(const struct walk *walk, const char *name) {
  for (int i = 0; i < walk->count; i++)
    if (!strcmp(walk->layers[i].name, name))
      return &walk->layers[i];
  fail_msg("the walk does not come past %s", name);
  return NULL;
}

/* Checks that slices of the stacked projections follow each other, that each layer reads the last one's output, and
 * that the up blocks read what the down blocks stored. */
static void check_walk(const struct walk *walk, int channels) {
  int time = 0, text = 0, count = 1, kept[SKIPS_MAX] = {channels};
  enum unet_part part = UNET_DOWN;
  for (int i = 0; i < walk->count; i++) {
    const struct unet_layer *layer = &walk->layers[i];
    assert_true(layer->part >= part);
    part = layer->part;
    assert_int_equal(layer->in, channels);
    channels = layer->out;
    if (layer->skip)
      assert_int_equal(layer->skip, kept[--count]);
    if (layer->kept)
      kept[count++] = channels;
    if (layer->kind == LAYER_RES) {
      assert_int_equal(layer->time, time);
      time += layer->out;
    }
    for (int k = 0; k < walk_texts(layer); k++, text += 2 * layer->out)
      assert_int_equal(walk_text_channel(layer, k), text);
  }
  assert_int_equal(count, 0);
  assert_int_equal(walk->time_channels, time);
  assert_int_equal(walk->text_channels, text);
}

static int count_kept(const struct walk *walk) {
  int count = 0;
  for (int i = 0; i < walk->count; i++)
    count += walk->layers[i].kept;
  return count;
}

static void test_sd(void **state) {
  (void)state;
  struct walk walk = walk_of("{\"attention_head_dim\": [5, 10, 20, 20], \"cross_attention_dim\": 1024}");
  check_walk(&walk, 320);
  assert_int_equal(walk.text_channels, 24960);
  /* plus the output of conv_in: the 12 of a ControlNet, which has a conv_in of its own */
  assert_int_equal(count_kept(&walk), 11);
  assert_string_equal(walk.layers[0].name, "down_blocks.0.resnets.0");
  assert_string_equal(walk.layers[walk.count - 1].name, "up_blocks.3.attentions.2");
  const struct unet_layer *up = find(&walk, "up_blocks.1.resnets.2");
  assert_true(up->in == 1280 && up->skip == 640 && up->out == 1280);
  assert_int_equal(find(&walk, "mid_block.attentions.0")->heads, 20);
  assert_int_equal(find(&walk, "down_blocks.1.downsamplers.0")->kind, LAYER_DOWNSAMPLE);
  assert_int_equal(find(&walk, "up_blocks.2.upsamplers.0")->kind, LAYER_UPSAMPLE);
  walk_free(&walk);
}

/* Attention on some levels of several blocks each, cross-attention only on one of them, and none in the middle. */
static void test_depths(void **state) {
  (void)state;
  struct walk walk =
      walk_of("{\"block_out_channels\": [320, 640, 1280], \"attention_head_dim\": [5, 10, 20],"
              "\"down_block_types\": [\"DownBlock2D\", \"CrossAttnDownBlock2D\", \"CrossAttnDownBlock2D\"],"
              "\"up_block_types\": [\"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"UpBlock2D\"],"
              "\"transformer_layers_per_block\": [1, 2, 10], \"only_cross_attention\": [false, true, true],"
              "\"cross_attention_dim\": 2048}");
  check_walk(&walk, 320);
  assert_int_equal(count_kept(&walk), 8);
  const struct unet_layer *layer = find(&walk, "up_blocks.1.attentions.0");
  char name[112];
  assert_int_equal(walk_texts(layer), 4);
  walk_text_name(layer, 2, name, sizeof name);
  assert_string_equal(name, "up_blocks.1.attentions.0.transformer_blocks.1.attn1");
  layer = find(&walk, "mid_block.attentions.0");
  assert_int_equal(walk_texts(layer), 10);
  walk_text_name(layer, 9, name, sizeof name);
  assert_string_equal(name, "mid_block.attentions.0.transformer_blocks.9.attn2");
  walk_free(&walk);
}

/* A shape like SSD-1B's: each attention has its own depth, smaller in the down blocks than in the up blocks. */
static void test_depth_of_each(void **state) {
  (void)state;
  struct walk walk =
      walk_of("{\"block_out_channels\": [320, 640, 1280], \"attention_head_dim\": [5, 10, 20],"
              "\"down_block_types\": [\"DownBlock2D\", \"CrossAttnDownBlock2D\", \"CrossAttnDownBlock2D\"],"
              "\"up_block_types\": [\"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"UpBlock2D\"],"
              "\"mid_block_type\": \"UNetMidBlock2D\", \"transformer_layers_per_block\": [[1], [2, 2], [4, 4]],"
              "\"reverse_transformer_layers_per_block\": [[4, 4, 10], [2, 1, 1], 1], \"cross_attention_dim\": 2048}");
  check_walk(&walk, 320);
  assert_int_equal(find(&walk, "down_blocks.2.attentions.1")->depth, 4);
  assert_int_equal(find(&walk, "up_blocks.0.attentions.2")->depth, 10);
  assert_int_equal(find(&walk, "up_blocks.1.attentions.0")->depth, 2);
  assert_int_equal(find(&walk, "up_blocks.1.attentions.2")->depth, 1);
  assert_int_equal(walk.text_channels, 2 * (640 * (4 + 4) + 1280 * (8 + 18)));
  walk_free(&walk);
}

static void test_no_mid_block(void **state) {
  (void)state;
  struct walk walk = walk_of("{\"block_out_channels\": [64, 128], \"layers_per_block\": [1, 3],"
                             "\"down_block_types\": [\"CrossAttnDownBlock2D\", \"DownBlock2D\"],"
                             "\"up_block_types\": [\"UpBlock2D\", \"CrossAttnUpBlock2D\"],"
                             "\"attention_head_dim\": 8, \"mid_block_type\": null}");
  check_walk(&walk, 64);
  for (int i = 0; i < walk.count; i++)
    assert_true(walk.layers[i].part != UNET_MID);
  walk_free(&walk);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sd),
      cmocka_unit_test(test_depths),
      cmocka_unit_test(test_depth_of_each),
      cmocka_unit_test(test_no_mid_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
