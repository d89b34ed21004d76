"""
The formal message protocol: what may be sent to a provider, and why not.

`automaton` is the order of messages as a table; `profiles` what differs between
providers; `rules` the rules, with the provider's own words; `validator` judges
conversations by them.  `violation`, `reader`, `anthropic`, `openai_chat`,
`request` and `pixels` are the validator's parts.
"""
