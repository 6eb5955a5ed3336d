/**
 * `node strip-types.mjs <cache directory> <file>`: prints a TypeScript file without its types and stores the result
 * in the cache. It stores the files that it imports by relative paths too, so that one process handles a whole
 * module.
 *
 * An error in the file itself is printed to stderr as `<file>:<line>: …` with exit code 1. Errors in its imports are
 * ignored.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { cachePathFor } from './cache-file.mjs'

/** Limit of files in the cache. The oldest ones are removed. */
const maxCachedFiles = 500

const [cacheFolder, entry] = process.argv.slice(2)
const processedFiles = new Set([entry])

try {
  process.stdout.write(stripTypes(entry))
} catch (error) {
  process.stderr.write(formatError(entry, error))
  process.exitCode = 1
}
// Iterating a set includes the values that are added meanwhile.
for (const file of processedFiles) {
  if (file === entry || process.exitCode === 1) continue
  try {
    stripTypes(file)
  } catch {
    // Loading that file strips it again and reports the error.
  }
}
pruneCache()

function stripTypes(file) {
  const text = readFileSync(file, 'utf8')
  const plain = stripTypeScriptTypes(text)
  writeCache(cachePathFor(cacheFolder, text), plain)
  for (const [, specifier] of plain.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+\.m?ts)['"]/g)) {
    processedFiles.add(resolve(dirname(file), specifier))
  }
  return plain
}

/** Atomic, because several hosts may read and write concurrently. The cache is optional, so write errors are ignored. */
function writeCache(path, text) {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    ensureDirectory(dirname(cacheFolder))
    ensureDirectory(cacheFolder)
    writeFileSync(temporary, text, { mode: 0o600 })
    renameSync(temporary, path)
  } catch {
    rmSync(temporary, { force: true })
  }
}

/** Without `recursive`, which does not terminate where a directory cannot be created, as in /proc. */
function ensureDirectory(path) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

function formatError(file, error) {
  // The stack begins with `:<line>` and the code, without the name of the file.
  const line = /^[^\n]*?:(\d+)\n/.exec(error.stack ?? '')?.[1]
  return `${file}${line === undefined ? '' : `:${line}`}: ${error.message}\n`
}

function pruneCache() {
  try {
    const files = readdirSync(cacheFolder).map((name) => join(cacheFolder, name))
    if (files.length <= maxCachedFiles) return
    const byAge = files.map((file) => ({ file, at: statSync(file).mtimeMs })).sort((one, other) => other.at - one.at)
    for (const { file } of byAge.slice(maxCachedFiles)) rmSync(file, { force: true })
  } catch {
    // Another process may prune concurrently. The next change prunes again.
  }
}
