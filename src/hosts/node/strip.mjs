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
import { cacheFileOf } from './cache-file.mjs'

/** The cache holds no more than this many files; the oldest go first. */
const keep = 500

const [cacheFolder, entry] = process.argv.slice(2)
const done = new Set([entry])

try {
  process.stdout.write(strip(entry))
} catch (error) {
  process.stderr.write(placed(entry, error))
  process.exitCode = 1
}
// A set that grows while it is gone through hands out what was added, too.
for (const file of done) {
  if (file === entry || process.exitCode === 1) continue
  try {
    strip(file)
  } catch {
    // Whoever loads that file is told: it is stripped again then.
  }
}
prune()

function strip(file) {
  const text = readFileSync(file, 'utf8')
  const plain = stripTypeScriptTypes(text)
  store(cacheFileOf(cacheFolder, text), plain)
  for (const [, specifier] of plain.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+\.m?ts)['"]/g)) {
    done.add(resolve(dirname(file), specifier))
  }
  return plain
}

/** Whole or not at all: several hosts may read and write at once. A cache that cannot be written is done without. */
function store(path, text) {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    ensureFolder(dirname(cacheFolder))
    ensureFolder(cacheFolder)
    writeFileSync(temporary, text, { mode: 0o600 })
    renameSync(temporary, path)
  } catch {
    rmSync(temporary, { force: true })
  }
}

/** Not `recursive`: where a folder cannot be, as in /proc, that never ends. */
function ensureFolder(path) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

function placed(file, error) {
  // Node names no file here, but the line: the stack begins with `:<line>` and the code.
  const line = /^[^\n]*?:(\d+)\n/.exec(error.stack ?? '')?.[1]
  return `${file}${line === undefined ? '' : `:${line}`}: ${error.message}\n`
}

function prune() {
  try {
    const files = readdirSync(cacheFolder).map((name) => join(cacheFolder, name))
    if (files.length <= keep) return
    const byAge = files.map((file) => ({ file, at: statSync(file).mtimeMs })).sort((one, other) => other.at - one.at)
    for (const { file } of byAge.slice(keep)) rmSync(file, { force: true })
  } catch {
    // Another process may be pruning, too; the next change tries again.
  }
}
