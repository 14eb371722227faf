// The text form of events, line by line.
#include "core/event/event_text.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/record.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

using test::ChunkBuilder;
using test::EventSpec;

constexpr std::uint64_t kTextToken = 77;
constexpr std::uint32_t kFile = 5;   // handle of fd 20, dummy.0.0.fmt
constexpr std::uint32_t kOther = 6;  // handle of fd 21, the same path
constexpr std::uint8_t kPath = 0;
constexpr std::uint8_t kMode = 1;
constexpr std::uint8_t kStrange = 2;

// A chunk that knows a file, its duplicate, a mode and a strange name.
ChunkBuilder definitions() {
  ChunkBuilder chunk(kTextToken, 0, 0, 0, 100);
  chunk.text(kPath, "/run/job/dummy.0.0.fmt", 9).text(kMode, "r+");
  chunk.text(kStrange, "/run/a=b,c\n\xFF", 5);
  chunk.handle({.handle = kFile, .description = kFile, .fd = 20, .text_slot = kPath});
  chunk.handle({.handle = kOther, .description = kFile, .fd = 21, .text_slot = kPath});
  return chunk;
}

std::string textOfTrace(const test::ContainerBuilder& container) {
  const test::TemporaryDirectory directory;
  container.save(directory / "node1.1.0.omnio");
  base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  const tracefile::Process& process = *trace->processes().front();
  event::PathTable paths;
  tracefile::MergedReader reader;
  for (const tracefile::Log& log : process.logs) {
    reader.addLog<tracefile::LogReader>(process, log, paths);
  }
  std::string out;
  while (const event::Event* event = reader.next()) event::appendText(out, *event);
  return out;
}

std::string lineOf(std::string_view symbol, EventSpec event) {
  ChunkBuilder chunk = definitions();
  event.start = 200;
  event.end = 230;
  chunk.event(test::numberOf(symbol), event);
  test::ContainerBuilder container(kTextToken);
  container.facts(test::usualFacts()).chunk(chunk).ended(1);
  return textOfTrace(container);
}

TEST(EventText, AWriteLooksAsInTheManual) {
  EXPECT_EQ(lineOf("write", {.arguments = {kFile, 0, 4008}, .request = 4008, .result = 4008}),
            "200 230 write count=4008,fd=20,path=dummy.0.0.fmt,result=4008\n");
}

TEST(EventText, AnOpenNamesFlagsAndModeWhereItMatters) {
  EXPECT_EQ(
      lineOf("open64", {.arguments = {kPath + 1, O_WRONLY | O_CREAT, 0644}, .result = kFile + 1}),
      "200 230 open64 flags=O_WRONLY|O_CREAT,mode=0644,path=dummy.0.0.fmt,result=20\n");
  EXPECT_EQ(
      lineOf("open", {.arguments = {kPath + 1, O_RDONLY, 0644}, .result = ENOENT, .failed = true}),
      "200 230 open errno=ENOENT,flags=O_RDONLY,path=dummy.0.0.fmt\n");
  EXPECT_EQ(
      lineOf("openat", {.arguments = {AT_FDCWD, kStrange + 1, O_RDONLY, 0}, .result = kFile + 1}),
      "200 230 openat dirfd=AT_FDCWD,flags=O_RDONLY,path=a\\x3Db\\x2Cc\\x0A\\xFF,result=20\n");
}

TEST(EventText, StreamsShowTheDescriptorBelow) {
  EXPECT_EQ(lineOf("fopen", {.arguments = {kPath + 1, kMode + 1}, .result = kFile + 1}),
            "200 230 fopen path=dummy.0.0.fmt,result=20,type=r+\n");
  EXPECT_EQ(lineOf("fread", {.arguments = {0, 8, 100, kFile}, .result = 99}),
            "200 230 fread fd=20,nmemb=100,path=dummy.0.0.fmt,result=99,size=8\n");
}

TEST(EventText, LinesShowTheirLengthAndTheEndOfTheFile) {
  EXPECT_EQ(lineOf("fgets", {.arguments = {0, 4096, kFile}, .request = 4096, .result = 17}),
            "200 230 fgets count=17,fd=20,path=dummy.0.0.fmt,result=17,size=4096\n");
  EXPECT_EQ(lineOf("fgets", {.arguments = {0, 4096, kFile}, .request = 4096, .failed = true}),
            "200 230 fgets fd=20,path=dummy.0.0.fmt,result=EOF,size=4096\n");
  EXPECT_EQ(lineOf("fgetc", {.arguments = {kFile}, .result = EIO, .failed = true}),
            "200 230 fgetc errno=EIO,fd=20,path=dummy.0.0.fmt\n");
}

TEST(EventText, PiecesOffsetsSeeksAndDuplicates) {
  EXPECT_EQ(
      lineOf("pwritev",
             {.arguments = {kFile, 3, 0, 4096}, .request = 32, .result = 32, .pieces = {8, 16, 8}}),
      "200 230 pwritev fd=20,iov=8:16:8,iovcnt=3,offset=4096,path=dummy.0.0.fmt,result=32\n");
  EXPECT_EQ(lineOf("lseek", {.arguments = {kFile, -5, SEEK_END}, .result = 95}),
            "200 230 lseek fd=20,offset=-5,path=dummy.0.0.fmt,result=95,whence=SEEK_END\n");
  EXPECT_EQ(lineOf("dup2", {.arguments = {kFile, 21}, .result = kOther + 1}),
            "200 230 dup2 fd=20,newfd=21,path=dummy.0.0.fmt,result=21\n");
  EXPECT_EQ(lineOf("fcntl", {.arguments = {kFile, F_GETFL, 0}, .result = 2}),
            "200 230 fcntl cmd=F_GETFL,fd=20,path=dummy.0.0.fmt,result=2,value=0\n");
}

