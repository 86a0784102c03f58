// Resuming, as users do it: which checkpoint a run goes on from, that it then writes what the run
// without a break writes, and what it refuses.
#include "cli/run_files.h"
#include "cli/small_program.h"

namespace cairn::test {
namespace {

using Names = std::vector<std::string>;

class Resuming : public Program {
 protected:
  // Wide enough that products have states in 8 bits, in blocks that do not come out even.
  void SetUp() override {
    Program::SetUp();
    write_model(folder_ / "model", {{"intermediate_size", 130}});
  }
  void expect_ran(const Outcome& outcome, const std::string& words = "") const {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << words << "\n" << outcome.output;
  }
  Names checkpoints(const std::string& folder = "out") const {
    return checkpoints_in(folder_ / folder);
  }
  // As a run that was killed before its next checkpoint left it.
  void cut_back_to(const std::string& checkpoint) const {
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      const std::string name = entry.path().filename().string();
      if (name != checkpoint && name != "trainer_log.jsonl" && name != ".lock")
        fs::remove_all(entry.path());
    }
  }
  void expect_same_run(const std::string& a, const std::string& b) const {
    for (const char* name : {"adapter_model.safetensors", "model.safetensors"})
      EXPECT_TRUE(text_of(folder_ / a / name) == text_of(folder_ / b / name)) << name;
    EXPECT_EQ(log_of(folder_ / a / "trainer_log.jsonl"), log_of(folder_ / b / "trainer_log.jsonl"));
    EXPECT_EQ(state_of(folder_ / a / "checkpoint-10"), state_of(folder_ / b / "checkpoint-10"));
  }
};

TEST_F(Resuming, writes_what_the_run_without_a_break_writes) {
  for (const std::string mode :
       {"lora_dropout=0.1", "finetuning_type=full learning_rate=1e-3",
        "finetuning_type=full pure_bf16=true learning_rate=1e-3",
        "finetuning_type=full trained_precision=mixed optim=adamw_8bit learning_rate=1e-3",
        "finetuning_type=full optim=paged_adamw_8bit page_resident=1MiB learning_rate=1e-3",
        "quantization_bit=4 gradient_accumulation_steps=1 group_by_length=true",
        "packing=true max_steps=10", "optimizer_in_backward=true weights_place=paged",
        "bf16=false optim=sgd"}) {
    SCOPED_TRACE(mode);
    fs::remove_all(folder_ / "out");
    fs::remove_all(folder_ / "later");
    expect_ran(cairn("train recipe.yaml save_steps=3 eval_strategy=steps eval_steps=4 " + mode));
    const Outcome later = cairn(
        "train recipe.yaml save_steps=3 eval_strategy=steps eval_steps=4 output_dir=later "
        "resume_from_checkpoint=out/checkpoint-3 " +
        mode);
    expect_ran(later, "going on from out/checkpoint-3");
    expect_same_run("out", "later");
    const nlohmann::json ledger = read("later/ledger.json");
    EXPECT_EQ(ledger["predicted"], ledger["measured"]);
  }
}

TEST_F(Resuming, is_the_rule_where_a_checkpoint_is_and_may_not_be_overwritten) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  EXPECT_EQ(checkpoints(), (Names{"checkpoint-4", "checkpoint-8", "checkpoint-10"}));
  fs::copy(folder_ / "out", folder_ / "straight", fs::copy_options::recursive);
  cut_back_to("checkpoint-4");
  expect_ran(cairn("train recipe.yaml save_steps=4 overwrite_output_dir=false"),
             "going on from out/checkpoint-4: output_dir holds it");
  expect_same_run("straight", "out");
  cut_back_to("checkpoint-4");
  expect_ran(
      cairn("train recipe.yaml save_steps=4 overwrite_output_dir=true resume_from_checkpoint=true"),
      "going on from out/checkpoint-4");
  expect_same_run("straight", "out");
}

