/* What a repository of Hugging Face's hub holds. */
#ifndef APP_MODELS_REPOSITORY_H
#define APP_MODELS_REPOSITORY_H

#include "app/models/digest.h"
#include "app/models/http.h"

enum { REPOSITORY_NAME_MAX = 256, REPOSITORY_COMMIT_MAX = 65, REPOSITORY_PATH_MAX = 512 };

/* "ORG/NAME@REVISION" in its parts. */
struct repository {
  char name[REPOSITORY_NAME_MAX], revision[REPOSITORY_NAME_MAX]; /* "main" where none is named */
};
/* Errors are STATUS_USAGE. */
int repository_read_name(struct repository *repository, const char *text, struct error *err);

struct repository_file {
  char *path;            /* with '/'; leads nowhere else than into the folder of the repository */
  int64_t size;          /* -1: not said */
  char hash[DIGEST_MAX]; /* SHA-256, or of a file that git keeps itself its name there (git); "": not said */
  bool git;
};

struct repository_list {
  struct repository_file *file; /* sorted by path */
  int count;
  int unfit;                          /* names that are left out, for no file could be called so */
  char commit[REPOSITORY_COMMIT_MAX]; /* what the revision is */
};

/* Asks for a repository's files. repository_list_free must follow, also on failure. Errors are STATUS_MODEL: no such
 * repository or revision, one whose terms have to be accepted first, an answer that is none. */
int repository_list(struct repository_list *list, struct http *http, const struct http_origin *origin,
                    const struct repository *repository, const atomic_bool *stop, struct error *err);
void repository_list_free(struct repository_list *list);

/* Where a file of the list is. */
void repository_file_url(char url[HTTP_URL_MAX], const struct http_origin *origin, const struct repository *repository,
                         const char *commit, const char *path);
/* An answer that is not 200 or 206, in words. */
int repository_refuse(const struct http_origin *origin, const struct repository *repository,
                      const struct http_answer *answer, const char *what, struct error *err);

/* Reads the list from JSON; what repository_list uses, and the fuzzer. */
int repository_parse(struct repository_list *list, const char *text, const char *name, struct error *err);

#endif
