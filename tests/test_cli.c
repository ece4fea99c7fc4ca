/* Tests the program with bad input: it must end with the documented status, print one to three lines, and destroy no
 * file. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/fixture.h"
#include "tests/rigs/program.h"

static void make_clips(void) {
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 -c:v libx264 good.mp4");
  shell("printf '' >empty.mp4; head -c 2000 good.mp4 >cut.mp4; mkdir -p folder");
  clip_random_bytes("random.mp4", 50000);
  shell(FFMPEG "-f lavfi -i sine=d=0.2 sound.wav");
}

static void test_command_line(void **state) {
  (void)state;
  program_expect(2, "a command is needed", " ");
  program_expect(2, "did you mean render?", "rendr a b");
  program_expect(2, "did you mean --prompt?", "render a b --promt x");
  program_expect(2, "unknown option", "bench --nothing-like-it");
  program_expect(2, "render needs IN... OUT", "render good.mp4");
  program_expect(2, "from 1 to 50", "render good.mp4 x.mp4 --steps 51");
  program_expect(0, NULL, "--help");
  program_expect(0, NULL, "render --help");
  program_expect(0, NULL, "--version");
  program_expect(6, "standard output", "--help >/dev/full");
  program_expect(6, "standard output", "info >/dev/full");
  program_expect(2, "REVERIE_HANDOVER: the program sets it for itself", "export REVERIE_HANDOVER=1,2; @ live");
  program_expect(2, "REVERIE_CURTAIN: the program sets it for itself", "export REVERIE_CURTAIN=1,2; @ live");
}

static void test_bad_video(void **state) {
  (void)state;
  static const char *const bad[] = {"missing.mp4", "empty.mp4", "cut.mp4", "random.mp4", "folder", "sound.wav"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    program_expect(3, bad[i], "render %s never.mp4 --size 64x64", bad[i]);
  program_expect(3, "/dev/video63", "render /dev/video63 never.mp4 --size 64x64");
  program_expect(3, "after --start", "render good.mp4 never.mp4 --size 64x64 --start 100");
  shell("test ! -e never.mp4");
}

static void test_sizes(void **state) {
  (void)state;
  static const char *const sizes[] = {"0x0", "0x64", "-64x64", "64", "99999x64"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    program_expect(2, "--size", "render good.mp4 never.mp4 --size %s", sizes[i]);
  program_expect(2, "64 or 66", "render good.mp4 never.mp4 --size 65x64");
  program_expect(2, "at least 32", "render good.mp4 never.mp4 --size 64x1");
  struct outcome outcome;
  program_run(&outcome, "render good.mp4 never.mp4 --size 8192x8192 --memory-limit 500M");
  assert_in_range(outcome.lines, 1, 3);
  assert_true(outcome.status == 2 || outcome.status == 5);
  program_expect(5, "MB allowed", "render good.mp4 never.mp4 --size 512x512 --memory-limit 50M");
  shell("test ! -e never.mp4");
}

static void test_device(void **state) {
  (void)state;
  program_expect(2, "tpu", "render good.mp4 never.mp4 --size 64x64 --device tpu");
  struct outcome outcome;
  program_run(&outcome, "render good.mp4 never.mp4 --size 64x64 --device cuda:77");
  assert_int_equal(outcome.status, 5);
  assert_in_range(outcome.lines, 1, 3);
  program_expect(5, "--hwdec auto", "render good.mp4 never.mp4 --size 64x64 --device cpu --hwdec nvdec");
  program_expect(5, "--hwdec auto", "live good.mp4 --device cpu --hwdec cuda");
  shell("test ! -e never.mp4");
}

/* Each file of the model is tried missing, empty, cut in half, and full of random bytes. */
static void test_bad_model(void **state) {
  (void)state;
  static const char *const parts[] = {
      "unet/config.json",
      "unet/diffusion_pytorch_model.safetensors",
      "vae/config.json",
      "vae/diffusion_pytorch_model.safetensors",
      "text_encoder/config.json",
      "text_encoder/model.safetensors",
      "tokenizer/vocab.json",
      "tokenizer/merges.txt",
      "scheduler/scheduler_config.json",
  };
  shell("cp -rL \"$REVERIE_GOLDENS/sd15\" kept && chmod -R u+w kept");
  clip_random_bytes("random.bin", 5000);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    static const char *const harms[] = {"rm $PART", "truncate -s 0 $PART",
                                        "truncate -s $(($(stat -c %s $PART) / 2)) $PART", "cp random.bin $PART"};
    for (size_t h = 0; h < sizeof harms / sizeof *harms; h++) {
      shell("rm -rf model && cp -r kept model && PART=model/%s && %s", parts[i], harms[h]);
      program_expect(4, "model", "render good.mp4 never.mp4 --size 64x64 --model model # %s: %s", parts[i], harms[h]);
    }
  }
  program_expect(4, "nowhere", "render good.mp4 never.mp4 --size 64x64 --model nowhere");
  program_expect(4, "good.mp4", "render good.mp4 never.mp4 --size 64x64 --model good.mp4");
  program_expect(4, "nowhere", "render good.mp4 never.mp4 --size 64x64 --vae nowhere");
  program_expect(4, "nowhere", "info nowhere");
  program_expect(4, "REVERIE_DATA_DIR", "bench >out.txt; REVERIE_DATA_DIR=/nonexistent @ bench");
  shell("rm -rf model kept; test ! -e never.mp4");
}

