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

-- name: add_item
INSERT OR IGNORE INTO items (sequence, session, ordinal, id, parent_id, kind, text, tokens, outline, size,
    sensitivity, untrusted, metadata, published_ns, hash, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: item_hash
SELECT hash FROM items WHERE session = ? AND id = ?

-- name: add_collision
INSERT INTO collisions (session, sequence, id, conflict, hash) VALUES (?, ?, ?, ?, ?)

-- name: add_artifact
INSERT OR IGNORE INTO artifacts (tenant, handle, item) VALUES (?, ?, ?)

-- name: add_wait
INSERT OR REPLACE INTO waits (item, since, until, session) VALUES (?, ?, ?, ?)

-- name: wait_again
INSERT OR REPLACE INTO waits (since, until, item, session)
SELECT ?, ?, sequence, session FROM items i WHERE sequence = ? AND untrusted
    AND NOT EXISTS (SELECT 1 FROM envelopes WHERE item = i.sequence)

-- name: settle
UPDATE waits SET until = ? WHERE item = ? AND until > ?

-- name: add_pin
INSERT OR IGNORE INTO pins (session, item) VALUES (?, ?)

-- name: add_scope
INSERT OR IGNORE INTO scopes (session, scope, sequence) VALUES (?, ?, ?)

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

-- name: add_derivation
INSERT INTO derivations (anchor, type, worker, origin, run, part, version)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: add_envelope
INSERT INTO envelopes (version, item, tokens, outline, body) VALUES (?, ?, ?, ?, ?)

-- name: add_flags
INSERT INTO flags (session, item, version, body) VALUES (?, ?, ?, ?)

-- name: has_flags
SELECT 1 FROM flags WHERE session = ? AND item = ?

-- name: add_body
INSERT INTO bodies (version, item, tokens, characters, outline, packed) VALUES (?, ?, ?, ?, ?, ?)

-- name: partly_erased
SELECT 1 FROM partly_erased WHERE session = ? AND at > ?

-- name: add_summary
INSERT INTO summaries (version, item, tokens, sensitivity, text) VALUES (?, ?, ?, ?, ?)

-- name: add_level
INSERT INTO levels (item, version, until, rank) VALUES (?, ?, ?, ?)

-- name: end_level
UPDATE levels SET until = ? WHERE version = ?

-- name: add_closing
INSERT INTO closings (version, session, last_sequence, reason) VALUES (?, ?, ?, ?)

-- name: add_parked
INSERT INTO parked (version, session, source, worker, item_id, code, error, attempts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: open_parked
SELECT 1 FROM parked WHERE session = ? AND source = ? AND worker = ? AND revived IS NULL

-- name: revive
UPDATE parked SET revived = ?, dropped = ?
WHERE session = ? AND source = ? AND (worker = ? OR ? = '') AND revived IS NULL

-- name: add_policy
INSERT INTO policies (version, tenant, session, body) VALUES (?, ?, ?, ?)

-- name: add_grants
INSERT INTO grants (version, tenant, body) VALUES (?, ?, ?)

-- name: grants
SELECT body FROM grants WHERE tenant = ? ORDER BY version DESC LIMIT 1

-- name: has_scope
SELECT 1 FROM scopes WHERE session = ? AND scope = ?

-- name: refuses_scope
SELECT 1 FROM items WHERE session = ? AND metadata ->> '$.refused_scope' = ? LIMIT 1

-- name: refused_scope
SELECT metadata ->> '$.refused_scope' FROM items WHERE sequence = ?

-- name: add_catalog
INSERT INTO catalogs (version, tenant, name, body) VALUES (?, ?, ?, ?)

-- name: add_fault
INSERT OR REPLACE INTO faults (sequence, tenant, session, code, error) VALUES (?, ?, ?, ?, ?)

-- name: fault_in_session
SELECT 1 FROM faults WHERE sequence = ? AND sequence < ? AND tenant = ? AND session = ?

-- name: tombstones
SELECT tenant, session FROM tombstones WHERE session IS NOT NULL

-- name: add_tombstone
INSERT INTO tombstones (version, tenant, session, reason) VALUES (?, ?, ?, ?)
