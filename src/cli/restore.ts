/**
 * `hermes restore`: replaces the content of a home by that of a backup, after every file of it was checked.
 */
import { closeSync, existsSync, fchmodSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { HermesError, isHermesError } from '../lib/errors.ts'
import { ensureDirectory, syncPath } from '../lib/files.ts'
import { prepareHome } from '../lib/home.ts'
import { openReader } from '../store/sqlite/reader.ts'
import { applyRestore, collectRestore, undoRestore } from '../store/sqlite/restore.ts'
import { type BackupManifest, databaseName, namesOf, summaryOf } from './backup/manifest.ts'
import { type BackupFile, damaged, readBackup } from './backup/read-backup.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { lockHomeForCommand } from './kit/home-lock.ts'
import { confirmChange } from './kit/questions.ts'

export interface RestoreOptions {
  /** Changes nothing. */
  readonly check: boolean
  readonly yes: boolean
  readonly json: boolean
}

/** The write-ahead files belong to the database that is replaced. */
const databaseCompanions = [`${databaseName}-wal`, `${databaseName}-shm`]

/** Rejects `backup/…`, `home/locked` while a process uses the home, `home/unusable`, `cli/usage` without a confirmation. */
export async function restore(context: CliContext, name: string, { check, yes, json }: RestoreOptions): Promise<void> {
  const { home, output, environment } = context
  const file = resolve(name)
  const display = createDisplay(output, environment)
  if (check) {
    const manifest = await readBackup(file)
    if (json) display.json(summaryOf(manifest))
    else display.line(`${describe(manifest)}. It is complete.`)
    return
  }
  prepareHome(home)
  const lock = lockHomeForCommand(home)
  try {
    const manifest = await collect(file, collectRestore(home))
    if (!yes && !(await confirmChange(context, `${describe(manifest)}. Replace the content of ${home.root} by it?`))) {
      undoRestore(home)
      throw new HermesError('cli/usage', 'Nothing was restored.', { hint: 'Answer with y, or use --yes.' })
    }
    const known = new Set(namesOf({ media: true, secrets: true }))
    applyRestore(home, [...manifest.names.filter((each) => known.has(each)), ...databaseCompanions])
    if (json) return display.json(summaryOf(manifest))
    display.line(`Restored ${home.root}. ${describe(manifest)}.`)
    if (existsSync(home.beforeRestore)) display.line(`What was there before is in ${home.beforeRestore}.`)
    if (manifest.withoutSecrets.length > 0)
      display.line(`The backup is without secrets; set again: ${manifest.withoutSecrets.join(', ')}.`)
    display.line('`hermes doctor` checks the result.')
  } finally {
    lock.release()
  }
}

function describe({ createdAt, version, profile, files }: BackupManifest): string {
  return `A backup of the profile ${profile} by version ${version}, ${createdAt}, with ${files.length} files`
}

/** Writes the files into a folder, durably. Removes them again when one is not as it should be. */
async function collect(file: string, folder: string): Promise<BackupManifest> {
  const folders = new Set<string>([folder])
  try {
    const manifest = await readBackup(file, async (entry) => {
      const path = join(folder, entry.path)
      const inFolder = entry.isDirectory ? path : dirname(path)
      ensureDirectory(inFolder)
      folders.add(inFolder)
      if (!entry.isDirectory) await writeFile(path, entry)
    })
    for (const each of folders) syncPath(each)
    assertUsableDatabase(file, join(folder, databaseName))
    return manifest
  } catch (error) {
    undoRestore({ restore: dirname(folder) })
    throw error
  }
}

async function writeFile(path: string, { mode, content }: BackupFile): Promise<void> {
  const file = openSync(path, 'wx', 0o600)
  try {
    for await (const chunk of content) for (let done = 0; done < chunk.length; ) done += writeSync(file, chunk, done)
    // What other users could read in the old home, they cannot read in the new one.
    fchmodSync(file, mode & 0o700)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function assertUsableDatabase(file: string, database: string): void {
  if (!existsSync(database)) return
  try {
    const reader = openReader(database)
    try {
      const [damage] = reader.checkIntegrity()
      if (damage !== undefined) throw damaged(file, `its database is damaged: ${damage}`)
    } finally {
      reader.close()
    }
  } catch (error) {
    if (!isHermesError(error, 'store/newer-schema')) throw error
    throw new HermesError('backup/newer', `${error.detail} (${file})`, { cause: error })
  }
}