TEST_F(Resuming, of_a_finished_run_trains_nothing_more_until_it_is_made_longer) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  const std::string adapter = text_of(folder_ / "out/adapter_model.safetensors");
  const auto log = log_of(folder_ / "out/trainer_log.jsonl");
  expect_ran(cairn("train recipe.yaml overwrite_output_dir=false"), "nothing is left to train");
  EXPECT_TRUE(text_of(folder_ / "out/adapter_model.safetensors") == adapter);
  EXPECT_EQ(log_of(folder_ / "out/trainer_log.jsonl"), log);
  expect_ran(cairn("train recipe.yaml overwrite_output_dir=false num_train_epochs=3"),
             "the number of steps is 10 there and 15 here");
  EXPECT_EQ(read("out/checkpoint-15/trainer_state.json")["global_step"], 15);
}

TEST_F(Resuming, overwriting_starts_anew_and_old_checkpoints_go_once_there_is_a_new_one) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  fs::create_directories(folder_ / "out/checkpoint-77");
  write_file(folder_ / "out/checkpoint-77/optimizer.pt", "another program's");
  expect_ran(cairn("train recipe.yaml save_steps=3"), "out/checkpoint-4 is of an earlier run");
  EXPECT_EQ(checkpoints(), (Names{"checkpoint-3", "checkpoint-6", "checkpoint-9", "checkpoint-10",
                                  "checkpoint-77"}));
  EXPECT_EQ(text_of(folder_ / "out/checkpoint-77/optimizer.pt"), "another program's");
  const Names before = checkpoints();
  expect_ran(cairn("train recipe.yaml save_strategy=no"));
  EXPECT_EQ(checkpoints(), before) << "a run without checkpoints replaces none";
}

TEST_F(Resuming, from_an_earlier_checkpoint_leaves_nothing_of_the_branch_it_left) {
  expect_ran(cairn("train recipe.yaml save_steps=2"));
  const std::string earlier = "train recipe.yaml save_steps=3 overwrite_output_dir=false ";
  expect_ran(cairn(earlier + "resume_from_checkpoint=out/checkpoint-4 max_steps=7"),
             "out/checkpoint-8 is past the step that this run goes on from");
  EXPECT_EQ(checkpoints(), (Names{"checkpoint-2", "checkpoint-4", "checkpoint-6", "checkpoint-7"}));
  expect_ran(cairn(earlier), "going on from out/checkpoint-7");
}

TEST_F(Resuming, from_true_without_a_checkpoint_is_refused) {
  expect_refused("train recipe.yaml resume_from_checkpoint=true", 2, "holds no checkpoint");
  expect_refused("train recipe.yaml resume_from_checkpoint=nowhere", 2, "nowhere");
  expect_ran(cairn("train recipe.yaml resume_from_checkpoint=null overwrite_output_dir=false"));
}

TEST_F(Resuming, from_false_never_replaces_checkpoints_unasked) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  cut_back_to("checkpoint-4");
  expect_refused("train recipe.yaml overwrite_output_dir=false resume_from_checkpoint=false", 2,
                 "holds checkpoint-4 of another run");
  EXPECT_EQ(checkpoints(), Names{"checkpoint-4"});
}

TEST_F(Resuming, from_a_folder_of_another_program_is_refused) {
  fs::create_directories(folder_ / "out/checkpoint-500");
  write_file(folder_ / "out/checkpoint-500/optimizer.pt", "another program's");
  expect_refused("train recipe.yaml overwrite_output_dir=false", 2, "out/checkpoint-500");
  expect_refused("train recipe.yaml resume_from_checkpoint=out/checkpoint-500", 2,
                 "out/checkpoint-500 is no checkpoint that Cairn wrote");
}

// Neither passed over nor replaced: it may be what somebody trained elsewhere, or a damaged one.
TEST_F(Resuming, a_folder_without_manifest_that_the_run_comes_to_is_refused) {
  fs::create_directories(folder_ / "out/checkpoint-4");
  write_file(folder_ / "out/checkpoint-4/optimizer.pt", "precious");
  for (const std::string keys :
       {"resume_from_checkpoint=false", "save_strategy=no resume_from_checkpoint=false",
        "overwrite_output_dir=true resume_from_checkpoint=false"})
    expect_refused("train recipe.yaml save_steps=2 overwrite_output_dir=false " + keys, 2,
                   "checkpoint-4 has no checkpoint.json");
  EXPECT_TRUE(exists("out/checkpoint-4/optimizer.pt"));
  // Beyond the end it is in nobody's way.
  fs::rename(folder_ / "out/checkpoint-4", folder_ / "out/checkpoint-500");
  expect_ran(cairn("train recipe.yaml save_steps=5 resume_from_checkpoint=false"));
  EXPECT_TRUE(exists("out/checkpoint-500/optimizer.pt"));
  fs::remove(folder_ / "out/checkpoint-10/checkpoint.json");
  expect_refused("train recipe.yaml save_steps=5 overwrite_output_dir=false", 2,
                 "checkpoint-10 has no checkpoint.json");
}

