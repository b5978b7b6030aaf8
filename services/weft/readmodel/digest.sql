-- Sequences differ between two logs of the same content, so rows are named by ordinals and ids.
-- name: sessions
SELECT number, tenant, session FROM sessions

-- name: items
SELECT ordinal, id, kind, text, size, parent_id, sensitivity, untrusted, metadata, hash, body
FROM items WHERE session = ? ORDER BY ordinal

-- name: envelopes
SELECT i.ordinal, e.body FROM items i JOIN envelopes e ON e.item = i.sequence
WHERE i.session = ? ORDER BY i.ordinal, e.version

-- name: summaries
SELECT i.ordinal, s.sensitivity, s.text FROM items i JOIN summaries s ON s.item = i.sequence
WHERE i.session = ? ORDER BY i.ordinal, s.version

-- name: levels
SELECT i.ordinal, l.rank, l.until = (1 << 62) - 1 FROM items i JOIN levels l ON l.item = i.sequence
WHERE i.session = ? ORDER BY i.ordinal, l.version

-- name: closings
SELECT (SELECT max(ordinal) FROM items i
        WHERE i.session = c.session AND i.sequence <= c.last_sequence),
    c.reason, s.sensitivity, s.text
FROM closings c LEFT JOIN summaries s ON s.item = c.version
WHERE c.session = ? ORDER BY c.version, s.version

-- name: conflicts
SELECT DISTINCT id, hash FROM collisions WHERE session = ? AND conflict ORDER BY id, hash

-- name: waiting
SELECT i.ordinal FROM waits w JOIN items i ON i.sequence = w.item
WHERE w.session = ? AND w.until = (1 << 62) - 1 ORDER BY i.ordinal

-- name: facts
SELECT scope, name, body, max(until) = (1 << 62) - 1, withdrawn IS NOT NULL
FROM memories WHERE session = ? AND type IN ('fact', 'user_fact')
GROUP BY scope, name, version, withdrawn IS NOT NULL ORDER BY 1, 2, 3, 4, 5

-- name: episodes
SELECT scope, body, max(until) = (1 << 62) - 1, withdrawn IS NOT NULL
FROM memories WHERE session = ? AND type = 'episode'
GROUP BY scope, name, version, withdrawn IS NOT NULL

-- name: parked
SELECT p.item_id, p.worker, p.code, p.revived IS NOT NULL, p.dropped
FROM parked p WHERE p.session = ? ORDER BY 1, 2, 3, 4, 5

-- name: ordinal_at
SELECT max(ordinal) FROM items WHERE session = ? AND sequence <= ?

-- name: tenants
SELECT tenant FROM sessions UNION SELECT tenant FROM policies UNION SELECT tenant FROM catalogs
UNION SELECT tenant FROM grants
UNION SELECT tenant FROM tombstones UNION SELECT tenant FROM faults ORDER BY 1

-- name: policies
SELECT session, body FROM policies WHERE tenant = ? ORDER BY session, version

-- name: catalogs
SELECT name, body FROM catalogs WHERE tenant = ? ORDER BY name, version

-- name: grants
SELECT body FROM grants WHERE tenant = ? ORDER BY version

-- name: tombstones
SELECT DISTINCT session FROM tombstones WHERE tenant = ? AND session IS NOT NULL ORDER BY 1

-- name: faults
SELECT session, code, count(*) FROM faults WHERE tenant = ? AND code <> 'contradiction'
GROUP BY session, code ORDER BY 1, 2
