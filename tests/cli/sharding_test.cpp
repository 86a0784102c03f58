// The program on many ranks: planned in one process, and run under mpirun.
#include "cli/ranks.h"
#include "cli/run_files.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

// 7.5 billion parameters in the mixed mode on 64 ranks: the figure of the paper.
TEST_F(Ranks, plan_of_64_has_the_model_states_of_the_paper) {
  nlohmann::json config = read("model/config.json");
  config.update({{"hidden_size", 4096},
                 {"intermediate_size", 11008},
                 {"num_hidden_layers", 36},
                 {"num_attention_heads", 32},
                 {"num_key_value_heads", 32},
                 {"vocab_size", 26000},
                 {"tie_word_embeddings", false}});
  fs::create_directories(folder_ / "large");
  write_file(folder_ / "large/config.json", config.dump());
  const double expected[] = {120, 31.4, 16.6, 1.9};
  for (int stage = 0; stage <= 3; ++stage) {
    const Outcome outcome = cairn(
        fmt::format("plan --model large --method full --seq 512 --batch 1 --world-size 64 --budget "
                    "900GiB trained_precision=mixed zero_stage={} --json",
                    stage));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto plan = nlohmann::json::parse(outcome.output);
    double bytes = 0;
    for (const char* account : {"weights", "gradients", "optimizer"})
      bytes += plan["account_peaks"][account].get<double>();
    EXPECT_NEAR(bytes / 1e9, expected[stage], 0.05) << "stage " << stage;
    EXPECT_EQ(plan["world_size"], 64);
  }
}

TEST_F(Ranks, a_stage_on_one_rank_is_said_to_split_nothing) {
  const Outcome outcome = cairn("train recipe.yaml max_steps=1 zero_stage=3");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("splits nothing"), std::string::npos) << outcome.output;
}

// One run of the program on several ranks beside one process that takes their batches together.
class SharedTraining : public Ranks {
 protected:
  struct Way {
    std::string keys;
    int ranks = 2, stage = 0, batch = 1;  // rows of a rank
    bool full() const { return keys.find("finetuning_type=full") != std::string::npos; }
  };

  void expect_what_one_process_trains(const Way& way) const {
    SCOPED_TRACE(fmt::format("{} on {} ranks, stage {}", way.keys, way.ranks, way.stage));
    const std::string keys = fmt::format("{} {} adam_epsilon=1", kRecipe, way.keys);
    const Outcome alone =
        cairn(fmt::format("{} per_device_train_batch_size={}", keys, way.ranks * way.batch));
    ASSERT_EQ(alone.exit_code, 0) << alone.output;
    const std::vector<double> expected = losses();
    const std::vector<float> trained = trained_by(way);
    // A pair's B starts at zero.
    const std::vector<float> before = way.full() ? tensor("model/model.safetensors", kWeight)
                                                 : std::vector<float>(trained.size(), 0.0f);
    const Outcome shared =
        mpirun(way.ranks, fmt::format("{} per_device_train_batch_size={} zero_stage={} "
                                      "zero_persistence_threshold=0",
                                      keys, way.batch, way.stage));
    ASSERT_EQ(shared.exit_code, 0) << shared.output;
    const std::vector<double> measured = losses();
    const double relative = 100 * tolerance(DType::f32, 256 * kVocab);
    ASSERT_EQ(measured.size(), expected.size());
    for (size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(measured[step], expected[step], relative * expected[step]) << "step " << step;
    const double size = distance(trained, std::vector<float>(trained.size(), 0.0f));
    EXPECT_GT(distance(trained, before), 0);
    EXPECT_LE(distance(trained, trained_by(way)),
              relative * distance(trained, before) + 10 * unit_roundoff(DType::f32) * size);
    expect_ledgers_of(way.ranks);
    // Rank 0 alone speaks.
    EXPECT_EQ(shared.output.find("wrote out"), shared.output.rfind("wrote out")) << shared.output;
  }

 private:
  static constexpr const char* kWeight = "model.layers.1.mlp.down_proj.weight";

  std::vector<float> trained_by(const Way& way) const {
    return way.full() ? tensor("out/model.safetensors", kWeight)
                      : tensor("out/adapter_model.safetensors",
                               "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight");
  }
  // Each rank's is the planned one, and its process holds what the plan says, and MPI.
  void expect_ledgers_of(int ranks) const {
    const nlohmann::json first = read("out/ledger.json");
    ASSERT_EQ(first["peak_bytes_of_ranks"].size(), static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      const nlohmann::json ledger =
          rank == 0 ? first : read(fmt::format("out/ledger.rank{}.json", rank));
      EXPECT_EQ(ledger["predicted"], ledger["measured"]);
      EXPECT_EQ(first["peak_bytes_of_ranks"][static_cast<size_t>(rank)],
                ledger["measured"]["peak_bytes"]);
      EXPECT_LE(ledger["process_peak_rss_bytes"], ledger["arena_bytes"].get<int64_t>() +
                                                      ledger["runtime_bytes"].get<int64_t>() +
                                                      kRankSlack);
    }
  }
};

// Every stage on every number of ranks; each method, and accumulation, at every stage and number.
TEST_F(SharedTraining, under_mpirun_is_what_one_process_trains) {
  SKIP_WITHOUT_MPI();
  constexpr const char* methods[] = {"", "quantization_bit=4",
                                     "finetuning_type=full learning_rate=1e-3"};
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int stage = 0; stage <= 3; ++stage) {
      const auto turn = static_cast<size_t>(ranks + stage);
      std::string keys = methods[turn % 3];
      if (turn % 2 == 0) keys += " gradient_accumulation_steps=4";
      expect_what_one_process_trains({keys, ranks, stage, 1});
    }
}

