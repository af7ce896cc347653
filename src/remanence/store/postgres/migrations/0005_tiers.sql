-- A packed text is in `packed`, and `text` is empty. `tier` is 0 for hot.
ALTER TABLE memories
    ADD COLUMN tier smallint NOT NULL DEFAULT 0,
    ADD COLUMN dictionary integer,
    ADD COLUMN packed bytea;
ALTER TABLE memories ALTER packed SET STORAGE EXTERNAL;
CREATE INDEX memories_by_dictionary ON memories (tenant, dictionary)
    WHERE dictionary IS NOT NULL;

-- `tainted`: a memory it was made of has been erased. Kept twice, because every text that was
-- packed with it depends on it.
CREATE TABLE dictionaries (
    tenant integer NOT NULL,
    id integer GENERATED ALWAYS AS IDENTITY,
    among bigint NOT NULL,  -- how many memories the tenant had then
    tainted smallint NOT NULL DEFAULT 0,
    digest bytea NOT NULL,
    body bytea NOT NULL,
    spare bytea NOT NULL,
    PRIMARY KEY (tenant, id)
);
ALTER TABLE dictionaries ALTER body SET STORAGE EXTERNAL, ALTER spare SET STORAGE EXTERNAL;

CREATE TABLE dictionary_sources (
    tenant integer NOT NULL,
    memory bigint NOT NULL,
    dictionary integer NOT NULL,
    PRIMARY KEY (tenant, memory, dictionary)
);

DO $$
DECLARE
    walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['dictionaries', 'dictionary_sources'] LOOP
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