/* A safetensors file with a tensor of one number, or with two of them. */
static void write_weights(const char *name, const char *tensor, const char *other) {
  static const char zeros[4];
  char header[512];
  int used = snprintf(header, sizeof header,
                      "{\"__metadata__\":{\"ss_network_dim\":\"8\"},"
                      "\"%s\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[0,2]}",
                      tensor);
  snprintf(header + used, sizeof header - (size_t)used,
           other ? ",\"%s\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[2,4]}}" : "}%s", other ? other : "");
  fixture_tensors(clip("."), name, header, -1, zeros, other ? 4 : 2);
}

/* Files that are not a whole model: info describes them, and other commands say how they can be used. */
static void test_other_files(void **state) {
  (void)state;
  static const struct {
    const char *tensor, *other, *kind, *use;
  } cases[] = {
      {"lora_unet_mid_block.lora_down.weight", "lora_unet_mid_block.lora_up.weight", "LoRA", "--lora"},
      {"encoder.conv_in.weight", NULL, "autoencoder (VAE)", "--vae"},
      {"controlnet_cond_embedding.conv_in.weight", NULL, "ControlNet", "--control"},
      {"conv_in.weight", NULL, "U-Net alone", "--unet"},
      {"something", NULL, "no kind that is known", "--model"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_weights("part.safetensors", cases[i].tensor, cases[i].other);
    program_expect(4, cases[i].kind, "render good.mp4 never.mp4 --size 64x64 --model part.safetensors");
    shell("grep -qF -e '%s' err.txt", cases[i].use);
    program_expect(0, NULL, "info part.safetensors");
    shell("grep -qF '%s' out.txt && grep -q 'ss_network_dim: 8' out.txt", cases[i].kind);
  }
  write_weights("part.safetensors", cases[0].tensor, cases[0].other);
  program_expect(0, NULL, "info part.safetensors");
  shell("grep -q 'LoRA of rank 1' out.txt");
  program_expect(4, "not a U-Net", "render good.mp4 never.mp4 --size 64x64 --unet part.safetensors");
  program_expect(4, "not an autoencoder", "render good.mp4 never.mp4 --size 64x64 --vae part.safetensors");
  shell("printf 'PK\\003\\004 and so on, a zip archive' >part.ckpt");
  static const char *const options[] = {"--model", "--vae", "--unet", "--lora"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    program_expect(4, "can run code", "render good.mp4 never.mp4 --size 64x64 %s part.ckpt", options[i]);
  program_expect(4, "can run code", "info part.ckpt");
  program_expect(4, "--config is not for it", "info --config folder");
  shell("rm part.*; test ! -e never.mp4");
}

/* info describes the files of --lora, and refuses a bad one before it prints anything. */
static void test_info_of_adapters(void **state) {
  (void)state;
#define INFO "info \"$REVERIE_GOLDENS\"/sd15 --lora "
  struct outcome outcome;
  program_run(&outcome, INFO "\"$REVERIE_GOLDENS\"/adapters/kohya.safetensors:0.5");
  assert_int_equal(outcome.status, 0);
  shell(
      "grep -q '^adapter  *LoRA of ranks 2 to 4, 3 layers of the U-Net' out.txt && grep -q kohya.safetensors out.txt");
  write_weights("part.safetensors", "something", NULL);
  static const struct {
    const char *lora, *says;
  } cases[] = {{"nowhere.safetensors", "nowhere.safetensors: "},
               {"part.safetensors", "not a LoRA; --lora takes"},
               {".", "nor a folder with adapter_model.safetensors"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    program_expect(4, cases[i].says, INFO "%s", cases[i].lora);
    shell("! test -s out.txt");
  }
  shell("rm part.safetensors");
#undef INFO
}

/* Tests style pictures: which options they need, and with which ones they cannot be combined. */
static void test_styles(void **state) {
  (void)state;
#define STYLED                                                                                                         \
  "render good.mp4 hash:with.txt -y --frames 1 --size 64x48 --steps 1 --device cpu --model \"$REVERIE_GOLDENS\"/sd15 " \
  "--ip-adapter \"$REVERIE_GOLDENS\"/styles/sd15-linear.safetensors "
#define ENCODER "--image-encoder \"$REVERIE_GOLDENS\"/styles/encoder80 "
  struct outcome outcome;
  program_run(&outcome, STYLED ENCODER);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--ip-adapter does nothing without --style"));
  shell("mv with.txt without.txt");
  program_expect(0, NULL, STYLED ENCODER "-q --style good.mp4:0");
  shell("cmp with.txt without.txt");
  program_expect(0, NULL, STYLED ENCODER "-q --style good.mp4 --style good.mp4:0.5 --style-layers all");
  shell("! cmp -s with.txt without.txt");
  program_run(&outcome, STYLED ENCODER "--style good.mp4 --style-layers composition");
  assert_non_null(strstr(outcome.said, "--style-layers composition leaves nothing of the picture"));
  shell("cmp with.txt without.txt");
  program_expect(4, ": is a folder: give one of its files",
                 "render good.mp4 hash:never.txt --device cpu --style good.mp4 --ip-adapter "
                 "\"$REVERIE_GOLDENS\"/styles --model \"$REVERIE_GOLDENS\"/sd15");
  program_expect(2, "sd15: has no IP-Adapter of its own (ip_adapter.safetensors)",
                 "render good.mp4 never.mp4 --device cpu --style good.mp4 --model \"$REVERIE_GOLDENS\"/sd15");
  program_expect(2, "--style[1].weight 3", "render good.mp4 never.mp4 --style good.mp4:3");
  program_expect(2, "one of all|style", "render good.mp4 never.mp4 --style-layers colour");
  program_expect(4, "--image-encoder", STYLED);
  program_expect(4, "does not fit the IP-Adapter", STYLED "--image-encoder \"$REVERIE_GOLDENS\"/styles/encoder104");
  program_expect(4, "do not go together",
                 "render good.mp4 never.mp4 --size 64x64 --device cpu " ENCODER
                 "--ip-adapter \"$REVERIE_GOLDENS\"/styles/sd15-linear.safetensors");
  program_expect(3, "nowhere.png", STYLED ENCODER "--style nowhere.png");
  program_expect(0, NULL, "info \"$REVERIE_GOLDENS\"/styles/sd15-plus.safetensors");
  shell("grep -q '^form  *plus (resampler)' out.txt; rm with*.txt");
#undef STYLED
#undef ENCODER
}

/* Tests a model whose folder has an IP-Adapter of its own: --style alone is enough, and says what is not whole. */
static void test_own_styles(void **state) {
  (void)state;
#define OWN "hash:%s.txt -y --frames 1 --size 64x48 --steps 1 --device cpu --model own "
  shell("mkdir own; ln -s \"$REVERIE_GOLDENS\"/pix2pix/* \"$REVERIE_GOLDENS\"/own/i* own");
  program_expect(0, NULL, "render good.mp4 " OWN "-q --prompt photo", "without");
  program_expect(0, NULL, "render good.mp4 " OWN "-q --style good.mp4:0", "with");
  shell("cmp with.txt without.txt");
  program_expect(0, NULL, "render good.mp4 " OWN "-q --style good.mp4", "with");
  shell("! cmp -s with.txt without.txt");
  program_expect(0, NULL, "render good.mp4 " OWN "-q --style good.mp4 --ip-adapter own --prompt photo", "again");
  shell("cmp with.txt again.txt");
  program_expect(2, "--image-encoder", "render good.mp4 " OWN "--style good.mp4 --image-encoder own/image_encoder",
                 "x");
  program_expect(0, NULL, "bench --model own --size 64x48 --steps 1 --frames 2 --device cpu -q --style good.mp4");
  program_expect(0, NULL, "info own --device cpu");
  shell("grep -q '^style  *pictures are read by its own IP-Adapter (--style PICTURE): linear, 4 tokens' out.txt");
  shell("rm own/image_encoder");
  program_expect(4, "image_encoder/config.json: cannot be read", "render good.mp4 " OWN "--style good.mp4", "x");
  program_expect(0, NULL, "render good.mp4 " OWN "-q --prompt photo", "again");
  shell("cmp again.txt without.txt");
  program_expect(0, NULL, "info own --device cpu");
  shell("grep -q '^style  *pictures cannot be read: .*image_encoder' out.txt; rm -r own with*.txt again.txt");
#undef OWN
}

/* Tests control networks as folders and as files; an incomplete one is reported as such. */
static void test_info_of_controls(void **state) {
  (void)state;
  static const struct {
    const char *name, *says;
  } cases[] = {{"first", "ControlNet for a family of its own, channels 8/16, transformer blocks 1/0, mid 1"},
               {"xl/diffusion_pytorch_model.safetensors", "ControlNet for SDXL"},
               {"xladapter", "T2I-Adapter for SDXL, channels 8/8/16/16, reads a grey map at 1/16"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    program_expect(0, NULL, "info \"$REVERIE_GOLDENS\"/controls/%s", cases[i].name);
    shell("grep -q '^control  *%s' out.txt && grep -q '^kind .*a %s' out.txt", cases[i].says,
          i < 2 ? "ControlNet" : "T2I");
  }
  write_weights("part.safetensors", "zero_convs.0.0.weight", NULL);
  program_expect(0, NULL, "info part.safetensors");
  shell("grep -q '^control  *cannot be used: .*is no whole ControlNet' out.txt && rm part.safetensors");
}

/* A scheduler that is not built in is named once in a warning; an option without effect, and one that is impossible,
 * get a line each. */
static void test_scheduler_stand_in(void **state) {
  (void)state;
  struct outcome outcome;
  shell("cp -r \"$REVERIE_EXPECTED\"/../data/goldens/sd15 heun && "
        "sed -i s/PNDMScheduler/HeunDiscreteScheduler/ heun/scheduler/scheduler_config.json");
  program_run(&outcome, "render good.mp4 null: --model heun --size 64x64 --frames 1");
  assert_int_equal(outcome.status, 0);
  const char *said = strstr(outcome.said, "its HeunDiscreteScheduler is not built in: DDIM runs in its place");
  assert_non_null(said);
  assert_null(strstr(said + 40, "not built in"));
  program_run(&outcome, "render good.mp4 null: --model heun --size 64x64 --frames 1 --sampler euler");
  assert_int_equal(outcome.status, 0);
  assert_null(strstr(outcome.said, "not built in"));
#define HEUN "render good.mp4 null: --model heun --size 64x64 --frames 1 --steps 2"
  shell("sed -i 's/\"_class_name\"/\"use_karras_sigmas\": true, &/' heun/scheduler/scheduler_config.json");
  program_expect(4, "use_karras_sigmas: true is not supported", HEUN);
  program_expect(4, "--sampler or --spacing takes the place of what the file says", HEUN);
  program_expect(0, "1 frame", HEUN " --sampler euler");
  program_run(&outcome, HEUN " --spacing trailing");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "DDIM runs in its place, with trailing timesteps and epsilon prediction"));
  shell("sed -i s/HeunDiscreteScheduler/IPNDMScheduler/ heun/scheduler/scheduler_config.json");
  program_expect(4, "IPNDMScheduler is not supported", HEUN " --spacing trailing");
  program_expect(0, "1 frame", HEUN " --sampler dpm++");
  shell("sed -i 's/IPNDMScheduler/UniPCMultistepScheduler/; s/\"use_karras_sigmas\": true, //' "
        "heun/scheduler/scheduler_config.json");
  program_run(&outcome, "render good.mp4 null: --model heun --size 64x64 --frames 1 --steps 2 --eta 0.5");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--eta does nothing with the sampler UniPC"));
  program_expect(2, "Karras spacing: DDIM takes timesteps alone",
                 "render good.mp4 null: --model heun --size 64x64 --frames 1 --sampler ddim --spacing karras");
  shell("rm -r heun");
}

static void test_negative_without_guidance(void **state) {
  (void)state;
#define GOLDEN                                                                                                         \
  "render good.mp4 null: --size 64x64 --frames 1 --negative blurry --model \"$REVERIE_EXPECTED\"/../data/goldens/"
  struct outcome outcome;
  program_run(&outcome, GOLDEN "turbo");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--negative does nothing without --guidance"));
  program_expect(0, "1 frame", GOLDEN "turbo --guidance 2");
  program_run(&outcome, GOLDEN "lcm --guidance 2");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--negative does nothing on this model"));
}

static void test_guidance_modes(void **state) {
  (void)state;
  struct outcome outcome;
  program_expect(0, "1 frame", GOLDEN "turbo --guidance 2 --guidance-mode one-time --steps 2 --guidance-rescale 0.5");
  program_run(&outcome, GOLDEN "turbo --guidance 2 --guidance-mode self --delta 0.5");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--negative does nothing with --guidance-mode self"));
  program_run(&outcome, GOLDEN "turbo --guidance 2 --guidance-mode none");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--negative does nothing with --guidance-mode none"));
  program_expect(2, "guided by prompt and picture apart: --guidance-mode full or none",
                 GOLDEN "pix2pix --guidance 2 --guidance-mode one-time");
  program_expect(2, "embeds guidance: --guidance-mode full or none", GOLDEN "lcm --guidance 2 --guidance-mode self");
  program_expect(2, "one of none|full|self|one-time", GOLDEN "turbo --guidance-mode negative");
}

/* A stream batch makes the same pictures at the same times as frames alone, and prints its latency. */
static void test_stream_batch(void **state) {
  (void)state;
#define TURBO " --size 64x64 --model \"$REVERIE_EXPECTED\"/../data/goldens/turbo --device cpu:plain"
  struct outcome outcome;
  program_expect(0, "5 frames", "render good.mp4 hash:alone.txt --frames 5 --steps 3" TURBO);
  program_run(&outcome, "render good.mp4 hash:batch.txt --frames 5 --steps 3 --stream-batch" TURBO);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "5 frames"));
  assert_non_null(strstr(outcome.said, "stream batch: a picture comes 2 frames after its own, "));
  shell("cmp alone.txt batch.txt");
  static const char *const ends[][2] = {{"end=0.4", "no noise that the strength covers"},
                                        {"start=0.7,end=0.6", "its start is not below its end"},
                                        {"end=0.6", NULL}};
  for (int i = 0; i < 3; i++) {
    program_run(&outcome,
                "render good.mp4 null: --frames 1 --strength 0.5 --control "
                "canny:\"$REVERIE_GOLDENS\"/controls/first --control-with %s" TURBO,
                ends[i][0]);
    assert_int_equal(outcome.status, 0);
    const char *said = strstr(outcome.said, "acts in no step: ");
    assert_true(ends[i][1] ? said && strstr(said, ends[i][1]) : !said);
  }
  program_run(&outcome, "render good.mp4 null: --frames 1 --stream-batch" TURBO);
  assert_non_null(strstr(outcome.said, "--stream-batch does nothing in one step"));
  program_expect(2, "a stream batch of 9 steps: with the sampler Euler at most 8",
                 "render good.mp4 null: --steps 9 --stream-batch" TURBO);
  program_expect(2, "a stream batch of 8 steps: with the sampler PNDM at most 7",
                 "render good.mp4 null: --steps 8 --stream-batch --sampler pndm" TURBO);
  program_run(&outcome, "bench --steps 3 --stream-batch --frames 4 --warmup 0" TURBO " >bench.txt");
  assert_int_equal(outcome.status, 0);
  shell("grep -q 'stream batch: a picture comes 2 frames after its own' bench.txt");
  shell("grep -q 'end to end, one by one' bench.txt");
#undef TURBO
}

