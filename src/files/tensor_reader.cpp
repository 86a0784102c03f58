#include "files/tensor_reader.h"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <thread>

#include "base/bytes.h"
#include "base/error.h"
#include "files/block_decode.h"

namespace cairn {
namespace {

constexpr int kMaxReaders = 4;
// A reader more must be worth starting a thread for.
constexpr int64_t kLeastBytesOfReader = int64_t{2} << 20;

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// A read of rows, told in elements of the file.
struct Request {
  const InputFile& file;
  const TensorInfo& info;
  Range rows;            // wanted
  int64_t row_elements;  // of one row
  View out;

  // What must be read: for interleaved rows, all the heads that the wanted ones belong to.
  Range file_elements() const {
    if (info.interleaved_heads == 0) return {rows.begin * row_elements, rows.end * row_elements};
    const int64_t rows_of_head = info.shape[0] / info.interleaved_heads;
    return {rows.begin / rows_of_head * rows_of_head * row_elements,
            ceil_div(rows.end, rows_of_head) * rows_of_head * row_elements};
  }
};

// GGUF row (head, 2 pair + half) is row (head, half * pairs + pair) of the model.
int64_t model_row_of(const Request& request, int64_t file_row) {
  const int64_t rows_of_head = request.info.shape[0] / request.info.interleaved_heads;
  const int64_t head = file_row / rows_of_head, within = file_row % rows_of_head;
  return head * rows_of_head + within % 2 * (rows_of_head / 2) + within / 2;
}

// Decoded, then moved by the shift, then rounded: a few blocks at a time.
void decode_shifted(const Request& request, const std::byte* in, int64_t elements,
                    int64_t out_element) {
  constexpr int64_t kBuffer = 1024;
  const FileType type = request.info.type;
  std::array<float, kBuffer> values;
  for (int64_t at = 0; at < elements; at += kBuffer) {
    const int64_t count = std::min(kBuffer, elements - at);
    decode_blocks(type, in + at / block_elements(type) * block_bytes(type), count, values.data());
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] += request.info.shift;
    const auto* const moved = reinterpret_cast<const std::byte*>(values.data());
    if (request.out.dtype() == DType::f32)
      decode_blocks(FileType::f32, moved, count, request.out.as<float>() + out_element + at);
    else
      decode_blocks(FileType::f32, moved, count, request.out.as<bf16>() + out_element + at);
  }
}

void decode_to(const Request& request, const std::byte* in, int64_t elements, int64_t out_element) {
  if (request.info.shift != 0) return decode_shifted(request, in, elements, out_element);
  if (request.out.dtype() == DType::f32)
    decode_blocks(request.info.type, in, elements, request.out.as<float>() + out_element);
  else
    decode_blocks(request.info.type, in, elements, request.out.as<bf16>() + out_element);
}

// Converts the file's elements [piece) from `in` to where they belong.
void place_piece(const Request& request, Range piece, const std::byte* in) {
  if (request.info.interleaved_heads == 0)
    return decode_to(request, in, piece.size(),
                     piece.begin - request.rows.begin * request.row_elements);
  const FileType type = request.info.type;
  for (int64_t at = piece.begin; at < piece.end;) {
    const int64_t row = at / request.row_elements, column = at % request.row_elements;
    const int64_t count = std::min(request.row_elements - column, piece.end - at);
    const int64_t target = model_row_of(request, row);
    if (target >= request.rows.begin && target < request.rows.end)
      decode_to(request, in + (at - piece.begin) / block_elements(type) * block_bytes(type), count,
                (target - request.rows.begin) * request.row_elements + column);
    at += count;
  }
}

void read_converted(const Request& request, Range part, std::span<std::byte> scratch) {
  const FileType type = request.info.type;
  const int64_t block = block_elements(type), bytes = block_bytes(type);
  const int64_t piece_elements = static_cast<int64_t>(scratch.size()) / bytes * block;
  for (int64_t at = part.begin; at < part.end; at += piece_elements) {
    const Range piece{at, std::min(at + piece_elements, part.end)};
    const auto window = scratch.first(static_cast<size_t>(ceil_div(piece.size(), block) * bytes));
    request.file.read(request.info.offset + at / block * bytes, window);
    place_piece(request, piece, window.data());
  }
}

void read_straight(const Request& request, Range part) {
  const int64_t bytes = block_bytes(request.info.type);
  std::byte* to =
      request.out.data() + (part.begin - request.rows.begin * request.row_elements) * bytes;
  request.file.read(request.info.offset + part.begin * bytes,
                    {to, static_cast<size_t>(part.size() * bytes)});
}

// Runs work(n) for n in [0, count), the first here and the rest on threads; passes on one failure.
void run_readers(int count, const std::function<void(int)>& work) {
  std::array<std::exception_ptr, kMaxReaders> failures;
  std::array<std::thread, kMaxReaders> threads;
  const auto guarded = [&](int reader) {
    try {
      work(reader);
    } catch (...) {
      failures[static_cast<size_t>(reader)] = std::current_exception();
    }
  };
  int started = 1;
  try {
    for (; started < count; ++started)
      threads[static_cast<size_t>(started)] = std::thread(guarded, started);
  } catch (const std::system_error&) {
    // No more threads are to be had: their parts are done here.
  }
  guarded(0);
  for (int reader = started; reader < count; ++reader) guarded(reader);
  for (std::thread& thread : threads)
    if (thread.joinable()) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

int readers_for(int64_t bytes) {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(
      std::clamp<int64_t>(bytes / kLeastBytesOfReader, 1, std::min<int64_t>(cores, kMaxReaders)));
}

}  // namespace

void read_tensor_rows(const InputFile& file, const TensorInfo& info, int64_t first_row,
                      int64_t row_count, View out, std::span<std::byte> scratch) {
  CAIRN_CHECK(first_row >= 0 && row_count >= 0 && first_row + row_count <= info.rows(),
              "[read_rows] wanted rows within {} of {}, got {} from {}", info.shape.to_string(),
              info.name, row_count, first_row);
  CAIRN_CHECK(out.dtype() == DType::f32 || out.dtype() == DType::bf16,
              "[read_rows] wanted f32 or bf16 memory, got {}", name_of(out.dtype()));
  const int64_t row_elements = info.shape.row_elements();
  CAIRN_CHECK(out.elements() == row_count * row_elements, "[read_rows] wanted {} elements, got {}",
              row_count * row_elements, out.elements());
  CAIRN_CHECK(static_cast<int64_t>(scratch.size()) >= kLeastReadScratchBytes,
              "[read_rows] wanted {} bytes of scratch, got {}", kLeastReadScratchBytes,
              scratch.size());
  if (!is_readable(info.type))
    throw UserError(
        fmt::format("{} of {} is stored as {}, which cannot be read as numbers of a model.",
                    info.name, file.path(), name_of(info.type)));
  const int64_t block = block_elements(info.type);
  CAIRN_CHECK(first_row * row_elements % block == 0 && out.elements() % block == 0,
              "[read_rows] wanted whole {} blocks, got {} elements from {}", name_of(info.type),
              out.elements(), first_row * row_elements);
  if (out.elements() == 0) return;

  const Request request{file, info, {first_row, first_row + row_count}, row_elements, out};
  const Range whole = request.file_elements();
  const bool straight =
      info.interleaved_heads == 0 && info.shift == 0 && info.type == file_type_of(out.dtype());
  const int64_t blocks = whole.size() / block;
  const int readers = readers_for(blocks * block_bytes(info.type));
  const size_t share = scratch.size() / static_cast<size_t>(readers) / 64 * 64;
  run_readers(readers, [&](int reader) {
    const Range part{whole.begin + blocks * reader / readers * block,
                     whole.begin + blocks * (reader + 1) / readers * block};
    if (straight)
      read_straight(request, part);
    else
      read_converted(request, part, scratch.subspan(static_cast<size_t>(reader) * share, share));
  });
}

}  // namespace cairn
