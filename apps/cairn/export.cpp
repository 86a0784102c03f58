// cairn export: a model as a Hugging Face folder that transformers loads.
#include <fmt/format.h>

#include <filesystem>

#include "backend/registry.h"
#include "base/error.h"
#include "commands.h"
#include "files/hf_folder.h"
#include "memory/arena.h"
#include "memory/tensor.h"

namespace cairn::program {
namespace {

struct Options {
  std::string model, output, format = "hf";
};

int run_export(const Options& options) {
  if (options.format != "hf")
    throw UserError(fmt::format("--format {} is not known; use hf", options.format));
  const ModelFiles model = open_model(options.model);
  std::filesystem::create_directories(options.output);
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
  app.add_option("--format", options->format, "hf");
  return [options] { return run_export(*options); };
}

}  // namespace cairn::program
