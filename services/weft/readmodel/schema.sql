-- The read model. Rows are append-only and carry log sequences, so that the world at a sequence is
-- a WHERE clause; `until` closes an interval (first sequence at which it no longer holds).

CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Counters here are of now; what a view reads is computed from rows at or before its sequence.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    items INTEGER NOT NULL DEFAULT 0,
    documents INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    last_ns INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL DEFAULT 0,
    closed_sequence INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, session)
);

-- One row per item, the first in the log with its id. An untrusted one has no text here, ever.
-- `outline`: the parts of its text, see passages/part.py; empty for a text that is one passage.
CREATE TABLE items (
    sequence INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    parent_id TEXT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    outline BLOB NOT NULL,
    size INTEGER NOT NULL,
    sensitivity TEXT NOT NULL,
    untrusted INTEGER NOT NULL,
    metadata BLOB,
    published_ns INTEGER NOT NULL,
    hash BLOB NOT NULL,
    body TEXT
);
CREATE UNIQUE INDEX items_ordinal ON items (session, ordinal);
CREATE UNIQUE INDEX items_id ON items (session, id);
CREATE INDEX items_parent ON items (session, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX items_kind ON items (session, kind, ordinal);
CREATE INDEX items_large ON items (sequence) WHERE body IS NOT NULL AND NOT untrusted;

-- What the guards saw in an item, from a version on; an empty list takes an earlier one back.
CREATE TABLE flags (
    session INTEGER NOT NULL,
    item INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, item, version)
) WITHOUT ROWID;

-- Items that their publisher pinned.
CREATE TABLE pins (
    session INTEGER NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (session, item)
) WITHOUT ROWID;

-- Items whose id was taken: the same content again (a duplicate) or other content (a conflict).
CREATE TABLE collisions (
    session INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    id TEXT NOT NULL,
    conflict INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (session, sequence)
) WITHOUT ROWID;
CREATE INDEX collisions_sequence ON collisions (sequence);

-- When an untrusted item waited for its envelope.
CREATE TABLE waits (
    item INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (item, since)
) WITHOUT ROWID;
CREATE INDEX waits_open ON waits (session, until, item);
CREATE INDEX waits_now ON waits (item) WHERE until = 4611686018427387903;

CREATE TABLE artifacts (
    tenant TEXT NOT NULL,
    handle TEXT NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (tenant, handle, item)
) WITHOUT ROWID;

-- Which derived events count: of one source, worker and run the first.
-- `anchor` is the item (or the closing) that the source, maybe itself derived, is about.
CREATE TABLE derivations (
    anchor INTEGER NOT NULL,
    type TEXT NOT NULL,
    worker TEXT NOT NULL,
    origin INTEGER NOT NULL,
    run TEXT NOT NULL,
    part TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (anchor, type, worker, origin, run, part)
) WITHOUT ROWID;

