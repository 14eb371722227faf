// Loops of a document while it is read (docs/formats/schedule.md, "Loops"): {"repeat":N,"body":[]}
// stands for the items of its body, N times, with the numbers of each turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/model/compact/turn_expressions.hpp"

namespace omnio::model {

// The loops that surround a place, and the values of their turns.
class TurnScope {
 public:
  TurnScope() = default;
  // In a program that ranks share: `rank` is a name, whose value is set by setRank().
  void beginRanks();
  void setRank(std::int64_t rank) { values_[0] = rank; }
  void endRanks();

  // A loop and the names of its lists; returns the place of its turn, which those of the lists
  // follow.
  std::size_t beginLoop(const std::vector<std::string>& lists);
  void endLoop();

  bool isEmpty() const { return names_.empty(); }
  const ExpressionNames& names() const { return names_; }
  std::vector<std::int64_t>& values() { return values_; }

 private:
  void nameAll();

  struct Loop {
    std::size_t turn = 0;
    std::vector<std::string> lists;
  };
  bool has_rank_ = false;
  std::vector<Loop> loops_;
  ExpressionNames names_;
  std::vector<std::int64_t> values_;
};

// An item whose numbers and names may change from turn to turn.
class TurnNode {
 public:
  // Refuses expressions that cannot be read. `in` and the scope outlive it.
  TurnNode(base::JsonReader& in, base::JsonNode node, TurnScope& scope);
  TurnNode(const TurnNode&) = delete;
  TurnNode& operator=(const TurnNode&) = delete;

  // As it is in the turns that the scope has; valid until the next call.
  const base::JsonNode& now();
  const base::JsonNode& node() const { return node_; }
  // Whether anything in it changes with the value of that place, or a name does.
  bool dependsOn(std::size_t place) const;
  bool hasNameOf(std::size_t place) const;

 private:
  struct Change {
    base::JsonNode* node = nullptr;  // in node_
    TurnText text;
    bool is_number = false;
    LinearSum sum;  // of a number
  };
  bool isName(std::string_view key) const;
  void find(base::JsonNode& node, const std::string& key);
  void takeSteps();

  base::JsonReader& in_;
  TurnScope& scope_;
  base::JsonNode node_;
  std::vector<Change> changes_;
};

// One loop, with all that is in it.
class Repeat {
 public:
  // The most that may be written out, and that there may be at all.
  static constexpr std::int64_t kMostWrittenOut = 100'000'000;
  static constexpr std::int64_t kMostTurns = std::int64_t{1} << 50;

  // `outer`: the product of the turns of the loops around it.
  Repeat(base::JsonReader& in, const base::JsonNode& node, TurnScope& scope,
         std::int64_t outer = 1);

  struct Visitor {
    // Before the first item of the loop, each time that it begins.
    std::function<void(const Repeat& loop)> begin;
    std::function<void(const base::JsonNode& item)> item;
  };
  void run(const Visitor& visitor);

  std::int64_t turns() const { return turns_; }
  std::size_t place() const { return place_; }  // of its turn among the values
  const std::vector<std::vector<std::int64_t>>& lists() const { return lists_; }
  // The largest product of the turns of loops that are inside each other.
  std::int64_t allTurns() const;
  // The loop's own members besides its body: "gap", "times".
  const base::JsonNode& node() const { return head_; }
  // Calls `take` with each item of the body and how often the loop has it. Numbers of the items are
  // not those of a turn.
  void forEachItem(const std::function<void(const base::JsonNode& item, std::int64_t turns)>& take,
                   std::int64_t outer = 1) const;

  struct Part {  // one of the two
    std::unique_ptr<TurnNode> item;
    std::unique_ptr<Repeat> loop;
  };
  const std::vector<Part>& body() const { return body_; }

 private:
  base::JsonReader& in_;
  TurnScope& scope_;
  base::JsonNode head_;
  std::int64_t turns_ = 0;
  std::size_t place_ = 0;
  std::vector<std::string> names_;
  std::vector<std::vector<std::int64_t>> lists_;
  std::vector<Part> body_;
};

}  // namespace omnio::model
