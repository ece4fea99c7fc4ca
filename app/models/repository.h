/* Lists the files of a repository on Hugging Face's hub. */
#ifndef APP_MODELS_REPOSITORY_H
#define APP_MODELS_REPOSITORY_H

#include "app/models/digest.h"
#include "app/models/http.h"

enum { REPOSITORY_NAME_MAX = 256, REPOSITORY_COMMIT_MAX = 65, REPOSITORY_PATH_MAX = 512 };

/* A repository on Hugging Face's hub and its revision, from a name of the form "ORG/NAME@REVISION". */
struct repository {
  /* name: ORG/NAME; revision: "main" if the user names none */
  char name[REPOSITORY_NAME_MAX], revision[REPOSITORY_NAME_MAX];
};
/* Splits text of the form ORG/NAME@REVISION into its parts. Returns 0, or -1 with err of STATUS_USAGE. */
int repository_read_name(struct repository *repository, const char *text, struct error *err);

struct repository_file {
  char *path;            /* the file's path, with '/' between names; it never leads out of the repository's folder */
  int64_t size;          /* the file's size in bytes; -1: unknown */
  char hash[DIGEST_MAX]; /* SHA-256 of the file or, if `git` is true, git's own checksum (SHA-1); "": unknown */
  bool git;
};

struct repository_list {
  struct repository_file *file; /* the files, sorted by path */
  int count;
  /* number of files that are left out because their paths could lead out of the folder or are not valid on all systems,
   * or because there are too many files */
  int unfit;
  char commit[REPOSITORY_COMMIT_MAX]; /* the hash of the commit that the repository's revision stands for */
};

/* Asks Hugging Face's hub for a repository's files. Returns 0, or -1 with err of STATUS_MODEL: there is no such
 * repository or revision, its terms must be accepted first, or the answer is invalid. The caller calls
 * repository_list_free in both cases. */
int repository_list(struct repository_list *list, struct http *http, const struct http_origin *origin,
                    const struct repository *repository, const atomic_bool *stop, struct error *err);
/* frees the list; accepts a zeroed struct */
void repository_list_free(struct repository_list *list);

/* Writes the URL at which Hugging Face's hub has a file of the repository. */
void repository_file_url(char url[HTTP_URL_MAX], const struct http_origin *origin, const struct repository *repository,
                         const char *commit, const char *path);
/* Fills err for an answer of Hugging Face's hub whose status is not 200 or 206, and returns -1. what: words for the
 * thing that was asked for, which the message contains. */
int repository_refuse(const struct http_origin *origin, const struct repository *repository,
                      const struct http_answer *answer, const char *what, struct error *err);

/* Parses the JSON answer of Hugging Face's hub with a repository's files into the list. The function is declared here
 * so that the fuzzer can call it. Returns 0, or -1 with err set. */
int repository_parse(struct repository_list *list, const char *text, const char *name, struct error *err);

#endif
