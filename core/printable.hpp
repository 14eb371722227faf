// Bytes from outside (paths, mostly) as text that keeps to one line and is valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace omnio {

// Appends `bytes`; control characters, `\`, bytes that are no UTF-8, and every character of
// `also` become \xHH.
void appendPrintable(std::string& out, std::string_view bytes, std::string_view also = {});

std::string printable(std::string_view bytes, std::string_view also = {});

}  // namespace omnio
