/* An attribute for functions with printf's format. MinGW's compiler would check for the formats of Microsoft's old
 * library by default, but the printf that is linked has C's formats. */
#ifndef UNET_BASE_PRINTF_H
#define UNET_BASE_PRINTF_H

#ifdef __MINGW32__
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(gnu_printf, format_at, first_at)))
#else
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#endif

#endif
