#include "unet/base/platform.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SECOND = 1000000000, MILLISECOND = 1000000, LOCK_TRIES = 200, LOCK_PAUSE_NS = 5 * MILLISECOND };
enum { READ_MOST = 1 << 30 };

/* --- converting file names to and from UTF-16, and Windows' errors to errno --- */

/* Returns a name in Windows' encoding, allocated; NULL with errno set if it is no UTF-8 or memory runs out. */
static wchar_t *wide_name(const char *path) {
  int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
  wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
  if (!wide) {
    errno = length > 0 ? ENOMEM : EINVAL;
    return NULL;
  }
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, length);
  return wide;
}

static char *utf8_name(const wchar_t *wide) {
  int length = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
  char *path = length > 0 ? malloc((size_t)length) : NULL;
  if (!path) {
    errno = length > 0 ? ENOMEM : EINVAL;
    return NULL;
  }
  WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, length, NULL, NULL);
  for (char *at = path; *at; at++)
    if (*at == '\\')
      *at = '/';
  return path;
}

/* Returns the errno that corresponds to the last error of a Windows function. */
static int reason(void) {
  switch (GetLastError()) {
  case ERROR_FILE_NOT_FOUND:
  case ERROR_PATH_NOT_FOUND:
  case ERROR_INVALID_NAME:
    return ENOENT;
  case ERROR_ACCESS_DENIED:
  case ERROR_SHARING_VIOLATION:
  case ERROR_LOCK_VIOLATION:
    return EACCES;
  case ERROR_FILE_EXISTS:
  case ERROR_ALREADY_EXISTS:
    return EEXIST;
  case ERROR_NOT_ENOUGH_MEMORY:
  case ERROR_OUTOFMEMORY:
  case ERROR_COMMITMENT_LIMIT:
    return ENOMEM;
  case ERROR_DISK_FULL:
  case ERROR_HANDLE_DISK_FULL:
    return ENOSPC;
  default:
    return EIO;
  }
}

/* --- opening, reading and replacing files --- */

int platform_open(struct platform_file *file, const char *path) {
  struct _stati64 about;
  wchar_t *wide = wide_name(path);
  *file = (struct platform_file){.descriptor = wide ? _wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT) : -1};
  free(wide);
  if (file->descriptor < 0)
    return -1;
  if (_fstati64(file->descriptor, &about)) {
    platform_close(file);
    return -1;
  }
  file->regular = (about.st_mode & _S_IFMT) == _S_IFREG;
  file->size = (uint64_t)about.st_size;
  return 0;
}

void platform_close(struct platform_file *file) {
  int before = errno;
  if (file->descriptor >= 0)
    _close(file->descriptor);
  file->descriptor = -1;
  errno = before;
}

int64_t platform_read(const struct platform_file *file, uint64_t offset, void *out, size_t size) {
  HANDLE handle = (HANDLE)_get_osfhandle(file->descriptor);
  size_t done = 0;
  while (done < size) {
    uint64_t at = offset + done;
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    DWORD got = 0, wanted = size - done < READ_MOST ? (DWORD)(size - done) : READ_MOST;
    if (!ReadFile(handle, (char *)out + done, wanted, &got, &place) && GetLastError() != ERROR_HANDLE_EOF) {
      errno = reason();
      return -1;
    }
    if (!got)
      break;
    done += got;
  }
  return (int64_t)done;
}

FILE *platform_stream(const char *path, const char *mode) {
  wchar_t *wide = wide_name(path), *wide_mode = wide_name(mode);
  FILE *file = wide && wide_mode ? _wfopen(wide, wide_mode) : NULL;
  free(wide);
  free(wide_mode);
  return file;
}

bool platform_exists(const char *path) {
  wchar_t *wide = wide_name(path);
  bool there = wide && !_waccess(wide, 0);
  free(wide);
  return there;
}

char *platform_real_path(const char *path) {
  static const wchar_t prefix[] = L"\\\\?\\";
  wchar_t *wide = wide_name(path);
  char *result = NULL;
  if (!wide)
    return NULL;
  HANDLE file = CreateFileW(wide, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                            FILE_FLAG_BACKUP_SEMANTICS, NULL); /* with this flag CreateFileW opens folders as well */
  free(wide);
  if (file == INVALID_HANDLE_VALUE) {
    errno = reason();
    return NULL;
  }
  DWORD length = GetFinalPathNameByHandleW(file, NULL, 0, 0);
  wchar_t *whole = length ? malloc((length + 1) * sizeof *whole) : NULL;
  if (whole && GetFinalPathNameByHandleW(file, whole, length + 1, 0))
    result = utf8_name(whole + (wcsncmp(whole, prefix, 4) ? 0 : 4));
  free(whole);
  CloseHandle(file);
  return result;
}

/* No access rights need to be set: a folder within a user's profile inherits them from the profile, so that only that
 * user can read it. */
int platform_make_folder(const char *path) {
  wchar_t *wide = wide_name(path);
  bool there = wide && (CreateDirectoryW(wide, NULL) || GetLastError() == ERROR_ALREADY_EXISTS);
  if (wide && !there)
    errno = reason();
  free(wide);
  return there ? 0 : -1;
}

