/**
 * `hermes profile export`: one compressed tar archive of a profile. Without `--with-secrets` it can be given to others: it has
 * neither secrets nor what belongs to the people of the profile.
 */
import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { createGzip } from 'node:zlib'
import { isSecretName } from '../../config/secrets.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { isRecord } from '../../lib/json.ts'
import { createRedactor } from '../../lib/redact.ts'
import { type TarEntry, tarArchive } from '../../lib/tar.ts'
import { editYamlValues } from '../../lib/yaml-edit.ts'
import { copyDatabase } from '../../store/sqlite/backup.ts'
import type { CliContext } from '../kit/context.ts'
import { readSettings } from '../kit/settings.ts'
import { readPairingList } from '../shared/access-report.ts'
import { findProfile, isTaken } from './profile-homes.ts'

export interface ProfileExportOptions {
  readonly withSecrets: boolean
}

/** Settings and extensions. */
const sharedNames = [
  ...['config.yaml', 'profile.json', 'SOUL.md', 'BOOT.md'],
  ...['hooks', 'plugins', 'platforms', 'skills', 'cron'],
]
/** What belongs to the people of the profile. The database is copied apart. */
const secretNames = [
  ...['.env', 'gateway.token', 'auth.json', 'shell-hooks-allowlist.json', 'plugin-state', 'media'],
  ...['memories', 'pairing', 'mcp-tokens'],
]
/** The same, inside of a shared folder. */
const secretFolders = new Set(['platforms/pairing', 'cron/output'])
const listKeys: ReadonlySet<string> = new Set(['allow_from', 'group_allow_from', 'allowed_users'])
/** Names that are no part of a profile, wherever they are. */
const skippedNames = new Set(['node_modules', '.git', '__pycache__'])

/** Throws `cli/not-found`, `cli/usage` for an existing file, `cli/failed` when it cannot be written. */
export async function profileExport(
  context: CliContext,
  name: string,
  file: string | undefined,
  { withSecrets }: ProfileExportOptions,
): Promise<void> {
  const home = findProfile(context.rootHome, name)
  const target = resolve(file ?? `${name}.tar.gz`)
  if (statSync(target, { throwIfNoEntry: false }) !== undefined)
    throw new HermesError('cli/usage', `${target} already exists.`, { hint: 'Name another file, or delete it first.' })
  const removed: string[] = []
  const config = withSecrets ? undefined : await configWithoutSecrets(context, home, removed)
  const skipped: string[] = []
  const included: string[] = []
  const unfinished = `${target}.${process.pid}.tmp`
  try {
    await writeArchive(unfinished, entriesOf({ home, name, withSecrets, config, skipped, included }))
    renameSync(unfinished, target)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw new HermesError('cli/failed', `${target}: ${messageOf(error)}`, { cause: error })
  }
  const { output, errors } = context
  output.write(`Wrote ${target}. Unpack it in the folder profiles of a root home: tar -xzf <file>\n`)
  output.write(`It contains ${included.join(', ')}.\n`)
  if (withSecrets) errors.write('hermes: the archive contains keys, tokens and conversations. Keep it private.\n')
  else output.write(`Left out of config.yaml: ${['comments', ...removed].join(', ')}.\n`)
  if (skipped.length > 0) output.write(`Left out, because they are no regular files: ${skipped.join(', ')}.\n`)
}

interface ExportedProfile {
  readonly home: HomeLayout
  readonly name: string
  readonly withSecrets: boolean
  /** The text of config.yaml; undefined: as it is. */
  readonly config: string | undefined
  /** Filled with the links and other entries that are no files. */
  readonly skipped: string[]
  /** Filled with the names at the top of the home that the archive contains. */
  readonly included: string[]
}

function* entriesOf(profile: ExportedProfile): Generator<TarEntry> {
  const { home, name, withSecrets, config, included } = profile
  yield directoryEntry(name, Date.now())
  for (const top of withSecrets ? [...sharedNames, ...secretNames] : sharedNames) {
    if (isTaken(join(home.root, top))) included.push(top)
    if (top === 'config.yaml' && config !== undefined) yield fileEntry(`${name}/${top}`, Buffer.from(config), 0o600)
    else yield* entriesBelow(profile, top)
  }
  if (!withSecrets) return
  const database = readDatabase(home)
  if (database === undefined) return
  included.push('state.db')
  yield fileEntry(`${name}/state.db`, database, 0o600)
}

