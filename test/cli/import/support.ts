/**
 * Writes homes of other programs into a temporary directory, and runs imports in this process.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { ImportEntry, ImportResult } from '../../../src/cli/import/contract.ts'
import { valueAt } from '../../../src/config/tree.ts'
import { parseYaml } from '../../../src/lib/yaml.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { runInProcess } from '../support.ts'

/** Content by relative path. */
export type Files = Readonly<Record<string, string | Uint8Array>>

export interface TestHomes {
  /** The home of the other program. */
  readonly source: string
  /** The home of the gateway. */
  readonly target: string
}

export function homesWith(t: TestContext, files: Files): TestHomes {
  const root = tempHome(t)
  const source = join(root, 'other')
  const target = join(root, 'own')
  mkdirSync(source, { mode: 0o700 })
  mkdirSync(target, { mode: 0o700 })
  writeFiles(source, files)
  return { source, target }
}

export function writeFiles(root: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
}

export interface ImportOutput {
  readonly code: number | null
  readonly text: string
  readonly entries: readonly ImportEntry[]
  readonly counts: Readonly<Record<ImportResult, number>>
}

export async function runImport(
  { source, target }: TestHomes,
  kind: 'hermes' | 'openclaw',
  ...words: readonly string[]
): Promise<ImportOutput> {
  const { code, stdout, stderr } = await runInProcess(target, ['import', kind, source, '--json', ...words])
  if (stdout === '') throw new Error(stderr)
  const report: Omit<ImportOutput, 'code' | 'text'> = JSON.parse(stdout)
  return { ...report, code, text: stdout }
}

export function namesOf({ entries }: ImportOutput, ...results: readonly ImportResult[]): string[] {
  return entries.filter(({ result }) => results.includes(result)).map(({ name }) => name)
}

/** What `hermes config check` finds, without notes about keys that have no effect. */
export async function problemsOf(target: string): Promise<readonly string[]> {
  const { stdout } = await runInProcess(target, ['config', 'check', '--json'])
  const { problems, warnings }: { problems: readonly { text?: string }[]; warnings: readonly unknown[] } =
    JSON.parse(stdout)
  return [...problems, ...warnings].map((one) => JSON.stringify(one))
}

/** Names, content, modes and times of all files, to see that nothing has changed. */
export function snapshot(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => {
      const stats = lstatSync(join(root, path))
      const content = stats.isFile() && (stats.mode & 0o400) !== 0 ? readFileSync(join(root, path), 'base64') : ''
      return `${path} ${stats.mode} ${stats.mtimeMs} ${content}`
    })
}

export function contentOf(target: string, path: string): string {
  return readFileSync(join(target, path), 'utf8')
}

/** A value of config.yaml. The name of a provider may contain dots. */
export function readSetting(target: string, key: string): unknown {
  if (!existsSync(join(target, 'config.yaml'))) return undefined
  const settings = parseYaml(contentOf(target, 'config.yaml'), '').value
  const [first = '', ...rest] = key.split('.')
  return valueAt(settings, [first, ...rest]) ?? valueAt(settings, [first, rest.join('.')])
}

export function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

/** Without rights, as far as the user of the test is not root. */
export function forbid(path: string): void {
  chmodSync(path, 0)
}

export interface StoredSession {
  readonly id: string
  readonly source: string
  readonly columns?: Readonly<Record<string, string | number | null>>
  readonly messages: readonly Readonly<Record<string, string | number | null>>[]
}

const schemas = {
  /** The first versions. */
  old: {
    sessions: 'user_id text, model text, parent_session_id text, ended_at real, end_reason text, title text',
    messages: 'tool_call_id text, tool_calls text, tool_name text, token_count integer, finish_reason text',
  },
  new: {
    sessions:
      'user_id text, session_key text, chat_id text, chat_type text, thread_id text, origin_json text, model text, model_config text, parent_session_id text, ended_at real, end_reason text, title text, input_tokens integer default 0, output_tokens integer default 0, archived integer default 0',
    messages:
      'tool_call_id text, tool_calls text, tool_name text, token_count integer, finish_reason text, reasoning text, active integer not null default 1, compacted integer not null default 0, _compressed_summary integer not null default 0, display_kind text',
  },
} as const

/** A database of Hermes in write-ahead mode. The caller closes it; what is not checkpointed stays beside the file. */
export function writeStateDatabase(
  path: string,
  version: keyof typeof schemas,
  sessions: readonly StoredSession[],
): DatabaseSync {
  const db = new DatabaseSync(path)
  db.exec('pragma journal_mode = wal; create table schema_version (version integer not null)')
  db.exec(
    `create table sessions (id text primary key, source text not null, started_at real not null, ${schemas[version].sessions})`,
  )
  db.exec(
    `create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content text, timestamp real not null, ${schemas[version].messages})`,
  )
  const insert = (table: string, values: Readonly<Record<string, string | number | null>>) => {
    const names = Object.keys(values)
    const marks = names.map(() => '?').join(', ')
    db.prepare(`insert into ${table} (${names.join(', ')}) values (${marks})`).run(...Object.values(values))
  }
  for (const { id, source, columns = {}, messages } of sessions) {
    insert('sessions', { id, source, started_at: 1_760_000_000, ...columns })
    for (const [index, message] of messages.entries())
      insert('messages', { session_id: id, timestamp: 1_760_000_000 + index, ...message })
  }
  return db
}