/* Several frames in a run give the same pictures as single frames, also while the seed changes; the last run has
 * fewer. */
static void test_batch(void **state) {
  (void)state;
#define TURBO " --size 64x64 --model \"$REVERIE_EXPECTED\"/../data/goldens/turbo --device cpu:plain"
#define INPAINT " --size 64x64 --model \"$REVERIE_EXPECTED\"/../data/goldens/inpaint --device cpu:plain --steps 1"
  struct outcome outcome;
  program_expect(0, "5 frames", "render good.mp4 hash:one.txt --frames 5 --seed-walk 9 --batch 1" TURBO);
  program_expect(0, "5 frames", "render good.mp4 hash:two.txt --frames 5 --seed-walk 9 --batch 2" TURBO);
  program_expect(0, "5 frames", "render good.mp4 hash:four.txt --frames 5 --seed-walk 9 --batch 4" TURBO);
  shell("cmp one.txt two.txt && cmp one.txt four.txt && test $(sort -u one.txt | wc -l) -ge 5");
  program_run(&outcome, "render good.mp4 null: -v --frames 1 --batch 3" TURBO);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "3 frames a run"));
  program_run(&outcome, "render good.mp4 null: -v --frames 1" TURBO);
  assert_non_null(strstr(outcome.said, "1 frame a run")); /* a batch of several frames is not faster on this device */
  program_expect(2, "from 1 to 4", "render good.mp4 null: --batch 5" TURBO);
  program_expect(2, "a stream batch takes one frame a run",
                 "render good.mp4 null: --batch 2 --stream-batch --steps 2" TURBO);
  /* on a canvas that follows the camera frames are made one by one, with the same result each time */
  program_run(&outcome, "render good.mp4 hash:follow.txt --frames 5 --canvas follow" TURBO);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "one frame a run: with --canvas follow each"));
  program_run(&outcome, "render good.mp4 hash:again.txt --frames 5 --canvas follow" TURBO);
  shell("cmp follow.txt again.txt");
  program_expect(2, "--canvas follow: each frame needs the one before it",
                 "render good.mp4 null: --batch 2 --canvas follow" TURBO);
  program_expect(2, "--canvas follow: each frame needs the one before it",
                 "render good.mp4 null: --stream-batch --steps 2 --canvas follow" TURBO);
  /* with --start, frames before it are read, so that a part of a clip equals the same part of the whole render */
  program_run(&outcome, "render good.mp4 hash:all.txt --frames 6 --noise carried --feedback 0.4 --strength 0.5" TURBO);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "one frame a run: with --noise carried each"));
  program_run(&outcome, "render good.mp4 hash:part.txt --frames 3 --noise carried --feedback 0.4 --strength 0.5 "
                        "--start 0.12 --warmup 3" TURBO);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "3 frames before --start were run to warm up"));
  shell("grep -v '[#t]' all.txt | sed -n 4,6p | awk '{print $3}' >all.3 && grep -v '[#t]' part.txt | "
        "awk '{print $3}' >part.3 && test -s all.3 && cmp all.3 part.3");
  /* without those earlier frames the part differs, so the comparison above can fail */
  program_run(&outcome, "render good.mp4 hash:cold.txt --frames 3 --noise carried --feedback 0.4 --strength 0.5 "
                        "--start 0.12" TURBO);
  shell("grep -v '[#t]' cold.txt | awk '{print $3}' >cold.3 && ! cmp -s all.3 cold.3");
  program_expect(2, "a stream batch keeps nothing",
                 "render good.mp4 null: --stream-batch --steps 2 --warmup 3 --start 0.12" TURBO);
  program_run(&outcome, "render good.mp4 null: --frames 1 --warmup 2" TURBO);
  assert_non_null(strstr(outcome.said, "--warmup does nothing without --start"));
  program_run(&outcome, "render good.mp4 null: --batch 2 --noise carried" TURBO);
  assert_int_equal(outcome.status, 2);
  assert_non_null(strstr(outcome.said, "one picture a run, not 2"));
  program_run(&outcome, "render good.mp4 null: --frames 1 --feedback 0.5 --device cpu --size 64x64");
  assert_int_equal(outcome.status, 2);
  assert_non_null(strstr(outcome.said, "starts from noise alone"));
  program_expect(2, "with controls one picture a run", "render good.mp4 null: --batch 2 --control canny" TURBO);
  program_expect(2, "--batch 2: a run has one mask", "render good.mp4 null: --batch 2 --mask good.mp4" INPAINT);
  program_expect(2, "live has no option --batch", "live good.mp4 --batch 2");
  program_expect(2, "--live shows each frame as it comes", "bench --live --batch 2" TURBO);
  program_expect(0, NULL, "bench --batch 3 --frames 4 --warmup 0" TURBO " >bench.txt");
  shell("grep -q '3 frames in one run' bench.txt && grep -q 'compute only  *6 ' bench.txt");
