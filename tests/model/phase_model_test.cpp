#include "core/model/phase_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"

namespace omnio::model {
namespace {

// A model with everything in it that the document can say.
PhaseModel example() {
  PhaseModel model;
  model.source = "run.trace";
  model.source_whole = false;
  model.command = {"app", "-n", "a\"b"};
  model.processes = 4;
  model.files = {{.path = "/s/shared", .shared = true, .size_bytes = 4096},
                 {.path = "/s/out.{rank}", .shared = false, .size_bytes = 100}};
  Phase strided;
  strided.ranks = {0, 1, 2, 3};
  strided.operations.resize(2);
  strided.operations[0].request_bytes = 256;
  strided.operations[0].repetitions = 4;
  strided.operations[0].displacement_bytes = 1024;
  strided.operations[0].init_offset = {{.base = 64, .per_rank = 256, .grid = {}}, true, {}};
  strided.operations[1] = strided.operations[0];
  strided.operations[1].operation = Operation::kRead;
  strided.operations[1].init_offset.base = 320;
  strided.weight_bytes = 2 * 4 * 4 * 256;
  strided.first_tick = 3;
  strided.last_tick = 11;
  strided.ticks = {{.rank = 0, .first = 3, .last = 9}, {.rank = 2, .first = 5, .last = 11}};
  strided.mode = AccessMode::kStrided;
  strided.pointer = PointerKind::kIndividual;
  strided.collective = true;
  strided.blocking = false;
  strided.has_view = true;
  strided.etype_bytes = 8;
  strided.begin_ns = 10;
  strided.end_ns = 500;
  strided.io = {.data_ns = 150, .metadata_ns = 30, .sync_ns = 20, .waiting_ns = 5};

  Phase random;
  random.id = 2;
  random.file = 1;
  random.ranks = {1, 3};
  random.mode = AccessMode::kRandom;
  random.interface = Interface::kStdio;
  random.pointer = PointerKind::kShared;
  PhaseOperation operation;
  operation.request_bytes = 13;
  operation.repetitions = 2;
  operation.varying = true;
  operation.smallest_bytes = 10;
  operation.largest_bytes = 20;
  operation.requests = 4;
  operation.weight_bytes = 50;
  operation.by_process = {
      {.rank = 1, .requests = 3, .bytes = 30, .smallest_bytes = 10, .largest_bytes = 10},
      {.rank = 3, .requests = 1, .bytes = 20, .smallest_bytes = 20, .largest_bytes = 20}};
  operation.init_offset = {{}, true, {{1, 70}, {3, 5}}};
  random.operations = {operation};
  random.weight_bytes = 50;
  random.random = {{.rank = 1, .operation = 0, .requests = {{70, 10}, {5, 10}}, .left_out = 1}};

  Phase unknown = random;
  unknown.id = 7;
  unknown.operations[0].init_offset = {{}, false, {}};
  unknown.random.clear();

  // 2 x 3 requests of 8 bytes; of rank 1 another way. Ranks make a grid.
  Phase nested = strided;
  nested.id = 8;
  nested.mode = AccessMode::kNested;
  nested.operations.resize(1);
  nested.operations[0].request_bytes = 8;
  nested.operations[0].repetitions = 6;
  nested.operations[0].init_offset = {
      {.base = 0, .per_rank = 0, .grid = {{2, 8}, {2, 600}}}, true, {}};
  nested.operations[0].several_blocks = true;
  nested.operations[0].nominal = true;
  nested.operations[0].in_view = {.init_offset = {{.base = 5, .per_rank = 0, .grid = {}}, true, {}},
                                  .displacement = 40};
  const auto row = [](std::int64_t stride) {
    return pattern::loopOf(0, 2, 100, {pattern::loopOf(0, 3, stride, {pattern::requestAt(0, 8)})});
  };
  nested.operations[0].nested = {{.ranks = {0, 2, 3}, .part = row(16)},
                                 {.ranks = {1}, .part = row(24)}};
  nested.weight_bytes = 4 * 6 * 8;
  nested.opened = {.flags = "MPI_MODE_RDWR", .atomic = true, .hints = {{"cb_nodes", "2"}}};
  nested.ranks_per_node = 2;
  nested.calls = {{"MPI_File_open", 4}, {"MPI_File_write_at", 24}};
  model.phases = {strided, random, unknown, nested};
  model.left_out = {"one thing", "another"};
  model.chain_ns = 12345;
  return model;
}

class PhaseModelTest : public testing::Test {
 protected:
  // The document, with one text in it replaced by another.
  std::string changed(const std::string& from, const std::string& to) {
    std::string text = jsonOf(example());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return text;
  }

