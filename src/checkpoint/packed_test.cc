#include "checkpoint/packed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint.h"
#include "checkpoint/packed_writer.h"
#include "kernels/layout.h"

namespace outrider::checkpoint {
namespace {

using kernels::WeightFormat;

class PackedFile : public ::testing::Test {
 protected:
  PackedFile()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PackedFile() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "model.safetensors").string(); }

  base::Result<Checkpoint> open() const { return Checkpoint::open(folder_.string(), nullptr); }
  std::string refusal() const {
    const auto opened = open();
    return opened.ok() ? "" : base::to_string(opened.error());
  }

  // A file of one U8 tensor of `bytes` and these metadata, `shift` bytes of another tensor before it.
  void write_file(const Metadata& metadata, std::size_t bytes, std::size_t shift = 0,
                  const std::string& dtype = "U8") const {
    std::string header = R"({"__metadata__":{)";
    for (const auto& [key, value] : metadata) {
      if (header.back() != '{') header += ",";
      std::string escaped;
      for (const char c : value) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
      header += "\"" + key + "\":\"" + escaped + "\"";
    }
    const std::string size = std::to_string(shift + bytes);
    const std::size_t width = dtype == "U8" ? 1 : 4;
    header += "},";
    if (shift > 0) {
      header += R"("norm":{"dtype":"U8","shape":[)" + std::to_string(shift) + R"(],"data_offsets":[0,)" +
                std::to_string(shift) + "]},";
    }
    header += R"("a.packed":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(bytes / width) +
              R"(],"data_offsets":[)" + std::to_string(shift) + "," + size + "]}}";
    header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' ');
    std::ofstream file(path(), std::ios::binary);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), 8);
    file << header << std::string(shift + bytes, 'x');
  }
  static Metadata metadata_of(std::int64_t rows, std::int64_t inputs,
                              WeightFormat format = WeightFormat::Int8) {
    return packed_metadata({.quantization = WeightFormat::Int8,
                            .matrices = {{.tensor = "a.packed",
                                          .format = format,
                                          .inputs = inputs,
                                          .sources = {{.name = "a", .rows = rows}}}}});
  }
  static std::size_t bytes_of(std::int64_t rows, std::int64_t inputs) {
    return static_cast<std::size_t>(kernels::PackedMatrix::packed_bytes(WeightFormat::Int8, rows, inputs));
  }

  std::filesystem::path folder_;
};

// Packs random-looking weights, as `outrider quantize` would.
kernels::PackedMatrix matrix_of(std::int64_t outputs, std::int64_t inputs, WeightFormat format) {
  std::vector<float> values(static_cast<std::size_t>(outputs * inputs));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1000) - 500.0F;
  kernels::Executor executor(kernels::Target::Reference, 1, kernels::Arithmetic::Float32);
  const tensor::TensorView view{.data = reinterpret_cast<const std::byte*>(values.data()),
                                .dtype = tensor::Dtype::F32,
                                .shape = {outputs, inputs}};
  return kernels::pack_matrix(executor, std::span(&view, 1), format);
}

TEST_F(PackedFile, HoldsMatricesAsTheyArePackedAndAlignedAndPlainTensorsBesideThem) {
  const kernels::PackedMatrix first = matrix_of(70, 40, WeightFormat::Int8),
                              second = matrix_of(32, 64, WeightFormat::Int4);
  const std::vector<float> norm = {1, 2, 3};
  std::vector<TensorSpec> expected;
  for (const char* name : {"a", "b", "c", "norm"})
    expected.push_back({.name = name, .shape = {}, .dtype = {}});
  auto writer = PackedWriter::create(path(), WeightFormat::Int4, expected);
  ASSERT_TRUE(writer.ok());
  writer->add_plain(
      "norm",
      {.data = reinterpret_cast<const std::byte*>(norm.data()), .dtype = tensor::Dtype::F32, .shape = {3}});
  writer->add_matrix({{"a", 30}, {"b", 40}}, first);
  writer->add_matrix({{"c", 32}}, second);
  EXPECT_TRUE(writer->has("b"));
  EXPECT_FALSE(writer->has("d"));
  ASSERT_TRUE(writer->finish().ok());

  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << base::to_string(opened.error());
  EXPECT_EQ(opened->packed_quantization(), WeightFormat::Int4);
  const std::vector<std::string> stacked = {"a", "b"};
  const auto held = opened->packed(stacked);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->outputs, 70);
  EXPECT_EQ(held->inputs, 40);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held->bytes) % 64, 0u);
  EXPECT_EQ(std::memcmp(held->bytes, first.data(), static_cast<std::size_t>(first.byte_count())), 0);
  const auto other = opened->packed(std::vector<std::string>{"c"});
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(std::memcmp(other->bytes, second.data(), static_cast<std::size_t>(second.byte_count())), 0);
  // The catalogue has the tensors' own names and shapes, and their shares add up to the whole.
  EXPECT_EQ(opened->tensors().size(), 4u);
  EXPECT_EQ(opened->find("b")->view.shape, (std::vector<std::int64_t>{40, 40}));
  EXPECT_EQ(opened->find("a")->stored_bytes() + opened->find("b")->stored_bytes(), first.byte_count());
  // Alone, or in another order, they are not to be had.
  EXPECT_FALSE(opened->packed(std::vector<std::string>{"a"}).has_value());
  EXPECT_FALSE(opened->packed(std::vector<std::string>{"b", "a"}).has_value());
  EXPECT_FALSE(opened->tensor("a").ok());
  EXPECT_TRUE(opened->tensor("norm").ok());
}