TEST(EventText, CallsOfLibrariesShowTheirDepthAndPathCallsBothNames) {
  EXPECT_EQ(lineOf("fsync", {.arguments = {kFile}, .depth = 1}),
            "200 230 fsync depth=1,fd=20,path=dummy.0.0.fmt,result=0\n");
  EXPECT_EQ(
      lineOf("rename", {.arguments = {kPath + 1, kMode + 1}, .result = EXDEV, .failed = true}),
      "200 230 rename errno=EXDEV,newpath=r+,path=dummy.0.0.fmt\n");
  EXPECT_EQ(lineOf("MPI_Finalize", {}), "200 230 MPI_Finalize result=0\n");
  EXPECT_EQ(lineOf("rewind", {.arguments = {kFile}}), "200 230 rewind fd=20,path=dummy.0.0.fmt\n");
}

TEST(EventText, MpiFilesAreShownByHandleAndPath) {
  EXPECT_EQ(lineOf("MPI_File_open", {.arguments = {kFile, 9, 4, 0, 1, 2, 3, 1}}),
            "200 230 MPI_File_open amode=MPI_MODE_CREATE|MPI_MODE_RDWR,comm=1,fh=5,newcomm=3,"
            "path=dummy.0.0.fmt,position=0,ranks=4,result=0,seq=2,tick=1\n");
  EXPECT_EQ(lineOf("PMPI_File_open",
                   {.arguments = {kFile, 0x402, 0, 0, 0, 0, 0, 3}, .result = 38, .failed = true}),
            "200 230 PMPI_File_open amode=MPI_MODE_RDONLY|0x400,comm=0,fh=5,newcomm=0,"
            "path=dummy.0.0.fmt,position=0,ranks=0,result=38,seq=0,tick=3\n");
  EXPECT_EQ(
      lineOf("MPI_File_read_at_all",
             {.arguments = {kFile, 265302, 10612080, 10612000, 3, 9, 148}, .request = 10612080}),
      "200 230 MPI_File_read_at_all comm=3,count=10612080,fh=5,got=10612000,offset=265302,"
      "path=dummy.0.0.fmt,result=0,seq=9,tick=148\n");
  EXPECT_EQ(lineOf("MPI_File_seek", {.arguments = {kFile, -3, SEEK_END, 97, 7}}),
            "200 230 MPI_File_seek fh=5,offset=-3,path=dummy.0.0.fmt,position=97,result=0,tick=7,"
            "whence=SEEK_END\n");
  EXPECT_EQ(lineOf("MPI_File_set_view", {.arguments = {kFile, 4096, 1, 5, 3, 8, 2}}),
            "200 230 MPI_File_set_view comm=3,disp=4096,etype=1,fh=5,filetype=5,"
            "path=dummy.0.0.fmt,result=0,seq=8,tick=2\n");
  EXPECT_EQ(lineOf("MPI_File_delete", {.arguments = {kPath + 1, 12}}),
            "200 230 MPI_File_delete path=dummy.0.0.fmt,result=0,tick=12\n");
}

TEST(EventText, ALinkShowsItsText) {
  EXPECT_EQ(lineOf("symlink", {.arguments = {kMode + 1, kPath + 1}}),
            "200 230 symlink path=dummy.0.0.fmt,result=0,target=r+\n");
}

TEST(EventText, EveryCallMakesALine) {
  for (const calls::Row& row : calls::kTable) {
    if (row.number == 0) continue;
    EventSpec event;
    for (std::size_t i = 0; i < row.argument_count; ++i) {
      const bool handle = wire::fieldOf(row.arguments[i]) == wire::Field::kHandle;
      event.arguments[i] = handle ? kFile : 0;
    }
    const std::string line = lineOf(row.name, event);
    EXPECT_TRUE(line.starts_with("200 230 " + std::string(row.name))) << line;
  }
}

TEST(EventText, LanesOfAThreadAreMergedByTime) {
  ChunkBuilder normal(kTextToken, 0, 0, 0, 100);
  normal.write(100, 110, 1).write(300, 310, 3);
  ChunkBuilder handler(kTextToken, 1, 0, 0, 100);
  handler.header.thread = 0;
  handler.header.lane = 1;
  handler.write(200, 210, 2).write(400, 410, 4);
  test::ContainerBuilder container(kTextToken);
  container.facts(test::usualFacts()).chunk(normal).chunk(handler).ended(4);
  EXPECT_EQ(textOfTrace(container),
            "100 110 write count=1,fd=3,path=out.bin,result=1\n"
            "200 210 write count=2,fd=3,path=out.bin,result=2\n"
            "300 310 write count=3,fd=3,path=out.bin,result=3\n"
            "400 410 write count=4,fd=3,path=out.bin,result=4\n");
}

}  // namespace
}  // namespace omnio
