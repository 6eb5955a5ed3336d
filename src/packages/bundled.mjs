/**
 * Which packages are packed into one file at installation, and where those files lie.
 */
import { existsSync } from 'node:fs'

/** The packages that cost time or memory when they are read file by file. (`marked` is one file already, and pages get it as it is.) */
export const bundled = [
  'fastify',
  'kysely',
  'zod',
  'yaml',
  'pino',
  'commander',
  'unbash',
  'openai',
  '@anthropic-ai/sdk',
  '@discordjs/rest',
  '@discordjs/ws',
  '@slack/bolt',
]

export const bundleFolder = new URL('../../node_modules/.hermes/', import.meta.url)

/**
 * The packed file of each package; empty when nothing was packed.
 * @returns {ReadonlyMap<string, string>} package name → file URL
 */
export function packedPackages() {
  if (!existsSync(new URL('complete', bundleFolder))) return new Map()
  return new Map(bundled.map((name) => [name, new URL(`${name.replace('/', '__')}.mjs`, bundleFolder).href]))
}
