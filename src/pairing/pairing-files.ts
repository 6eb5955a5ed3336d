/**
 * The files of the pairing store, as Hermes writes them: `<platform>-pending.json`, `<platform>-approved.json` and
 * `_rate_limits.json`, each a JSON object, mode 0600. A damaged file is kept under another name and admits no one.
 */
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { isRecord, parseJson } from '../lib/json.ts'

export type Entries = Map<string, unknown>
export type FileKind = 'pending' | 'approved'

export interface PairingFiles {
  /** The names of platforms that have such a file, sorted. */
  platforms(kind: FileKind): readonly string[]
  read(name: string): Entries
  /** Replaces the file wherever it exists. Throws `pairing/files-unusable`. */
  write(name: string, entries: Entries): void
  /** Names of files that were damaged and kept, sorted. */
  damaged(): readonly string[]
}

export const limitsFile = '_rate_limits.json'
const maxBytes = 4 * 1024 * 1024
const fileName = /^(?<platform>[a-z0-9][a-z0-9_-]*)-(?<kind>pending|approved)\.json$/
const keptName = /^(?<name>.+\.json)\.damaged-\d+$/

export function fileOf(platform: string, kind: FileKind): string {
  return `${platform}-${kind}.json`
}

/** Whether a text can be the name of a platform, and so a part of a file name. */
export function isPlatformName(text: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text)
}

/**
 * All functions throw `pairing/files-unusable` for an error of the system.
 * @param onDamaged called after a damaged file was renamed; what it writes under the name is read next. Absent for a reader, which
 *   leaves a damaged file where it is
 */
export function createPairingFiles(
  home: Pick<HomeLayout, 'pairing' | 'formerPairing'>,
  onDamaged?: (files: PairingFiles, name: string, keptAs: string) => void,
): PairingFiles {
  // Hermes prefers the older directory where it exists.
  const directories = [home.formerPairing, home.pairing]
  let count = 0

  function namesIn(directory: string): string[] {
    try {
      return readdirSync(directory)
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return []
      throw unusable(directory, error)
    }
  }

  const names = () => [...new Set(directories.flatMap(namesIn))].sort()

  function readFrom(directory: string, name: string): ReadonlyMap<string, unknown> {
    const path = join(directory, name)
    let text: string | undefined
    try {
      text = readTextIfExists(path, maxBytes)
    } catch (error) {
      // It is no text file; an error of the system says nothing about its content.
      if (systemCode(error) !== undefined) throw unusable(path, error)
      return keepAside(directory, name)
    }
    if (text === undefined) return new Map()
    const stored = parseJson(text.replace(/^\uFEFF/, ''))
    return isRecord(stored) ? new Map(Object.entries(stored)) : keepAside(directory, name)
  }

  function keepAside(directory: string, name: string): ReadonlyMap<string, unknown> {
    if (onDamaged === undefined) return new Map()
    const taken = new Set(namesIn(directory))
    let number = 1
    while (taken.has(`${name}.damaged-${number}`)) number += 1
    const keptAs = join(directory, `${name}.damaged-${number}`)
    try {
      renameSync(join(directory, name), keptAs)
    } catch (error) {
      throw unusable(join(directory, name), error)
    }
    count += 1
    onDamaged(files, name, keptAs)
    return new Map()
  }

  const readAll = (name: string) =>
    new Map(directories.toReversed().flatMap((directory) => [...readFrom(directory, name)]))

  const files: PairingFiles = {
    platforms: (kind) =>
      names().flatMap((name) => {
        const { groups } = fileName.exec(name) ?? {}
        return groups?.['kind'] === kind && groups['platform'] !== undefined ? [groups['platform']] : []
      }),
    read(name) {
      const before = count
      const entries = readAll(name)
      return count === before ? entries : readAll(name)
    },
    write(name, entries) {
      const existing = directories.filter((directory) => existsSync(join(directory, name)))
      const fallback = existsSync(home.formerPairing) ? home.formerPairing : home.pairing
      for (const directory of existing.length > 0 ? existing : [fallback]) {
        try {
          ensureDirectory(directory)
          writeFileAtomic(join(directory, name), `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
        } catch (error) {
          throw unusable(join(directory, name), error)
        }
      }
    },
    damaged: () => names().filter((name) => keptName.test(name)),
  }
  return files
}

/** The platform whose list of approved people was damaged, by the name of the kept file. */
export function damagedPlatform(name: string): string | undefined {
  const { groups } = fileName.exec(keptName.exec(name)?.groups?.['name'] ?? '') ?? {}
  return groups?.['kind'] === 'approved' ? groups['platform'] : undefined
}

function unusable(path: string, cause: unknown): HermesError {
  return new HermesError('pairing/files-unusable', `${path}: ${messageOf(cause)}`, { cause })
}

/** What people are told of files that hold what was damaged, one line each. */
export function damageWarnings(names: readonly string[]): string[] {
  return names.map((name) => `pairing: ${name} holds what was damaged; check who has access, then delete it`)
}
