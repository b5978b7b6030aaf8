-- Of a session: everything is found by its number. `totals` has a tenant's. The number is `open`:
-- SQLite takes the index of what waits now for a constant only.
-- name: counts_of_session
SELECT 1, items, duplicates,
    (SELECT count(*) FROM collisions WHERE session = s.number),
    (SELECT count(*) FROM collisions WHERE session = s.number AND conflict),
    (SELECT count(*) FROM waits WHERE session = s.number AND until = :open),
    (SELECT count(*) FROM parked WHERE session = s.number AND revived IS NULL)
FROM sessions s WHERE tenant = :tenant AND session = :session

-- name: counts_of_tenant
SELECT sessions, items, duplicates, collisions, conflicts,
    (SELECT count(*) FROM waits w CROSS JOIN sessions s ON s.number = w.session
    WHERE w.until = 4611686018427387903 AND s.tenant = :tenant), parked
FROM totals WHERE tenant = :tenant

-- name: collisions_of_session
SELECT s.session, c.id, c.sequence, i.sequence, c.conflict
FROM sessions s JOIN collisions c ON c.session = s.number
JOIN items i ON i.session = c.session AND i.id = c.id
WHERE s.tenant = :tenant AND s.session = :session AND c.sequence BETWEEN :first AND :last
ORDER BY c.sequence DESC LIMIT :limit

-- name: collisions_of_tenant
SELECT s.session, c.id, c.sequence, i.sequence, c.conflict
FROM collisions c CROSS JOIN sessions s ON s.number = c.session
CROSS JOIN items i ON i.session = c.session AND i.id = c.id
WHERE s.tenant = :tenant AND c.sequence BETWEEN :first AND :last
ORDER BY c.sequence DESC LIMIT :limit

-- name: waiting_of_session
SELECT s.session, i.id, i.sequence
FROM sessions s JOIN waits w ON w.session = s.number JOIN items i ON i.sequence = w.item
WHERE s.tenant = :tenant AND s.session = :session AND w.until = :open
ORDER BY i.sequence DESC LIMIT :limit

-- name: waiting_of_tenant
SELECT s.session, i.id, i.sequence
FROM waits w CROSS JOIN sessions s ON s.number = w.session CROSS JOIN items i ON i.sequence = w.item
WHERE s.tenant = :tenant AND w.until = 4611686018427387903
ORDER BY w.item DESC LIMIT :limit

-- name: dead_letters_of_session
SELECT s.session, p.source, p.item_id, p.worker, p.code, p.error, p.attempts
FROM sessions s JOIN parked p ON p.session = s.number
WHERE s.tenant = :tenant AND s.session = :session AND p.revived IS NULL
ORDER BY p.source DESC LIMIT :limit

-- name: dead_letters_of_tenant
SELECT s.session, p.source, p.item_id, p.worker, p.code, p.error, p.attempts
FROM parked p CROSS JOIN sessions s ON s.number = p.session
WHERE s.tenant = :tenant AND p.revived IS NULL
ORDER BY p.source DESC LIMIT :limit

-- name: sessions
SELECT tenant, session, last_sequence FROM sessions
ORDER BY last_ns DESC, tenant, session LIMIT ?

-- name: quiet
-- Open ones only: they have an item after what was closed.
SELECT tenant, session, last_sequence
FROM sessions WHERE last_ns <= :before AND items > 0 AND closed_sequence < last_sequence
ORDER BY last_sequence LIMIT :limit

-- name: of_handle
SELECT item FROM artifacts WHERE tenant = ? AND handle = ? ORDER BY item LIMIT 1

-- Trusted items whose text is in the object store.
-- name: large_of_tenant
SELECT s.session, i.id, i.sequence
FROM items i INDEXED BY items_large CROSS JOIN sessions s ON s.number = i.session
WHERE i.body IS NOT NULL AND NOT i.untrusted AND s.tenant = :tenant
ORDER BY i.sequence DESC LIMIT :limit

-- name: artifact
SELECT s.session, i.id, i.kind, i.untrusted, i.size, i.body, i.sensitivity,
    i.metadata, (SELECT body FROM envelopes WHERE item = i.sequence ORDER BY version DESC LIMIT 1),
    (SELECT max(rank) FROM levels WHERE item = i.sequence AND until = 4611686018427387903)
FROM items i JOIN sessions s ON s.number = i.session WHERE i.sequence = ?

-- name: place
SELECT i.sequence FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = ? AND s.session = ? AND i.id = ?

-- name: content
SELECT i.sequence, i.hash, i.session FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = ? AND s.session = ? AND i.id = ?

-- name: lost
SELECT id, hash, max(sequence) FROM collisions WHERE session = ? AND conflict GROUP BY id, hash

-- name: sessions_of_tenant
-- By the unique index on tenant and name. Rows without an item are of events alone.
SELECT session, items, last_sequence, last_ns, closed_sequence >= last_sequence
FROM sessions WHERE tenant = :tenant AND session > :beyond AND items > 0
ORDER BY session LIMIT :limit

-- name: history
-- Ids as `weft.messages.history_matching` makes them: a kind's letter, a place, sixteen digits of a hash.
SELECT i.id FROM sessions s JOIN items i ON i.session = s.number
WHERE s.tenant = ? AND s.session = ? AND i.id GLOB '[uacrpdfs][1-9]*-????????????????'
ORDER BY i.ordinal DESC LIMIT ?
