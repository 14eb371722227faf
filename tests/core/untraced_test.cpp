// A program file tells whether the tracer gets into it; and the notes about programs where it
// did not.
#include "core/tracefile/untraced.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/wire/program_file.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;
using wire::ProgramFacts;
using wire::UntracedReason;

bool examine(const std::string& bytes, ProgramFacts& facts) {
  facts = {};
  return wire::examineProgram(
      [&bytes](std::uint64_t offset, char* out, std::size_t wanted) -> std::size_t {
        if (offset >= bytes.size()) return 0;
        wanted = std::min<std::size_t>(wanted, bytes.size() - offset);
        std::memcpy(out, bytes.data() + offset, wanted);
        return wanted;
      },
      facts);
}

template <typename T>
void put(std::string& bytes, std::size_t at, const T& value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// A dynamic program that needs these libraries, as little of it as the loader looks at.
std::string programThatNeeds(const std::vector<std::string>& libraries,
                             bool has_interpreter = true) {
  constexpr std::uint64_t kAddress = 0x400000;
  constexpr std::size_t kDynamic = 0x200;
  constexpr std::size_t kTexts = 0x1000;
  std::string bytes;
  std::string texts(1, '\0');
  std::size_t at = kDynamic;
  const auto entry = [&](std::int64_t tag, std::uint64_t value) {
    Elf64_Dyn one{};
    one.d_tag = tag;
    one.d_un.d_val = value;
    put(bytes, at, one);
    at += sizeof one;
  };
  for (const std::string& library : libraries) {
    entry(DT_NEEDED, texts.size());
    texts += library + '\0';
  }
  entry(DT_STRTAB, kAddress + kTexts);
  entry(DT_NULL, 0);
  bytes.resize(kTexts);
  bytes += texts;
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_phoff = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 3;
  put(bytes, 0, head);
  const auto segment = [&bytes](std::size_t i, std::uint32_t type, std::uint64_t offset,
                                std::uint64_t length) {
    Elf64_Phdr one{};
    one.p_type = type;
    one.p_offset = offset;
    one.p_vaddr = kAddress + offset;
    one.p_filesz = length;
    put(bytes, sizeof(Elf64_Ehdr) + i * sizeof one, one);
  };
  segment(0, has_interpreter ? PT_INTERP : PT_NOTE, 0, 1);
  segment(1, PT_LOAD, 0, bytes.size());
  segment(2, PT_DYNAMIC, kDynamic, at - kDynamic);
  return bytes;
}

TEST(ProgramFile, OfThisTestIsDynamic) {
  ProgramFacts facts;
  ASSERT_TRUE(examine(test::readAll("/proc/self/exe"), facts));
  EXPECT_FALSE(facts.is_static);
  EXPECT_FALSE(facts.is_other_word);
  EXPECT_STREQ(facts.interpreter, "");
}

TEST(ProgramFile, LinkedWithTheAddressSanitizerIsRecognised) {
  ProgramFacts facts;
  for (const char* library : {"libasan.so.8", "libasan.so", "libclang_rt.asan-x86_64.so"}) {
    ASSERT_TRUE(examine(programThatNeeds({"libm.so.6", library, "libc.so.6"}), facts));
    EXPECT_TRUE(facts.wants_asan) << library;
    EXPECT_FALSE(facts.is_static);
  }
  for (const char* library : {"libubsan.so.1", "libmyasan.so", "libasa", ""}) {
    ASSERT_TRUE(examine(programThatNeeds({library, "libc.so.6"}), facts));
    EXPECT_FALSE(facts.wants_asan) << library;
  }
}

TEST(ProgramFile, WithoutAnInterpreterIsStatic) {
  ProgramFacts facts;
  ASSERT_TRUE(examine(programThatNeeds({"libasan.so.8"}, false), facts));
  EXPECT_TRUE(facts.is_static);
  EXPECT_FALSE(facts.wants_asan);
}

TEST(ProgramFile, OfAnotherWordIsRecognised) {
  std::string bytes = programThatNeeds({"libc.so.6"});
  bytes[EI_CLASS] = ELFCLASS32;
  ProgramFacts facts;
  ASSERT_TRUE(examine(bytes, facts));
  EXPECT_TRUE(facts.is_other_word);
}

TEST(ProgramFile, OfAScriptNamesTheInterpreter) {
  ProgramFacts facts;
  ASSERT_TRUE(examine("#!/bin/sh\necho\n", facts));
  EXPECT_STREQ(facts.interpreter, "/bin/sh");
  ASSERT_TRUE(examine("#! \t/usr/bin/env python3 -u\n", facts));
  EXPECT_STREQ(facts.interpreter, "/usr/bin/env");
  ASSERT_TRUE(examine("#!/bin/sh", facts));
  EXPECT_STREQ(facts.interpreter, "/bin/sh");
  ASSERT_TRUE(examine("#!/bin/sh\r\n", facts));
  EXPECT_STREQ(facts.interpreter, "/bin/sh");
  ASSERT_TRUE(examine("#!" + std::string(1000, 'x'), facts));
  EXPECT_LT(std::strlen(facts.interpreter), sizeof facts.interpreter);
}

TEST(ProgramFile, ThatIsNoneIsRefused) {
  ProgramFacts facts;
  EXPECT_FALSE(examine("", facts));
  EXPECT_FALSE(examine("#!", facts));
  EXPECT_FALSE(examine(std::string(5000, 'g'), facts));
  const std::string whole = programThatNeeds({"libasan.so.8"});
  EXPECT_FALSE(examine(whole.substr(0, sizeof(Elf64_Ehdr) - 1), facts));
  EXPECT_FALSE(examine(whole.substr(0, sizeof(Elf64_Ehdr) + 10), facts));
}

TEST(ProgramFile, CutOrDamagedAnywhereIsExaminedAllTheSame) {
  const std::string whole = programThatNeeds({"libm.so.6", "libasan.so.8"});
  ProgramFacts facts;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    examine(whole.substr(0, length), facts);
  }
  for (std::size_t at = 0; at < 0x300; ++at) {
    for (const char value : {'\0', '\x01', '\x7F', '\xFF'}) {
      std::string bytes = whole;
      bytes[at] = value;
      examine(bytes, facts);
    }
  }
}

