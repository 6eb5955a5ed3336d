/**
 * Lists the packages that are bundled into one file each at installation, and where the results are.
 */
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Packages that the gateway imports at runtime. Read file by file they cost time and memory, and an image contains only the
 * bundles. `marked`, `uplot`, `uqr` and `playwright-core` are left out: they are bundles already. Pages load the first three unchanged, and the other
 * reads files of its own folder.
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
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/server',
  '@agentclientprotocol/sdk',
  '@fastify/swagger',
  '@earendil-works/pi-tui',
  'discord.js',
  '@slack/bolt',
  'telegraf',
  'chokidar',
  'file-type',
  'ipaddr.js',
  'semver',
  '@mdream/js',
  'croner',
  'unpdf',
  'diff',
]

export const bundleDirectory = new URL('../../node_modules/.hermes/', import.meta.url)

/** The compile cache of the installation, filled when packages are installed. */
export const compileCacheDirectory = new URL('compile/', bundleDirectory)

/** Written last: a JSON object with the version of each bundled package, and the list `files` of all files. */
export const bundleMarkerName = 'complete'

const packageManifest = new URL('../../package.json', import.meta.url)

/** @param {string} name */
export function bundleFileName(name) {
  return name.replace('/', '__')
}

/**
 * The bundles whose version is the one that `package.json` requires. Other packages are loaded from `node_modules`, because
 * the bundles may be older than the sources, as after `git pull` or an installation without scripts. Empty if bundling
 * failed, or if a file is missing: bundles share files.
 * @param {URL} directory
 * @param {URL} manifest the `package.json` of the gateway
 * @returns {ReadonlyMap<string, string>} package name -> file URL
 */
export function bundledPackageUrls(directory = bundleDirectory, manifest = packageManifest) {
  const bundled = readJson(new URL(bundleMarkerName, directory))
  const required = readJson(manifest)?.dependencies
  if (bundled === undefined || required === undefined || !hasAllFiles(directory, bundled.files)) return new Map()
  return new Map(
    bundledPackages
      .filter((name) => bundled[name] !== undefined && bundled[name] === required[name])
      .map((name) => [name, new URL(`${bundleFileName(name)}.mjs`, directory).href]),
  )
}

/**
 * Earlier versions wrote no list.
 * @param {URL} directory
 * @param {unknown} files
 */
function hasAllFiles(directory, files) {
  if (!Array.isArray(files)) return true
  const found = new Set(readdirSync(directory))
  return files.every((file) => found.has(file))
}

/**
 * `undefined` if the file is absent or invalid. Earlier versions wrote an empty marker.
 * @param {URL} file
 */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) ?? undefined
  } catch {
    return undefined
  }
}
