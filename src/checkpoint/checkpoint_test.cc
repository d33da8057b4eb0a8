#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "checkpoint/check_tensors.h"

namespace outrider::checkpoint {
namespace {

namespace fs = std::filesystem;

// One U8 tensor of four bytes for each name.
std::string file_of(const std::vector<std::string>& names) {
  std::string json = "{", data;
  for (const std::string& name : names) {
    json += (data.empty() ? "\"" : ",\"") + name + R"(":{"dtype":"U8","shape":[4],"data_offsets":[)" +
            std::to_string(data.size()) + "," + std::to_string(data.size() + 4) + "]}";
    data += name + std::string(4 - name.size(), '.');
  }
  json += "}";
  std::string file(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(file.data(), &length, 8);
  return file + json + data;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("outrider_checkpoint_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  base::Result<Checkpoint> open(const fs::path& path) {
    warnings_.clear();
    return Checkpoint::open(path.string(), [this](const std::string& text) { warnings_ += text + "\n"; });
  }
  std::string fault_of(const fs::path& path) {
    const auto opened = open(path);
    return opened.ok() ? "accepted" : base::to_string(opened.error());
  }
  void write_index(const fs::path& folder, const std::string& map) {
    write(folder / "model.safetensors.index.json",
          R"({"metadata":{"total_size":8},"weight_map":{)" + map + "}}");
  }

  fs::path root_;
  std::string warnings_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CheckpointTest, OpensAFileAFolderAndAnIndexWithPlacesAndBytes) {
  write(root_ / "m/model.safetensors", file_of({"a", "b"}));
  for (const fs::path& path : {root_ / "m/model.safetensors", root_ / "m"}) {
    const auto opened = open(path);
    ASSERT_TRUE(opened.ok()) << base::to_string(opened.error());
    const TensorEntry* entry = opened->find("b");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->file, "model.safetensors");
    EXPECT_EQ(std::memcmp(entry->view.data, "b...", 4), 0);
    EXPECT_EQ(entry->offset + 4, static_cast<std::int64_t>(fs::file_size(root_ / "m/model.safetensors")));
    EXPECT_EQ(opened->tensor("a")->view.data, opened->find("a")->view.data);
    EXPECT_FALSE(opened->tensor("c").ok());
    EXPECT_TRUE(opened->check_unchanged().ok());
    EXPECT_EQ(warnings_, "");
  }
}

TEST_F(CheckpointTest, FollowsTheLinksOfAHubCache) {
  write(root_ / "models--x/blobs/0123abcd", file_of({"a"}));
  write(root_ / "models--x/blobs/4567", file_of({"b"}));
  write(root_ / "models--x/blobs/89",
        R"({"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}})");
  write(root_ / "models--x/blobs/cc", R"({"k":1})");
  const fs::path snapshot = root_ / "models--x/snapshots/0f0f";
  fs::create_directories(snapshot);
  fs::create_symlink("../../blobs/0123abcd", snapshot / "model-1.safetensors");
  fs::create_symlink("../../blobs/4567", snapshot / "model-2.safetensors");
  fs::create_symlink("../../blobs/89", snapshot / "model.safetensors.index.json");
  fs::create_symlink("../../blobs/cc", snapshot / "config.json");
  EXPECT_EQ(fault_of(snapshot), "accepted");
  fs::create_directory_symlink(snapshot, root_ / "my-model");  // the user's own link to the folder
  EXPECT_EQ(fault_of(root_ / "my-model"), "accepted");
  EXPECT_TRUE(load_config(snapshot.string(), nullptr).ok());
}

TEST_F(CheckpointTest, RefusesLinksThatOnlyLookLikeAHubCache) {
  write(root_ / "x/blobs/aa", file_of({"a"}));
  write(root_ / "x/other/aa", file_of({"a"}));
  write(root_ / "elsewhere", file_of({"a"}));
  fs::create_symlink("../../elsewhere", root_ / "x/blobs/bb");
  fs::create_symlink(root_ / "x/blobs/missing", root_ / "x/blobs/cc");
  const auto fault_with = [&](const fs::path& folder, const fs::path& target) {
    fs::remove_all(root_ / folder);
    fs::create_directories(root_ / folder);
    fs::create_symlink(target, root_ / folder / "model.safetensors");
    return fault_of(root_ / folder);
  };
  EXPECT_EQ(fault_with("x/snapshots/r", "../../blobs/aa"), "accepted");
  EXPECT_TRUE(contains(fault_with("x/snapshots/r", "../../other/aa"), "must not leave the folder"));
  EXPECT_TRUE(contains(fault_with("x/snapshots/r", "../../blobs/bb"), "must not leave the folder"));
  EXPECT_TRUE(contains(fault_with("x/snapshots/r", "../../blobs/cc"), "must lead to a file"));
  EXPECT_TRUE(
      contains(fault_with("x/snapshots/r", "../../blobs/../../elsewhere"), "must not leave the folder"));
  EXPECT_TRUE(contains(fault_with("x/snapshots/r", root_ / "x/blobs/aa"), "must not leave the folder"));
  EXPECT_TRUE(contains(fault_with("x/shots/r", "../../blobs/aa"), "copy the file itself"));
  EXPECT_TRUE(contains(fault_with("x/snapshots/r", "model.safetensors"), "must lead to a file"));
}

TEST_F(CheckpointTest, FollowsALinkInsideTheFolder) {
  write(root_ / "m/weights/real.bin", file_of({"a"}));
  fs::create_symlink("weights/real.bin", root_ / "m/model.safetensors");
  EXPECT_EQ(fault_of(root_ / "m"), "accepted");
}

TEST_F(CheckpointTest, DoesNotWaitForAPipe) {
  fs::create_directories(root_ / "m");
  ASSERT_EQ(::mkfifo((root_ / "m/model.safetensors").c_str(), 0600), 0);
  EXPECT_TRUE(contains(fault_of(root_ / "m"), "regular file"));
  EXPECT_TRUE(contains(fault_of(root_ / "m/model.safetensors"), "regular file"));
  EXPECT_TRUE(contains(fault_of("/dev/zero"), "regular file"));
}

TEST_F(CheckpointTest, SaysWhatAFolderWithoutWeightsHolds) {
  write(root_ / "m/adapter.safetensors", file_of({"a"}));
  write(root_ / "m/pytorch_model.bin", "");
  const std::string fault = fault_of(root_ / "m");
  EXPECT_TRUE(contains(fault, "adapter.safetensors") && contains(fault, "convert")) << fault;
  EXPECT_NE(fault_of(root_ / "absent"), "accepted");
}

TEST_F(CheckpointTest, TellsOfFilesThatAreNotRead) {
  write(root_ / "m/model.safetensors", file_of({"a"}));
  write(root_ / "m/consolidated.safetensors", file_of({"a"}));
  EXPECT_EQ(fault_of(root_ / "m"), "accepted");
  EXPECT_TRUE(contains(warnings_, "consolidated.safetensors"));
}

TEST_F(CheckpointTest, RefusesAFolderWithTwoAnswers) {
  write(root_ / "m/model.safetensors", file_of({"a"}));
  write(root_ / "m/part.safetensors", file_of({"b", "c"}));
  write_index(root_ / "m", R"("b":"part.safetensors","c":"part.safetensors")");
  EXPECT_TRUE(contains(fault_of(root_ / "m"), "two different models"));
  EXPECT_EQ(fault_of(root_ / "m/model.safetensors.index.json"), "accepted");
}

TEST_F(CheckpointTest, ListsEveryMissingShardAndEveryUnnamedTensor) {
  write(root_ / "m/1.safetensors", file_of({"a", "b", "c"}));
  write_index(root_ / "m", R"("a":"1.safetensors","x":"2.safetensors","y":"3.safetensors")");
  const std::string fault = fault_of(root_ / "m");
  EXPECT_TRUE(contains(fault, "2.safetensors") && contains(fault, "3.safetensors")) << fault;
  write_index(root_ / "m", R"("a":"1.safetensors")");
  const std::string unnamed = fault_of(root_ / "m");
  EXPECT_TRUE(contains(unnamed, "b (1.safetensors)") && contains(unnamed, "c (1.safetensors)")) << unnamed;
}

TEST_F(CheckpointTest, NeverOpensAShardOutsideTheFolder) {
  for (const char* shard : {"../1.safetensors", "/dev/zero", "", ".", "..", "sub/1.safetensors",
                            "a\\\\b.safetensors", "x\\u0000.safetensors", "1.bin"}) {
    write_index(root_ / "m", R"("a":")" + std::string(shard) + "\"");
    EXPECT_TRUE(contains(fault_of(root_ / "m"), "weight_map: a")) << shard << fault_of(root_ / "m");
  }
}

