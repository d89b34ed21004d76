"""What OpenAI Chat Completions and its imitators accept: the rules ``O-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

_OPEN_CALLS: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {ids}\n"
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "(insufficient tool messages following tool_calls message)"
)

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- calls and results ---------------------------------------------------------------------------------------------
    Rule("O-PAIR-01", "C1", "L2", "error", "V", "synthesize-result",
        "Every call of an assistant message is answered by one of the tool messages directly after it.",
        _OPEN_CALLS,
        "cai#111; dify#32222 (DeepSeek); qwen-code#606; litellm#10083; recorded: ldp, lmnr; accepted once, by a local Ollama",
        (("legacy", "warning", "for function_call and the role function no refusal is known"),
         ("local", "warning", "local servers (Ollama, llama.cpp) render what stands there; one such body was accepted"))),
    Rule("O-PAIR-02", "C2", "L2", "error", "V", "drop-orphan",
        "Every tool message answers a call of the nearest assistant message before it, with only tool messages between them.",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.\n"
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "morphic#136; smarter#264; OpenManus#23, #744; deepx-code#94 (a compaction cut there); recorded: open_router_enhanced",
        (("legacy", "warning", "for function_call and the role function no refusal is known"),
         ("local", "warning", "local servers (Ollama, llama.cpp) render what stands there; one such body was accepted"))),
    Rule("O-PAIR-03", "C5", "L2", "error", "V", "hoist-results",
        "No other message stands between a call and the last tool message of its batch.",
        _OPEN_CALLS,
        "any-llm PR#1312; baml PR#4807; vercel/ai PR#12621 (pictures are batched behind the results); recorded: docker-agent",
        (("legacy", "warning", "for function_call and the role function no refusal is known"),
         ("local", "warning", "local servers (Ollama, llama.cpp) render what stands there; one such body was accepted"))),
    Rule("O-PAIR-04", "C4", "L2", "error", "V", "dedup-result",
        "The ids of all calls of a request are different, and each is answered once.",
        "Duplicate value for 'tool_call_id' of {id} in message[{n}]",
        "the text in reports on DeepSeek and in vLLM's notes on Kimi K2; recorded: pydantic-ai",
        (("across-steps", "warning", "an id used again in a later step was accepted (gpt-5-mini; Gemini through OpenRouter)"),
         ("compatible", "warning", "one id twice in one message was accepted by Together (7 times)"))),
    Rule("O-TOOLMSG-01", "C2", "L2", "error", "V", None,
        "A tool message has a tool_call_id and a content.",
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.\n"
        "Missing required parameter: 'messages[{n}].tool_call_id'.",
        "langchain#22600; openai-openapi (a required field); recorded: accepted by z.ai and Hugging Face",
        (("compatible", "warning", "accepted by z.ai (20 times) and Hugging Face (4 times)"),)),

    # -- ids and names -------------------------------------------------------------------------------------------------
    Rule("O-ID-01", "C11", "L2", "warning", "V", "rename-id",
        "The id of a call has 1 to 40 characters.",
        "Invalid 'messages[{n}].tool_calls[{k}].id': string too long. "
        "Expected a string with maximum length {max}, but got a string with length {n} instead.\n"
        "Invalid 'messages[{n}].tool_call_id': string too long. "
        "Expected a string with maximum length {max}, but got a string with length {n} instead.",
        "autogen#6377; vercel/ai#8132; gateway#1062; openclaw PR#875; recorded: up to 59 outside OpenAI, never above 40 there",
        (("openai", "error", "OpenAI and Azure refuse more than 40 characters"),
         ("over-64", "error", "no route is known to take more than 64 characters"),
         ("empty", "error", "an empty id pairs with nothing"))),
    Rule("O-NAME-01", "C11", "L26", "error", "V", None,
        "The name of a function is 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
        "Invalid '{path}.function.name': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "n8n documentation; reports on DeepSeek; openai-openapi (at most 64)"),
    Rule("O-NAME-02", "C6", "L1", "error", "V", None,
        "A message of role function has a name.",
        "Missing parameter 'name': messages with role 'function' must have a 'name'.",
        "recorded: ruby-openai (gpt-3.5-turbo)"),

    # -- content -------------------------------------------------------------------------------------------------------
    Rule("O-CONTENT-01", "C10", "L1", "error", "V", "drop-empty",
        "Every message has a content that is a string or a list of parts, except an assistant message with calls or a refusal.",
        "Invalid value for 'content': expected a string, got null.\n"
        "'messages.{n}' : for 'role:assistant' the following must be satisfied"
        "[('messages.{n}.content' : value must be a string)]",
        "langchainjs#4153; docker-agent#63; vercel/ai PR#13744; openai-openapi; recorded: genai (Groq)",
        (("compatible", "warning", "an assistant message with null and no calls was accepted through some routes"),
         ("string-only", "error", "Groq refuses a list as the content of an assistant message"),
         ("empty-list", "warning", "an empty one beside calls was refused for qwen-qwq-32b and accepted for six models"))),
    Rule("O-CONTENT-02", "C10", "L1", "error", "V", None,
        "tool_calls, where it is present, is not empty.",
        "Invalid 'messages[{n}].tool_calls': empty array. Expected an array with minimum length {n}, "
        "but got an empty array instead.",
        "openai-python#2061; openai-node PR#1341; home-assistant/core PR#118577; chatbox#2079",
        (("compatible", "warning", "some compatible routes do not mind"),)),
    Rule("O-EMPTY-01", "C10", "L1", "error", "V", "append-user",
        "There is at least one message.",
        "Invalid 'messages': empty array. Expected an array with minimum length {n}, but got an empty array instead.",
        "CopilotKit#529; recorded: ai-gateway (gpt-5-nano)"),
    Rule("O-ARGS-01", "C15", "L9", "error", "V", "wrap-arguments",
        "The arguments of a call are a string of JSON.",
        "Invalid type for 'messages[{n}].tool_calls[{k}].function.arguments': expected a string, but got {type} instead.\n"
        "invalid function arguments json string",
        "goose-mobile PR#20; openai-openapi; hermes-agent#13574, #11617, #11788; oh-my-pi#11104",
        (("not-json", "error", "several routes parse the string and refuse what does not parse"),
         ("empty", "warning", "an empty string is read as {} by most and refused by MiniMax"))),
    Rule("O-IMG-01", "C13", "L7", "warning", "V", "move-image",
        "The content of a tool message is a string or text parts.",
        "Invalid 'messages[{n}]'. Image URLs are only allowed for messages with role 'user', "
        "but this message with role 'tool' contains an image URL.",
        "OpenHands#7700; openai-openapi#523 (accepted, and the model does not see it); vllm#43203; recorded: activeagent",
        (("older-model", "error", "refused by gpt-4o-mini three times"),
         ("newer-model", "info", "accepted from gpt-4.1 on (17 times), though gpt-5.2 is reported not to see the picture"))),

    # -- roles and size ------------------------------------------------------------------------------------------------
    Rule("O-ROLE-01", "C6", "L26", "info", "V", None,
        "The model knows the role that its instructions are given in, system or developer.",
        "Unsupported value: 'messages[{n}].role' does not support '{role}' with this model.",
        "openai-openapi (developer replaces system from o1 on); pi-mono openai-completions; recorded: pydantic-ai (o1-mini)",
        (("no-developer-role", "error", "many compatible providers do not know the role developer"),
         ("no-system-role", "error", "o1-mini refuses the role system"),
         ("unknown-role", "error", "no version of the API lists the role"))),
    Rule("O-SYS-01", "C6", "L26", "info", "V", None,
        "System messages stand only at the beginning.",
        "System message must be at the beginning.",
        "pydantic-ai models/openai.py; recorded: 30 in the middle, accepted by OpenAI and others",
        (("system-first", "error", "chat templates such as Qwen's refuse a system message in the middle"),)),
    Rule("O-SIZE-01", "C15", "L13", "error", "V", None,
        "The prompt has no more tokens than the model's window.",
        "This model's maximum context length is {n} tokens. However, your messages resulted in {n} tokens.\n"
        "This model's maximum context length is {n} tokens. However, you requested {n} tokens\n"
        "This endpoint's maximum context length is {n} tokens.",
        "pi-mono overflow.ts; recorded: rig, ruby_llm (OpenAI, DeepSeek, OpenRouter)"),
)
# fmt: on
