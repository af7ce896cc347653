-- Walked for the newest messages of a session, and read alone for what sessions there are.
DROP INDEX memories_by_session;
CREATE INDEX memories_by_session ON memories (tenant, partition, session_id, happened_at, key)
    INCLUDE (state, kind) WHERE session_id IS NOT NULL;

-- place: a digest of the five columns after it, which together can be too long for an index.
CREATE TABLE documents (
    tenant integer NOT NULL,
    key bigint GENERATED ALWAYS AS IDENTITY,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint,
    version integer NOT NULL,
    place bytea NOT NULL,
    shelf text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,  -- '' is none, here and in the next two
    session_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    value text COLLATE "C" NOT NULL,  -- as written: jsonb would change numbers
    PRIMARY KEY (tenant, key),
    UNIQUE (tenant, place)
);
CREATE INDEX documents_by_address ON documents (tenant, shelf, user_id, session_id);
CREATE INDEX documents_by_time ON documents (tenant, shelf, user_id, updated_at DESC);
CREATE INDEX documents_by_expiry ON documents (tenant, shelf, expires_at)
    WHERE expires_at IS NOT NULL;

CREATE TABLE editions (
    tenant integer NOT NULL,
    version integer NOT NULL,
    document bigint NOT NULL,
    at bigint NOT NULL,
    verb text COLLATE "C" NOT NULL,
    author text COLLATE "C",
    reason text COLLATE "C",
    digest bytea NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, document, version)
);

DO $$
DECLARE
    walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['documents', 'editions'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format(
            'CREATE POLICY wall ON %I
             USING (tenant = nullif(current_setting(''remanence.tenant'', true), '''')::integer)
             WITH CHECK (tenant = nullif(current_setting(''remanence.tenant'', true), '''')::integer)',
            walled
        );
    END LOOP;
END
$$;
