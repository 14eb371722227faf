#include "trace/runtime/identity.hpp"

namespace omnio::trace {
const char kLibraryName[] = OMNIO_LIBRARY_NAME;
}
