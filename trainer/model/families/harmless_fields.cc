#include "trainer/model/families/harmless_fields.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace muster::trainer {
namespace {

// These are sorted. transformers 4.57 reads some of them, but computes no logits with them.
constexpr std::string_view kFields[] = {
    "add_cross_attention",
    "architectures",
    "attention_softmax_in_fp32",
    "attn_implementation",
    "bad_words_ids",
    "begin_suppress_tokens",
    "chunk_size_feed_forward",
    "cross_attention_hidden_size",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "flash_attention",
    "flash_attn",
    "gradient_checkpointing",
    "gradient_checkpointing_kwargs",
    "id2label",
    "initializer_range",
    "is_decoder",
    "is_llama_config",
    "keys_to_ignore_at_inference",
    "label2id",
    "length_penalty",
    "license",
    "masked_softmax_fusion",
    "max_length",
    "max_new_tokens",
    "max_sequence_length",
    "min_length",
    "model_max_length",
    "model_name",
    "n_ctx",
    "n_special",
    "name_or_path",
    "neftune_noise_alpha",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "offset_alibi",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "predict_special_tokens",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "reorder_and_upcast_attn",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tokenizer_class",
    "tokenizer_model_max_length",
    "tokenizer_padding_side",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_cache",
    "use_flash_attention",
    "use_flash_attn",
    "use_return_dict",
};

// These are sorted. Some programs compute something else where one of these is true.
constexpr std::string_view kSwitches[] = {
    "alibi",     "is_encoder_decoder",    "qkv_bias",    "rope_interleaved",
    "use_mrope", "use_parallel_residual", "use_qk_norm", "use_sliding_window",
};

static_assert(std::ranges::is_sorted(kFields) && std::ranges::is_sorted(kSwitches));

template <size_t kSize>
bool Has(const std::string_view (&sorted)[kSize], std::string_view field) {
  return std::binary_search(std::begin(sorted), std::end(sorted), field);
}

}  // namespace

bool IsHarmlessField(std::string_view field) {
  return field.starts_with("_") || field.starts_with("summary_") || field.starts_with("unsloth_") ||
         field.ends_with("_token_id") || field.ends_with("_token_ids") ||
         field.ends_with("_pdrop") || field.find("dropout") != std::string_view::npos ||
         Has(kFields, field);
}

bool IsSwitchedOff(std::string_view field, const Json& value) {
  return value == false && Has(kSwitches, field);
}

}  // namespace muster::trainer
