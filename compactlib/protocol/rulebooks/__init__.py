"""
The rules, one module for each dialect.

Each module is one table, ``TABLE``, in the order of its chapter in ``spec/``.
Where the rules of several providers hold for one wire shape (the many servers
that imitate OpenAI Chat), each family keeps its own letter and table.
`compactlib.protocol.rules` gathers them.
"""
