/**
 * Facts in a SQLite file, found by their words (FTS5). Each fact belongs to a scope, and no query crosses scopes.
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { searchExpression } from './search-expression.ts'

export interface Fact {
  readonly id: number
  readonly text: string
  /** ms since 1970. */
  readonly storedAt: number
}

export type AddResult =
  | { readonly stored: true; readonly id: number }
  /** `duplicate`: the scope has it already. */
  | { readonly stored: false; readonly reason: 'empty' | 'too_long' | 'duplicate' | 'full' }

export interface FactStore {
  add(scope: string, text: string): AddResult
  /** The best match first. Any text is a valid query. */
  search(scope: string, query: string, limit: number): readonly Fact[]
  /** False if the scope has no such fact. */
  remove(scope: string, id: number): boolean
  close(): void
}

const maxFactChars = 2_000

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA busy_timeout = 2000;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    text TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    UNIQUE (scope, text)
  ) STRICT;
`

/** With the scope, so that a search does not walk the facts of all people. Version 0 had an index without it. */
const indexVersion = 1
const index = `
  DROP TRIGGER IF EXISTS facts_added;
  DROP TRIGGER IF EXISTS facts_removed;
  DROP TABLE IF EXISTS facts_text;
  CREATE VIRTUAL TABLE facts_index USING fts5 (
    scope, text, content = 'facts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
  );
  CREATE TRIGGER facts_added AFTER INSERT ON facts BEGIN
    INSERT INTO facts_index (rowid, scope, text) VALUES (new.id, new.scope, new.text);
  END;
  CREATE TRIGGER facts_removed AFTER DELETE ON facts BEGIN
    INSERT INTO facts_index (facts_index, rowid, scope, text) VALUES ('delete', old.id, old.scope, old.text);
  END;
  INSERT INTO facts_index (facts_index) VALUES ('rebuild');
  PRAGMA user_version = ${indexVersion};
`

function createIndex(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
    if (version < indexVersion) database.exec(index)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

/** Throws the error of SQLite or of the file system. */
export function createFactStore(path: string, maxFacts: () => number, now = Date.now): FactStore {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const database = new DatabaseSync(path)
  chmodSync(path, 0o600)
  database.exec(schema)
  createIndex(database)
  const insert = database.prepare('INSERT OR IGNORE INTO facts (scope, text, stored_at) VALUES (?, ?, ?)')
  const count = database.prepare('SELECT count(*) AS facts FROM facts WHERE scope = ?')
  const remove = database.prepare('DELETE FROM facts WHERE scope = ? AND id = ?')
  const find = database.prepare(`
    SELECT facts.id, facts.text, facts.stored_at FROM facts_index JOIN facts ON facts.id = facts_index.rowid
    WHERE facts_index MATCH ? AND facts.scope = ? ORDER BY bm25(facts_index, 0, 1), facts.id DESC LIMIT ?
  `)

  return {
    add(scope, text) {
      const fact = text.trim()
      if (fact === '') return { stored: false, reason: 'empty' }
      if (fact.length > maxFactChars) return { stored: false, reason: 'too_long' }
      if (Number(count.get(scope)?.['facts']) >= maxFacts()) return { stored: false, reason: 'full' }
      const { changes, lastInsertRowid } = insert.run(scope, fact, now())
      return changes === 0 ? { stored: false, reason: 'duplicate' } : { stored: true, id: Number(lastInsertRowid) }
    },
    search(scope, query, limit) {
      const expression = searchExpression(query)
      if (expression === '') return []
      // The words of the scope may occur in another one, too.
      const scopedExpression = `scope : "${scope.replaceAll('"', '""')}" AND text : (${expression})`
      return find.all(scopedExpression, scope, limit).map((row) => ({
        id: Number(row['id']),
        text: String(row['text']),
        storedAt: Number(row['stored_at']),
      }))
    },
    remove: (scope, id) => remove.run(scope, id).changes > 0,
    close: () => database.close(),
  }
}
