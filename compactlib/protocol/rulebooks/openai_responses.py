"""What OpenAI Responses accepts: the rules ``R-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

_COMPATIBLE: Final = ("compatible", "warning", "others who speak this dialect are laxer; what they refuse is not known")
_TOO_LONG: Final = "string too long. Expected a string with maximum length {max}, but got a string with length {n} instead."

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- calls and outputs ---------------------------------------------------------------------------------------------
    Rule("R-PAIR-01", "C1", "L2", "error", "V", "synthesize-result",
        "Every call that the client runs has an output with its call_id somewhere behind it.",
        "No tool output found for function call {id}.\n"
        "No tool output found for custom tool call {id}.\n"
        "No tool output found for local shell call {id}.\n"
        "No tool output found for apply patch call {id}.\n"
        "No tool output found for tool search call {id}.",
        "codex#93, #114; trae-agent#358; copilot-cli#4572 (a compaction lost outputs); OmniRoute#8946; agents-python#1855",
        (("approval", "warning", "for a request for approval that nobody answered no refusal is known"),)),
    Rule("R-PAIR-02", "C2", "L2", "error", "V", "drop-orphan",
        "Every output has its call before it, in this request or in what the provider stored.",
        "No tool call found for function call output with call_id {id}.\n"
        "No tool call found for custom tool call output with call_id {id}.",
        "vscode#320060; oh-my-pi#106 (context that shrank silently); codex2api#414; recorded: 60 behind a stored response",
        (("stored", "info", "the call may lie at the provider: previous_response_id, conversation, or an item reference"),
         ("other-kind", "warning", "the call is there, of a kind that such an output does not answer in codex's pairing"))),
    Rule("R-PAIR-03", "C5", "L2", "info", "V", "hoist-results",
        "Outputs stand directly behind a run of calls, with nothing else among them.",
        "No tool output found for tool call {id}.",
        "codex normalize.rs (sets of ids, no order); recorded: accepted by OpenAI and xAI, refused by DeepSeek",
        (("strict", "error", "DeepSeek answers through its chat format and refused calls with words between them"),)),
    Rule("R-PAIR-04", "C4", "L2", "error", "V", "dedup-result",
        "The call_ids of all calls of a request are different, and each has one output.",
        "Duplicate function_call_output for call_id '{id}'. "
        "Each function_call must have exactly one matching function_call_output",
        "hermes-agent#102629, #111443; mnfst/llm-gateway#2858; pi#9057 (one id for two calls of a response)"),

    # -- ids, names and arguments --------------------------------------------------------------------------------------
    Rule("R-ID-01", "C11", "L2", "error", "V", "strip-id",
        "The id of an item, where it has one, begins as its type wants and has at most 64 characters.",
        "Invalid 'input[{n}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
        "nodetool#4252; pi-mono openai-responses-shared.ts; openai-openapi (at most 64); recorded: other ids at DeepSeek and xAI",
        (("compatible", "warning", "DeepSeek took rs-a, and xAI ids of 84 characters"),)),
    Rule("R-ID-02", "C11", "L2", "error", "V", "rename-id",
        "The call_id of a call has 1 to 64 characters.",
        "Invalid 'input[{n}].call_id': " + _TOO_LONG,
        "fastllm#45 (116 characters); 9router#393; openai-openapi FunctionCallOutputItemParam",
        (_COMPATIBLE,
         ("empty", "error", "an empty id pairs with nothing"))),
    Rule("R-DUP-01", "C3", "L2", "error", "V", "strip-id",
        "No two items of a request have the same id.",
        "Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
        "continue#10723; agents-python#1789; MacPaw/OpenAI#432; recorded: chatlas (store false), xAI",
        (("unstored", "warning", "with store false a literal id stood twice and was accepted (chatlas)"),
         ("compatible", "warning", "accepted by xAI"))),
    Rule("R-NAME-01", "C11", "L26", "error", "V", None,
        "The name of a function is 1 to 128 of the characters a-z, A-Z, 0-9, _ and -.",
        "Invalid 'input[{n}].name': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.\n"
        "Invalid 'input[{n}].name': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        "sub2api#3818; openai-openapi (FunctionTool); the same pattern as in Chat Completions",
        (_COMPATIBLE,)),
    Rule("R-ARGS-01", "C15", "L9", "error", "V", "wrap-arguments",
        "The arguments of a function call are a string of JSON, and those of a tool search an object.",
        "Invalid type for 'input[{n}].arguments': expected an object, but got a string instead.\n"
        "Invalid type for 'input[{n}].arguments': expected a string, but got an object instead.",
        "sub2api#3818; cc-switch#5100; openai-openapi FunctionToolCall",
        (("not-json", "warning", "OpenAI does not read the string, and whoever converts it for another provider does"),)),

    # -- reasoning, and what is stored ---------------------------------------------------------------------------------
    Rule("R-REAS-01", "C12", "L5", "error", "V", "drop-orphan",
        "A reasoning item is followed by an item of its response, and a stored one not by a message without its id.",
        "Item '{id}' of type 'reasoning' was provided without its required following item.",
        "continue#8933, #10428; mastra#14048; agents-js#326, #1280; codex#15341 (an interrupted turn); recorded: gpt-5",
        (("o-series", "warning", "a message without an id was accepted behind reasoning once, by o3-mini"),
         ("without-id", "warning", "a reasoning item without an id names nothing that could be missed; no refusal is known"),
         ("compatible", "warning", "xAI and DeepSeek accept any follower"))),
    Rule("R-REAS-02", "C12", "L5", "error", "V", "strip-id",
        "An item that is sent with its id has the reasoning of its response before it.",
        "Item '{id}' of type '{type}' was provided without its required 'reasoning' item: '{id}'.",
        "mastra#8738, #10713; agency-swarm#367; rig#751; laravel/ai#1052 (which leaves the id out)"),
    Rule("R-STORE-01", "C12", "L5", "error", "V", "drop-orphan",
        "With store false nothing is named by its id alone: no item reference, and no reasoning without its encrypted content.",
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
        "CLIProxyAPI#2381; agents-python#2020; open-webui-developer-toolkit#715; hermes-agent#10217",
        (_COMPATIBLE,), 404),
    Rule("R-STORE-02", "C12", "L10", "info", "V", None,
        "The whole conversation stands in the request, and no part of it only at the provider.",
        "Previous response with id '{id}' not found.",
        "recorded: activeagent and others (gpt-4o, gpt-5), where the stored response was gone"),
    Rule("R-ENC-01", "C12", "L5", "error", "V", "restore-seal",
        "Encrypted content is sent as it was returned, to the organization that it was returned to.",
        "The encrypted content {text} could not be verified.\n"
        "The encrypted content for item {id} could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed.",
        "codex#8132, #8119, #35334 (a compaction item); sub2api#5084 (one retry without the items)"),
    Rule("R-ENC-02", "C12", "L5", "error", "V", None,
        "Encrypted content has at most 10,485,760 characters.",
        "Invalid 'input[{n}].encrypted_content': " + _TOO_LONG,
        "community.openai.com/t/1379862; openai-openapi CompactionSummaryItemParam (twice as many)",
        (("compaction", "warning", "the official types allow a compaction item 20,971,520 characters"),)),

    # -- types, roles and contents -------------------------------------------------------------------------------------
    Rule("R-TYPE-01", "C13", "L1", "warning", "V", None,
        "The type of an item is one that the provider knows.",
        "Invalid value: '{type}'. Supported values are: 'apply_patch_call', 'apply_patch_call_output', 'code_interpreter_call',\n"
        "Invalid value: '{type}'. Supported values are: 'code_interpreter_call', 'computer_call', 'computer_call_output',",
        "CLIProxyAPI#3414; recorded: activeagent (image, text); additional_tools was accepted before any document named it",
        (("no-item", "error", "seen refused, or the type of another object: text, image, context_compaction, tool_use"),)),
    Rule("R-ROLE-01", "C6", "L1", "error", "V", None,
        "The role of a message is user, assistant, system or developer.",
        "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        "recorded: activeagent, jido_ai (role tool; gpt-4.1, o1-pro)"),
    Rule("R-CONTENT-01", "C10", "L1", "error", "V", "drop-empty",
        "Every message has a content that is a string or a list of parts.",
        "Missing required parameter: 'input[{n}].content'.",
        "recorded: genai (gpt-5-mini, five times)"),
    Rule("R-PART-01", "C13", "L1", "error", "V", None,
        "The parts of an assistant message are output_text or refusal, and those of every other message are inputs.",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.\n"
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', 'input_file', "
        "'computer_screenshot', and 'summary_text'.",
        "rust-genai#119; openhuman#3624; ai-dial-adapter-openai#511; SwiftOpenAI#136",
        (("output-in-input", "warning", "an output_text that a user says is listed among the supported values; nobody tried"),
         ("unknown-part", "warning", "a type that is not known here may be newer"),
         _COMPATIBLE)),
    Rule("R-OUT-01", "C13", "L7", "error", "V", None,
        "What came out of a tool is a string or a list of texts, pictures and files, and of a computer a screenshot.",
        "Invalid type for 'input[{n}].output': expected a computer call output, but got a string instead.",
        "stagehand-python#149; openai-openapi FunctionCallOutputItemParam; recorded: pictures and files accepted",
        (("unknown-part", "warning", "a type that is not known here may be newer"),
         _COMPATIBLE)),
    Rule("R-EMPTY-01", "C10", "L1", "warning", "K", "append-user",
        "There is at least one item, unless the request goes on from a stored response.",
        "",
        "an imitation of the API that answers so; no refusal by OpenAI was read"),

    # -- sizes and compaction ------------------------------------------------------------------------------------------
    Rule("R-SIZE-01", "C15", "L13", "error", "V", None,
        "The prompt has no more tokens than the model's window.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "recorded: gpt-5-nano"),
    Rule("R-SIZE-02", "C15", "L13", "error", "V", None,
        "No text and no output has more than 10,485,760 characters.",
        "Invalid 'input[{n}].content': " + _TOO_LONG + "\n"
        "Invalid 'input[{n}].output': " + _TOO_LONG,
        "bluebox#31; KohakuTerrarium#269 (a subagent's output); openai-openapi FunctionCallOutputItemParam",
        (_COMPATIBLE,)),
    Rule("R-COMPACT-01", "C16", "L5", "error", "D", None,
        "A compaction item holds its encrypted content, and is sent as it was returned.",
        "",
        "openai-openapi CompactionSummaryItemParam; docs.x.ai; recorded: two accepted, with what they replaced before them"),
    Rule("R-CTX-01", "C16", "L1", "error", "D", None,
        "Every entry of context_management is of the type compaction, and its compact_threshold is a number of tokens or null.",
        "",
        "openai-python ResponseCreateParams.ContextManagement; OpenAI documentation, 'Compaction'",
        (("unknown-entry", "warning", "a type of entry that is not in this list may be newer than the list"),)),
    Rule("R-CTX-02", "C16", "L1", "error", "D", None,
        "The setting truncation is auto, disabled or null.",
        "",
        "openai-python ResponseCreateParams.truncation",
        (("unknown-strategy", "warning", "a strategy that is not in this list may be newer than the list"),)),
)
# fmt: on
