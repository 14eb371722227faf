// The report page: one file that any browser shows, without a network.
#pragma once
#include <string>
#include <string_view>

namespace omnio::report {

// Puts the data, a JSON document, into the page.
std::string pageOf(std::string_view data);

}  // namespace omnio::report
