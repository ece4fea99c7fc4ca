/* Fuzzes the list of a repository's files that a hub answers, and the choice of the files to load. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "app/models/choice.h"

#define HASH "0123456789abcdef0123456789abcdef01234567"
#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_(path) "{\"rfilename\":\"" path "\",\"size\":7,\"blobId\":\"" HASH "\"}"
#define WEIGHTS(path)                                                                                                  \
  "{\"rfilename\":\"" path "\",\"size\":9,\"blobId\":\"" HASH "\",\"lfs\":{\"size\":9,\"sha256\":\"" SUM               \
  "\",\"pointerSize\":130}}"
#define LIST(files) "{\"sha\":\"" HASH "\",\"siblings\":[" files "]}"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("", LIST(FILE_("model_index.json") "," FILE_("unet/config.json") "," WEIGHTS(
                      "unet/diffusion_pytorch_model.safetensors") "," WEIGHTS("unet/diffusion_pytorch_model.fp16."
                                                                              "safetensors") "," FILE_("vae/x.bin"))),
    FUZZ_SEED("", LIST(FILE_("config.json") "," WEIGHTS("diffusion_pytorch_model.safetensors"))),
    FUZZ_SEED("", LIST(FILE_("../x") "," FILE_("/x") "," FILE_("a\\\\b") "," FILE_(".git/x") "," FILE_("a//b"))),
    FUZZ_SEED("", LIST(WEIGHTS("a.safetensors") "," WEIGHTS("b/c.safetensors") "," FILE_("a.safetensors"))),
    FUZZ_SEED("", "{\"sha\":\"main\",\"siblings\":[{\"rfilename\":7,\"size\":-1e300,\"lfs\":[]},null]}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

/* Checks that no path of the list leads out of the folder, and that a file that is chosen has a checksum to verify. */
static void check_file(const struct repository_file *file, bool wanted) {
  FUZZ_CHECK(*file->path && *file->path != '/' && *file->path != '.' && strlen(file->path) < REPOSITORY_PATH_MAX);
  FUZZ_CHECK(!strstr(file->path, "/.") && !strstr(file->path, "//") && !strpbrk(file->path, "\\\n\r\x1b"));
  FUZZ_CHECK(file->size >= -1 && file->size <= (int64_t)1 << 53);
  FUZZ_CHECK(!wanted || (file->size >= 0 && strlen(file->hash) == (file->git ? 40 : 64)));
  const char *dot = strrchr(file->path, '.');
  FUZZ_CHECK(!wanted || !dot || (strcmp(dot, ".bin") && strcmp(dot, ".ckpt")));
}

static void choose(const struct repository_list *list, const char *const *names, int count) {
  struct choice choice;
  struct error err = {0};
  int failed = choice_make(&choice, list, names, count, "acme/model", &err);
  FUZZ_CHECK(!failed == !*err.message && !strchr(err.message, '\n'));
  int wanted = 0;
  for (int i = 0; i < list->count && !failed; i++) {
    check_file(&list->file[i], choice.wanted[i]);
    wanted += choice.wanted[i];
  }
  FUZZ_CHECK(failed || (wanted == choice.count && choice.bytes >= 0 && choice.double_bytes >= 0));
  choice_free(&choice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct repository_list list;
  struct error err = {0};
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  if (!repository_parse(&list, text, "acme/model", &err)) {
    choose(&list, NULL, 0);
    if (list.count)
      choose(&list, (const char *const *)&list.file[list.count - 1].path, 1);
  } else {
    FUZZ_CHECK(*err.message && !strchr(err.message, '\n'));
  }
  repository_list_free(&list);
  struct repository repository;
  FUZZ_CHECK(repository_read_name(&repository, text, &err) ||
             (!strchr("/.", *repository.name) && !strstr(repository.name, "/.") && !strstr(repository.name, "//")));
  free(text);
  return 0;
}
