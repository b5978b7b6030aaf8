"""Rederiving: this release's workers run over sessions that have results already."""