#undef TURBO
#undef INPAINT
}

/* Options that shape guidance print a line if there is no guidance. */
static void test_idle_guidance(void **state) {
  (void)state;
  struct outcome outcome;
#define TURBO "render good.mp4 null: --size 64x64 --frames 1 --model \"$REVERIE_EXPECTED\"/../data/goldens/turbo "
  program_run(&outcome, TURBO "--guidance-mode self --delta 0.5 --guidance-rescale 0.5");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--guidance-mode does nothing while --guidance is 1"));
  assert_non_null(strstr(outcome.said, "--delta does nothing while --guidance is 1"));
  assert_non_null(strstr(outcome.said, "--guidance-rescale does nothing while --guidance is 1"));
  program_run(&outcome, TURBO "--guidance 2 --delta 0.5 --guidance-rescale 0.5");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--delta does nothing with --guidance-mode full"));
  assert_null(strstr(outcome.said, "--guidance-rescale"));
  program_run(&outcome, TURBO "--guidance 2 --guidance-mode one-time --delta 0.5 --guidance-rescale 0.5");
  assert_int_equal(outcome.status, 0);
  assert_null(strstr(outcome.said, "does nothing"));
}

/* If a part of a prompt is too long to be read, a line says which prompt it is. */
static void test_cut_prompts(void **state) {
  (void)state;
  struct outcome outcome;
  shell("for i in $(seq 99); do printf 'word '; done >words.txt");
  program_run(&outcome, TURBO "--prompt \"$(cat words.txt)\"");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "the prompt \"word word"));
  assert_non_null(strstr(outcome.said, "\" is cut: it has 396 tokens, and at most 4 chunks of 14 are read"));
  program_run(&outcome,
              TURBO "--prompt hill --negative \"$(head -c 50 words.txt)\" --guidance 2 --prompt-syntax plain");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "\" is cut: it has 40 tokens, and 14 are read with --prompt-syntax plain"));
  program_run(&outcome, TURBO "--prompt \"$(head -c 50 words.txt)\"");
  assert_null(strstr(outcome.said, "is cut"));
