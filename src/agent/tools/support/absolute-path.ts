/**
 * Paths as models write them.
 */
import { isAbsolute, join, resolve } from 'node:path'

/** Relative to the folder of the environment; `~` is the home of the user. */
export function absolutePath(path: string, cwd: string, userHome: string): string {
  if (path === '~') return userHome
  if (path.startsWith('~/')) return join(userHome, path.slice(2))
  return isAbsolute(path) ? resolve(path) : resolve(cwd, path)
}
