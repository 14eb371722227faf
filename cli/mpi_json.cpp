#include "cli/mpi_json.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <iterator>

#include "cli/mpi_listing.hpp"

namespace omnio::cli {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void text(Writer& out, std::string_view value) {
  out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void rank(Writer& out, std::optional<int> value) {
  if (value) {
    out.Int(*value);
  } else {
    out.Null();
  }
}

void writeGroup(Writer& out, const OwnGroup& own, const MpiGroups& groups) {
  const RankGroup& group = groups.group(own.group);
  out.Key("comm");
  out.StartObject();
  out.Key("id");
  text(out, group.id);
  out.Key("kind");
  text(out, group.kind);
  out.Key("size");
  out.Int(group.size[own.side]);
  if (group.hasSides()) {
    out.Key("remote");
    out.Int(group.size[1 - own.side]);
  }
  out.EndObject();
}

void writeEvent(Writer& out, const MpiEventRef& event, const MpiNames& names) {
  out.StartObject();
  out.Key("rank");
  rank(out, names.rankOf(event.process));
  out.Key("thread");
  out.Uint(event.thread);
  out.Key("event");
  out.Uint64(event.number);
  out.Key("start_ns");
  out.Int64(event.start_ns);
  out.Key("call");
  text(out, event.row->name);
  out.EndObject();
}

void writeCounterparts(Writer& out, std::span<const MpiEventRef> events, const MpiNames& names) {
  out.Key("counterparts");
  out.StartArray();
  for (const MpiEventRef& event : events) writeEvent(out, event, names);
  out.EndArray();
}

void writeMessage(Writer& out, const MpiOperation& operation, ProcessIndex process,
                  const MpiNames& names, bool of_exchange) {
  out.Key(of_exchange ? "source" : "peer");
  rank(out, names.peerOf(operation, process));
  out.Key(of_exchange ? "source_seq" : "seq");
  out.Uint64(operation.seq);
}

void writeRequest(Writer& out, const EventPart& part, ProcessIndex process, const MpiNames& names) {
  const MpiOperation& operation = *part.operation;
  out.StartObject();
  if (operation.request != 0) {
    out.Key("request");
    out.Uint64(operation.request);
  }
  out.Key("kind");
  text(out, nameOf(operation.kind));
  if (operation.started.row != nullptr && part.part != Part::kBegun) {
    out.Key("started");
    writeEvent(out, operation.started, names);
  }
  if (operation.own != nullptr) writeGroup(out, *operation.own, names.groups());
  if (isMessage(operation)) {
    writeMessage(out, operation, process, names, false);
    out.Key("tag");
    out.Int(operation.tag);
    out.Key("bytes");
    out.Uint64(operation.bytes);
  } else if (operation.kind != OperationKind::kLocal) {
    if (operation.kind != OperationKind::kCollective) {
      out.Key("peer");
      rank(out, names.peerOf(operation, process));
    }
    out.Key("seq");
    out.Uint64(operation.seq);
  }
  out.Key("match");
  text(out, wordsOf(operation.match));
  const Listing listing = listingOf(operation, process);
  if (listing.came > 0) {
    out.Key("members");
    out.Uint64(listing.came);
  }
  writeCounterparts(out, listing.events, names);
  out.EndObject();
}

// What goes into an object that somebody else has begun.
class Members {
 public:
  Members() : json(buffer_) { json.StartObject(); }
  rapidjson::StringBuffer buffer_;
  Writer json;