#undef TURBO
}

/* Tests lines about options that the built-in model was not trained for. */
static void test_mini(void **state) {
  (void)state;
  struct outcome outcome;
  program_expect(2, "leave --guidance at 1", "render good.mp4 never.mp4 --size 64x64 --guidance 2");
  program_expect(2, "leave --guidance at 1", "info --guidance 0 >out.txt");
  program_run(&outcome, "render good.mp4 null: --size 64x64 --frames 1 --negative blurry");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--negative does nothing on this model"));
  program_expect(2, "weights|plain", "render a b --prompt-syntax lisp");
  program_expect(2, "ftfy|basic|fast", "render a b --text-fix none");
  program_run(&outcome, "render good.mp4 null: --size 64x64 --frames 1 --prompt '[oil|ink] painting'");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "[a|b] is plain text"));
  program_run(&outcome, "render good.mp4 hash:castle.txt --size 64x64 --frames 1 --prompt 'a castle made of ice'");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "names no style that this model knows and gives photo: photo, oil"));
  program_expect(0, "1 frame", "render good.mp4 hash:photo.txt --size 64x64 --frames 1 --prompt photo");
  shell("cmp castle.txt photo.txt && test ! -e never.mp4");
}

/* Tests files that are no adapters, and adapters for another model. */
static void test_adapters(void **state) {
  (void)state;
  static const char up[] = "lora_unet_down_blocks_9_attentions_0_proj_in.lora_up.weight",
                    down[] = "lora_unet_down_blocks_9_attentions_0_proj_in.lora_down.weight";
  float zeros[8] = {0};
  char header[512];
  snprintf(header, sizeof header,
           "{\"%s\":{\"dtype\":\"F32\",\"shape\":[4,1],\"data_offsets\":[0,16]},\"%s\":{\"dtype\":\"F32\","
           "\"shape\":[1,4],\"data_offsets\":[16,32]}}",
           up, down);
  fixture_tensors(clip("."), "other.safetensors", header, -1, zeros, sizeof zeros);
  program_expect(4, "missing.safetensors", "render good.mp4 never.mp4 --size 64x64 --lora missing.safetensors");
  program_expect(4, "random.mp4", "render good.mp4 never.mp4 --size 64x64 --lora random.mp4:0.5");
  program_expect(4, "nothing of it has a place", "render good.mp4 never.mp4 --size 64x64 --lora other.safetensors:0");
  program_expect(4, "nothing of it", "render good.mp4 never.mp4 --size 64x64 --lora other.safetensors --lora-lenient");
  shell("test ! -e never.mp4");
}

