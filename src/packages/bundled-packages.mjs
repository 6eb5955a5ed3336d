/**
 * Lists the packages that are bundled into one file each at installation, and where the results are.
 */
import { existsSync } from 'node:fs'

/**
 * Packages that the gateway imports at runtime. Read file by file they cost time and memory, and an image contains only the
 * bundles. `marked` is left out: it is one file already, and pages load it unchanged.
 */
export const bundledPackages = [
  'fastify',
  'kysely',
  'zod',
  'yaml',
  'pino',
  'pino-pretty',
  'commander',
  'unbash',
  'eventsource-parser',
  'openai',
  '@anthropic-ai/sdk',
  'discord.js',
  '@slack/bolt',
  'telegraf',
  'chokidar',
  'file-type',
  'ipaddr.js',
  'semver',
]

export const bundleDirectory = new URL('../../node_modules/.hermes/', import.meta.url)

/** The compile cache of the installation, filled when packages are installed. */
export const compileCacheDirectory = new URL('compile/', bundleDirectory)

/**
 * The bundle of each package; empty if bundling failed.
 * @returns {ReadonlyMap<string, string>} package name → file URL
 */
export function bundledPackageUrls() {
  if (!existsSync(new URL('complete', bundleDirectory))) return new Map()
  return new Map(bundledPackages.map((name) => [name, new URL(`${name.replace('/', '__')}.mjs`, bundleDirectory).href]))
}
