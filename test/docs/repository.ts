/**
 * The repository as a reader finds it: its root, and the files that belong to it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** What `.gitignore` leaves out, and git's own folder. */
const foreign = /^(?:node_modules|dist|\.git)$|\.log$/

/** Paths from the root, sorted, with `/`. */
export function filesOf(folder = '.'): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !foreign.test(name))
    .flatMap((entry) => {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? filesOf(path) : entry.isFile() ? [path] : []
    })
    .sort()
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
