/**
 * `node strip.mjs <cache folder> <file>`: prints a TypeScript file without its types, keeps the result in the cache, and
 * does the same for what the file imports by relative paths, so that one process serves a whole handler.
 *
 * A mistake in the file itself is told on stderr as `<file>:<line>: …`, exit code 1; its imports are left to themselves.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { cachePathFor } from './cache-file.mjs'

/** The cache holds no more than this many files; the oldest go first. */
const maxCachedFiles = 500

const [cacheFolder, entry] = process.argv.slice(2)
const processedFiles = new Set([entry])

try {
  process.stdout.write(stripTypes(entry))
} catch (error) {
  process.stderr.write(formatError(entry, error))
  process.exitCode = 1
}
// A set that grows while it is gone through hands out what was added, too.
for (const file of processedFiles) {
  if (file === entry || process.exitCode === 1) continue
  try {
    stripTypes(file)
  } catch {
    // Whoever loads that file is told: it is stripped again then.
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

/** Whole or not at all: several hosts may read and write at once. A cache that cannot be written is done without. */
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

/** Not `recursive`: where a folder cannot be, as in /proc, that never ends. */
function ensureDirectory(path) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

function formatError(file, error) {
  // Node names no file here, but the line: the stack begins with `:<line>` and the code.
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
    // Another process may be pruning, too; the next change tries again.
  }
}
