#include "app/models/download.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "unet/base/text.h"

/* TRIES_MAX: number of tries of a download. PAUSE_MS: the pauses between them are 2, 4 and 8 times as long, in ms.
 * SLICE_MS: `stop` is checked this often in a pause. If a try has brought bytes, the next one follows without a pause
 * and counts as the first. MARK: number of digits of the checksum in the name of a .part file. */
enum { TRIES_MAX = 4, PAUSE_MS = 250, SLICE_MS = 50, MARK = 8 };

/* The state of the download of one file. */
struct arrival {
  const struct download *download;
  const struct repository_file *file;
  char path[PATHS_MAX], part[PATHS_MAX];
  FILE *out;
  struct digest digest;
  int64_t bytes; /* number of bytes that the .part file has so far */
  bool resumed;  /* true: the .part file contained bytes from an earlier run */
};

static int name_file(const struct download *download, const struct repository_file *file, char path[PATHS_MAX],
                     struct error *err) {
  if (snprintf(path, PATHS_MAX, "%s/%s", download->folder, file->path) < PATHS_MAX)
    return 0;
  return error_set(err, STATUS_OUTPUT, "%s: its name is too long here", text_quote(file->path).text);
}

static int name_part(const struct download *download, const struct repository_file *file, char part[PATHS_MAX],
                     struct error *err) {
  if (snprintf(part, PATHS_MAX, "%s/%s.%.*s.part", download->folder, file->path, MARK, file->hash) < PATHS_MAX)
    return 0;
  return error_set(err, STATUS_OUTPUT, "%s: its name is too long here", text_quote(file->path).text);
}

static int refuse_disk(const char *path, struct error *err) {
  return error_set(err, STATUS_OUTPUT, "%s: %s", path, strerror(errno));
}

/* --- finding out which files of a model the folder has already --- */

