-- name: in_force
SELECT number, source, version FROM memories
WHERE tenant = ? AND type = ? AND scope = ? AND name = ? AND until = ?

-- name: end
UPDATE memories SET until = ? WHERE number = ?

-- name: of_version
SELECT number, tenant, type, scope, name, until FROM memories
WHERE version = ? AND withdrawn IS NULL

-- name: withdraw
UPDATE memories SET withdrawn = ?, until = min(until, ?) WHERE number = ?

-- name: best_left
SELECT number FROM memories
WHERE tenant = ? AND type = ? AND scope = ? AND name = ? AND withdrawn IS NULL
ORDER BY source DESC, version DESC, number DESC LIMIT 1

-- name: in_force_again
INSERT INTO memories
    (type, tenant, scope, name, source, version, since, until, session, tokens, body)
SELECT type, tenant, scope, name, source, version, ?, ?, session, tokens, body
FROM memories WHERE number = ?

-- name: forget
DELETE FROM memories WHERE number = ?
