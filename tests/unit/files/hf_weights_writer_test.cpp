// Weights over earlier weights: what is not of the set stays, and a process that ends in the middle
// leaves the old, or what a reader refuses, never a mix.
#include <gtest/gtest.h>

#include "file_builders.h"
#include "files/hf_folder.h"
#include "files/output_folder.h"
#include "files/sharded.h"

namespace cairn::test {
namespace {

const std::vector<float> kNew(4, 7.f);

// Two shards, or one file, of the tensors a and b.
HfWeightsWriter make_writer(const TemporaryFolder& folder, bool sharded) {
  return {folder.path(),
          {{"a", FileType::f32, {2, 2}}, {"b", FileType::f32, {2, 2}}},
          sharded ? 16 : 1024};
}

void append(HfWeightsWriter& writer, const char* name) {
  writer.append(name, std::as_bytes(std::span(kNew)));
}

constexpr const char* kShards[] = {"model-00001-of-00002.safetensors",
                                   "model-00002-of-00002.safetensors"};
constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

void write_old(const TemporaryFolder& folder, bool sharded) {
  if (!sharded) {
    folder.write(kWhole, safetensors_with({"a", "b"}));
    return;
  }
  folder.write(kShards[0], safetensors_with({"a"}));
  folder.write(kShards[1], safetensors_with({"b"}));
  folder.write(kIndex, std::string(R"({"weight_map":{"a":")") + kShards[0] + R"(","b":")" +
                           kShards[1] + "\"}}");
}

TEST(HfWeightsWriter, every_change_of_form_ends_in_the_new_weights_alone) {
  for (const bool before : {false, true})
    for (const bool after : {false, true}) {
      const TemporaryFolder folder;
      write_old(folder, before);
      HfWeightsWriter writer = make_writer(folder, after);
      append(writer, "a");
      append(writer, "b");
      writer.finish();
      const auto weights = open_folder_weights(folder.path());
      EXPECT_EQ(read_floats(*weights, "a"), kNew);
      EXPECT_EQ(read_floats(*weights, "b"), kNew);
      EXPECT_EQ(folder.names().size(), after ? 3u : 1u);
    }
}

// The second shard lacks its bytes, so that finish() ends between the two.
TEST(HfWeightsWriter, an_end_between_two_shards_leaves_no_mix_behind) {
  const std::vector<float> old = {0.f, 1.f, 2.f, 3.f};
  {
    const TemporaryFolder folder;
    write_old(folder, true);
    HfWeightsWriter writer = make_writer(folder, true);
    append(writer, "a");
    EXPECT_THROW(writer.finish(), CheckFailed);
    expect_contains(
        message_of<DamagedFile>([&] { open_folder_weights(folder.path()); }, folder.path()),
        "not their model.safetensors.index.json");
  }
  {
    const TemporaryFolder folder;
    write_old(folder, false);
    HfWeightsWriter writer = make_writer(folder, true);
    append(writer, "a");
    EXPECT_THROW(writer.finish(), CheckFailed);
    const auto weights = open_folder_weights(folder.path());
    EXPECT_EQ(read_floats(*weights, "a"), old);
    EXPECT_EQ(read_floats(*weights, "b"), old);
  }
}

TEST(HfWeightsWriter, only_numbered_shards_are_an_earlier_set) {
  const TemporaryFolder folder;
  const std::vector<std::string> others = {
      "model-best-of-three.safetensors", "model-00001-of-0002.safetensors",
      "model-1-of-2.safetensors", "my-model-00001-of-00002.safetensors"};
  for (const std::string& name : others) folder.write(name, "mine");
  folder.write("model-00001-of-00009.safetensors", "stale");
  HfWeightsWriter writer = make_writer(folder, false);
  append(writer, "a");
  append(writer, "b");
  writer.finish();
  for (const std::string& name : others) EXPECT_EQ(read_all(folder.file(name)), "mine");
  EXPECT_EQ(folder.names().size(), others.size() + 1);
}

TEST(HfWeightsWriter, shards_of_a_download_are_in_the_way_as_a_whole_model_is) {
  const TemporaryFolder folder;
  const auto check = [&](bool may_replace) {
    check_targets(folder.path(), model_file_names(), may_replace, "say so");
  };
  folder.write("model-best-of-three.safetensors", "mine");
  EXPECT_NO_THROW(check(false));
  folder.write("model-00003-of-00009.safetensors", "half of a download");
  expect_contains(message_of<UserError>([&] { check(false); }, folder.path()),
                  "already holds model-00003-of-00009.safetensors");
  EXPECT_NO_THROW(check(true));
}

}  // namespace
}  // namespace cairn::test