  base::Result<PhaseModel> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return readPhaseModel(path_);
  }

  // Why the document with that change is refused.
  std::string complaint(const std::string& from, const std::string& to) {
    return complaintAbout(changed(from, to));
  }
  std::string complaintAbout(const std::string& text) {
    const base::Result<PhaseModel> model = read(text);
    if (model) return "(read)";
    const std::string& sentence = model.failure().sentence;
    EXPECT_EQ(sentence.substr(0, path_.native().size()), path_.native());
    return sentence.substr(std::min(path_.native().size(), sentence.size()));
  }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "model.json";
};

TEST_F(PhaseModelTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(writePhaseModel(path_, example()));
  const base::Result<PhaseModel> model = readPhaseModel(path_);
  ASSERT_TRUE(model) << model.failure().sentence;
  // The document has all of the model, so that equal documents are equal models.
  EXPECT_EQ(jsonOf(*model), jsonOf(example()));
  EXPECT_FALSE(model->source_whole);
  EXPECT_EQ(model->command[2], "a\"b");
  EXPECT_EQ(model->phases[0].operations[1].init_offset.at(3), 320 + 3 * 256);
  EXPECT_EQ(model->phases[1].operations[0].init_offset.at(3), 5);
  EXPECT_EQ(model->phases[1].random[0].requests[1].first, 5);
  EXPECT_FALSE(model->phases[2].operations[0].init_offset.known);
  EXPECT_EQ(model->phases[3].operations[0].init_offset.at(3), 608);
  EXPECT_EQ(model->phases[3].opened.hints[0].second, "2");
  EXPECT_EQ(model->phases[3].calls[1].second, 24U);
  EXPECT_EQ(pattern::requestOf(model->phases[3].operations[0].nested[1].part, 5).offset, 148);
}

// Four processes that make and close two files each, in a directory of their own.
PhaseModel ofMetadata() {
  PhaseModel model;
  model.source = "run.trace";
  model.processes = 4;
  model.files = {{.path = "/s/rank.{rank}", .shared = false, .directory = true}};
  Phase phase;
  phase.ranks = {0, 1, 2, 3};
  phase.interface = Interface::kPosix;
  phase.metadata = {.operations = 16, .creates = 8, .directories = 4};
  phase.calls = {{"close", 8}, {"open", 8}};
  phase.begin_ns = 5;
  phase.end_ns = 50;
  phase.io = {.metadata_ns = 30};
  model.phases = {phase};
  return model;
}

TEST_F(PhaseModelTest, AMetadataPhaseIsReadAsItWasWritten) {
  ASSERT_TRUE(writePhaseModel(path_, ofMetadata()));
  const base::Result<PhaseModel> model = readPhaseModel(path_);
  ASSERT_TRUE(model) << model.failure().sentence;
  EXPECT_EQ(jsonOf(*model), jsonOf(ofMetadata()));
  const Phase& phase = model->phases.at(0);
  EXPECT_TRUE(phase.isMetadata());
  EXPECT_EQ(phase.metadata.operations, 16U);
  EXPECT_EQ(phase.metadata.creates, 8U);
  EXPECT_EQ(phase.io, (event::IoTime{.metadata_ns = 30}));
  EXPECT_TRUE(model->files[0].directory);
}

TEST_F(PhaseModelTest, NonsenseInAMetadataPhaseIsRefused) {
  const auto complaintOf = [this](const std::string& from, const std::string& to) {
    std::string text = jsonOf(ofMetadata());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
    text.replace(at, from.size(), to);
    const std::string complaint = complaintAbout(text);
    return complaint.substr(std::min(complaint.find('"'), complaint.size()));
  };
  EXPECT_EQ(complaintOf("\"close\": 8", "\"close\": 7"),
            "\"calls\" add up to 15, and the operations of \"metadata\" are 16");
  EXPECT_EQ(complaintOf("\"creates\": 8", "\"creates\": 17"),
            "\"creates\" is 17, of 16 operations");
  EXPECT_EQ(complaintOf("\"directory\": true", "\"directory\": false"),
            "\"file\" has to be a directory: the phase is of metadata");
  EXPECT_EQ(complaintOf("\"operations\": 16", "\"operations\": 0"),
            "\"operations\" is 0; it has to be from 1 to 1152921504606846976");
}

TEST_F(PhaseModelTest, AModelOfNothingIsAModel) {
  ASSERT_TRUE(writePhaseModel(path_, {}));
  EXPECT_TRUE(readPhaseModel(path_));
}

TEST_F(PhaseModelTest, WhatCannotBeWrittenIsSaid) {
  const auto written = writePhaseModel(directory_ / "none" / "model.json", example());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.failure().sentence, "cannot write " +
                                            (directory_ / "none" / "model.json").native() +
                                            ": No such file or directory");
}

