/**
 * The environment: process variables over `.env`. The only place that reads `process.env`; `.env` never goes into it,
 * so that commands which the agent runs do not inherit keys.
 */
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, resolve } from 'node:path'
import { messageOf } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import { type DotenvEntry, parseDotenv } from './dotenv.ts'
import type { ConfigIssue } from './issue.ts'

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>

export interface Environment {
  /** Process variables over `.env`; variables that are set but empty are left out. */
  readonly values: Readonly<Record<string, string>>
  /** The process variables alone: what a child process may be given. */
  readonly process: ProcessEnvironment
  /** Where a value comes from; undefined for one that is not set. */
  originOf(name: string): EnvironmentOrigin | undefined
  /** Lines of `.env` that were skipped, or the file itself. */
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
}

export interface EnvironmentOrigin {
  /** `environment` for a process variable, else the name of the file. */
  readonly file: string
  readonly line?: number
}

/** `HERMES_HOME`, `~/.hermes` without it. An absolute path; nothing is created. */
export function homeDirectory(processEnv: ProcessEnvironment = process.env): string {
  const given = processEnv['HERMES_HOME'] ?? ''
  const user = processEnv['HOME'] || homedir()
  if (given.trim() === '') return resolve(user, '.hermes')
  return given === '~' || given.startsWith('~/') ? resolve(user, given.slice(2)) : resolve(given)
}

/** Reads both at once and never throws: what cannot be read is a problem in the result. */
export function readEnvironment(envFile: string, processEnv: ProcessEnvironment = process.env): Environment {
  const file = readEnvFile(envFile)
  const fromProcess = Object.entries(processEnv).filter(isSet)
  const fromFile = [...file.entries].map(([name, { value }]): [string, string] => [name, value]).filter(isSet)
  const own = new Set(fromProcess.map(([name]) => name))
  return {
    values: Object.fromEntries([...fromFile, ...fromProcess]),
    process: Object.fromEntries(fromProcess),
    originOf: (name) => {
      if (own.has(name)) return { file: 'environment' }
      const entry = file.entries.get(name)
      return entry === undefined || entry.value === '' ? undefined : { file: basename(envFile), line: entry.line }
    },
    issues: file.issues,
    warnings: file.warnings,
  }
}

/** `NAME=` in a compose file means "not set" far more often than "set to nothing". */
function isSet(entry: [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined && entry[1] !== ''
}

const maxBytes = 262_144

interface EnvFile {
  readonly entries: ReadonlyMap<string, DotenvEntry>
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
}

function readEnvFile(path: string): EnvFile {
  const file = basename(path)
  try {
    const text = readTextIfExists(path, maxBytes)
    if (text === undefined) return { entries: new Map(), issues: [], warnings: [] }
    const { entries, issues } = parseDotenv(text)
    return {
      entries,
      issues: issues.map(({ line, message }) => ({
        file,
        line,
        path: '',
        message: `${message}; the line is skipped`,
      })),
      warnings: checkFilePermissions(path),
    }
  } catch (error) {
    const message = `the file cannot be read: ${messageOf(error)}`
    return { entries: new Map(), issues: [{ file, path: '', message }], warnings: [] }
  }
}

/** A warning when people other than the owner can read a file that holds secrets. */
export function checkFilePermissions(path: string): ConfigIssue[] {
  // Windows has no such rights; its numbers mean nothing here.
  const mode = process.platform === 'win32' ? 0 : (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  if ((mode & 0o077) === 0) return []
  const message = `others can read this file and it holds secrets (mode ${mode.toString(8)}); run: chmod 600 ${path}`
  return [{ file: basename(path), path: '', message }]
}
