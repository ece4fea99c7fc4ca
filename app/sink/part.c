#include "app/sink/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/job/manifest.h"
#include "app/platform/app_platform.h"
#include "app/sink/target.h"
#include "app/source/protocols.h"
#include "unet/base/platform.h"

/* NAMES: number of names that are tried: OUT.part, OUT.part2 and so on. LOCK_LOOKS: number of attempts to lock the
 * names OUT and OUT.json, LOCK_LOOK_MS ms apart, if another process holds the lock. */
enum { NAMES = 99, LOCK_LOOKS = 1000, LOCK_LOOK_MS = 10 };

/* Several unfinished files of one output may exist, under numbered names. Stores the n-th such name (from 1) for the
 * output `path`, and the name of the manifest beside it. Returns false if a name is too long. */
static bool name_part(char name[PATH_MAX], char manifest[PATH_MAX], const char *path, int n) {
  char number[12] = "";
  if (n > 1)
    snprintf(number, sizeof number, "%d", n);
  return snprintf(name, PATH_MAX, "%s.part%s", path, number) < PATH_MAX &&
         snprintf(manifest, PATH_MAX, "%s.json", name) < PATH_MAX;
}

bool part_is_for(const struct target *target) {
  struct platform_entry entry;
  /* FFmpeg's muxer of this container opens OUT a second time, by name, so the output cannot be written as OUT.part */
  bool reopened = !strcmp(target->container->name, "film_cpk");
  if (target->stream || reopened || target->container->flags & AVFMT_NOFILE || !protocols_is_file(target->url))
    return false;
  return platform_look(&entry, file_path(target->url)) || entry.kind == ENTRY_FILE;
}

/* True if an earlier render of this user has left an unfinished output file `name` with its manifest, and no process
 * writes them now. */
static bool is_left(const char *name, const char *manifest) {
  return platform_is_abandoned(name) && platform_is_abandoned(manifest) && manifest_is(manifest);
}

bool part_find(struct part_left *left, const char *path) {
  char *plain = platform_follow_links(path);
  bool found = false;
  for (int n = 1; plain && n <= NAMES && !found; n++)
    found = name_part(left->name, left->manifest, plain, n) && is_left(left->name, left->manifest);
  free(plain);
  return found;
}

bool part_claim(struct part_claim *claim, struct part_left *left, const char *path) {
  *claim = (struct part_claim){0};
  while (!claim->held && part_find(left, path)) {
    claim->descriptor = platform_lock_abandoned(left->name);
    claim->held = claim->descriptor >= 0;
  }
  return claim->held;
}

void part_unclaim(struct part_claim *claim) {
  if (claim->held)
    platform_close_descriptor(claim->descriptor);
  *claim = (struct part_claim){0};
}

void part_forget(const struct part_left *left) {
  platform_remove(left->name);
  platform_remove(left->manifest);
}

void part_forget_all(const char *path) {
  char *plain = platform_follow_links(path);
  struct part_left left;
  for (int n = 1; plain && n <= NAMES; n++)
    if (name_part(left.name, left.manifest, plain, n) && is_left(left.name, left.manifest))
      part_forget(&left);
  free(plain);
}

/* Creates the unfinished file and its manifest, or neither of them. Returns 0, or -1 with errno. */
static int make_files(struct part *part, FILE **manifest) {
  part->descriptor = platform_make_new_locked(part->name);
  if (part->descriptor < 0)
    return -1;
  *manifest = platform_stream_new(part->manifest);
  if (*manifest)
    return 0;
  int reason = errno;
  platform_remove(part->name);
  platform_close_descriptor(part->descriptor);
  errno = reason;
  return -1;
}

int part_make(struct part *part, const char *path, bool replace, FILE **manifest, struct error *err) {
  *part = (struct part){.path = platform_follow_links(path), .replace = replace};
  int failed = -1;
  errno = part->path ? EEXIST : errno;
  for (int n = 1; failed && errno == EEXIST && n <= NAMES; n++) {
    if (!name_part(part->name, part->manifest, part->path, n))
      errno = ENAMETOOLONG;
    else
      failed = make_files(part, manifest);
  }
  if (failed) {
    error_set(err, STATUS_OUTPUT, "%s: the file %s, which it is until it is whole, cannot be made: %s", path,
              part->name, platform_why_unwritten(errno));
    free(part->path);
    *part = (struct part){0};
    return -1;
  }
  if (platform_is_file(part->path))
    /* OUT.part gets owner and mode of the existing file OUT, which it will replace; if that is not permitted, it keeps
     * the owner and mode of a new file */
    platform_make_like(part->descriptor, part->path);
  platform_name_open_file(part->descriptor, part->name, part->url, sizeof part->url);
  return 0;
}

