"""The memory-updater: facts and episodes that outlive the prompt they were learned in.

The stores that they end up in are read through `FactStore` and `EpisodicStore`.
"""

from weft.readmodel.rows import EpisodicStore as EpisodicStore
from weft.readmodel.rows import FactStore as FactStore
