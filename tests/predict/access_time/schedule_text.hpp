// Schedules for tests: threads of events by rank.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace omnio::access_time::test {

// One thread for each rank. Files a, b and f.0 to f.5 are made by the run, `old` is there.
inline std::string scheduleOf(const std::vector<std::string>& events_of_ranks) {
  std::string ranks;
  for (std::size_t i = 0; i < events_of_ranks.size(); ++i) {
    ranks += fmt::format(R"({}{{"rank":{},"threads":[{{"thread":0,"host":"n","events":[{}]}}]}})",
                         i == 0 ? "" : ",", i, events_of_ranks[i]);
  }
  return fmt::format(
      R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"dt","ranks":{}}},"files":[)"
      R"({{"location":"a","role":"output","exists":false}},{{"location":"d","role":"directory","exists":false}},{{"location":"d/b","role":"output","exists":false}},)"
      R"({{"location":"old","role":"updated","exists":true,"size":1000000}},)"
      R"({{"repeat":6,"body":[{{"location":"f.{{turn}}","role":"output","exists":false}}]}}],"ranks":[{}]}})",
      events_of_ranks.size(), ranks);
}

// Events of a thread, one after another, with 1 ms of work before each.
class Events {
 public:
  Events& open(const char* name, int fd, const char* flags = "O_RDWR|O_CREAT") {
    return add(
        fmt::format(R"("command":"open","location":"{}","flags":"{}","mode":"0644","result":{})",
                    name, flags, fd));
  }
  Events& write(int fd, long offset, long bytes) { return data("pwrite64", fd, offset, bytes); }
  Events& read(int fd, long offset, long bytes) { return data("pread64", fd, offset, bytes); }
  Events& call(const char* name, int fd) {
    return add(fmt::format(R"("command":"{}","fd":{},"result":0)", name, fd));
  }
  Events& put(const std::string& members) { return add(members); }
  // The next event has this id, or waits for events with these.
  Events& id(int id) {
    more_ += fmt::format(R"(,"id":{})", id);
    return *this;
  }
  Events& after(const std::string& ids) {
    more_ += fmt::format(R"(,"after":[{}])", ids);
    return *this;
  }
  std::string text() const { return text_; }

 private:
  Events& data(const char* name, int fd, long offset, long bytes) {
    return add(fmt::format(R"("command":"{}","fd":{},"count":{},"offset":{},"result":{})", name, fd,
                           bytes, offset, bytes));
  }
  Events& add(const std::string& members) {
    constexpr long kWork = 1'000'000, kCall = 1000;
    time_ += kWork;
    text_ += fmt::format(R"({}{{"start":{},"end":{},{}{},"compute":{}}})", text_.empty() ? "" : ",",
                         time_, time_ + kCall, members, more_, kWork);
    time_ += kCall;
    more_.clear();
    return *this;
  }

  std::string text_, more_;
  long time_ = 0;
};

}  // namespace omnio::access_time::test