TEST_F(PhaseModelTest, WhatIsNoModelIsRefused) {
  EXPECT_EQ(readPhaseModel(directory_ / "none").failure().code, base::Code::kNotFound);
  EXPECT_EQ(complaintAbout(""), ": empty");
  EXPECT_EQ(complaintAbout("[]"), ": line 1, column 1: has to be an object");
  EXPECT_EQ(complaintAbout("{\"format\":\"omnio-stats\",\"version\":1}"),
            ": line 1, column 23: not a phase model: \"format\" is not \"omnio-phases\"");
  EXPECT_EQ(complaint("\"version\": 3", "\"version\": 1"),
            ": line 3, column 13: a phase model of version 1, but this omnio reads version 3");
  EXPECT_EQ(complaint("\"version\": 3", "\"version\": \"2\""),
            ": line 3, column 15: \"version\" has to be a whole number, not a text");
}

TEST_F(PhaseModelTest, EveryCutIsRefused) {
  const std::string text = jsonOf(example());
  for (std::size_t length = 0; length + 2 < text.size(); length += 5) {
    EXPECT_FALSE(read(text.substr(0, length))) << length;
  }
  EXPECT_EQ(complaintAbout(text.substr(0, 10)),
            ": line 2, column 9: not JSON: Missing a closing quotation mark in string");
}

TEST_F(PhaseModelTest, NonsenseIsRefusedWithItsPlace) {
  EXPECT_EQ(complaint("\"request_bytes\": 256", "\"request_bytes\": -256"),
            ": line 24, column 26: \"request_bytes\" is -256; it has to be from 1 to "
            "1152921504606846976");
  EXPECT_EQ(complaint("\"request_bytes\": 256", "\"request_bytes\": 1.5"),
            ": line 24, column 25: \"request_bytes\" has to be a whole number, not a number");
  EXPECT_EQ(complaint("\"repetitions\": 4", "\"repetitions\": \"4\""),
            ": line 25, column 23: \"repetitions\" has to be a whole number, not a text");
  EXPECT_EQ(complaint("\"repetitions\": 4", "\"repetitions\": 1152921504606846976"),
            ": line 25, column 39: \"repetitions\" is 1152921504606846976, which with 256 bytes "
            "each is more than any file has");
  EXPECT_EQ(complaint("\"weight_bytes\": 8192", "\"weight_bytes\": 8193"),
            ": line 42, column 23: \"weight_bytes\" is 8193, but the operations add up to 8192");
  EXPECT_EQ(complaint("\"file\": 0", "\"file\": 2"),
            ": line 21, column 12: \"file\" is 2; it has to be from 0 to 1");
  EXPECT_EQ(complaint("\"ranks\": [0, 1, 2, 3]", "\"ranks\": [0, 1, 2, 4]"),
            ": line 41, column 23: \"ranks\" is 4; it has to be from 0 to 3");
  EXPECT_EQ(complaint("\"ranks\": [0, 1, 2, 3]", "\"ranks\": [0, 2, 1, 3]"),
            ": line 41, column 20: it has to be greater than the rank before");
  EXPECT_EQ(complaint("\"ranks\": [0, 1, 2, 3]", "\"ranks\": []"),
            ": line 41, column 13: \"ranks\" is empty");
  EXPECT_EQ(complaint("\"base\": 64", "\"base\": -64"),
            ": line 30, column 5: it gives rank 0 an offset below 0");
  EXPECT_EQ(complaint("\"mode\": \"strided\"", "\"mode\": \"spiral\""),
            ": line 46, column 19: unknown mode \"spiral\"; it has to be one of sequential, "
            "strided, nested, random");
  EXPECT_EQ(complaint("\"collective\": true", "\"collective\": 1"),
            ": line 49, column 18: \"collective\" has to be true or false, not a whole number");
  EXPECT_EQ(complaint("\"id\": 2", "\"id\": 1"),
            ": line 62, column 10: \"id\" has to be greater than that of the phase before");
  EXPECT_EQ(complaint("\"processes\": 4", "\"processes\": 0"),
            ": line 9, column 15: \"processes\" is 0; it has to be from 1 to 16777216");
  EXPECT_EQ(complaint("\"end_ns\": 500", "\"end_ns\": 5"),
            ": line 55, column 15: \"end_ns\" is 5; it has to be from 10 to 1152921504606846976");
}