-- `outline`: of a summary that is the whole clean text; empty if that is one passage, and for all
-- other summaries.
CREATE TABLE envelopes (
    version INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    outline BLOB NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX envelopes_item ON envelopes (item, version);

-- The clean text of an untrusted item under one envelope: what its tool said, with secrets masked.
-- Of results that pass whole it is the envelope's summary, and stands only there.
CREATE TABLE bodies (
    version INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    outline BLOB NOT NULL,
    packed BLOB NOT NULL
);
CREATE INDEX bodies_item ON bodies (item);

CREATE TABLE summaries (
    version INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    sensitivity TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX summaries_item ON summaries (item, version);

-- Levels that items were raised to: at least this sensitive while it holds, [version, until).
CREATE TABLE levels (
    item INTEGER NOT NULL,
    version INTEGER NOT NULL,
    until INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    PRIMARY KEY (item, version)
) WITHOUT ROWID;
CREATE UNIQUE INDEX levels_version ON levels (version);

-- Facts and episodes. A row is one stretch of being in force, [since, until); a value that lost
-- to a newer source before it arrived has an empty one.
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    source INTEGER NOT NULL,
    version INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    withdrawn INTEGER,
    session INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX memories_in_force ON memories (tenant, type, scope, until, source, version);
CREATE INDEX memories_name ON memories (tenant, type, scope, name, source);
CREATE INDEX memories_version ON memories (version);
CREATE INDEX memories_session ON memories (session);

CREATE TABLE scopes (
    session INTEGER NOT NULL,
    scope TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (session, scope)
) WITHOUT ROWID;

-- Sessions of which a scope was erased: what was closed before is not summarised any more.
CREATE TABLE partly_erased (
    session INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
);

CREATE TABLE closings (
    version INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX closings_session ON closings (session, version);

CREATE TABLE parked (
    version INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    source INTEGER NOT NULL,
    worker TEXT NOT NULL,
    item_id TEXT NOT NULL,
    code TEXT NOT NULL,
    error TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    revived INTEGER,
    dropped INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX parked_source ON parked (session, source, worker);
CREATE INDEX parked_now ON parked (source) WHERE revived IS NULL;

-- A tenant's own events; `session` is '' where a policy holds for the whole tenant.
CREATE TABLE policies (
    version INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX policies_tenant ON policies (tenant, session, version);

CREATE TABLE grants (
    version INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX grants_tenant ON grants (tenant, version);

CREATE TABLE catalogs (
    version INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX catalogs_name ON catalogs (tenant, name, version);

-- `session` is '' for a whole tenant, null for a scope.
CREATE TABLE tombstones (
    version INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT,
    reason TEXT NOT NULL
);

-- Records that the fold skipped, and why.
CREATE TABLE faults (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    code TEXT NOT NULL,
    error TEXT NOT NULL
);
CREATE INDEX faults_session ON faults (tenant, session);

-- The text index. A document is one passage of one version of an item's text, numbered within its
-- session in log order; `words` is the session's length in words up to and with this document.
CREATE TABLE documents (
    session INTEGER NOT NULL,
    document INTEGER NOT NULL,
    item INTEGER NOT NULL,
    passage INTEGER NOT NULL,
    version INTEGER NOT NULL,
    words INTEGER NOT NULL,
    PRIMARY KEY (session, document)
) WITHOUT ROWID;
CREATE INDEX documents_item ON documents (item);

CREATE TABLE superseded (
    session INTEGER NOT NULL,
    document INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (session, document)
) WITHOUT ROWID;

-- Terms of the newest documents, a line for each, until there are enough for a segment; `times`: a
-- byte for each term, how often the document has it.
CREATE TABLE unsealed_documents (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    document INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms TEXT NOT NULL,
    times BLOB NOT NULL
);
CREATE INDEX unsealed_document ON unsealed_documents (session, document);

-- Clustered by session and term. `entries`: four bytes a posting, see postings.py.
CREATE TABLE postings (
    session INTEGER NOT NULL,
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (session, term, block)
) WITHOUT ROWID;

-- What goes with an item, a closing or a session. Not here: the handles of its artifacts, which are
-- not found by item, and memories, of which others come in force again.
CREATE TRIGGER item_gone AFTER DELETE ON items BEGIN
    DELETE FROM bodies WHERE item = OLD.sequence;
    DELETE FROM envelopes WHERE item = OLD.sequence;
    DELETE FROM summaries WHERE item = OLD.sequence;
    DELETE FROM levels WHERE item = OLD.sequence;
    DELETE FROM derivations WHERE anchor = OLD.sequence;
    DELETE FROM waits WHERE item = OLD.sequence;
    DELETE FROM pins WHERE session = OLD.session AND item = OLD.sequence;
    DELETE FROM flags WHERE session = OLD.session AND item = OLD.sequence;
END;
CREATE TRIGGER closing_gone AFTER DELETE ON closings BEGIN
    DELETE FROM summaries WHERE item = OLD.version;
    DELETE FROM derivations WHERE anchor = OLD.version;
END;
CREATE TRIGGER session_going BEFORE DELETE ON sessions BEGIN
    DELETE FROM artifacts WHERE item IN (SELECT sequence FROM items WHERE session = OLD.number);
    DELETE FROM items WHERE session = OLD.number;
    DELETE FROM closings WHERE session = OLD.number;
    DELETE FROM superseded WHERE session = OLD.number;
    DELETE FROM documents WHERE session = OLD.number;
    DELETE FROM unsealed_documents WHERE session = OLD.number;
    DELETE FROM postings WHERE session = OLD.number;
    DELETE FROM parked WHERE session = OLD.number;
    DELETE FROM collisions WHERE session = OLD.number;
    DELETE FROM scopes WHERE session = OLD.number;
    DELETE FROM partly_erased WHERE session = OLD.number;
END;

-- What of each tenant is counted in the tables above, kept by triggers, so that telling it costs the
-- same however many sessions there are. What waits is counted when it is asked for: it changes twice
-- with every result, and is little.
CREATE TABLE totals (
    tenant TEXT PRIMARY KEY,
    sessions INTEGER NOT NULL DEFAULT 0,
    items INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    collisions INTEGER NOT NULL DEFAULT 0,
    conflicts INTEGER NOT NULL DEFAULT 0,
    parked INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TRIGGER totals_session AFTER INSERT ON sessions
    BEGIN INSERT OR IGNORE INTO totals (tenant) VALUES (NEW.tenant); UPDATE totals SET sessions = sessions + 1 WHERE tenant = NEW.tenant; END;
CREATE TRIGGER totals_session_grown AFTER UPDATE OF items, duplicates ON sessions
    BEGIN UPDATE totals SET items = items + NEW.items - OLD.items,
    duplicates = duplicates + NEW.duplicates - OLD.duplicates WHERE tenant = NEW.tenant; END;
CREATE TRIGGER totals_session_gone AFTER DELETE ON sessions
    BEGIN UPDATE totals SET sessions = sessions - 1, items = items - OLD.items,
    duplicates = duplicates - OLD.duplicates WHERE tenant = OLD.tenant; END;
CREATE TRIGGER totals_collision AFTER INSERT ON collisions
    BEGIN UPDATE totals SET collisions = collisions + 1, conflicts = conflicts + NEW.conflict
    WHERE tenant = (SELECT tenant FROM sessions WHERE number = NEW.session); END;
CREATE TRIGGER totals_collision_gone AFTER DELETE ON collisions
    BEGIN UPDATE totals SET collisions = collisions - 1, conflicts = conflicts - OLD.conflict
    WHERE tenant = (SELECT tenant FROM sessions WHERE number = OLD.session); END;
CREATE TRIGGER totals_parked AFTER INSERT ON parked
    WHEN NEW.revived IS NULL
    BEGIN UPDATE totals SET parked = parked + 1 WHERE tenant = (SELECT tenant FROM sessions WHERE number = NEW.session); END;
CREATE TRIGGER totals_parked_revived AFTER UPDATE OF revived ON parked
    WHEN OLD.revived IS NULL AND NEW.revived IS NOT NULL
    BEGIN UPDATE totals SET parked = parked - 1 WHERE tenant = (SELECT tenant FROM sessions WHERE number = OLD.session); END;
CREATE TRIGGER totals_parked_gone AFTER DELETE ON parked
    WHEN OLD.revived IS NULL
    BEGIN UPDATE totals SET parked = parked - 1 WHERE tenant = (SELECT tenant FROM sessions WHERE number = OLD.session); END;
