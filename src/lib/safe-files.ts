/**
 * Checks the files of hooks and plugins. They run with all rights of the gateway, so other users must not be able to write
 * them, and no link may lead to code outside the directory.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import { systemCode } from './errors.ts'

export type FileSafetyResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** A manifest is one or two pages. Parsing a much larger file would take seconds. */
const maxManifestBytes = 65_536

/** The real path of a directory of hooks or plugins, which may be a link. Throws the system's error. */
export function resolveRoot(path: string): string {
  return realpathSync.native(path)
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
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if (!found.isFile()) return { reason: `${file}: expected a file` }
  if (found.size > maxManifestBytes)
    return { reason: `${file}: expected at most ${maxManifestBytes} bytes, found ${found.size}` }
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
  for (const path of [root, ...paths]) {
    // Windows has no such permission bits.
    const isWritableByAll = process.platform !== 'win32' && (statSync(path).mode & 0o002) !== 0
    if (isWritableByAll)
      return { ok: false, reason: `${path}: every user of this machine can write it; run: chmod o-w ${path}` }
  }
  return { ok: true }
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
