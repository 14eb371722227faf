#include "replay/issue/libc.hpp"

#include <dlfcn.h>

namespace omnio::replay {
namespace {

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

OwnLibc lookUp() {
  OwnLibc own;
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = RTLD_NEXT;
  find(library, "fdopen", own.fdopen);
  find(library, "fopen64", own.fopen);
  find(library, "fclose", own.fclose);
  find(library, "fflush", own.fflush);
  find(library, "fgetpos64", own.fgetpos64);
  find(library, "ftello64", own.ftello);
  find(library, "fseeko64", own.fseeko);
  find(library, "fread", own.fread);
  find(library, "fwrite", own.fwrite);
  find(library, "fdopendir", own.fdopendir);
  find(library, "closedir", own.closedir);
  find(library, "syscall", own.syscall);
  return own;
}

}  // namespace

const OwnLibc& ownLibc() {
  static const OwnLibc kOwn = lookUp();
  return kOwn;
}

void* symbolNamed(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace omnio::replay
