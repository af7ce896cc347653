#!/bin/sh
# Runs once, as the administrator, when the database server starts for the first time: a plain role
# (row-level security binds it), its database, and the one extension, which only an administrator
# may create.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$REMANENCE_PASSWORD" -U "$POSTGRES_USER" -d postgres <<'SQL'
CREATE ROLE remanence LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE remanence OWNER remanence;
SQL
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d remanence -c 'CREATE EXTENSION vector'