/* True if a file of this name exists that is no manifest, so that no manifest may be written there. */
static bool is_taken(const char *manifest) {
  struct platform_entry entry;
  return !platform_look(&entry, manifest) && !manifest_is(manifest);
}

/* Creates and locks the file OUT.lock. As long as a process holds this lock, no other one renames files to OUT and
 * OUT.json. Waits while another process holds the lock. Returns a descriptor, or -1 with errno. */
static int lock_names(char lock[PATH_MAX], const char *path) {
  int descriptor = -1;
  errno = ENAMETOOLONG;
  bool fits = snprintf(lock, PATH_MAX, "%s.lock", path) < PATH_MAX;
  for (int i = 0; fits && i < LOCK_LOOKS && (descriptor = platform_open_locked(lock)) < 0 && errno == EWOULDBLOCK; i++)
    platform_sleep_ns(LOCK_LOOK_MS * INT64_C(1000000));
  return descriptor;
}

static int name_file(const struct part *part) {
  return part->replace ? platform_replace(part->name, part->path) : platform_move_new(part->name, part->path);
}

/* Renames the manifest to OUT.json and the unfinished file to OUT. If OUT exists and may not be replaced, both keep
 * their names, and OUT.json is not changed, because it describes that OUT. The caller holds the lock of lock_names.
 * Returns 0, or -1 with errno. */
static int name_both(const struct part *part, const char *manifest) {
  struct platform_entry there;
  if (!part->replace && !platform_look(&there, part->path)) {
    errno = EEXIST;
    return -1;
  }
  if (platform_replace(part->manifest, manifest))
    return -1;
  if (!name_file(part))
    return 0;
  int reason = errno;
  platform_replace(manifest, part->manifest);
  errno = reason;
  return -1;
}

/* Renames the manifest to OUT.json and the unfinished file to OUT (name_both). Holds the lock of lock_names meanwhile,
 * so that no other process renames files to the same OUT. Returns 0, or -1 with errno. */
static int name_pair(const struct part *part, const char *manifest) {
  char lock[PATH_MAX];
  int descriptor = lock_names(lock, part->path);
  if (descriptor < 0)
    return -1;
  int status = name_both(part, manifest), reason = errno;
  platform_remove(lock);
  platform_close_descriptor(descriptor);
  errno = reason;
  return status;
}

int part_take_over(struct part *part, bool keep, struct error *err) {
  char manifest[PATH_MAX];
  bool fits = snprintf(manifest, sizeof manifest, "%s.json", part->path) < (int)sizeof manifest;
  if (keep && (!fits || is_taken(manifest)))
    return error_set(err, STATUS_OUTPUT, "%s: its manifest cannot be named %s; it is whole under the name %s",
                     part->path, fits ? manifest : "so, and .json", part->name);
  if (keep ? name_pair(part, manifest) : name_file(part))
    return error_set(err, STATUS_OUTPUT, "%s: %s; it is whole under the name %s", part->path,
                     errno == EEXIST ? "has been made by something else meanwhile" : strerror(errno), part->name);
  if (!keep)
    platform_remove(part->manifest);
  part_close(part);
  return 0;
}

void part_replace(struct part *part, const struct part_left *left) {
  /* If the process is killed between the two renamings, the new unfinished file is left with the old file's manifest.
   * That is valid, because the new file contains all pictures that the old manifest lists. */
  if (platform_replace(part->name, left->name))
    return;
  strcpy(part->name, left->name);
  if (!platform_replace(part->manifest, left->manifest))
    strcpy(part->manifest, left->manifest);
  part_forget_all(part->path);
}

void part_drop(struct part *part) {
  if (part->path) {
    platform_remove(part->name);
    platform_remove(part->manifest);
  }
  part_close(part);
}

void part_close(struct part *part) {
  if (part->path)
    platform_close_descriptor(part->descriptor);
  free(part->path);
  *part = (struct part){0};
}
