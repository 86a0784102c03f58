// cairn bench step: a training step's useful work a second beside the product's rate, in turns.
#include <fmt/format.h>

#include "base/bytes.h"
#include "bench.h"
#include "measured_step.h"
#include "plan/plan.h"
#include "report/table.h"
#include "train/engine.h"

namespace cairn::program {

int bench_step(const BenchOptions& options) {
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  warm_up(*backend);
  Table table({{"step"},
               {"seconds", Align::right},
               {"tokens/s", Align::right},
               {"GFLOP/s", Align::right},
               {"product GFLOP/s", Align::right},
               {"share", Align::right},
               {"peak", Align::right},
               {"of the plan"},
               {"resident - arena - runtime", Align::right}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const ModelConfig config = find_model_config(options.model, ".");
  for (const std::string& method : options.methods)
    for (const std::string& shape : options.shapes) {
      const Batch batch = make_random_batch(parse_shape(shape), config.vocab);
      std::vector<std::string> keys = {"gradient_checkpointing=" + options.checkpointing};
      keys.insert(keys.end(), options.keys.begin(), options.keys.end());
      const TrainSpec spec = make_bench_spec(config, method, batch, keys);
      const MeasuredStep m = measure_step(spec, batch, options.repeats, *backend);
      table.add_row({fmt::format("{} {} {}", options.model, method, shape),
                     fmt::format("{:.2f}", m.step_seconds),
                     fmt::format("{:.0f}", static_cast<double>(m.tokens) / m.step_seconds),
                     fmt::format("{:.0f}", m.rate() / 1e9),
                     fmt::format("{:.0f}", m.gemm_rate / 1e9), fmt::format("{:.2f}", m.share()),
                     format_bytes(m.measured.peak_bytes()), m.as_predicted() ? "equal" : "differs",
                     format_bytes(m.peak_resident - m.arena_bytes - m.runtime_bytes)});
      nlohmann::ordered_json row = to_json(m);
      row["method"] = method;
      row["shape"] = shape;
      rows.push_back(std::move(row));
    }
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"model", options.model},
                                              {"threads", backend->profile().threads},
                                              {"checkpointing", options.checkpointing},
                                              {"steps", rows}}
                           .dump(2));
  else
    fmt::print(
        "{}share = useful work of the step / the product's rate, in turns, medians of {}; {} "
        "threads, checkpointing {}\n",
        table.to_string(), options.repeats, backend->profile().threads, options.checkpointing);
  return kDone;
}

}  // namespace cairn::program
