// Files that people put where rows of text belong, told from their first bytes.
#pragma once

#include <filesystem>
#include <string_view>

namespace cairn {

// Throws UserError for a file of another format, DamagedFile for what stands in for the file: a
// pointer, an error page, zero bytes.
void refuse_other_kinds(const std::filesystem::path& path, std::string_view head);
// The same of a .txt or .csv, in which a page of HTML is text like any other, and so is a word with
// which files of another format begin, unless bytes of no text follow.
void refuse_bytes(const std::filesystem::path& path, std::string_view head);

}  // namespace cairn
