"""What a `memory_fact` item gives, and how the keys of facts are spelt: read by the memory-updater,
which derives facts, and by the compiler, which shows none that is superseded."""
