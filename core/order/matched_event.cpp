#include "core/order/matched_event.hpp"

#include <algorithm>

namespace omnio::order {

std::string_view wordsOf(Match match) {
  switch (match) {
    case Match::kOpen:
      return "open";
    case Match::kMatched:
      return "matched";
    case Match::kNobody:
      return "needs none";
    case Match::kCancelled:
      return "cancelled";
    case Match::kNoIdentity:
      return "the trace does not say which group or message it was";
    case Match::kNotInTrace:
      return "a rank that was not traced";
    case Match::kNeverCame:
      return "the counterpart is not in its rank's log";
    case Match::kNotComplete:
      return "never found complete";
    case Match::kGivenUp:
      return "given up since too much was open";
  }
  return "";
}

bool MatchedEvent::matched() const {
  return std::none_of(parts.begin(), parts.end(),
                      [](const EventPart& part) { return isUnmatched(part.operation->match); });
}

std::uint64_t MpiCounts::Of::unmatched() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < by_match.size(); ++i) {
    if (isUnmatched(static_cast<Match>(i))) sum += by_match[i];
  }
  return sum;
}

void MpiCounts::Of::add(Match match) {
  ++all;
  ++by_match[static_cast<std::size_t>(match)];
}

}  // namespace omnio::order