TEST_F(CheckpointTest, TellsWhenAFileWasCutWhileItWasRead) {
  write(root_ / "m/model.safetensors", file_of({"a", "b"}));
  const auto opened = open(root_ / "m");
  ASSERT_TRUE(opened.ok());
  fs::resize_file(root_ / "m/model.safetensors", 60);
  int sum = 0;
  for (const auto& [name, entry] : opened->tensors()) sum += std::to_integer<int>(*entry.view.data);
  EXPECT_GE(sum, 0);
  const auto check = opened->check_unchanged();
  ASSERT_FALSE(check.ok());
  EXPECT_TRUE(contains(base::to_string(check.error()), "model.safetensors"));
}

TEST_F(CheckpointTest, MergesOverridesIntoAConfig) {
  write(root_ / "config.json", R"({"a":1,"b":{"c":2,"d":3},"e":[1,2]})");
  const auto patch = base::parse_json(R"({"a":null,"b":{"c":null,"x":{"y":1,"z":null}},"e":{"f":1}})", "p");
  const auto config = load_config(root_.string(), &patch.value());
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->excerpt(200), R"({"b":{"d":3,"x":{"y":1}},"e":{"f":1}})");
}

TEST_F(CheckpointTest, RefusesAConfigThatIsNoObjectOrTooLarge) {
  write(root_ / "config.json", "[1]");
  EXPECT_FALSE(load_config(root_.string(), nullptr).ok());
  write(root_ / "config.json", "{\"x\":\"" + std::string(2 << 20, 'a') + "\"}");
  const auto config = load_config(root_.string(), nullptr);
  ASSERT_FALSE(config.ok());
  EXPECT_TRUE(contains(base::to_string(config.error()), "config.json"));
}

