/**
 * Which hooks a person has paused: kept in a file, so that it outlives a restart and can be changed while no daemon runs.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'

const pausedFileSchema = z.object({ paused: z.array(z.string()) })

/** In the folder of the user's hooks; its name begins with a dot, so it is no hook. */
function pausedFilePath(hooksFolder: string): string {
  return join(hooksFolder, '.state.json')
}

/** Nothing is paused where the file is absent or no such file. Throws the system's error. */
export function readPaused(hooksFolder: string): Set<string> {
  const text = readTextIfExists(pausedFilePath(hooksFolder), 1_048_576)
  if (text === undefined) return new Set()
  try {
    return new Set(pausedFileSchema.parse(JSON.parse(text)).paused)
  } catch {
    // Somebody else's file, or half a one: better a hook that runs than a gateway that does not.
    return new Set()
  }
}

/** Throws the system's error. */
export function writePaused(hooksFolder: string, names: Iterable<string>): void {
  ensureDirectory(hooksFolder)
  writeFileAtomic(pausedFilePath(hooksFolder), `${JSON.stringify({ paused: [...names].sort() }, null, 2)}\n`)
}