TEST_F(PhaseModelTest, NonsenseInVaryingAndRandomRequestsIsRefused) {
  EXPECT_EQ(
      complaint("\"largest_bytes\": 20", "\"largest_bytes\": 12"),
      ": line 76, column 24: \"weight_bytes\" is 50, which 4 requests of 10 to 12 bytes cannot be");
  EXPECT_EQ(
      complaint("[3, 5]", "[2, 5]"),
      ": line 70, column 31: \"table\" has to have the phase's ranks, each once and in order");
  EXPECT_EQ(complaint("[3, 5]", "[3, 5, 6]"),
            ": line 70, column 33: \"table\" has to hold lists of two numbers");
  EXPECT_EQ(complaint("\"rank\": 1", "\"rank\": 2"),
            ": line 100, column 14: \"rank\" is 2, which is not in the phase");
  EXPECT_EQ(
      complaint("[5, 10]", "[-5, 10]"),
      ": line 102, column 31: \"requests\" is -5; it has to be from 0 to 1152921504606846976");
}

TEST_F(PhaseModelTest, NonsenseInWhatProcessesDidIsRefused) {
  EXPECT_EQ(complaint("[2, 5, 11]", "[2, 5]"),
            ": line 45, column 29: \"ticks\" has to hold lists of 3 numbers");
  EXPECT_EQ(complaint("[2, 5, 11]", "[0, 5, 11]"),
            ": line 45, column 33: its rank has to be greater than the one before");
  EXPECT_EQ(complaint("[[0, 3, 9], ", "["),
            ": line 45, column 22: it has to begin with the first rank of the phase");
  EXPECT_EQ(complaint("[2, 5, 11]", "[4, 5, 11]"),
            ": line 45, column 26: \"ticks\" is 4; it has to be from 0 to 3");
  EXPECT_EQ(complaint("[1, 3, 30, 10, 10]", "[1, 3, 31, 10, 10]"),
            ": line 77, column 58: \"processes\" does not add up to \"requests\" and "
            "\"weight_bytes\"");
  EXPECT_EQ(complaint("[1, 3, 30, 10, 10]", "[1, 0, 30, 10, 10]"),
            ": line 77, column 25: \"processes\" is 0; it has to be from 1 to 1152921504606846976");
  EXPECT_EQ(complaint("\"displacement\": 40", "\"displacement\": \"40\""),
            ": line 160, column 26: \"displacement\" has to be a whole number, not a text");
}