// As a shell completes it, and by a link.
TEST_F(Resuming, a_checkpoint_is_its_own_by_any_path) {
  expect_ran(cairn("train recipe.yaml save_steps=5"));
  cut_back_to("checkpoint-5");
  fs::create_directory_symlink("out/checkpoint-5", folder_ / "latest");
  for (const std::string path : {"out/checkpoint-5/", "latest", "./out/../out/checkpoint-5"}) {
    expect_ran(
        cairn("train recipe.yaml save_steps=20 overwrite_output_dir=false "
              "resume_from_checkpoint=" +
              path));
    EXPECT_EQ(checkpoints(), (Names{"checkpoint-5", "checkpoint-10"})) << path;
    cut_back_to("checkpoint-5");
  }
}

TEST_F(Resuming, an_adapter_over_another_model_of_the_same_shape_is_refused) {
  expect_ran(cairn("train recipe.yaml save_steps=5"));
  cut_back_to("checkpoint-5");
  fs::rename(folder_ / "model", folder_ / "moved");
  expect_ran(
      cairn("train recipe.yaml max_steps=6 model_name_or_path=moved output_dir=elsewhere "
            "resume_from_checkpoint=out/checkpoint-5"));
  fs::copy(folder_ / "moved", folder_ / "model");
  std::fstream file(folder_ / "model/model.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-static_cast<int>(fs::file_size(folder_ / "model/model.safetensors") / 2),
             std::ios::end);
  const std::string other(
      static_cast<size_t>(fs::file_size(folder_ / "model/model.safetensors") / 2), '\x3d');
  file << other << std::flush;
  expect_refused("train recipe.yaml overwrite_output_dir=false", 2,
                 "a sample of the model's weights");
}

TEST_F(Resuming, names_each_difference_to_the_run_of_the_checkpoint) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  const auto differs = [&](const std::string& keys, const Names& words) {
    const Outcome outcome = cairn("train recipe.yaml resume_from_checkpoint=true " + keys);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    for (const std::string& word : words)
      EXPECT_NE(outcome.output.find(word), std::string::npos) << word << "\n" << outcome.output;
  };
  differs("lora_rank=4", {"lora_rank is 8 there and 4 here"});
  differs("seed=7 per_device_train_batch_size=2 optim=sgd",
          {"data_seed is 42 there and 7 here", "seed is 42 there and 7 here",
           "per_device_train_batch_size times ranks is 4 there and 2 here",
           "optim is adamw there and sgd here"});
  differs("max_samples=20", {"the training data is 20 samples"});
  differs("finetuning_type=full", {"finetuning_type is lora there and full here"});
  differs("trained_precision=mixed", {"trained_precision is f32 there and mixed here"});
  differs("rope_scaling=linear cutoff_len=4096",
          {"the model's rotary positions is base 10000 there and base 10000, linear by 2"});
  differs("max_steps=6", {"out/checkpoint-10 is past the end of this run"});
  nlohmann::json config = read("model/config.json");
  config["num_hidden_layers"] = 1;
  write_file(folder_ / "model/config.json", config.dump());
  differs("", {"the model is 2 layers", "1 layers"});
}

TEST_F(Resuming, says_what_may_change_and_has_changed) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  cut_back_to("checkpoint-4");
  const Outcome outcome =
      cairn("train recipe.yaml resume_from_checkpoint=true learning_rate=1e-3 optim=adamw_8bit");
  expect_ran(outcome,
             "learning_rate is 0.01 there and 0.001 here; the new value holds from step 5 on");
  cut_back_to("checkpoint-4");
  // A sum in other parts is another number in the last bit.
  expect_ran(cairn("train recipe.yaml resume_from_checkpoint=true loss_chunk=16 mlp_tile=16"),
             "mlp_tile is auto there and 16 here");
  cut_back_to("checkpoint-10");
}

