// Prepared inputs that are kept from one replay to the next (--inputs keep). A note in the target
// says how each was made. Where the tree is made anew, the old one is put aside, beside it, and the
// files that the next replay wants come back. What is not as the note says is made again. A replay
// may be killed at any point: each file is in a tree that the next one looks into, and the note
// never says more than is true.
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

// Whether an entry of a target is the note, one that is not yet whole, or the directory for trees
// that are put aside.
bool isOfKeptInputs(const std::filesystem::directory_entry& entry);

// Before the tree of a target is removed: puts it aside, where a note says that it has inputs.
base::Result<void> putInputsAside(const std::filesystem::path& target);
// Removes what was put aside, and the note.
base::Result<void> forgetInputs(const std::filesystem::path& target);

struct KeptInputs {
  std::vector<bool> is_kept;        // by file
  std::vector<std::string> remade;  // a sentence for each that was kept, but is made anew
};
// After the directories of the new trees were made, by one process: moves inputs out of the trees
// that were put aside to where the plan wants them, notes that, and removes the rest. Links are not
// followed, and nothing outside of the target is touched.
base::Result<KeptInputs> takeInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                                    const Content& content);
// When all is prepared: writes the notes.
base::Result<void> noteInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                              const Content& content);

}  // namespace omnio::replay
