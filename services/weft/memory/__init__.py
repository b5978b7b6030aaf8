"""The memory-updater: facts and episodes that outlive the prompt they were learned in.

They are read through `weft.readmodel.rows.FactStore` and `EpisodicStore`.
"""