TEST_F(Resuming, takes_8_bit_states_to_32_bits_and_back_and_says_so) {
  const std::string full =
      "train recipe.yaml finetuning_type=full learning_rate=1e-3 save_steps=4 ";
  expect_ran(cairn(full + "optim=adamw_8bit"));
  cut_back_to("checkpoint-4");
  expect_ran(cairn(full + "resume_from_checkpoint=true optim=adamw_torch"),
             "states were in 8-bit blocks and are in f32 from here on");
  cut_back_to("checkpoint-8");
  expect_ran(cairn(full + "resume_from_checkpoint=true optim=paged_adamw_8bit"),
             "states were in f32 and are in 8-bit blocks from here on");
}

TEST_F(Resuming, of_a_damaged_checkpoint_names_the_file_and_offers_the_one_before) {
  expect_ran(cairn("train recipe.yaml save_steps=4"));
  fs::remove_all(folder_ / "out/checkpoint-10");
  for (const char* name : {"states-00001-of-00001.safetensors", "adapter_model.safetensors",
                           "trainer_state.json", "trainer_log.jsonl", "checkpoint.json"}) {
    const std::string whole = text_of(folder_ / "out/checkpoint-8" / name);
    std::string flipped = whole;
    flipped[flipped.size() / 3] ^= 4;
    write_file(folder_ / "out/checkpoint-8" / name, flipped);
    expect_refused("train recipe.yaml resume_from_checkpoint=true", 4,
                   std::string("out/checkpoint-8/") + name);
    expect_refused("train recipe.yaml overwrite_output_dir=false", 4,
                   "resume_from_checkpoint: out/checkpoint-4 goes on from there");
    write_file(folder_ / "out/checkpoint-8" / name, whole);
  }
  write_file(folder_ / "out/checkpoint-8/trainer_log.jsonl", "");
  write_file(folder_ / "out/checkpoint-4/trainer_log.jsonl", "");
  const Outcome both = cairn("train recipe.yaml resume_from_checkpoint=true");
  EXPECT_EQ(both.exit_code, 4) << both.output;
  EXPECT_EQ(both.output.find("goes on from there"), std::string::npos) << both.output;
}

TEST_F(Resuming, save_total_limit_keeps_the_newest) {
  expect_ran(cairn("train recipe.yaml save_steps=2 save_total_limit=2"));
  EXPECT_EQ(checkpoints(), (Names{"checkpoint-8", "checkpoint-10"}));
  expect_ran(cairn("train recipe.yaml save_steps=2 save_total_limit=0"));
  EXPECT_EQ(checkpoints().size(), 5u) << "0 is no limit, as in transformers";
}

TEST_F(Resuming, save_strategy_and_shares_of_steps_are_those_of_transformers) {
  expect_ran(cairn("train recipe.yaml save_steps=0.45"));
  EXPECT_EQ(checkpoints(), (Names{"checkpoint-5", "checkpoint-10"})) << "rounded up";
  expect_ran(cairn("train recipe.yaml save_strategy=epoch output_dir=epochs"));
  EXPECT_EQ(checkpoints("epochs"), (Names{"checkpoint-5", "checkpoint-10"}));
  expect_ran(cairn("train recipe.yaml save_strategy=no output_dir=none"));
  EXPECT_EQ(checkpoints("none"), Names{});
}

TEST_F(Resuming, save_only_model_leaves_the_weights_alone) {
  expect_ran(cairn("train recipe.yaml save_steps=4 save_only_model=true"));
  EXPECT_TRUE(exists("out/checkpoint-4/adapter_model.safetensors"));
  EXPECT_FALSE(exists("out/checkpoint-4/states-00001-of-00001.safetensors"));
  expect_refused("train recipe.yaml resume_from_checkpoint=out/checkpoint-4", 2, "weights alone");
}

}  // namespace
}  // namespace cairn::test