// --- tensors against what the shape asks for ---

TEST_F(CheckpointTest, ListsMissingUnexpectedMisshapenAndMistypedTensors) {
  write(root_ / "model.safetensors", file_of({"a", "b", "c", "d"}));
  const auto opened = open(root_ / "model.safetensors");
  ASSERT_TRUE(opened.ok());
  const auto check =
      check_tensors(*opened,
                    {{.name = "a", .shape = {2, 2}, .dtype = tensor::Dtype::U8, .axes = "[rows, columns]"},
                     {.name = "b", .shape = {4}, .dtype = {}},
                     {.name = "gone", .shape = {4}, .dtype = {}},
                     {.name = "head", .shape = {4}, .dtype = {}, .optional = true}},
                    {"d"});
  ASSERT_FALSE(check.ok());
  const std::string fault = base::to_string(check.error());
  for (const char* words :
       {": a = [4]: must be [2, 2], which is [rows, columns]", ": b = U8: must be F32, F16 or BF16",
        ": missing tensors (1) = gone", ": unexpected tensors (1) = c"}) {
    EXPECT_TRUE(contains(fault, words)) << words << " is not in: " << fault;
  }
  EXPECT_FALSE(contains(fault, "head"));
}

TEST_F(CheckpointTest, ListsTwentyMissingTensorsAndTheirCount) {
  write(root_ / "model.safetensors", file_of({"a"}));
  const auto opened = open(root_ / "model.safetensors");
  std::vector<TensorSpec> expected = {{.name = "a", .shape = {4}, .dtype = tensor::Dtype::U8}};
  for (int i = 10; i < 60; ++i)
    expected.push_back({.name = "t" + std::to_string(i), .shape = {1}, .dtype = {}});
  const auto check = check_tensors(*opened, expected, {});
  ASSERT_FALSE(check.ok());
  const std::string fault = base::to_string(check.error());
  EXPECT_TRUE(contains(fault, "missing tensors (50)") && contains(fault, "t29") && !contains(fault, "t30"))
      << fault;
}

}  // namespace
}  // namespace outrider::checkpoint