FILE *platform_create(const char *path) {
  wchar_t *wide = wide_name(path);
  if (!wide)
    return NULL;
  _wunlink(wide);
  int descriptor = _wopen(wide, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
  FILE *file = descriptor < 0 ? NULL : _fdopen(descriptor, "wb");
  if (descriptor >= 0 && !file)
    _close(descriptor);
  free(wide);
  return file;
}

int platform_replace(const char *from, const char *to) {
  wchar_t *wide_from = wide_name(from), *wide_to = wide_name(to);
  bool done = false;
  if (wide_from && wide_to && !(done = MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING)))
    errno = reason();
  free(wide_from);
  free(wide_to);
  return done ? 0 : -1;
}

int platform_remove(const char *path) {
  wchar_t *wide = wide_name(path);
  int result = wide ? _wunlink(wide) : -1;
  free(wide);
  return result;
}

char *platform_temporary_name(const char *path) {
  char *name;
  return asprintf(&name, "%s.%d", path, _getpid()) < 0 ? NULL : name;
}

/* Locks the folder by a file in it, because Windows cannot lock folders. Only one process can have that file open, and
 * the file is deleted when the process closes it. */
intptr_t platform_lock(const char *folder) {
  char *path = NULL;
  wchar_t *wide = asprintf(&path, "%s/.lock", folder) < 0 ? NULL : wide_name(path);
  HANDLE lock = INVALID_HANDLE_VALUE;
  for (int i = 0; wide && i < LOCK_TRIES && lock == INVALID_HANDLE_VALUE; i++) {
    if (i)
      platform_sleep_ns(LOCK_PAUSE_NS);
    lock = CreateFileW(wide, GENERIC_WRITE, 0, NULL, OPEN_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (lock == INVALID_HANDLE_VALUE && GetLastError() != ERROR_SHARING_VIOLATION)
      break;
  }
  free(wide);
  free(path);
  return (intptr_t)lock;
}

void platform_unlock(intptr_t lock) {
  if (lock != -1)
    CloseHandle((HANDLE)lock);
}

/* --- allocating memory, and reserving addresses for it --- */

/* Allocates without large pages, for which Windows needs a privilege that users do not have. */
void *platform_alloc(size_t align, size_t size) {
  return _aligned_malloc(size ? size : 1, align);
}

void platform_free(void *data) {
  _aligned_free(data);
}

void *platform_reserve(size_t most) {
  void *reserved = VirtualAlloc(NULL, most, MEM_RESERVE, PAGE_NOACCESS);
  if (!reserved)
    errno = reason();
  return reserved;
}

int platform_commit(void *reserved, size_t size) {
  if (VirtualAlloc(reserved, size, MEM_COMMIT, PAGE_READWRITE))
    return 0;
  errno = reason();
  return -1;
}

void platform_uncommit(void *reserved, size_t size, size_t committed) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  size_t page = info.dwPageSize, first = (size + page - 1) / page * page;
  if (first < committed)
    VirtualFree((char *)reserved + first, committed - first, MEM_DECOMMIT);
}

void platform_release(void *reserved, size_t most) {
  (void)most;
  if (reserved)
    VirtualFree(reserved, 0, MEM_RELEASE);
}

/* --- the clock, and facts about the machine --- */

int64_t platform_now_ns(void) {
  LARGE_INTEGER ticks, frequency;
  QueryPerformanceCounter(&ticks);
  QueryPerformanceFrequency(&frequency);
  int64_t whole = ticks.QuadPart / frequency.QuadPart, rest = ticks.QuadPart % frequency.QuadPart;
  return whole * SECOND + rest * SECOND / frequency.QuadPart;
}

void platform_sleep_ns(int64_t ns) {
  if (ns > 0)
    Sleep((DWORD)((ns + MILLISECOND - 1) / MILLISECOND));
}

void platform_sleep_until_ns(int64_t ns) {
  platform_sleep_ns(ns - platform_now_ns());
}

void platform_lock_init(pthread_mutex_t *lock) {
  pthread_mutex_init(lock, NULL);
}

/* Does nothing, because the sleeps of Windows end at whole milliseconds at best. */
void platform_sleep_exactly(void) {}

int platform_copy_descriptor(int descriptor) {
  return _dup(descriptor);
}

void platform_close_descriptor(int descriptor) {
  _close(descriptor);
}

void platform_cpu_name(char *name, size_t size) {
  char text[96] = "";
  DWORD bytes = sizeof text;
  bool known = !RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                             "ProcessorNameString", RRF_RT_REG_SZ, NULL, text, &bytes);
  snprintf(name, size, "%s", known && *text ? text : "CPU");
}

bool platform_has_display(const char *root, unsigned vendor) {
  DISPLAY_DEVICEA device = {.cb = sizeof device};
  char id[16];
  bool found = false;
  (void)root;
  snprintf(id, sizeof id, "PCI\\VEN_%04X", vendor);
  for (DWORD i = 0; !found && EnumDisplayDevicesA(NULL, i, &device, 0); i++)
    found = !_strnicmp(device.DeviceID, id, strlen(id));
  return found;
}

bool platform_allow_amx(void) {
  return true; /* oneDNN alone knows whether the system has them */
}

int platform_processors(void) {
  DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count > 0 ? (int)count : 1;
}

void platform_memory(size_t *total, size_t *available) {
  MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
  bool known = GlobalMemoryStatusEx(&memory);
  *total = known ? (size_t)memory.ullTotalPhys : 0;
  *available = known ? (size_t)memory.ullAvailPhys : 0;
}
