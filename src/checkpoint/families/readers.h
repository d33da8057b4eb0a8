// The families' readers and tensor lists, one pair a file of this folder; the table in families.cc names
// them.
#pragma once

#include "checkpoint/config_reader.h"
#include "checkpoint/model_shape.h"
#include "checkpoint/tensor_list.h"

namespace outrider::checkpoint {

ModelShape read_llama(const ConfigReader& text, const ConfigReader& outer);
void list_llama_tensors(const ModelShape& shape, TensorLister& lister);

ModelShape read_gpt_oss(const ConfigReader& text, const ConfigReader& outer);
void list_gpt_oss_tensors(const ModelShape& shape, TensorLister& lister);

ModelShape read_gemma4(const ConfigReader& text, const ConfigReader& outer);
void list_gemma4_tensors(const ModelShape& shape, TensorLister& lister);

// Qwen3.5, dense and MoE.
ModelShape read_qwen3_5(const ConfigReader& text, const ConfigReader& outer);
void list_qwen3_5_tensors(const ModelShape& shape, TensorLister& lister);

// DeepSeek-V3, V3.1, V3.2, R1, Kimi-K2, GLM-5: latent attention, experts behind a few dense layers.
ModelShape read_deepseek_v3(const ConfigReader& text, const ConfigReader& outer);
void list_deepseek_v3_tensors(const ModelShape& shape, TensorLister& lister);

ModelShape read_deepseek_v4(const ConfigReader& text, const ConfigReader& outer);
ModelShape read_deepseek_v41(const ConfigReader& text, const ConfigReader& outer);
void list_deepseek_v4_tensors(const ModelShape& shape, TensorLister& lister);

ModelShape read_kimi_k3(const ConfigReader& text, const ConfigReader& outer);
void list_kimi_k3_tensors(const ModelShape& shape, TensorLister& lister);

// The latent attention of one layer, below `prefix`; shared by its families and their drafters.
LatentAttention read_latent_attention(const ConfigReader& text);
void list_latent_attention(const LatentAttention& attention, std::int64_t hidden_width,
                           const std::string& prefix, const LinearFormat& format, TensorLister& lister);

}  // namespace outrider::checkpoint