int download_is_there(const struct download *download, const struct repository_file *file, struct error *err) {
  char path[PATHS_MAX], hash[DIGEST_MAX] = "";
  struct platform_entry entry;
  struct digest digest = {0};
  if (name_file(download, file, path, err))
    return -1;
  if (platform_look(&entry, path) || entry.kind != ENTRY_FILE || entry.size != file->size)
    return 0;
  if (digest_start(&digest, file->git, file->size))
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  bool whole = digest_add_file(&digest, path, download->stop) == file->size;
  digest_text(&digest, hash);
  digest_free(&digest);
  if (atomic_load(download->stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  return whole && !strcmp(hash, file->hash);
}

int64_t download_part_bytes(const struct download *download, const struct repository_file *file) {
  char part[PATHS_MAX];
  struct platform_entry entry;
  return name_part(download, file, part, NULL) || platform_look(&entry, part) || entry.kind != ENTRY_FILE ? 0
                                                                                                          : entry.size;
}

/* Removes the file `name` if it is a .part file of another version of the file that is being downloaded. */
static void remove_old_part(void *opaque, const char *name) {
  const struct arrival *arrival = opaque;
  const char *own = strrchr(arrival->part, '/') + 1;
  size_t size = strlen(own), length = size - MARK - strlen(".part");
  char path[PATHS_MAX];
  bool part = strlen(name) == size && !strncmp(name, own, length) && !strcmp(name + size - 5, ".part");
  if (part && strcmp(name, own) != 0 &&
      snprintf(path, sizeof path, "%.*s%s", (int)(own - arrival->part), arrival->part, name) < (int)sizeof path)
    platform_remove(path);
}

static int make_folder(struct arrival *arrival, struct error *err) {
  char *slash = strrchr(arrival->path, '/');
  *slash = 0;
  bool made = paths_make(arrival->path);
  int result = made ? 0 : error_set(err, STATUS_OUTPUT, "%s: %s", arrival->path, strerror(errno));
  if (made)
    platform_list(arrival->path, remove_old_part, arrival);
  *slash = '/';
  return result;
}

/* Opens the .part file, and adds the bytes that an earlier run has stored in it to the checksum. Returns 0, or -1 with
 * err. */
static int open_part(struct arrival *arrival, struct error *err) {
  const struct download *download = arrival->download;
  if (digest_start(&arrival->digest, arrival->file->git, arrival->file->size))
    return error_set(err, STATUS_FAILED, "%s: out of memory", arrival->path);
  arrival->out = platform_open_own(arrival->part);
  if (!arrival->out && errno == EEXIST)
    return error_set(err, STATUS_OUTPUT,
                     "%s: a link, a pipe or the like stands where the file is to be written: remove it", arrival->part);
  if (!arrival->out)
    return refuse_disk(arrival->part, err);
  arrival->bytes = digest_add_file(&arrival->digest, arrival->part, download->stop);
  arrival->resumed = arrival->bytes > 0;
  if (arrival->bytes >= 0)
    return 0;
  return atomic_load(download->stop) ? error_set(err, STATUS_INTERRUPTED, "interrupted")
                                     : refuse_disk(arrival->part, err);
}

/* --- getting the bytes from Hugging Face's hub --- */

/* Empties the .part file and restarts the checksum. Returns 0, or -1 with err. */
static int start_anew(struct arrival *arrival, struct error *err) {
  arrival->bytes = 0;
  arrival->resumed = false;
  if (fflush(arrival->out) || platform_cut(arrival->part, 0) ||
      digest_start(&arrival->digest, arrival->file->git, arrival->file->size))
    return refuse_disk(arrival->part, err);
  return 0;
}

/* Called by http_get before the first byte of an answer. Checks that the checksum on Hugging Face's hub is still the
 * same, that the length is right, and that the answer begins at the byte that was asked for. If it begins at byte 0
 * instead, the file is downloaded from the beginning. Returns 0, or -1 with err. */
static int start(void *opaque, const struct http_answer *answer, struct error *err) {
  struct arrival *arrival = opaque;
  const struct repository_file *file = arrival->file;
  if (!file->git && *answer->linked_etag && strcmp(answer->linked_etag, file->hash) != 0)
    return error_set(err, STATUS_MODEL,
                     "%s: has changed on the hub meanwhile; the same command fetches it as it is now",
                     text_quote(file->path).text);
  if (answer->total >= 0 && answer->total != file->size)
    return error_set(err, STATUS_MODEL, "%s: has %lld bytes, and the hub's list says %lld", text_quote(file->path).text,
                     (long long)answer->total, (long long)file->size);
  if (answer->from == arrival->bytes)
    return 0;
  if (answer->from)
    return error_set(err, STATUS_MODEL, "%s: the server sends other bytes than were asked for",
                     text_quote(file->path).text);
  return start_anew(arrival, err);
}

static int take(void *opaque, const void *bytes, size_t size, struct error *err) {
  struct arrival *arrival = opaque;
  const struct download *download = arrival->download;
  if ((int64_t)size > arrival->file->size - arrival->bytes)
    return error_set(err, STATUS_MODEL, "%s: is longer than the hub's list says", text_quote(arrival->file->path).text);
  if (fwrite(bytes, 1, size, arrival->out) != size)
    return refuse_disk(arrival->part, err);
  digest_add(&arrival->digest, bytes, size);
  arrival->bytes += (int64_t)size;
  download->progress(download->opaque, arrival->bytes);
  return 0;
}

static int refuse_status(const struct arrival *arrival, const struct http_answer *answer, struct error *err) {
  const struct download *download = arrival->download;
  return repository_refuse(download->origin, download->repository, answer, arrival->file->path, err);
}

/* Requests the bytes of the file that are missing. Returns HTTP_DONE if all bytes have arrived. */
static enum http_result get(struct arrival *arrival, struct error *err) {
  const struct download *download = arrival->download;
  char url[HTTP_URL_MAX];
  struct http_answer answer;
  repository_file_url(url, download->origin, download->repository, download->commit, arrival->file->path);
  const struct http_request request = {
      .url = url, .from = arrival->bytes, .start = start, .take = take, .opaque = arrival, .stop = download->stop};
  enum http_result result = http_get(download->http, &request, &answer, err);
  if (fflush(arrival->out) && result != HTTP_FAILED) {
    refuse_disk(arrival->part, err);
    return HTTP_FAILED;
  }
  if (result != HTTP_DONE)
    return result;
  if (answer.status != 200 && answer.status != 206) {
    refuse_status(arrival, &answer, err);
    return answer.status >= 500 || answer.status == 429 ? HTTP_CUT : HTTP_FAILED;
  }
  if (arrival->bytes == arrival->file->size)
    return HTTP_DONE;
  error_set(err, STATUS_MODEL, "%s: ends after %lld of %lld bytes", text_quote(arrival->file->path).text,
            (long long)arrival->bytes, (long long)arrival->file->size);
  return HTTP_CUT;
}

/* Sleeps for ms milliseconds. Returns false if *stop became true meanwhile. */
static bool pause_ms(int ms, const atomic_bool *stop) {
  for (; ms > 0 && !atomic_load(stop); ms -= SLICE_MS)
    platform_sleep_ns(SLICE_MS * INT64_C(1000000));
  return !atomic_load(stop);
}

static int get_all(struct arrival *arrival, struct error *err) {
  for (int tries = 0; arrival->bytes < arrival->file->size || !arrival->file->size;) {
    int64_t before = arrival->bytes;
    enum http_result result = get(arrival, err);
    if (result != HTTP_CUT)
      return result == HTTP_DONE ? 0 : -1;
    tries = arrival->bytes > before ? 0 : tries + 1;
    if (tries == TRIES_MAX)
      return -1;
    if (!pause_ms(tries ? PAUSE_MS << tries : 0, arrival->download->stop))
      return error_set(err, STATUS_INTERRUPTED, "interrupted");
  }
  return 0;
}

static bool is_right(struct arrival *arrival) {
  char hash[DIGEST_MAX] = "";
  digest_text(&arrival->digest, hash);
  return !strcmp(hash, arrival->file->hash);
}

/* Downloads the file and checks its checksum. If the checksum is wrong and the first bytes are from an earlier run, the
 * file is downloaded once more from its first byte. Returns 0, or -1 with err. */
static int get_right(struct arrival *arrival, struct error *err) {
  for (;;) {
    if (arrival->bytes > arrival->file->size && start_anew(arrival, err))
      return -1;
    bool resumed = arrival->resumed;
    if (get_all(arrival, err))
      return -1;
    if (is_right(arrival))
      return 0;
    if (start_anew(arrival, err))
      return -1;
    if (!resumed)
      return error_set(
          err, STATUS_MODEL,
          "%s: its bytes do not have the hub's checksum: they were damaged on the way and are thrown away; "
          "try again",
          text_quote(arrival->file->path).text);
  }
}

static int keep(struct arrival *arrival, struct error *err) {
  int failed = platform_save(arrival->out);
  failed |= fclose(arrival->out);
  arrival->out = NULL;
  return failed || platform_replace(arrival->part, arrival->path) ? refuse_disk(arrival->path, err) : 0;
}

int download_file(const struct download *download, const struct repository_file *file, struct error *err) {
  struct arrival arrival = {.download = download, .file = file};
  if (name_file(download, file, arrival.path, err) || name_part(download, file, arrival.part, err) ||
      make_folder(&arrival, err))
    return -1;
  int result = open_part(&arrival, err) || get_right(&arrival, err) || keep(&arrival, err) ? -1 : 0;
  /* true: this process still has the .part file open, so the file belongs to it and may be removed below; false: the
   * file may belong to another process, or has its final name already */
  bool own = arrival.out;
  if (own)
    fclose(arrival.out);
  digest_free(&arrival.digest);
  if (result && own && !download_part_bytes(download, file))
    platform_remove(arrival.part);
  return result;
}
