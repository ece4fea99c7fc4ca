/* Lists the files of a repository on Hugging Face's hub. */
#ifndef APP_MODELS_REPOSITORY_H
#define APP_MODELS_REPOSITORY_H

#include "app/models/digest.h"
#include "app/models/http.h"

enum { REPOSITORY_NAME_MAX = 256, REPOSITORY_COMMIT_MAX = 65, REPOSITORY_PATH_MAX = 512 };

/* The parts of "ORG/NAME@REVISION". */
struct repository {
  char name[REPOSITORY_NAME_MAX], revision[REPOSITORY_NAME_MAX]; /* revision: "main" if none is named */
};
/* Splits text into its parts. Returns 0, or -1 with err of STATUS_USAGE. */
int repository_read_name(struct repository *repository, const char *text, struct error *err);

struct repository_file {
  char *path;            /* with '/'; it never leads out of the repository's folder */
  int64_t size;          /* size in bytes; -1: unknown */
  char hash[DIGEST_MAX]; /* SHA-256 of the file, or with `git` the name that git gives it; "": unknown */
  bool git;
};

struct repository_list {
  struct repository_file *file; /* sorted by path */
  int count;
  /* number of files that are left out because their paths could lead out of the folder or are not valid on all
   * systems */
  int unfit;
  char commit[REPOSITORY_COMMIT_MAX]; /* the commit that the revision stands for */
};

/* Asks the hub for a repository's files. Returns 0, or -1 with err of STATUS_MODEL: there is no such repository or
 * revision, its terms must be accepted first, or the answer is invalid. repository_list_free is due in both cases. */
int repository_list(struct repository_list *list, struct http *http, const struct http_origin *origin,
                    const struct repository *repository, const atomic_bool *stop, struct error *err);
/* Frees the list. Accepts zeros. */
void repository_list_free(struct repository_list *list);

/* Writes the URL of a file of the list. */
void repository_file_url(char url[HTTP_URL_MAX], const struct http_origin *origin, const struct repository *repository,
                         const char *commit, const char *path);
/* Fills err for an answer whose status is not 200 or 206, and returns -1. */
int repository_refuse(const struct http_origin *origin, const struct repository *repository,
                      const struct http_answer *answer, const char *what, struct error *err);

/* Parses the hub's JSON answer into the list. Declared here for the fuzzer. Returns 0, or -1 with err set. */
int repository_parse(struct repository_list *list, const char *text, const char *name, struct error *err);

#endif
