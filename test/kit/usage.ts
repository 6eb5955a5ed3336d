/**
 * The help text of a script of the tests: the comment at its top, so that there is one description.
 */
import { readFileSync } from 'node:fs'

/** @param url `import.meta.url` of the script */
export function usageOf(url: string): string {
  const [, comment = ''] = /^\/\*\*\n([\s\S]*?)\n \*\/$/m.exec(readFileSync(new URL(url), 'utf8')) ?? []
  return `${comment.replace(/^ \* ?/gm, '')}\n`
}
