#include <stdlib.h>
#include <string.h>

#include "unet/adapter/adapter_impl.h"
#include "unet/base/text.h"

static const char *const part_names[PARTS] = {"the U-Net", "the text encoder", "the second text encoder", ""};

static const char *kind_name(const struct adapter_summary *s, enum family family) {
  switch (family) {
  case FAMILY_LORA:
    return s->middle ? "LoCon" : "LoRA";
  case FAMILY_LOHA:
    return "LoHa";
  case FAMILY_LOKR:
    return "LoKr";
  default:
    return "differences";
  }
}

static void append(char *text, size_t size, const char *more) {
  size_t used = strlen(text);
  snprintf(text + used, size - used, "%s", more);
}

static void append_kinds(const struct adapter_summary *s, char *text, size_t size) {
  for (int i = 0; i < FAMILY_ANY; i++)
    if (s->kinds[i]) {
      append(text, size, *text ? " and " : "");
      append(text, size, kind_name(s, (enum family)i));
    }
  append(text, size, s->magnitude ? " with magnitudes (DoRA)" : "");
}

static void append_ranks(const struct adapter_summary *s, char *text, size_t size) {
  char ranks[64] = "";
  if (s->rank_max && s->rank_min == s->rank_max)
    snprintf(ranks, sizeof ranks, " of rank %d", s->rank_max);
  else if (s->rank_max)
    snprintf(ranks, sizeof ranks, " of ranks %d to %d", s->rank_min, s->rank_max);
  append(text, size, ranks);
}

void adapter_describe(const struct adapter_summary *s, char *text, size_t size) {
  char part[96];
  *text = 0;
  append_kinds(s, text, size);
  append_ranks(s, text, size);
  for (int i = 0; i < PART_ANY; i++)
    if (s->modules[i]) {
      snprintf(part, sizeof part, ", %d layer%s of %s", s->modules[i], s->modules[i] == 1 ? "" : "s", part_names[i]);
      append(text, size, part);
    }
}

bool adapter_recognise(const struct safetensors *files) {
  struct adapter_key key;
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const char *name = safetensors_at(files, i)->name;
    if (adapter_key_refused(name) || adapter_key_read(name, &key))
      return true;
  }
  return false;
}

static void print_metadata(const struct safetensors *files, const char *field, const char *what, FILE *out) {
  const char *value = safetensors_metadata(files, field);
  if (!value || !*value)
    return;
  fprintf(out, "  %s: ", what);
  text_put(out, text_quote(value).text);
  fputc('\n', out);
}

static void print_rest(int count, const char *what, const char *first, FILE *out) {
  if (!count)
    return;
  fprintf(out, "  %d tensor%s %s, the first is ", count, count == 1 ? "" : "s", what);
  text_put(out, first);
  fputc('\n', out);
}

int adapter_print(const struct safetensors *files, FILE *out, struct error *err) {
  struct groups groups;
  struct adapter_summary summary;
  char text[512];
  if (groups_init(&groups, files, err)) {
    groups_free(&groups);
    return -1;
  }
  groups_summarise(&groups, &summary);
  adapter_describe(&summary, text, sizeof text);
  fprintf(out, "adapter: %s\n", text);
  fprintf(out, "  base family: %s\n", base_name(summary.base) ? base_name(summary.base) : "not to be seen");
  if (summary.scaleless)
    fprintf(out, "  alpha: none for %d layer%s, where the rank is taken for it (unless adapter_config.json says one)\n",
            summary.scaleless, summary.scaleless == 1 ? "" : "s");
  print_metadata(files, "ss_base_model_version", "made for", out);
  print_metadata(files, "modelspec.architecture", "architecture", out);
  print_metadata(files, "modelspec.title", "title", out);
  fprintf(out, "  %zu tensors, %.1f MB\n", safetensors_count(files), (double)safetensors_bytes(files) * 1e-6);
  print_rest(groups.strange, "of no kind that is known here", groups.first_strange, out);
  print_rest(groups.left_out, "with scales alone, of layers that the file does not change", groups.first_left_out, out);
  print_rest(groups.embeddings, "of embeddings, which are not supported and left out", groups.first_embedding, out);
  groups_free(&groups);
  return 0;
}
