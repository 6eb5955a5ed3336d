/**
 * Checks the files of hooks and plugins. They run with all rights of the gateway, so other users must not be able to write
 * them, and no link may lead to code outside the directory.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { systemCode } from './errors.ts'

export type FileSafetyResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** Source files in the languages of hooks and plugins. */
const sourcePattern = /\.(?:[mc]?[jt]s|py)$/
/** Other files that Node or Python can import. */
const importablePattern = /\.(?:json|node|wasm|pyc|so)$/
/** Their content is installed by a package manager and may be thousands of files. */
const packageDirectoryPattern = /^(?:node_modules|venv|site-packages)$/
/** Files that can be imported and directories, of one hook or plugin. */
const maxImportableFiles = 2_000

/** A manifest is one or two pages. Parsing a much larger file would take seconds. */
const maxManifestBytes = 65_536

const maxCodeBytes = 5 * 1024 * 1024

/** The real path of a directory of hooks or plugins, which may be a link. Throws the system's error. */
export function resolveRoot(path: string): string {
  return realpathSync.native(path)
}

/** The folders of extensions, sorted, so that the result does not depend on the file system. Includes symbolic links. */
export function extensionFolders(entries: readonly Dirent[]): string[] {
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('.') && !name.startsWith('__'))
    .sort()
}

/**
 * The code of an extension: the only file of a folder whose name `isEntry` accepts. Throws the system's error.
 * @param expected names the files that would be accepted
 */
export function findOnlyFile(
  folder: string,
  isEntry: (name: string) => boolean,
  [what, expected]: readonly [what: string, expected: string],
): { readonly file: string; readonly name: string } | { readonly reason: string } {
  const names = readdirSync(folder).filter(isEntry).sort()
  const [name, second] = names
  if (name === undefined) return { reason: `${folder}: expected a file ${expected}, found none` }
  if (second !== undefined) return { reason: `${folder}: expected one ${what}, found ${names.join(' and ')}` }
  const file = join(folder, name)
  const stats = statSync(file)
  if (!stats.isFile()) return { reason: `${file}: expected a file` }
  if (stats.size > maxCodeBytes)
    return { reason: `${file}: expected at most ${maxCodeBytes} bytes, found ${stats.size}` }
  return { file, name }
}

/**
 * Returns the text of a manifest, or `undefined` if it does not exist. Throws the system's error.
 * @param root the result of `resolveRoot`
 */
export function readManifest(
  file: string,
  folder: string,
  root: string,
): { readonly text: string } | { readonly reason: string } | undefined {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  if (!stats.isFile()) return { reason: `${file}: expected a file` }
  if (stats.size > maxManifestBytes)
    return { reason: `${file}: expected at most ${maxManifestBytes} bytes, found ${stats.size}` }
  const inside = checkInsideRoot([folder, file], root)
  return inside.ok ? readUtf8(file) : { reason: inside.reason }
}

function readUtf8(file: string): { readonly text: string } | { readonly reason: string } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)) }
  } catch (error) {
    if (systemCode(error) !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    return { reason: `${file}: expected UTF-8 text` }
  }
}

/** Throws the system's error. */
export function checkFileSafety(paths: readonly string[], root: string): FileSafetyResult {
  const inside = checkInsideRoot(paths, root)
  if (!inside.ok) return inside
  for (const path of [root, ...paths]) if (isWritableByAll(path)) return writableByAll(path)
  return { ok: true }
}

export function isSourceFile(path: string): boolean {
  return sourcePattern.test(path)
}

/**
 * Checks the files in the directory of a hook or plugin that its code could import, and their directories. It checks
 * only the directory itself if it holds installed packages or lies behind a link. Throws the system's error.
 */
export function checkImportableFiles(directory: string): FileSafetyResult {
  const pending = [directory]
  let checked = 0
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const entry of readdirSync(current, { withFileTypes: true })) {
      if (!isImportable(entry)) continue
      const path = join(current, entry.name)
      checked += 1
      if (checked > maxImportableFiles)
        return {
          ok: false,
          reason: `${directory}: more than ${maxImportableFiles} files that can be imported; move packages to node_modules and data elsewhere`,
        }
      if (isWritableByAll(path)) return writableByAll(path)
      if (entry.isDirectory() && !packageDirectoryPattern.test(entry.name)) pending.push(path)
    }
  }
  return { ok: true }
}

function isImportable(entry: Dirent): boolean {
  if (entry.name.startsWith('.')) return false
  // A link may lead to a directory.
  return entry.isDirectory() || entry.isSymbolicLink() || isSourceFile(entry.name) || importablePattern.test(entry.name)
}

/** False for a missing file. Windows has no such permission bits. */
function isWritableByAll(path: string): boolean {
  if (process.platform === 'win32') return false
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats !== undefined && (stats.mode & 0o002) !== 0
}

function writableByAll(path: string): FileSafetyResult {
  return { ok: false, reason: `${path}: every user of this machine can write it; run: chmod o-w ${path}` }
}

/** Only a link can lead outside the root. */
function checkInsideRoot(paths: readonly string[], root: string): FileSafetyResult {
  for (const path of paths) {
    if (!lstatSync(path).isSymbolicLink()) continue
    const real = realpathSync.native(path)
    if (real.startsWith(`${root}${sep}`)) continue
    return { ok: false, reason: `${path}: it is a link to ${real}, outside ${root}; copy the file instead` }
  }
  return { ok: true }
}