TEST_F(SharedTraining, holds_for_packed_rows_and_streamed_weights) {
  SKIP_WITHOUT_MPI();
  expect_what_one_process_trains(
      {"finetuning_type=full learning_rate=1e-3 packing=true cutoff_len=128", 2, 3, 2});
  expect_what_one_process_trains({"quantization_bit=4 weights_place=paged", 2, 3, 2});
}

// Shares are cut between the blocks of 8-bit states: every stage has the bits of stage 0, and one
// process agrees within what a code may turn over, which is less than coding itself does.
TEST_F(Ranks, hold_states_in_8_bits_as_one_process_does) {
  SKIP_WITHOUT_MPI();
  write_model(folder_ / "model", {{"hidden_size", 64}, {"intermediate_size", 192}});
  const std::string keys = std::string(kRecipe) +
                           " finetuning_type=full learning_rate=1e-3 adam_epsilon=1 "
                           "max_grad_norm=0 zero_persistence_threshold=0 ";
  const std::string weight = "model.layers.1.mlp.down_proj.weight";
  const auto trained = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(read("out/ledger.json")["predicted"], read("out/ledger.json")["measured"]);
    return tensor("out/model.safetensors", weight);
  };
  const std::vector<float> wide = trained(cairn(keys + "per_device_train_batch_size=4"));
  const std::vector<float> alone =
      trained(cairn(keys + "optim=adamw_8bit per_device_train_batch_size=4"));
  const auto shared = [&](int stage) {
    return trained(mpirun(2, keys + fmt::format("optim=adamw_8bit per_device_train_batch_size=2 "
                                                "zero_stage={}",
                                                stage)));
  };
  const std::vector<float> whole = shared(0);
  EXPECT_LT(distance(alone, whole), distance(alone, wide));
  for (int stage = 1; stage <= 3; ++stage) EXPECT_EQ(shared(stage), whole) << "stage " << stage;
}

TEST_F(Ranks, that_would_do_different_things_fail_before_the_first_step) {
  SKIP_WITHOUT_MPI();
  nlohmann::json rows = read("rows.json");
  rows[3]["output"] = "hallo hello";
  write_file(folder_ / "other.json", rows.dump());
  write_model(folder_ / "other");
  std::string weights = text_of(folder_ / "other/model.safetensors");
  std::fill(weights.begin() + static_cast<std::ptrdiff_t>(weights.size() / 2), weights.end(), '=');
  write_file(folder_ / "other/model.safetensors", weights);
  struct Difference {
    const char *keys, *name;
  };
  for (const Difference& difference :
       {Difference{"zero_stage=2", "zero_stage"}, Difference{"learning_rate=5e-2", "learning_rate"},
        Difference{"save_steps=3", "save_steps"},
        Difference{"dataset=other.json", "the training data"},
        Difference{"model_name_or_path=other", "a sample of the model's weights"}}) {
    const Outcome outcome = run_command(
        folder_.string(),
        launch(1) +
            fmt::format("{0} train recipe.yaml finetuning_type=full zero_stage=1 : -n 1 {0} "
                        "train recipe.yaml finetuning_type=full zero_stage=1 {1}",
                        CAIRN_PROGRAM, difference.keys));
    EXPECT_EQ(outcome.exit_code, 5) << outcome.output;
    EXPECT_NE(outcome.output.find(fmt::format("rank 1 differs from rank 0 in {}: give every rank "
                                              "the same recipe",
                                              difference.name)),
              std::string::npos)
        << outcome.output;
  }
}

