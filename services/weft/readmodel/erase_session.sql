-- Everything of one session (its number is ?1), in an order in which sub-selects still find rows.
DELETE FROM superseded WHERE session = ?1;
DELETE FROM documents WHERE session = ?1;
DELETE FROM tail WHERE session = ?1;
DELETE FROM postings WHERE session = ?1;
DELETE FROM envelopes WHERE item IN (SELECT sequence FROM items WHERE session = ?1);
DELETE FROM summaries WHERE item IN (SELECT sequence FROM items WHERE session = ?1);
DELETE FROM summaries WHERE item IN (SELECT version FROM closings WHERE session = ?1);
DELETE FROM derivations WHERE anchor IN (SELECT sequence FROM items WHERE session = ?1);
DELETE FROM derivations WHERE anchor IN (SELECT version FROM closings WHERE session = ?1);
DELETE FROM waits WHERE item IN (SELECT sequence FROM items WHERE session = ?1);
DELETE FROM artifacts WHERE item IN (SELECT sequence FROM items WHERE session = ?1);
DELETE FROM closings WHERE session = ?1;
DELETE FROM parked WHERE session = ?1;
DELETE FROM collisions WHERE session = ?1;
DELETE FROM scopes WHERE session = ?1;
DELETE FROM items WHERE session = ?1;
DELETE FROM sessions WHERE number = ?1;
