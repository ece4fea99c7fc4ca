#include "app/models/inventory.h"

#include <string.h>

#include "app/models/catalog.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/family.h"
#include "unet/checkpoint/kind.h"

enum { NAME_WIDTH = 34, KIND_WIDTH = 26 };

/* The facts that are printed about a model: its kind, such as "SD 1" or "a LoRA or one of its kin", and the size of its
 * weights in bytes. */
struct summary {
  char kind[64];
  size_t bytes;
};

static int summarise_files(struct summary *summary, const struct safetensors *files, struct error *err) {
  struct family family;
  enum weights_kind kind = weights_kind(files);
  if (kind == WEIGHTS_MODEL && family_recognise(&family, files, err))
    return -1;
  snprintf(summary->kind, sizeof summary->kind, "%s",
           kind == WEIGHTS_MODEL ? family_name(&family) : weights_kind_name(kind));
  summary->bytes = safetensors_bytes(files);
  return 0;
}

static int summarise_file(struct summary *summary, const char *path, struct error *err) {
  struct safetensors *files = NULL;
  int result = safetensors_open_file(&files, path, err);
  result = result ? result : summarise_files(summary, files, err);
  safetensors_close(&files);
  return result;
}

static bool has_file(const char *folder, const char *name) {
  char path[PATHS_MAX];
  return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && platform_exists(path);
}

/* Fills in kind and size for the folder of a single part of a pipeline, such as a VAE. The name of the folder's file of
 * weights tells which kind of part it is. Returns 0, or -1 with err. */
static int summarise_part(struct summary *summary, const char *folder, struct error *err) {
  static const char *const names[] = {"adapter_model", "model", "diffusion_pytorch_model"};
  struct safetensors *files = NULL;
  int result = -1;
  for (size_t i = 0; i < sizeof names / sizeof *names && result; i++)
    result = safetensors_open(&files, folder, names[i], err);
  result = result ? result : summarise_files(summary, files, err);
  safetensors_close(&files);
  return result;
}

static int summarise_model(struct summary *summary, const char *folder, struct error *err) {
  struct checkpoint *checkpoint = NULL;
  if (checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, err))
    return -1;
  snprintf(summary->kind, sizeof summary->kind, "%s", checkpoint_family(checkpoint));
  summary->bytes = checkpoint_bytes(checkpoint);
  checkpoint_close(&checkpoint);
  return 0;
}

static int summarise(struct summary *summary, const struct catalog_entry *entry, struct error *err) {
  if (entry->unfinished)
    return error_set(err, STATUS_MODEL, "not all there yet; `reverie fetch %s` goes on with it", entry->name);
  if (entry->file)
    return summarise_file(summary, entry->path, err);
  if (has_file(entry->path, "model_index.json"))
    return summarise_model(summary, entry->path, err);
  return summarise_part(summary, entry->path, err);
}

static void print_entry(FILE *out, const struct catalog_entry *entry) {
  struct summary summary;
  struct error err;
  fprintf(out, "  %-*s ", NAME_WIDTH, text_quote(entry->name).text);
  if (summarise(&summary, entry, &err)) {
    fprintf(out, "cannot be used: %s\n", err.message);
    return;
  }
  bool small = summary.bytes < 1000000000;
  fprintf(out, "%-*s %7.1f %s  ", KIND_WIDTH, summary.kind, (double)summary.bytes * (small ? 1e-6 : 1e-9),
          small ? "MB" : "GB");
  text_put(out, entry->path);
  fputc('\n', out);
}

int inventory_print(FILE *out, struct error *err) {
  struct catalog catalog;
  int result = catalog_read(&catalog, err);
  for (int i = 0; !result && i < catalog.count; i++)
    print_entry(out, &catalog.entry[i]);
  if (!result && !catalog.count) {
    fputs("  none in ", out);
    text_put(out, *catalog.models ? catalog.models : "~/.local/share");
    fputs(" or ", out);
    text_put(out, *catalog.cache ? catalog.cache : "~/.cache");
    fputs("; `reverie fetch ORG/NAME` gets one\n", out);
  }
  catalog_free(&catalog);
  return result;
}
