#include "train/optimizers/state_store.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "ops/moving.h"

namespace cairn {
namespace {

// Long enough that a disk streams, short enough that most of page_resident holds states.
constexpr int64_t kMostPieceBytes = 8 * kMiB;

// How many of the first records stay in the arena.
size_t count_resident(const std::vector<StateStore::Record>& records, int64_t room) {
  size_t count = 0;
  while (count < records.size() && records[count].bytes <= room) room -= records[count++].bytes;
  return count;
}

}  // namespace

int64_t StateStore::piece_bytes(int64_t page_resident) {
  return std::min(kMostPieceBytes, page_resident / 4);
}

void StateStore::allocate(const Exec& exec, std::vector<Record> records,
                          std::optional<int64_t> page_resident) {
  records_ = std::move(records);
  int64_t total = 0, largest = 0;
  for (const Record& record : records_) {
    total += record.bytes;
    largest = std::max(largest, round_up(record.bytes, kPageAlignment));
  }
  size_t resident = records_.size();
  if (page_resident && total > *page_resident) {
    // One alignment more: the arena's own is finer.
    buffer_bytes_ = largest + kPageAlignment;
    resident = count_resident(records_, *page_resident - 2 * buffer_bytes_);
  }
  for (size_t i = 0; i < resident; ++i) {
    const Ledger::Scope scope(exec.arena.ledger(), records_[i].owner);
    resident_.push_back(exec.make(Account::optimizer, "states", DType::u8, {records_[i].bytes}));
    ops::fill_zero(exec, resident_.back().view());
  }
  for (size_t i = resident; i < records_.size(); ++i) {
    offsets_.push_back(page_bytes_);
    page_bytes_ += round_up(records_[i].bytes, kPageAlignment);
  }
}

void StateStore::use_pages(Ledger& ledger, PageStore* page_store, int64_t offset) {
  if (page_bytes_ == 0) return;
  CAIRN_CHECK(page_store, "[state store] wanted a page store for paged states, got none");
  page_store_ = page_store;
  offset_ = offset;
  paged_ = ledger.charge(Account::optimizer, Place::page, "states", page_bytes_);
}

StateStore::Sweep::Sweep(const Exec& exec, StateStore& store, bool writes, size_t first, size_t end)
    : exec_(exec), store_(store), writes_(writes), end_(end) {
  const size_t first_paged = std::max(first, store_.resident_.size());
  if (first_paged >= end_) return;
  CAIRN_CHECK(store_.page_store_, "[state store] wanted use_pages before the first sweep");
  for (Buffer& buffer : buffers_)
    buffer.memory =
        exec.make(Account::optimizer, "buffer of paged states", DType::u8, {store_.buffer_bytes_});
  start_read(first_paged);
}

StateStore::Sweep::~Sweep() {
  for (Buffer& buffer : buffers_) {
    try {
      wait(buffer);
    } catch (const DeviceError&) {
      // Whoever opened a record has met the error, or another one is on its way.
    }
  }
}

std::byte* StateStore::Sweep::open(size_t index) {
  if (!store_.pages(index)) return store_.resident_[index].view().data();
  // Moves run in their order: this read begins behind the other buffer's way back.
  if (index + 1 < end_) start_read(index + 1);
  Buffer& buffer = buffer_of(index);
  wait(buffer);
  return align_to_page(buffer.memory.view().data());
}

void StateStore::Sweep::close(size_t index) {
  if (!writes_ || !store_.pages(index)) return;
  exec_.backend.device().wait(exec_.stream);
  Buffer& buffer = buffer_of(index);
  buffer.ticket = store_.page_store_->start_write(
      store_.offset_ + store_.offsets_[index - store_.resident_.size()],
      align_to_page(buffer.memory.view().data()),
      round_up(store_.records_[index].bytes, kPageAlignment));
  buffer.moves = true;
}

void StateStore::Sweep::finish() {
  for (Buffer& buffer : buffers_) wait(buffer);
}

void StateStore::Sweep::start_read(size_t index) {
  Buffer& buffer = buffer_of(index);
  buffer.ticket = store_.page_store_->start_read(
      store_.offset_ + store_.offsets_[index - store_.resident_.size()],
      align_to_page(buffer.memory.view().data()),
      round_up(store_.records_[index].bytes, kPageAlignment));
  buffer.moves = true;
}

void StateStore::Sweep::wait(Buffer& buffer) {
  if (!buffer.moves) return;
  buffer.moves = false;
  store_.page_store_->wait(buffer.ticket);
}

}  // namespace cairn
