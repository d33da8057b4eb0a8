#include "model/bricks/embedding.h"

namespace outrider::model {

void embed(kernels::Executor& executor, const kernels::PackedMatrix& table,
           std::span<const base::TokenId> tokens, tensor::MatrixView<float> x) {
  executor.pool().run([&](int thread) {
    const auto share = kernels::share_of(x.rows, thread, executor.pool().thread_count());
    for (std::int64_t row = share.first; row < share.last; ++row) {
      const base::TokenId token = tokens[static_cast<std::size_t>(row)];
      OUTRIDER_CHECK(token >= 0 && token < table.outputs());
      kernels::unpack_row(table, token, x.row_span(row));
    }
  });
}

}  // namespace outrider::model
