// A stored tensor on the host, as tests fill, read and compare it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/dtype.h"
#include "base/random.h"
#include "base/shape.h"
#include "numeric/bfloat16.h"

namespace cairn::test {

class HostTensor {
 public:
  HostTensor(DType dtype, Shape shape)
      : dtype_(dtype),
        shape_(shape),
        bytes_(static_cast<size_t>(shape.elements() * size_of(dtype))) {}

  // Standard normal values of a stream, times `scale`.
  HostTensor& fill_normal(uint64_t stream, double scale = 1) {
    const Random random(17, stream);
    for (int64_t i = 0; i < elements(); ++i)
      set(i, scale * random.normal(static_cast<uint64_t>(i)));
    return *this;
  }
  // Integers in [0, bound), of a stream.
  HostTensor& fill_below(uint64_t stream, int64_t bound) {
    const Random random(19, stream);
    for (int64_t i = 0; i < elements(); ++i)
      set(i, static_cast<double>(
                 random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(bound))));
    return *this;
  }
  HostTensor& fill(const std::vector<double>& values) {
    for (int64_t i = 0; i < elements(); ++i) set(i, values[static_cast<size_t>(i)]);
    return *this;
  }

  void set(int64_t i, double value) {
    switch (dtype_) {
      case DType::f32:
        return write(i, static_cast<float>(value));
      case DType::bf16:
        return write(i, to_bf16(static_cast<float>(value)));
      case DType::f64:
        return write(i, value);
      case DType::i32:
        return write(i, static_cast<int32_t>(value));
      case DType::u8:
        return write(i, static_cast<uint8_t>(value));
      case DType::f16:
      case DType::u4:
        CAIRN_CHECK(false, "[host tensor] wanted a number to store, got {}", name_of(dtype_));
    }
  }
  double at(int64_t i) const {
    switch (dtype_) {
      case DType::f32:
        return read<float>(i);
      case DType::bf16:
        return to_float(read<bf16>(i));
      case DType::f16:
        return f16_to_float(read<uint16_t>(i));
      case DType::f64:
        return read<double>(i);
      case DType::i32:
        return read<int32_t>(i);
      case DType::u8:
        return read<uint8_t>(i);
      case DType::u4:
        CAIRN_CHECK(false, "[host tensor] wanted numbers, got {}", name_of(dtype_));
    }
    return 0;
  }
  std::vector<double> values() const {
    std::vector<double> list;
    for (int64_t i = 0; i < elements(); ++i) list.push_back(at(i));
    return list;
  }

  template <typename T>
  void write(int64_t i, T value) {
    std::memcpy(bytes_.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
  template <typename T>
  T read(int64_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  std::vector<std::byte>& bytes() { return bytes_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  DType dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

}  // namespace cairn::test
