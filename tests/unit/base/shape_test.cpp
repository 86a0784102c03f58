// Shapes: up to four extents, row-major.
#include "base/shape.h"

#include <gtest/gtest.h>

#include "base/dtype.h"

namespace cairn {
namespace {

TEST(Shape, counts_its_elements_and_those_of_a_row) {
  const Shape shape{3, 4, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 60);
  EXPECT_EQ(shape.row_elements(), 20);
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(Shape{7}.row_elements(), 1);
  EXPECT_EQ((Shape{0, 9}.elements()), 0);
  EXPECT_EQ(Shape().elements(), 1);
}

TEST(Shape, another_number_of_rows_keeps_the_rest) {
  EXPECT_EQ((Shape{3, 4, 5}.with_rows(2)), (Shape{2, 4, 5}));
}

TEST(Shape, is_written_in_brackets) {
  EXPECT_EQ((Shape{3, 4}.to_string()), "[3, 4]");
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(Shape, differs_by_extents_and_by_rank) {
  EXPECT_NE((Shape{3, 4}), (Shape{4, 3}));
  EXPECT_NE((Shape{3}), (Shape{3, 0}));
}

TEST(Shape, refuses_negative_extents_and_a_fifth_one) {
  EXPECT_THROW((Shape{-1}), CheckFailed);
  EXPECT_THROW((Shape{1, 2, 3, 4, 5}), CheckFailed);
}

TEST(DType, sizes_and_names_agree) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::f16), 2);
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(size_of(DType::u8), 1);
  EXPECT_EQ(name_of(DType::bf16), "bf16");
}

}  // namespace
}  // namespace cairn
