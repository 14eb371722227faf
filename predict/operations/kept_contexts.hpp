// The call stacks of contexts, kept beyond the run that they come from: as places in modules that
// are known by their content (build id or digest), never by addresses. So it can be told which
// contexts a later run cannot have again, since a library was updated in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event/call_stack.hpp"

namespace omnio::predict {

class KeptContexts {
 public:
  // Of more contexts, those beyond have no stack here; they are learnt all the same.
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  struct Module {
    std::string path;
    std::string build_id;  // or a digest of its code; empty: not known, so its name stands for it

    auto operator<=>(const Module&) const = default;
    template <typename Archive>
    void serialize(Archive& archive) {
      archive(path, build_id);
    }
  };
  struct Frame {
    std::uint32_t module =
        0;  // by number, from 1; 0: in no file, so that no other run has it again
    std::uint64_t offset = 0;  // of the return address, in the module as it is linked; 0 in no file

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(module, offset);
    }
  };

  // A context that an operation had; without a stack nullptr.
  void take(std::uint64_t context, const event::CallStack* stack);
  // Those that others have, too.
  void take(const KeptContexts& others);

  std::size_t size() const { return contexts_.size(); }
  bool has(std::uint64_t context) const { return contexts_.contains(context); }
  std::size_t countIn(const KeptContexts& others) const;

  // A module that another run has with another content, and how many of these contexts go through
  // it.
  struct Updated {
    std::string path;  // as the other run has it
    std::size_t contexts = 0;
  };
  // By path. A module that the other run has with the same content as well is none.
  std::vector<Updated> updatedIn(const KeptContexts& later) const;
  // Takes those of an earlier run, too, that the run of these may have again: those that go through
  // no module that was updated.
  void goOnWith(const KeptContexts& earlier);

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(modules_, contexts_);
    if constexpr (Archive::kReads) {
      for (std::uint32_t i = 0; i < modules_.size(); ++i) numbers_.emplace(modules_[i], i + 1);
      archive.require(fitsTogether(), "a context goes through a module that does not exist");
    }
  }

 private:
  std::uint32_t numberOf(const Module& module);
  void take(const KeptContexts& others, std::uint64_t context, const std::vector<Frame>& frames);
  // The modules that another run has with another content: its paths, by the number here.
  std::map<std::uint32_t, std::string> updatedModules(const KeptContexts& later) const;
  bool fitsTogether() const;

  std::vector<Module> modules_;  // by number - 1
  std::map<Module, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::vector<Frame>> contexts_;
};

}  // namespace omnio::predict
