// The exported wrappers of all regular POSIX and stream rows.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "core/calls/unlisted.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/signature.hpp"

#define OMNIO_ROW_kCustom(...)
#define OMNIO_ROW_kRegular(NAME, COUNT) OMNIO_WRAP(NAME, COUNT)
#define OMNIO_CALL(BODY, NUMBER, NAME, VARIANT_OF, CLASS, RESULT, ...) \
  OMNIO_ROW_##BODY(NAME, OMNIO_COUNT(__VA_ARGS__))
#define OMNIO_PART(...)
#include "core/calls/posix.def"
#include "core/calls/stdio.def"
#undef OMNIO_PART
#undef OMNIO_CALL
