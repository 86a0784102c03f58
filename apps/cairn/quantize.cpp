// cairn quantize: a model as a Hugging Face folder with products in NF4, as bitsandbytes writes it.
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "commands.h"
#include "files/hf_folder.h"
#include "files/output_folder.h"
#include "model/quantise_folder.h"
#include "run_in_arena.h"

namespace cairn::program {
namespace {

struct Options {
  std::string model, output;
  std::vector<std::string> skipped;
  bool plain = false, overwrite = false;
};

int run_quantize(const Options& options) {
  const ModelFiles files = open_model(options.model);
  if (is_same_place(options.model, options.output))
    throw UserError(
        fmt::format("{} is the model itself: choose another folder for --output.", options.output));
  QuantSpec quantisation;
  quantisation.nested = !options.plain;
  quantisation.plain_modules = options.skipped;
  const std::unique_ptr<Backend> backend = open_backend("cpu", 0);
  run_in_arena(*backend, [&](const Exec& exec, bool real) {
    if (real) {
      make_folder(options.output);
      check_targets(options.output, model_file_names(), options.overwrite, "give --overwrite");
    }
    quantise_folder(exec, files, quantisation, real ? &options.output : nullptr);
  });
  fmt::print("wrote {}\n", options.output);
  return kDone;
}

}  // namespace

Command add_quantize(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--model", options->model, "a GGUF file or a model folder")->required();
  app.add_option("--output", options->output, "the folder to write")->required();
  app.add_flag("--no-double-quantization", options->plain,
               "keep absmax values in f32: 0.56 bytes a weight instead of 0.52");
  app.add_option("--skip", options->skipped,
                 "modules that stay as they are, such as down_proj,model.layers.0")
      ->delimiter(',');
  app.add_flag("--overwrite", options->overwrite, "replace the model that the folder holds");
  return [options] { return run_quantize(*options); };
}

}  // namespace cairn::program
