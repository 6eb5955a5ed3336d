/**
 * Finds a program in a list of directories.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** `searchPath` has the form of PATH; relative directories are left out. Undefined when no directory has the program. */
export function findProgram(name: string, searchPath: string): string | undefined {
  return searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Missing or not executable: the next directory may have it.
    return false
  }
}
