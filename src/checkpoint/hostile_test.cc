// Malformed and unusual files, each with the words that a good message contains:
// tests/data/hostile/README.md.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/open_model.h"

namespace outrider::checkpoint {
namespace {

namespace fs = std::filesystem;

const fs::path& data_folder() {
  static const fs::path folder = fs::path(OUTRIDER_TEST_DATA) / "hostile";
  return folder;
}

const std::vector<base::Json>& all_cases() {
  static const std::vector<base::Json> cases = [] {
    const auto text = base::read_text_file((data_folder() / "cases.json").string());
    const base::Json tree = base::parse_json(text.value(), "cases.json").value();
    return tree.array() != nullptr ? *tree.array() : *tree.find("cases")->array();
  }();
  return cases;
}

std::string text_of(const base::Json& item, const char* key) {
  const base::Json* value = item.find(key);
  return value != nullptr && value->string() != nullptr ? *value->string() : "";
}
bool flag_of(const base::Json& item, const char* key) {
  const base::Json* value = item.find(key);
  return value != nullptr && value->boolean() != nullptr && *value->boolean();
}
std::vector<std::string> texts_of(const base::Json& item, const char* key) {
  std::vector<std::string> texts;
  const base::Json* list = item.find(key);
  if (list == nullptr) return texts;
  for (const base::Json& text : *list->array()) texts.push_back(*text.string());
  return texts;
}

std::vector<base::Json> cases_of(const std::string& kind, bool with_base) {
  std::vector<base::Json> chosen;
  for (const base::Json& item : all_cases()) {
    if (text_of(item, "kind") == kind && text_of(item, "base").empty() != with_base) chosen.push_back(item);
  }
  return chosen;
}

std::string case_name(const testing::TestParamInfo<base::Json>& info) {
  std::string name = text_of(info.param, "name");
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

// What came of loading a case.
struct Outcome {
  bool accepted = false;
  std::string message;   // of the refusal
  std::string warnings;  // all of them
  std::vector<std::string> tensors;
};

Outcome open_tensors(const std::string& path) {
  Outcome outcome;
  const auto opened =
      Checkpoint::open(path, [&](const std::string& text) { outcome.warnings += text + "\n"; });
  outcome.accepted = opened.ok();
  if (!opened.ok()) {
    outcome.message = base::to_string(opened.error());
  } else {
    for (const auto& [name, entry] : opened->tensors()) outcome.tensors.push_back(name);
  }
  return outcome;
}

Outcome open_whole(const std::string& folder) {
  Outcome outcome;
  const auto opened =
      open_model(folder, {}, [&](const std::string& text) { outcome.warnings += text + "\n"; });
  outcome.accepted = opened.ok();
  if (!opened.ok()) outcome.message = base::to_string(opened.error());
  return outcome;
}

void expect_as_told(const base::Json& item, const Outcome& outcome) {
  const std::vector<std::string> names = texts_of(item, "names");
  if (text_of(item, "expect") == "accept") {
    EXPECT_TRUE(outcome.accepted) << outcome.message;
    for (const std::string& name : names) {
      if (flag_of(item, "warn")) {
        EXPECT_NE(outcome.warnings.find(name), std::string::npos) << outcome.warnings;
      } else {
        EXPECT_NE(std::find(outcome.tensors.begin(), outcome.tensors.end(), name), outcome.tensors.end())
            << name;
      }
    }
    return;
  }
  if (outcome.accepted && flag_of(item, "or_bounded")) return;
  ASSERT_FALSE(outcome.accepted) << text_of(item, "why");
  for (const std::string& name : names) {
    EXPECT_NE(outcome.message.find(name), std::string::npos)
        << "no \"" << name << "\" in: " << outcome.message;
  }
  for (const std::string& text : texts_of(item, "must_not_contain")) {
    EXPECT_EQ(outcome.message.find(text), std::string::npos) << outcome.message;
  }
}

class HostileTest : public testing::TestWithParam<base::Json> {
 protected:
  void SetUp() override {
    scratch_ = fs::path(testing::TempDir()) / ("outrider_hostile_" + std::to_string(::getpid()));
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
  }
  void TearDown() override { fs::remove_all(scratch_); }
  fs::path scratch_;
};

// A header with a million empty tensors and no data.
void write_million_entries(const fs::path& path) {
  std::string json = "{";
  for (int i = 0; i < 1'000'000; ++i) {
    json += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  json += "}";
  const std::uint64_t length = json.size();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(&length), 8)
      .write(json.data(), static_cast<std::streamsize>(json.size()));
}

class HostileContainer : public HostileTest {};

TEST_P(HostileContainer, IsAnsweredAsTold) {
  std::string file = (data_folder() / text_of(GetParam(), "file")).string();
  if (text_of(GetParam(), "name") == "safetensors/entries_1000000") {
    file = (scratch_ / "entries.safetensors").string();
    write_million_entries(file);
  } else {
    ASSERT_FALSE(text_of(GetParam(), "file").empty()) << "nobody generates this case";
  }
  expect_as_told(GetParam(), open_tensors(file));
}

INSTANTIATE_TEST_SUITE_P(Cases, HostileContainer, testing::ValuesIn(cases_of("safetensors", false)),
                         case_name);

class HostileIndex : public HostileTest {};

TEST_P(HostileIndex, IsAnsweredAsTold) {
  const fs::path source = (data_folder() / text_of(GetParam(), "file")).parent_path();
  const fs::path folder = scratch_ / "folder";
  fs::copy(source, folder, fs::copy_options::recursive);
  fs::copy(data_folder() / "index/ok", scratch_ / "ok", fs::copy_options::recursive);
  if (const base::Json* setup = GetParam().find("setup")) {
    for (const base::Json& step : *setup->array()) {
      if (step.find("symlink") != nullptr)
        fs::create_symlink(text_of(step, "to"), folder / text_of(step, "symlink"));
      if (step.find("mkdir") != nullptr) fs::create_directory(folder / text_of(step, "mkdir"));
      if (step.find("mkfifo") != nullptr) {
        ASSERT_EQ(::mkfifo((folder / text_of(step, "mkfifo")).c_str(), 0600), 0);
      }
    }
  }
  expect_as_told(GetParam(), open_tensors(folder.string()));
  expect_as_told(GetParam(), open_tensors((folder / "model.safetensors.index.json").string()));
}

INSTANTIATE_TEST_SUITE_P(Cases, HostileIndex, testing::ValuesIn(cases_of("index", false)), case_name);

// --- weights and config together: a copy of the base with one file changed ---

class HostileModel : public HostileTest {
 protected:
  fs::path copy_base() {
    const fs::path folder = scratch_ / "model";
    fs::copy(data_folder() / text_of(GetParam(), "base"), folder);
    return folder;
  }
};

// The base's config with one more key.
void add_key(const fs::path& config, const std::string& value) {
  std::string text = base::read_text_file(config.string()).value();
  text.insert(text.find('{') + 1, "\"x\":" + value + ",");
  std::ofstream(config, std::ios::binary) << text;
}

TEST_P(HostileModel, IsAnsweredAsTold) {
  const std::string name = text_of(GetParam(), "name"), file = text_of(GetParam(), "file");
  const fs::path folder = copy_base();
  if (name == "config/nesting_100000") {
    add_key(folder / "config.json", std::string(100'000, '[') + std::string(100'000, ']'));
  } else if (name == "config/string_50_mb") {
    add_key(folder / "config.json", "\"" + std::string(52'428'800, 'a') + "\"");
  } else if (name == "safetensors/truncated_while_open") {
    const auto opened = open_model(folder.string(), {}, nullptr);
    ASSERT_TRUE(opened.ok());
    fs::resize_file(folder / "model.safetensors", fs::file_size(folder / "model.safetensors") / 2);
    Outcome outcome;
    for (const char* tensor : {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"}) {
      const HeldTensor held = std::move(opened->weights->tensor(tensor)).value();
      for (std::int64_t i = 0; i < held.view.byte_count(); ++i)
        outcome.warnings += std::to_integer<char>(held.view.data[i]);
    }
    const auto check = opened->weights->check_unchanged();
    outcome.accepted = check.ok();
    if (!check.ok()) outcome.message = base::to_string(check.error());
    return expect_as_told(GetParam(), outcome);
  } else {
    const std::string replaces = text_of(GetParam(), "replaces");
    ASSERT_FALSE(file.empty()) << "nobody generates this case";
    fs::copy_file(data_folder() / file, folder / (replaces.empty() ? "config.json" : replaces),
                  fs::copy_options::overwrite_existing);
  }
  expect_as_told(GetParam(), open_whole(folder.string()));
}

INSTANTIATE_TEST_SUITE_P(Configs, HostileModel, testing::ValuesIn(cases_of("config", true)), case_name);
INSTANTIATE_TEST_SUITE_P(Weights, HostileModel, testing::ValuesIn(cases_of("safetensors", true)), case_name);

// A kind that nobody runs would be a hole in this file.
TEST(HostileCases, AreAllRunHereOrByTheTokenizersTests) {
  const std::size_t here = cases_of("safetensors", false).size() + cases_of("safetensors", true).size() +
                           cases_of("index", false).size() + cases_of("config", true).size();
  std::size_t others = 0;
  for (const base::Json& item : all_cases()) others += text_of(item, "kind") == "tokenizer" ? 1 : 0;
  EXPECT_EQ(here + others, all_cases().size());
  EXPECT_GT(here, 100u);
}

}  // namespace
}  // namespace outrider::checkpoint
