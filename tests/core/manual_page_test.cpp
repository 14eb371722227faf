#include "core/base/manual_page.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/command_line.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::base {
namespace {

TEST(ManualPage, NoCharacterIsAnInstruction) {
  EXPECT_EQ(roffText("--by a\\b"), "\\-\\-by a\\eb");
  EXPECT_EQ(roffText(".gitignore, 'x'"), "\\&.gitignore, \\(aqx\\(aq");
  EXPECT_EQ(roffText("'x'"), "\\&\\(aqx\\(aq");
  EXPECT_EQ(roffText("`*` \"~^\"\nnext"), "\\(ga*\\(ga \\(dq\\(ti\\(ha\\(dq next");
}

TEST(ManualPage, IsMadeOfTheDefinitionsOfTheCommandLine) {
  const Program program("Looks at things.", "look");
  program.setVersion("look 1.2");
  const Command command = program.subcommand("at", "One thing; `a-b` too");
  std::string thing, form = "long", out;
  std::optional<int> rank;
  bool all = false;
  command.option("THING", thing, "What to look at").required();
  command.option("--form", form, "How").oneOf({"long", "short"}).showDefault();
  command.option("-o,--output", out, "Where to").required().typeName("FILE");
  command.option("--rank", rank, "Only this rank");
  command.flag("--all", all, "Everything");
  command.flag("--secret", all, "").hidden();
  command.addExitStatus("3", "it has changed");

  const test::TemporaryDirectory directory;
  const std::string to = (directory / "pages").native();
  const char* const words[] = {"look", kManualPagesOption, to.c_str()};
  EXPECT_EQ(program.parse(3, words).outcome, Parsed::Outcome::kShown);
  const std::string page = test::readAll(directory / "pages" / "look-at.1");
  EXPECT_EQ(page,
            ".\\\" Made from the definitions of the command line when the program was built.\n"
            ".TH LOOK-AT 1 \"\" \"look 1.2\" \"User Commands\"\n"
            ".ad l\n"
            ".SH NAME\n"
            "look\\-at \\- One thing; \\(gaa\\-b\\(ga too\n"
            ".SH SYNOPSIS\n"
            "\\fBlook at\\fR \\fB\\-o\\fR \\fIFILE\\fR [\\fIOPTIONS\\fR] \\fITHING\\fR\n"
            ".SH DESCRIPTION\n"
            "One thing; \\(gaa\\-b\\(ga too.\n"
            ".SH ARGUMENTS\n"
            ".TP\n"
            "\\fITHING\\fR\n"
            "What to look at.\n"
            ".SH OPTIONS\n"
            ".TP\n"
            "\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
            "Print this help message and exit.\n"
            ".TP\n"
            "\\fB\\-\\-form\\fR long|short\n"
            "How (default: long).\n"
            ".TP\n"
            "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\n"
            "Where to.\n"
            ".TP\n"
            "\\fB\\-\\-rank\\fR \\fIINT\\fR\n"
            "Only this rank.\n"
            ".TP\n"
            "\\fB\\-\\-all\\fR\n"
            "Everything.\n"
            ".SH EXIT STATUS\n"
            ".TP\n0\nthe work is done.\n"
            ".TP\n1\nthe work failed; standard error says why.\n"
            ".TP\n2\nwrong usage.\n"
            ".TP\n3\nit has changed.\n"
            ".SH SEE ALSO\n"
            "\\fBlook\\fR(1)\n");
  const std::string whole = test::readAll(directory / "pages" / "look.1");
  EXPECT_NE(whole.find(".SH COMMANDS\n.TP\n\\fBat\\fR\nOne thing;"), std::string::npos) << whole;
  EXPECT_NE(whole.find(".SH SEE ALSO\n\\fBlook\\-at\\fR(1)\n"), std::string::npos) << whole;
}

TEST(ManualPage, CommandsOfACommandAreOnItsPage) {
  const Program program("Looks at things.", "look");
  const Command at = program.subcommand("at", "One thing");
  const Command far = at.subcommand("far", "From far away");
  std::string thing;
  bool all = false;
  far.option("THING", thing, "What to look at").required();
  far.flag("--all", all, "Everything");

  const test::TemporaryDirectory directory;
  const std::string to = (directory / "pages").native();
  const char* const words[] = {"look", kManualPagesOption, to.c_str()};
  EXPECT_EQ(program.parse(3, words).outcome, Parsed::Outcome::kShown);
  const std::string page = test::readAll(directory / "pages" / "look-at.1");
  EXPECT_NE(page.find("\\fBlook at\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR\n"), std::string::npos)
      << page;
  EXPECT_NE(page.find(".SH COMMANDS\n.TP\n\\fBfar\\fR\nFrom far away.\n"
                      ".SH LOOK AT FAR\n"
                      "\\fBlook at far\\fR [\\fIOPTIONS\\fR] \\fITHING\\fR\n"
                      ".TP\n\\fITHING\\fR\nWhat to look at.\n"
                      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint this help message and exit.\n"
                      ".TP\n\\fB\\-\\-all\\fR\nEverything.\n"),
            std::string::npos)
      << page;
  EXPECT_FALSE(std::filesystem::exists(directory / "pages" / "look-at-far.1"));
}

TEST(ManualPage, OneThatCannotBeWrittenIsRefused) {
  const Program program("Looks at things.", "look");
  const char* const words[] = {"look", kManualPagesOption, "/dev/null/pages"};
  const Parsed parsed = program.parse(3, words);
  EXPECT_EQ(parsed.outcome, Parsed::Outcome::kRefused);
  EXPECT_EQ(parsed.text, "cannot create /dev/null/pages: Not a directory");
}

}  // namespace
}  // namespace omnio::base
