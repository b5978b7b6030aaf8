"""The contract of weft: events, requests, replies, subjects and policy. No I/O."""
