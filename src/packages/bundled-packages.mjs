/**
 * Which packages are packed into one file at installation, and where those files lie.
 */
import { existsSync } from 'node:fs'

/** The packages that cost time or memory when they are read file by file. (`marked` is one file already, and pages get it as it is.) */
export const bundledPackages = [
  'fastify',
  'kysely',
  'zod',
  'yaml',
  'pino',
  'commander',
  'unbash',
  'openai',
  '@anthropic-ai/sdk',
  'discord.js',
  '@slack/bolt',
]

export const bundleDirectory = new URL('../../node_modules/.hermes/', import.meta.url)

/**
 * The packed file of each package; empty when nothing was packed.
 * @returns {ReadonlyMap<string, string>} package name → file URL
 */
export function bundledPackageUrls() {
  if (!existsSync(new URL('complete', bundleDirectory))) return new Map()
  return new Map(bundledPackages.map((name) => [name, new URL(`${name.replace('/', '__')}.mjs`, bundleDirectory).href]))
}
