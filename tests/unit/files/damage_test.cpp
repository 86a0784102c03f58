// Damage of no particular kind: whatever bytes are changed, a file opens and reads, or is refused
// by one of the two errors that name it. Seeded, so that a failure can be repeated.
#include <gtest/gtest.h>

#include <random>

#include "file_builders.h"
#include "files/model_files.h"
#include "files/sharded.h"

namespace cairn::test {
namespace {

constexpr int kRounds = 400;

// Some of the first `head` bytes changed to values that lengths and types trip over.
std::string damaged(std::string content, size_t head, std::mt19937& random) {
  constexpr unsigned char kBytes[] = {0,   1,   4,   9,   0x7f, 0x80, 0xff,
                                      '"', '{', '[', ',', '0',  '9',  '-'};
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int change = 0; change < changes; ++change)
    content[random() % std::min(head, content.size())] =
        static_cast<char>(random() % 2 ? kBytes[random() % std::size(kBytes)] : random());
  return content;
}

// Reads all that can be opened; anything but the two errors is a failure.
template <typename Open>
void expect_read_or_refused(Open&& open, int round) {
  try {
    const std::unique_ptr<TensorSource> source = open();
    for (const TensorInfo& info : source->tensors())
      if (is_readable(info.type)) read_floats(*source, info.name);
  } catch (const DamagedFile&) {
  } catch (const UserError&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << "round " << round << ": " << error.what();
  }
}

TEST(Damage, a_safetensors_file_is_read_or_refused) {
  const TemporaryFolder folder;
  const std::string good = safetensors_with({"a", "model.layers.0.b", "c"});
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    folder.write("model.safetensors", damaged(good, good.size() - 48, random));
    expect_read_or_refused([&] { return open_folder_weights(folder.path()); }, round);
  }
}

TEST(Damage, a_gguf_is_read_or_refused) {
  const TemporaryFolder folder;
  const std::string good = tiny_llama()
                               .tensor("blk.0.attn_v.weight", {16, 8}, 1, std::string(256, '\1'))
                               .texts("tokenizer.ggml.tokens", {"a", "b", "ab", "</s>"})
                               .i32s("tokenizer.ggml.token_type", {1, 1, 1, 3})
                               .texts("tokenizer.ggml.merges", {"a b"})
                               .text("tokenizer.ggml.model", "gpt2")
                               .text("tokenizer.ggml.pre", "smollm")
                               .u32("tokenizer.ggml.eos_token_id", 3)
                               .build();
  std::mt19937 random(2);
  for (int round = 0; round < kRounds; ++round) {
    const std::string path = folder.write("model.gguf", damaged(good, 1400, random));
    expect_read_or_refused([&] { return open_model(path).weights; }, round);
  }
}

}  // namespace
}  // namespace cairn::test
