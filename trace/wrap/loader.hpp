// The loader's functions under the versions they had before glibc 2.34 took them into libc itself:
// a library that is built on a new system then loads on an old one (glibc 2.28 and older; a test
// holds the built libraries to it). Old systems have them in libdl.so.2, which is linked for that.
#pragma once

#include <dlfcn.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define OMNIO_OLDEST_GLIBC "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OMNIO_OLDEST_GLIBC "GLIBC_2.17"
#endif

#ifdef OMNIO_OLDEST_GLIBC
__asm__(".symver dlsym,dlsym@" OMNIO_OLDEST_GLIBC);
__asm__(".symver dlvsym,dlvsym@" OMNIO_OLDEST_GLIBC);
__asm__(".symver dlopen,dlopen@" OMNIO_OLDEST_GLIBC);
#endif
