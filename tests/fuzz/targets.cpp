#include "fuzz/targets.h"

#include "base/error.h"
#include "base/json.h"
#include "data/dataset.h"
#include "data/dataset_info.h"
#include "data/tokenizer.h"
#include "files/checkpoint_manifest.h"
#include "files/checksum.h"
#include "files/model_files.h"
#include "files/quantised_modules.h"
#include "files/sharded.h"
#include "fuzz/input_folder.h"
#include "model/adapter.h"
#include "model/model.h"
#include "model/rotary.h"
#include "train/deepspeed/read_deepspeed.h"
#include "train/recipe.h"

namespace cairn::fuzz {
namespace {

// Reads every tensor of a number type whole; the input bounds their sizes, as readers must hold
// them to the file.
void read_all(const TensorSource& source) {
  std::vector<std::byte> scratch(kLeastReadScratchBytes);
  for (const TensorInfo& info : source.tensors()) {
    if (!is_readable(info.type)) continue;
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    source.read(info, {reinterpret_cast<std::byte*>(values.data()), DType::f32, info.shape},
                scratch);
  }
}

void read_safetensors(std::string_view input) {
  static const InputFolder folder;
  folder.write("model.safetensors", input);
  const auto source = open_folder_weights(folder.path());
  find_quantised_modules(*source);
  read_all(*source);
}

void read_gguf(std::string_view input) {
  static const InputFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", input));
  parse_model_config(model.config);
  read_all(*model.weights);
  if (!model.tokenizer.is_null())
    Tokenizer::from_json(model.tokenizer, model.tokenizer_config).encode("a b <|im_end|>");
}

// The index beside two good shards that a seed names.
void read_index(std::string_view input) {
  static const InputFolder folder;
  const auto shard = [](std::string_view name) {
    const std::string header =
        "{\"" + std::string(name) + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    return bytes + header + "abcd";
  };
  static const bool written = [&] {
    folder.write("model-00001-of-00002.safetensors", shard("a"));
    folder.write("model-00002-of-00002.safetensors", shard("b"));
    return true;
  }();
  (void)written;
  folder.write("model.safetensors.index.json", input);
  read_all(*open_folder_weights(folder.path()));
}

void read_tokenizer_json(std::string_view input) {
  const nlohmann::json files = parse_json(input, "tokenizer.json");
  const bool both = files.is_object() && files.contains("tokenizer");
  const nlohmann::json config =
      both && files.contains("config") ? files["config"] : nlohmann::json();
  const Tokenizer tokenizer = Tokenizer::from_json(both ? files["tokenizer"] : files, config);
  const std::vector<int32_t> ids =
      tokenizer.encode("hello  World 1234\n\xe4\xbd\xa0\xe5\xa5\xbd \xff<|im_end|>");
  tokenizer.decode(ids, true);
}

void read_config_json(std::string_view input) {
  ModelSpec spec;
  spec.config = parse_model_config(parse_json(input, "config.json"));
  spec.config.num_parameters();
  make_spectrum(spec.config.rope_theta, spec.config.rotary_width(), spec.config.rope_scaling, 4096);
  spec.lora.emplace();
  const Model model(spec);
}

void read_adapter(std::string_view input) {
  static const InputFolder folder;
  folder.write("adapter_config.json", input);
  read_adapter_config(folder.path());
}

// Every row of the data set of this name, as conversations and as documents.
void read_datasets(const std::string& name, const std::string& folder) {
  for (const RowUse use : {RowUse::conversation, RowUse::document})
    for (const DatasetEntry& entry : find_datasets({name}, folder)) {
      RowReader reader(entry, use, std::nullopt);
      while (reader.next()) {
      }
      reader.counts();
    }
}

// The first byte says under which name the rest lies.
void read_rows(std::string_view input) {
  constexpr std::string_view kNames[] = {"rows.json", "rows.jsonl", "rows.csv", "rows.txt"};
  if (input.empty()) return;
  static const InputFolder folder;
  const std::string_view name = kNames[static_cast<unsigned char>(input[0]) % std::size(kNames)];
  read_datasets(folder.write(name, input.substr(1)), folder.path());
}

void read_dataset_info(std::string_view input) {
  static const InputFolder folder;
  static const bool written = [&] {
    folder.write("rows.json", R"([{"instruction": "a", "input": "", "output": "b"}])");
    return true;
  }();
  (void)written;
  folder.write("dataset_info.json", input);
  read_datasets("rows", folder.path());
}

// Read again from what is printed, it is the same.
void expect_read_again(const Recipe& recipe) {
  const std::string printed = to_yaml(recipe);
  const std::string again = to_yaml(parse_recipe(printed));
  // Notes are comments, and are not read again.
  const auto keys = [](const std::string& text) {
    return text.substr(0, text.find("\n### without effect here"));
  };
  CAIRN_CHECK(keys(printed) == keys(again), "[recipe] wanted what was printed, got\n{}\n{}",
              printed, again);
}

void read_recipe_text(std::string_view input) {
  if (input.empty()) return;
  const RecipeFormat format = input[0] == 'j' ? RecipeFormat::json : RecipeFormat::yaml;
  expect_read_again(parse_recipe(input.substr(1), format));
}

void read_deepspeed(std::string_view input) { parse_deepspeed({std::string(input), "ds.json"}); }

// Beside one file of four bytes. The sums that a seed cannot know are put in: FILE_SUM, and the
// manifest's own, which would hide all that lies behind it.
void read_manifest(std::string_view input) {
  static const InputFolder folder;
  folder.write("weights.bin", "abcd");
  std::string text(input);
  const std::string mark = "FILE_SUM";
  if (const size_t at = text.find(mark); at != std::string::npos)
    text.replace(at, mark.size(), checksum_of("abcd"));
  nlohmann::json manifest = parse_json(text, std::string(kManifest));
  if (manifest.is_object()) {
    manifest.erase("xxh3");
    manifest["xxh3"] = checksum_of(manifest.dump());
  }
  folder.write(kManifest, manifest.dump());
  check_checkpoint(folder.path());
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = {{"safetensors", read_safetensors},
                                               {"gguf", read_gguf},
                                               {"index", read_index},
                                               {"tokenizer", read_tokenizer_json},
                                               {"config", read_config_json},
                                               {"adapter", read_adapter},
                                               {"rows", read_rows},
                                               {"dataset_info", read_dataset_info},
                                               {"recipe", read_recipe_text},
                                               {"deepspeed", read_deepspeed},
                                               {"manifest", read_manifest}};
  return kTargets;
}

void run(const Target& target, std::string_view input) {
  try {
    target.read(input);
  } catch (const UserError&) {
  } catch (const DamagedFile&) {
  }
}

}  // namespace cairn::fuzz
