-- Faults that a freshly folded read model shows.
-- name: waiting
SELECT s.tenant, s.session, i.sequence, i.id
FROM waits w JOIN items i ON i.sequence = w.item JOIN sessions s ON s.number = w.session
WHERE w.until = (1 << 62) - 1 ORDER BY i.sequence

-- name: orphans
SELECT s.tenant, s.session, i.sequence, i.id, i.parent_id
FROM items i JOIN sessions s ON s.number = i.session
WHERE i.parent_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM items p WHERE p.session = i.session AND p.id = i.parent_id)
ORDER BY i.sequence

-- name: faults
SELECT f.tenant, f.session, f.sequence, f.code, f.error,
    EXISTS (SELECT 1 FROM parked p WHERE p.source = f.sequence)
FROM faults f ORDER BY f.sequence

-- name: dead_letters
SELECT s.tenant, s.session, p.source, p.item_id, p.worker, p.code
FROM parked p JOIN sessions s ON s.number = p.session
WHERE p.revived IS NULL ORDER BY p.source, p.worker

-- name: conflicts
SELECT s.tenant, s.session, c.sequence, c.id
FROM collisions c JOIN sessions s ON s.number = c.session WHERE c.conflict ORDER BY c.sequence

-- name: uncounted
SELECT sequence FROM collisions

-- name: buried
SELECT DISTINCT tenant FROM tombstones

-- name: bodies
SELECT s.tenant, s.session, i.sequence, i.id, i.body, i.size
FROM items i JOIN sessions s ON s.number = i.session
WHERE i.body IS NOT NULL AND i.sequence >= ? ORDER BY i.sequence

-- name: items
SELECT i.sequence, i.id FROM items i JOIN sessions s ON s.number = i.session
WHERE s.tenant = ? AND s.session = ? AND i.sequence <= ? ORDER BY i.sequence
