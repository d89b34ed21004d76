"""What Mistral accepts: the rules ``M-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

_BY_COUNT: Final = ("by-count", "warning", "the published validators up to version 7 count results and do not compare ids")

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- calls and results ---------------------------------------------------------------------------------------------
    Rule("M-COUNT-01", "C1", "L2", "error", "V", "synthesize-result",
        "An assistant message is followed directly by as many tool messages as it has calls.",
        "Not the same number of function calls and responses",
        "client-ts#106; client-python#234; php-mistral#57; instructor#724; camel#1467; draive#398; mistral-common validator.py"),
    Rule("M-PAIR-01", "C2", "L2", "error", "C", "drop-orphan",
        "Every tool message answers, by its id, a call of the assistant message before its run.",
        "Unexpected tool call id {id} in tool results",
        "mistral-common validator.py, from version 11 on; recorded: 53 of 53",
        (_BY_COUNT,)),
    Rule("M-PAIR-02", "C4", "L2", "error", "C", "dedup-result",
        "No call is answered twice.",
        "Duplicate tool call id {id} in tool results",
        "mistral-common validator.py, from version 11 on"),
    Rule("M-TOOLID-01", "C2", "L2", "error", "C", "rename-id",
        "A tool message has a tool_call_id.",
        "Tool call id has to be defined.",
        "mistral-common validator.py, from version 3 on; recorded: 53 of 53"),
    Rule("M-ORDER-01", "C9", "L2", "error", "V", "hoist-results",
        "No tool message follows a user's or the system's, no user's a tool message, no system's a tool's or an assistant's.",
        "Unexpected role '{role}' after role '{role}'",
        "mistral-common#169; avante.nvim#2562; hermes-agent#20154; crush#279; LibreChat agents#344; mistral-common validator.py",
        (("after-tool", "warning",
          "a user message directly after a tool message was accepted 16 times; older versions refused it"),
         ("system", "error", "a system message after an assistant or tool message is refused by every published validator"))),

    # -- ids and names -------------------------------------------------------------------------------------------------
    Rule("M-ID-01", "C11", "L2", "error", "V", "rename-id",
        "The id of a call is nine characters of a-z, A-Z and 0-9.",
        "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.\n"
        "Tool call id must be a non-empty string other than 'null' for tokenizer version 13 or newer.",
        "opencode#1680; gptel#1203 and ironclaw#1241 (api.mistral.ai in 2026); eca#233; langchain PR#24668; recorded: 7,648 ids"),
    Rule("M-ID-02", "C3", "L2", "error", "C", "rename-id",
        "The ids of the calls of one assistant message are different.",
        "Duplicate tool call id {id} in assistant message",
        "mistral-common validator.py, from version 11 on",
        (_BY_COUNT,)),
    Rule("M-NAME-01", "C11", "L26", "error", "C", None,
        "The name of a function is 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
        "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.",
        "mistral-common validator.py; recorded: two odd names that mistral-large had made were accepted back",
        (("long", "warning", "a long name that the model itself had made was accepted back; the published validators refuse it"),
         ("long-by-version", "error", "the published validators refuse it"))),

    # -- content -------------------------------------------------------------------------------------------------------
    Rule("M-EITHER-01", "C10", "L1", "error", "V", "drop-empty",
        "An assistant message has content or calls.",
        "Assistant message must have either content or tool_calls, but not none.\n"
        "Assistant message must have either content or tool_calls, but not both.",
        "OpenHands#8685 (none); langchain#21196 (both, in 2024); pi-mono openai-completions.ts; recorded: both accepted",
        (("newer", "warning", "the published validators from version 5 on let an empty message pass, and the service does not"),
         ("both", "error", "before version 5 a message could not have both"))),
    Rule("M-CONTENT-01", "C10", "L1", "warning", "D", "drop-empty",
        "A system, user or tool message has content.",
        "System prompt must have content",
        "mistral-common messages.py (required fields); the published API description lets it be null",
        (("by-version", "error", "the published validators refuse it"),)),
    Rule("M-CHUNK-01", "C13", "L1", "warning", "C", None,
        "A message holds only chunks of the types that its role may carry.",
        "Unexpected content chunk types in {role} message: {types}",
        "mistral-common validator.py, by version; recorded: the service takes document_url from users too",
        (("by-version", "error", "the published validators refuse it"),)),
    Rule("M-IMG-01", "C13", "L7", "warning", "C", "move-image",
        "The content of a tool message is a string or text chunks.",
        "",
        "mistral-common validator.py, up to version 13; LibreChat agents#344; recorded: pictures in the user message behind",
        (("by-version", "error", "the published validators refuse it up to version 13"),)),
    Rule("M-THINK-01", "C12", "L5", "warning", "V", "strip-seal",
        "Thinking goes back only to a model that takes it.",
        "Reasoning input is not enabled for this model",
        "recorded: rig (refused by ministral-3b, accepted by mistral-small and magistral)",
        (("refused", "error", "ministral-3b was recorded to refuse it"),)),

    # -- roles, start, end and size ------------------------------------------------------------------------------------
    Rule("M-ROLE-01", "C6", "L26", "error", "D", None,
        "The role of a message is system, user, assistant or tool.",
        "",
        "mistral-common messages.py; recorded: genai (the role is the tag of the union that a 422 names)",
        status=422),
    Rule("M-START-01", "C7", "L1", "error", "C", "append-user",
        "There is at least one message, and a lone message is the user's or the system's.",
        "Conversation must have at least one message\n"
        "Conversation must start with a user message or system message",
        "mistral-common validator.py; recorded: an assistant message before others was accepted 8 times (rig)"),
    Rule("M-LAST-01", "C8", "L1", "error", "V", "append-user",
        "The last message is no assistant message, unless it is a prefix.",
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant\n"
        "Expected last role User or Tool (or Assistant with prefix) for serving but got assistant",
        "rig PR#1130; mistral-common validator.py"),
    Rule("M-PREFIX-01", "C8", "L1", "warning", "C", None,
        "Only the last message has prefix set to true.",
        "Assistant message with prefix True must be last message",
        "mistral-common validator.py; recorded: accepted by the service",
        (("by-version", "error", "the published validators refuse it"),)),
    Rule("M-SIZE-01", "C15", "L13", "error", "V", None,
        "The prompt has no more tokens than the model's window.",
        "Prompt contains {n} tokens and {n} draft tokens, too large for model with {n} maximum context length",
        "recorded: rig (mistral-small)"),
)
# fmt: on
