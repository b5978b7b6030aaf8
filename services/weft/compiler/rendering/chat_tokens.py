"""The special tokens of chat templates, which tell a model who speaks. A tokenizer that parses them
in text would accept those of a web page, so none is left whole in untrusted text."""

from __future__ import annotations

import re

_ANGLED = (
    # Any of the forms <|im_start|>, <|turn>, <turn|> and DeepSeek's with full-width bars.
    r"<(?=[|\uff5c/])(?=/?[|\uff5c])|\|(?<=[\w\"].)(?=>)|\uff5c(?<=[\w\"].)(?=>)"
    r"|<(?=/?(?:"
    # Llama 2, Mistral, Gemma, T5, Baichuan, Yi, GLM: beginnings, ends and fillers.
    r"s|bos|eos|pad|unk|mask|sep|cls|sop|eop|eot|eod|eom|BOS_TOKEN|EOS_TOKEN|PAD|CLS|SEP"
    r"|UNK|MASK_TOKEN|EOP_TOKEN|unused\d{1,4}|reserved_\d{1,4}|extra_id_\d{1,4}|mask:\d{1,3}"
    # Gemma, Llama's and StarCoder's shapes: start_of_turn, end_function_call, fim_prefix.
    r"|(?:start|end|begin)_(?:of_)?[a-z_]{2,24}|fim_[a-z]{2,10}|(?:image|audio|video|boi|eoi)"
    r"(?:_soft)?_?(?:token|pad|start|end)?|(?:gh_stars|filename|reponame|jupyter_[a-z]{2,12}"
    r"|commit_[a-z]{2,12}|issue_[a-z]{2,12}|empty_output|repo_name|file_sep|issue)"
    # Tool calls and thoughts of Qwen, GLM, Hermes, Granite, Kimi, MiniMax, Seed and others.
    r"|think(?:ing)?|tools?|tool_(?:calls?|responses?|results?|outputs?|sep|use|desc|declare)|function_(?:calls?|results?|response)|arg_(?:key|value)"
    r"|(?:seed|minimax|longcat)[:_][a-z_]{2,24}|answer|observation|reasoning|scratchpad"
    r"|function|parameter|toolcall|available_tools"
    # Ling, Nemotron, Mistral's fillers, Idefics, PaliGemma, Phi.
    r"|role|SPECIAL_\d{1,4}|fake_token_around_image|(?:loc|seg)\d{3,4}|dummy\d{1,4}|im_(?:start|end)"
    r")>)"
    r"|<(?=(?:function|parameter)=|<?/?SYS>>)"
)
_BRACKETED = (
    # Mistral, GLM and BERT.
    r"\[(?=/?(?:INST|SYSTEM|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SYSTEM_PROMPT"
    r"|THINK|IMG|IMG_BREAK|IMG_END|PREFIX|MIDDLE|SUFFIX|ARGS|CALL_ID|AUDIO|BEGIN_AUDIO|TRANSCRIBE"
    r"|MODEL_SETTINGS|REF|control_\d{1,4}|[gs]?MASK|CLS|SEP|PAD|UNK|BOS|EOS|unused\d{1,4}"
    r"|UNUSED_TOKEN_\d{1,4})\])"
    # EXAONE, InternLM.
    r"|\[(?=\|[a-z_]{2,24}\|\])"
)
_OTHERS = (
    # Falcon and MiniMax.
    r">(?=>(?:TITLE|ABSTRACT|INTRODUCTION|SUMMARY|COMMENT|ANSWER|QUESTION|DOMAIN|EMAIL_ADDRESS"
    r"|IP_ADDRESS|PREFIX|SUFFIX|MIDDLE)<<)"
    r"|\](?=~!?b[\[\]]|![pd]~\[)|\[(?=e~\[)"
)
_TOKEN = re.compile(f"{_ANGLED}|{_BRACKETED}|{_OTHERS}", re.IGNORECASE)
"""The sign within a token behind which a blank breaks it. Each branch begins with its sign, so that
a text is searched for these alone."""


def break_chat_tokens(text: str) -> str:
    """Text that is not trusted, with every special token of a chat template broken by a blank."""
    return _TOKEN.sub(_broken_token, text)


def _broken_token(found: re.Match[str]) -> str:
    return f"{found.group()} "
