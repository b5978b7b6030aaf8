"""Operations on the whole log: snapshots, copies, dead letters, `erasure` and rederivation. Pure
decisions are kept apart from the modules that read and write a log: `dead_letters` beside
`reviving`, `survey` beside `survey_from_log`, `rederive_plan` beside `rederive`."""
