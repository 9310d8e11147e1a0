#include "trainer/model/families/harmless_fields.h"

#include <algorithm>
#include <iterator>

namespace muster::trainer {
namespace {

constexpr std::string_view kFields[] = {
    "_attn_implementation_autoset",
    "_name_or_path",
    "architectures",
    "attention_softmax_in_fp32",
    "bias_dropout_fusion",
    "do_sample",
    "dtype",
    "gradient_checkpointing",
    "id2label",
    "initializer_range",
    "label2id",
    "masked_softmax_fusion",
    "max_length",
    "max_sequence_length",
    "n_ctx",
    "num_labels",
    "offset_alibi",
    "output_attentions",
    "output_hidden_states",
    "pretraining_tp",
    "reorder_and_upcast_attn",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "task_specific_params",
    "temperature",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "transformers_version",
    "use_cache",
};

}  // namespace

bool IsHarmlessField(std::string_view field) {
  return field.starts_with("summary_") || field.ends_with("_token_id") ||
         field.ends_with("_pdrop") || field.ends_with("dropout") ||
         std::binary_search(std::begin(kFields), std::end(kFields), field);
}

}  // namespace muster::trainer
