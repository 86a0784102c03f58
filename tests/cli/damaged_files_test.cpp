// Files that broke other loaders, each given to the program: one sentence that names the file and
// what is wrong with it, and exit code 4, or 2 where the file is whole and Cairn does not read its
// kind. No one of them is answered by a crash, by silence, or by a large allocation.
#include "cli/damaged_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace cairn::test {
namespace {

// The header of one tensor.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

class DamagedWeights : public DamagedFiles {
 protected:
  void expect_weights(int exit_code, const std::vector<Damage>& damages) const {
    expect(exit_code, "model/model.safetensors", "plan recipe.yaml", damages);
  }
  std::string good_weights() const {
    return read_all((folder_ / "model/model.safetensors").string());
  }
};

TEST_F(DamagedWeights, weights_that_are_something_else_are_named_for_what_they_are) {
  expect_weights(4, {{kPointer, {"Git LFS pointer, not weights"}},
                     {"", {"empty file"}},
                     {"abc", {"plain text"}},
                     {kPage, {"HTML page"}},
                     {"PK\x03\x04" + std::string(60, 'x'), {"zip archive"}},
                     {"\x80\x02}q" + std::string(60, 'x'), {"pickle"}},
                     {"GGUF" + std::string(60, '\3'), {"GGUF"}},
                     {R"({"error":"Repository not found"})", {"JSON text"}},
                     {"PAR1\x15\x04" + std::string(60, 'x'), {"parquet"}},
                     {"\x89PNG\r\n\x1a\n" + std::string(60, 'x'), {"PNG"}},
                     {std::string(4096, '\0'), {"zero bytes"}}});
}

TEST_F(DamagedWeights, weights_cut_short_or_with_more_behind_are_told_in_bytes) {
  const std::string good = good_weights();
  const std::string wanted = std::to_string(good.size());
  expect_weights(
      4, {{good.substr(0, good.size() - 2), {"cut short", wanted, std::to_string(good.size() - 2)}},
          {good.substr(0, good.size() / 2), {"cut short", wanted}},
          {good + "extra_bogus_data_for_polyglot_file", {"does not belong"}}});
}

TEST_F(DamagedWeights, headers_that_lie_of_their_length_are_refused_before_memory_is_taken) {
  expect_weights(4, {{std::string("\x3c\x00\x00\x00\x00\xff\xff\xff", 8), {"claims"}},
                     {std::string("\x3c\x00\x00\x00\x00\x00\x00\x00", 8), {"cut short"}},
                     {std::string("\x01\x00\x00\x00\x00\x00\x00\x00\xff", 9), {}},
                     {std::string("\x01\x00\x00\x00\x00\x00\x00\x00{", 9), {}},
                     {bytes_of(uint64_t{1000}) + one("F32", "[1]", "[0,4]"), {"1000"}},
                     {bytes_of(uint64_t{132'095'296}) + "{}", {"132095296", "100000000"}}});
}

TEST_F(DamagedWeights, entries_that_do_not_fit_their_data_are_refused) {
  std::string shared = "{", many = "{";
  const auto entry = [](int n, const char* shape, const char* offsets) {
    return (n ? ",\"t" : "\"t") + std::to_string(n) + R"(":{"dtype":"I32","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}";
  };
  for (int n = 0; n < 10; ++n) shared += entry(n, "[2,2]", "[0,16]");
  for (int n = 0; n < 100'000; ++n) many += entry(n, "[200,200]", "[0,160000]");
  expect_weights(
      4,
      {{safetensors_bytes(shared + "}", std::string(16, 'x')), {"overlap"}},
       {safetensors_bytes(many + "}", std::string(160'000, 'x')), {"overlap"}},
       {safetensors_bytes(one("I32", "[2,2]", "[0,4]"), "abcd"), {"t"}},
       {safetensors_bytes(one("I32", "[2,18446744073709551614]", "[0,16]"), std::string(16, 'x')),
        {"overflows"}},
       {safetensors_bytes(one("I32", "[2,9223372036854775807]", "[0,16]"), std::string(16, 'x')),
        {"overflows"}},
       {safetensors_bytes("{}", ""), {"no tensors"}}});
}

TEST_F(DamagedWeights, types_that_are_not_read_are_counted_before_any_work) {
  expect_weights(2, {{safetensors_bytes(one("F8_E4M3", "[4]", "[0,4]"), "abcd"), {"F8_E4M3"}}});
}

TEST_F(DamagedWeights, weights_of_another_model_are_told_by_a_few_of_their_names) {
  write_file(folder_ / "model/model.safetensors", safetensors_with({"a", "b"}));
  for (const char* command : {"plan recipe.yaml", "train recipe.yaml"}) {
    expect_refused(command, 4, "among its 2 are a, b");
    EXPECT_EQ(cairn(command).output.find("peak"), std::string::npos) << "told before any work";
  }
}

TEST_F(DamagedWeights, formats_that_the_format_allows_are_read) {
  const std::string good = good_weights();
  uint64_t length = 0;
  std::memcpy(&length, good.data(), sizeof length);
  const std::string header = good.substr(8, length), data = good.substr(8 + length);
  const auto with = [&](const std::string& entry) {
    return header.substr(0, header.rfind('}')) + "," + entry + "}";
  };
  const std::string end = std::to_string(data.size());
  for (const std::string& text :
       {header + std::string(40, ' '),
        with(R"("empty":{"dtype":"F32","shape":[2,0],"data_offsets":[)" + end + "," + end + "]}"),
        with(R"("none":{"dtype":"F32","shape":[0],"data_offsets":[)" + end + "," + end + "]}")}) {
    write_file(folder_ / "model/model.safetensors", safetensors_bytes(text, data));
    const Outcome outcome = cairn("plan recipe.yaml");
    EXPECT_EQ(outcome.exit_code, 0) << text << outcome.output;
  }
}

TEST_F(DamagedWeights, names_that_no_terminal_takes_are_shown_so_that_it_does) {
  const std::string huge(1'000'000, 'x');
  expect_weights(4, {{safetensors_bytes(one("\\u001b[31m", "[1]", "[0,4]"), "abcd"), {"\\x1b[31m"}},
                     {safetensors_bytes(one(huge, "[1]", "[0,4]"), "abcd"), {"bytes ...]"}}});
  EXPECT_LT(cairn("plan recipe.yaml").output.size(), 2000u);
}

class DamagedShards : public DamagedFiles {
 protected:
  void SetUp() override {
    DamagedFiles::SetUp();
    fs::remove(folder_ / "model/model.safetensors");
    write_file(folder_ / "model" / kFirst, safetensors_with({"a", "b"}));
    write_file(folder_ / "model" / kSecond, safetensors_with({"c"}));
    write_file(folder_ / "model" / kIndex, R"({"weight_map":{"a":")" + kFirst + R"(","b":")" +
                                               kFirst + R"(","c":")" + kSecond + R"("}})");
  }
  const std::string kFirst = "model-00001-of-00002.safetensors";
  const std::string kSecond = "model-00002-of-00002.safetensors";
  const std::string kIndex = "model.safetensors.index.json";
};

TEST_F(DamagedShards, a_missing_shard_is_named) {
  fs::remove(folder_ / "model" / kSecond);
  expect_refused("plan recipe.yaml", 4, kSecond);
}

TEST_F(DamagedShards, a_pipe_in_place_of_a_file_keeps_nobody_waiting) {
  fs::remove(folder_ / "model" / kSecond);
  fs::remove(folder_ / "rows.json");
  for (const std::string& name : {"model/" + kSecond, std::string("rows.json")}) {
    ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
    expect_refused("plan recipe.yaml dataset=rows.json", 2,
                   fs::path(name).filename().string() + " is not a regular file");
    fs::remove(folder_ / name);
    write_model(folder_ / "model");
  }
}

TEST_F(DamagedShards, a_shard_that_the_index_does_not_know_is_named) {
  write_file(folder_ / "model/model-00003-of-00003.safetensors", safetensors_with({"d"}));
  expect_refused("plan recipe.yaml", 4, "model-00003-of-00003.safetensors");
}

TEST_F(DamagedShards, a_shard_without_a_tensor_of_the_index_is_named) {
  expect(4, "model/" + kFirst, "plan recipe.yaml", {{safetensors_with({"a"}), {"lacks", "b"}}});
}

TEST_F(DamagedShards, every_shard_is_checked_before_the_first_is_read) {
  const std::string good = safetensors_with({"c"});
  expect(4, "model/" + kSecond, "plan recipe.yaml",
         {{good.substr(0, good.size() - 5), {"cut short", std::to_string(good.size())}},
          {kPointer, {"Git LFS pointer"}}});
}

TEST_F(DamagedShards, an_index_that_is_none_is_refused) {
  expect(4, "model/" + kIndex, "plan recipe.yaml",
         {{"", {"empty"}},
          {"{", {"JSON"}},
          {R"({"weight_map":{"a":"x","a":"y"}})", {"\"a\" twice"}},
          {R"({"weight_map":{"a":"../../model.safetensors"}})", {"plain name"}},
          {"{\"weight_map\":" + std::string(100'000, '[') + "}", {"deep"}},
          {kPointer, {"Git LFS pointer"}}});
}

class DamagedGguf : public DamagedFiles {
 protected:
  void expect_gguf(int exit_code, const std::vector<Damage>& damages) const {
    expect(exit_code, "model.gguf", "plan --model model.gguf", damages);
  }
  static std::string head(uint64_t num_tensors, uint64_t num_values) {
    return "GGUF" + bytes_of(uint32_t{3}) + bytes_of(num_tensors) + bytes_of(num_values);
  }
};

TEST_F(DamagedGguf, another_format_is_named) {
  expect_gguf(4, {{kPointer, {"Git LFS"}},
                  {"", {"empty file"}},
                  {"tjgg" + std::string(60, '\1'), {"legacy GGML"}},
                  {safetensors_with({"a"}), {"a safetensors file, not a GGUF file"}},
                  {kPage, {"HTML"}}});
}

TEST_F(DamagedGguf, lengths_beyond_the_file_take_no_memory) {
  const std::string key = GgufBuilder::string("k");
  expect_gguf(4, {{head(0, 1) + key + bytes_of(uint32_t{8}) + bytes_of(uint64_t{1} << 30) +
                       std::string(100, 'x'),
                   {"cut short"}},
                  {head(0, 1) + bytes_of(uint64_t{0xFFFFFFFFFFFF}), {}},
                  {head(uint64_t{1} << 40, 0), {}},
                  {head(0, UINT64_MAX), {}},
                  {head(0, 1) + key + bytes_of(uint32_t{9}) + bytes_of(uint32_t{8}) +
                       bytes_of(uint64_t{1} << 40) + std::string(64, '\0'),
                   {}}});
}

TEST_F(DamagedGguf, numbers_that_divide_or_multiply_wrongly_are_refused) {
  const auto with = [](const std::vector<uint64_t>& dims) {
    return GgufBuilder().raw_tensor("t", dims, 0, 0, floats(4)).build();
  };
  expect_gguf(4, {{with({4, 0}), {"dimension of 0"}},
                  {with(std::vector<uint64_t>(9, 1)), {"9 dimensions"}},
                  {with({uint64_t{1} << 40, uint64_t{1} << 40}), {"overflows"}},
                  {GgufBuilder().u32("", 1).build(), {"key of 0 bytes"}},
                  {GgufBuilder().u32("general.alignment", 1u << 30).build(), {"power of two"}},
                  {GgufBuilder().u32("general.alignment", 1).build(), {"power of two"}},
                  {GgufBuilder().raw_value("general.alignment", 5, bytes_of(int32_t{32})).build(),
                   {"general.alignment"}}});
}

TEST_F(DamagedGguf, what_cairn_does_not_train_is_refused_by_name) {
  expect_gguf(2, {{GgufBuilder().text("general.architecture", "mamba").build(), {"mamba"}},
                  {tiny_llama().u32("llama.expert_count", 8).build(), {"8 experts"}}});
}

TEST_F(DamagedFiles, a_config_that_is_no_json_is_told_with_its_place) {
  expect(4, "model/config.json", "plan recipe.yaml",
         {{"", {"empty"}},
          {"{\n \"a\": 1,\n oops", {"line 3"}},
          {"[1]", {"array"}},
          {kPointer, {"Git LFS pointer"}},
          {kPage, {"HTML page"}},
          {R"({"hidden_size": 1e999})", {"out of range"}},
          {R"({"hidden_size": 32, "hidden_size": 64})", {"\"hidden_size\" twice"}},
          {"{\"a\":" + std::string(100'000, '[') + "}", {"deep"}}});
}

TEST_F(DamagedFiles, a_config_with_values_of_no_model_is_told_by_its_key) {
  const nlohmann::json good = read("model/config.json");
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json config = good;
    config[key] = value;
    return config.dump();
  };
  expect(2, "model/config.json", "plan recipe.yaml",
         {{with("hidden_size", "x"), {"hidden_size"}},
          {with("hidden_size", -32), {"hidden_size"}},
          {with("hidden_size", 1e30), {"hidden_size"}},
          {with("num_hidden_layers", 1 << 30), {"num_hidden_layers"}},
          {with("num_attention_heads", 0), {"num_attention_heads"}},
          {with("model_type", 3), {"model_type"}},
          {with("hidden_act", nlohmann::json::array()), {"hidden_act"}},
          {with("model_type", "mamba"), {"mamba"}}});
}

class DamagedAdapter : public DamagedFiles {
 protected:
  void SetUp() override {
    DamagedFiles::SetUp();
    ASSERT_EQ(cairn("train recipe.yaml max_steps=1 output_dir=adapter").exit_code, 0);
  }
  const std::string kCommand = "plan recipe.yaml adapter_name_or_path=adapter";
};

TEST_F(DamagedAdapter, its_config_is_held_to_what_peft_writes) {
  nlohmann::json good = read("adapter/adapter_config.json");
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json config = good;
    config[key] = value;
    return config.dump();
  };
  expect(4, "adapter/adapter_config.json", kCommand,
         {{"", {"empty"}},
          {"{", {"JSON"}},
          {kPointer, {"Git LFS pointer"}},
          {with("r", "8"), {"'r'"}},
          {with("r", 0), {"'r'"}},
          {with("lora_alpha", "x"), {"'lora_alpha'"}},
          {with("lora_alpha", 1e300), {"'lora_alpha'"}},
          {with("lora_dropout", 2), {"'lora_dropout'"}},
          {with("target_modules", {"q_proj", 3}), {"'target_modules'"}}});
  expect(2, "adapter/adapter_config.json", kCommand,
         {{with("peft_type", 7), {"LORA"}},
          {with("peft_type", "IA3"), {"LORA"}},
          {with("lora_bias", true), {"'lora_bias'"}},
          {with("init_lora_weights", "pissa_niter_4"), {"changes the weights of the base"}},
          {with("target_modules", 3), {"'target_modules'"}}});
}

TEST_F(DamagedAdapter, its_weights_are_held_to_their_header_and_must_be_there) {
  const std::string file = "adapter/adapter_model.safetensors";
  const std::string good = read_all((folder_ / file).string());
  expect(4, file, kCommand,
         {{kPointer, {"Git LFS pointer"}},
          {"", {"empty file"}},
          {good.substr(0, good.size() - 7), {"cut short"}}});
  // What other trainers have saved under ZeRO-3: a file of 40 bytes without a tensor.
  expect(4, file, "train recipe.yaml adapter_name_or_path=adapter",
         {{safetensors_bytes(R"({"__metadata__":{"format":"pt"}})", ""), {}}});
  fs::remove(folder_ / file);
  expect_refused(kCommand, 2, "adapter_model.safetensors");
  write_file(folder_ / "adapter/adapter_model.bin", "PK\x03\x04");
  expect_refused(kCommand, 2, "adapter_model.bin is a pickle");
}

}  // namespace
}  // namespace cairn::test
