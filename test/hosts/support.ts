/**
 * Hosts with handlers written into an empty folder, and what they log.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Host, HostLanguage, HostModule, HostOptions } from '../../src/hosts/contract.ts'
import type { HostFailure } from '../../src/hosts/failure.ts'
import { createHost } from '../../src/hosts/host.ts'
import type { LogFields, Logger } from '../../src/lib/log.ts'
import type { LogLevel } from '../../src/lib/log-files.ts'
import { sleep } from '../../src/lib/timers.ts'
import { strippedTypesDirectory } from '../kit/compile-cache.ts'
import { tempHome } from '../kit/temp-home.ts'

export const path = process.env['PATH'] ?? '/usr/bin:/bin'

const pythonProbe = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
/** The interpreter itself: what stands on the PATH may be a script that looks for it, and takes its time. */
export const python = pythonProbe.status === 0 ? pythonProbe.stdout.trim() : undefined
export const withoutPython = python === undefined ? 'install python3' : false

/** Far more than any test here takes: one that hangs shall be named. */
export const timeout = 120_000

export interface LogRecord {
  readonly level: LogLevel
  readonly fields: LogFields
  readonly text: string
}

export interface RecordingLog extends Logger {
  readonly records: readonly LogRecord[]
  /** Resolves with the first line, past or future, whose text matches. */
  waitForLine(pattern: RegExp): Promise<LogRecord>
  /** Resolves with the first record, past or future, that has this `event` and these fields. */
  waitForEvent(event: string, fields?: LogFields): Promise<LogRecord>
}

export function createRecordingLog(): RecordingLog {
  const records: LogRecord[] = []
  const listeners = new Set<() => void>()
  const at = (level: LogLevel, more: LogFields) => (fields: LogFields, text: string) => {
    records.push({ level, fields: { ...more, ...fields }, text })
    for (const tell of listeners) tell()
  }
  const loggerWith = (more: LogFields): Logger => ({
    debug: at('debug', more),
    info: at('info', more),
    warn: at('warn', more),
    error: at('error', more),
    child: (fields) => loggerWith({ ...more, ...fields }),
  })
  return {
    ...loggerWith({}),
    records,
    waitForLine: (pattern) => waitFor(({ text }) => pattern.test(text)),
    waitForEvent: (event, expected = {}) =>
      waitFor(({ fields }) =>
        Object.entries({ event, ...expected }).every(([name, value]) => isDeepStrictEqual(fields[name], value)),
      ),
  }

  function waitFor(matches: (record: LogRecord) => boolean): Promise<LogRecord> {
    return new Promise((resolve) => {
      const check = () => {
        const found = records.find(matches)
        if (found === undefined) return
        listeners.delete(check)
        resolve(found)
      }
      listeners.add(check)
      check()
    })
  }
}

export type Files = Readonly<Record<string, string | Uint8Array>>

export interface HostSetup extends Partial<Omit<HostOptions, 'modules' | 'limits' | 'env'>> {
  /** Handlers and what belongs to them, by path. A file `<name>.<ext>` or `<name>/handler.<ext>` is a module. */
  readonly files: Files
  readonly limits?: HostOptions['limits']
  /** Beside PATH and HOME. */
  readonly env?: (folder: string) => Readonly<Record<string, string>>
}

export interface HostUnderTest {
  readonly host: Host
  readonly log: RecordingLog
  readonly folder: string
}

/** A host that ends with the test. Its deadlines are short, so that cutting off takes no time. */
export function createTestHost(t: TestContext, setup: HostSetup): HostUnderTest {
  const made = createHostIn(tempHome(t), setup)
  t.after(() => made.host.stop())
  return made
}

/** One host for all tests of a suite, for those that do it no harm. Call the result inside a test. */
export function createSharedHost(setup: HostSetup): () => HostUnderTest {
  let made: HostUnderTest | undefined
  after(async () => {
    await made?.host.stop()
    if (made !== undefined) rmSync(made.folder, { recursive: true, force: true })
  })
  return () => {
    made ??= createHostIn(mkdtempSync(join(tmpdir(), 'hermes-test-')), setup)
    return made
  }
}

function createHostIn(folder: string, { files, limits = {}, env = () => ({}), ...options }: HostSetup): HostUnderTest {
  writeFiles(folder, files)
  const log = createRecordingLog()
  const language = options.language ?? languageOf(files)
  const host = createHost({
    name: 'hooks',
    language,
    modules: modulesIn(folder, files),
    env: { PATH: path, HOME: folder, ...env(folder) },
    cwd: folder,
    cacheFolder: strippedTypesDirectory(),
    log,
    ...(language === 'python' && python !== undefined ? { command: python } : {}),
    ...options,
    limits: { graceMs: 60, exitTimeoutMs: 500, ...limits },
  })
  return { host, log, folder }
}

export function writeFiles(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

function languageOf(files: Files): HostLanguage {
  return Object.keys(files).some((name) => name.endsWith('.py')) ? 'python' : 'node'
}

function modulesIn(folder: string, files: Files): HostModule[] {
  return Object.keys(files).flatMap((name) => {
    const found = /^([a-z-]+)(?:\/handler)?\.(?:py|[mc]?[jt]s)$/.exec(name)?.[1]
    return found === undefined ? [] : [{ name: found, path: join(folder, name) }]
  })
}

/** A value of a call, or a test failure that shows why there is none. */
export function expectValue(result: Awaited<ReturnType<Host['call']>>): unknown {
  if (result.ok) return result.value
  throw new Error(`${result.failure.kind}: ${result.failure.error.message}\n${result.failure.stack}`)
}

export function expectFailure(result: Awaited<ReturnType<Host['call'] | Host['load']>>): HostFailure {
  if (!result.ok) return result.failure
  throw new Error(`it did not fail but came to ${JSON.stringify(result.value)}`)
}

/** Whether a process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Waits until a process is gone; the test runner's own limit is the limit. */
export async function waitForExit(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(5)
}
