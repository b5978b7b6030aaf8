-- name: sessions_of_items
SELECT DISTINCT s.number, s.session FROM victims v JOIN sessions s ON s.number = v.session
ORDER BY s.number

-- Items that name the scope, whether they may use it or not, and slices of what stands behind them.
-- name: collect
CREATE TEMP TABLE IF NOT EXISTS victims (item INTEGER PRIMARY KEY, session INTEGER)

-- name: clear
DELETE FROM victims

-- name: naming
INSERT OR IGNORE INTO victims
SELECT i.sequence, i.session FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = :tenant AND i.sequence < :at
    AND (i.metadata ->> '$.scope' = :scope OR i.metadata ->> '$.refused_scope' = :scope)

-- name: slices
INSERT OR IGNORE INTO victims
SELECT i.sequence, i.session FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = :tenant AND i.sequence < :at AND i.metadata ->> '$.slice_of' IN (
    SELECT a.handle FROM artifacts a JOIN victims v ON v.item = a.item WHERE a.tenant = :tenant)

-- Facts and episodes: of the scope, of its items, and of the stretches that they stand in.
-- name: memories
SELECT number, tenant, type, scope, name, until FROM memories WHERE tenant = :tenant AND (
    (scope = :scope AND source < :at)
    OR version IN (SELECT d.version FROM derivations d JOIN victims v ON v.item = d.anchor)
    OR (type = 'episode' AND source < :at AND EXISTS (
        SELECT 1 FROM victims v WHERE v.session = memories.session AND v.item < memories.version)))

-- What was made of the items, but for what goes by triggers.
-- name: derived
DELETE FROM summaries WHERE item IN (
    SELECT c.version FROM closings c JOIN victims v ON v.session = c.session AND v.item < c.version);
DELETE FROM derivations WHERE anchor IN (
    SELECT c.version FROM closings c JOIN victims v ON v.session = c.session AND v.item < c.version);
DELETE FROM parked WHERE source IN (SELECT item FROM victims) OR source IN (
    SELECT d.version FROM derivations d JOIN victims v ON v.item = d.anchor);
DELETE FROM collisions WHERE (session, id) IN (
    SELECT i.session, i.id FROM items i JOIN victims v ON v.item = i.sequence);
DELETE FROM artifacts WHERE item IN (SELECT item FROM victims)

-- name: faults
DELETE FROM faults WHERE sequence = ?1 AND tenant = ?2;
DELETE FROM parked WHERE source = ?1 AND session IN (SELECT number FROM sessions WHERE tenant = ?2)

-- name: scopes
DELETE FROM scopes WHERE scope = :scope AND session IN (
    SELECT number FROM sessions WHERE tenant = :tenant)

-- What was made of them goes by triggers.
-- name: items
DELETE FROM items WHERE sequence IN (SELECT item FROM victims)

-- What is left gets the numbers that it has where the log is folded without what is gone. First out
-- of the way: two items of a session never have one number.
-- name: renumber
UPDATE items SET ordinal = -1 - (
    SELECT count(*) FROM items o WHERE o.session = items.session AND o.sequence < items.sequence)
WHERE session = ?1;
UPDATE items SET ordinal = -1 - ordinal WHERE session = ?1;
DELETE FROM superseded WHERE session = ?1;
DELETE FROM documents WHERE session = ?1;
DELETE FROM unsealed_documents WHERE session = ?1;
DELETE FROM postings WHERE session = ?1;
UPDATE sessions SET documents = 0, words = 0,
    items = (SELECT count(*) FROM items WHERE session = ?1),
    duplicates = (SELECT count(*) FROM collisions WHERE session = ?1 AND NOT conflict),
    last_sequence = coalesce((SELECT max(sequence) FROM items WHERE session = ?1), 0)
WHERE number = ?1

-- name: texts
SELECT i.sequence, i.sequence, i.kind, i.text, i.metadata, NULL, NULL
FROM items i WHERE i.session = ?1 AND NOT i.untrusted
UNION ALL
SELECT e.version, i.sequence, i.kind, i.text, i.metadata, e.body, b.packed
FROM items i JOIN envelopes e ON e.item = i.sequence LEFT JOIN bodies b ON b.version = e.version
WHERE i.session = ?1
ORDER BY 1
