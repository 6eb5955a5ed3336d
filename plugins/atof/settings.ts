/**
 * Which file, and how much of it, read from the settings.
 */
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { asNumber, asString, type Fields } from '#sdk'

export interface AtofSettings {
  /** Absolute, within the home. */
  readonly file: string
  readonly maxBytes: number
  readonly keepFiles: number
  readonly maxQueueBytes: number
  readonly includeContent: boolean
}

/** Throws an `Error` that names the setting which cannot be used. */
export function parseAtofSettings(given: Fields, home: string): AtofSettings {
  const file = resolve(home, asString(given['path']))
  const within = relative(home, file)
  if (within === '' || within === '..' || within.startsWith(`..${sep}`) || isAbsolute(within))
    throw new Error(`settings.path: expected a file within ${home}, found "${asString(given['path'])}"`)
  const keepFiles = asNumber(given['keep_files'])
  if (!Number.isInteger(keepFiles) || keepFiles < 0 || keepFiles > 100)
    throw new Error('settings.keep_files: expected a number from 0 to 100')
  return {
    file,
    maxBytes: parseMegabytes(given, 'max_mb'),
    keepFiles,
    maxQueueBytes: parseMegabytes(given, 'max_queue_mb'),
    includeContent: given['include_content'] !== false,
  }
}

function parseMegabytes(given: Fields, key: string): number {
  const value = asNumber(given[key])
  if (value <= 0) throw new Error(`settings.${key}: expected a number above 0`)
  return value * 1_048_576
}
