"""
The summary that stands for what was replaced, from asking to accepting.

What this is
    A summary is the only thing of a long conversation that its agent will
    still know, and it is written by a model that can fail in every way a
    model fails.  This package holds what happens around that one call:

    =============  ========================================================
    `schema`       the sections a summary has; parse and render them
    `prompts`      what the summariser is told, versioned
    `transcript`   how one message is shown: as quoted data
    `rendering`    the requests to the summariser, and what fits into each
    `acceptance`   whether a reply may replace history
    `provenance`   whose words those under *goal* and *orders* are
    `head`         the header line, and how a summary is known again
    `cues`         the words and tool names that the extractive summariser goes by
    `extractive`   the summariser that asks no model
    `faults`       summarisers that fail, one for each way to fail
    =============  ========================================================

Rules it obeys
    Law L25: text of the transcript is quoted data on the way in, and cannot
    become a heading, a marker or a person's order on the way out.  Law L6: a
    reply that fails any check changes nothing.  Law L15: every request fits
    the summariser's own window.  Law L20: what was done stays done.

What is not here
    When to summarise and what becomes of the result (`compaction`); whether
    anchors survived and claims are borne out (`facts`, laws L21 and L22);
    real models (`summarisers`).
"""

from __future__ import annotations