// Found before the first step, not at the first checkpoint, and never trained over.
TEST_F(Ranks, that_do_not_share_their_folder_fail_before_the_first_step) {
  SKIP_WITHOUT_MPI();
  const auto two = [&](const std::string& second) {
    return run_command(
        folder_.string(),
        launch(1) + fmt::format("{0} train recipe.yaml {1} : -n 1 {0} train "
                                "recipe.yaml {1} {2}",
                                CAIRN_PROGRAM,
                                "save_steps=2 max_steps=8 overwrite_output_dir=false", second));
  };
  const Outcome apart = two("output_dir=other");
  EXPECT_EQ(apart.exit_code, 2) << apart.output;
  EXPECT_NE(apart.output.find("on a file system that they share"), std::string::npos)
      << apart.output;
  ASSERT_EQ(two("max_steps=8").exit_code, 0);
  // A copy on another machine that has fallen behind.
  fs::create_directories(folder_ / "behind");
  for (const char* name : {"checkpoint-2", ".lock"})
    fs::copy(folder_ / "out" / name, folder_ / "behind" / name, fs::copy_options::recursive);
  fs::remove_all(folder_ / "out/checkpoint-8");
  const Outcome behind = two("output_dir=behind");
  EXPECT_EQ(behind.exit_code, 5) << behind.output;
  EXPECT_NE(behind.output.find("rank 1 differs from rank 0 in the checkpoint"), std::string::npos)
      << behind.output;
  EXPECT_FALSE(exists("out/checkpoint-8"));
}

// The user's mistake is told once, with its own code.
TEST_F(Ranks, tell_a_wrong_recipe_once) {
  SKIP_WITHOUT_MPI();
  const Outcome outcome = mpirun(3, "train recipe.yaml model_name_or_path=nowhere");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  const size_t at = outcome.output.find("nowhere");
  ASSERT_NE(at, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("rank 1:"), std::string::npos) << outcome.output;
}

// Twelve rows a batch, whoever takes them. Written under stage 3 on four ranks, gone on with on any
// number of them at another stage, and by one process.
TEST_F(Ranks, a_checkpoint_of_four_resumes_on_any_number_at_another_stage) {
  SKIP_WITHOUT_MPI();
  const std::string keys =
      "train recipe.yaml bf16=false max_steps=4 logging_steps=1 adam_epsilon=1 save_steps=2 "
      "save_strategy=steps zero_persistence_threshold=0 overwrite_output_dir=false ";
  const Outcome straight = mpirun(4, keys + "per_device_train_batch_size=3 zero_stage=3");
  ASSERT_EQ(straight.exit_code, 0) << straight.output;
  const std::vector<double> expected = losses();
  ASSERT_EQ(expected.size(), 4u);
  const std::string pair = "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight";
  const std::vector<float> trained = tensor("out/adapter_model.safetensors", pair);
  EXPECT_TRUE(exists("out/checkpoint-2/states-00004-of-00004.safetensors"));
  struct Way {
    int ranks, stage;
  };
  for (const Way& way : {Way{4, 3}, Way{3, 2}, Way{2, 1}, Way{1, 0}}) {
    SCOPED_TRACE(fmt::format("{} ranks, stage {}", way.ranks, way.stage));
    fs::remove_all(folder_ / "out/checkpoint-4");
    const std::string resumed = keys + fmt::format(
                                           "per_device_train_batch_size={} zero_stage={} "
                                           "resume_from_checkpoint=out/checkpoint-2",
                                           12 / way.ranks, way.stage);
    const Outcome outcome = way.ranks == 1 ? cairn(resumed) : mpirun(way.ranks, resumed);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const std::vector<double> measured = losses();
    ASSERT_EQ(measured.size(), expected.size());
    const double relative = 100 * tolerance(DType::f32, 256 * kVocab);
    for (size_t step = 0; step < 4; ++step)
      EXPECT_NEAR(measured[step], expected[step], relative * expected[step]) << "step " << step;
    // On the same ranks, to the bit.
    const bool same_bits = tensor("out/adapter_model.safetensors", pair) == trained;
    EXPECT_TRUE(same_bits || way.ranks != 4);
  }
}

}  // namespace
}  // namespace cairn::test
