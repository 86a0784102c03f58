// What the program writes to a folder, and what it leaves alone there.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <iterator>

#include "cli/small_program.h"

namespace cairn::test {
namespace {

class OutputFolder : public Program {
 protected:
  std::string text_of(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
};

TEST_F(OutputFolder, a_recipe_that_lies_in_it_stays_as_it_was) {
  fs::create_directories(folder_ / "out");
  fs::copy(folder_ / "recipe.yaml", folder_ / "out/recipe.yaml");
  const Outcome outcome = cairn("train out/recipe.yaml max_steps=1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(text_of("out/recipe.yaml"), text_of("recipe.yaml"));
  EXPECT_TRUE(exists("out/resolved_recipe.yaml"));
}

TEST_F(OutputFolder, no_file_of_a_run_is_replaced_unless_asked) {
  for (const char* name : {"resolved_recipe.yaml", "trainer_log.jsonl", "ledger.json",
                           "training_loss.svg", "adapter_config.json", "config.json"}) {
    fs::remove_all(folder_ / "out");
    fs::create_directories(folder_ / "out");
    write_file(folder_ / "out" / name, "mine");
    expect_refused("train recipe.yaml overwrite_output_dir=false", 2, name);
    EXPECT_EQ(text_of(std::string("out/") + name), "mine");
  }
}

TEST_F(OutputFolder, what_is_in_the_way_is_found_before_the_first_step) {
  for (const char* name : {"adapter_model.safetensors", "adapter_config.json", "ledger.json",
                           "resolved_recipe.yaml", "trainer_log.jsonl", "training_loss.svg"}) {
    fs::remove_all(folder_ / "out");
    fs::create_directories(folder_ / "out" / name / "inside");
    const Outcome outcome = cairn("train recipe.yaml");
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find(std::string(name) + " is a folder"), std::string::npos);
    EXPECT_EQ(outcome.output.find("step "), std::string::npos) << outcome.output;
  }
  fs::remove_all(folder_ / "out");
  fs::create_directories(folder_ / "out");
  write_file(folder_ / "out/checkpoint-2", "");
  expect_refused("train recipe.yaml save_steps=2", 2, "checkpoint-2 is a file");
  write_file(folder_ / "file", "");
  expect_refused("train recipe.yaml output_dir=file", 2, "file is a file");
}

TEST_F(OutputFolder, a_run_never_overwrites_the_model_it_trains) {
  const std::string before = text_of("model/model.safetensors");
  for (const char* method : {"full", "lora"})
    for (const char* model : {"model", "./model/", "linked"}) {
      if (!exists("linked")) fs::create_directory_symlink(folder_ / "model", folder_ / "linked");
      expect_refused(
          std::string("train recipe.yaml output_dir=") + model + " finetuning_type=" + method, 2,
          "is the folder of the model that is trained");
    }
  fs::create_directories(folder_ / "out");
  fs::copy(folder_ / "model", folder_ / "out/checkpoint-2");
  expect_refused(
      "train recipe.yaml model_name_or_path=out/checkpoint-2 finetuning_type=full save_steps=2", 2,
      "is the folder of the model that is trained");
  EXPECT_EQ(text_of("out/checkpoint-2/model.safetensors"), before);
  EXPECT_EQ(text_of("model/model.safetensors"), before);
}

TEST_F(OutputFolder, a_second_run_is_refused_while_the_first_holds_it) {
  fs::create_directories(folder_ / "out");
  const int held = open((folder_ / "out/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_GE(held, 0);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  expect_refused("train recipe.yaml", 2, "another run is writing to out");
  EXPECT_FALSE(exists("out/trainer_log.jsonl"));
  close(held);
  EXPECT_EQ(cairn("train recipe.yaml max_steps=1").exit_code, 0);
}

TEST_F(OutputFolder, a_run_holds_it_to_its_end) {
  const Outcome both =
      run_command(folder_.string(),
                  "(" CAIRN_PROGRAM
                  " train recipe.yaml num_train_epochs=60 threads=1; echo first $?) & "
                  "for i in $(seq 1000); do [ -s out/trainer_log.jsonl ] && break; sleep 0.01; "
                  "done; " CAIRN_PROGRAM " train recipe.yaml max_steps=1; echo second $?; wait");
  for (const char* code : {"first 0\n", "second 2\n"})
    EXPECT_NE(both.output.find(code), std::string::npos) << both.output;
}

TEST_F(OutputFolder, export_replaces_a_model_only_when_told_and_never_its_source) {
  ASSERT_EQ(cairn("export --model model --output copy").exit_code, 0);
  const std::string before = text_of("copy/config.json");
  write_file(folder_ / "copy/config.json", "mine");
  expect_refused("export --model model --output copy", 2, "--overwrite");
  EXPECT_EQ(text_of("copy/config.json"), "mine");
  const Outcome told = cairn("export --model model --output copy --overwrite");
  EXPECT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(text_of("copy/config.json"), before);
  expect_refused("export --model copy --output ./copy/ --overwrite", 2, "is the model itself");
  EXPECT_EQ(text_of("copy/config.json"), before);
}

// The file that is written may be the one that is read, by another name.
TEST_F(OutputFolder, a_model_written_over_its_own_weights_loses_nothing) {
  const std::string before = text_of("model/model.safetensors");
  for (const char* command : {"export --model model --output out --overwrite",
                              "train recipe.yaml finetuning_type=full max_steps=1"}) {
    fs::remove_all(folder_ / "out");
    fs::create_directories(folder_ / "out");
    fs::create_hard_link(folder_ / "model/model.safetensors", folder_ / "out/model.safetensors");
    const Outcome outcome = cairn(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(text_of("model/model.safetensors"), before) << command;
    EXPECT_EQ(cairn("plan recipe.yaml model_name_or_path=out").exit_code, 0);
  }
}

TEST_F(OutputFolder, a_file_in_the_way_of_an_export_exits_2) {
  write_file(folder_ / "file", "");
  expect_refused("export --model model --output file", 2, "file is a file");
  expect_refused("export --model model --output file/below", 2, "file/below");
  fs::create_directories(folder_ / "out/config.json");
  expect_refused("export --model model --output out --overwrite", 2, "config.json is a folder");
}

// A picture takes the place of a picture, and logits that of no part of a model.
TEST_F(OutputFolder, a_model_is_never_replaced_by_a_picture_or_logits) {
  const std::string weights = text_of("model/model.safetensors");
  const std::string config = text_of("model/config.json");
  expect_refused("ladder --model model/config.json --seq 64 --svg model/config.json", 2,
                 "is there and is no picture");
  expect_refused("generate --model model --prompt aa --logits model/model.safetensors", 2,
                 "in the folder of the model");
  EXPECT_TRUE(text_of("model/model.safetensors") == weights);
  EXPECT_EQ(text_of("model/config.json"), config);
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(cairn("ladder --model model/config.json --seq 64 --svg l.svg").exit_code, 0);
}

// A run that is refused, or fails before it has loaded, leaves the files of the one before it.
TEST_F(OutputFolder, a_run_that_does_not_begin_replaces_nothing) {
  ASSERT_EQ(cairn("train recipe.yaml max_steps=2").exit_code, 0);
  const std::string log = text_of("out/trainer_log.jsonl");
  const std::string recipe = text_of("out/resolved_recipe.yaml");
  EXPECT_EQ(cairn("train recipe.yaml weights_place=paged page_dir=/proc").exit_code, 2);
  EXPECT_EQ(text_of("out/trainer_log.jsonl"), log);
  EXPECT_EQ(text_of("out/resolved_recipe.yaml"), recipe);
}

// A rename over it would leave a file where the system has its device.
TEST_F(OutputFolder, a_device_or_pipe_is_no_place_for_a_file) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const char* path : {"/dev/null", "/dev/stdout", "pipe"})
    expect_refused(std::string("generate --model model --prompt aa --logits ") + path, 2,
                   "give the path of a file");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace cairn::test
