"""What Anthropic Messages accepts: the rules ``A-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

_UNANSWERED: Final = (
    "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_ORPHANED: Final = (
    "messages.{n}.content.{k}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- calls and results ---------------------------------------------------------------------------------------------
    Rule("A-PAIR-01", "C1", "L2", "error", "V", "synthesize-result",
        "Every client tool_use is answered by a tool_result with its id in the message that follows, after merging.",
        _UNANSWERED,
        "claude-code#1237, #2697, #1642 and #8931 (during a compaction); langgraph#5109; recorded: opencode, pydantic-ai"),
    Rule("A-PAIR-02", "C2", "L2", "error", "V", "drop-orphan",
        "Every tool_result answers a client tool_use of the assistant message directly before it, after merging.",
        _ORPHANED,
        "claude-code#13460; studio#1803; CLIProxyAPI#497; Anthropic.SDK#184; learn-claude-code PR#502 (a compaction did it)"),
    Rule("A-PAIR-03", "C5", "L2", "error", "D", "merge-same-role",
        "The results of one assistant message stand together in the one user message after it.",
        _UNANSWERED,
        "Anthropic documentation, 'Handle tool calls'; claude-code#6242 (three ids at once); recorded: ruby_llm, rig",
        (("adjacent", "warning",
          "split over adjacent user messages they were accepted 65 times; Bedrock Converse does not merge"),)),
    Rule("A-PAIR-04", "C5", "L2", "error", "D", "hoist-results",
        "In the user message that answers calls, every tool_result stands before every other block, after merging.",
        _UNANSWERED + "\nDid not find {n} tool_result block(s) at the beginning of this message. "
        "Messages following tool_use blocks must begin with a matching number of tool_result blocks.",
        "Anthropic documentation, 'Handle tool calls'; anthropic-sdk-typescript#653 (the older text); recorded: 104 of 104"),
    Rule("A-PAIR-05", "C4", "L2", "error", "V", "dedup-result",
        "No client tool_use has more than one tool_result.",
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
        "Roo-Code#10465 (validateToolResultIds); kilocode PR#3772; litellm adapter tests"),
    Rule("A-ORDER-01", "C5", "L2", "error", "V", "move-words",
        "In an assistant message nothing but further tool_use blocks stands after a client tool_use.",
        _UNANSWERED,
        "recorded: refused in opencode and pydantic-ai, absent from all 6,665 accepted assistant messages with calls"),

    # -- ids and names -------------------------------------------------------------------------------------------------
    Rule("A-ID-01", "C3", "L2", "error", "V", "rename-id",
        "The ids of all client tool_use blocks of a request are different.",
        "messages.{n}.content.{k}: `tool_use` ids must be unique",
        "claude-code#20700, #21317, #28515; opencode#1279; claude-code-router#593, #599; recorded: pydantic-ai",
        (("across-turns", "warning",
          "an id used again in a later assistant message was accepted twice (claude-sonnet-4-5) and reported as refused"),)),
    Rule("A-ID-02", "C11", "L2", "error", "V", "rename-id",
        "The ids of client tool_use and tool_result blocks are one or more of the characters a-z, A-Z, 0-9, _ and -.",
        "messages.{n}.content.{k}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'\n"
        "messages.{n}.content.{k}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "command-code#323; forgecode#1142; ClawRouter#17; nanobot PR#4356; Roo-Code PR#10649; opencode#1279 (an empty id)"),
    Rule("A-ID-03", "C11", "L2", "error", "V", "rename-id",
        "The id of a server_tool_use is srvtoolu_ and one or more of the characters a-z, A-Z, 0-9 and _.",
        "messages.{n}.content.{k}.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
        "claude-code-hub#470; litellm PR#31672"),
    Rule("A-NAME-01", "C11", "L26", "error", "V", None,
        "The name of a tool, declared or called, is 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
        "tools.{n}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        "tester-mcp-client#11",
        (("up-to-128", "warning", "newer models are reported to take names of up to 128 characters"),)),
    Rule("A-INPUT-01", "C15", "L9", "error", "V", "wrap-arguments",
        "The input of a tool_use is a JSON object.",
        "messages.{n}.content.{k}.tool_use.input: Input should be a valid dictionary",
        "anthropic-sdk-typescript#648; prism#659; claude-code#6696; librefang PR#1476"),

    # -- roles, start and end ------------------------------------------------------------------------------------------
    Rule("A-ROLE-01", "C6", "L2", "error", "V", None,
        "A tool_result stands only in a user message, and a tool_use only in an assistant message.",
        "`tool_result` blocks can only be in `user` messages\n`tool_use` blocks can only be in `assistant` messages",
        "Anthropic.SDK#128; autogen PR#2992"),
    Rule("A-ROLE-02", "C6", "L26", "error", "V", None,
        "The role of a message is user or assistant; system text stands in the field system.",
        'messages: Unexpected role "{role}". '
        'The Messages API accepts a top-level `system` parameter, not "system" as an input message role.\n'
        "messages.{n}.role: Input should be 'user' or 'assistant'",
        "cursor-claude-connector#3; anthropix#2; anthropic-sdk-python beta_message_param; recorded: pydantic-ai, rig",
        (("mid-history", "warning",
          "plain text in mid-history was accepted by claude-opus-4-8, sonnet-5 and fable-5; older models refuse it"),
         ("tool-addition", "info", "a system message that only adds or removes tools was accepted under a beta"))),
    Rule("A-START-01", "C7", "L3", "warning", "V", "insert-bridge",
        "The first message has the role user.",
        'messages: first message must use the "user" role',
        "lobehub#1601; chatbot-ui#1656 (truncation); anthropic-sdk-typescript#622 (relaxed); recorded: rig, opencode, mastra",
        (("strict", "error", "refused by older versions and by Bedrock with models of other families"),)),
    Rule("A-ALT-01", "C9", "L1", "info", "D", "merge-same-role",
        "Adjacent messages have different roles.",
        'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row',
        "anthropic-sdk-python message_create_params (they are combined); the older refusal in vercel/ai PR#8474 and litellm#3474",
        (("strict", "error", "refused by older versions and by strict gateways, which do not merge"),)),
    Rule("A-END-01", "C8", "L1", "error", "V", "append-user",
        "On a model without prefill the last message has the role user.",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "copilot-api PR#261 (the models); opencode-dynamic-context-pruning#520; recorded: activeagent (claude-sonnet-5)",
        (("unknown-model", "info",
          "models up to 4.5 take a prefill, those from 4.6 on refuse it, and which one it is is not known here"),)),
    Rule("A-END-02", "C8", "L1", "error", "V", None,
        "A text that ends a final assistant message does not end in whitespace.",
        "messages: final assistant content cannot end with trailing whitespace",
        "forgecode#1872; opencode#1295; goose PR#5967; litellm trims it"),

    # -- empty things --------------------------------------------------------------------------------------------------
    Rule("A-EMPTY-01", "C10", "L1", "error", "V", "drop-empty",
        "No text block is the empty string.",
        "messages: text content blocks must be non-empty",
        "claude-code#59812, #62312, #49171; cai#182; anthropic-sdk-python#461 (it returns what it later refuses)",
        (("in-result", "warning", "no refusal is known for an empty text inside a tool_result"),)),
    Rule("A-EMPTY-02", "C10", "L1", "error", "V", "placeholder-text",
        "No text block is whitespace only.",
        "messages: text content blocks must contain non-whitespace text",
        "claude-code#23440 (after a compaction); recorded: accepted beside other blocks",
        (("not-alone", "warning", "accepted three times beside other blocks (claude-haiku-4-5)"),)),
    Rule("A-EMPTY-03", "C10", "L1", "error", "V", "drop-empty",
        "Every message has content, except an assistant message at the very end.",
        "messages.{n}: all messages must have non-empty content except for the optional final assistant message",
        "claude-code#6774, #3196, blocking a compaction #4314 and #6795; zypher-agent PR#122; recorded: mirascope"),
    Rule("A-EMPTY-04", "C10", "L1", "error", "V", "append-user",
        "There is at least one message.",
        "messages: at least one message is required",
        "dify#6179"),
    Rule("A-EMPTY-05", "C10", "L1", "error", "C", "placeholder-text",
        "The content of a tool_result, where it is a list, is not empty.",
        "",
        "pydantic-ai models/anthropic.py (comment: it is refused)"),
    Rule("A-EMPTY-06", "C10", "L1", "error", "V", "placeholder-text",
        "A tool_result with is_error true has content.",
        "messages.{n}.content.{k}.tool_result: content cannot be empty if `is_error` is true",
        "trae-agent#230; markform#153"),

    # -- sealed reasoning ----------------------------------------------------------------------------------------------
    Rule("A-THINK-01", "C12", "L5", "error", "V", None,
        "With thinking enabled, the last assistant message of a tool loop begins with a thinking or redacted_thinking block.",
        "messages.{n}.content.{k}.type: Expected `thinking` or `redacted_thinking`, but found `{type}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
        "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). "
        "We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
        "opencode#3077; mastra#7799; haystack-core-integrations#2146; n8n#22550; recorded: 42 of 42 loops begin so"),
    Rule("A-THINK-02", "C12", "L5", "error", "V", "restore-seal",
        "The thinking and redacted_thinking blocks of the latest assistant message are complete, in order and unaltered.",
        "messages.{n}.content.{k}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response.",
        "claude-code#19539, #63203, #63404, #25361, during compaction #12946; llxprt-code#1653; atomic#1318"),
    Rule("A-THINK-03", "C12", "L5", "error", "V", "strip-seal",
        "Every thinking block carries the signature that the model gave it.",
        "messages.{n}.content.{k}: Invalid `signature` in `thinking` block\n"
        "messages.{n}.content.{k}.thinking.signature: Field required",
        "claude-code#10627; anthropic-sdk-python#1598 (a maintainer: they do not expire, any difference fails); ccs#415"),
    Rule("A-THINK-04", "C12", "L5", "error", "V", "strip-seal",
        "With thinking disabled, a final assistant message has no thinking block.",
        "messages.{n}.content.{k}: When thinking is disabled, an `assistant` message in the final position cannot contain "
        "`thinking`. To use thinking blocks, enable `thinking` in your request.",
        "forgecode#1853, #1195",
        (("unsaid", "warning", "where nothing is said of thinking, older models have it off and newer ones adaptive"),)),
    Rule("A-THINK-05", "C12", "L5", "error", "D", "restore-seal",
        "A fallback block stays where the model returned it among the thinking blocks of its message.",
        "",
        "anthropic-sdk-python beta_fallback_block_param"),
    Rule("A-THINK-06", "C12", "L5", "error", "V", None,
        "The last block of an assistant message is no thinking or redacted_thinking block.",
        "messages.{n}: The final block in an assistant message cannot be `thinking`.",
        "forgecode#2107, #3071; hermes-agent PR#11098 (a compaction cut the text behind it), PR#13010"),
    Rule("A-THINK-07", "C12", "L5", "warning", "D", None,
        "Nothing that stood before a thinking block was changed since, where the model checks that, "
        "or the request has such blocks dropped.",
        "messages.{n}.content.{k}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
        "Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
        "Claude documentation (preserved thinking, prefix checks; compaction and preserved thinking); Amazon Bedrock "
        "documentation (preserved thinking); pi#9391 (fifteen blocks behind a summary)"),
    Rule("A-TC-01", "C14", "L1", "error", "V", None,
        "With thinking enabled or adaptive, tool_choice is auto or none.",
        "Thinking may not be enabled when tool_choice forces tool use.",
        "llama_index#19641; claude-code#19414; recorded: genai (claude-sonnet-4; claude-opus-4-8 with adaptive thinking)"),

    # -- tools that the provider runs ----------------------------------------------------------------------------------
    Rule("A-SRV-01", "C1", "L2", "error", "V", None,
        "Every server_tool_use has its result in the same assistant message, if that is not the last and has no client call.",
        "messages.{n}: `{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block",
        "anthropic-sdk-python#961, #1339; gsd-2#2869; lisette#90; recorded: pydantic-ai (the two exceptions)"),
    Rule("A-SRV-02", "C2", "L2", "error", "V", "drop-orphan",
        "Every result of a server tool has its server_tool_use earlier in the same assistant message.",
        "messages.{n}.content.{k}: unexpected `tool_use_id` found in `{name}_tool_result` blocks: {id}. "
        "Each `{name}_tool_result` block must have a corresponding `server_tool_use` block before it.",
        "claude-code#64383, #80439"),
    Rule("A-SRV-03", "C14", "L26", "error", "C", "add-tool-declaration",
        "Where an assistant message has blocks of the advisor tool, the request declares that tool.",
        "",
        "pydantic-ai models/anthropic.py (strips the blocks else)"),
    Rule("A-MCP-01", "C1", "L2", "error", "D", None,
        "Every mcp_tool_use has its result in the same assistant message, if that is not the last and has no client call.",
        "",
        "anthropic-sdk-python beta_mcp_tool_use_block_param and its result; recorded: three pairs, all so"),
    Rule("A-TREF-01", "C14", "L26", "error", "C", "drop-orphan",
        "Every tool_reference names a tool that the request declares.",
        "",
        "pydantic-ai models/anthropic.py (filters the others); recorded: 57 of 57 name a declared tool"),

    # -- cache marks ---------------------------------------------------------------------------------------------------
    Rule("A-CACHE-01", "C15", "L18", "error", "V", None,
        "At most four blocks of tools, system and messages together carry a cache_control that is not null.",
        "A maximum of {n} blocks with cache_control may be provided. Found {n}.",
        "sub2api#176; Anthropic.SDK#50; opencode-claude-auth#121; recorded: never more than four, nulls not counted"),
    Rule("A-CACHE-02", "C15", "L18", "error", "V", "drop-empty",
        "No empty text block carries a cache_control.",
        "messages.{n}.content.{k}.text: cache_control cannot be set for empty text blocks",
        "claude-code#54013, #62379; dario#1066"),
    Rule("A-CACHE-03", "C15", "L18", "error", "V", None,
        "No thinking or redacted_thinking block carries a cache_control.",
        "messages.{n}.content.{k}.thinking.cache_control: Extra inputs are not permitted\n"
        "messages.{n}.content.{k}.redacted_thinking.cache_control: Extra inputs are not permitted",
        "sub2api#225; pydantic-ai models/anthropic.py (the set of blocks that may)"),

    # -- media ---------------------------------------------------------------------------------------------------------
    Rule("A-IMG-01", "C13", "L7", "error", "V", "move-image",
        "A tool_result holds text, image, document, search_result or tool_reference blocks, and only text if is_error is true.",
        "messages.{n}.content.{k}.tool_result: all content must be type `text` if `is_error` is true",
        "oh-my-pi tests; anthropic-sdk-python beta_tool_result_block_param",
        (("unknown-type", "warning", "a type that is not in this list may be newer than the list"),)),
    Rule("A-IMG-02", "C15", "L7", "error", "V", None,
        "A request has at most 100 images and document pages.",
        "Too much media: {n} document pages + {n} images > {n}",
        "claude-code#19822 (it blocks the compaction too)"),
    Rule("A-IMG-03", "C15", "L7", "error", "V", None,
        "No side of an image is longer than 8,000 pixels, or than 2,000 in a request with more than 20 images.",
        "messages.{n}.content.{k}.image.source.base64.data: "
        "At least one of the image dimensions exceed max allowed size: {n} pixels\n"
        "messages.{n}.content.{k}.image.source.base64.data: "
        "At least one of the image dimensions exceed max allowed size for many-image requests: {n} pixels",
        "claude-code#24630, #15730, #49537, #53170; dify#11177; openclaude PR#1970"),
    Rule("A-SRC-01", "C13", "L7", "warning", "V", None,
        "No image or document inside a tool_result has a source of type file.",
        "messages.{n}.content.{k}.tool_result.content.{j}.image.source: "
        "Input tag 'file' found using 'type' does not match any of the expected tags: {tags}\n"
        "messages.{n}.content.{k}.tool_result.content.{j}.document.source: "
        "Input tag 'file' found using 'type' does not match any of the expected tags: {tags}",
        "recorded: pydantic-ai, refused twice without the files beta and accepted once; the body does not tell the two apart"),

    # -- compaction and size -------------------------------------------------------------------------------------------
    Rule("A-COMPACT-01", "C16", "L20", "error", "V", None,
        "A compaction block has as content a text that is not empty, or null, and no encrypted_content that is null.",
        "messages.{n}.content.{k}.compaction.encrypted_content: Extra inputs are not permitted",
        "anthropic-sdk-python#1828, PR#1859, beta_compaction_block_param; langchain PR#36850"),
    Rule("A-COMPACT-02", "C2", "L20", "warning", "C", "drop-orphan",
        "What stands before a compaction block satisfies the rules of pairs as well.",
        _ORPHANED,
        "pydantic-ai models/anthropic.py (what the API ignores is validated all the same)"),
    Rule("A-CTX-01", "C16", "L1", "error", "V", None,
        "Where clear_thinking_20251015 is among the edits, thinking is enabled or adaptive.",
        "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
        "anthropic-sdk-python beta_clear_thinking_20251015_edit_param; the text in public clients; recorded: 75, all so"),
    Rule("A-CTX-02", "C16", "L1", "error", "D", None,
        "Every context edit is of a known type, and its fields have the shapes of that type.",
        "",
        "anthropic-sdk-python beta_clear_tool_uses_20250919_edit_param; Anthropic documentation, 'Context editing'",
        (("unknown-edit", "warning", "a type of edit that is not in this list may be newer than the list"),)),
    Rule("A-CTX-03", "C16", "L1", "warning", "D", None,
        "The model of a request with context edits is one that is known to support each of them.",
        "",
        "Claude documentation, 'Context editing' and 'Compaction' (the lists of supported models)"),
    Rule("A-CTX-04", "C16", "L1", "warning", "D", None,
        "Where a body lists its betas, the beta of each of its context edits is among them.",
        "",
        "Claude documentation, 'Context editing' and 'Compaction'; Amazon Bedrock user guide, 'Compaction'"),
    Rule("A-CTX-05", "C16", "L1", "error", "D", None,
        "Where clear_thinking_20251015 is among the edits, it is the first of them.",
        "",
        "Claude documentation, 'Context editing' (combining strategies)"),
    Rule("A-SIZE-01", "C15", "L13", "error", "V", None,
        "The prompt has no more tokens than the model's window.",
        "prompt is too long: {n} tokens > {n} maximum",
        "pi-mono overflow.ts (the texts of many providers); recorded: ruby_llm, pydantic-ai"),
    Rule("A-SIZE-02", "C15", "L13", "error", "D", None,
        "A request has at most 100,000 messages.",
        "",
        "anthropic-sdk-python message_create_params"),
    Rule("A-JSON-01", "C15", "L11", "error", "V", None,
        "No text holds half of a surrogate pair.",
        "The request body is not valid JSON: no low surrogate in string: line {n} column {n} (char {n})",
        "claude-code#3318 (during a compaction)"),
)
# fmt: on
