"""What Google Gemini accepts: the rules ``G-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

_COUNT: Final = (
    "Please ensure that the number of function response parts is equal to the number of function call parts "
    "of the function call turn."
)
_UNSIGNED: Final = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. "
    "Additional data, function call `{name}` , position {n}."
)

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- calls and responses -------------------------------------------------------------------------------------------
    Rule("G-CALL-01", "C7", "L3", "error", "V", "insert-bridge",
        "No functionCall stands in the first turn.",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "gemini-cli#26486, #11814, #26956; continue#11164; pydantic-ai models/google.py (a user turn is put before it)"),
    Rule("G-COUNT-01", "C1", "L2", "error", "V", "synthesize-result",
        "The turn behind one with functionCall parts holds no fewer functionResponse parts, after merging.",
        _COUNT,
        "gemini-cli#16415, #4217, #14590, #16132 (gemini-3-flash-preview); vscode#299295; recorded: no response at all, req_llm",
        (("no-response", "warning",
          "a user turn without any response was accepted by Gemini 2.0 (twice) and 2.5; of later models it is not known"),)),
    Rule("G-COUNT-02", "C4", "L2", "error", "V", "dedup-result",
        "The turn behind one with functionCall parts holds no more functionResponse parts, after merging.",
        _COUNT,
        "gemini-cli#16415, #23068, #13292; gemini-cli historyHardening.ts (drops what is too much)"),
    Rule("G-RESP-01", "C2", "L2", "error", "V", "drop-orphan",
        "A functionResponse stands only in the turn directly behind one with functionCall parts, after merging.",
        "Please ensure that function response turn comes immediately after a function call turn.",
        "langchain#27799; gemini-cli#26956 (orphans after a cut)"),
    Rule("G-RESP-02", "C15", "L9", "error", "V", "wrap-arguments",
        "The response of a functionResponse is a JSON object.",
        "Invalid value at 'contents[{n}].parts[{k}].function_response.response' (type.googleapis.com/google.protobuf.Struct)\n"
        "Unknown name \"response\" at 'contents[{n}].parts[{k}].function_response': "
        "Proto field is not repeating, cannot start list.",
        "agor#496; vercel/ai PR#3589; effect PR#6011; symfony/ai PR#2065; 9router PR#3318"),
    Rule("G-ARGS-01", "C15", "L9", "error", "D", "wrap-arguments",
        "The args of a functionCall are a JSON object.",
        "",
        "google-genai types.FunctionCall (a Struct, as the response of a functionResponse)"),
    Rule("G-IMG-01", "C13", "L7", "warning", "V", "move-image",
        "Only to a model from Gemini 3 on does a functionResponse have parts.",
        "Unable to submit request because `function_response.parts` is not supported for this model.",
        "gemini-cli#19436; pi-mono google-shared.ts (from Gemini 3 on); recorded: ruby_llm (gemini-3-flash-preview)",
        (("older-model", "error", "refused by Gemini 2.5"),)),

    # -- ids, names and roles ------------------------------------------------------------------------------------------
    Rule("G-NAME-01", "C11", "L2", "error", "V", "rename-id",
        "Every functionResponse has a name.",
        "* GenerateContentRequest.contents[{n}].parts[{k}].function_response.name: Name cannot be empty.",
        "the text in public clients; gemini-cli historyHardening.ts; recorded: any name but an empty one, docker-agent (415)",
        (("other-name", "info", "a name that is not the call's, such as an id of the client's own, was accepted 415 times"),)),
    Rule("G-NAME-02", "C11", "L26", "error", "V", None,
        "The name of a declared function is a letter or _ and up to 63 of the characters a-z, A-Z, 0-9, _, ., : and -.",
        "* GenerateContentRequest.tools[{n}].function_declarations[{n}].name: Invalid function name. "
        "Must start with a letter or an underscore.",
        "gemini-cli#2966, #6704, #7869, #7878; vscode#248000; ccs#25"),
    Rule("G-ID-01", "C11", "L2", "warning", "D", None,
        "Where calls and responses have ids, the id of a functionResponse is that of a call of the turn before it.",
        "",
        "google-genai types.FunctionResponse (the client fills in the id of the call); no refusal is known"),
    Rule("G-ROLE-01", "C6", "L1", "error", "V", None,
        "The role of a content is user or model.",
        "Please use a valid role: user, model.\n"
        "Role '{role}' is not supported. Please use a valid role: {roles}",
        "openagent#1666; dart_agent_core#34, sashiko PR#500, quickstart-ios PR#1871 (function); recorded: loongsuite, otel",
        (("missing", "warning", "AI Studio takes a content without a role for the user's, and Vertex AI wants one"),
         ("function-role", "warning", "accepted for responses up to Gemini 3.1 (266 times), refused from 3.5 on"),
         ("listed-role", "warning", "from 3.5 on system, developer, context and assistant are listed as valid"))),
    Rule("G-ROLE-02", "C6", "L2", "warning", "K", None,
        "A functionCall stands only in a content of the model's, and a functionResponse never in one.",
        "",
        "google-genai types.FunctionCall, FunctionResponse; no refusal was read, and no such request is known to be accepted"),
    Rule("G-ALT-01", "C9", "L1", "info", "V", "merge-same-role",
        "Adjacent contents have different roles.",
        "Please ensure that multiturn requests alternate between user and model.",
        "Portkey gateway PR#246 (gemini-pro); pi#2251; adk-go PR#1302 (no requirement any more); recorded: 441 accepted",
        (("strict", "error", "refused by Gemini 1.0 and by gateways that do not merge"),)),
    Rule("G-END-01", "C8", "L1", "error", "V", "append-user",
        "The last content is the user's.",
        "Please ensure that multiturn requests ends with a user role or a function response.\n"
        "Requests ending with a model turn are not supported",
        "one-api#836; gateway#258; crewAI PR#6973; agents PR#2183; semantic-kernel PR#13288; recorded: 2.5-flash accepted one",
        (("prefill", "warning", "accepted once by gemini-2.5-flash, and by none of the others that are known"),)),

    # -- empty things --------------------------------------------------------------------------------------------------
    Rule("G-EMPTY-01", "C10", "L1", "error", "V", "drop-empty",
        "Every content has at least one part.",
        "* GenerateContentRequest.contents[{n}].parts: contents.parts must not be empty.\n"
        "Unable to submit request because it must include at least one parts field, which describes the prompt input",
        "vercel/ai#3775; chatwise-releases#250; new-api#1060; coze-studio#46; dify#30566 (Vertex AI)"),
    Rule("G-EMPTY-02", "C10", "L1", "error", "V", "drop-empty",
        "Every part has a data field (text, inlineData, functionCall or another), or a thought signature.",
        "* GenerateContentRequest.contents[{n}].parts[{k}].data: required oneof field 'data' must have one initialized field",
        "CLIProxyAPI#1292, #1293; FLIT PR#70; sketch#68; recorded: a signature alone was accepted, pydantic-ai, ruby_llm (11)",
        (("unknown-field", "warning", "a field that is not in this list may be newer than the list"),)),
    Rule("G-EMPTY-03", "C10", "L1", "warning", "V", "drop-empty",
        "No text is the empty string, unless it carries a thought signature.",
        "Unable to submit request because it has an empty text parameter",
        "gemini-openai-proxy PR#86; gemini-cli geminiChat.ts; recorded: accepted on AI Studio, even alone (21)",
        (("vertex", "error", "Vertex AI refuses it"),)),
    Rule("G-EMPTY-04", "C10", "L1", "error", "V", "append-user",
        "There is at least one content.",
        "* GenerateContentRequest.contents: contents is not specified\n"
        "Unable to submit request because at least one contents field is required",
        "langchain-google#1393; js-genai#912; chatgpt-plugin#733; new-api-horizon#24 (Vertex AI)"),
    Rule("G-PART-01", "C15", "L1", "error", "V", None,
        "No part has two data fields.",
        "Invalid value at 'contents[{n}].parts[{k}]' (oneof), oneof field 'data' is already set. Cannot set '{field}'",
        "nodejs-vertexai#494 (a stream that was added up); the same words in other public clients"),

    # -- thought signatures --------------------------------------------------------------------------------------------
    Rule("G-SIG-01", "C12", "L5", "error", "V", "sentinel-seal",
        "From Gemini 3 on the first functionCall of each step of the current turn has a thought signature.",
        _UNSIGNED,
        "Antigravity-Manager#139; vercel/ai#16298; adk-go PR#764, #788; gemini-cli geminiChat.ts; recorded: 75 signed, 1 not",
        (("unknown-model", "info", "which model it is for is not known here; up to 2.5 signatures are optional"),)),
    Rule("G-SIG-02", "C12", "L5", "error", "V", "restore-seal",
        "A thought signature stands unaltered on the part that it came with.",
        "Invalid thought signature.\nCorrupted thought signature.",
        "documentation of api resellers on thought signatures; adk-go PR#764; pydantic-ai models/google.py"),
    Rule("G-BATCH-01", "C5", "L5", "error", "V", "sentinel-seal",
        "Parallel calls are parts of one turn, and not steps of their own of which only the first is signed.",
        _UNSIGNED,
        "pipecat PR#3420; trpc-agent-go PR#1894",
        (("unknown-model", "info", "which model it is for is not known here; up to 2.5 signatures are optional"),)),

    # -- size ----------------------------------------------------------------------------------------------------------
    Rule("G-SIZE-01", "C15", "L13", "error", "V", None,
        "The prompt has no more tokens than the model's window.",
        "The input token count ({n}) exceeds the maximum number of tokens allowed ({max}).",
        "recorded: refused, gemini-2.5-flash on both routes"),
)
# fmt: on