function* entriesBelow(profile: ExportedProfile, relative: string): Generator<TarEntry> {
  const { home, name, withSecrets, skipped } = profile
  const path = join(home.root, relative)
  const entry = readEntry(path)
  if (entry === 'missing') return
  if (entry === 'other') {
    skipped.push(relative)
    return
  }
  if (entry.isFile) {
    yield { path: `${name}/${relative}`, content: readFileSync(path), mode: entry.mode, modifiedAt: entry.modifiedAt }
    return
  }
  yield directoryEntry(`${name}/${relative}`, entry.modifiedAt)
  for (const inner of readdirSync(path).sort()) {
    const below = `${relative}/${inner}`
    const isSecret = !withSecrets && (/^\.env\b/.test(inner) || secretFolders.has(below))
    if (!skippedNames.has(inner) && !isSecret) yield* entriesBelow(profile, below)
  }
}

function readEntry(path: string): 'missing' | 'other' | { isFile: boolean; mode: number; modifiedAt: number } {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return 'missing'
  if (!stats.isFile() && !stats.isDirectory()) return 'other'
  return { isFile: stats.isFile(), mode: stats.mode & 0o777, modifiedAt: stats.mtimeMs }
}

function directoryEntry(path: string, modifiedAt: number): TarEntry {
  return { path: `${path}/`, content: new Uint8Array(), mode: 0o700, modifiedAt }
}

function fileEntry(path: string, content: Uint8Array, mode: number): TarEntry {
  return { path, content, mode, modifiedAt: Date.now() }
}

/**
 * References to variables stay: they are no secrets. Values that contain one are removed, and named in `removed`; so are
 * people with an approval, who could be owners without it, and a command that would be incomplete.
 */
async function configWithoutSecrets(context: CliContext, home: HomeLayout, removed: string[]): Promise<string> {
  const { secrets } = await readSettings({ ...context, home })
  const redact = createRedactor({ secrets: secrets.all })
  const { approved } = readPairingList({ home })
  const isPaired = (path: readonly string[], value: unknown) =>
    path.some((key) => listKeys.has(key)) &&
    approved.some(
      ({ platform, userId }) =>
        (path.includes(platform) || path.includes('allowed_users')) &&
        String(value)
          .split(/[\s,]+/)
          .includes(userId),
    )
  const isSecret = (path: readonly string[], value: unknown) => {
    if (path.length === 2 && path[0] === 'quick_commands' && isRecord(value))
      return Object.values(value).some((value) => typeof value === 'string' && redact(value) !== value)
    if (value === '' || value === null || (typeof value === 'string' && /^\$\{\w+\}$/.test(value))) return false
    if (typeof value === 'object') return false
    return path.some(isSecretName) || isPaired(path, value) || redact(String(value)) !== String(value)
  }
  try {
    const edited = editYamlValues(readTextIfExists(home.configFile) ?? '', {
      remove: isSecret,
      removesComments: true,
    })
    removed.push(...edited.removed.map(({ path }) => path.join('.')))
    return edited.text
  } catch (error) {
    throw new HermesError('config/unreadable', `${home.configFile}: ${messageOf(error)}`, { cause: error })
  }
}

/** A copy, because the file of a running gateway changes while it is read. */
function readDatabase(home: HomeLayout): Uint8Array | undefined {
  if (statSync(home.databaseFile, { throwIfNoEntry: false }) === undefined) return undefined
  const copy = `${home.databaseFile}.export-${process.pid}`
  try {
    copyDatabase(home.databaseFile, copy)
    return readFileSync(copy)
  } finally {
    rmSync(copy, { force: true })
  }
}

async function writeArchive(path: string, entries: Iterable<TarEntry>): Promise<void> {
  const file = openSync(path, 'wx', 0o600)
  try {
    const gzip = createGzip()
    const written = (async () => {
      for await (const chunk of gzip) if (chunk instanceof Uint8Array) writeAll(file, chunk)
    })()
    for (const block of tarArchive(entries)) {
      if (!gzip.write(block)) await new Promise((resume) => gzip.once('drain', resume))
    }
    gzip.end()
    await written
  } finally {
    closeSync(file)
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}
