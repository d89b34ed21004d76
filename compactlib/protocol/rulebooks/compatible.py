"""What single imitators of OpenAI Chat demand beyond it,
each under its own letter: ``D-``, ``K-``, ``L-``, ``Q-``, ``V-``, ``W-``, ``X-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- DeepSeek ------------------------------------------------------------------------------------------------------
    Rule("D-PAIR-01", "C1", "L2", "error", "V", "synthesize-result",
        "On DeepSeek every call of an assistant message is answered by one of the tool messages directly after it.",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "(insufficient tool messages following tool_calls message)",
        "dify#32222; vscode-unify-chat-provider#248",
        (("legacy", "warning", "for function_call and the role function no refusal is known"),)),
    Rule("D-REAS-01", "C12", "L5", "error", "V", "placeholder-text",
        "While DeepSeek's model thinks, every assistant message with calls carries the reasoning_content that came with it.",
        "Missing `reasoning_content` field in the assistant message at message index {n}. "
        "For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls\n"
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "DeepSeek documentation, 'Thinking mode'; GitNexus#43; continue#11285; paper-chat-for-zotero#16; recorded: 4, all so",
        (("closed-turn", "warning", "V3.2 lets go of the reasoning of closed turns; V4 wants that too"),
         ("unsaid", "warning", "neither the request nor the model's name says whether the model thinks"))),
    Rule("D-ALT-01", "C9", "L1", "error", "V", "merge-same-role",
        "For deepseek-reasoner no two user messages and no two assistant messages stand next to each other.",
        "deepseek-reasoner does not support successive user or assistant messages "
        "(messages[{n}] and messages[{n}] in your input). "
        "You should interleave the user/assistant messages in the message sequence.",
        "DeepSeek-R1#21; aider#2960; open-webui#9266; Roo-Code r1-format; recorded: two user messages accepted by deepseek-chat"),

    # -- Moonshot, Groq, xAI -------------------------------------------------------------------------------------------
    Rule("K-REAS-01", "C12", "L5", "error", "V", "placeholder-text",
        "While Moonshot's model thinks, every assistant message with calls carries the reasoning_content that came with it.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index {n}",
        "continue#11600, #11711; mastra#12592; openclaw PR#74846; spacebot PR#364; recorded: 3 of kimi-k2.5, all so",
        (("unsaid", "warning", "neither the request nor the model's name says whether the model thinks"),)),
    Rule("Q-REAS-01", "C12", "L5", "error", "V", "strip-seal",
        "On Groq no assistant message has the key reasoning_content.",
        "'messages.{n}' : for 'role:assistant' the following must be satisfied"
        "[('messages.{n}' : property 'reasoning_content' is unsupported)]",
        "hermes-agent#11089; the text in public clients; recorded: 36 accepted, none with it"),
    Rule("X-CONTENT-01", "C10", "L1", "error", "V", "drop-empty",
        "On xAI the content of every message without calls is a string, or a list that is not empty.",
        "Invalid request content: Each message must have at least one content element.",
        "langchain#34140; vercel/ai xai tests; inspect_ai PR#2842; recorded: 14 without content beside calls accepted"),

    # -- chat templates ------------------------------------------------------------------------------------------------
    Rule("V-ALT-01", "C9", "L1", "error", "V", "merge-same-role",
        "Behind an optional system message stand user and assistant messages in turn, a user message first, and nothing else.",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "the chat templates of Gemma, Llama 2 and older Mistral models; text-generation-inference#3198; ragflow PR#6880"),
    Rule("V-ALT-02", "C9", "L1", "error", "V", "merge-same-role",
        "Behind an optional system message user and assistant take turns, a user message first; calls and results do not count.",
        "After the optional system message, conversation roles must alternate user and assistant roles "
        "except for tool calls and results.",
        "the chat templates of Mistral and Ministral models; eclipse-peon-ai#75; crush#279; gpt4all#3273 (older words)"),
    Rule("V-SYS-01", "C6", "L26", "error", "V", None,
        "For a template without a system role there is no system message.",
        "System role not supported",
        "the chat templates of Gemma 1 and 2"),

    # -- Ollama --------------------------------------------------------------------------------------------------------
    Rule("L-USER-01", "C7", "L8", "error", "V", "append-user",
        "At least one message of a request is a user's.",
        "no user query found in messages",
        "leviath PR#471 (a measured table of seven shapes, Qwen 3.x)",
        (("other-template", "warning", "it is Qwen's template that looks for one; others were not seen to"),),
        status=500),

    # -- LangGraph -----------------------------------------------------------------------------------------------------
    Rule("W-HIST-01", "C1", "L2", "error", "V", "synthesize-result",
        "For LangGraph every call of an assistant message is answered by a tool message somewhere in the history.",
        "Found AIMessages with tool_calls that do not have a corresponding ToolMessage. "
        "Here are the first few of those tool calls: {calls}. "
        "Every tool call (LLM requesting to call a tool) in the message history MUST have a corresponding ToolMessage "
        "(result of a tool invocation to return to the LLM) - this is required by most LLM providers.",
        "langgraph prebuilt, _validate_chat_history (INVALID_CHAT_HISTORY; several copies read)",
        status=0),
)
# fmt: on