static void test_output(void **state) {
  (void)state;
  program_expect(6, "No such file", "render good.mp4 nowhere/out.mp4 --size 64x64");
  program_expect(6, "this is a folder", "render good.mp4 folder --size 64x64");
  program_expect(2, "extension", "render good.mp4 out.xyz --size 64x64");
  program_expect(2, "no video", "render good.mp4 out.wav --size 64x64");
  program_expect(2, "no video", "render good.mp4 out.m4a --size 64x64");
  program_expect(2, "does not take", "render good.mp4 out.webm --size 64x64 -c libx264");
  program_expect(2, "no such video encoder", "render good.mp4 out.mp4 --size 64x64 -c nonsense");
  program_expect(2, "no such video encoder", "render good.mp4 out.mp4 --size 64x64 -c aac");
  program_expect(0, "frames", "render good.mp4 named.mp4 --size 64x64 -c h264");
  shell("ffprobe -v error -show_entries stream=codec_name -of csv=p=0 named.mp4 | grep -qx h264");
  shell("echo precious >there.mp4; cp good.mp4 same.mp4; ln -sf same.mp4 link.mp4");
  program_expect(6, "-y", "render good.mp4 there.mp4 --size 64x64");
  shell("test \"$(cat there.mp4)\" = precious");
  shell("echo precious >s01.png");
  program_expect(6, "s01.png", "render good.mp4 s%%02d.png --size 64x64");
  program_expect(2, "the same file", "render same.mp4 same.mp4 -y --size 64x64");
  program_expect(2, "the same file", "render same.mp4 link.mp4 -y --size 64x64");
  shell("cmp good.mp4 same.mp4");
  program_expect(0, "frames", "render good.mp4 there.mp4 -y --size 64x64");
  shell("ffprobe -v error there.mp4");
}