  // With a comma before them; without the brace that began it.
  void appendTo(std::string& out) const {
    const std::string_view written(buffer_.GetString(), buffer_.GetSize());
    if (written.size() <= 1) return;
    out += ',';
    out += written.substr(1);
  }
};

void writeCount(Writer& out, const MpiCounts::Of& counts) {
  out.StartObject();
  out.Key("count");
  out.Uint64(counts.all);
  out.Key("matched");
  out.Uint64(counts.matched());
  out.Key("needs_none");
  out.Uint64(counts.by_match[static_cast<std::size_t>(Match::kNobody)]);
  out.Key("cancelled");
  out.Uint64(counts.by_match[static_cast<std::size_t>(Match::kCancelled)]);
  out.Key("unmatched");
  out.Uint64(counts.unmatched());
  if (counts.unmatched() > 0) {
    out.Key("reasons");
    out.StartObject();
    for (std::size_t i = 0; i < counts.by_match.size(); ++i) {
      const auto match = static_cast<Match>(i);
      if (!isUnmatched(match) || counts.by_match[i] == 0) continue;
      const std::string_view words = wordsOf(match);
      out.Key(words.data(), static_cast<rapidjson::SizeType>(words.size()));
      out.Uint64(counts.by_match[i]);
    }
    out.EndObject();
  }
  out.EndObject();
}

}  // namespace

void appendMpiJsonSeen(std::string& out, const Event& event, const MpiEventRef& ref,
                       const MpiNames& names) {
  Members members;
  members.json.Key("event");
  members.json.Uint64(ref.number);
  const auto group = static_cast<std::uint64_t>(argumentOf(event, calls::Role::kComm));
  const OwnGroup* own = names.groups().own(ref.process, group);
  if (own != nullptr) writeGroup(members.json, *own, names.groups());
  members.appendTo(out);
}

void appendMpiJsonSettled(std::string& out, const MatchedEvent& event, const MpiNames& names) {
  Members members;
  Writer& json = members.json;
  const ProcessIndex process = event.event.process;
  const bool is_list = isList(event);
  if (!is_list) {
    bool sends = false;
    std::vector<MpiEventRef> all;
    for (const EventPart& part : event.parts) {
      const MpiOperation& operation = *part.operation;
      if (isMessage(operation)) {
        writeMessage(json, operation, process, names, sends && isReceive(operation));
        sends = sends || !isReceive(operation);
      } else if (operation.kind == OperationKind::kCollective) {
        json.Key("seq");
        json.Uint64(operation.seq);
        if (calls::has(*event.event.row, calls::Role::kRoot)) {
          json.Key("root");
          rank(json, names.rootOf(operation, process));
        }
      }
      const Listing listing = listingOf(operation, process);
      if (listing.came > 0) {
        json.Key("members");
        json.Uint64(listing.came);
      }
      all.insert(all.end(), listing.events.begin(), listing.events.end());
    }
    if (ordersRanks(event)) writeCounterparts(json, all, names);
  } else {
    json.Key("requests");
    json.StartArray();
    for (const EventPart& part : event.parts) writeRequest(json, part, process, names);
    json.EndArray();
  }
  json.Key("matched");
  json.Bool(event.matched());
  if (!event.matched()) {
    json.Key("unmatched");
    text(json, reasonOf(event));
  }
  json.Key("waited_ns");
  if (event.waited_ns) {
    json.Int64(*event.waited_ns);
  } else {
    json.Null();
  }
  json.Key("own_ns");
  if (const auto own = event.own_ns()) {
    json.Int64(*own);
  } else {
    json.Null();
  }
  if (event.late != kNoProcess) {
    json.Key("late");
    rank(json, names.rankOf(event.late));
  }
  members.appendTo(out);
  out += "}\n";
}

void appendMpiJsonSummary(std::string& out, const MpiPictureEnd& end, std::uint64_t behind) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  json.Key("summary");
  json.StartObject();
  json.Key("events");
  json.Uint64(end.counts.events);
  json.Key("unmatched");
  json.Uint64(end.counts.unmatched);
  json.Key("sends");
  writeCount(json, end.counts.sends);
  json.Key("receives");
  writeCount(json, end.counts.receives);
  json.Key("probes");
  writeCount(json, end.counts.probes);
  json.Key("collectives");
  json.StartObject();
  for (const auto& [name, counts] : end.counts.collectives) {
    json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    writeCount(json, counts);
  }
  json.EndObject();
  json.Key("epochs");
  writeCount(json, end.counts.epochs);
  json.Key("missing_events");
  json.Uint64(end.missing);
  json.Key("behind_later");
  json.Uint64(behind);
  json.EndObject();
  json.EndObject();
  out.append(buffer.GetString(), buffer.GetSize());
  out += '\n';
}

}  // namespace omnio::cli
