#!/usr/bin/env bash
# seam.sh SOURCES: fails where something else than platform_*.c asks a certain operating system.
set -euo pipefail
cd "$1"
headers='unistd|fcntl|dirent|glob|poll|signal|termios|pwd|grp|spawn|search|sys/[a-z_]+|io|direct|process|windows'
if grep -nE "^ *# *include *<($headers)\.h>" -r app unet cuda attention --include='*.[ch]' --include='*.cu' --include='*.cuh' |
  grep -v '^[a-z/]*/\(app_\)\?platform_[a-z_]*\.c:'; then
  echo "What is asked of the system goes through unet/base/platform.h and app/platform/app_platform.h." >&2
  exit 1
fi
functions='clock_gettime|clock_nanosleep|nanosleep|usleep|localtime_r|setenv|unsetenv|realpath|mkstemps?|mkdtemp|popen|fileno|fdopen|posix_memalign'
if grep -nE "\b($functions)\(" -r app unet cuda attention --include='*.[ch]' --include='*.cu' --include='*.cuh' |
  grep -v '^[a-z/]*/\(app_\)\?platform_[a-z_]*\.c:'; then
  echo "These functions are for unet/base/platform_*.c and app/platform/app_platform_*.c." >&2
  exit 1
fi