static void test_full_disk(void **state) {
  (void)state;
  shell("ln -sf /dev/full full.mp4; ln -sf /dev/full full.mkv");
  program_expect(6, "No space left", "render good.mp4 full.mp4 --size 64x64");
  program_expect(6, "No space left", "render good.mp4 full.mkv --size 64x64");
  program_expect(6, "No space left", "render good.mp4 hash:/dev/full --size 64x64");
  program_expect(6, "No space left", "bench --size 64x64 --frames 1 --warmup 0 --json /dev/full");
}

/* The disk is full in mid-render: what was written before can be played. */
static void test_disk_fills_up(void **state) {
  (void)state;
  static const char *const containers[] = {"mp4", "mkv", "mov"};
  for (int i = 0; i < 3; i++) {
    const char *extension = containers[i];
    struct outcome outcome;
    program_run(&outcome,
                "ulimit -f 400; @ render lavfi:testsrc2=s=96x64:r=6 out.%s -y --size 96x64 --crf 2 --frames 400",
                extension);
    if (outcome.status != 6 || !strstr(outcome.said, "File too large"))
      fail_msg("%s: status %d: %s", extension, outcome.status, outcome.said);
    assert_in_range(outcome.lines, 1, 3);
    char name[16];
    snprintf(name, sizeof name, "out.%s.part", extension);
    long frames = clip_count_frames(name);
    if (frames < 12)
      fail_msg("%s: %ld frames are left", extension, frames);
    char told[32];
    snprintf(told, sizeof told, "%ld frames are in ", frames);
    if (!strstr(outcome.said, told))
      fail_msg("%s: %ld frames are left, and it says: %s", extension, frames, outcome.said);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_command_line),
      cmocka_unit_test_setup_teardown(test_bad_video, program_tiny_model, program_own_model),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_device),
      cmocka_unit_test(test_bad_model),
      cmocka_unit_test_setup_teardown(test_other_files, program_tiny_model, program_own_model),
      cmocka_unit_test(test_negative_without_guidance),
      cmocka_unit_test(test_guidance_modes),
      cmocka_unit_test(test_stream_batch),
      cmocka_unit_test(test_batch),
      cmocka_unit_test(test_idle_guidance),
      cmocka_unit_test(test_cut_prompts),
      cmocka_unit_test(test_mini),
      cmocka_unit_test(test_info_of_adapters),
      cmocka_unit_test(test_info_of_controls),
      cmocka_unit_test_setup_teardown(test_adapters, program_tiny_model, program_own_model),
      cmocka_unit_test(test_styles),
      cmocka_unit_test(test_own_styles),
      cmocka_unit_test_setup_teardown(test_output, program_tiny_model, program_own_model),
      cmocka_unit_test(test_scheduler_stand_in),
      cmocka_unit_test_setup_teardown(test_full_disk, program_tiny_model, program_own_model),
      cmocka_unit_test_setup_teardown(test_disk_fills_up, program_tiny_model, program_own_model),
  };
  if (argc != 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  make_clips();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
