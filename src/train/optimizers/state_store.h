// StateStore: where records of states stay. Without a limit all are in the arena. With one, the
// records that fit beside two transfer buffers stay there for good and cause no traffic; the others
// live in a page store and pass through the buffers, the next one's read running beside this one's
// update and its way back behind it. What a record holds is the same in either place.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "memory/page_store.h"
#include "ops/exec.h"

namespace cairn {

class StateStore {
 public:
  struct Record {
    std::string owner;  // of its charge in the ledger
    int64_t bytes = 0;
  };

  // The largest record that a limit allows.
  static int64_t piece_bytes(int64_t page_resident);

  // Takes the memory of what stays, zero. `page_resident`: bytes in the arena, buffers included.
  void allocate(const Exec& exec, std::vector<Record> records,
                std::optional<int64_t> page_resident);
  // Room that a page store must have; 0 if every record is in the arena.
  int64_t page_bytes() const { return page_bytes_; }
  // Where that room is. It reads as zero until something is written.
  void use_pages(Ledger& ledger, PageStore* pages, int64_t offset);

  // One walk over records [first, end) in their order, within a phase.
  class Sweep {
   public:
    // `writes`: records come back changed. Takes the buffers, if any of the records pages.
    Sweep(const Exec& exec, StateStore& store, bool writes, size_t first, size_t end);
    // Waits for what is under way: the buffers go back to the arena.
    ~Sweep();
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;

    // The bytes of record `index`, valid until the next is opened. Throws DeviceError.
    std::byte* open(size_t index);
    void close(size_t index);
    // The last ways back; throws DeviceError if one failed.
    void finish();

   private:
    struct Buffer {
      Tensor memory;
      PageStore::Ticket ticket = 0;  // of the latest move
      bool moves = false;
    };
    Buffer& buffer_of(size_t index) { return buffers_[(index - store_.resident_.size()) % 2]; }
    void start_read(size_t index);
    void wait(Buffer& buffer);

    const Exec& exec_;
    StateStore& store_;
    bool writes_;
    size_t end_;
    std::array<Buffer, 2> buffers_;
  };

 private:
  bool pages(size_t index) const { return index >= resident_.size(); }

  std::vector<Record> records_;
  std::vector<Tensor> resident_;  // of the first records, [bytes] u8 each
  std::vector<int64_t> offsets_;  // in the page store, of the records behind them
  int64_t buffer_bytes_ = 0, page_bytes_ = 0, offset_ = 0;
  PageStore* page_store_ = nullptr;
  Charge paged_;
};

}  // namespace cairn
