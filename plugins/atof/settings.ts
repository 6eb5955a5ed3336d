/**
 * Parses the settings of the plugin.
 */
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { asNumber, asString, type Fields } from '#sdk'

/** Throws an `Error` that names the invalid setting. */
export function parseAtofSettings(settings: Fields, home: string) {
  const path = resolve(home, asString(settings['path']))
  const inside = relative(home, path)
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw new Error(`settings.path: expected a file inside ${home}, found "${asString(settings['path'])}"`)
  const keepFiles = asNumber(settings['keep_files'])
  if (!Number.isInteger(keepFiles) || keepFiles < 0 || keepFiles > 100)
    throw new Error('settings.keep_files: expected a number from 0 to 100')
  return {
    /** Absolute path inside the home directory. */
    path,
    maxBytes: parseMegabytes(settings, 'max_mb'),
    keepFiles,
    maxQueueBytes: parseMegabytes(settings, 'max_queue_mb'),
    includeContent: settings['include_content'] !== false,
  }
}

function parseMegabytes(settings: Fields, key: string): number {
  const value = asNumber(settings[key])
  if (value <= 0) throw new Error(`settings.${key}: expected a number above 0`)
  return value * 1_048_576
}