TEST_F(PackedFile, IsNeverWrittenOverAnotherAndLeavesNothingUnfinishedBehind) {
  {
    auto writer = PackedWriter::create(path(), WeightFormat::Int8, {});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(PackedWriter::create(path(), WeightFormat::Int8, {}).ok());  // somebody else is at it
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(PackedFile, IsRefusedWhereTheBytesAreNotThoseOfTheWeights) {
  write_file(metadata_of(64, 32), bytes_of(64, 32));
  EXPECT_EQ(refusal(), "");
  write_file(metadata_of(64, 32), bytes_of(64, 32) - 64);
  EXPECT_NE(refusal().find("must have the 2176 of its 64 x 32 weights in int8"), std::string::npos)
      << refusal();
  write_file(metadata_of(64, 32, WeightFormat::Int4), bytes_of(64, 32));
  EXPECT_NE(refusal().find("weights in int4"), std::string::npos) << refusal();
  write_file(metadata_of(std::int64_t{1} << 24, std::int64_t{1} << 24), bytes_of(64, 32));
  EXPECT_NE(refusal().find("must have the"), std::string::npos) << refusal();
  write_file(metadata_of((std::int64_t{1} << 24) + 1, 32), bytes_of(64, 32));
  EXPECT_NE(refusal().find("metadata matrices[0]"), std::string::npos) << refusal();
  write_file(metadata_of(64, 32), bytes_of(64, 32), 4);
  EXPECT_NE(refusal().find("must stand at a multiple of 64"), std::string::npos) << refusal();
  write_file(metadata_of(64, 32), bytes_of(64, 32), 0, "F32");
  EXPECT_NE(refusal().find("must be U8"), std::string::npos) << refusal();
}

TEST_F(PackedFile, IsRefusedWhereItWasPackedInAnotherWay) {
  for (const char* key : {"packing_version", "group_size", "panel_outputs", "quantization"}) {
    Metadata metadata = metadata_of(64, 32);
    for (auto& [name, value] : metadata) {
      if (name == key) value = "2";
    }
    write_file(metadata, bytes_of(64, 32));
    EXPECT_NE(refusal().find(std::string("metadata ") + key + " = 2: must be"), std::string::npos)
        << refusal();
  }
}

TEST_F(PackedFile, IsRefusedWhereItsListOfMatricesIsNoSuchList) {
  for (const char* list :
       {"", "{}", "[3]", R"([{"tensor":"a.packed","format":"int2","inputs":32,"sources":[["a",64]]}])",
        R"([{"tensor":"a.packed","format":"int8","inputs":32,"sources":[]}])",
        R"([{"tensor":"a.packed","format":"int8","inputs":32,"sources":[["a",0]]}])",
        R"([{"tensor":"b.packed","format":"int8","inputs":32,"sources":[["a",64]]}])"}) {
    Metadata metadata = metadata_of(64, 32);
    metadata.back().second = list;
    write_file(metadata, bytes_of(64, 32));
    EXPECT_NE(refusal(), "") << list;
  }
  // One tensor in two matrices, one matrix twice.
  PackedContents twice{.quantization = WeightFormat::Int8, .matrices = {}};
  const PackedMatrixEntry entry{
      .tensor = "a.packed", .format = WeightFormat::Int8, .inputs = 32, .sources = {{"a", 32}, {"a", 32}}};
  twice.matrices = {entry};
  write_file(packed_metadata(twice), bytes_of(64, 32));
  EXPECT_NE(refusal().find("packs a tensor that the file has already"), std::string::npos) << refusal();
  twice.matrices = {entry, entry};
  write_file(packed_metadata(twice), bytes_of(64, 32));
  EXPECT_NE(refusal().find("the file has no such tensor"), std::string::npos) << refusal();
}

TEST(Packed, LeavesFilesOfOthersAlone) {
  const auto plain = parse_packed({{"format", "pt"}}, "file");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->has_value());
}

}  // namespace
}  // namespace outrider::checkpoint