TEST(ProgramCheck, SaysWhyRealProgramsAreOutOfReach) {
  const TemporaryDirectory directory;
  const auto reason = [](const fs::path& path) { return tracefile::checkProgram(path).reason; };
  EXPECT_EQ(reason("/proc/self/exe"), std::nullopt);
  EXPECT_EQ(reason(directory / "nothing"), std::nullopt);
  test::writeAll(directory / "static", programThatNeeds({}, false));
  EXPECT_EQ(reason(directory / "static"), UntracedReason::kStatic);
  std::string other_word = programThatNeeds({});
  other_word[EI_CLASS] = ELFCLASS32;
  test::writeAll(directory / "32", other_word);
  EXPECT_EQ(reason(directory / "32"), UntracedReason::kOtherWord);
  test::writeAll(directory / "asan", programThatNeeds({"libasan.so.8"}));
  EXPECT_EQ(reason(directory / "asan"), std::nullopt);
  EXPECT_TRUE(tracefile::checkProgram(directory / "asan").wants_asan);
  // Scripts are as their interpreters are; one that names itself ends the search.
  test::writeAll(directory / "script", "#!" + (directory / "static").native() + " -x\n");
  EXPECT_EQ(reason(directory / "script"), UntracedReason::kStatic);
  test::writeAll(directory / "circle", "#!" + (directory / "circle").native() + "\n");
  EXPECT_EQ(reason(directory / "circle"), std::nullopt);
}

