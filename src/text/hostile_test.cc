// Every malformed tokenizer.json of tests/data/hostile: refused with the words that a good message has, or
// read as the library does.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/json_write.h"
#include "base/mapped_file.h"
#include "text/tokenizer.h"

namespace outrider::text {
namespace {

using base::Json;
namespace fs = std::filesystem;

const std::string kFolder = OUTRIDER_TEST_DATA "/hostile/";

std::string read(const std::string& path) {
  auto text = base::read_text_file(path);
  EXPECT_TRUE(text.ok());
  return text.ok() ? *text : "";
}

// A folder that vanishes with the test.
struct Scratch {
  fs::path path = fs::path(testing::TempDir()) / ("outrider_text_" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

// merges_10000000: tokenizer/ok.json with its list of merges made up to so many entries by one that is there.
std::string with_merges(std::size_t count) {
  std::string text = read(kFolder + "tokenizer/ok.json");
  const std::size_t merges = text.find("\"merges\"");
  const std::size_t open = text.find('[', merges) + 1;
  std::string more;
  for (std::size_t i = 0; i < count; ++i) more += "[\"h\",\"e\"],";
  return text.insert(open, more);
}

std::vector<std::string> words_of(const Json& item, const char* key) {
  std::vector<std::string> words;
  if (const Json* list = item.find(key)) {
    for (const Json& word : *list->array()) words.push_back(*word.string());
  }
  return words;
}

void check_case(const Json& item) {
  const Scratch scratch;
  const Json* file = item.find("file");
  std::string path;
  if (file->string() == nullptr) {
    ASSERT_EQ(*item.find("name")->string(), "tokenizer/merges_10000000");
    path = scratch.write("tokenizer.json", with_merges(10'000'000));
  } else if (const Json* given = item.find("given")) {
    scratch.write("tokenizer.json", read(kFolder + *file->string()));
    base::JsonWriter writer;
    scratch.write("config.json", writer.value(*given).text());
    path = scratch.path.string();
  } else {
    path = kFolder + *file->string();
  }
  auto loaded = load_tokenizer(path);
  std::string message = loaded.ok() ? "" : base::to_string(loaded.error());
  if (loaded.ok() && item.find("probe") != nullptr) {
    const auto ids = loaded->encode(*item.find("probe")->string(), true);
    if (!ids.ok()) {
      message = base::to_string(ids.error());
    } else if (const Json* expected = item.find("ids")) {
      ASSERT_EQ(ids->size(), expected->array()->size());
      for (std::size_t i = 0; i < ids->size(); ++i) EXPECT_EQ((*ids)[i], *(*expected->array())[i].integer());
    }
  }
  const bool refused = !message.empty(), should = *item.find("expect")->string() == "refuse";
  if (item.find("or_bounded") == nullptr) {
    EXPECT_EQ(refused, should) << message;
  }
  if (!refused) return;
  for (const std::string& word : words_of(item, "names"))
    EXPECT_NE(message.find(word), std::string::npos) << word << " in " << message;
  for (const std::string& word : words_of(item, "must_not_contain"))
    EXPECT_EQ(message.find(word), std::string::npos) << message;
}

TEST(HostileTokenizer, EveryCaseIsRefusedWithItsWordsOrRead) {
  const auto cases = base::parse_json(read(kFolder + "cases.json"), "cases.json");
  ASSERT_TRUE(cases.ok());
  const Json* list = cases->array() != nullptr ? &*cases : cases->find("cases");
  std::size_t count = 0;
  for (const Json& item : *list->array()) {
    if (*item.find("kind")->string() != "tokenizer") continue;
    SCOPED_TRACE(*item.find("name")->string());
    check_case(item);
    ++count;
  }
  EXPECT_EQ(count, 31u);
}

// A file of the healthy one's text with `from` replaced.
base::Result<Tokenizer> load_changed(const std::string& from, const std::string& to) {
  std::string text = read(kFolder + "tokenizer/ok.json");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const auto json = base::parse_json(text, "tokenizer.json");
  EXPECT_TRUE(json.ok());
  return parse_tokenizer(*json, "tokenizer.json");
}

TEST(HostileTokenizer, ListsTwentyFaultsOfAPartAndTheirCount) {
  std::string merges;
  for (int i = 0; i < 1000; ++i) merges += "[\"q\",\"q\"],";
  const auto loaded = load_changed("\"merges\":[", "\"merges\":[" + merges);
  ASSERT_FALSE(loaded.ok());
  ASSERT_EQ(loaded.error().problems.size(), 21u);
  EXPECT_NE(loaded.error().problems.back().rule.find("1000 faults"), std::string::npos);
}

TEST(HostileTokenizer, ListsTheFaultsOfAllPartsTogether) {
  std::string text = read(kFolder + "tokenizer/ok.json");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"type\":\"NFC\"", "\"type\":\"Squash\""},
                                                        {"\"dropout\":null", "\"dropout\":0.1"},
                                                        {"\"id\":266", "\"id\":-4"}}) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  const auto json = base::parse_json(text, "tokenizer.json");
  ASSERT_TRUE(json.ok());
  const auto loaded = parse_tokenizer(*json, "tokenizer.json");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().problems.size(), 3u) << base::to_string(loaded.error());
}

TEST(HostileTokenizer, RefusesATopLevelThatIsNoObject) {
  for (const char* text : {"null", "[]", "1", "\"tokenizer\"", "{}"}) {
    const auto json = base::parse_json(text, "tokenizer.json");
    ASSERT_TRUE(json.ok());
    EXPECT_FALSE(parse_tokenizer(*json, "tokenizer.json").ok()) << text;
  }
}

TEST(HostileTokenizer, RefusesAFolderAFifoAndALoopOfLinksAsTokenizerJson) {
  const Scratch scratch;
  const std::string file = (scratch.path / "tokenizer.json").string();
  fs::create_directory(file);
  EXPECT_FALSE(load_tokenizer(scratch.path.string()).ok());
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(load_tokenizer(scratch.path.string()).ok());
  fs::remove(file);
  fs::create_symlink("tokenizer.json", file);
  EXPECT_FALSE(load_tokenizer(scratch.path.string()).ok());
}

TEST(HostileTokenizer, RefusesABrokenTokenizerConfigAndNamesThatAreNoTokens) {
  const Scratch scratch;
  scratch.write("tokenizer.json", read(kFolder + "tokenizer/ok.json"));
  EXPECT_TRUE(load_tokenizer(scratch.path.string()).ok());
  for (const char* config :
       {"{", "[]", R"({"eos_token":"<nope>"})", R"({"eos_token":7})", R"({"add_bos_token":"yes"})"}) {
    scratch.write("tokenizer_config.json", config);
    const auto loaded = load_tokenizer(scratch.path.string());
    ASSERT_FALSE(loaded.ok()) << config;
    EXPECT_NE(base::to_string(loaded.error()).find("tokenizer_config.json"), std::string::npos);
  }
  scratch.write("tokenizer_config.json",
                R"({"eos_token":{"content":"<|end|>"},"bos_token":null,"add_bos_token":false})");
  const auto loaded = load_tokenizer(scratch.path.string());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->named().eos, 266);
  EXPECT_FALSE(loaded->named().bos);
}

}  // namespace
}  // namespace outrider::text
