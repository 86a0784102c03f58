// cairn export: a model as a Hugging Face folder that transformers loads.
#include <fmt/format.h>

#include "backend/registry.h"
#include "base/error.h"
#include "commands.h"
#include "files/hf_folder.h"
#include "files/output_folder.h"
#include "memory/arena.h"
#include "memory/tensor.h"

namespace cairn::program {
namespace {

struct Options {
  std::string model, output, format = "hf";
  bool overwrite = false;
};

int run_export(const Options& options) {
  if (options.format != "hf")
    throw UserError(fmt::format("--format {} is not known; use hf", options.format));
  const ModelFiles model = open_model(options.model);
  if (is_same_place(options.model, options.output))
    throw UserError(
        fmt::format("{} is the model itself: choose another folder for --output.", options.output));
  make_folder(options.output);
  check_targets(options.output, model_file_names(), options.overwrite, "give --overwrite");
  const std::unique_ptr<Backend> backend = open_backend("cpu", 0);
  Ledger ledger;
  Trace trace;
  trace.phases[static_cast<size_t>(Phase::save)] = {{kReadScratchBytes, 0, 1}};
  Arena arena(backend->device(), ledger, solve_layout(trace));
  const Arena::PhaseScope phase(arena, Phase::save);
  Tensor scratch(arena, Account::workspace, "read", DType::u8, {kReadScratchBytes});
  export_hf_folder(model, options.output,
                   {scratch.view().data(), static_cast<size_t>(kReadScratchBytes)});
  fmt::print("wrote {}\n", options.output);
  return kDone;
}

}  // namespace

Command add_export(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--model", options->model, "a GGUF file or a model folder")->required();
  app.add_option("--output", options->output, "the folder to write")->required();
  app.add_flag("--overwrite", options->overwrite, "replace the model that the folder holds");
  app.add_option("--format", options->format, "hf");
  return [options] { return run_export(*options); };
}

}  // namespace cairn::program
