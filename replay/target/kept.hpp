// Prepared inputs that are kept from one replay to the next (--inputs keep). A note in the target
// says how each was made. Where the tree is made anew, they are put aside, beside the tree, and
// those that the next replay wants come back into it. What is not as the note says is made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/content.hpp"
#include "replay/target/targets.hpp"

namespace omnio::replay {

// A digest of all that the content of a prepared file follows from: its size, number, holes, line
// ends, and the kind of data. 16 hexadecimal digits.
std::string recipeOf(const Plan& plan, std::size_t file, const Content& content);

// Whether an entry of a target is the note, or the directory for what is put aside.
bool isOfKeptInputs(const std::filesystem::directory_entry& entry);

// Before the tree of a target is removed: moves the inputs that the note names, and that were not
// changed, out of it. Links are not followed, and nothing outside of the target is touched.
base::Result<void> putInputsAside(const std::filesystem::path& target);
// Removes what was put aside, and the note.
void forgetInputs(const std::filesystem::path& target);

struct KeptInputs {
  std::vector<bool> is_kept;        // by file
  std::vector<std::string> remade;  // a sentence for each that was kept, but is made anew
};
// After the directories of the new trees were made, by one process: moves what was put aside to
// where the plan wants it, notes that, and removes the rest.
base::Result<KeptInputs> takeInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                                    const Content& content);
// When all is prepared: writes the notes.
base::Result<void> noteInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                              const Content& content);

}  // namespace omnio::replay