// Whatever stands in a document: it is refused, or it is a model that says the same when written.
TEST_F(PhaseModelTest, ChangedDocumentsAreRefusedOrSound) {
  const std::string good = jsonOf(example());
  const std::vector<std::string> words = {"-1",   "0",  "1e99",  "18446744073709551615",
                                          "null", "{}", "[]",    "\"\\u0000\"",
                                          "true", ",",  "[[[[]", "9223372036854775807"};
  std::mt19937 chance(7);
  int sound = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (unsigned changes = chance() % 3 + 1; changes > 0; --changes) {
      const std::size_t at = chance() % text.size();
      // Mostly a value is changed, which leaves the document JSON.
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (chance() % 4 == 0 || digit == std::string::npos) {
        text[at] = static_cast<char>(chance() % 256);
      } else {
        const std::size_t end = text.find_first_not_of("0123456789", digit);
        text.replace(digit, end - digit, words[chance() % words.size()]);
      }
    }
    const base::Result<PhaseModel> model = read(text);
    if (!model) {
      EXPECT_TRUE(model.failure().sentence.starts_with(path_.native()));
      continue;
    }
    ++sound;
    const std::string written = jsonOf(*model);
    const base::Result<PhaseModel> again = read(written);
    ASSERT_TRUE(again) << again.failure().sentence << text;
    EXPECT_EQ(jsonOf(*again), written);
  }
  EXPECT_GT(sound, 0);
}

TEST_F(PhaseModelTest, NonsenseInNestedRequestsIsRefused) {
  const auto end = [](const std::string& sentence) {
    return sentence.substr(sentence.find(": ", sentence.find("column")) + 2);
  };
  EXPECT_EQ(end(complaint("\"ranks\": [0, 2, 3]", "\"ranks\": [0, 2]")),
            "\"nested\" has to have the phase's ranks, each once");
  EXPECT_EQ(end(complaint("\"ranks\": [1]", "\"ranks\": [4]")),
            "\"ranks\" is 4; it has to be from 0 to 3");
  EXPECT_EQ(end(complaint("\"repetitions\": 3", "\"repetitions\": 4")),
            "\"nested\" is of other requests or bytes than the operation");
  EXPECT_EQ(end(complaint("\"repetitions\": 3", "\"repetitions\": 1000000000000000000")),
            "\"repetitions\" is 1000000000000000000, which leads beyond what any file has");
  EXPECT_EQ(end(complaint("\"displacement_bytes\": 24", "\"displacement_bytes\": -24")),
            "it gives rank 1 an offset below 0");
  EXPECT_EQ(end(complaint("[2, 8], [2, 600]", "[0, 8], [2, 600]")),
            "\"grid\" is 0; it has to be from 1 to 1152921504606846976");
  std::string deep = R"({"offset_bytes": 0, "request_bytes": 8})";
  for (int i = 0; i < 40; ++i) {
    deep = R"({"offset_bytes": 0, "repetitions": 1, "displacement_bytes": 0, "requests": [)" +
           deep + "]}";
  }
  EXPECT_EQ(end(complaint("\"requests\": {", "\"requests\": " + deep + ", \"other\": {")),
            "nested too deeply");
}

TEST_F(PhaseModelTest, AModeThatIsNotThatOfTheRequestsIsRefused) {
  EXPECT_EQ(complaint("\"mode\": \"strided\"", "\"mode\": \"nested\""),
            ": line 46, column 19: \"mode\" is nested, and no operation has nested requests");
  EXPECT_NE(complaint("\"mode\": \"nested\"", "\"mode\": \"random\"")
                .find("\"mode\" has to be nested where requests are"),
            std::string::npos);
}

TEST_F(PhaseModelTest, UnknownAndMissingKeysAreRefused) {
  EXPECT_EQ(complaint("\"id\": 1", "\"id\": 1, \"extra\": 0"),
            ": line 20, column 22: \"extra\" has no place here");
  EXPECT_EQ(complaint("\"id\": 1", "\"id\": 1, \"id\": 1"),
            ": line 20, column 16: \"id\" appears twice in one object");
  EXPECT_EQ(complaint("\"blocking\": false,", ""), ": line 61, column 2: \"blocking\" is missing");
  EXPECT_EQ(complaint("\"left_out\": [\"one thing\", \"another\"]", "\"left_out\": \"one\""),
            ": line 229, column 18: \"left_out\" has to be a list, not a text");
}

}  // namespace
}  // namespace omnio::model
