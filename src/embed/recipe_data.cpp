#include "embed/recipe_data.h"

#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cairn/error.h"

namespace cairn {
namespace {

AccountBytes bytes_of(const Snapshot::PerAccount& bytes) {
  const auto of = [&](Account account) { return bytes[static_cast<size_t>(account)]; };
  return {of(Account::weights), of(Account::gradients), of(Account::optimizer),
          of(Account::activations), of(Account::workspace)};
}

}  // namespace

void with_public_errors(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    throw Error(ErrorKind::wrong_input, error.what());
  } catch (const OutOfBudget& error) {
    throw Error(ErrorKind::does_not_fit, error.what());
  } catch (const DamagedFile& error) {
    throw Error(ErrorKind::damaged_file, error.what());
  } catch (const CommError& error) {
    throw Error(ErrorKind::peer_failed, error.what());
  } catch (const DeviceError& error) {
    throw Error(ErrorKind::device_refused, error.what());
  } catch (const CheckFailed& error) {
    throw Error(ErrorKind::own_fault, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorKind::wrong_input, error.what());
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::own_fault, error.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device_refused, "the system has no memory left for the process itself");
  }
}

MemoryPeak peak_of(const Snapshot& snapshot) {
  return {snapshot.peak_bytes(), bytes_of(snapshot.accounts_at_peak()),
          bytes_of(snapshot.peaks_of_accounts()), snapshot.peak[static_cast<size_t>(Place::page)]};
}

RunRecipe RunRecipe::from_file(const std::string& path, const std::vector<std::string>& overrides) {
  std::shared_ptr<const RecipeData> data;
  with_public_errors(
      [&] { data = std::make_shared<const RecipeData>(read_recipe(path, overrides)); });
  return RunRecipe(std::move(data));
}

RunRecipe RunRecipe::from_text(const std::string& yaml, const std::vector<std::string>& overrides,
                               const std::string& folder) {
  std::shared_ptr<const RecipeData> data;
  with_public_errors([&] {
    data = std::make_shared<const RecipeData>(
        parse_recipe(yaml, RecipeFormat::yaml, overrides, "the recipe", folder));
  });
  return RunRecipe(std::move(data));
}

std::string RunRecipe::to_yaml() const { return cairn::to_yaml(data_->recipe()); }

std::vector<std::string> RunRecipe::notes() const {
  std::vector<std::string> notes;
  for (const Note& note : data_->recipe().notes) notes.push_back(note.key + ": " + note.text);
  return notes;
}

}  // namespace cairn
