"""
The formal message protocol: what may be sent to a provider, and why not.

`automaton` is the order of messages as a table; `profiles` what differs between
providers; `rules` the rules, with the provider's own words; `validator` judges
conversations by them.  `violation`, `reader`, `request`, `pixels` and one reader
for each dialect (`anthropic`, `openai_chat`, `openai_responses`, ...) are the
validator's parts.
"""
