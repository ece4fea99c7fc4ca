/* Whole checkpoint folders, with the U-Net in two shards and their index: a letter for the file, of SDXL's folder in
 * upper case, then edits of it, each two bytes of place (in 65536ths of the file), how many bytes it cuts, how many it
 * inserts, and those. All else that the program does with a folder short of running it follows: the description, the
 * plans, every weight. */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "unet/model/plans.h"

#define UNET "unet/diffusion_pytorch_model"

static const struct target {
  char letter;
  const char *name;
} targets[] = {
    {'i', "model_index.json"},
    {'u', "unet/config.json"},
    {'v', "vae/config.json"},
    {'t', "text_encoder/config.json"},
    {'s', "scheduler/scheduler_config.json"},
    {'y', "styles.json"},
    {'x', UNET ".safetensors.index.json"},
    {'1', UNET "-1.safetensors"},
    {'2', UNET "-2.safetensors"},
    {'w', "vae/diffusion_pytorch_model.safetensors"},
    {'e', "text_encoder/model.safetensors"},
    {'k', "tokenizer/vocab.json"},
    {'c', "text_encoder_2/config.json"}, /* the files from here on only SDXL's folder has */
    {'f', "text_encoder_2/model.safetensors"},
    {'l', "tokenizer_2/vocab.json"},
};
enum { TARGETS = sizeof targets / sizeof *targets, INDEX = 6 };

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("i", ""),
    FUZZ_SEED("i", "\x80\0\5\4null"),
    FUZZ_SEED("u", "\x40\0\2\1"
                   "2"),
    FUZZ_SEED("u", "\x90\0\0\2[]\xa0\0\1\1"
                   "8"),
    FUZZ_SEED("v", "\x80\0\1\1"
                   "4"),
    FUZZ_SEED("t", "\x80\0\1\1"
                   "2"),
    FUZZ_SEED("s", "\x60\0\1\4true"),
    FUZZ_SEED("y", "\x20\0\3\2{}"),
    FUZZ_SEED("x", "\x80\0\2\1"
                   "2"),
    FUZZ_SEED("x", "\x80\0\x10\x08../../x"),
    FUZZ_SEED("x", "\x80\0\xff\0"),
    FUZZ_SEED("1", "\x10\0\1\1"
                   "1"),
    FUZZ_SEED("1", "\xff\0\xff\0"),
    FUZZ_SEED("2", "\0\0\1\1\xff"),
    FUZZ_SEED("2", "\x20\0\2\3BF1\xe0\0\4\4\xff\xff\xff\xff"),
    FUZZ_SEED("w", "\x08\0\1\1"
                   "3"),
    FUZZ_SEED("e", "\xf0\0\2\2\0\x7c"),
    FUZZ_SEED("k", "\x80\0\2\1"
                   "9"),
    FUZZ_SEED("I", ""),
    FUZZ_SEED("I", "\x80\0\4\4null"),
    FUZZ_SEED("U", "\x40\0\2\1"
                   "2"),
    FUZZ_SEED("C", "\x80\0\1\1"
                   "3"),
    FUZZ_SEED("C", "\xd0\0\2\2"
                   "17"),
    FUZZ_SEED("F", "\x08\0\1\1"
                   "2"),
    FUZZ_SEED("1", "\x30\0\2\0"),
    FUZZ_SEED("L", "\x80\0\2\1"
                   "9"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

/* The folders without an error, with their files in memory. */
static struct base {
  const char *golden;
  char *folder;
  struct {
    char *bytes; /* contents of the file; NULL: the folder has no such file */
    size_t size;
  } good[TARGETS];
} bases[] = {{.golden = GOLDENS "/pix2pix"}, {.golden = GOLDENS "/sdxl"}};
enum { BASES = sizeof bases / sizeof *bases };

static void clean(void) {
  for (int b = 0; b < BASES; b++) {
    fixture_remove(bases[b].folder);
    for (int i = 0; i < TARGETS; i++)
      free(bases[b].good[i].bytes);
  }
}

static void copy_in(const struct base *base, const char *name) {
  size_t size;
  char *path = fixture_path(base->golden, name), *bytes = fixture_read(path, &size);
  if (bytes)
    fixture_write(base->folder, name, bytes, size);
  free(bytes);
  free(path);
}

/* Writes every second tensor of the set, from number `first` on, to a file as one shard. Its part of the index's
 * weight_map goes to map. */
static void write_shard(const char *folder, const struct safetensors *files, size_t first, const char *name,
                        FILE *map) {
  char *header, *data;
  size_t header_size, data_size, at = 0;
  FILE *text = open_memstream(&header, &header_size), *body = open_memstream(&data, &data_size);
  FUZZ_CHECK(text && body);
  for (size_t i = first; i < safetensors_count(files); i += 2) {
    const struct safetensor *t = safetensors_at(files, i);
    char *bytes = malloc(t->bytes + 1);
    FUZZ_CHECK(bytes && !weight_file_read(t->file, t->offset, bytes, t->bytes, NULL));
    fwrite(bytes, 1, t->bytes, body);
    free(bytes);
    fprintf(text, "%s\"%s\":{\"dtype\":\"%s\",\"data_offsets\":[%zu,%zu],\"shape\":[", i < 2 ? "{" : ",", t->name,
            t->type, at, at + t->bytes);
    for (int k = 0; k < t->rank; k++)
      fprintf(text, "%s%lld", k ? "," : "", (long long)t->shape[k]);
    fprintf(text, "]}");
    fprintf(map, "%s\"%s\":\"%s\"", i ? "," : "", t->name, strrchr(name, '/') + 1);
    at += t->bytes;
  }
  fprintf(text, "}");
  FUZZ_CHECK(!fclose(text) && !fclose(body));
  fixture_tensors(folder, name, header, -1, data, data_size);
  free(header);
  free(data);
}

static void write_shards(const struct base *base) {
  char *index, *unet = fixture_path(base->golden, "unet");
  size_t size;
  struct safetensors *files;
  FILE *map = open_memstream(&index, &size);
  FUZZ_CHECK(map && !safetensors_open(&files, unet, "diffusion_pytorch_model", NULL));
  fprintf(map, "{\"weight_map\":{");
  write_shard(base->folder, files, 0, UNET "-1.safetensors", map);
  write_shard(base->folder, files, 1, UNET "-2.safetensors", map);
  fprintf(map, "}}");
  FUZZ_CHECK(!fclose(map));
  fixture_text(base->folder, targets[INDEX].name, index);
  safetensors_close(&files);
  free(unet);
  free(index);
}

static void make_folder(struct base *base) {
  static const char *const more[] = {"tokenizer/merges.txt", "tokenizer/tokenizer_config.json",
                                     "tokenizer_2/merges.txt", "tokenizer_2/tokenizer_config.json"};
  base->folder = fixture_make();
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    copy_in(base, more[i]);
  fixture_text(base->folder, "styles.json",
               "{\"default\":\"oil\",\"strength\":\"blend\",\"guidance\":false,"
               "\"styles\":{\"oil\":[\"oil\"]},\"moods\":{\"night\":[\"at night\"]}}");
  write_shards(base);
  for (int i = 0; i < TARGETS; i++) {
    char *path = fixture_path(base->folder, targets[i].name);
    base->good[i].bytes = fixture_read(path, &base->good[i].size);
    if (!base->good[i].bytes) {
      copy_in(base, targets[i].name);
      base->good[i].bytes = fixture_read(path, &base->good[i].size);
    }
    free(path);
  }
}

static void make_folders(void) {
  if (bases[0].folder)
    return;
  for (int b = 0; b < BASES; b++)
    make_folder(&bases[b]);
  FUZZ_CHECK(bases[0].good[0].bytes && bases[1].good[TARGETS - 1].bytes);
  atexit(clean);
}

/* Reads every weight that the plans of the model name. */
static int read_weights(const struct resources *resources, struct error *err) {
  int result = 0;
  for (int i = 0; !result && i < resources->count; i++) {
    const struct resource *r = &resources->list[i];
    if (r->kind != RESOURCE_WEIGHT)
      continue;
    float *values = malloc((size_t)r->n * (size_t)r->h * (size_t)r->w * (size_t)r->c * sizeof *values);
    FUZZ_CHECK(values);
    result = resource_read_f32(r, values, err) ? -1 : 0;
    free(values);
  }
  return result;
}

static int use(const struct checkpoint *checkpoint, struct error *err) {
  static const struct frame_shape shape = {
      .width = 64, .height = 64, .steps = 2, .guidance = GUIDANCE_FULL, .rows = {3, 3}};
  FILE *nowhere = fopen("/dev/null", "w");
  FUZZ_CHECK(nowhere);
  checkpoint_print(checkpoint, true, nowhere);
  fclose(nowhere);
  struct resources resources = {0};
  struct model model = {0};
  struct plan plans[3] = {0}, texts[TEXT_ENCODERS_MAX] = {0};
  struct frame_noise noise;
  int result = model_init(&model, checkpoint, &resources, err);
  if (!result)
    result = plans_keys(&model, 1, &plans[0], err) || plans_text(&model, 0, &texts[0], err) ||
             (checkpoint->text_encoder_count > 1 && plans_text(&model, 1, &texts[1], err)) ||
             plans_times(&model, &shape, &plans[1], err) || plans_frame(&model, &shape, &plans[2], &noise, err) ||
             read_weights(&resources, err);
  size_t elements;
  if (!result)
    result = plans_check_unused(checkpoint, &elements, err);
  for (int i = 0; i < 3; i++)
    plan_free(&plans[i]);
  for (int i = 0; i < TEXT_ENCODERS_MAX; i++)
    plan_free(&texts[i]);
  model_free(&model);
  resources_free(&resources);
  return result;
}

/* Writes file i with the edits of the fuzzed input. */
static void write_edited(const struct base *base, int i, const uint8_t *data, size_t size) {
  size_t length = base->good[i].size;
  char *bytes = malloc(length + size);
  FUZZ_CHECK(bytes);
  memcpy(bytes, base->good[i].bytes, length);
  while (size >= 4) {
    size_t at = (size_t)(data[0] << 8 | data[1]) * length >> 16, cut = data[2], insert = data[3];
    data += 4, size -= 4;
    cut = cut < length - at ? cut : length - at;
    insert = insert < size ? insert : size;
    memmove(bytes + at + insert, bytes + at + cut, length - at - cut);
    memcpy(bytes + at, data, insert);
    length += insert - cut;
    data += insert, size -= insert;
  }
  fixture_write(base->folder, targets[i].name, bytes, length);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  make_folders();
  int chosen = 0;
  const struct base *base = &bases[size && isupper(data[0])];
  while (chosen < TARGETS && (!size || targets[chosen].letter != tolower(data[0])))
    chosen++;
  if (chosen == TARGETS || !base->good[chosen].bytes)
    return 0;
  write_edited(base, chosen, data + 1, size - 1);
  struct checkpoint *checkpoint = NULL;
  struct error err = {0};
  int result = checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = base->folder}, NULL, &err);
  FUZZ_CHECK(!result == (checkpoint != NULL));
  if (checkpoint)
    result = use(checkpoint, &err);
  checkpoint_close(&checkpoint);
  FUZZ_CHECK(!result || (err.status == STATUS_MODEL && *err.message && !strchr(err.message, '\n')));
  FUZZ_CHECK(size > 1 || !result); /* an input without edits is the good folder, which must be accepted */
  fixture_write(base->folder, targets[chosen].name, base->good[chosen].bytes, base->good[chosen].size);
  return 0;
}
