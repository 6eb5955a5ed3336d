/**
 * Writes a backup of a home, which a gateway may use meanwhile, and reads it back.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { findSecrets } from '../../config/secrets.ts'
import { HermesError } from '../../lib/errors.ts'
import { ensureDirectory, readTextIfExists } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { parseJson } from '../../lib/json.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import type { TarEntry } from '../../lib/tar.ts'
import { openReader } from '../../store/sqlite/reader.ts'
import type { CliContext } from '../kit/context.ts'
import { readSettings } from '../kit/settings.ts'
import {
  type ArchivedHome,
  configWithoutSecrets,
  databaseEntry,
  entriesBelow,
  textEntry,
  writeArchive,
} from '../shared/home-archive.ts'
import {
  type BackupManifest,
  type BackupParts,
  databaseName,
  manifestFormat,
  manifestName,
  namesOf,
} from './manifest.ts'
import { readBackup } from './read-backup.ts'

export interface BackupOptions extends BackupParts {
  /** A file that does not exist, or a folder; `backups` of the home if left out. */
  readonly to?: string | undefined
}

export interface WrittenBackup {
  readonly file: string
  readonly bytes: number
  readonly manifest: BackupManifest
  /** Links and other entries that are no files. */
  readonly skipped: readonly string[]
}

/** Rejects `cli/usage`, `cli/failed`, `config/unreadable`, `store/…`; then there is no file. */
export async function writeBackup(context: CliContext, options: BackupOptions): Promise<WrittenBackup> {
  const { home } = context
  if (!existsSync(home.root)) throw new HermesError('cli/failed', `There is no home ${home.root} yet.`)
  const target = targetOf(context, options.to)
  const { secrets } = await readSettings(context)
  secrets.set('files', storedSecrets(home))
  const skipped: string[] = []
  const manifest = await writeArchive(target, entriesOf(context, options, { secrets, skipped }), readBackup)
  return { file: target, bytes: statSync(target).size, manifest, skipped }
}

function targetOf({ home, profile }: CliContext, to: string | undefined): string {
  const path = resolve(to ?? home.backups)
  if (to === undefined) ensureDirectory(path)
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-')
  const file = isFolder ? join(path, `hermes-${profile}-${time}.tar.gz`) : path
  if (!existsSync(file)) return file
  throw new HermesError('cli/usage', `${file} already exists.`, { hint: 'Name another file, or delete it first.' })
}

interface Progress {
  readonly secrets: SecretRegistry
  readonly skipped: string[]
}

function* entriesOf(context: CliContext, parts: BackupParts, { secrets, skipped }: Progress): Generator<TarEntry> {
  const { home } = context
  const files: BackupManifest['files'][number][] = []
  const withoutSecrets: string[] = []
  const archived: ArchivedHome = {
    root: home.root,
    prefix: '',
    leavesOut: (path) => !parts.secrets && /^\.env\b/.test(basename(path)),
    skipped,
    rewrite: parts.secrets ? undefined : (path, content) => redacted(path, content, secrets, withoutSecrets),
  }
  const names = namesOf(parts)
  for (const name of names) {
    if (name === databaseName) yield* hashedEntries(databaseEntry(home, name, assertIntact), files)
    else if (name === basename(home.configFile) && !parts.secrets && existsSync(home.configFile)) {
      const { text, removed } = readConfig(home, secrets)
      withoutSecrets.push(...removed)
      yield* hashedEntries([textEntry(name, text)], files)
    } else yield* hashedEntries(entriesBelow(archived, name), files)
  }
  const manifest: BackupManifest = {
    format: manifestFormat,
    version: context.version,
    createdAt: new Date().toISOString(),
    profile: context.profile,
    media: parts.media,
    secrets: parts.secrets,
    // A link at the top of the home stays as it is at a restore, too.
    names: names.filter((name) => !skipped.includes(name)),
    withoutSecrets,
    files,
  }
  yield textEntry(manifestName, JSON.stringify(manifest))
}

/** What was written of each file is what its hash is of. */
function* hashedEntries(entries: Iterable<TarEntry>, files: BackupManifest['files']): Generator<TarEntry> {
  for (const entry of entries) {
    const { path, size } = entry
    const hash = createHash('sha256')
    yield { ...entry, content: hashedContent(entry.content, hash) }
    if (!path.endsWith('/')) files.push({ path, size, sha256: hash.digest('hex') })
  }
}

function* hashedContent(content: Iterable<Uint8Array>, hash: ReturnType<typeof createHash>): Generator<Uint8Array> {
  for (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

/** Comments go only if one of them has a secret. */
function readConfig(home: HomeLayout, { redact }: SecretRegistry) {
  const edited = configWithoutSecrets(home, { redact, removesComments: false })
  return redact(edited.text) === edited.text ? edited : configWithoutSecrets(home, { redact, removesComments: true })
}

function redacted(path: string, content: Buffer, secrets: SecretRegistry, changed: string[]): Buffer {
  const text = content.toString('utf8')
  const redactedText = secrets.redactKnown(text)
  if (redactedText === text) return content
  changed.push(path)
  return Buffer.from(redactedText)
}

/** Keys and tokens that are in files of the home only. */
function storedSecrets({ authFile, mcpTokens, tokenFile }: HomeLayout): string[] {
  const logins = existsSync(mcpTokens) ? readdirSync(mcpTokens).map((name) => join(mcpTokens, name)) : []
  const stored = [authFile, ...logins].filter((file) => file.endsWith('.json'))
  return [
    readTextIfExists(tokenFile)?.trim() ?? '',
    ...stored.flatMap((file) => findSecrets(parseJson(readTextIfExists(file) ?? ''))),
  ]
}

function assertIntact(copy: string): void {
  const reader = openReader(copy)
  try {
    const [damage] = reader.checkIntegrity()
    if (damage !== undefined) throw new HermesError('store/corrupt', damage)
  } finally {
    reader.close()
  }
}
