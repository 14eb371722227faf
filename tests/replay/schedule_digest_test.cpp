#include "replay/plan/schedule_digest.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/model/schedule_reader.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

class Nothing final : public model::ScheduleSink {
 public:
  Complaint global(const model::ScheduleGlobal&) override { return std::nullopt; }
  Complaint file(model::FileNumber, const model::ScheduleFile&) override { return std::nullopt; }
  Complaint beginThread(const model::ScheduleThread&) override { return std::nullopt; }
  Complaint event(const model::ScheduleEvent&) override { return std::nullopt; }
  Complaint endThread() override { return std::nullopt; }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string kSchedule = R"({"format":"omnio-schedule","version":1,
"global":{"time_replay":"asap","ranks":1},
"files":[{"location":"a","source":"/app/a","role":"output","exists":false,"size":0,
          "read_before_written":0}],
"ranks":[{"rank":0,"threads":[{"thread":0,"pid":1,"tid":1,"host":"node","events":[
{"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0,"start":1,"end":2},
{"command":"write","fd":0,"count":5,"result":5,"start":3,"end":4}]}]}]})";

class ScheduleDigest : public ::testing::Test {
 protected:
  std::string of(const std::string& document) const {
    const std::filesystem::path path = directory / "schedule.json";
    std::ofstream(path) << document;
    Nothing nothing;
    DigestingSink digest(nothing);
    const auto read = model::readSchedule(path, digest);
    EXPECT_TRUE(read) << read.failure().sentence;
    return digest.text();
  }

  const test::TemporaryDirectory directory;
};

TEST_F(ScheduleDigest, FormatMakesNoDifference) {
  const std::string digest = of(kSchedule);
  EXPECT_EQ(digest.size(), 16U);
  EXPECT_EQ(of(replaced(kSchedule, R"("start":3,"end":4)", R"( "end" : 4 , "start" : 3 )")),
            digest);
}

TEST_F(ScheduleDigest, AnyValueDoes) {
  const std::string digest = of(kSchedule);
  EXPECT_NE(of(replaced(kSchedule, R"("count":5)", R"("count":6)")), digest);
  EXPECT_NE(of(replaced(kSchedule, R"("end":4)", R"("end":5)")), digest);
  EXPECT_NE(of(replaced(kSchedule, "O_RDWR|", "O_WRONLY|")), digest);
  EXPECT_NE(of(replaced(kSchedule, R"("role")", R"("target":"fast","role")")), digest);
}

}  // namespace
}  // namespace omnio::replay
