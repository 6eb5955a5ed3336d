/**
 * The environment: process variables override `.env`. This is the only place that reads `process.env`. The values of `.env` are
 * not added to it, so that commands of the agent do not inherit API keys.
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
  /** Process variables override `.env`. Empty variables are omitted. */
  readonly values: Readonly<Record<string, string>>
  /** The variables of `.env`, also those that a process variable overrides. */
  readonly file: Readonly<Record<string, string>>
  /** Only the process variables, for child processes. */
  readonly process: ProcessEnvironment
  /** The origin of a value, or `undefined` if it is not set. */
  originOf(name: string): EnvironmentOrigin | undefined
  /** Skipped lines of `.env`, or an unreadable file. */
  readonly issues: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
}

export interface EnvironmentOrigin {
  /** `environment` for a process variable, otherwise the name of the file. */
  readonly file: string
  readonly line?: number
}

/** The variables of this process. */
export function processEnvironment(): ProcessEnvironment {
  return process.env
}

/**
 * Makes a profile the home of this process, before the first module reads it: also for plugins, for programs that this process
 * starts, and for its successor after a restart.
 */
export function setProcessHome(home: string): void {
  process.env['HERMES_HOME'] = home
  delete process.env['HERMES_PROFILE']
}

/** The absolute path of `HERMES_HOME`, by default `~/.hermes`. The directory is not created. */
export function homeDirectory(processEnv: ProcessEnvironment = process.env): string {
  const configured = processEnv['HERMES_HOME'] ?? ''
  const user = processEnv['HOME'] || homedir()
  if (configured.trim() === '') return resolve(user, '.hermes')
  return configured === '~' || configured.startsWith('~/') ? resolve(user, configured.slice(2)) : resolve(configured)
}

/** Reads both sources. Never throws: an unreadable file is an issue of the result. */
export function readEnvironment(envFile: string, processEnv: ProcessEnvironment = process.env): Environment {
  const file = readEnvFile(envFile)
  const fromProcess = Object.entries(processEnv).filter(isSet)
  const fromFile = [...file.entries].map(([name, { value }]): [string, string] => [name, value]).filter(isSet)
  const fromEnvironment = new Set(fromProcess.map(([name]) => name))
  return {
    values: Object.fromEntries([...fromFile, ...fromProcess]),
    file: Object.fromEntries(fromFile),
    process: Object.fromEntries(fromProcess),
    originOf: (name) => {
      if (fromEnvironment.has(name)) return { file: 'environment' }
      const entry = file.entries.get(name)
      return entry === undefined || entry.value === '' ? undefined : { file: basename(envFile), line: entry.line }
    },
    issues: file.issues,
    warnings: file.warnings,
  }
}

/** An empty variable counts as not set, because `NAME=` in a compose file usually means that. */
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

/** Returns a warning if other users can read a file with secrets. */
export function checkFilePermissions(path: string): ConfigIssue[] {
  // Windows has no such permission bits.
  const mode = process.platform === 'win32' ? 0 : (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  if ((mode & 0o077) === 0) return []
  const message = `is readable by other users and contains secrets (mode ${mode.toString(8)}); run: chmod 600 ${path}`
  return [{ file: basename(path), path: '', message }]
}
