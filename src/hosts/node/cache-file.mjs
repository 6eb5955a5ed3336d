/**
 * The path of a stripped TypeScript file in the cache.
 */
import { join } from 'node:path'

/** The name is a hash of the content and of the version of Node, which strips the types. */
export function cachePathFor(folder, text) {
  const { hash } = process.getBuiltinModule('node:crypto')
  return join(folder, `${hash('sha256', `${process.version}\0${text}`)}.mjs`)
}
