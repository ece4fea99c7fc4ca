/* Groups a file's tensors by module: reads all names, sorts them, checks that each group is complete, and counts what
 * is left over. */
#include "unet/adapter/adapter_impl.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"

struct entry {
  const struct safetensor *tensor;
  struct adapter_key key;
};

/* Compares two tensors for sorting: by the module that they change, which is the name without its end. */
static int compare_entries(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  size_t shorter = x->key.module < y->key.module ? x->key.module : y->key.module;
  int order = memcmp(x->tensor->name, y->tensor->name, shorter);
  return order ? order : (x->key.module > y->key.module) - (x->key.module < y->key.module);
}

static bool same_module(const struct entry *a, const struct entry *b) {
  return compare_entries(a, b) == 0;
}

/* --- the tensors that a file has for one module (layer) of the model --- */

static int refuse(const struct entry *entry, const char *what, struct error *err) {
  char name[256];
  snprintf(name, sizeof name, "%.*s", (int)entry->key.module, entry->tensor->name);
  return error_set(err, STATUS_MODEL, "%s: the tensors of %s %s", entry->tensor->file->path, text_quote(name).text,
                   what);
}

static int add_piece(struct group *group, const struct entry *entry, struct error *err) {
  enum family family = entry->key.family;
  bool difference = family == FAMILY_FULL || family == FAMILY_ANY;
  if (group->piece[entry->key.piece])
    return refuse(entry, "are there twice", err);
  if (!difference && group->family != FAMILY_FULL && group->family != family)
    return refuse(entry, "are of two kinds", err);
  if (!difference)
    group->family = family;
  group->piece[entry->key.piece] = entry->tensor;
  return 0;
}

static bool has(const struct group *group, enum piece piece) {
  return group->piece[piece] != NULL;
}

static bool is_whole(const struct group *g) {
  bool w1 = has(g, PIECE_W1_A) && has(g, PIECE_W1_B), w2 = has(g, PIECE_W2_A) && has(g, PIECE_W2_B);
  bool rest = !has(g, PIECE_DIFF);
  switch (g->family) {
  case FAMILY_LORA:
    return rest && has(g, PIECE_DOWN) && has(g, PIECE_UP);
  case FAMILY_LOHA:
    return rest && w1 && w2 && has(g, PIECE_T1) == has(g, PIECE_T2);
  case FAMILY_LOKR:
    return rest && has(g, PIECE_W1) != w1 && has(g, PIECE_W2) != w2 && (w2 || !has(g, PIECE_T2));
  default:
    return (has(g, PIECE_DIFF) || has(g, PIECE_DIFF_BIAS)) && !has(g, PIECE_MAGNITUDE);
  }
}

/* Fails because a group of tensors for one module lacks a tensor. The message lists the tensors that are there. */
static int refuse_part(const struct group *group, const struct entry *entry, struct error *err) {
  static const char *const names[PIECES] = {"the factor of the input",
                                            "the factor of the output",
                                            "the middle factor",
                                            "the scale",
                                            "magnitudes",
                                            "the output's bias",
                                            "w1_a",
                                            "w1_b",
                                            "w2_a",
                                            "w2_b",
                                            "t1",
                                            "t2",
                                            "w1",
                                            "w2",
                                            "a difference",
                                            "a difference of the bias"};
  char list[200] = "";
  size_t used = 0;
  for (int i = 0; i < PIECES && used < sizeof list; i++)
    if (group->piece[i])
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", names[i]);
  char what[320];
  snprintf(what, sizeof what,
           "are not complete: there is %s, and nothing that goes with it; save or fetch the file anew", list);
  return refuse(entry, what, err);
}

static int check_usable(const struct group *group, const struct entry *entry, struct error *err) {
  for (int i = 0; i < PIECES; i++) {
    const struct safetensor *t = group->piece[i];
    if (t && !factor_is_readable(t) && i != PIECE_ALPHA)
      return error_set(err, STATUS_MODEL,
                       "%s: tensor %s: type %s with %d dimensions is not supported (F32, F16, BF16 or F64 is)",
                       t->file->path, text_quote(t->name).text, text_quote(t->type).text, t->rank);
  }
  return is_whole(group) ? 0 : refuse_part(group, entry, err);
}

