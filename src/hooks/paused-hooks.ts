/**
 * The hooks that a user has paused, stored in a file so that they stay paused across restarts and can be changed while the
 * daemon is not running.
 */

import { join } from 'node:path'
import { z } from 'zod'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { parseJson } from '../lib/json.ts'

const pausedFileSchema = z.object({ paused: z.array(z.string()) })

/** Discovery skips the file, because its name begins with a dot. */
function pausedFilePath(hooksFolder: string): string {
  return join(hooksFolder, '.state.json')
}

/** Empty if the file is absent or invalid. Throws the system's error. */
export function readPaused(hooksFolder: string): Set<string> {
  const text = readTextIfExists(pausedFilePath(hooksFolder), 1_048_576)
  if (text === undefined) return new Set()
  // An invalid file must not keep the gateway from starting.
  return new Set(pausedFileSchema.safeParse(parseJson(text)).data?.paused)
}

/** Throws the system's error. */
export function writePaused(hooksFolder: string, names: Iterable<string>): void {
  ensureDirectory(hooksFolder)
  writeFileAtomic(pausedFilePath(hooksFolder), `${JSON.stringify({ paused: [...names].sort() }, null, 2)}\n`)
}
