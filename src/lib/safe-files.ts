/**
 * Whether the files of a hook or a plugin are its owner's alone: they run with all rights of the gateway, so nobody else
 * may be able to write one, and no link may lead to code elsewhere.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import { systemCode } from './errors.ts'

export type FileSafetyResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** A page or two; what is longer is no manifest, and reading it would take seconds. */
const maxManifestBytes = 65_536

/** The real place of a folder of hooks or plugins, which may itself be linked. Throws the system's error. */
export function resolveRoot(path: string): string {
  return realpathSync.native(path)
}

/**
 * The text of a manifest; undefined when there is none. Throws the system's error.
 * @param root as `rootOf` gives it
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
    // Windows has no such rights; its numbers mean nothing here.
    const open = process.platform !== 'win32' && (statSync(path).mode & 0o002) !== 0
    if (open) return { ok: false, reason: `${path}: everybody on this machine can write here; run: chmod o-w ${path}` }
  }
  return { ok: true }
}

/** What lies in the folder and is no link cannot lead anywhere else. */
function checkInsideRoot(paths: readonly string[], root: string): FileSafetyResult {
  for (const path of paths) {
    if (!lstatSync(path).isSymbolicLink()) continue
    const real = realpathSync.native(path)
    if (real.startsWith(`${root}${sep}`)) continue
    return { ok: false, reason: `${path}: it is linked to ${real}, outside of ${root}; copy it instead` }
  }
  return { ok: true }
}
