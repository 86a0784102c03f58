// The program: reads the command line, runs one subcommand, and is the only place that turns an
// error into a sentence on stderr and an exit code.
#include <array>
#include <cstdio>
#include <new>

#include "base/bytes.h"
#include "base/error.h"
#include "commands.h"
#include "data/nearest_names.h"
#include "memory/ledger.h"
#include "ranks.h"
#include "streams.h"

namespace cairn::program {
namespace {

struct Subcommand {
  CLI::App* app;
  Command run;
};

int answer(const char* prefix, const char* kind, const std::exception& error, int code) {
  tell("cairn: {}{}{}\n", prefix, kind, error.what());
  return code;
}

int run_guarded(const Command& run) {
  try {
    return run();
  } catch (...) {
    return answer_error();
  }
}

// Subcommands that are to come, and what does their work until then.
constexpr std::array<std::pair<std::string_view, const char*>, 2> kNotBuilt = {
    {{"doctor", "cairn plan RECIPE names the account that overflows, and the cheapest remedy"},
     {"pull", "download the model's files, and give their folder as model_name_or_path"}}};

// Names a first word that is no subcommand, which the parser does not; an option is its matter.
void check_subcommand(std::string_view word, const CLI::App& app) {
  if (word.starts_with('-')) return;
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands({})) {
    if (subcommand->get_name() == word) return;
    names.push_back(subcommand->get_name());
  }
  for (const auto& [name, instead] : kNotBuilt)
    if (name == word)
      throw UserError(fmt::format("'{}' is not in this version of Cairn; {}", word, instead));
  throw UserError(
      fmt::format("'{}' is not a subcommand; the nearest is '{}', and cairn --help lists them all",
                  word, nearest_names(word, names, 1).front()));
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Cairn fine-tunes large language models on the memory you have.", "cairn");
  app.require_subcommand(1);
  app.set_version_flag("--version", CAIRN_VERSION);
  app.failure_message(CLI::FailureMessage::simple);

  struct Row {
    const char* name;
    const char* help;
    Command (*add)(CLI::App&);
  };
  constexpr std::array rows = {
      Row{"plan", "what a run will need, account by account, before anything is loaded", add_plan},
      Row{"train", "run a recipe within its budget", add_train},
      Row{"generate", "answer a prompt, with or without an adapter", add_generate},
      Row{"export", "write a model as a Hugging Face folder", add_export},
      Row{"quantize", "write a model as a Hugging Face folder in NF4, as bitsandbytes does",
          add_quantize},
      Row{"ladder", "what each memory tool adds, side by side, rehearsed or measured", add_ladder},
      Row{"calibrate", "measure the rates of this machine once, for all plans to come",
          add_calibrate},
      Row{"bench", "measure this machine and the step on it", add_bench},
      Row{"report", "the losses, rates and peaks of runs side by side", add_report},
      Row{"data", "show a text's token ids, or what a recipe makes of a row", add_data},
      Row{"config", "print a recipe as it is understood, defaults filled in", add_config},
  };
  std::vector<Subcommand> subcommands;
  for (const Row& row : rows) {
    CLI::App* subcommand = app.add_subcommand(row.name, row.help);
    subcommands.push_back({subcommand, row.add(*subcommand)});
  }
  try {
    if (argc > 1) check_subcommand(argv[1], app);
    app.parse(argc, argv);
  } catch (const UserError& error) {
    return answer("", "", error, kWrongInput);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongInput;
  }
  for (const Subcommand& subcommand : subcommands)
    if (subcommand.app->parsed()) return run_guarded(subcommand.run);
  return kOther;
}

int run_program(int argc, char** argv) {
  guard_streams();
  const int code = parse_and_run(argc, argv);
  return deliver_stdout() || code != kDone ? code : kOther;
}

}  // namespace

int answer_error(const char* prefix) {
  try {
    throw;
  } catch (const UserError& error) {
    return answer(prefix, "", error, kWrongInput);
  } catch (const OutOfBudget& error) {
    return answer(prefix, "does not fit the budget: ", error, kDoesNotFit);
  } catch (const DamagedFile& error) {
    return answer(prefix, "damaged file: ", error, kDamagedFile);
  } catch (const CommError& error) {
    return answer(prefix, "", error, kPeerFailed);
  } catch (const CheckFailed& error) {
    return answer(prefix, "a fault of Cairn's own, please report it: ", error, kOther);
  } catch (const std::bad_alloc& error) {
    return answer(prefix, "the system has no memory left for the process itself: ", error, kOther);
  } catch (const std::exception& error) {
    // A print that failed: deliver_stdout() says so.
    return std::ferror(stdout) ? kOther : answer(prefix, "", error, kOther);
  }
}

}  // namespace cairn::program

int main(int argc, char** argv) { return cairn::program::run_program(argc, argv); }
