/**
 * Where in the cache the text of a TypeScript file without its types is kept.
 */
import { join } from 'node:path'

/** Named after the content, so that a file that changed is another one. Node's version counts: it does the work. */
export function cachePathFor(folder, text) {
  const { hash } = process.getBuiltinModule('node:crypto')
  return join(folder, `${hash('sha256', `${process.version}\0${text}`)}.mjs`)
}
