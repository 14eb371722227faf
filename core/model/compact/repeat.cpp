#include "core/model/compact/repeat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"
#include "core/model/compact/line_kinds.hpp"

namespace omnio::model {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

void TurnScope::beginRanks() {
  has_rank_ = true;
  values_.assign(1, 0);
  nameAll();
}

void TurnScope::endRanks() {
  has_rank_ = false;
  values_.clear();
  nameAll();
}

std::size_t TurnScope::beginLoop(const std::vector<std::string>& lists) {
  // Loops that are not inside each other come one after the other.
  if (loops_.empty()) values_.resize(has_rank_ ? 1 : 0);
  const std::size_t place = values_.size();
  loops_.push_back({.turn = place, .lists = lists});
  values_.resize(place + 1 + lists.size(), 0);
  nameAll();
  return place;
}

void TurnScope::endLoop() {
  // The values stay: items that were made in the loop know their places.
  loops_.pop_back();
  nameAll();
}

void TurnScope::nameAll() {
  names_.clear();
  if (has_rank_) names_["rank"] = 0;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const std::size_t from_inside = loops_.size() - i;
    names_[from_inside == 1 ? "turn" : fmt::format("turn{}", from_inside)] = loops_[i].turn;
    for (std::size_t k = 0; k < loops_[i].lists.size(); ++k) {
      names_[loops_[i].lists[k]] = loops_[i].turn + 1 + k;
    }
  }
}

TurnNode::TurnNode(JsonReader& in, JsonNode node, TurnScope& scope)
    : in_(in), scope_(scope), node_(std::move(node)) {
  takeSteps();
  find(node_, {});
}

// "step": what numbers of the item grow by in each turn of the loop that it is in.
void TurnNode::takeSteps() {
  auto* members = std::get_if<JsonNode::Members>(&node_.value);
  if (members == nullptr) return;  // refused as an item
  const auto found = std::ranges::find(*members, "step", &JsonNode::Members::value_type::first);
  if (found == members->end()) return;
  const JsonNode steps = std::move(found->second);
  members->erase(found);
  if (steps.as<JsonNode::Members>() == nullptr) {
    in_.refuse(steps.place, fmt::format("\"step\" has to be an object, not {}", steps.kind()));
    return;
  }
  const auto turn = scope_.names().find("turn");
  for (const auto& [key, step] : *steps.as<JsonNode::Members>()) {
    const auto* by = step.as<std::int64_t>();
    const auto target = std::ranges::find(*members, key, &JsonNode::Members::value_type::first);
    const auto* number = target == members->end() ? nullptr : target->second.as<std::int64_t>();
    if (by == nullptr || number == nullptr || turn == scope_.names().end()) {
      in_.refuse(step.place, fmt::format("no step for \"{}\"", base::inBrief(key)));
      return;
    }
    changes_.push_back({.node = &target->second,
                        .text = {},
                        .is_number = true,
                        .sum = {.constant = *number, .terms = {{turn->second, *by}}}});
  }
}

// "source" of a file is a name, and that of an event a descriptor.
bool TurnNode::isName(std::string_view key) const {
  return isNameKey(key) && (key != "source" || node_.find("command") == nullptr);
}

void TurnNode::find(JsonNode& node, const std::string& key) {
  if (auto* list = std::get_if<JsonNode::List>(&node.value)) {
    for (JsonNode& item : *list) find(item, key);
    return;
  }
  if (auto* members = std::get_if<JsonNode::Members>(&node.value)) {
    for (auto& [name, member] : *members) {
      if (name != "comment") find(member, name);
    }
    return;
  }
  const auto* text = node.as<std::string>();
  if (text == nullptr || text->find_first_of("{}") == std::string::npos) return;
  const bool is_name = isName(key);
  // Other texts are words, or bytes of the application, which may be any where a call failed.
  const bool may_be_number = text->starts_with('{') && text->ends_with('}') && key != "attribute" &&
                             key != "hints" && key != "type";
  if (!is_name && !may_be_number) return;
  auto parsed = TurnText::parsed(*text, scope_.names());
  if (!parsed) {
    in_.refuse(node.place, parsed.failure().sentence);
    return;
  }
  if (!is_name && !parsed->isNumber()) {
    in_.refuse(node.place, fmt::format("\"{}\" has to be one expression in braces", key));
    return;
  }
  Change change{.node = &node, .text = std::move(*parsed), .is_number = !is_name, .sum = {}};
  if (!is_name) change.sum = change.text.sum();
  changes_.push_back(std::move(change));
}

bool TurnNode::dependsOn(std::size_t place) const {
  return std::ranges::any_of(changes_, [place](const Change& change) {
    return change.is_number ? change.sum.uses(place) : change.text.uses(place);
  });
}

