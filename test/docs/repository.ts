/**
 * Finds the root of the repository and lists its files.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** The entries of `.gitignore`, and the folder of git. */
const ignored = /^(?:node_modules|dist|\.git)$|\.log$/

/** Paths relative to the root, sorted, with `/`. */
export function filesOf(folder = '.'): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !ignored.test(name))
    .flatMap((entry) => {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? filesOf(path) : entry.isFile() ? [path] : []
    })
    .sort()
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
