"""The indexer: folds the whole log into the read model of one replica."""