bool TurnNode::hasNameOf(std::size_t place) const {
  return std::ranges::any_of(changes_, [place](const Change& change) {
    return !change.is_number && change.text.uses(place);
  });
}

const JsonNode& TurnNode::now() {
  for (const Change& change : changes_) {
    bool is_possible = true;
    if (change.is_number) {
      const auto number = change.sum.at(scope_.values());
      is_possible = number.has_value();
      if (number) change.node->value = *number;
    } else {
      auto text = change.text.at(scope_.values());
      is_possible = text.has_value();
      if (text) change.node->value = std::move(*text);
    }
    if (!is_possible) {
      in_.refuse(change.node->place, change.is_number
                                         ? "a number grows beyond any number"
                                         : "a number in a name is negative, or beyond any number");
      break;
    }
  }
  return node_;
}

namespace {

std::vector<std::int64_t> numbersOf(JsonReader& in, std::string_view name, const JsonNode& list) {
  std::vector<std::int64_t> numbers;
  const auto* items = list.as<JsonNode::List>();
  if (items == nullptr) {
    in.refuse(list.place,
              fmt::format("\"{}\" has to be a list, not {}", base::inBrief(name), list.kind()));
    return numbers;
  }
  numbers.reserve(items->size());
  for (const JsonNode& item : *items) numbers.push_back(base::integerOf(in, name, item, {}));
  return numbers;
}

}  // namespace

Repeat::Repeat(JsonReader& in, const JsonNode& node, TurnScope& scope, std::int64_t outer)
    : in_(in), scope_(scope), head_{.value = JsonNode::Members{}, .place = node.place} {
  JsonObject object(in, node, JsonObject::Others::kAllowed);
  turns_ = object.integer("repeat", {.least = 1, .most = kMostTurns});
  if (turns_ > kMostTurns / std::max<std::int64_t>(outer, 1)) {
    object.refuse(fmt::format("loops with more than {} turns in all", kMostTurns));
  }
  if (const JsonNode* values = object.find("values")) {
    const auto* members = values->as<JsonNode::Members>();
    if (members == nullptr) {
      in.refuse(values->place,
                fmt::format("\"values\" has to be an object, not {}", values->kind()));
    } else {
      // There may be more lists than a JsonObject has members.
      for (const auto& [name, list] : *members) {
        names_.push_back(name);
        lists_.push_back(numbersOf(in, name, list));
        if (static_cast<std::int64_t>(lists_.back().size()) != turns_) {
          in.refuse(list.place, fmt::format("\"{}\" has {} values, and the loop has {} turns",
                                            base::inBrief(name), lists_.back().size(), turns_));
        }
        const bool is_word = !name.empty() && std::ranges::all_of(name, [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        });
        if (!is_word || name == "rank" || name == "turn") {
          in.refuse(list.place,
                    fmt::format("\"{}\" cannot be the name of a list", base::inBrief(name)));
        }
      }
    }
  }
  for (const auto& [key, member] : *node.as<JsonNode::Members>()) {
    if (key == "gap" || key == "times" || key == "comment") {
      std::get<JsonNode::Members>(head_.value).emplace_back(key, member);
    } else if (key != "repeat" && key != "values" && key != "body") {
      in.refuse(member.place, fmt::format("\"{}\" has no place here", base::inBrief(key)));
    }
  }
  place_ = scope.beginLoop(names_);
  for (const JsonNode& item : object.list("body")) {
    Part& part = body_.emplace_back();
    if (item.find("repeat") != nullptr) {
      part.loop = std::make_unique<Repeat>(in, item, scope, in.failed() ? 1 : outer * turns_);
    } else {
      part.item = std::make_unique<TurnNode>(in, item, scope);
    }
  }
  scope.endLoop();
}

std::int64_t Repeat::allTurns() const {
  std::int64_t inside = 1;
  for (const Part& part : body_) {
    if (part.loop) inside = std::max(inside, part.loop->allTurns());
  }
  return turns_ * inside;
}

void Repeat::run(const Visitor& visitor) {
  visitor.begin(*this);
  for (std::int64_t turn = 0; turn < turns_ && !in_.failed(); ++turn) {
    std::vector<std::int64_t>& values = scope_.values();
    values[place_] = turn;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      values[place_ + 1 + i] = lists_[i][static_cast<std::size_t>(turn)];
    }
    for (const Part& part : body_) {
      if (in_.failed()) return;
      if (part.loop) {
        part.loop->run(visitor);
      } else {
        visitor.item(part.item->now());
      }
    }
  }
}

void Repeat::forEachItem(const std::function<void(const JsonNode& item, std::int64_t turns)>& take,
                         std::int64_t outer) const {
  for (const Part& part : body_) {
    if (part.loop) {
      part.loop->forEachItem(take, outer * turns_);
    } else {
      take(part.item->node(), outer * turns_);
    }
  }
}

}  // namespace omnio::model
