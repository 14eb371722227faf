#include "core/base/command_line.hpp"

#include <CLI/CLI.hpp>
#include <sstream>
#include <utility>

namespace omnio::base {

OptionHandle OptionHandle::required(bool is_required) const {
  option_->required(is_required);
  return *this;
}

OptionHandle OptionHandle::typeName(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

OptionHandle OptionHandle::check(WordCheck check) const {
  option_->check(
      CLI::Validator([check = std::move(check)](std::string& word) { return check(word); }, ""));
  return *this;
}

OptionHandle OptionHandle::oneOf(std::vector<std::string> words) const {
  option_->check(CLI::IsMember(std::move(words)));
  return *this;
}

OptionHandle OptionHandle::between(int minimum, int maximum) const {
  option_->check(CLI::Range(minimum, maximum));
  return *this;
}

OptionHandle OptionHandle::positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

OptionHandle OptionHandle::showDefault() const {
  option_->capture_default_str();
  return *this;
}

OptionHandle OptionHandle::excludes(OptionHandle other) const {
  option_->excludes(other.option_);
  return *this;
}

OptionHandle OptionHandle::repeatable() const {
  option_->expected(1)->take_all();
  return *this;
}

OptionHandle OptionHandle::lastWins() const {
  option_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}

OptionHandle OptionHandle::hidden() const {
  option_->group("");
  return *this;
}

std::size_t OptionHandle::count() const { return option_->count(); }

namespace {

template <typename T>
OptionHandle added(CLI::App* app, const std::string& names, T& value, const std::string& help) {
  return OptionHandle(app->add_option(names, value, help));
}

}  // namespace

OptionHandle Command::option(const std::string& names, std::string& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::filesystem::path& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, int& value, const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, long& value, const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, unsigned& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::uint64_t& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, double& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::optional<int>& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::optional<unsigned>& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::optional<double>& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::vector<std::string>& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::option(const std::string& names, std::vector<std::filesystem::path>& value,
                             const std::string& help) const {
  return added(app_, names, value, help);
}

OptionHandle Command::flag(const std::string& names, bool& value, const std::string& help) const {
  return OptionHandle(app_->add_flag(names, value, help));
}

Command Command::subcommand(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

void Command::endOptionsAtFirstArgument() const { app_->positionals_at_end(); }

void Command::callback(std::function<void()> work) const { app_->callback(std::move(work)); }

void refuseMissing(const std::string& what) { throw CLI::RequiredError(what); }

Program::Program(const std::string& help, const std::string& name)
    : Command(nullptr), owned_(std::make_unique<CLI::App>(help, name)) {
  app_ = owned_.get();
}

Program::~Program() = default;

void Program::setVersion(const std::string& text) const {
  app_->set_version_flag("--version", text);
}

void Program::requireOneSubcommand() const { app_->require_subcommand(1); }

Parsed Program::parse(int argc, const char* const* argv) const {
  Parsed parsed;
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      std::ostringstream out;
      app_->exit(error, out, out);
      parsed.outcome = Parsed::Outcome::kShown;
      parsed.text = out.str();
    } else {
      parsed.outcome = Parsed::Outcome::kRefused;
      parsed.text = error.what();
    }
  }
  const auto subcommands = app_->get_subcommands();
  if (!subcommands.empty()) parsed.command = subcommands.front()->get_name();
  return parsed;
}

}  // namespace omnio::base
