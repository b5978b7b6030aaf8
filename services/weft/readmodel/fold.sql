-- name: sessions
SELECT number, items, documents, words, closed_sequence FROM sessions
WHERE tenant = ? AND session = ?

-- name: add_session
INSERT INTO sessions (tenant, session, last_ns) VALUES (?, ?, ?)

-- name: update_session
UPDATE sessions SET items = :items, documents = :documents, words = :words,
    duplicates = duplicates + :duplicates, last_ns = max(last_ns, :last_ns),
    last_sequence = max(last_sequence, :last_sequence), closed_sequence = :closed
WHERE number = :number

-- name: item_hash
SELECT hash FROM items WHERE session = ? AND id = ?

-- name: wait_again
INSERT OR REPLACE INTO waits (since, until, item, session)
SELECT ?, ?, sequence, session FROM items i WHERE sequence = ? AND untrusted
    AND NOT EXISTS (SELECT 1 FROM envelopes WHERE item = i.sequence)

-- name: settle
UPDATE waits SET until = ? WHERE item = ? AND until > ?

-- name: source
SELECT sequence, session, id, 'item' FROM items WHERE sequence = ?1
UNION ALL
SELECT i.sequence, i.session, i.id, 'envelope'
FROM envelopes e JOIN items i ON i.sequence = e.item WHERE e.version = ?1
UNION ALL
SELECT i.sequence, i.session, i.id, 'summary'
FROM summaries s JOIN items i ON i.sequence = s.item WHERE s.version = ?1
UNION ALL
SELECT c.version, c.session, '', 'closing' FROM closings c WHERE c.version = ?1
UNION ALL
SELECT c.version, c.session, '', 'summary'
FROM summaries s JOIN closings c ON c.version = s.item WHERE s.version = ?1

-- name: derivations
SELECT origin, run, part, version FROM derivations WHERE anchor = ? AND type = ? AND worker = ?

-- name: add_flags
INSERT INTO flags SELECT ?1, ?2, ?3, ?4
WHERE ?5 OR EXISTS (SELECT 1 FROM flags WHERE session = ?1 AND item = ?2)

-- Of a trusted item whose text is in the object store.
-- name: stored_kind
SELECT kind FROM items WHERE sequence = ? AND body IS NOT NULL AND NOT untrusted

-- Where a body is that is in the object store.
-- name: stored_body
SELECT body, size FROM items WHERE sequence = ? AND body IS NOT NULL

-- name: partly_erased
SELECT 1 FROM partly_erased WHERE session = ? AND at > ?

-- name: end_level
UPDATE levels SET until = ? WHERE version = ?

-- name: open_parked
SELECT 1 FROM parked WHERE session = ? AND source = ? AND worker = ? AND revived IS NULL

-- name: revive
UPDATE parked SET revived = ?, dropped = ?
WHERE session = ? AND source = ? AND (worker = ? OR ? = '') AND revived IS NULL

-- Whether items of the session named the scope, and none of their publishers may use it.
-- name: is_refused
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM scopes WHERE session = ?1 AND scope = ?2)
    AND EXISTS (SELECT 1 FROM items WHERE session = ?1 AND metadata ->> '$.refused_scope' = ?2)

-- name: told_by
SELECT kind, metadata ->> '$.refused_scope' FROM items WHERE sequence = ?

-- name: fault_in_session
SELECT 1 FROM faults WHERE sequence = ? AND sequence < ? AND tenant = ? AND session = ?

-- name: tombstones
SELECT tenant, session FROM tombstones WHERE session IS NOT NULL