/* Returns true if the group of tensors for a module has only an alpha, which has no effect. Some scripts write an alpha
 * for every layer, even for those that were not trained. */
static bool is_alpha_alone(const struct group *group) {
  for (int i = 0; i < PIECES; i++)
    if (i != PIECE_ALPHA && group->piece[i])
      return false;
  return true;
}

/* --- grouping all tensors of an adapter's file --- */

static void leave_out(struct groups *groups, const struct safetensor *t) {
  if (!groups->left_out++)
    groups->first_left_out = t->name;
}

static int read_entries(struct groups *groups, const struct safetensors *files, struct entry *entries, size_t *count,
                        struct error *err) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    const char *refused = adapter_key_refused(t->name);
    if (adapter_key_is_embedding(t->name)) {
      if (!groups->embeddings++)
        groups->first_embedding = t->name;
      continue;
    }
    if (refused)
      return error_set(err, STATUS_MODEL,
                       "%s: is %s, by its tensor %s: that is not supported (LoRA, LoCon, LoHa, LoKr and DoRA are)",
                       safetensors_path(files), refused, text_quote(t->name).text);
    entries[*count].tensor = t;
    if (adapter_key_read(t->name, &entries[*count].key))
      ++*count;
    else if (groups->strange++ == 0)
      groups->first_strange = t->name;
  }
  qsort(entries, *count, sizeof *entries, compare_entries);
  return 0;
}

static int make_groups(struct groups *groups, const struct entry *entries, size_t count, struct error *err) {
  groups->list = calloc(count + 1, sizeof *groups->list);
  if (!groups->list)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (size_t i = 0, next; i < count; i = next) {
    struct group *group = &groups->list[groups->count++];
    *group = (struct group){.key = entries[i].key, .family = FAMILY_FULL, .module = -1};
    for (next = i; next < count && same_module(&entries[i], &entries[next]); next++)
      if (add_piece(group, &entries[next], err))
        return -1;
    if (is_alpha_alone(group)) {
      leave_out(groups, entries[i].tensor);
      groups->count--;
    } else if (check_usable(group, &entries[i], err))
      return -1;
  }
  return 0;
}

int groups_init(struct groups *groups, const struct safetensors *files, struct error *err) {
  *groups = (struct groups){.said = base_said(files)};
  size_t count = 0;
  struct entry *entries = malloc((safetensors_count(files) + 1) * sizeof *entries);
  int result = entries ? read_entries(groups, files, entries, &count, err)
                       : error_set(err, STATUS_FAILED, "%s: out of memory", safetensors_path(files));
  result = result ? result : make_groups(groups, entries, count, err);
  free(entries);
  return result;
}

void groups_free(struct groups *groups) {
  free(groups->list);
  *groups = (struct groups){0};
}

/* --- summary of what an adapter's file changes --- */

/* Returns the part of the model to which a module belongs. If the beginning of the name does not tell, "encoder_layers"
 * means the text encoder, anything else the U-Net. */
static enum part guess_part(const struct adapter_key *key) {
  char name[512];
  if (key->part != PART_ANY)
    return key->part;
  adapter_key_flatten(key, name, sizeof name);
  return strstr(name, "encoder_layers") ? PART_TEXT : PART_UNET;
}

void groups_summarise(const struct groups *groups, struct adapter_summary *summary) {
  *summary = (struct adapter_summary){.base = groups_base(groups)};
  for (int i = 0; i < groups->count; i++) {
    const struct group *g = &groups->list[i];
    int rank = group_rank(g);
    summary->modules[guess_part(&g->key)]++;
    summary->kinds[g->family]++;
    summary->middle += has(g, PIECE_MID) || has(g, PIECE_T2);
    summary->magnitude += has(g, PIECE_MAGNITUDE);
    summary->scaleless += group_is_scaleless(g);
    if (rank && (!summary->rank_min || rank < summary->rank_min))
      summary->rank_min = rank;
    if (rank > summary->rank_max)
      summary->rank_max = rank;
  }
}
