// `omnio log --mpi` as a user meets it: the lines of both forms, in which order, and the summary.
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "tests/core/mpi_trace.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio {
namespace {

using calls::Role;
using test::listOf;
using test::MpiTrace;
using wire::DoneRequest;

struct Listing {
  int status = -1;
  std::vector<std::string> lines;
};

Listing listing(std::vector<std::string> words) {
  std::vector<const char*> arguments = {"omnio"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  testing::internal::CaptureStdout();
  Listing ran;
  ran.status = cli::run(static_cast<int>(arguments.size()), arguments.data());
  std::istringstream out(testing::internal::GetCapturedStdout());
  for (std::string line; std::getline(out, line);) ran.lines.push_back(line);
  return ran;
}

rapidjson::Document parsed(const std::string& line) {
  rapidjson::Document document;
  document.Parse(line.c_str());
  EXPECT_FALSE(document.HasParseError()) << line;
  return document;
}

DoneRequest received(std::uint64_t request, std::int64_t source, std::uint64_t seq) {
  return {.request = request,
          .kind = DoneRequest::kReceived,
          .comm = 1,
          .source = source,
          .seq = seq,
          .bytes = 8};
}

class MpiLog : public testing::Test {
 protected:
  std::string saved(const MpiTrace& trace) {
    trace.save(directory_.path());
    return directory_.path();
  }

  // Rank 0 sends late to rank 1, and both meet; by ranks of a communicator that turns them round.
  std::string small() {
    MpiTrace trace(3);
    trace.group(3, "8f01", {2, 1, 0});
    trace.send(0, 1, 1, 500, 510, 7, 3);
    trace.call(1, "Irecv", 90, 95,
               {{Role::kComm, 3}, {Role::kPeer, -1}, {Role::kTag, 7}, {Role::kRequest, 4}});
    trace.call(1, "Wait", 100, 530, {},
               listOf({DoneRequest{.request = 4,
                                   .kind = DoneRequest::kReceived,
                                   .comm = 3,
                                   .source = 2,
                                   .tag = 7,
                                   .seq = 1,
                                   .bytes = 8}}));
    trace.call(0, "Bcast", 520, 610, {{Role::kComm, 3}, {Role::kRoot, 1}, {Role::kSeq, 1}});
    trace.call(1, "Bcast", 600, 605, {{Role::kComm, 3}, {Role::kRoot, 1}, {Role::kSeq, 1}});
    trace.call(2, "Bcast", 700, 705, {{Role::kComm, 3}, {Role::kRoot, 1}, {Role::kSeq, 1}});
    return saved(trace);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(MpiLog, TextHasALineACallByTime) {
  const Listing ran = listing({"log", "--mpi", small()});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(
      ran.lines,
      (std::vector<std::string>{
          "rank=1 thread=0 event=1 90 95 MPI_Irecv comm=3,count=0,peer=-1,request=4,result=0,tag=7"
          " | waited=0,own=5 | receive peer=0,seq=1,with=0.0#1",
          "rank=1 thread=0 event=2 100 530 MPI_Wait done=17:3:4:14:1:8,result=0"
          " | waited=400,own=30,late=0 | receive peer=0,seq=1,with=0.0#1",
          "rank=0 thread=0 event=1 500 510 MPI_Send comm=3,count=8,peer=1,result=0,seq=1,tag=7"
          " | waited=0,own=10 | send to=1,seq=1,with=1.0#1",
          "rank=0 thread=0 event=2 520 610 MPI_Bcast comm=3,count=0,result=0,root=1,seq=1"
          " | waited=80,own=10,late=1 | collective seq=1,members=3,with=1.0#3:2.0#1",
          "rank=1 thread=0 event=3 600 605 MPI_Bcast comm=3,count=0,result=0,root=1,seq=1"
          " | waited=0,own=5 | collective seq=1,members=3,with=0.0#2:2.0#1",
          "rank=2 thread=0 event=1 700 705 MPI_Bcast comm=3,count=0,result=0,root=1,seq=1"
          " | waited=0,own=5 | collective seq=1,members=3,with=0.0#2:1.0#3",
          "# 6 MPI events, 0 of them without a counterpart that they need", "# 1 sends: 1 matched",
          "# 1 receives: 1 matched", "# 3 MPI_Bcast: 3 matched"}));
}

TEST_F(MpiLog, JsonNamesRanksOfTheWorld) {
  const Listing ran = listing({"log", "--mpi", "--json", small()});
  ASSERT_EQ(ran.lines.size(), 7U);
  const auto wait = parsed(ran.lines[1]);
  EXPECT_EQ(wait["rank"].GetInt(), 1);
  EXPECT_EQ(wait["event"].GetInt(), 2);
  EXPECT_EQ(wait["waited_ns"].GetInt(), 400);
  EXPECT_EQ(wait["own_ns"].GetInt(), 30);
  EXPECT_EQ(wait["late"].GetInt(), 0);
  const auto& request = wait["requests"][0];
  EXPECT_STREQ(request["kind"].GetString(), "receive");
  EXPECT_EQ(request["peer"].GetInt(), 0);  // rank 2 of the communicator
  EXPECT_EQ(request["started"]["event"].GetInt(), 1);
  EXPECT_STREQ(request["comm"]["id"].GetString(), "8f01");
  EXPECT_STREQ(request["counterparts"][0]["call"].GetString(), "MPI_Send");

  const auto send = parsed(ran.lines[2]);
  EXPECT_EQ(send["args"]["peer"].GetInt(), 1);
  EXPECT_EQ(send["peer"].GetInt(), 1);
  EXPECT_EQ(send["counterparts"][0]["rank"].GetInt(), 1);
  EXPECT_EQ(send["counterparts"][0]["event"].GetInt(), 1);
  EXPECT_EQ(send["counterparts"][0]["start_ns"].GetInt(), 90);

  const auto bcast = parsed(ran.lines[3]);
  EXPECT_EQ(bcast["root"].GetInt(), 1);
  EXPECT_EQ(bcast["members"].GetInt(), 3);
  EXPECT_EQ(bcast["counterparts"].Size(), 2U);
  EXPECT_EQ(bcast["comm"]["size"].GetInt(), 3);

  const auto summary = parsed(ran.lines[6]);
  EXPECT_EQ(summary["summary"]["events"].GetInt(), 6);
  EXPECT_EQ(summary["summary"]["unmatched"].GetInt(), 0);
  EXPECT_EQ(summary["summary"]["sends"]["matched"].GetInt(), 1);
  EXPECT_EQ(summary["summary"]["collectives"]["MPI_Bcast"]["count"].GetInt(), 3);
}

TEST_F(MpiLog, ChosenRanksAreMatchedWithAll) {
  const Listing ran = listing({"log", "--mpi", "--json", "--rank", "0", small()});
  ASSERT_EQ(ran.lines.size(), 3U);
  EXPECT_EQ(parsed(ran.lines[0])["counterparts"].Size(), 1U);
  EXPECT_EQ(parsed(ran.lines[2])["summary"]["events"].GetInt(), 6);
  EXPECT_EQ(listing({"log", "--mpi", "--rank", "7", directory_.path()}).status, 1);
  EXPECT_EQ(listing({"log", "--mpi", "--thread", "7", directory_.path()}).status, 1);
}

TEST_F(MpiLog, WhatIsMissingIsSaid) {
  MpiTrace trace(2, {1});
  trace.send(0, 1, 1, 500, 510);
  const std::string path = saved(trace);
  const Listing json = listing({"log", "--mpi", "--json", path});
  const auto send = parsed(json.lines.at(0));
  EXPECT_FALSE(send["matched"].GetBool());
  EXPECT_STREQ(send["unmatched"].GetString(), "a rank that was not traced");
  EXPECT_TRUE(send["waited_ns"].IsNull());
  EXPECT_TRUE(send["own_ns"].IsNull());
  EXPECT_EQ(send["peer"].GetInt(), 1);  // of MPI_COMM_WORLD, so it is known
  EXPECT_EQ(send["counterparts"].Size(), 0U);
  const auto summary = parsed(json.lines.at(1));
  EXPECT_EQ(summary["summary"]["sends"]["reasons"]["a rank that was not traced"].GetInt(), 1);
  const Listing text = listing({"log", "--mpi", path});
  EXPECT_NE(std::find(text.lines.begin(), text.lines.end(),
                      "# 1 sends: 0 matched, 1 unmatched: a rank that was not traced"),
            text.lines.end());
}

TEST_F(MpiLog, OfLargeGroupsTheMembersAreCounted) {
  MpiTrace trace(20);
  for (int rank = 0; rank < 20; ++rank) {
    trace.barrier(rank, 1, 100 + static_cast<std::uint64_t>(rank), 150);
  }
  const Listing ran = listing({"log", "--mpi", "--json", saved(trace)});
  const auto first = parsed(ran.lines.at(0));
  EXPECT_EQ(first["members"].GetInt(), 20);
  EXPECT_EQ(first["counterparts"].Size(), 0U);
  EXPECT_EQ(first["late"].GetInt(), 19);
}

TEST_F(MpiLog, AnEventThatTakesLongDoesNotHoldUpMoreThanSoMany) {
  constexpr std::uint64_t kOthers = 200'100;
  MpiTrace trace(2);
  trace.call(1, "Irecv", 10, 11, {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kRequest, 4}});
  for (std::uint64_t i = 0; i < kOthers; ++i) {
    trace.call(0, "Put", 100 + 2 * i, 101 + 2 * i, {{Role::kComm, 1}, {Role::kPeer, 1}});
  }
  const std::uint64_t end = 1000 + 2 * kOthers;
  trace.send(0, 1, 1, end, end + 1);
  trace.call(1, "Wait", end, end + 10, {}, listOf({received(4, 0, 1)}));
  const Listing ran = listing({"log", "--mpi", saved(trace)});
  ASSERT_EQ(ran.lines.size(), kOthers + 7);
  EXPECT_NE(ran.lines[0].find("MPI_Put"), std::string::npos);
  const std::string last = ran.lines.back();
  EXPECT_EQ(last, "# 1 events are listed after events that began later");
  const auto receive = std::find_if(
      ran.lines.begin(), ran.lines.end(),
      [](const std::string& line) { return line.find("MPI_Irecv") != std::string::npos; });
  ASSERT_NE(receive, ran.lines.end());
  EXPECT_NE(receive->find("receive peer=0,seq=1,with=0.0#200101"), std::string::npos) << *receive;
}

}  // namespace
}  // namespace omnio
