ALTER TABLE memories
    ADD COLUMN said_from integer NOT NULL DEFAULT 0,
    ADD COLUMN said_to integer NOT NULL DEFAULT 0;
