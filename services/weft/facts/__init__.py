"""What a `memory_fact` item states, and how keys of facts are spelt. Used by the memory-updater,
which derives facts, and by the compiler, which shows no superseded one."""
