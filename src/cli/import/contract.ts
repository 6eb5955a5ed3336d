/**
 * What an import finds in another home, and what becomes of it. A reader of a kind of home makes the findings; the writers compare
 * them with this home and take over what is new.
 */
import type { StoredEntry } from '../../agent/models/credentials/auth-file.ts'
import type { ImportedSession } from '../../sessions/imported-sessions.ts'

export type ImportArea =
  | 'settings'
  | 'variables'
  | 'keys'
  | 'people'
  | 'persona'
  | 'memory'
  | 'skills'
  | 'hooks'
  | 'plugins'
  | 'jobs'
  | 'conversations'
  | 'files'

/**
 * `taken`: as it was. `changed`: in another form. `same`: here already. `conflict`: something else is here, and stays. `left`: not
 * imported. `failed`: it could not be read or written.
 */
export type ImportResult = 'taken' | 'changed' | 'same' | 'conflict' | 'left' | 'failed'

/** One line of the report. It contains no secret. */
export interface ImportEntry {
  readonly area: ImportArea
  /** A key, a name or a path within the other home. */
  readonly name: string
  readonly result: ImportResult
  /** '' where nothing is to be said. */
  readonly reason: string
}

/** A value for config.yaml, in the main spelling of its key. */
export interface FoundSetting {
  readonly kind: 'config'
  readonly path: readonly [string, ...string[]]
  readonly value: unknown
  /** How it differs from what was found; '' for a value as it was. */
  readonly change: string
}

/** A variable for `.env`. */
export interface FoundVariable {
  readonly kind: 'variable'
  readonly name: string
  readonly value: string
  readonly change: string
}

export interface FoundFile {
  readonly area: ImportArea
  /** The name as the report shows it. */
  readonly name: string
  readonly content: Uint8Array | string
  /** Below this home. */
  readonly target: string
  readonly change: string
}

/** A folder that is taken as a whole, or not at all. */
export interface FoundFolder {
  readonly area: ImportArea
  readonly name: string
  /** Relative paths with `/`. */
  readonly files: ReadonlyMap<string, FolderFile>
  /** Below this home. */
  readonly target: string
  readonly change: string
}

export interface FolderFile {
  readonly content: Uint8Array
  readonly isExecutable: boolean
}

/** A person whom an owner of the other home has approved. */
export interface FoundPerson {
  readonly platform: string
  readonly userId: string
  /** In the form of the pairing files. */
  readonly entry: Readonly<Record<string, unknown>>
}

export interface FoundKey {
  /** A provider of the catalogue or of `providers`. */
  readonly provider: string
  readonly entry: StoredEntry
}

/** In the form of `cron/jobs.json` of Hermes. */
export interface FoundJob {
  readonly id: string
  readonly job: Readonly<Record<string, unknown>>
  readonly change: string
}

export interface Findings {
  readonly settings: readonly (FoundSetting | FoundVariable)[]
  readonly files: readonly FoundFile[]
  readonly folders: readonly FoundFolder[]
  readonly people: readonly FoundPerson[]
  readonly keys: readonly FoundKey[]
  readonly jobs: readonly FoundJob[]
  /** Read one at a time, because there may be thousands. */
  readonly conversations?: ConversationReader
  /** What is not imported, and what could not be read. */
  readonly entries: readonly ImportEntry[]
}

export interface ConversationReader {
  readonly count: number
  /** A conversation, or why one cannot be read. Sessions with a known id are only counted. */
  all(isKnown: (id: string) => boolean): Iterable<ImportedSession | ImportEntry>
  close(): void
}
