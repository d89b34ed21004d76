"""What AWS Bedrock Converse accepts: the rules ``B-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

_EXPECTED: Final = "Expected toolResult blocks at messages.{n}.content for the following Ids: {ids}"

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    # -- calls and results ---------------------------------------------------------------------------------------------
    Rule("B-PAIR-01", "C1", "L2", "error", "V", "synthesize-result",
        "Every toolUse is answered by a toolResult with its id in the user message that follows.",
        _EXPECTED,
        "camel#3954; agno#6698; aws-bedrock-js-plugin#664; litellm-connector-copilot PR#101; recorded: 40 of 40",
        (("server", "warning", "a call of a tool that Bedrock runs has its result in the same assistant message"),)),
    Rule("B-PAIR-02", "C5", "L2", "error", "V", "merge-same-role",
        "The results of one assistant message stand together in the one user message that follows.",
        _EXPECTED,
        "aws-bedrock-js-plugin#664; agno#6698; pi-mono amazon-bedrock.ts (collects them); recorded: together in 40 of 40"),
    Rule("B-PAIR-03", "C2", "L2", "error", "V", "drop-orphan",
        "A user message has no toolResult that answers no toolUse of the assistant message before it, and none twice.",
        "The number of toolResult blocks at messages.{n}.content exceeds the number of toolUse blocks of previous turn.",
        "Curie#16 (context pruning); dify-official-plugins#765; pydantic-ai#2327"),
    Rule("B-ORDER-01", "C5", "L2", "warning", "D", "hoist-results",
        "In the user message that answers calls every toolResult stands before every other block.",
        "",
        "Anthropic documentation, 'Handle tool calls'; recorded: first in 40 of 40, whatever the model",
        (("anthropic", "error", "Anthropic's own service refuses it"),)),
    Rule("B-ORDER-02", "C5", "L2", "warning", "D", "move-words",
        "In an assistant message nothing but further toolUse blocks stands after a toolUse.",
        "",
        "recorded: Anthropic's own service refused it twice; absent from the 40 recorded calls through Converse",
        (("anthropic", "error", "Anthropic's own service refuses it"),)),
    Rule("B-TOOLCFG-01", "C14", "L26", "error", "V", "add-tool-declaration",
        "A request with toolUse or toolResult blocks has a toolConfig.",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "dify#17545, #16421; vercel/ai PR#7537; pentagi PR#196; zot PR#18 (a side question over the whole history)"),

    # -- ids, names and arguments --------------------------------------------------------------------------------------
    Rule("B-ID-01", "C3", "L2", "error", "V", "rename-id",
        "The ids of the toolUse blocks of one assistant message are different.",
        "The toolUse blocks at messages.{n}.content contain duplicate Ids: {ids}",
        "quoted in two public files, one of them a log of Kiro"),
    Rule("B-ID-02", "C11", "L2", "error", "D", "rename-id",
        "The id of a toolUse is 1 to 64 of the characters a-z, A-Z, 0-9, _, ., : and -.",
        "Value at 'messages.{n}.member.content.{path}' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern",
        "llama_index PR#22775; botocore's model of the service; recorded: functions.name:0 (Moonshot)"),
    Rule("B-NAME-01", "C11", "L26", "error", "D", None,
        "The name of a tool, declared or called, is 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
        "",
        "botocore's model of the service"),
    Rule("B-INPUT-01", "C15", "L9", "error", "V", "wrap-arguments",
        "The input of a toolUse is a JSON object.",
        "The format of the value at messages.{n}.content.{k}.toolUse.input is invalid. "
        "Provide a json object for the field and try again.",
        "vercel/ai PR#19023 (arguments that did not parse, replayed as a string); zed PR#33369 (null)"),
    Rule("B-JSON-01", "C15", "L9", "error", "V", "placeholder-text",
        "The json of a toolResult is an object.",
        "The format of the value at messages.{n}.content.{k}.toolResult.content.{j}.json is invalid. "
        "Provide a json object for the field and try again.",
        "aichat#1542 (a tool of MCP that returned a list)"),

    # -- roles, start and end ------------------------------------------------------------------------------------------
    Rule("B-ROLE-01", "C6", "L2", "error", "C", None,
        "A toolUse stands only in an assistant message, and a client's toolResult only in a user message.",
        "",
        "pi-mono amazon-bedrock.ts; recorded: within an assistant message only pairs of server tools"),
    Rule("B-ROLE-02", "C6", "L26", "error", "D", None,
        "The role of a message is user or assistant; system text stands in the field system.",
        "",
        "botocore's model of the service",
        (("system", "warning", "newer models take the role system, as the service's model of 2026 says"),)),
    Rule("B-START-01", "C7", "L3", "error", "V", "insert-bridge",
        "The conversation starts with a user message.",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        "dify#12340; pydantic-ai#4495 (no message at all); kibana PR#246393; anthropic-sdk-typescript#622; recorded once",
        (("anthropic", "warning", "Anthropic's and Qwen's models take the assistant's words first; recorded once (Claude)"),
         ("unnamed", "warning", "the body names no model; one such body that began with the assistant's words was accepted"))),
    Rule("B-END-01", "C8", "L1", "error", "V", "append-user",
        "A request does not end with an assistant message where tools are declared, or where the model takes no prefill.",
        "Your API request included an `assistant` message in the final position, which would pre-fill the `assistant` response. "
        "When using tools, pre-filling the `assistant` response is not supported.",
        "recorded: crewAI (refused twice, claude-3); SillyTavern PR#5733",
        (("unknown-model", "info", "whether the model goes on with words put into its mouth is not known"),)),
    Rule("B-ALT-01", "C9", "L1", "info", "V", "merge-same-role",
        "User and assistant messages alternate.",
        "A conversation must alternate between user and assistant roles. "
        "Make sure the conversation alternates between user and assistant roles and try again.",
        "dify#9294; langchainjs#6724; gateway#748; semantic-kernel#10281 (2024 to 2025); recorded: 17 neighbours accepted",
        (("strict", "error", "older deployments and gateways demand it"),)),
    Rule("B-COLOC-01", "C6", "L2", "error", "V", "insert-bridge",
        "For Meta's and Mistral's models a message with toolUse or toolResult blocks holds nothing else.",
        "messages.{n}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.\n"
        "messages.{n}.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
        "langchain-aws#141, #235; harness-sdk#1223 (Llama 4); litellm#6053; quarkus-langchain4j#1983; recorded: others accept it",
        (("calls", "warning", "beside a toolUse it was reported once, and the report does not name the model"),)),

    # -- content -------------------------------------------------------------------------------------------------------
    Rule("B-BLANK-01", "C10", "L1", "error", "V", "drop-empty",
        "No text block is empty or blank.",
        "The text field in the ContentBlock object at messages.{n}.content.{k} is blank. "
        "Add text to the text field, and try again.",
        "bedrock-engineer#8; hermes-agent#55092; langchain-aws (writes a dot); recorded: 20 exceptions",
        (("in-result", "info", "inside a toolResult 18 were accepted, though Anthropic's models are reported to refuse it"),
         ("beside-mark", "warning", "directly beside a cachePoint two were accepted"))),
    Rule("B-EMPTY-01", "C10", "L1", "error", "V", "drop-empty",
        "Every message has content.",
        "The content field in the Message object at messages.{n} is empty. "
        "Add a ContentBlock object to the content field and try again.",
        "pi PR#3443; archestra PR#4220; bifrost PR#6732"),
    Rule("B-EMPTY-02", "C10", "L1", "error", "V", "placeholder-text",
        "A toolResult has a list of content, and one whose status is error has some in it.",
        "The content field at messages.{n}.content.{k}.toolResult cannot be empty when status value is error.",
        "sample-multi-agent-orchestration-chat-on-agentcore#15; botocore's model of the service (a required field)"),
    Rule("B-DOC-01", "C10", "L1", "error", "V", "placeholder-text",
        "A message with a document has a text block too.",
        "A text block must be included when using documents. Add a text block and retry your request.",
        "archestra PR#4220; recorded: pydantic-ai (refused 15 times, Claude and Nova; inside a toolResult none is needed)"),
    Rule("B-MEDIA-01", "C13", "L7", "error", "V", "move-image",
        "A toolResult holds text, json, images, documents and search results, and no video.",
        "This model doesn't support the video content block that you provided. Update the content block and try again.\n"
        "Malformed input request: #/messages/{n}/content/{k}: extraneous key [toolResult] is not permitted, "
        "please reformat your input and try again.",
        "recorded: pydantic-ai (refused by Claude and by Nova); botocore's model of the service (lists video)",
        (("unknown-type", "warning", "a member that is not in this list may be newer than the list"),)),
    Rule("B-SRC-01", "C13", "L7", "warning", "V", None,
        "Media come from S3 only to models that fetch them.",
        "This model doesn't support the s3Uri field. Remove s3Uri and try again.",
        "recorded: pydantic-ai (refused by Claude, accepted by Nova three times)",
        (("anthropic", "error", "Anthropic's models were recorded to refuse it"),)),
    Rule("B-SIG-01", "C12", "L5", "error", "V", "strip-seal",
        "A signature of reasoning is sent only to Anthropic's models.",
        "This model doesn't support the reasoningContent.reasoningText.signature field",
        "pi-mono amazon-bedrock.ts; recorded: signatures sent to Claude only"),
    Rule("B-SIZE-01", "C15", "L13", "error", "V", None,
        "The prompt has no more tokens than the model's window.",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.\n"
        "Input is too long for requested model.",
        "recorded: ruby_llm (Nova, Claude)"),
)
# fmt: on
