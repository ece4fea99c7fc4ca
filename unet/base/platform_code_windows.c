#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"

bool platform_own_folder(char *path, size_t size) {
  HMODULE own;
  wchar_t wide[MAX_PATH];
  if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                          (LPCWSTR)(uintptr_t)platform_own_folder, &own))
    return false;
  DWORD length = GetModuleFileNameW(own, wide, MAX_PATH);
  if (!length || length >= MAX_PATH || !WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, (int)size, NULL, NULL))
    return false;
  char *slash = strrchr(path, '\\');
  if (!slash)
    return false;
  *slash = 0;
  for (char *at = path; *at; at++)
    if (*at == '\\')
      *at = '/';
  return true;
}

void *platform_open_code(const char *path, char *why, size_t size) {
  wchar_t wide[MAX_PATH];
  HMODULE code = NULL;
  SetLastError(ERROR_BAD_PATHNAME);
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, MAX_PATH)) {
    for (wchar_t *at = wide; *at; at++)
      if (*at == L'/')
        *at = L'\\';
    code = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
  }
  snprintf(why, size, code ? "" : "Windows' error %lu", GetLastError());
  return code;
}

void *platform_find_function(void *code, const char *name) {
  return (void *)(uintptr_t)GetProcAddress(code, name);
}

void platform_close_code(void *code) {
  FreeLibrary(code);
}