TEST(ProgramCheck, ASetUserIdProgramOfAnotherUserIsOutOfReach) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TemporaryDirectory directory;
  const fs::path path = directory / "program";
  test::writeAll(path, programThatNeeds({"libc.so.6"}));
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(tracefile::checkProgram(path).reason, std::nullopt);  // it stays the same user
  ASSERT_EQ(chown(path.c_str(), 54321, 54321), 0);
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(tracefile::checkProgram(path).reason, UntracedReason::kSetUser);
  ASSERT_EQ(chmod(path.c_str(), 02755), 0);
  EXPECT_EQ(tracefile::checkProgram(path).reason, UntracedReason::kSetUser);
  // Where nothing can gain rights the bits mean nothing.
  EXPECT_EXIT(
      {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(1);
        _exit(tracefile::checkProgram(path).reason.has_value() ? 2 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProgramCheck, AProgramWithCapabilitiesIsOutOfReachOfAllButRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give capabilities away";
  const TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  const fs::path path = directory / "program";
  test::writeAll(path, programThatNeeds({"libc.so.6"}));
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  test::writeAll(directory / "script", "#!" + path.native() + "\n");
  const auto reasons = [&] {
    const bool is_other_user = seteuid(54321) == 0;
    std::vector<std::optional<UntracedReason>> found{
        tracefile::checkProgram(path).reason, tracefile::checkProgram(directory / "script").reason};
    if (!is_other_user || seteuid(0) != 0) std::abort();
    return found;
  };
  EXPECT_EQ(reasons(), (std::vector<std::optional<UntracedReason>>{{}, {}}));
  // CAP_NET_BIND_SERVICE, permitted and effective: struct vfs_cap_data, revision 2.
  const std::uint32_t capabilities[] = {0x02000001, 1U << 10, 0, 0, 0};
  if (setxattr(path.c_str(), "security.capability", capabilities, sizeof capabilities, 0) != 0) {
    GTEST_SKIP() << "the file system keeps no capabilities: " << std::strerror(errno);
  }
  EXPECT_EQ(reasons(), (std::vector<std::optional<UntracedReason>>{UntracedReason::kSetUser,
                                                                   UntracedReason::kSetUser}));
  EXPECT_EQ(tracefile::checkProgram(path).reason, std::nullopt);
}

TEST(ProgramCheck, AStaticProgramOfThisCompilerIsStatic) {
  const TemporaryDirectory directory;
  test::writeAll(directory / "empty.c", "int main(void) { return 0; }\n");
  const std::string build = "cc -static -o " + (directory / "static").native() + " " +
                            (directory / "empty.c").native() + " 2>/dev/null";
  if (std::system(build.c_str()) != 0) GTEST_SKIP() << "nothing can be linked statically here";
  EXPECT_EQ(tracefile::checkProgram(directory / "static").reason, UntracedReason::kStatic);
}

std::vector<std::string> sentences(const fs::path& directory) {
  std::vector<std::string> all;
  for (const tracefile::UntracedProgram& program : tracefile::readUntraced(directory))
    all.push_back(program.sentence());
  return all;
}

TEST(UntracedNotes, AreCountedByProgramAndReason) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(tracefile::readUntraced(directory.path()).empty());
  for (const char* host : {"node1", "node2"}) {
    EXPECT_TRUE(tracefile::noteUntraced(directory.path(), host, UntracedReason::kStatic, "/bin/b"));
  }
  EXPECT_TRUE(
      tracefile::noteUntraced(directory.path(), "node1", UntracedReason::kStatic, "/bin/b"));
  EXPECT_TRUE(
      tracefile::noteUntraced(directory.path(), "node1", UntracedReason::kEnvironment, "/bin/b"));
  EXPECT_TRUE(
      tracefile::noteUntraced(directory.path(), "node1", UntracedReason::kOtherWord, "/bin/a\n"));
  fs::create_symlink("s/bin/b", directory / "node3.17.4026531836.untraced");
  fs::create_symlink("l/bin/c", directory / "node3.18.4026531836.untraced");
  EXPECT_EQ(sentences(directory.path()),
            (std::vector<std::string>{
                "/bin/a\\x0A was started once and not traced: it is a 32-bit program",
                "/bin/b was started once and not traced: it was started without the tracer's "
                "environment (LD_PRELOAD, OMNIO_DIR)",
                "/bin/b was started 4 times and not traced: it is statically linked",
                "/bin/c was started once and not traced: the tracer's library cannot be found "
                "where it ran"}));
}

TEST(UntracedNotes, DamagedRecordsAreLeftOut) {
  const TemporaryDirectory directory;
  // Empty, without a path, of a reason that only a later version knows, cut off.
  test::writeAll(directory / "node1.untraced", std::string("\0s\0?/bin/x\0u/bin/cut", 20));
  test::writeAll(directory / "node2.untraced", "");
  test::writeAll(directory / "other.txt", std::string("s/bin/y\0", 8));
  fs::create_directory(directory / "node3.untraced");
  ASSERT_EQ(mkfifo((directory / "node4.untraced").c_str(), 0600), 0);
  EXPECT_EQ(sentences(directory.path()),
            (std::vector<std::string>{
                "/bin/cut was started once and not traced: it is set-user-id or has capabilities, "
                "and the loader preloads nothing then",
                "/bin/x was started once and not traced: for an unknown reason"}));
}

TEST(UntracedNotes, ThatCannotBeWrittenAreReported) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(
      tracefile::noteUntraced(directory / "nothing", "node1", UntracedReason::kStatic, "/bin/x"));
}

}  // namespace
}  // namespace omnio
