-- Walked for the newest messages of a session, and read alone for what sessions there are.
DROP INDEX memories_by_session;
CREATE INDEX memories_by_session ON memories (partition, session_id, happened_at, key, state, kind)
    WHERE session_id IS NOT NULL;

CREATE TABLE documents (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    shelf TEXT NOT NULL,
    user_id TEXT NOT NULL,  -- '' is none, here and in the next two
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    digest BLOB NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (tenant, shelf, user_id, session_id, agent_id, name)
);
CREATE INDEX documents_by_time ON documents
    (tenant, shelf, user_id, updated_at DESC, session_id, agent_id, name);
CREATE INDEX documents_by_expiry ON documents (tenant, shelf, expires_at)
    WHERE expires_at IS NOT NULL;

CREATE TABLE editions (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    version INTEGER NOT NULL,
    verb TEXT NOT NULL,
    at INTEGER NOT NULL,
    author TEXT,
    reason TEXT,
    digest BLOB NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (document, version)
);

DELETE FROM sqlite_stat1 WHERE idx = 'memories_by_session';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('memories', 'memories_by_session', '1000000 20000 30 2 1 1 1'),
    ('documents', 'sqlite_autoindex_documents_1', '100000 20000 5000 100 10 5 1'),
    ('documents', 'documents_by_time', '100000 20000 5000 100 1 1 1 1'),
    ('documents', 'documents_by_expiry', '50000 20000 10000 1'),
    ('editions', 'sqlite_autoindex_editions_1', '100000 10 1');
-- Read them now: a store in memory is never opened again.
ANALYZE sqlite_schema;
